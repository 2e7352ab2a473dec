//! What kind of thing has a name, and who may use it.

#![expect(clippy::disallowed_methods, reason = "a part of the one file of the crate that may")]

use std::fs::{Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::{Disk, Opened};
use crate::error::is_missing;

/// The bits of a mode that say who may read, write and run.
const PERMISSIONS: u32 = 0o777;

/// What has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Of what kind it is.
    pub kind: Kind,
    /// Who may use it, as permission bits; `None` where there are none.
    pub mode: Option<u32>,
    /// The length of a file in bytes.
    pub len: u64,
}

/// A kind of thing that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A plain file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device.
    Other,
}

impl About {
    pub(super) fn of(about: &Metadata) -> Self {
        let (kind, mode) = (about.file_type(), about.permissions().mode() & PERMISSIONS);
        let kind = if kind.is_file() {
            Kind::File
        } else if kind.is_dir() {
            Kind::Directory
        } else if kind.is_symlink() {
            Kind::Link
        } else {
            Kind::Other
        };
        // Those of a link mean nothing.
        let mode = Some(mode).filter(|_| kind != Kind::Link);
        Self { kind, mode, len: about.len() }
    }
}

/// What a disk tells that has no other way.
pub(super) fn by_opening(disk: &(impl Disk + ?Sized), path: &Path) -> io::Result<Option<About>> {
    let about = |kind, len| Some(About { kind, mode: None, len });
    match disk.open(path) {
        Ok(Opened::File(_, len)) => Ok(about(Kind::File, len)),
        Ok(Opened::NotAFile) if disk.read_dir(path).is_ok() => Ok(about(Kind::Directory, 0)),
        Ok(Opened::NotAFile) => Ok(about(Kind::Other, 0)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The user and the group that a directory belongs to, by their numbers; `None` when there is none of that
/// name. A link is followed.
///
/// # Errors
///
/// Those of the system.
pub fn owner_of(directory: &Path) -> io::Result<Option<(u32, u32)>> {
    match std::fs::metadata(directory) {
        Ok(about) => Ok(Some((about.uid(), about.gid())).filter(|_| about.is_dir())),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// By a handle on the thing itself: a name may be given to something else meanwhile.
pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    opened.set_permissions(Permissions::from_mode(mode))
}
