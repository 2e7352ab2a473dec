//! What can fail between this node and the engines of the tier.

use crate::base::error_chain::error_chain;
use crate::net::upstream::Failure;

/// The longest text of an engine in a message, in bytes.
const MAX_TEXT: usize = 300;

/// The reason why a call of an engine failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum TierError {
    /// The engine cannot be reached, or the connection ended.
    #[error("{0}")]
    Unreachable(String),
    /// The engine did not answer in time.
    #[error("it did not answer in time")]
    Timeout,
    /// The engine refuses the user or the keys.
    #[error("it refuses the credentials: {0}; check the file of `credentials` in [tier]")]
    Credentials(String),
    /// The bucket or database does not exist.
    #[error("{0}; create it, or correct [tier]")]
    Missing(String),
    /// The catalogue cannot be used by this version of the program.
    #[error("{0}")]
    Schema(String),
    /// The clock of this node is wrong.
    #[error("the clock of this node is {0} s {1} that of the catalogue; set the clocks")]
    Clock(i64, &'static str),
    /// The mode does not allow a connection to the engine.
    #[error("the mode is not online, and [local-net] does not list the hosts of both engines")]
    Offline,
    /// The engine refuses this entry, and would refuse it again.
    #[error("it refuses the entry: {0}")]
    Refused(String),
    /// The engine reports another error.
    #[error("it reports: {0}")]
    Engine(String),
    /// The spool of this node failed.
    #[error("the spool of this node fails")]
    Spool(#[source] wwwoffle_spool::Error),
}

impl TierError {
    /// The error of a connection.
    pub(super) fn of_failure(failure: &Failure) -> Self {
        match failure {
            Failure::Offline => Self::Offline,
            other => Self::Unreachable(error_chain(other)),
        }
    }
}

impl TierError {
    /// Whether the engine could not be asked, so that the next call would fail in the same way.
    pub(super) fn is_of_link(&self) -> bool {
        matches!(self, Self::Timeout | Self::Unreachable(_) | Self::Offline)
    }
}

impl From<wwwoffle_spool::Error> for TierError {
    fn from(error: wwwoffle_spool::Error) -> Self {
        Self::Spool(error)
    }
}

/// Text of an engine, of limited length and without control characters.
pub(super) fn quoted(text: &str) -> String {
    let plain = text.chars().filter(|one| !one.is_control());
    let mut short = String::new();
    for one in plain {
        if short.len() + one.len_utf8() > MAX_TEXT {
            break;
        }
        short.push(one);
    }
    format!("{short:?}")
}
