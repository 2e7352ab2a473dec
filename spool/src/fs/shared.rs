//! The file system of this machine, for a spool that other users may read.

#![expect(clippy::disallowed_methods, reason = "a part of the one file of the crate that may")]

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use rustix::fs::OFlags;

use super::system::{SystemFile, new_file};
use super::{
    DIRECTORY_MODE, DirectoryNames, Disk, DiskFile, FILE_MODE, FileInfo, Lock, OpenedFile, Stamp,
    SystemDisk,
};

/// The file system of this machine, for a spool that other users may read.
#[derive(Debug, Clone, Copy)]
pub struct SharedDisk {
    /// The permission bits of new directories.
    pub directories: u32,
    /// The permission bits of new files.
    pub files: u32,
}

impl SharedDisk {
    /// Whether the permissions differ from those of [`SystemDisk`].
    #[must_use]
    pub fn is_shared(self) -> bool {
        (self.directories, self.files) != (DIRECTORY_MODE, FILE_MODE)
    }
}

impl Disk for SharedDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        SystemDisk.create_dir(path)?;
        // The umask reduces the mode given to `mkdir`, so the mode is set afterwards.
        std::fs::set_permissions(path, Permissions::from_mode(self.directories))
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let file = new_file(path)?;
        file.set_permissions(Permissions::from_mode(self.files))?;
        Ok(Arc::new(SystemFile { file, opened_as: None }))
    }

    fn create_private(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        SystemDisk.create(path)
    }

    fn read_dir(&self, path: &Path) -> io::Result<DirectoryNames> {
        SystemDisk.read_dir(path)
    }

    fn open(&self, path: &Path) -> io::Result<OpenedFile> {
        SystemDisk.open(path)
    }

    fn open_to_change(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        SystemDisk.open_to_change(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        SystemDisk.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        SystemDisk.link(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        SystemDisk.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        SystemDisk.remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        SystemDisk.sync_dir(path)
    }

    fn sync_all(&self, root: &Path) -> io::Result<()> {
        SystemDisk.sync_all(root)
    }

    fn waits_at_once(&self) -> usize {
        SystemDisk.waits_at_once()
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        SystemDisk.lock(path)
    }

    fn now(&self) -> Timestamp {
        SystemDisk.now()
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        SystemDisk.stamp(path)
    }

    fn about(&self, path: &Path) -> io::Result<Option<FileInfo>> {
        SystemDisk.about(path)
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        SystemDisk.set_mode(path, mode)
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
    match SystemDisk.create_dir(root) {
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
