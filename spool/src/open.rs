//! Opening a spool: its root, its lock, its version, and what a crash left behind.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::entry::{self, Body, BodyFile, Content, Damage, Entry};
use crate::error::{Error, Result, is_missing};
use crate::fs::{Disk, Lock, Opened};
use crate::store::{DAMAGED, Finished, OUTGOING, Store, TMP, parent};

/// What the file `version` holds: the format, and its number.
pub(crate) const VERSION: &str = "wwwoffle-spool 1";

const VERSION_FILE: &str = "version";
const LOCK_FILE: &str = "lock";

/// What may lie in a directory that is to become a spool: what an opening that was stopped leaves, and
/// what an empty file system brings along.
const MAY_BE_THERE: [&str; 4] = [LOCK_FILE, TMP, VERSION_FILE, "lost+found"];

/// A version file or lock is not longer than this, in bytes.
const MAX_LINE: usize = 64;

/// What is read of a body at once while it is verified, in bytes.
const PIECE: usize = 256 << 10;

/// What opening a spool found of the time before.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Recovery {
    /// Entries that were finished and had not got their name yet; they have it now.
    pub admitted: u64,
    /// Files of writes that were under way, or replaced by newer ones; they are gone.
    pub removed: u64,
    /// Files that were not what they should be, now in `damaged/`: requests, the secret, the state.
    pub damaged: Vec<Damage>,
    /// What could not be done with single files, on a full disk for example. They stay where they
    /// are, out of use, until the next opening.
    pub failures: Vec<Error>,
}

/// Makes the root if needed, and takes its lock.
pub(crate) fn lock_root(disk: &dyn Disk, root: &Path) -> Result<Lock> {
    make_root(disk, root)?;
    let path = root.join(LOCK_FILE);
    let lock = disk.lock(&path).map_err(|error| Error::disk("write", &path, error))?;
    lock.ok_or_else(|| Error::locked(root, holder(disk, &path)))
}

/// Checks the version, or makes an empty directory a spool. The lock is held.
pub(crate) fn prepare(store: &Store) -> Result<()> {
    let (disk, root) = (&*store.disk, store.root.as_path());
    if check_version(disk, root)? {
        for directory in [TMP, DAMAGED, OUTGOING] {
            store.make_dir(&root.join(directory))?;
        }
        return Ok(());
    }
    if let Some(found) = foreign_name(disk, root)? {
        return Err(Error::not_a_spool(root, found));
    }
    for directory in [TMP, DAMAGED, OUTGOING] {
        store.make_dir(&root.join(directory))?;
    }
    // A `version` that power loss left empty is written again: nothing was stored under it.
    store.replace_file(&root.join(VERSION_FILE), format!("{VERSION}\n").as_bytes())
}

/// Whether the root is a spool that this program reads; false when it has no version yet.
pub(crate) fn check_version(disk: &dyn Disk, root: &Path) -> Result<bool> {
    let Some(text) = read_line(disk, &root.join(VERSION_FILE))? else { return Ok(false) };
    match text.trim() {
        "" => Ok(false),
        VERSION => Ok(true),
        other => Err(Error::other_version(root, other.to_owned())),
    }
}

/// For reading only: the root has to be a spool.
pub(crate) fn check_root(disk: &dyn Disk, root: &Path) -> Result<()> {
    match disk.read_dir(root) {
        Ok(_) if check_version(disk, root)? => Ok(()),
        Ok(_) => Err(Error::not_a_spool(root, "no file \"version\"".to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(Error::not_a_directory(root))
        }
        Err(error) => Err(Error::disk("open", root, error)),
    }
}

/// Empties `tmp/`: what was finished and is whole gets its name, unless what has it is newer.
pub(crate) fn recover(store: &Store, recovery: &mut Recovery) -> Result<()> {
    let tmp = store.root.join(TMP);
    let names = store.disk.read_dir(&tmp).map_err(|error| Error::disk("read", &tmp, error))?;
    let mut changed: Vec<PathBuf> = Vec::new();
    for name in names {
        let name = name.map_err(|error| Error::disk("read", &tmp, error))?;
        let path = tmp.join(name);
        let done = admit(store, &path).and_then(|admitted| {
            if let Some(to) = admitted {
                changed.push(to);
                recovery.admitted += 1;
            } else {
                recovery.removed += u64::from(store.remove_file(&path)?);
            }
            Ok(())
        });
        // One bad file is no reason to keep all others from being read.
        recovery.failures.extend(done.err());
    }
    let changed: Vec<&Path> = changed.iter().map(|path| parent(path)).collect();
    recovery.failures.extend(store.sync_names(&changed).err());
    Ok(())
}

/// Gives a file of `tmp/` its name if it should have it.
fn admit(store: &Store, path: &Path) -> Result<Option<PathBuf>> {
    let Content::Whole(new) = entry::read(&*store.disk, path, None)? else { return Ok(None) };
    if !is_whole(&new)? {
        return Ok(None);
    }
    let to = store.path(new.place());
    if let Content::Whole(old) = entry::read(&*store.disk, &to, Some(new.place()))?
        && old.order() >= new.order()
    {
        return Ok(None);
    }
    let Opened::File(file, _) =
        store.disk.open(path).map_err(|error| Error::disk("open", path, error))?
    else {
        return Ok(None);
    };
    let finished =
        Finished { place: new.place().clone(), path: path.to_owned(), file, stored: new.stored() };
    finished.file.sync().map_err(|error| Error::disk("write", path, error))?;
    store.rename_into_place(&finished.path, &to)?;
    Ok(Some(to))
}

/// Reads a body to its end, and compares it with its digest.
pub(crate) fn is_whole(entry: &Entry) -> Result<bool> {
    match entry.body() {
        Body::Whole(_) => Ok(true),
        Body::File(file) => is_file_whole(file),
    }
}

fn is_file_whole(file: &BodyFile) -> Result<bool> {
    let (mut verifier, mut piece, mut offset) = (file.verifier(), vec![0; PIECE], 0);
    loop {
        let read = file.read_at(offset, &mut piece)?;
        if read == 0 {
            return Ok(verifier.finish());
        }
        verifier.update(piece.get(..read).unwrap_or_default());
        offset += crate::layout::wide(read);
    }
}

/// Makes the root and what is above it.
fn make_root(disk: &dyn Disk, root: &Path) -> Result<()> {
    let mut made = disk.create_dir(root);
    if made.as_ref().is_err_and(is_missing) && parent(root) != root {
        make_root(disk, parent(root))?;
        // Once more, and only once: where nothing can be made, as in /proc, it is missing for ever.
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
                Err(Error::not_a_directory(root))
            }
            Err(error) => Err(Error::disk("read", root, error)),
        },
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(Error::not_a_directory(parent(root)))
        }
        Err(error) => Err(Error::disk("make the directory", root, error)),
    }
}

/// The first thing in a directory that a spool would not hold before it has a version.
fn foreign_name(disk: &dyn Disk, root: &Path) -> Result<Option<String>> {
    let names = disk.read_dir(root).map_err(|error| Error::disk("read", root, error))?;
    for name in names {
        let name = name.map_err(|error| Error::disk("read", root, error))?;
        let ours = [DAMAGED, OUTGOING].iter().chain(&MAY_BE_THERE);
        if !ours.into_iter().any(|ours| name == OsStr::new(ours)) {
            return Ok(Some(name.to_string_lossy().into_owned()));
        }
    }
    Ok(None)
}

fn holder(disk: &dyn Disk, lock: &Path) -> Option<u32> {
    read_line(disk, lock).ok()??.trim().parse().ok()
}

/// The text of a short file. `None` when there is none.
fn read_line(disk: &dyn Disk, path: &Path) -> Result<Option<String>> {
    match disk.open(path) {
        Ok(Opened::File(file, _)) => {
            let bytes = entry::read_exactly(&*file, MAX_LINE, 0)
                .map_err(|error| Error::disk("read", path, error))?;
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
        Ok(Opened::NotAFile) => Ok(Some("no file".to_owned())),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(Error::disk("open", path, error)),
    }
}
