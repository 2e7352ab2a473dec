//! Why a verb ended before its end, and with which exit status.

use std::{error::Error, fmt, io};

use crate::base::error_chain::error_chain;
use crate::base::exit::ExitStatus;

/// What stops a verb.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// There is something to say: lower case, without full stop, with what to do next.
    Said(ExitStatus, String),
    /// Whoever read our output has gone, as `head` does when it has enough.
    NobodyReads,
}

impl Failure {
    /// A failure without a status of its own.
    pub(crate) fn plain(message: impl fmt::Display) -> Self {
        Self::Said(ExitStatus::Failed, message.to_string())
    }

    /// A failure with its cause, and the causes of that.
    pub(crate) fn caused(status: ExitStatus, what: impl fmt::Display, cause: &dyn Error) -> Self {
        Self::Said(status, format!("{what}: {}", error_chain(cause)))
    }
}

/// Every `io::Error` that is not turned into words comes from writing the output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::NobodyReads
        } else {
            Self::plain(format_args!("cannot write the output: {error}"))
        }
    }
}
