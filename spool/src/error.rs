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
#[derive(Debug)]
pub struct Error(Box<SpoolFault>);

#[derive(Debug)]
enum SpoolFault {
    /// A disk call failed.
    Disk {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// Another process holds the lock.
    Locked {
        root: PathBuf,
        pid: Option<u32>,
    },
    NotADirectory {
        path: PathBuf,
    },
    NotASpool {
        root: PathBuf,
        found: String,
    },
    OtherVersion {
        root: PathBuf,
        found: String,
        known: &'static str,
    },
    TooLarge {
        what: &'static str,
        limit: u64,
        found: u64,
    },
    Invalid {
        what: &'static str,
        why: &'static str,
        found: String,
    },
    QueueFull {
        limit: usize,
    },
    ShareUsedUp {
        limit: usize,
    },
    SpellingRefused {
        why: &'static str,
    },
    MonitorsFull {
        limit: usize,
    },
    Damaged(Damage),
    WriterBroken,
    Random(getrandom::Error),
    Sealing,
}

impl Error {
    /// The disk is full, or a quota or the largest file size is reached. Stored entries are safe.
    /// The call can be repeated when there is space again.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(&*self.0, SpoolFault::Disk { source, .. } if is_full(source))
    }

    /// This process or the system has too many open files. The call can be repeated when some are
    /// closed.
    #[must_use]
    pub fn is_out_of_files(&self) -> bool {
        use rustix::io::Errno;
        let limits = [Errno::MFILE, Errno::NFILE];
        matches!(&*self.0, SpoolFault::Disk { source, .. }
            if Errno::from_io_error(source).is_some_and(|error| limits.contains(&error)))
    }

    /// The user of this process has no permission for the file, or the file system is read-only.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        matches!(&*self.0, SpoolFault::Disk { source, .. } if is_denied(source))
    }

    /// The file system is mounted read-only.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        matches!(&*self.0, SpoolFault::Disk { source, .. }
            if source.kind() == io::ErrorKind::ReadOnlyFilesystem)
    }

    /// The file is missing. For a spool that is opened: its directory is missing.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(&*self.0, SpoolFault::Disk { source, .. } if source.kind() == io::ErrorKind::NotFound)
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

    pub(crate) fn locked(root: &Path, pid: Option<u32>) -> Error {
        SpoolFault::Locked { root: root.to_owned(), pid }.into()
    }

    pub(crate) fn not_a_directory(path: &Path) -> Error {
        SpoolFault::NotADirectory { path: path.to_owned() }.into()
    }

    pub(crate) fn not_a_spool(root: &Path, found: String) -> Error {
        SpoolFault::NotASpool { root: root.to_owned(), found }.into()
    }

    pub(crate) fn other_version(root: &Path, found: String, known: &'static str) -> Error {
        SpoolFault::OtherVersion { root: root.to_owned(), found, known }.into()
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

    pub(crate) fn queue_full(limit: usize) -> Error {
        SpoolFault::QueueFull { limit }.into()
    }

    pub(crate) fn share_used_up(limit: usize) -> Error {
        SpoolFault::ShareUsedUp { limit }.into()
    }

    pub(crate) fn spelling_refused(why: &'static str) -> Error {
        SpoolFault::SpellingRefused { why }.into()
    }

    pub(crate) fn monitors_full(limit: usize) -> Error {
        SpoolFault::MonitorsFull { limit }.into()
    }

    pub(crate) fn writer_broken() -> Error {
        SpoolFault::WriterBroken.into()
    }

    pub(crate) fn random(error: getrandom::Error) -> Error {
        SpoolFault::Random(error).into()
    }

    pub(crate) fn sealing() -> Error {
        SpoolFault::Sealing.into()
    }

    /// Whether the file is missing.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(&*self.0, SpoolFault::Disk { source, .. } if is_missing(source))
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

impl From<SpoolFault> for Error {
    fn from(kind: SpoolFault) -> Error {
        Error(Box::new(kind))
    }
}

#[expect(clippy::unnecessary_debug_formatting, reason = "quoted: a path may hold control bytes")]
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            SpoolFault::Disk { doing, path, source } if is_full(source) => write!(
                f,
                "no room to {doing} {path:?}: free some space there; stored pages stay readable"
            ),
            SpoolFault::Disk { doing, path, source }
                if source.kind() == io::ErrorKind::ReadOnlyFilesystem =>
            {
                write!(
                    f,
                    "cannot {doing} {path:?}: its file system is mounted read-only; mount it \
                     writable, or copy the spool to a disk that is, and name that directory"
                )
            }
            SpoolFault::Disk { doing, path, source } if is_denied(source) => write!(
                f,
                "not allowed to {doing} {path:?}: give this user the right to read and write there, \
                 or name another directory"
            ),
            SpoolFault::Disk { doing, path, .. } => write!(f, "cannot {doing} {path:?}"),
            SpoolFault::Locked { root, pid: Some(pid) } => write!(
                f,
                "the spool {root:?} is in use by process {pid}: stop it first, or name another spool"
            ),
            SpoolFault::Locked { root, pid: None } => write!(
                f,
                "the spool {root:?} is in use by another process: stop it first, or name another spool"
            ),
            SpoolFault::NotADirectory { path } => {
                write!(f, "{path:?} is not a directory: name one for the spool, new or empty")
            }
            SpoolFault::NotASpool { root, found } => write!(
                f,
                "{root:?} is not a spool, it contains {found:?}: name a directory that is new or empty"
            ),
            SpoolFault::OtherVersion { root, found, known } => write!(
                f,
                "the spool {root:?} has the format {found:?}, and this program knows {known:?}: use the \
                 program that wrote it, or name another directory"
            ),
            SpoolFault::TooLarge { what, limit, found } => {
                write!(f, "{what} of {found} bytes is above the limit of {limit} bytes")
            }
            SpoolFault::Invalid { what, why, found } => write!(f, "{what} {why}: {found:?}"),
            SpoolFault::QueueFull { limit } => {
                write!(f, "the outgoing queue is full with {limit} requests: fetch or delete some")
            }
            SpoolFault::ShareUsedUp { limit } => write!(
                f,
                "your share of the outgoing queue, {limit} requests, is used up: delete some, or wait \
                 until some are fetched"
            ),
            SpoolFault::SpellingRefused { why } => write!(
                f,
                "it is not queued, because other spellings of the URL are queued, and {why}: fetch \
                 the queue first"
            ),
            SpoolFault::MonitorsFull { limit } => {
                write!(f, "{limit} pages are monitored, which is the limit: stop monitoring some")
            }
            SpoolFault::Damaged(damage) => damage.fmt(f),
            SpoolFault::WriterBroken => {
                write!(f, "an earlier part of the entry could not be written")
            }
            SpoolFault::Random(_) => write!(f, "the system provided no random bytes"),
            SpoolFault::Sealing => write!(f, "the secrets of the request could not be sealed"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            SpoolFault::Disk { source, .. } => Some(source),
            SpoolFault::Random(source) => Some(source),
            _ => None,
        }
    }
}
