//! What a crash left behind in `tmp/`, seen to when a spool is opened.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use crate::durability::TMP;
use crate::durability::tmp::is_rewrite;
use crate::entry::body::is_whole;
use crate::entry::read::{self, Content};
use crate::error::{Damage, Error, Result};
use crate::fs::{Opened, parent};
use crate::tree::{FinishedFile, Tree, salvage, segments};

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

/// Empties `tmp/`: what was finished and is whole gets its name, unless what has it is newer; what was not,
/// and has checkpoints, is moved to where its part is found.
pub(crate) fn recover(tree: &Tree, recovery: &mut Recovery) -> Result<()> {
    let tmp = tree.root.join(TMP);
    let fail = |error| Error::disk("read", &tmp, error);
    let names = tree.root.disk.read_dir(&tmp).map_err(fail)?;
    let names: Vec<PathBuf> =
        names.map(|name| name.map(|name| tmp.join(name)).map_err(fail)).collect::<Result<_>>()?;
    let (checks, files): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|path| salvage::is_check(path));
    let mut admitted = Vec::new();
    for path in files {
        // One bad file is no reason to keep all others from being read.
        let done = recover_file(tree, &path, recovery, &mut admitted);
        recovery.failures.extend(done.err());
    }
    for path in checks {
        if let Err(error) = salvage::follow(tree, &path) {
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

/// What got its name: where it is now, and what it is if it is an entry.
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
        LeftFile::Broken if salvage::set_apart(tree, path)? => recovery.set_apart += 1,
        LeftFile::Broken | LeftFile::Outdated => {
            recovery.removed += u64::from(tree.root.remove_file(path)?);
        }
    }
    Ok(())
}

/// What a file of `tmp/` is.
enum LeftFile {
    /// It was whole, and has its name.
    Admitted(Box<AdmittedFile>),
    /// It was whole, and is an older version now.
    Version,
    /// It is whole, and of no use: there is something newer.
    Outdated,
    /// It was not finished, or not all of it is on the medium.
    Broken,
}

/// Gives a file of `tmp/` its name if it should have it.
fn admit(tree: &Tree, path: &Path) -> Result<LeftFile> {
    let Content::Whole(new) = read::read_any(&*tree.root.disk, Some(&tree.root.path), path, None)?
    else {
        return Ok(LeftFile::Broken);
    };
    // It was meant to be a part, and what of is not known.
    let is_headless = new.is_part() && new.part().is_none();
    if is_headless || !is_whole(&new)? {
        return Ok(LeftFile::Broken);
    }
    let opened = tree.root.disk.open(path).map_err(|error| Error::disk("open", path, error))?;
    let Opened::File(file, _) = opened else { return Ok(LeftFile::Broken) };
    let (place, stored) = (new.place().clone(), new.stored());
    let (path, status, digest) = (path.to_owned(), new.status(), *new.digest());
    let finished = FinishedFile { place, path, file, stored, status, digest };
    if new.is_part() {
        let to = segments::files::admit(tree, &finished, &[])?;
        return Ok(to.map_or(LeftFile::Outdated, |to| LeftFile::Admitted(Box::new((to, None)))));
    }
    if let Some((_, old)) = tree.settled(new.place())?
        && old.order() >= new.order()
    {
        let is_version = tree.recover_version(&finished, &old)?;
        return Ok(if is_version { LeftFile::Version } else { LeftFile::Outdated });
    }
    finished.file.sync().map_err(|error| Error::disk("write", &finished.path, error))?;
    let to = tree.settle(&finished)?;
    Ok(LeftFile::Admitted(Box::new((to, Some(finished)))))
}
