//! The file system of this machine.

#![expect(clippy::disallowed_methods, reason = "a part of the one file of the crate that may")]

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;
use rustix::fs::{FlockOperation, OFlags, flock, syncfs};
use rustix::io::{ReadWriteFlags, preadv2};

use super::{
    DIRECTORY_MODE, DirectoryNames, Disk, DiskFile, FILE_MODE, FileInfo, Lock, OpenedFile, Stamp,
    WAITS_AT_ONCE, about,
};
use crate::error::is_missing;

/// The file system of this machine.
#[derive(Debug, Clone, Copy)]
pub struct SystemDisk {
    /// The permission bits of new directories.
    pub directories: u32,
    /// The permission bits of new files.
    pub files: u32,
}

/// The file system of this machine, for files that only their owner may read.
pub const SYSTEM_DISK: SystemDisk = SystemDisk { directories: DIRECTORY_MODE, files: FILE_MODE };

impl SystemDisk {
    /// Whether the permissions differ from those of [`SYSTEM_DISK`].
    fn is_shared(self) -> bool {
        (self.directories, self.files) != (DIRECTORY_MODE, FILE_MODE)
    }
}

impl Disk for SystemDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(DIRECTORY_MODE).create(path)?;
        if self.is_shared() {
            // The umask reduces the mode given to `mkdir`, so the mode is set afterwards.
            std::fs::set_permissions(path, Permissions::from_mode(self.directories))?;
        }
        Ok(())
    }

    fn read_dir(&self, path: &Path) -> io::Result<DirectoryNames> {
        let names = std::fs::read_dir(path)?;
        Ok(Box::new(names.map(|entry| entry.map(|entry| entry.file_name()))))
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(path)?;
        if self.is_shared() {
            file.set_permissions(Permissions::from_mode(self.files))?;
        }
        Ok(Arc::new(SystemFile { file, opened_as: None }))
    }

    fn create_private(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        SYSTEM_DISK.create(path)
    }

    fn open(&self, path: &Path) -> io::Result<OpenedFile> {
        let Some((file, about)) = plain_file(path, false)? else { return Ok(OpenedFile::NotAFile) };
        let opened_as = Some(Stamp::of(&about));
        Ok(OpenedFile::File(Arc::new(SystemFile { file, opened_as }), about.len()))
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
        // The process id is only for messages. On a full disk the lock works without it.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Some(Box::new(SystemLock(file))))
    }

    fn now(&self) -> Timestamp {
        // A time before 1970, or beyond the range of jiff, means that the clock was never set.
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

    fn about(&self, path: &Path) -> io::Result<Option<FileInfo>> {
        match std::fs::symlink_metadata(path) {
            Ok(about) => Ok(Some(FileInfo::of(&about))),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        about::set_mode(path, mode)
    }

    fn modes(&self) -> (u32, u32) {
        (self.directories, self.files)
    }
}

/// Creates the missing directories on the path of `root`. If `root` itself was missing, sets its
/// permission bits, user and group: a daemon that gives up its root privileges could not create it
/// later.
///
/// # Errors
///
/// The error of the system if a directory cannot be created, opened or changed.
pub fn make_root_for(root: &Path, mode: u32, user: u32, group: u32) -> io::Result<()> {
    if let Some(above) = root.parent().filter(|above| !above.as_os_str().is_empty()) {
        // Other users may enter the directories above; only the spool is private.
        DirBuilder::new().recursive(true).create(above)?;
    }
    match SYSTEM_DISK.create_dir(root) {
        Ok(()) => {
            // Uses an open file: otherwise a user who may write in the parent directory could
            // replace the root with a link.
            let flags = (OFlags::NOFOLLOW | OFlags::DIRECTORY).bits().cast_signed();
            let directory = OpenOptions::new().read(true).custom_flags(flags).open(root)?;
            directory.set_permissions(Permissions::from_mode(mode))?;
            std::os::unix::fs::fchown(&directory, Some(user), Some(group))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens a plain file for reading, or also for writing. `None` if it is not a plain file.
fn plain_file(path: &Path, to_change: bool) -> io::Result<Option<(File, std::fs::Metadata)>> {
    // `std` adds O_CLOEXEC. O_NONBLOCK has no effect on a plain file, but lets the opening of a
    // FIFO return at once.
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

/// Whether the error means that the name is not a file: `open` refuses a symbolic link with ELOOP
/// (because of `O_NOFOLLOW`), and a socket or a device without a driver with ENXIO.
fn is_no_file(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::LOOP, Errno::NXIO].iter().any(|kind| error.raw_os_error() == Some(kind.raw_os_error()))
}

/// A held lock. Closing the file is not enough to release the lock: a process that another thread
/// has just forked shares the open file until it executes its own program.
#[derive(Debug)]
struct SystemLock(File);

impl Drop for SystemLock {
    fn drop(&mut self) {
        // If this fails, closing the file has to suffice.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[derive(Debug)]
pub(super) struct SystemFile {
    pub(super) file: File,
    pub(super) opened_as: Option<Stamp>,
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
    fn a_lock_is_released_although_a_child_process_has_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let lock = SYSTEM_DISK.lock(&path).unwrap().unwrap();
        assert!(SYSTEM_DISK.lock(&path).unwrap().is_none());
        // The open file that a forked process shares until it executes its own program.
        let inherited = lock.downcast_ref::<SystemLock>().unwrap().0.try_clone().unwrap();
        drop(lock);
        assert!(SYSTEM_DISK.lock(&path).unwrap().is_some());
        drop(inherited);
    }
}
