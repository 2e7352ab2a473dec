//! Errors of a whole import or export. A problem with a single item is a [`crate::Reason`].

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::refusal::Reason;

/// The result of an import or export.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An import or export that could not continue. Entries stored so far remain.
#[derive(Debug)]
pub struct Error(Box<ArchiveFault>);

#[derive(Debug)]
enum ArchiveFault {
    Disk { doing: &'static str, path: PathBuf, source: io::Error },
    Spool(wwwoffle_spool::Error),
    Unknown { path: PathBuf, why: Reason },
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
            ArchiveFault::Unknown { .. } | ArchiveFault::Stopped => false,
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

    pub(crate) fn stopped() -> Self {
        Self(Box::new(ArchiveFault::Stopped))
    }
}

impl From<wwwoffle_spool::Error> for Error {
    fn from(error: wwwoffle_spool::Error) -> Self {
        Self(Box::new(ArchiveFault::Spool(error)))
    }
}

#[expect(clippy::unnecessary_debug_formatting, reason = "quoted: a path may hold control bytes")]
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            ArchiveFault::Disk { doing, path, .. } => write!(f, "cannot {doing} {path:?}"),
            ArchiveFault::Spool(_) => f.write_str("the spool cannot be used"),
            ArchiveFault::Unknown { path, why } => {
                write!(f, "{path:?} is not a supported archive: {why}")
            }
            ArchiveFault::Stopped => f.write_str("stopped; repeat the command to resume"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            ArchiveFault::Disk { source, .. } => Some(source),
            ArchiveFault::Spool(error) => Some(error),
            ArchiveFault::Unknown { .. } | ArchiveFault::Stopped => None,
        }
    }
}
