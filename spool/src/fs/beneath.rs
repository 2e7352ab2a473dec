//! Opening a file below a directory, so that no name on the path can lead out of the directory.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::system::SystemFile;
use super::{DiskFile, Stamp};
use crate::error::is_missing;
use std::sync::Arc;

/// The result of following a path.
#[derive(Debug)]
pub enum PathTarget {
    /// A plain file, its length, and its stamp.
    File(Arc<dyn DiskFile>, u64, Stamp),
    /// A directory.
    Directory,
    /// Nothing that may be read: the name is missing or too long, is another type of file, leads
    /// through a link, or this user has no permission.
    Nothing,
}

/// Opens the file at `path` below `root`. A symbolic link on the path counts as missing, wherever
/// it leads: a user who may create a link in a directory must not be able to read the target of the
/// link through this program.
///
/// # Errors
///
/// The error of the system if a file cannot be opened or examined, except in the cases of
/// [`PathTarget::Nothing`].
pub fn open_beneath<'a>(
    root: &Path,
    path: impl Iterator<Item = &'a OsStr>,
) -> io::Result<PathTarget> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut at = match openat(CWD, root, flags | OFlags::DIRECTORY, Mode::empty()) {
        Ok(opened) => File::from(opened),
        Err(error) => return missing_or_error(error.into()),
    };
    for name in path {
        if !is_plain(name) || !at.metadata()?.is_dir() {
            return Ok(PathTarget::Nothing);
        }
        match openat(&at, name, flags, Mode::empty()) {
            Ok(opened) => at = File::from(opened),
            Err(error) => return missing_or_error(error.into()),
        }
    }
    let about = at.metadata()?;
    Ok(if about.is_dir() {
        PathTarget::Directory
    } else if about.is_file() {
        let stamp = Stamp::of(&about);
        let file = SystemFile { file: at, opened_as: Some(stamp) };
        PathTarget::File(Arc::new(file), about.len(), stamp)
    } else {
        PathTarget::Nothing
    })
}

/// Whether the name is one plain name: no separator, and neither `.` nor `..`.
fn is_plain(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    !matches!(bytes, b"" | b"." | b"..") && !bytes.iter().any(|byte| matches!(byte, b'/' | 0))
}

fn missing_or_error(error: io::Error) -> io::Result<PathTarget> {
    use rustix::io::Errno;
    let number = error.raw_os_error().map(Errno::from_raw_os_error);
    // These errors also count as a missing file: a link (`MLINK` on FreeBSD), a file where a
    // directory is expected, a name that is too long, a device without a driver, or a missing
    // permission.
    let is_none =
        [Errno::LOOP, Errno::NOTDIR, Errno::NAMETOOLONG, Errno::NXIO, Errno::ACCESS, Errno::MLINK];
    if is_missing(&error) || number.is_some_and(|number| is_none.contains(&number)) {
        return Ok(PathTarget::Nothing);
    }
    Err(error)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a part of the one file of the crate that may")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_path_leaves_the_root() {
        let root = tempfile::tempdir().unwrap();
        let inside = root.path().join("local");
        std::fs::create_dir_all(inside.join("a")).unwrap();
        std::fs::write(root.path().join("secret"), "s").unwrap();
        std::fs::write(inside.join("a/file"), "text").unwrap();
        symlink("../secret", inside.join("out")).unwrap();
        symlink("a", inside.join("in")).unwrap();
        symlink(root.path(), inside.join("a/up")).unwrap();
        let long = "x".repeat(300);
        for (path, want) in [
            (&["a", "file"][..], "text"),
            (&["a"], "a directory"),
            (&[], "a directory"),
            (&["b"], "nothing"),
            (&["a", "file", "x"], "nothing"),
            (&["..", "secret"], "nothing"),
            (&["a", "..", "..", "secret"], "nothing"),
            (&["../secret"], "nothing"),
            (&["/etc/passwd"], "nothing"),
            (&["out"], "nothing"),
            (&["in", "file"], "nothing"),
            (&["a", "up", "secret"], "nothing"),
            (&["."], "nothing"),
            (&["a", ""], "nothing"),
            (&["a\0b"], "nothing"),
            (&[long.as_str()], "nothing"),
        ] {
            let names = path.iter().map(OsStr::new);
            let found = match open_beneath(&inside, names).unwrap() {
                PathTarget::Nothing => "nothing".to_owned(),
                PathTarget::Directory => "a directory".to_owned(),
                PathTarget::File(file, length, _) => {
                    let mut bytes = vec![0; usize::try_from(length).unwrap()];
                    file.read_at(&mut bytes, 0).unwrap();
                    String::from_utf8(bytes).unwrap()
                }
            };
            assert_eq!(found, want, "{path:?}");
        }
        let none = open_beneath(&root.path().join("none"), std::iter::empty()).unwrap();
        assert!(matches!(none, PathTarget::Nothing));
    }
}
