//! Small files outside the spool: certificates in the stores of other programs, the profile lists
//! of these programs, and settings written for them.

use std::io;
use std::path::Path;

use rustix::fs::{Access, FileType, Mode};
use wwwoffle_spool::fs::{Disk, OpenedFile, SYSTEM_DISK};

/// The maximum number of bytes that are read of such a file. The rest is ignored.
pub const MAX_FILE: u64 = 1024 * 1024;

/// Reads at most [`MAX_FILE`] bytes of a regular file. `None` if it does not exist.
///
/// # Errors
///
/// Those of the system, or the path is not a regular file. A symbolic link is not followed.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    read_at_most(path, MAX_FILE)
}

/// Reads at most the first `most` bytes of a regular file. `None` if it does not exist.
///
/// # Errors
///
/// Those of [`read`].
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let (file, length) = match SYSTEM_DISK.open(path) {
        Ok(OpenedFile::File(file, length)) => (file, length),
        Ok(OpenedFile::NotAFile) => return Err(io::Error::other("it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = vec![0; usize::try_from(length.min(most)).unwrap_or_default()];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, u64::try_from(filled).unwrap_or_default())? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(Some(bytes))
}

/// The users who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Everyone. Only the owner may write the file.
    All,
    /// Only the owner.
    Owner,
}

/// Writes `bytes` to a temporary file, then renames it to `path`.
///
/// # Errors
///
/// Those of the system. An existing file at `path` is then unchanged.
pub fn write(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".new");
    let aside = Path::new(&aside);
    match SYSTEM_DISK.remove_file(aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = SYSTEM_DISK.create(aside)?;
    file.write_all_at(bytes, 0)?;
    file.sync()?;
    if readers == Readers::All {
        rustix::fs::chmod(aside, Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH)?;
    }
    SYSTEM_DISK.rename(aside, path)
}

/// Removes a file.
///
/// # Errors
///
/// Those of the system.
pub fn remove(path: &Path) -> io::Result<()> {
    SYSTEM_DISK.remove_file(path)
}

/// Creates a directory that only its owner may enter, and its missing parents.
///
/// # Errors
///
/// Those of the system.
pub fn create_directories(path: &Path) -> io::Result<()> {
    match SYSTEM_DISK.create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let Some(parent) = path.parent() else { return Err(error) };
            create_directories(parent)?;
            SYSTEM_DISK.create_dir(path)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_directory(path) => Ok(()),
        done => done,
    }
}

/// Creates a new directory that only its owner may enter.
///
/// # Errors
///
/// Those of the system, or the path exists already.
pub fn create_new_directory(path: &Path) -> io::Result<()> {
    rustix::fs::mkdir(path, Mode::RWXU)?;
    Ok(())
}

/// Removes a directory and its contents. Symbolic links are removed, not followed.
///
/// # Errors
///
/// The first error of the system. It ends the removal, and the remaining files stay.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    std::fs::remove_dir_all(path)
}

/// Whether the path is a file that this user may execute.
#[must_use]
pub fn is_program(path: &Path) -> bool {
    rustix::fs::stat(path)
        .is_ok_and(|about| FileType::from_raw_mode(about.st_mode) == FileType::RegularFile)
        && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

/// The reason why a program that [lies in](is_inside) the spool is not run.
pub const IN_SPOOL: &str = "it lies in the spool, whose files come from other sites";

/// Whether `path` leads into `directory`, also through symbolic links.
#[must_use]
pub fn is_inside(path: &Path, directory: &Path) -> bool {
    match (path.canonicalize(), directory.canonicalize()) {
        (Ok(path), Ok(directory)) => path.starts_with(directory),
        _ => false,
    }
}

/// Whether the path is a directory, or a symbolic link to one.
#[must_use]
pub fn is_directory(path: &Path) -> bool {
    rustix::fs::stat(path)
        .is_ok_and(|about| FileType::from_raw_mode(about.st_mode) == FileType::Directory)
}

/// The names in a directory, sorted; empty if it cannot be read.
#[must_use]
pub fn names(directory: &Path) -> Vec<String> {
    let names = SYSTEM_DISK.read_dir(directory).into_iter().flatten();
    let mut names: Vec<String> = names.filter_map(|name| name.ok()?.into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_file_is_written_completely_with_its_permissions() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("a/b/c");
        create_directories(&directory).unwrap();
        create_directories(&directory).unwrap();
        for (name, readers, mode) in [("all", Readers::All, 0o644), ("own", Readers::Owner, 0o600)]
        {
            let path = directory.join(name);
            assert_eq!(read(&path).unwrap(), None);
            for text in ["longer", "short"] {
                write(&path, text.as_bytes(), readers).unwrap();
                assert_eq!(read(&path).unwrap().unwrap(), text.as_bytes());
            }
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
        assert_eq!(names(&directory), ["all", "own"]);
        remove(&directory.join("own")).unwrap();
        symlink(directory.join("all"), directory.join("link")).unwrap();
        assert!(read(&directory.join("link")).is_err());
        assert!(create_directories(&directory.join("all")).is_err());
        assert!(names(&directory.join("none")).is_empty());
        symlink(directory.join("all"), root.path().join("link")).unwrap();
        for (path, below) in [("a/b/c/all", true), ("link", true), ("a/none", false), ("a", false)]
        {
            assert_eq!(
                is_inside(&root.path().join(path), &root.path().join("a/b")),
                below,
                "{path}"
            );
        }
        let (tree, kept) = (root.path().join("a/tree"), directory.join("all"));
        create_new_directory(&tree).unwrap();
        assert!(create_new_directory(&tree).is_err(), "it is there");
        create_directories(&tree.join("b")).unwrap();
        symlink(&directory, tree.join("b/link")).unwrap();
        remove_tree(&tree).unwrap();
        assert!(!is_directory(&tree) && kept.is_file());
    }
}
