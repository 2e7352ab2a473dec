//! Opening the root: its lock, and its version.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use crate::durability::{DAMAGED, OUTGOING, RUNS, Root, TMP};
use crate::error::{Error, Result, SpoolFault, is_missing};
use crate::fs::whole::open_if_any;
use crate::fs::{Disk, Lock, OpenedFile, is_read_only, parent, read_exactly};

/// The content of the file `version`: the format and its number.
pub(crate) const VERSION: &str = "wwwoffle-spool 1";

const VERSION_FILE: &str = "version";
const LOCK_FILE: &str = "lock";

/// Names allowed in a directory that is to become a spool, in addition to `damaged`, `outgoing` and
/// `runs`: those that an interrupted opening may have left, and `lost+found` of an empty file
/// system.
const MAY_BE_THERE: [&str; 4] = [LOCK_FILE, TMP, VERSION_FILE, "lost+found"];

/// The largest number of bytes read from the files `version` and `lock`.
const MAX_LINE: usize = 64;

/// Creates the root if needed, and takes its lock. Fails if another process holds the lock.
pub(crate) fn lock_root(disk: &dyn Disk, root: &Path) -> Result<Lock> {
    make_root(disk, root)?;
    let path = root.join(LOCK_FILE);
    let lock = disk.lock(&path).map_err(|error| Error::disk("write", &path, error))?;
    lock.ok_or_else(|| {
        let (root, pid) = (root.to_owned(), lock_holder(disk, &path));
        SpoolFault::Locked { root, pid }.into()
    })
}

/// Creates the root if needed, and takes its lock. `None` if the root is a spool on a read-only
/// file system: the caller then opens it for reading only.
pub(crate) fn lock_root_to_write(disk: &dyn Disk, root: &Path) -> Result<Option<Lock>> {
    if is_read_only(root) && check_version(disk, root)? {
        return Ok(None);
    }
    lock_root(disk, root).map(Some)
}

/// Creates the missing directories of a spool of this version. If the root is no spool yet and
/// contains no foreign names, makes it a spool. The caller holds the lock.
pub(crate) fn prepare(root: &Root) -> Result<()> {
    let (disk, path) = (&*root.disk, root.path.as_path());
    if check_version(disk, path)? {
        for directory in [TMP, DAMAGED, OUTGOING, RUNS] {
            root.make_dir(&root.join(directory))?;
        }
        return Ok(());
    }
    if let Some(found) = foreign_name(disk, path)? {
        return Err(SpoolFault::NotASpool { root: path.to_owned(), found }.into());
    }
    for directory in [TMP, DAMAGED, OUTGOING, RUNS] {
        root.make_dir(&root.join(directory))?;
    }
    // This also replaces a `version` that a power failure left empty: nothing is stored in a spool
    // before its `version` is written.
    root.replace_file(&root.join(VERSION_FILE), format!("{VERSION}\n").as_bytes())
}

/// Whether the root is a spool of this version. False if its file `version` is missing or empty, an
/// error if the file names another version.
pub(crate) fn check_version(disk: &dyn Disk, root: &Path) -> Result<bool> {
    let Some(text) = read_line(disk, &root.join(VERSION_FILE))? else { return Ok(false) };
    match text.trim() {
        "" => Ok(false),
        VERSION => Ok(true),
        other => {
            let (root, found) = (root.to_owned(), other.to_owned());
            Err(SpoolFault::OtherVersion { root, found, known: VERSION }.into())
        }
    }
}

/// Checks that the root is a spool, for a reader.
pub(crate) fn check_root(disk: &dyn Disk, root: &Path) -> Result<()> {
    match disk.read_dir(root) {
        Ok(_) if check_version(disk, root)? => Ok(()),
        Ok(_) => {
            let found = "no file \"version\"".to_owned();
            Err(SpoolFault::NotASpool { root: root.to_owned(), found }.into())
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(SpoolFault::NotADirectory { path: root.to_owned() }.into())
        }
        Err(error) => Err(Error::disk("open", root, error)),
    }
}

/// Creates the root and the directories above it.
fn make_root(disk: &dyn Disk, root: &Path) -> Result<()> {
    let mut made = disk.create_dir(root);
    if made.as_ref().is_err_and(is_missing) && parent(root) != root {
        make_root(disk, parent(root))?;
        // One more attempt is enough: where nothing can be created, as in /proc, each attempt would
        // end with the same error.
        made = disk.create_dir(root);
    }
    match made {
        Ok(()) => match root.parent().filter(|above| !above.as_os_str().is_empty()) {
            Some(above) => disk.sync_dir(above).map_err(|error| Error::disk("write", above, error)),
            None => Ok(()),
        },
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match disk.read_dir(root) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                Err(SpoolFault::NotADirectory { path: root.to_owned() }.into())
            }
            Err(error) => Err(Error::disk("read", root, error)),
        },
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(SpoolFault::NotADirectory { path: parent(root).to_owned() }.into())
        }
        Err(error) => Err(Error::disk("make the directory", root, error)),
    }
}

/// Returns a name in the root that prevents the root from becoming a spool. `None` if there is no
/// such name.
fn foreign_name(disk: &dyn Disk, root: &Path) -> Result<Option<String>> {
    let names = disk.read_dir(root).map_err(|error| Error::disk("read", root, error))?;
    for name in names {
        let name = name.map_err(|error| Error::disk("read", root, error))?;
        let ours = [DAMAGED, OUTGOING, RUNS].iter().chain(&MAY_BE_THERE);
        if !ours.into_iter().any(|ours| name == OsStr::new(ours)) {
            return Ok(Some(name.to_string_lossy().into_owned()));
        }
    }
    Ok(None)
}

fn lock_holder(disk: &dyn Disk, lock: &Path) -> Option<u32> {
    read_line(disk, lock).ok()??.trim().parse().ok()
}

/// Reads the first [`MAX_LINE`] bytes of a file. `None` if it is missing. For a directory or a
/// device, the text says that it is not a plain file.
fn read_line(disk: &dyn Disk, path: &Path) -> Result<Option<String>> {
    match open_if_any(disk, path)? {
        Some(OpenedFile::File(file, _)) => {
            let bytes = read_exactly(&*file, MAX_LINE, 0)
                .map_err(|error| Error::disk("read", path, error))?;
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
        Some(OpenedFile::NotAFile) => Ok(Some("not a plain file".to_owned())),
        None => Ok(None),
    }
}
