//! Type and permissions of a file.

#![expect(clippy::disallowed_methods, reason = "a part of the one file of the crate that may")]

use std::fs::{Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::{Disk, OpenedFile};
use crate::error::is_missing;

/// The permission bits of a mode.
const PERMISSIONS: u32 = 0o777;

/// Type, permissions and length of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileInfo {
    /// The type of the file.
    pub kind: FileKind,
    /// The permission bits. `None` for a link, or if the disk has no permission bits.
    pub mode: Option<u32>,
    /// The length of a file in bytes.
    pub len: u64,
}

/// The type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A plain file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device.
    Other,
}

impl FileInfo {
    pub(super) fn of(about: &Metadata) -> Self {
        let (kind, mode) = (about.file_type(), about.permissions().mode() & PERMISSIONS);
        let kind = if kind.is_file() {
            FileKind::File
        } else if kind.is_dir() {
            FileKind::Directory
        } else if kind.is_symlink() {
            FileKind::Link
        } else {
            FileKind::Other
        };
        // The permission bits of a link have no effect.
        let mode = Some(mode).filter(|_| kind != FileKind::Link);
        Self { kind, mode, len: about.len() }
    }
}

/// The default implementation of [`Disk::about`]: opens the file to find its type and length.
pub(super) fn by_opening(disk: &(impl Disk + ?Sized), path: &Path) -> io::Result<Option<FileInfo>> {
    let about = |kind, len| Some(FileInfo { kind, mode: None, len });
    match disk.open(path) {
        Ok(OpenedFile::File(_, len)) => Ok(about(FileKind::File, len)),
        Ok(OpenedFile::NotAFile) if disk.read_dir(path).is_ok() => {
            Ok(about(FileKind::Directory, 0))
        }
        Ok(OpenedFile::NotAFile) => Ok(about(FileKind::Other, 0)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The user and group ids of the owner of a directory. `None` if the directory is missing or is
/// another type of file. A link is followed.
///
/// # Errors
///
/// The error of the system if the directory cannot be examined for another reason than that it is
/// missing.
pub fn owner_of(directory: &Path) -> io::Result<Option<(u32, u32)>> {
    match std::fs::metadata(directory) {
        Ok(about) => Ok(Some((about.uid(), about.gid())).filter(|_| about.is_dir())),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Changes the mode of the file at `path`, which must not be a link. The file is opened first,
/// because the name may be given to another file in the meantime.
pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    opened.set_permissions(Permissions::from_mode(mode))
}
