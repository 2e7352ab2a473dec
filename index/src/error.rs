//! Errors of the index.

use std::fmt;
use std::path::PathBuf;

use rusqlite::ErrorCode;

/// The result of an index call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why the index could not answer or be maintained. The spool is not affected.
#[derive(Debug)]
pub struct Error(Box<IndexFault>);

#[derive(Debug)]
enum IndexFault {
    Database(rusqlite::Error),
    Spool(wwwoffle_spool::Error),
    Disk {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    /// Extracting the content of this page failed.
    Unreadable(String),
    NotReady,
    Stopped,
    BadCursor,
    /// The file is not a readable index.
    Foreign(&'static str),
    /// The file is an index of another version.
    OtherVersion,
}

impl Error {
    pub(crate) fn disk(
        action: &'static str,
        path: impl Into<PathBuf>,
        source: std::io::Error,
    ) -> Error {
        Error(Box::new(IndexFault::Disk { action, path: path.into(), source }))
    }

    pub(crate) fn unreadable(url: &str) -> Error {
        Error(Box::new(IndexFault::Unreadable(url.to_owned())))
    }

    pub(crate) fn not_ready() -> Error {
        Error(Box::new(IndexFault::NotReady))
    }

    pub(crate) fn stopped() -> Error {
        Error(Box::new(IndexFault::Stopped))
    }

    pub(crate) fn bad_cursor() -> Error {
        Error(Box::new(IndexFault::BadCursor))
    }

    pub(crate) fn other_version() -> Error {
        Error(Box::new(IndexFault::OtherVersion))
    }

    /// Whether the file under the name of the index belongs to another program.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(*self.0, IndexFault::Foreign(_)) || self.has_code(&[ErrorCode::NotADatabase])
    }

    pub(crate) fn foreign(what: &'static str) -> Error {
        Error(Box::new(IndexFault::Foreign(what)))
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

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            IndexFault::Database(_) => f.write_str("the index of the spool failed"),
            IndexFault::Spool(_) => f.write_str("the spool could not be read for its index"),
            IndexFault::Disk { action, path, .. } => {
                write!(f, "cannot {action} {:?}", path.display().to_string())
            }
            IndexFault::Unreadable(url) => write!(f, "the text of {url:?} could not be read"),
            IndexFault::NotReady => {
                f.write_str("the index of the spool is being built; try again in a moment")
            }
            IndexFault::Stopped => f.write_str("the index of the spool has been stopped"),
            IndexFault::BadCursor => f.write_str("expected a cursor returned by the same list"),
            IndexFault::Foreign(what) => write!(f, "the index of the spool {what}"),
            IndexFault::OtherVersion => f.write_str("the index of the spool is of another version"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            IndexFault::Database(source) => Some(source),
            IndexFault::Spool(source) => Some(source),
            IndexFault::Disk { source, .. } => Some(source),
            IndexFault::Unreadable(_)
            | IndexFault::NotReady
            | IndexFault::Stopped
            | IndexFault::BadCursor
            | IndexFault::Foreign(_)
            | IndexFault::OtherVersion => None,
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        Error(Box::new(IndexFault::Database(error)))
    }
}

impl From<wwwoffle_spool::Error> for Error {
    fn from(error: wwwoffle_spool::Error) -> Error {
        Error(Box::new(IndexFault::Spool(error)))
    }
}
