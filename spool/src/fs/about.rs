//! Type and permissions of a file.

#![expect(clippy::disallowed_methods, reason = "a part of the one file of the crate that may")]

use std::fs::{Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

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
/// another type of file, such as a link.
///
/// # Errors
///
/// The error of the system if the directory cannot be examined for another reason than that it is
/// missing.
pub fn owner_of(directory: &Path) -> io::Result<Option<(u32, u32)>> {
    owner(std::fs::symlink_metadata(directory))
}

/// The user and group ids of the owner of a spool. `None` if there is no spool.
///
/// The owner of `tmp` comes first, because the daemon has made `tmp`, but another user may have made
/// the root. For a caller that is root, the owner of both must be the same and neither may be a link
/// that another user could change: otherwise a user could lead root to the files of others.
///
/// # Errors
///
/// The error of the system if the root cannot be examined, or the reason why root may not use the
/// spool.
pub fn spool_owner(root: &Path, is_root: bool) -> io::Result<Option<(u32, u32)>> {
    // Without a separator at its end, which would lead through a link.
    let root: PathBuf = root.components().collect();
    let temporary = root.join("tmp");
    let is_link = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|one| one.is_symlink());
    let may_lead_astray =
        |path: &&PathBuf| is_link(path) && (*path != &root || !only_root_changes(path));
    if is_root && let Some(link) = [&root, &temporary].into_iter().find(may_lead_astray) {
        return Err(io::Error::other(format!(
            "\"{}\" is a link, which root does not follow here: use --spool with the directory \
             itself, or run this as its owner",
            link.display()
        )));
    }
    let of_root = owner(std::fs::metadata(&root))?;
    let of_temporary = owner_of(&temporary).ok().flatten();
    match (of_root, of_temporary) {
        (Some((user, _)), Some((other, _))) if is_root && user != other => {
            Err(io::Error::other(format!(
                "it belongs to user {user}, and its directory tmp to user {other}: both must belong \
                 to the user of the daemon"
            )))
        }
        (Some(_), Some(_)) if !is_root => Ok(of_temporary),
        _ => Ok(of_root),
    }
}

/// Whether only root can change a link and all directories above it and above its target, such as the
/// link of systemd for `DynamicUser`.
fn only_root_changes(link: &Path) -> bool {
    let is_of_root = |path: &Path| {
        let about = std::fs::symlink_metadata(path);
        about.is_ok_and(|one| one.uid() == 0 && (one.is_symlink() || one.mode() & 0o022 == 0))
    };
    let resolved = |path: &Path| std::fs::canonicalize(path).ok();
    let (Some(target), Some(parent)) = (resolved(link), link.parent().and_then(resolved)) else {
        return false;
    };
    let mut above = target.ancestors().skip(1).chain(parent.ancestors());
    is_of_root(link) && above.all(is_of_root)
}

fn owner(about: io::Result<Metadata>) -> io::Result<Option<(u32, u32)>> {
    match about {
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn root_follows_no_link_to_the_files_of_others() {
        let scratch = tempfile::tempdir().unwrap();
        let (spool, link) = (scratch.path().join("spool"), scratch.path().join("link"));
        assert_eq!(spool_owner(&spool, true).unwrap(), None);
        std::fs::create_dir_all(spool.join("tmp")).unwrap();
        let owner = owner_of(&spool).unwrap();
        assert!(owner.is_some());
        symlink(&spool, &link).unwrap();
        for is_root in [true, false] {
            assert_eq!(spool_owner(&spool, is_root).unwrap(), owner);
        }
        for through in [link.clone(), link.join(""), link.join(".")] {
            assert_eq!(spool_owner(&through, false).unwrap(), owner);
            let refused = spool_owner(&through, true).unwrap_err().to_string();
            assert!(refused.contains("link\" is a link"), "{refused}");
        }
        std::fs::remove_dir(spool.join("tmp")).unwrap();
        symlink("/etc", spool.join("tmp")).unwrap();
        assert_eq!(owner_of(&spool.join("tmp")).unwrap(), None);
        let refused = spool_owner(&spool, true).unwrap_err().to_string();
        assert!(refused.contains("tmp\" is a link"), "{refused}");
    }

    #[test]
    fn root_uses_no_spool_of_two_owners() {
        let scratch = tempfile::tempdir().unwrap();
        let temporary = scratch.path().join("tmp");
        std::fs::create_dir(&temporary).unwrap();
        // Only root may give a directory away.
        if std::os::unix::fs::chown(&temporary, Some(54_321), Some(54_322)).is_err() {
            return;
        }
        assert_eq!(spool_owner(scratch.path(), false).unwrap(), Some((54_321, 54_322)));
        let refused = spool_owner(scratch.path(), true).unwrap_err().to_string();
        assert!(refused.contains("its directory tmp to user 54321"), "{refused}");
    }
}
