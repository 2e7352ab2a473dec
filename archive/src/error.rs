//! Errors of a whole import or export. A problem with a single item is a [`crate::Reason`].

use std::io;
use std::path::{Path, PathBuf};

use crate::refusal::{ReadFault, Reason, classify_error};

/// The result of an import or export.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An import or export that could not continue. Entries stored so far remain.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<ArchiveFault>);

#[derive(Debug, thiserror::Error)]
enum ArchiveFault {
    #[error("cannot {doing} {path:?}")]
    Disk { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("the spool cannot be used")]
    Spool(#[source] wwwoffle_spool::Error),
    #[error("{path:?} is not a supported archive: {why}")]
    Unknown { path: PathBuf, why: Reason },
    #[error("{path:?} cannot be replayed: {why}")]
    Fixture { path: PathBuf, why: Reason },
    #[error("stopped; repeat the command to resume")]
    Stopped,
}

impl Error {
    /// Whether the disk is full. Once there is space again, the same call can be repeated. An
    /// import then resumes where it stopped.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match &*self.0 {
            ArchiveFault::Disk { source, .. } => {
                matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            }
            ArchiveFault::Spool(error) => error.is_full(),
            ArchiveFault::Unknown { .. } | ArchiveFault::Fixture { .. } | ArchiveFault::Stopped => {
                false
            }
        }
    }

    /// Whether the path is not a supported archive.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(&*self.0, ArchiveFault::Unknown { .. })
    }

    /// Whether permission was denied for the archive or the output. False for an error of the
    /// spool.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        matches!(&*self.0, ArchiveFault::Disk { source, .. }
            if source.kind() == io::ErrorKind::PermissionDenied)
    }

    /// Whether the caller stopped the import. The same call can be repeated and resumes.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(&*self.0, ArchiveFault::Stopped)
    }

    pub(crate) fn disk(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self(Box::new(ArchiveFault::Disk { doing, path: path.to_owned(), source }))
    }

    pub(crate) fn unknown(path: &Path, why: impl Into<Reason>) -> Self {
        Self(Box::new(ArchiveFault::Unknown { path: path.to_owned(), why: why.into() }))
    }

    pub(crate) fn fixture(path: &Path, why: impl Into<Reason>) -> Self {
        Self(Box::new(ArchiveFault::Fixture { path: path.to_owned(), why: why.into() }))
    }

    pub(crate) fn stopped() -> Self {
        Self(Box::new(ArchiveFault::Stopped))
    }
}

impl From<wwwoffle_spool::Error> for Error {
    fn from(error: wwwoffle_spool::Error) -> Self {
        Self(Box::new(ArchiveFault::Spool(error)))
    }
}

/// The reason why one item is refused, or the error that ends the import.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ItemFault {
    #[error(transparent)]
    Refused(#[from] Reason),
    #[error(transparent)]
    Failed(#[from] Error),
}

impl ItemFault {
    /// The fault of a failed read from the archive at `path`.
    pub(crate) fn of_read(path: &Path, error: io::Error) -> Self {
        match classify_error(error) {
            ReadFault::Disk(error) => Self::Failed(Error::disk("read", path, error)),
            ReadFault::Archive(reason) => Self::Refused(reason),
        }
    }

    /// The refusal of an item that the spool does not accept, or the error of the spool.
    pub(crate) fn of_spool(error: wwwoffle_spool::Error) -> Self {
        let is_refused = error.is_invalid()
            || error.is_too_large()
            || error.is_queue_full()
            || error.is_monitors_full()
            || error.is_spelling_refused();
        if is_refused { Self::Refused(error.to_string().into()) } else { error.into() }
    }

    /// The error of the file at `path`, if this fault prevents it from being opened as an archive.
    pub(crate) fn into_unknown(self, path: &Path) -> Error {
        match self {
            Self::Refused(reason) => Error::unknown(path, reason),
            Self::Failed(error) => error,
        }
    }
}

impl From<wwwoffle_spool::Error> for ItemFault {
    fn from(error: wwwoffle_spool::Error) -> Self {
        Self::Failed(error.into())
    }
}
