//! The entries of one key, and their paths.
//!
//! ```text
//! 9f/9f86d081….warc               the only entry, if it does not vary
//! 9f/9f86d081….variants/<…>.warc  all entries, as soon as one varies, by the SHA-256 of their variant
//! ```
//!
//! If a file of the first form exists, lookups do not see files of the second form. So most keys,
//! which have a single entry, take one open. A crash while an entry moves to the second form leaves
//! it visible. While a key has a directory of variants, every new entry is stored there. Entries in
//! the current batch take precedence over both forms.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::durability::Durability;
use crate::entry::overlay::overlay_path;
use crate::entry::place::{EXTENSION, Place};
use crate::entry::read::{EntryContent, ExpectedEntry};
use crate::entry::summary::read_summary;
use crate::entry::warc::Reason;
use crate::entry::{Entries, Entry, read};
use crate::error::{Damage, Error, Result};
use crate::fs::names::names_if_any;
use crate::fs::parallel::lock;
use crate::fs::whole::open_if_any;
use crate::fs::{Disk, parent};
use crate::tree::versions::MAX_VERSIONS;
use crate::tree::{FinishedFile, Tree, segments};
use wwwoffle_url::Key;

/// The largest number of entries of one key. If a new entry exceeds it, an entry of another
/// spelling of the URL is removed, or else the oldest entry.
pub const MAX_VARIANTS: usize = 16;

/// The largest number of entries read in a directory of variants. Only other programs leave more.
const MAX_NAMES: usize = 4 * MAX_VARIANTS;

/// The largest number of names read to find these entries: each may have all its versions beside it,
/// and an update file beside each of these files.
const MAX_NAMES_READ: usize = 2 * MAX_NAMES * (MAX_VERSIONS + 1);

/// The order in which entries of a key are removed to make room. Entries of other spellings of the
/// URL come first, because any client can create them; then the oldest.
pub(crate) fn eviction_order(place: &Place, stored: Timestamp) -> (bool, Timestamp) {
    (Place::spelling_of(place.variant_text()).is_none(), stored)
}

/// The entries of a key that a lookup returns.
#[derive(Debug, Clone, Copy)]
pub(crate) enum VariantChoice {
    All,
    /// The entry of exactly this place.
    Exact,
}

/// The result of a lookup.
#[derive(Debug, Default)]
pub(crate) struct KeyLookup {
    pub(crate) found: Vec<Entry>,
    pub(crate) bad: Vec<(PathBuf, Reason)>,
    /// Whether a file was being renamed during the lookup, so that the lookup may have missed it.
    pub(crate) moved: bool,
}

impl KeyLookup {
    /// Reads the entries of a place. `pending` are the entries of its key in the current batch.
    pub(crate) fn at(
        disk: &dyn Disk,
        root: &Path,
        place: &Place,
        which: VariantChoice,
        pending: &[FinishedFile],
    ) -> Result<KeyLookup> {
        let mut look = KeyLookup::default();
        let wanted = place.variant_name();
        let is_wanted = |name: Key| matches!(which, VariantChoice::All) || name == wanted;
        let mut taken = Vec::new();
        for finished in pending {
            let name = finished.place.variant_name();
            if is_wanted(name) {
                let content =
                    read::read(disk, root, &finished.path, Some(ExpectedEntry { place, name }))?;
                look.moved |= !look.add_content(&finished.path, content);
            }
            taken.push(name);
        }
        let single = Place::SINGLE;
        if !taken.contains(&single) {
            let path = root.join(place.single_path());
            let content =
                read::read_updated(disk, root, &path, ExpectedEntry { place, name: single })?;
            let is_hidden = matches!(content, EntryContent::Whole(_)) && !is_wanted(single);
            if is_hidden || look.add_content(&path, content) {
                return Ok(look);
            }
        }
        let directory = root.join(place.variants_path());
        let names = match which {
            VariantChoice::Exact => vec![wanted],
            VariantChoice::All => names(disk, &directory)?,
        };
        for name in names {
            if taken.contains(&name) {
                continue;
            }
            let path = file_of(&directory, name);
            let content = read::read_updated(disk, root, &path, ExpectedEntry { place, name })?;
            let is_there = look.add_content(&path, content);
            look.moved |= !is_there && matches!(which, VariantChoice::All);
        }
        look.found.sort_by_key(|entry| Reverse(entry.stored()));
        look.found.truncate(MAX_VARIANTS);
        Ok(look)
    }

    /// Adds the content of a path. Returns false if the file is missing.
    fn add_content(&mut self, path: &Path, content: EntryContent) -> bool {
        match content {
            EntryContent::Whole(entry) => self.found.push(entry),
            EntryContent::Bad(reason) => self.bad.push((path.to_owned(), reason)),
            EntryContent::Moved => self.moved = true,
            EntryContent::Missing => return false,
        }
        true
    }

    /// Returns the entries, and the damaged files without moving them.
    pub(crate) fn into_entries(self) -> Entries {
        let damage = |(path, reason): (PathBuf, Reason)| Damage::new(path, reason);
        Entries { found: self.found, set_aside: self.bad.into_iter().map(damage).collect() }
    }
}

/// The names of variants in a directory.
pub(crate) fn names(disk: &dyn Disk, directory: &Path) -> Result<Vec<Key>> {
    let mut keys = Vec::new();
    for name in names_if_any(disk, directory)?.take(MAX_NAMES_READ) {
        let name = name?;
        let stem = name.to_str().and_then(|name| name.strip_suffix(EXTENSION));
        keys.extend(stem.and_then(|stem| stem.parse::<Key>().ok()));
        if keys.len() == MAX_NAMES {
            break;
        }
    }
    Ok(keys)
}

/// Whether an entry was neither replaced nor confirmed since it was read. An update that only marks
/// the entry as invalid does not count.
pub(crate) fn is_unchanged(now: &Entry, seen: &Entry) -> bool {
    (now.id(), now.checked()) == (seen.id(), seen.checked())
}

fn file_of(directory: &Path, name: Key) -> PathBuf {
    directory.join(format!("{name}{EXTENSION}"))
}

impl Tree {
    /// Renames a finished file into place. The caller holds `commit`, even during the syncs that
    /// are needed if the single entry of a key is moved because the key gets its first variant, if
    /// an entry must be removed to make room, or if the old entry becomes a version.
    pub(crate) fn put_in_place(&self, finished: &FinishedFile) -> Result<PathBuf> {
        let path = self.name_for(&finished.place)?;
        let has_versions = self.keep_version(finished, &path)?;
        let renamed = self.root.rename_into_place(&finished.path, &path);
        // Recorded only after the rename: a sync of `tmp/` between the two would miss the rename.
        self.root.leaves_tmp();
        renamed?;
        self.root.add_recent(&path);
        // A new entry has none, and need not be slowed by a look for them.
        if has_versions {
            self.drop_surplus(&finished.place);
        }
        Ok(path)
    }

    /// Returns the path for a new entry of a place, after making room for it.
    pub(crate) fn name_for(&self, place: &Place) -> Result<PathBuf> {
        let directory = self.root.join(place.variants_path());
        if place.variant_text().is_empty() && !self.root.is_directory(&directory)? {
            return Ok(self.root.join(place.single_path()));
        }
        self.move_single(place, &directory)?;
        self.make_room(&directory, place.variant_name())?;
        Ok(file_of(&directory, place.variant_name()))
    }

    /// Moves the single entry of a key, if there is one, into the directory of variants. At each
    /// moment the entry has at least one of the two names on disk. The removal of the old name is
    /// synced too, so that the entry cannot hide the variants later.
    pub(crate) fn move_single(&self, place: &Place, directory: &Path) -> Result<()> {
        let (single, name) = (self.root.join(place.single_path()), Place::SINGLE);
        let expected = ExpectedEntry { place, name };
        let here = match read::read_updated(&*self.root.disk, &self.root.path, &single, expected)? {
            EntryContent::Whole(entry) => entry,
            EntryContent::Missing => return Ok(()),
            EntryContent::Bad(reason) => {
                let damage = self.root.move_aside(&single, reason);
                self.root.record_failure(Error::damaged(damage));
                return Ok(());
            }
            EntryContent::Moved => return Err(Error::disk("read", &single, changed())),
        };
        let to = file_of(directory, name);
        let there = match read::read_updated(&*self.root.disk, &self.root.path, &to, expected)? {
            EntryContent::Whole(there) => Some(there.order()),
            _ => None,
        };
        // After a crash the entry may have both names.
        if there <= Some(here.order()) {
            // An update file is removed instead of linked if it belongs to an earlier entry, or if
            // the entry already contains its content.
            if here.overlay.is_some() && self.root.is_file(&overlay_path(&single))? {
                self.root.link_into_place(&overlay_path(&single), &overlay_path(&to))?;
            }
            if there < Some(here.order()) {
                self.root.link_into_place(&single, &to)?;
            }
        }
        self.root.sync_names(&[directory])?;
        self.root.remove_file(&single)?;
        self.root.sync_dir(parent(&single))?;
        self.root.remove_file(&overlay_path(&single)).map(|_| ())
    }

    /// Removes the oldest entry if `new` would exceed the limit. Other spellings of the URL are
    /// removed first.
    fn make_room(&self, directory: &Path, new: Key) -> Result<()> {
        let mut names = names(&*self.root.disk, directory)?;
        if names.len() < MAX_VARIANTS || names.contains(&new) {
            return Ok(());
        }
        let mut files = Vec::new();
        for name in names.drain(..) {
            let path = file_of(directory, name);
            // Files that are not entries are removed first.
            let entry = read_summary(&*self.root.disk, &path)?;
            files.push((entry.map(|entry| eviction_order(&entry.place, entry.stored)), path));
        }
        self.root.sync_tmp()?;
        files.sort_unstable();
        let surplus = files.len() + 1 - MAX_VARIANTS;
        for (_, path) in files.iter().take(surplus) {
            self.root.remove_file(path)?;
            self.drop_overlay(path)?;
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            self.remove_versions(directory, stem.unwrap_or_default())?;
        }
        Ok(())
    }

    /// Removes the update file of an entry that was removed from `path`. First makes the removal of
    /// the entry durable: an entry must not come back without its updates. The caller holds
    /// `commit`, also during a sync if there is an update file.
    pub(crate) fn drop_overlay(&self, path: &Path) -> Result<()> {
        let overlay = overlay_path(path);
        if !self.root.is_file(&overlay)? {
            return Ok(());
        }
        if self.root.is_synced() {
            self.root.sync_dir(parent(path))?;
        }
        self.root.remove_file(&overlay).map(|_| ())
    }

    /// The paths that an entry may have in the tree. If both exist, lookups use the first.
    pub(crate) fn names_of(&self, place: &Place) -> Vec<PathBuf> {
        let among = self.root.join(place.variant_path());
        if place.variant_text().is_empty() {
            vec![self.root.join(place.single_path()), among]
        } else {
            vec![among]
        }
    }

    /// Reads the entries of a place while names cannot change: the caller holds `commit`, or no
    /// other thread uses the tree.
    pub(crate) fn look_up(&self, place: &Place, which: VariantChoice) -> Result<KeyLookup> {
        let pending = self.pending.variants(place.key());
        KeyLookup::at(&*self.root.disk, &self.root.path, place, which, &pending)
    }

    /// Returns the newest entry in the tree for a place, with its path.
    pub(crate) fn newest_in_tree(&self, place: &Place) -> Result<Option<(PathBuf, Entry)>> {
        let mut newest: Option<(PathBuf, Entry)> = None;
        for path in self.names_of(place) {
            if let EntryContent::Whole(entry) = self.read_at(&path, place)?
                && newest.as_ref().is_none_or(|(_, newest)| newest.order() < entry.order())
            {
                newest = Some((path, entry));
            }
        }
        Ok(newest)
    }

    /// Removes the entry of exactly this place and its versions, if `is_meant` is true while names
    /// cannot change; other variants stay. Also removes its segments finished before
    /// `parts_before`, or all its segments if `parts_before` is `None`. Returns false if there was
    /// nothing to remove.
    pub(crate) fn remove_variant_if(
        &self,
        place: &Place,
        parts_before: Option<Timestamp>,
        is_meant: impl FnOnce() -> Result<bool>,
    ) -> Result<bool> {
        let Some(removed) = self.remove_names(place, is_meant)? else { return Ok(false) };
        let removed_parts = segments::files::remove(self, place, parts_before)?;
        self.removed(place, removed || removed_parts)
    }

    /// Removes an entry, with its versions and segments, unless it was replaced or confirmed since
    /// it was read.
    pub(crate) fn remove_seen(&self, entry: &Entry) -> Result<bool> {
        let place = entry.place();
        self.remove_variant_if(place, None, || {
            let found = self.look_up(place, VariantChoice::Exact)?.found;
            Ok(found.first().is_some_and(|now| is_unchanged(now, entry)))
        })
    }

    /// Removes an entry without its segments, if its record id is still `id`.
    pub(crate) fn remove_entry(&self, place: &Place, id: &str) -> Result<bool> {
        let is_it = || {
            let found = self.look_up(place, VariantChoice::Exact)?.found;
            Ok(found.first().is_some_and(|now| now.id() == id))
        };
        let removed = self.remove_names(place, is_it)?.unwrap_or_default();
        self.removed(place, removed)
    }

    /// Removes every name of the entry and the versions of a place, and returns whether there was a
    /// file. `None` if `is_meant` is false.
    fn remove_names(
        &self,
        place: &Place,
        is_meant: impl FnOnce() -> Result<bool>,
    ) -> Result<Option<bool>> {
        let _told = self.changing(place);
        self.root.sync_tmp()?;
        let _commit = lock(&self.commit);
        if !is_meant()? {
            return Ok(None);
        }
        let mut removed = match self.pending.remove(place) {
            Some(finished) => self.root.remove_file(&finished.path)?,
            None => false,
        };
        removed |= self.discard_left(place.key(), Some(place.variant_name()));
        for path in self.names_of(place) {
            removed |= self.root.remove_file(&path)?;
            self.drop_overlay(&path)?;
        }
        removed |= self.remove_versions_of(place)?;
        // Fails while there are other variants.
        let _ = self.root.disk.remove_dir(&self.root.join(place.variants_path()));
        Ok(Some(removed))
    }

    /// Removes every entry of a key, with its versions and segments. First calls `first`, while
    /// names cannot change; `first` returns whether there was a file. Returns false if there was
    /// nothing to remove.
    pub(crate) fn remove_after(
        &self,
        place: &Place,
        first: impl FnOnce() -> Result<bool>,
    ) -> Result<bool> {
        let _told = self.changing(place);
        self.root.sync_tmp()?;
        let removed = {
            let _commit = lock(&self.commit);
            let mut removed = first()?;
            for finished in self.pending.variants(place.key()) {
                self.pending.remove(&finished.place);
                removed |= self.root.remove_file(&finished.path)?;
            }
            removed |= self.discard_left(place.key(), None);
            let single = self.root.join(place.single_path());
            removed |= self.root.remove_file(&single)?;
            self.drop_overlay(&single)?;
            removed |= self.remove_versions(parent(&single), &place.key().to_string())?;
            removed | self.remove_variants(&self.root.join(place.variants_path()))?
        };
        let removed = segments::files::remove_all(self, place)? || removed;
        self.removed(place, removed)
    }

    /// Empties and removes a directory of variants. Returns false if it held no entry.
    fn remove_variants(&self, directory: &Path) -> Result<bool> {
        let mut removed = self.remove_all_versions(directory)?;
        loop {
            let names = names(&*self.root.disk, directory)?;
            if names.is_empty() {
                break;
            }
            for name in names {
                let path = file_of(directory, name);
                removed |= self.root.remove_file(&path)?;
                self.drop_overlay(&path)?;
            }
        }
        // Foreign files stay, and with them the directory.
        let _ = self.root.disk.remove_dir(directory);
        Ok(removed)
    }

    /// Makes a removal durable under [`Durability::Each`]. Returns `removed`.
    fn removed(&self, place: &Place, removed: bool) -> Result<bool> {
        if removed && self.root.durability == Durability::Each {
            // Synced once more: another entry may have been stored and removed in the meantime.
            self.root.sync_tmp()?;
            let (single, variants) = (place.single_path(), place.variants_path());
            self.root.sync_names(&[parent(&self.root.join(single)), &self.root.join(variants)])?;
        }
        Ok(removed)
    }

    /// Whether the disk or the current batch has any file for a key. Only names are checked.
    pub(crate) fn is_there(&self, place: &Place) -> Result<bool> {
        if self.pending.has_variants(place.key()) {
            return Ok(true);
        }
        let single = self.root.join(place.single_path());
        if open_if_any(&*self.root.disk, &single)?.is_some() {
            return Ok(true);
        }
        let variants = self.root.join(place.variants_path());
        Ok(names_if_any(&*self.root.disk, &variants)?.next().is_some())
    }
}

fn changed() -> std::io::Error {
    std::io::Error::other("it changed while it was being read")
}
