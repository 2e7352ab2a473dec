//! The disk, behind one small trait. Only this module and its submodules access files.
//!
//! [`Disk`] has only the calls that the spool makes. Each call either takes effect or does not, so
//! a test can use a disk that fails, stops or loses power at any call.

mod about;
mod beneath;
pub(crate) mod names;
pub(crate) mod parallel;
pub(crate) mod size;
mod space;
mod system;
pub(crate) mod whole;

use std::any::Any;
use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use size::wide;

pub use about::{FileInfo, FileKind, owner_of, spool_owner};
pub use beneath::{PathTarget, open_beneath};
pub use space::{Space, is_read_only, space};
pub use system::{SYSTEM_DISK, SystemDisk, make_root_for};

/// The default permission bits: only the owner may read the spool.
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// The number of threads that wait for the disk at once. More threads gain little, and other
/// programs need the disk too.
const WAITS_AT_ONCE: usize = 8;

/// The calls that the spool makes to a file system. Paths begin with the root.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Creates one directory with the permission bits for directories of [`Disk::modes`]. Its
    /// parent must exist.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the name is taken, and other errors of the system.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Lists the names in a directory, in no order. The directory is read as the iterator advances.
    ///
    /// # Errors
    ///
    /// Those of the system, such as `NotFound` and `NotADirectory`.
    fn read_dir(&self, path: &Path) -> io::Result<DirectoryNames>;

    /// Creates an empty file with the permission bits for files of [`Disk::modes`], and opens it
    /// for reading and writing.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the name is taken, and other errors of the system.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Creates a file that only its owner may read, whatever the permissions of other files.
    ///
    /// # Errors
    ///
    /// Those of [`Disk::create`].
    fn create_private(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.create(path)
    }

    /// Opens a file for reading. Does not follow a symbolic link, and does not wait for the other
    /// end of a FIFO.
    ///
    /// # Errors
    ///
    /// Those of the system. Anything but a plain file is [`OpenedFile::NotAFile`], not an error.
    fn open(&self, path: &Path) -> io::Result<OpenedFile>;

    /// Opens a file for reading and writing, like [`Disk::open`].
    ///
    /// # Errors
    ///
    /// Those of the system; `Unsupported` if it is not a plain file, or the disk cannot do it.
    fn open_to_change(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let _ = path;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Renames `from` to `to` in one step, and replaces a file of that name.
    ///
    /// # Errors
    ///
    /// Those of the system; both names are then unchanged.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives the file at `from` the second name `to`.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the name `to` is taken; `PermissionDenied`, `Unsupported` or
    /// `TooManyLinks` if the file system allows one name only; and other errors of the system.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes an empty directory.
    ///
    /// # Errors
    ///
    /// `DirectoryNotEmpty` if the directory contains anything, and other errors of the system.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Removes the name of a file. An open file stays readable.
    ///
    /// # Errors
    ///
    /// Those of the system, such as `NotFound`.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Waits until the changed names in a directory are durable.
    ///
    /// # Errors
    ///
    /// Those of the system. The state on the disk is then unknown.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Writes every change of the file system of a directory, by any program. Less is certain than
    /// after the sync of each file: some systems report no failed writes, or ask for no flush of
    /// the cache of the disk.
    ///
    /// # Errors
    ///
    /// Those of the system, and `Unsupported` if the disk cannot do it.
    fn sync_all(&self, root: &Path) -> io::Result<()> {
        let _ = root;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The number of threads that may wait for the disk at once. A file system with a journal
    /// syncs ten files in about the time of one.
    fn waits_at_once(&self) -> usize {
        1
    }

    /// Takes the lock file at `path`, creates it if it is missing, and writes our process id to it
    /// if possible. `None` if another process holds the lock. Dropping the lock releases it, as
    /// does the end of the process.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn lock(&self, path: &Path) -> io::Result<Option<Lock>>;

    /// The current time.
    fn now(&self) -> Timestamp;

    /// The stamp of a file or directory. `None` if the name is missing. A link is not followed.
    ///
    /// # Errors
    ///
    /// Those of the system, and `Unsupported` if the disk has no stamps. Without stamps, lookups
    /// are not cached.
    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        let _ = path;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns the type, permissions and length of the file at `path`. `None` if no file has this
    /// name. A link is not followed.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn about(&self, path: &Path) -> io::Result<Option<FileInfo>> {
        about::by_opening(self, path)
    }

    /// Sets the permission bits of a file or directory. A link is not followed.
    ///
    /// # Errors
    ///
    /// Those of the system, and `Unsupported` if the disk has no permission bits.
    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        let _ = (path, mode);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The permission bits of new directories and new files.
    fn modes(&self) -> (u32, u32) {
        (DIRECTORY_MODE, FILE_MODE)
    }
}

/// The names in a directory.
pub type DirectoryNames = Box<dyn Iterator<Item = io::Result<std::ffi::OsString>> + Send>;

/// A lock, released when dropped.
pub type Lock = Box<dyn Any + Send + Sync>;

/// The result of [`Disk::open`].
#[derive(Debug)]
pub enum OpenedFile {
    /// A plain file, and its length in bytes when it was opened.
    File(Arc<dyn DiskFile>, u64),
    /// A directory, symbolic link, FIFO, socket or device.
    NotAFile,
}

/// An open file.
pub trait DiskFile: fmt::Debug + Send + Sync {
    /// Reads at `offset`, at most the length of `buffer`. Returns 0 at the end of the file.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    ///
    /// Those of the system. Any part may then have been written.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Shortens the file to `len` bytes.
    ///
    /// # Errors
    ///
    /// Those of the system, and `Unsupported` if the disk cannot do it.
    fn set_len(&self, len: u64) -> io::Result<()> {
        let _ = len;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Waits until content and length are durable.
    ///
    /// # Errors
    ///
    /// Those of the system. The state on the disk is then unknown.
    fn sync(&self) -> io::Result<()>;

    /// A number that identifies this file among all files of the spool while it is open.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn identity(&self) -> io::Result<u64>;

    /// Reads like `read_at` without waiting for the disk. `None` if that is not possible.
    fn read_cached(&self, buffer: &mut [u8], offset: u64) -> Option<usize> {
        let _ = (buffer, offset);
        None
    }

    /// The stamp of the file when it was opened for reading, if known.
    fn opened_as(&self) -> Option<Stamp> {
        None
    }
}

/// The identity of a file or directory in its present state: every change alters the stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    device: u64,
    inode: u64,
    len: u64,
    /// The time of the last change of the content, in seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(about: &std::fs::Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            len: about.len(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }

    /// The time of the last change of the content, according to the system.
    #[must_use]
    pub fn modified(&self) -> Timestamp {
        let nanoseconds = i32::try_from(self.modified.1).unwrap_or_default();
        Timestamp::new(self.modified.0, nanoseconds).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// The time of the last change of any kind.
    #[must_use]
    pub fn changed(&self) -> Timestamp {
        let nanoseconds = i32::try_from(self.changed.1).unwrap_or_default();
        Timestamp::new(self.changed.0, nanoseconds).unwrap_or(Timestamp::MAX)
    }
}

/// Reads `len` bytes, or fewer at the end of the file.
pub(crate) fn read_exactly(file: &dyn DiskFile, len: usize, offset: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let mut read = 0;
    while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset.saturating_add(wide(read)))? {
            0 => break,
            more => read += more,
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}

/// The directory of a path. Every path of the spool lies below its root, so it has a directory.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}
