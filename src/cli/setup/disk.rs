//! Files that `setup` reads, writes and restores.
//!
//! Root changes a file only if root owns every directory on its path, and no other user may change
//! these directories: a user could otherwise lead root to another file with a link.

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rustix::fs::{FileType, Gid, Mode, Uid};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wwwoffle_spool::fs::{Disk as _, SYSTEM_DISK};

use crate::base::small_file;

/// The maximum length of a file that is changed, in bytes.
pub(super) const MAX_FILE: u64 = small_file::MAX_FILE;

/// The ending of a temporary file. An interrupted write leaves it, and the next one replaces it.
const ASIDE: &str = ".wwwoffle-new";

/// The bits of a mode that let other users write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The bit of a directory in which users may not rename the files of others.
const STICKY: u32 = 0o1000;

/// The permission bits of a mode.
const PERMISSIONS: u32 = 0o7777;

/// The bytes of a file; base64 in the record.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Bytes(pub(super) Vec<u8>);

/// Content, permissions and owner of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileCopy {
    pub(super) content: Bytes,
    pub(super) mode: u32,
    pub(super) user: u32,
    pub(super) group: u32,
}

/// Does not show the content, which may contain a hash of a password.
impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64_STANDARD.decode(text).map(Self).map_err(serde::de::Error::custom)
    }
}

impl FileCopy {
    /// A new file of this user.
    pub(super) fn new(content: Vec<u8>, mode: u32) -> Self {
        let user = rustix::process::geteuid().as_raw();
        let group = rustix::process::getegid().as_raw();
        Self { content: Bytes(content), mode, user, group }
    }

    /// The same file with another content.
    pub(super) fn with(&self, content: Vec<u8>) -> Self {
        Self { content: Bytes(content), ..self.clone() }
    }
}

/// Returns the path without links at its end. For root, a link is an error.
pub(super) fn real(path: &Path) -> Result<PathBuf, String> {
    check(path)?;
    match rustix::fs::lstat(path) {
        Ok(about) if FileType::from_raw_mode(about.st_mode) == FileType::Symlink => path
            .canonicalize()
            .map_err(|error| format!("{} is a link to a missing file: {error}", path.display())),
        _ => Ok(path.to_owned()),
    }
}

/// Checks that root can change the file safely. Another user can change only files of their own.
fn check(path: &Path) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.reverse();
    for directory in above {
        let shown = directory.display();
        let Ok(about) = rustix::fs::lstat(directory) else { return Ok(()) };
        match FileType::from_raw_mode(about.st_mode) {
            FileType::Directory => {}
            FileType::Symlink => {
                return Err(format!("{shown} is a link, which root does not follow here"));
            }
            _ => return Err(format!("{shown} is not a directory")),
        }
        let mode = about.st_mode & PERMISSIONS;
        if about.st_uid != 0 || (mode & WRITABLE_BY_OTHERS != 0 && mode & STICKY == 0) {
            return Err(format!("users other than root can change {shown}"));
        }
    }
    match rustix::fs::lstat(path) {
        Ok(about) if FileType::from_raw_mode(about.st_mode) == FileType::Symlink => {
            Err(format!("{} is a link, which root does not follow here", path.display()))
        }
        _ => Ok(()),
    }
}

/// Reads a file. `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<FileCopy>, String> {
    check(path)?;
    let shown = path.display();
    let content = match small_file::read_at_most(path, MAX_FILE + 1) {
        Ok(Some(content)) => content,
        Ok(None) => return Ok(None),
        // A missing directory above may also be a file.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(format!("{shown} cannot be read: {error}")),
    };
    if u64::try_from(content.len()).is_ok_and(|length| length > MAX_FILE) {
        return Err(format!("{shown} is larger than {} KiB", MAX_FILE / 1024));
    }
    let about = rustix::fs::lstat(path).map_err(|error| format!("{shown}: {error}"))?;
    Ok(Some(FileCopy {
        content: Bytes(content),
        mode: about.st_mode & PERMISSIONS,
        user: about.st_uid,
        group: about.st_gid,
    }))
}

/// Writes a file to a temporary file, then renames it. An existing file is unchanged after an error.
pub(super) fn write(path: &Path, file: &FileCopy) -> Result<(), String> {
    check(path)?;
    let aside = aside(path);
    let written = write_aside(&aside, file).and_then(|()| SYSTEM_DISK.rename(&aside, path));
    if let Err(error) = written {
        // If it cannot be removed, the next write or the undo removes it.
        let _stays = SYSTEM_DISK.remove_file(&aside);
        return Err(format!("{} cannot be written: {error}", path.display()));
    }
    sync_above(path)
}

fn write_aside(aside: &Path, file: &FileCopy) -> io::Result<()> {
    match SYSTEM_DISK.remove_file(aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Only its owner can read it until its permissions are set.
    let new = SYSTEM_DISK.create_private(aside)?;
    new.write_all_at(&file.content.0, 0)?;
    let about = rustix::fs::lstat(aside)?;
    if (about.st_uid, about.st_gid) != (file.user, file.group) {
        let (user, group) = (Uid::from_raw(file.user), Gid::from_raw(file.group));
        rustix::fs::chown(aside, Some(user), Some(group))?;
    }
    rustix::fs::chmod(aside, Mode::from_raw_mode(file.mode))?;
    new.sync()
}

/// Removes a file, and what an interrupted write has left beside it.
pub(super) fn remove(path: &Path) -> Result<(), String> {
    check(path)?;
    remove_aside(path);
    match SYSTEM_DISK.remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("{} cannot be removed: {error}", path.display()))
        }
        _ => sync_above(path),
    }
}

/// Removes the temporary file of an interrupted write.
pub(super) fn remove_aside(path: &Path) {
    if check(path).is_ok() {
        let _is_missing = SYSTEM_DISK.remove_file(&aside(path));
    }
}

fn aside(path: &Path) -> PathBuf {
    let mut aside = path.as_os_str().to_owned();
    aside.push(ASIDE);
    aside.into()
}

fn sync_above(path: &Path) -> Result<(), String> {
    let Some(above) = path.parent() else { return Ok(()) };
    match SYSTEM_DISK.sync_dir(above) {
        // After a removal, the directory may be missing too.
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("{} cannot be synced: {error}", above.display()))
        }
        _ => Ok(()),
    }
}

/// Returns the missing directories above `path`, the outermost first.
pub(super) fn missing_directories(path: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = path
        .ancestors()
        .skip(1)
        .take_while(|directory| rustix::fs::lstat(*directory).is_err())
        .map(Path::to_owned)
        .collect();
    missing.reverse();
    missing
}

/// Creates the directories of [`missing_directories`]. Those of the system can be read by all.
pub(super) fn create_directories(missing: &[PathBuf], mode: u32) -> Result<(), String> {
    for directory in missing {
        check(directory)?;
        let cannot = |error| format!("{} cannot be created: {error}", directory.display());
        match SYSTEM_DISK.create_dir(directory) {
            Ok(()) => rustix::fs::chmod(directory, Mode::from_raw_mode(mode))
                .map_err(|error| cannot(io::Error::from(error)))?,
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists
                    && small_file::is_directory(directory) => {}
            Err(error) => return Err(cannot(error)),
        }
    }
    Ok(())
}

/// Removes those of the directories that are empty, the innermost first.
pub(super) fn remove_directories(created: &[PathBuf]) {
    for directory in created.iter().rev() {
        if check(directory).is_ok() {
            // A directory with files of others stays.
            let _is_used_or_missing = SYSTEM_DISK.remove_dir(directory);
        }
    }
}
