//! Storing equal bodies once, and removing unneeded holders.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use super::files::{Directories, files, names};
use super::replace::is_same;
use crate::entry::holder::{BODIES, BodyReference, file_of, holder, name_of, path_of, short};
use jiff::Timestamp;

use crate::entry::body::is_whole;
use crate::entry::layout::EntryStart;
use crate::entry::place::EXTENSION;
use crate::entry::read::EntryContent;
use crate::entry::summary::read_start;
use crate::error::{Error, Result};
use crate::fs::parallel::lock;
use crate::fs::{Disk, parent};
use crate::tree::removed::MoveCount;
use crate::tree::seen::RecordingDisk;
use crate::tree::versions::version_path;
use crate::tree::{Sum, Tree};
use wwwoffle_url::Key;

/// The smallest body that is shared, in bytes. Sharing a smaller body saves little, because each
/// entry still needs a file of its own.
pub const MIN_SHARED: u64 = 16 << 10;

/// The result of [`crate::Spool::share`].
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct SharingReport {
    /// The entries and older versions that now share their body, and the bytes that this saves.
    pub made: Sum,
    /// The holders that were removed because no file refers to them.
    pub removed: Sum,
    /// The holders that files refer to.
    pub bodies: Sum,
    /// All entries and older versions that share a body, and the bytes that sharing saves in total.
    pub saved: Sum,
    /// The failure that stopped the work, if any. Earlier work stays done.
    pub failure: Option<Error>,
}

impl Tree {
    /// Stores each body of at least `above` bytes once, and removes holders that no file refers to.
    pub(crate) fn share(&self, above: Option<u64>, go_on: &dyn Fn() -> bool) -> SharingReport {
        let tree = self;
        let _one = lock(&tree.sharing);
        let mut work = SharingWork {
            tree,
            above: above.map(|above| above.max(MIN_SHARED)),
            go_on,
            sharing: SharingReport::default(),
            needed: HashSet::new(),
            found: Vec::new(),
            is_blind: false,
            began: tree.root.disk.now(),
            moves: *lock(&tree.removals.moves),
        };
        work.sharing.failure = work.run().err();
        work.sharing
    }
}

struct SharingWork<'a> {
    tree: &'a Tree,
    above: Option<u64>,
    go_on: &'a dyn Fn() -> bool,
    sharing: SharingReport,
    /// The holders that some file refers to.
    needed: HashSet<u64>,
    /// The bodies that may be shared and are not shared yet.
    found: Vec<u64>,
    /// Whether some references are unknown, because a file could not be read, or because removed
    /// files moved during the walk.
    is_blind: bool,
    began: Timestamp,
    /// The count of moves when the walk began.
    moves: MoveCount,
}

/// The mark of a file: the short name and the length of the shared body to which it refers, or the
/// short name of its own body, which could be shared.
enum BodyMark {
    Refers(u64, u64),
    Own(u64),
}

impl SharingWork<'_> {
    fn run(&mut self) -> Result<()> {
        let disk = &*self.tree.root.disk;
        let has_bodies = !names(disk, &self.tree.root.join(BODIES))?.is_empty();
        if self.above.is_none() && !has_bodies {
            return Ok(());
        }
        for directory in Directories::new(disk, &self.tree.root.path)? {
            if !(self.go_on)() {
                return Ok(());
            }
            match directory.and_then(|directory| self.marks(&directory)) {
                Ok(marks) => marks.iter().for_each(|mark| self.record_mark(mark)),
                Err(_) => self.is_blind = true,
            }
        }
        self.look_at_removed()?;
        self.remove_unneeded()?;
        self.share_all()
    }

    /// Collects the references of removed entries, which may be brought back. Their own bodies are
    /// not shared.
    fn look_at_removed(&mut self) -> Result<()> {
        let tree = self.tree;
        for root in tree.removal_roots()? {
            for directory in Directories::new(&*tree.root.disk, &root)? {
                match directory.and_then(|directory| self.marks(&directory)) {
                    Ok(marks) => self.needed.extend(marks.iter().filter_map(|mark| match mark {
                        BodyMark::Refers(name, _) => Some(*name),
                        BodyMark::Own(_) => None,
                    })),
                    Err(_) => self.is_blind = true,
                }
            }
        }
        // A file that moved in the meantime may have been missed in both places.
        self.is_blind |= !lock(&tree.removals.moves).is_unchanged_since(self.moves);
        Ok(())
    }

    fn record_mark(&mut self, mark: &BodyMark) {
        match *mark {
            BodyMark::Own(name) => self.found.push(name),
            BodyMark::Refers(name, body_len) => {
                let is_first = self.needed.insert(name);
                self.sharing.saved.add(if is_first { 0 } else { body_len });
            }
        }
    }

    /// Returns the references in a directory of keys, and the bodies in it that could be shared.
    /// All are read in one state of the directory.
    fn marks(&mut self, directory: &Path) -> Result<Vec<BodyMark>> {
        let disk = &*self.tree.root.disk;
        let recorder = RecordingDisk::new(disk);
        let marks = self.read_marks(&recorder, directory)?;
        if recorder.into_trace(disk.now()).is_some_and(|seen| seen.is_current(disk)) {
            return Ok(marks);
        }
        // The directory is changing, or has no stamp. So it is read again while names cannot
        // change.
        let _commit = lock(&self.tree.commit);
        self.read_marks(disk, directory)
    }

    fn read_marks(&self, disk: &dyn Disk, directory: &Path) -> Result<Vec<BodyMark>> {
        let mut marks = Vec::new();
        for path in files(disk, directory)? {
            let Some((first, _)) = read_start(disk, &path)? else { continue };
            let name = short(name_of(first.digest, first.place.owner()));
            if first.refers.is_some() {
                marks.push(BodyMark::Refers(name, first.body_len));
            } else if self.may_be_shared(&first) {
                marks.push(BodyMark::Own(name));
            }
        }
        Ok(marks)
    }

    fn may_be_shared(&self, first: &EntryStart) -> bool {
        !first.is_part && self.above.is_some_and(|above| first.body_len >= above)
    }

    /// Removes the holders that no file refers to.
    fn remove_unneeded(&mut self) -> Result<()> {
        let tree = self.tree;
        let disk = &*tree.root.disk;
        let (bodies, mut unneeded) = (tree.root.join(BODIES), Vec::new());
        for group in names(disk, &bodies)? {
            let group = bodies.join(group);
            for name in names(disk, &group)? {
                let key = name.strip_suffix(EXTENSION).and_then(|stem| stem.parse::<Key>().ok());
                let path = group.join(&name);
                let about = disk.about(&path).map_err(|error| Error::disk("look at", &path, error));
                let (Some(key), Some(about)) = (key, about?) else { continue };
                if self.needed.contains(&short(key)) {
                    self.sharing.bodies.add(about.len);
                } else {
                    unneeded.push((path, about.len));
                }
            }
        }
        if unneeded.is_empty() || self.is_blind {
            return Ok(());
        }
        // Synced under every setting: after a crash, no removed file that refers to the holder may
        // come back.
        match disk.sync_all(&tree.root.path) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(()),
            synced => synced.map_err(|error| Error::disk("write", &tree.root.path, error))?,
        }
        for (path, len) in unneeded {
            // A holder that was made during the walk may be referred to by files that the walk has
            // already passed, so it stays.
            let stamp = disk.stamp(&path).ok().flatten();
            if stamp.is_some_and(|stamp| stamp.changed() >= self.began) {
                continue;
            }
            if tree.root.remove_file(&path)? {
                self.sharing.removed.add(len);
                // Fails while the directory has other holders.
                let _ = disk.remove_dir(parent(&path));
            }
        }
        Ok(())
    }

    fn share_all(&mut self) -> Result<()> {
        let more = self.repeated_bodies();
        if more.is_empty() {
            return Ok(());
        }
        let disk = &*self.tree.root.disk;
        for directory in Directories::new(disk, &self.tree.root.path)?.flatten() {
            for path in files(disk, &directory).unwrap_or_default() {
                if !(self.go_on)() {
                    return Ok(());
                }
                let Ok(Some((first, _))) = read_start(disk, &path) else { continue };
                let name = short(name_of(first.digest, first.place.owner()));
                if first.refers.is_none() && self.may_be_shared(&first) && more.contains(&name) {
                    self.share_one(&path, &first)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the bodies that occur several times, or already have a holder.
    fn repeated_bodies(&mut self) -> HashSet<u64> {
        let mut found = std::mem::take(&mut self.found);
        found.sort_unstable();
        let several = found.windows(2).filter_map(|pair| match pair {
            [one, other] if one == other => Some(*one),
            _ => None,
        });
        let held = found.iter().copied().filter(|name| self.needed.contains(name));
        several.chain(held).collect()
    }

    /// Makes the entry or version at `path` share its body.
    fn share_one(&mut self, path: &Path, first: &EntryStart) -> Result<()> {
        let (tree, place) = (self.tree, &first.place);
        let homes = [place.single_path(), place.variant_path(), version_path(place, first.stored)];
        if !homes.iter().any(|home| tree.root.join(home) == path) {
            // A misplaced file is shared only after it was moved to its right name.
            return Ok(());
        }
        let EntryContent::Whole(entry) = tree.read_at(path, place)? else { return Ok(()) };
        let to = tree.root.join(path_of(name_of(first.digest, place.owner())));
        let held = match holder(&*tree.root.disk, &tree.root.path, first.digest, place)? {
            EntryContent::Whole(holder) => Some(holder),
            EntryContent::Missing | EntryContent::Moved => None,
            EntryContent::Bad(reason) => {
                tree.root.record_failure(Error::damaged(tree.root.move_aside(&to, reason)));
                None
            }
        };
        let refers = BodyReference::to(held.as_ref().unwrap_or(&entry));
        let now = (entry.head(), entry.state());
        let Some(bytes) = file_of(&entry, now, &refers)? else { return Ok(()) };
        let is_ready = match &held {
            Some(holder) => is_same(&entry, holder)?,
            None => is_whole(&entry)? && tree.make_holder(path, &entry, &to)?,
        };
        if !is_ready {
            return Ok(());
        }
        if held.is_none() {
            self.needed.insert(short(name_of(first.digest, place.owner())));
            let about = tree.root.disk.about(&to).ok().flatten();
            self.sharing.bodies.add(about.map_or(0, |about| about.len));
        }
        if tree.replace_by_reference(path, &entry, &bytes)? {
            let saved = if held.is_some() { entry.body_len() } else { 0 };
            self.sharing.made.add(saved);
            self.sharing.saved.add(saved);
        }
        Ok(())
    }
}
