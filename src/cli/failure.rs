//! Why a verb failed, and its exit status.

use std::{error::Error, fmt, io};

use crate::base::error_chain::error_chain;
use crate::base::exit::ExitStatus;

/// The result of a verb, or of a step of one.
pub(crate) type VerbResult<T = ExitStatus> = Result<T, VerbFailure>;

/// The failure of a verb.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum VerbFailure {
    /// A message to print: lower case, without full stop, with the next step for the user.
    Said(ExitStatus, String),
    /// The program that reads our output has closed the pipe, as `head` does when it has enough.
    NobodyReads,
    /// The command that `run` started has ended with this exit status. It has told why.
    CommandEnded(u8),
}

impl VerbFailure {
    /// Creates a failure with the general exit status.
    pub(crate) fn plain(message: impl fmt::Display) -> Self {
        Self::Said(ExitStatus::Failed, message.to_string())
    }

    /// Creates a failure with the exit status of bad usage.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::Said(ExitStatus::Usage, message.to_string())
    }

    /// Creates a failure with the general exit status, and its chain of causes.
    pub(crate) fn failed(what: impl fmt::Display, cause: &dyn Error) -> Self {
        Self::caused(ExitStatus::Failed, what, cause)
    }

    /// Creates a failure with its chain of causes.
    pub(crate) fn caused(status: ExitStatus, what: impl fmt::Display, cause: &dyn Error) -> Self {
        Self::Said(status, format!("{what}: {}", error_chain(cause)))
    }
}

impl From<wwwoffle_spool::Error> for VerbFailure {
    fn from(error: wwwoffle_spool::Error) -> Self {
        Self::caused(ExitStatus::BadSpool, "the spool cannot be read", &error)
    }
}

impl From<wwwoffle_index::Error> for VerbFailure {
    fn from(error: wwwoffle_index::Error) -> Self {
        Self::failed("the index cannot be read", &error)
    }
}

/// Every `io::Error` that is not converted otherwise comes from writing the output.
impl From<io::Error> for VerbFailure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::NobodyReads
        } else {
            Self::plain(format_args!("cannot write the output: {error}"))
        }
    }
}
