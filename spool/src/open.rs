//! Opening a spool: its root, its lock, its version, and what a crash left behind.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use crate::entry::{Body, BodyFile, Damage, Entry};
use crate::error::{Error, Result, is_missing};
use crate::fs::{Disk, Lock, Opened};
use crate::partial;
use crate::read::{self, Content};
use crate::runs::RUNS;
use crate::salvage;
use crate::store::{DAMAGED, Finished, OUTGOING, Store, TMP, parent};
use crate::tmp::is_rewrite;

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
    /// Downloads that were under way of which a part is kept: [`crate::Spool::partial`] finds it.
    pub set_apart: u64,
    /// Files of writes that were under way, or replaced by newer ones; they are gone.
    pub removed: u64,
    /// Files that were not what they should be, now in `damaged/`: requests, schedules, the secret, the
    /// state.
    pub damaged: Vec<Damage>,
    /// The opening before ended without closing the spool: [`crate::Spool::check_recent`] looks at what came
    /// last then.
    pub was_not_closed: bool,
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
        for directory in [TMP, DAMAGED, OUTGOING, RUNS] {
            store.make_dir(&root.join(directory))?;
        }
        return Ok(());
    }
    if let Some(found) = foreign_name(disk, root)? {
        return Err(Error::not_a_spool(root, found));
    }
    for directory in [TMP, DAMAGED, OUTGOING, RUNS] {
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

/// Empties `tmp/`: what was finished and is whole gets its name, unless what has it is newer; what was not,
/// and has checkpoints, is moved to where its part is found.
pub(crate) fn recover(store: &Store, recovery: &mut Recovery) -> Result<()> {
    let tmp = store.root.join(TMP);
    let fail = |error| Error::disk("read", &tmp, error);
    let names = store.disk.read_dir(&tmp).map_err(fail)?;
    let names: Vec<PathBuf> =
        names.map(|name| name.map(|name| tmp.join(name)).map_err(fail)).collect::<Result<_>>()?;
    let (checks, files): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|path| salvage::is_check(path));
    let mut admitted = Vec::new();
    for path in files {
        // One bad file is no reason to keep all others from being read.
        let done = recover_file(store, &path, recovery, &mut admitted);
        recovery.failures.extend(done.err());
    }
    for path in checks {
        if let Err(error) = salvage::follow(store, &path) {
            store.has_strays.store(true, Ordering::Release);
            recovery.failures.push(error);
        }
    }
    let changed: Vec<&Path> = admitted.iter().map(|(path, _)| parent(path)).collect();
    match store.sync_names(&changed) {
        Ok(()) => admitted.iter().filter_map(|(_, entry)| entry.as_ref()).for_each(|entry| {
            store.drop_parts(entry);
        }),
        Err(error) => recovery.failures.push(error),
    }
    Ok(())
}

/// What got its name: where it is now, and what it is if it is an entry.
type Admitted = (PathBuf, Option<Finished>);

fn recover_file(
    store: &Store,
    path: &Path,
    recovery: &mut Recovery,
    admitted: &mut Vec<Admitted>,
) -> Result<()> {
    if is_rewrite(path) {
        recovery.removed += u64::from(store.remove_file(path)?);
        return Ok(());
    }
    match admit(store, path)? {
        Left::Admitted(done) => {
            admitted.push(*done);
            recovery.admitted += 1;
        }
        Left::Version => recovery.admitted += 1,
        Left::Broken if salvage::set_apart(store, path)? => recovery.set_apart += 1,
        Left::Broken | Left::Outdated => recovery.removed += u64::from(store.remove_file(path)?),
    }
    Ok(())
}

/// What a file of `tmp/` is.
enum Left {
    /// It was whole, and has its name.
    Admitted(Box<Admitted>),
    /// It was whole, and is an older version now.
    Version,
    /// It is whole, and of no use: there is something newer.
    Outdated,
    /// It was not finished, or not all of it is on the medium.
    Broken,
}

/// Gives a file of `tmp/` its name if it should have it.
fn admit(store: &Store, path: &Path) -> Result<Left> {
    let Content::Whole(new) = read::read_any(&*store.disk, Some(&store.root), path, None)? else {
        return Ok(Left::Broken);
    };
    // It was meant to be a part, and what of is not known.
    let is_headless = new.is_part() && new.part().is_none();
    if is_headless || !is_whole(&new)? {
        return Ok(Left::Broken);
    }
    let opened = store.disk.open(path).map_err(|error| Error::disk("open", path, error))?;
    let Opened::File(file, _) = opened else { return Ok(Left::Broken) };
    let (place, stored) = (new.place().clone(), new.stored());
    let (path, status, digest) = (path.to_owned(), new.status(), *new.digest());
    let finished = Finished { place, path, file, stored, status, digest };
    if new.is_part() {
        let to = partial::admit(store, &finished, &[])?;
        return Ok(to.map_or(Left::Outdated, |to| Left::Admitted(Box::new((to, None)))));
    }
    if let Some((_, old)) = store.settled(new.place())?
        && old.order() >= new.order()
    {
        let is_version = store.recover_version(&finished, &old)?;
        return Ok(if is_version { Left::Version } else { Left::Outdated });
    }
    finished.file.sync().map_err(|error| Error::disk("write", &finished.path, error))?;
    let to = store.settle(&finished)?;
    Ok(Left::Admitted(Box::new((to, Some(finished)))))
}

/// Reads a body to its end, and compares it with its digest.
pub(crate) fn is_whole(entry: &Entry) -> Result<bool> {
    match entry.body() {
        Body::Whole(_) => Ok(true),
        Body::File(file) => match is_file_whole(file) {
            Err(error) if error.is_damaged() => Ok(false),
            done => done,
        },
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
        let ours = [DAMAGED, OUTGOING, RUNS].iter().chain(&MAY_BE_THERE);
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
            let bytes = read::read_exactly(&*file, MAX_LINE, 0)
                .map_err(|error| Error::disk("read", path, error))?;
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
        Ok(Opened::NotAFile) => Ok(Some("no file".to_owned())),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(Error::disk("open", path, error)),
    }
}
