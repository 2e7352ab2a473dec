//! Recovery when a spool is opened: handles the files that a crash has left in `tmp/`.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use crate::durability::tmp::is_rewrite;
use crate::durability::{Durability, TMP};
use crate::entry::Entry;
use crate::entry::body::is_whole;
use crate::entry::read::{self, EntryContent};
use crate::error::{Damage, Error, Result};
use crate::fs::names::names;
use crate::fs::parallel::lock;
use crate::fs::{OpenedFile, parent};
use crate::tree::{FinishedFile, Tree, salvage, segments};

/// The report about the files that the previous run left, and what an opening did with them.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Recovery {
    /// The number of finished entries and segments that the previous run had not renamed, and that
    /// were renamed now.
    pub admitted: u64,
    /// The number of interrupted downloads whose received bytes were saved.
    /// [`crate::Spool::partial`] returns these.
    pub set_apart: u64,
    /// The number of unfinished or outdated files, which were removed.
    pub removed: u64,
    /// The damaged files, now in `damaged/`: requests, monitored pages, and the key of the secrets.
    pub damaged: Vec<Damage>,
    /// Whether the previous run did not close the spool properly. [`crate::Spool::check_recent`]
    /// checks the entries stored last.
    pub was_not_closed: bool,
    /// Failures to handle a file. Such a file stays unused until the next opening, or if it is an
    /// entry, until a batch can rename it. An entry for whose name a full disk has no room is not a
    /// failure under [`crate::Durability::Batch`]: it is found, and gets its name with a later batch.
    pub failures: Vec<Error>,
}

/// Empties `tmp/`. A complete file is moved to its place. If the file there is newer, the complete
/// file becomes an older version or is removed. An incomplete file with checkpoints is moved to
/// `partial/`. Other incomplete files are removed.
pub(crate) fn recover(tree: &Tree, recovery: &mut Recovery) -> Result<()> {
    let tmp = tree.root.join(TMP);
    let names = names(&*tree.root.disk, &tmp)?;
    let names: Vec<PathBuf> = names.map(|name| Ok(tmp.join(name?))).collect::<Result<_>>()?;
    let (checks, files): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|path| salvage::is_check(path));
    let mut admitted = Vec::new();
    tree.root.write_out(files.len());
    for path in files {
        // If one file cannot be recovered, the others are still recovered.
        let done = recover_file(tree, &path, recovery, &mut admitted);
        recovery.failures.extend(done.err());
    }
    for path in checks {
        if let Err(error) = salvage::move_checkpoints(tree, &path) {
            tree.segments.has_strays.store(true, Ordering::Release);
            recovery.failures.push(error);
        }
    }
    let changed: Vec<&Path> = admitted.iter().map(|(path, _)| parent(path)).collect();
    match tree.root.sync_names(&changed) {
        Ok(()) => admitted.iter().filter_map(|(_, entry)| entry.as_ref()).for_each(|entry| {
            tree.drop_parts(entry);
        }),
        Err(error) => recovery.failures.push(error),
    }
    Ok(())
}

/// The new path of a file, and the file if it is an entry.
type AdmittedFile = (PathBuf, Option<FinishedFile>);

fn recover_file(
    tree: &Tree,
    path: &Path,
    recovery: &mut Recovery,
    admitted: &mut Vec<AdmittedFile>,
) -> Result<()> {
    if is_rewrite(path) {
        recovery.removed += u64::from(tree.root.remove_file(path)?);
        return Ok(());
    }
    match admit(tree, path)? {
        LeftFile::Admitted(done) => {
            admitted.push(*done);
            recovery.admitted += 1;
        }
        LeftFile::Version => recovery.admitted += 1,
        LeftFile::Held => {}
        LeftFile::Broken if salvage::move_to_partial(tree, path)? => recovery.set_apart += 1,
        LeftFile::Broken | LeftFile::Outdated => {
            recovery.removed += u64::from(tree.root.remove_file(path)?);
        }
    }
    Ok(())
}

/// The result for a file in `tmp/`.
enum LeftFile {
    /// The file was complete, and is now renamed into place.
    Admitted(Box<AdmittedFile>),
    /// The file was complete, and is now an older version.
    Version,
    /// The file is complete, and waits for its name in the next batch.
    Held,
    /// The file is complete, but the file in its place is newer.
    Outdated,
    /// The file is incomplete.
    Broken,
}

/// Renames a file of `tmp/` into place, if it is complete and newer than the present entry.
fn admit(tree: &Tree, path: &Path) -> Result<LeftFile> {
    let Some((new, finished)) = read_file(tree, path)? else { return Ok(LeftFile::Broken) };
    // A segment without the record of its position in the body.
    let is_headless = new.is_part() && new.part().is_none();
    if is_headless || !is_whole(&new)? {
        return Ok(LeftFile::Broken);
    }
    if new.is_part() {
        let to = segments::files::admit(tree, &finished, &[])?;
        return Ok(to.map_or(LeftFile::Outdated, |to| LeftFile::Admitted(Box::new((to, None)))));
    }
    let old = tree.newest_in_tree(new.place());
    let admitted =
        old.and_then(|old| admit_over(tree, &new, finished.clone(), old.map(|(_, old)| old)));
    if admitted.is_err() {
        // It is tried again soon. A removal finds it until then.
        tree.leave(&finished);
        tree.pending.schedule_batch();
    }
    admitted
}

/// Reads the beginning of a file of `tmp/`. `None` if it is invalid.
fn read_file(tree: &Tree, path: &Path) -> Result<Option<(Entry, FinishedFile)>> {
    let EntryContent::Whole(new) =
        read::read_any(&*tree.root.disk, Some(&tree.root.path), path, None)?
    else {
        return Ok(None);
    };
    let opened = tree.root.disk.open(path).map_err(|error| Error::disk("open", path, error))?;
    let OpenedFile::File(file, _) = opened else { return Ok(None) };
    let (place, stored) = (new.place().clone(), new.stored());
    let (path, status, digest) = (path.to_owned(), new.status(), *new.digest());
    let body_len = new.body_len();
    let finished = FinishedFile { place, path, file, stored, status, digest, body_len };
    Ok(Some((new, finished)))
}

/// Renames a complete file into place, if it is newer than the entry `old` of the tree.
fn admit_over(
    tree: &Tree,
    new: &Entry,
    finished: FinishedFile,
    old: Option<Entry>,
) -> Result<LeftFile> {
    if let Some(old) = old.filter(|old| old.order() >= new.order()) {
        let is_version = tree.recover_version(&finished, &old)?;
        return Ok(if is_version { LeftFile::Version } else { LeftFile::Outdated });
    }
    let mut same = tree.pending.variants(finished.place.key()).into_iter();
    let held = same.find(|held| held.place == finished.place);
    if held.as_ref().is_some_and(|held| held.stored >= finished.stored) {
        return Ok(LeftFile::Outdated);
    }
    finished.sync()?;
    match tree.put_in_place(&finished) {
        Ok(to) => {
            if let Some(older) = held {
                tree.pending.remove(&older.place);
                tree.root.discard(&older.path);
            }
            Ok(LeftFile::Admitted(Box::new((to, Some(finished)))))
        }
        // Lookups find it below `tmp/`, as during the previous run.
        Err(error) if is_batched(tree) && tree.pending.hold(&tree.root, &finished, &error) => {
            tree.pending.add(finished).iter().for_each(|older| tree.root.discard(&older.path));
            Ok(LeftFile::Held)
        }
        Err(error) => Err(error),
    }
}

/// Tries again to rename the files that were left in `tmp/`. Returns the renamed entries with their
/// paths. The caller holds the lock of batches.
pub(crate) fn admit_left(tree: &Tree) -> Vec<(FinishedFile, PathBuf)> {
    let mut admitted = Vec::new();
    for left in tree.pending.due_left() {
        let _told = tree.changing(&left.place);
        let _commit = lock(&tree.commit);
        if !tree.pending.is_left(&left) {
            continue;
        }
        let Ok(done) = admit_again(tree, &left.path) else {
            // The failure was recorded when the file was left.
            tree.pending.delay_left();
            continue;
        };
        let kept = tree.pending.take_left(left.place.key(), Some(left.place.variant_name()));
        match done {
            LeftFile::Admitted(done) => {
                let (path, finished) = *done;
                admitted.extend(finished.map(|finished| (finished, path)));
            }
            LeftFile::Version | LeftFile::Held => {}
            LeftFile::Broken | LeftFile::Outdated => {
                for path in kept {
                    tree.root.discard(&path);
                    tree.root.leaves_tmp();
                }
            }
        }
    }
    admitted
}

/// Renames a file that was left in `tmp/` into place. Its body was checked before.
fn admit_again(tree: &Tree, path: &Path) -> Result<LeftFile> {
    let Some((new, finished)) = read_file(tree, path)? else { return Ok(LeftFile::Broken) };
    let old = match tree.newest_in_tree(new.place()) {
        Err(error) if error.is_out_of_files() => return Err(error),
        // The new entry replaces an unreadable file.
        old => old.ok().flatten(),
    };
    admit_over(tree, &new, finished, old.map(|(_, old)| old))
}

fn is_batched(tree: &Tree) -> bool {
    tree.root.durability == Durability::Batch
}
