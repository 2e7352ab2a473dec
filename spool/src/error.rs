//! The errors of a spool, and how a caller can distinguish them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of a call to the spool.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A damaged or foreign file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The path where it was found.
    pub path: PathBuf,
    /// The path where it is now, if it was moved.
    pub moved_to: Option<PathBuf>,
    /// The fault, in a few words.
    pub reason: String,
}

impl Damage {
    /// Describes a file that still has its name.
    pub(crate) fn new(path: PathBuf, reason: &str) -> Damage {
        Damage { path, moved_to: None, reason: reason.to_owned() }
    }
}

#[expect(clippy::unnecessary_debug_formatting, reason = "quoted: a path may hold control bytes")]
impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is damaged or foreign: {}", self.path, self.reason)?;
        match &self.moved_to {
            Some(path) => write!(f, "; moved to {path:?}"),
            None => Ok(()),
        }
    }
}

/// A failed call to the spool. The call has changed nothing, unless its documentation says
/// otherwise.
///
/// The message says how to solve the problem, if there is a solution. The source is the error of
/// the system.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<SpoolFault>);

#[derive(Debug, thiserror::Error)]
pub(crate) enum SpoolFault {
    /// A disk call failed.
    #[error("{}", disk_message(.doing, .path, .source))]
    Disk { doing: &'static str, path: PathBuf, source: io::Error },
    /// Another process holds the lock.
    #[error(
        "the spool {root:?} is in use by {}: stop it first, or name another spool",
        .pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
    )]
    Locked { root: PathBuf, pid: Option<u32> },
    #[error("{path:?} is not a directory: name one for the spool, new or empty")]
    NotADirectory { path: PathBuf },
    #[error(
        "{root:?} is not a spool, it contains {found:?}: name a directory that is new or empty"
    )]
    NotASpool { root: PathBuf, found: String },
    #[error(
        "the spool {root:?} has the format {found:?}, and this program knows {known:?}: use the \
         program that wrote it, or name another directory"
    )]
    OtherVersion { root: PathBuf, found: String, known: &'static str },
    #[error("{what} of {found} bytes is above the limit of {limit} bytes")]
    TooLarge { what: &'static str, limit: u64, found: u64 },
    #[error("{what} {why}: {found:?}")]
    Invalid { what: &'static str, why: &'static str, found: String },
    #[error("the outgoing queue is full with {limit} requests: fetch or delete some")]
    QueueFull { limit: usize },
    #[error(
        "your share of the outgoing queue, {limit} requests, is used up: delete some, or wait \
         until some are fetched"
    )]
    ShareUsedUp { limit: usize },
    #[error("your quota of queued requests is used up: `wwwoffle usage` shows when it is renewed")]
    QuotaReached,
    #[error(
        "it is not queued, because other spellings of the URL are queued, and {why}: fetch the \
         queue first"
    )]
    SpellingRefused { why: &'static str },
    #[error("{limit} pages are monitored, which is the limit: stop monitoring some")]
    MonitorsFull { limit: usize },
    #[error("{0}")]
    Damaged(Damage),
    #[error("an earlier part of the entry could not be written")]
    WriterBroken,
    #[error("the system provided no random bytes")]
    Random(#[source] getrandom::Error),
    #[error("the secrets of the request could not be sealed")]
    Sealing,
}

impl Error {
    /// The disk is full, or a quota or the largest file size is reached. Stored entries are safe.
    /// The call can be repeated when there is space again.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.disk_error().is_some_and(is_full)
    }

    /// This process or the system has too many open files. The call can be repeated when some are
    /// closed.
    #[must_use]
    pub fn is_out_of_files(&self) -> bool {
        use rustix::io::Errno;
        let limits = [Errno::MFILE, Errno::NFILE];
        let errno = self.disk_error().and_then(Errno::from_io_error);
        errno.is_some_and(|error| limits.contains(&error))
    }

    /// The user of this process has no permission for the file, or the file system is read-only.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.disk_error().is_some_and(is_denied)
    }

    /// The file system is mounted read-only.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.disk_error().is_some_and(is_read_only)
    }

    /// The file is missing. For a spool that is opened: its directory is missing.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.disk_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// Another process has opened this spool for writing.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        matches!(&*self.0, SpoolFault::Locked { .. })
    }

    /// The id of the process that has opened the spool, if [`Error::is_locked`] and the id is
    /// known.
    #[must_use]
    pub fn holder(&self) -> Option<u32> {
        match &*self.0 {
            SpoolFault::Locked { pid, .. } => *pid,
            _ => None,
        }
    }

    /// The path is not a directory, not a spool, or a spool in a format that this version does not
    /// read.
    #[must_use]
    pub fn is_no_spool(&self) -> bool {
        matches!(
            &*self.0,
            SpoolFault::NotADirectory { .. }
                | SpoolFault::NotASpool { .. }
                | SpoolFault::OtherVersion { .. }
        )
    }

    /// The value exceeds a limit of this crate.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        matches!(&*self.0, SpoolFault::TooLarge { .. })
    }

    /// The argument is invalid: a mistake of the caller.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(&*self.0, SpoolFault::Invalid { .. })
    }

    /// The outgoing queue is full.
    #[must_use]
    pub fn is_queue_full(&self) -> bool {
        matches!(&*self.0, SpoolFault::QueueFull { .. })
    }

    /// The share of one owner in the outgoing queue is used up.
    #[must_use]
    pub fn is_share_used_up(&self) -> bool {
        matches!(&*self.0, SpoolFault::ShareUsedUp { .. })
    }

    /// The [`QueueMeter`](crate::QueueMeter) has refused the request.
    #[must_use]
    pub fn is_quota_reached(&self) -> bool {
        matches!(&*self.0, SpoolFault::QuotaReached)
    }

    /// The queue already has a request for another spelling of the same URL, and that request
    /// cannot record the new spelling too.
    #[must_use]
    pub fn is_spelling_refused(&self) -> bool {
        matches!(&*self.0, SpoolFault::SpellingRefused { .. })
    }

    /// There are too many monitored pages.
    #[must_use]
    pub fn is_monitors_full(&self) -> bool {
        matches!(&*self.0, SpoolFault::MonitorsFull { .. })
    }

    /// A file is damaged. If it was set aside, the message gives its new path.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        matches!(&*self.0, SpoolFault::Damaged(_))
    }

    pub(crate) fn damaged(damage: Damage) -> Error {
        SpoolFault::Damaged(damage).into()
    }

    pub(crate) fn disk(doing: &'static str, path: &Path, source: io::Error) -> Error {
        SpoolFault::Disk { doing, path: path.to_owned(), source }.into()
    }

    pub(crate) fn invalid(what: &'static str, why: &'static str, found: &[u8]) -> Error {
        /// The longest quote in a message, in characters: a longer quote would not make the message
        /// clearer.
        const SHOWN: usize = 80;
        let found = String::from_utf8_lossy(found).chars().take(SHOWN).collect();
        SpoolFault::Invalid { what, why, found }.into()
    }

    /// Refuses a value longer than `limit` bytes.
    pub(crate) fn check_length(what: &'static str, found: usize, limit: usize) -> Result<()> {
        if found <= limit {
            return Ok(());
        }
        let wide = |size| u64::try_from(size).unwrap_or(u64::MAX);
        Err(SpoolFault::TooLarge { what, limit: wide(limit), found: wide(found) }.into())
    }

    /// Whether the file is missing.
    pub(crate) fn is_missing(&self) -> bool {
        self.disk_error().is_some_and(is_missing)
    }

    /// The error of the system, if a disk call failed.
    fn disk_error(&self) -> Option<&io::Error> {
        match &*self.0 {
            SpoolFault::Disk { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Whether a file is missing. It also counts as missing if a name on its path is not a directory.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

fn is_denied(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
}

fn is_read_only(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ReadOnlyFilesystem
}

#[expect(clippy::unnecessary_debug_formatting, reason = "quoted: a path may hold control bytes")]
fn disk_message(doing: &str, path: &Path, error: &io::Error) -> String {
    if is_full(error) {
        format!("no room to {doing} {path:?}: free some space there; stored pages stay readable")
    } else if is_read_only(error) {
        format!(
            "cannot {doing} {path:?}: its file system is mounted read-only; mount it writable, or \
             copy the spool to a disk that is, and name that directory"
        )
    } else if is_denied(error) {
        format!(
            "not allowed to {doing} {path:?}: give this user the right to read and write there, \
             or name another directory"
        )
    } else {
        format!("cannot {doing} {path:?}")
    }
}

impl From<SpoolFault> for Error {
    fn from(fault: SpoolFault) -> Error {
        Error(Box::new(fault))
    }
}
