//! The disk, behind one small trait. This file alone touches files.
//!
//! [`Disk`] has only the calls the spool makes, each of which either happened or did not, so a test
//! can put a disk of its own in place: one that fails, stops or loses power at any one of them.

#![expect(clippy::disallowed_methods, reason = "this is the one file of the crate that may")]

mod about;
mod beneath;
pub(crate) mod parallel;
mod shared;
pub(crate) mod size;
mod space;

use std::any::Any;
use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;
use rustix::fs::{FlockOperation, OFlags, flock, syncfs};
use rustix::io::{ReadWriteFlags, preadv2};

use crate::error::is_missing;
use size::wide;

pub use about::{About, Kind, owner_of};
pub use beneath::{Beneath, open_beneath};
pub use shared::{SharedDisk, make_root_for};
pub use space::{Space, space};

/// Only the owner may read what is kept (design: the spool is 0700, what is in it 0600).
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// The threads that wait for the medium at once. More gain little, and other programs wait for it too.
const WAITS_AT_ONCE: usize = 8;

/// The calls the spool makes to a file system. Paths are the root's, joined with what is below it.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Makes one directory, which only its owner may enter. Its parent has to be there.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` when anything has that name.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// What lies in a directory, in no order, read as the iterator is asked.
    ///
    /// # Errors
    ///
    /// Those of the system, `NotFound` and `NotADirectory` among them.
    fn read_dir(&self, path: &Path) -> io::Result<Names>;

    /// Makes a new empty file and opens it for reading and writing.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` when anything has that name.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// The same for what is its owner's alone, whoever may read the others.
    ///
    /// # Errors
    ///
    /// As those of [`Disk::create`].
    fn create_private(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.create(path)
    }

    /// Opens a file for reading. Neither follows a symbolic link nor waits for a FIFO's other end.
    ///
    /// # Errors
    ///
    /// Those of the system. What is there but no plain file is [`Opened::NotAFile`], no error.
    fn open(&self, path: &Path) -> io::Result<Opened>;

    /// Opens a file for reading and writing what is in it, in the same way.
    ///
    /// # Errors
    ///
    /// Those of the system, and `Unsupported` for what is no plain file and from a disk that cannot.
    fn open_to_change(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let _ = path;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Gives what is at `from` the name `to`, in place of whatever file had it, in one step.
    ///
    /// # Errors
    ///
    /// Those of the system; then both names are as they were.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives what is at `from` the name `to` as well.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` when anything has the name `to`; `PermissionDenied`, `Unsupported` or
    /// `TooManyLinks` where a file has one name only.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a directory.
    ///
    /// # Errors
    ///
    /// `DirectoryNotEmpty` when anything is in it.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Takes a file's name away. Who has it open keeps it.
    ///
    /// # Errors
    ///
    /// Those of the system, `NotFound` among them.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Waits until the names in a directory are on the medium as they are now.
    ///
    /// # Errors
    ///
    /// Those of the system; then nothing is known of what is on the medium.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Waits until everything that was changed below a directory is on the medium, whoever changed it.
    ///
    /// # Errors
    ///
    /// Those of the system, and `Unsupported` from a disk that cannot.
    fn sync_all(&self, root: &Path) -> io::Result<()> {
        let _ = root;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// How many threads may wait for the medium at once, so that one turn of it serves them all: a file
    /// system with a journal needs hardly longer for ten files than for one.
    fn waits_at_once(&self) -> usize {
        1
    }

    /// Takes the lock that is the file at `path`, made if missing, and writes our process id in it if
    /// it can.
    /// `None`: another has it. Dropping what is returned gives it up, as does the end of the process.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn lock(&self, path: &Path) -> io::Result<Option<Lock>>;

    /// The time of day.
    fn now(&self) -> Timestamp;

    /// What has a name now; `None` when nothing has. A link is looked at itself.
    ///
    /// # Errors
    ///
    /// Those of the system, and `Unsupported` from a disk that has no stamps: then nothing read from
    /// it is remembered.
    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        let _ = path;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Of what kind the thing is that has a name, and who may use it; `None` when nothing has it. A link
    /// is looked at itself.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn about(&self, path: &Path) -> io::Result<Option<About>> {
        about::by_opening(self, path)
    }

    /// Gives a file or directory these permission bits. A link is not followed.
    ///
    /// # Errors
    ///
    /// Those of the system, and `Unsupported` from a disk that has no such bits.
    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        let _ = (path, mode);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The permission bits that new directories and new files get.
    fn modes(&self) -> (u32, u32) {
        (DIRECTORY_MODE, FILE_MODE)
    }
}

/// The names in a directory.
pub type Names = Box<dyn Iterator<Item = io::Result<std::ffi::OsString>> + Send>;

/// Held as long as the lock is.
pub type Lock = Box<dyn Any + Send + Sync>;

/// What [`Disk::open`] found.
#[derive(Debug)]
pub enum Opened {
    /// A plain file, and its length in bytes at the time.
    File(Arc<dyn DiskFile>, u64),
    /// A directory, symbolic link, FIFO, socket or device.
    NotAFile,
}

/// An open file.
pub trait DiskFile: fmt::Debug + Send + Sync {
    /// Reads what there is at `offset`, at most the length of `buffer`. 0 is the end of the file.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    ///
    /// Those of the system; then any part may have been written.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes it shorter.
    ///
    /// # Errors
    ///
    /// Those of the system, and `Unsupported` from a disk that cannot.
    fn set_len(&self, len: u64) -> io::Result<()> {
        let _ = len;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Waits until content and length are on the medium.
    ///
    /// # Errors
    ///
    /// Those of the system; then nothing is known of what is on the medium.
    fn sync(&self) -> io::Result<()>;

    /// A number no other file of the spool has while this one is open.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn identity(&self) -> io::Result<u64>;

    /// The same as `read_at`, without waiting for the medium; `None` where that cannot be.
    fn read_cached(&self, buffer: &mut [u8], offset: u64) -> Option<usize> {
        let _ = (buffer, offset);
        None
    }

    /// What it was when it was opened for reading, if that is known.
    fn opened_as(&self) -> Option<Stamp> {
        None
    }
}

/// What tells a file or directory from any other, and from itself before it was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    device: u64,
    inode: u64,
    len: u64,
    /// Seconds and nanoseconds.
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

    /// When its content was changed last, as far as the system knows or was told.
    #[must_use]
    pub fn modified(&self) -> Timestamp {
        let nanoseconds = i32::try_from(self.modified.1).unwrap_or_default();
        Timestamp::new(self.modified.0, nanoseconds).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// When it was changed last, by whatever.
    #[must_use]
    pub fn changed(&self) -> Timestamp {
        let nanoseconds = i32::try_from(self.changed.1).unwrap_or_default();
        Timestamp::new(self.changed.0, nanoseconds).unwrap_or(Timestamp::MAX)
    }
}

/// The file system of the machine.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemDisk;

impl Disk for SystemDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(DIRECTORY_MODE).create(path)
    }

    fn read_dir(&self, path: &Path) -> io::Result<Names> {
        let names = std::fs::read_dir(path)?;
        Ok(Box::new(names.map(|entry| entry.map(|entry| entry.file_name()))))
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(SystemFile { file: new_file(path)?, opened_as: None }))
    }

    fn open(&self, path: &Path) -> io::Result<Opened> {
        let Some((file, about)) = plain_file(path, false)? else { return Ok(Opened::NotAFile) };
        let opened_as = Some(Stamp::of(&about));
        Ok(Opened::File(Arc::new(SystemFile { file, opened_as }), about.len()))
    }

    fn open_to_change(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let (file, _) = plain_file(path, true)?.ok_or(io::ErrorKind::Unsupported)?;
        Ok(Arc::new(SystemFile { file, opened_as: None }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn sync_all(&self, root: &Path) -> io::Result<()> {
        Ok(syncfs(File::open(root)?)?)
    }

    fn waits_at_once(&self) -> usize {
        WAITS_AT_ONCE
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .custom_flags(flags)
            .open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        // On a full disk the lock is as good without the number, which only serves messages.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Some(Box::new(SystemLock(file))))
    }

    fn now(&self) -> Timestamp {
        // A clock before 1970, or outside the years that jiff knows, was never set.
        let now = Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::UNIX_EPOCH);
        now.max(Timestamp::UNIX_EPOCH)
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        match std::fs::symlink_metadata(path) {
            Ok(about) => Ok(Some(Stamp::of(&about))),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn about(&self, path: &Path) -> io::Result<Option<About>> {
        match std::fs::symlink_metadata(path) {
            Ok(about) => Ok(Some(About::of(&about))),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        about::set_mode(path, mode)
    }
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(FILE_MODE).open(path)
}

/// Opens a file for reading, or for writing too; `None` if what is there is none.
fn plain_file(path: &Path, to_change: bool) -> io::Result<Option<(File, std::fs::Metadata)>> {
    // `std` adds O_CLOEXEC. O_NONBLOCK changes nothing for a plain file, and for a FIFO it means that
    // opening returns.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let opened = OpenOptions::new().read(true).write(to_change).custom_flags(flags).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if is_no_file(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let about = file.metadata()?;
    Ok(about.is_file().then_some((file, about)))
}

/// `open` refuses a symbolic link with ELOOP (`O_NOFOLLOW`), a socket or a device nobody serves with ENXIO.
fn is_no_file(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::LOOP, Errno::NXIO].iter().any(|kind| error.raw_os_error() == Some(kind.raw_os_error()))
}

/// Reads `len` bytes, or as many as there are.
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

/// What a path lies in. Every path of the spool lies in its root.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// A lock that is held. Closing the file is not enough to give it up: a process that another thread
/// has just begun has the file open too, until it runs its own program.
#[derive(Debug)]
struct SystemLock(File);

impl Drop for SystemLock {
    fn drop(&mut self) {
        // Closing it follows, and is what there is if this fails.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[derive(Debug)]
struct SystemFile {
    file: File,
    opened_as: Option<Stamp>,
}

impl DiskFile for SystemFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match self.file.read_at(buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn identity(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.ino())
    }

    fn read_cached(&self, buffer: &mut [u8], offset: u64) -> Option<usize> {
        let mut buffers = [io::IoSliceMut::new(buffer)];
        preadv2(&self.file, &mut buffers, offset, ReadWriteFlags::NOWAIT).ok()
    }

    fn opened_as(&self) -> Option<Stamp> {
        self.opened_as
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_given_up_though_a_new_process_has_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let lock = SystemDisk.lock(&path).unwrap().unwrap();
        assert!(SystemDisk.lock(&path).unwrap().is_none());
        // What a process has between its beginning and its program.
        let inherited = lock.downcast_ref::<SystemLock>().unwrap().0.try_clone().unwrap();
        drop(lock);
        assert!(SystemDisk.lock(&path).unwrap().is_some());
        drop(inherited);
    }
}
