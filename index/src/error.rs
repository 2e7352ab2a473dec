//! Errors of the index.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// The result of an index call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why the index could not answer or be maintained. The spool is not affected.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<IndexFault>);

#[derive(Debug, thiserror::Error)]
pub(crate) enum IndexFault {
    #[error("the index of the spool failed")]
    Database(#[source] rusqlite::Error),
    #[error("the spool could not be read for its index")]
    Spool(#[source] wwwoffle_spool::Error),
    #[error("cannot {action} {:?}", .path.display().to_string())]
    Disk { action: &'static str, path: PathBuf, source: std::io::Error },
    /// Extracting the content of this page failed.
    #[error("the text of {0:?} could not be read")]
    Unreadable(String),
    #[error("the index of the spool is being built; try again in a moment")]
    NotReady,
    #[error("the index of the spool has been stopped")]
    Stopped,
    #[error("expected a cursor returned by the same list")]
    BadCursor,
    /// The file is not a readable index.
    #[error("the index of the spool {0}")]
    Foreign(&'static str),
    /// The file is an index of another version.
    #[error("the index of the spool is of another version")]
    OtherVersion,
}

impl Error {
    pub(crate) fn disk(action: &'static str, path: &Path, source: std::io::Error) -> Error {
        IndexFault::Disk { action, path: path.to_owned(), source }.into()
    }

    /// Whether the file under the name of the index belongs to another program.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(*self.0, IndexFault::Foreign(_)) || self.has_code(&[ErrorCode::NotADatabase])
    }

    /// Whether a part of the spool could not be read. The rest is in the index.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        matches!(&*self.0, IndexFault::Spool(_) | IndexFault::Unreadable(_))
    }

    /// Whether the index is being built or rebuilt. The call can be repeated later.
    #[must_use]
    pub fn is_not_ready(&self) -> bool {
        matches!(*self.0, IndexFault::NotReady)
    }

    /// Whether the index has been stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(*self.0, IndexFault::Stopped)
    }

    /// Whether the cursor belongs to another list.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(*self.0, IndexFault::BadCursor)
    }

    /// Whether the query exceeded its time limit.
    #[must_use]
    pub fn is_too_slow(&self) -> bool {
        self.has_code(&[ErrorCode::OperationInterrupted])
    }

    /// Whether the index file is damaged and must be rebuilt.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        // A file with our application id but other tables counts as damaged too.
        let odd = match &*self.0 {
            IndexFault::Foreign(_)
            | IndexFault::OtherVersion
            | IndexFault::Database(
                rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::FromSqlConversionFailure(..),
            ) => true,
            IndexFault::Database(rusqlite::Error::SqliteFailure(_, Some(message))) => {
                ["no such table", "no such column", "malformed", "has no column"]
                    .iter()
                    .any(|odd| message.contains(odd))
            }
            _ => false,
        };
        odd || self.has_code(&[ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase])
    }

    fn has_code(&self, codes: &[ErrorCode]) -> bool {
        let IndexFault::Database(error) = &*self.0 else { return false };
        error.sqlite_error_code().is_some_and(|code| codes.contains(&code))
    }
}

impl From<IndexFault> for Error {
    fn from(fault: IndexFault) -> Error {
        Error(Box::new(fault))
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        IndexFault::Database(error).into()
    }
}

impl From<wwwoffle_spool::Error> for Error {
    fn from(error: wwwoffle_spool::Error) -> Error {
        IndexFault::Spool(error).into()
    }
}
