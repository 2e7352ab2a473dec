//! The directory for the control socket and the index of a daemon whose spool is on a read-only
//! file system.
//!
//! It is `wwwoffle-UID/DEVICE-INODE` in `/run/user/UID`, or in `/tmp` if `/run/user/UID` does not
//! exist. Device and inode are those of the spool, so that each path of the spool leads to the same
//! directory.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, lstat, stat};
use rustix::process::geteuid;
use wwwoffle_spool::fs::{Disk, SYSTEM_DISK};

/// Finds the directory for the spool at `spool`: the directory of this user, or else the directory
/// of the user who owns the spool.
///
/// # Errors
///
/// `NotFound` if neither exists, or another error of the system.
pub fn find(spool: &Path) -> io::Result<PathBuf> {
    let name = name(spool)?;
    for uid in [geteuid().as_raw(), stat(spool)?.st_uid] {
        for base in bases(uid) {
            let directory = base.join(format!("wwwoffle-{uid}"));
            if is_private(&directory, uid) && is_private(&directory.join(&name), uid) {
                return Ok(directory.join(name));
            }
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Makes the directory of this user for the spool at `spool`.
///
/// # Errors
///
/// `PermissionDenied` if an existing directory belongs to another user or is open to other users,
/// or another error of the system.
pub fn make(spool: &Path) -> io::Result<PathBuf> {
    let (uid, name) = (geteuid().as_raw(), name(spool)?);
    let [own, shared] = bases(uid);
    let base = if is_private(&own, uid) { own } else { shared };
    let user = base.join(format!("wwwoffle-{uid}"));
    let directory = user.join(name);
    for path in [&user, &directory] {
        match SYSTEM_DISK.create_dir(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ if !is_private(path, uid) => return Err(io::ErrorKind::PermissionDenied.into()),
            _ => {}
        }
    }
    Ok(directory)
}

fn bases(uid: u32) -> [PathBuf; 2] {
    [PathBuf::from(format!("/run/user/{uid}")), PathBuf::from("/tmp")]
}

fn name(spool: &Path) -> io::Result<String> {
    let about = stat(spool)?;
    Ok(format!("{:x}-{:x}", about.st_dev, about.st_ino))
}

/// Whether the path is a directory, not a symbolic link, that only `uid` may enter.
fn is_private(path: &Path, uid: u32) -> bool {
    lstat(path).is_ok_and(|about| {
        FileType::from_raw_mode(about.st_mode) == FileType::Directory
            && about.st_uid == uid
            && !Mode::from_raw_mode(about.st_mode).intersects(Mode::RWXG | Mode::RWXO)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_created_directory_is_found() {
        let spool = tempfile::tempdir().unwrap();
        assert_eq!(find(spool.path()).unwrap_err().kind(), io::ErrorKind::NotFound);
        let made = make(spool.path()).unwrap();
        assert_eq!(make(spool.path()).unwrap(), made, "it exists");
        assert_eq!(find(&spool.path().join(".")).unwrap(), made);
        SYSTEM_DISK.remove_dir(&made).unwrap();
    }

    #[test]
    fn a_directory_accessible_to_others_is_not_used() {
        let (spool, uid) = (tempfile::tempdir().unwrap(), geteuid().as_raw());
        rustix::fs::chmod(spool.path(), Mode::RWXU).unwrap();
        assert!(is_private(spool.path(), uid));
        assert!(!is_private(spool.path(), uid + 1));
        rustix::fs::chmod(spool.path(), Mode::RWXU | Mode::RGRP | Mode::XGRP).unwrap();
        assert!(!is_private(spool.path(), uid));
        assert!(!is_private(&spool.path().join("missing"), uid));
    }
}
