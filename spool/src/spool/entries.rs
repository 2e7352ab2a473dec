//! Entries: look up, store, update, list and remove.

use std::sync::Arc;

use jiff::Timestamp;

use super::Spool;
use crate::entry::layout::WritePurpose;
use crate::entry::place::Place;
use crate::entry::summary::Summary;
use crate::entry::{Entries, Entry, Lookup};
use crate::error::{Damage, Result};
use crate::notes::shared;
use crate::tree::list::{self, EntryList, SpoolHost};
use crate::tree::rekey::{self, MoveOutcome};
use crate::tree::removed::{BringBackReport, Removal, RemovalSummary};
use crate::tree::restore::{self, RestoreOutcome};
use crate::tree::seen::{ChangeListener, LookupTrace};
use crate::tree::update::Update;
use crate::tree::versions;
use crate::tree::walk::{LastListing, SpoolWalk, WalkedEntry};
use crate::tree::writer::{NewEntry, Writer};

impl Spool {
    /// Looks up an entry, with one open and one read if it is small. For a place without a variant
    /// text, returns the newest entry of the key.
    ///
    /// # Errors
    ///
    /// If the disk fails. A missing or damaged entry is a [`Lookup`], not an error.
    pub fn entry(&self, place: &Place) -> Result<Lookup> {
        self.tree().entry(place)
    }

    /// Looks up every entry of a key, whatever its variant. If the key has a single entry without
    /// variant, this takes one open.
    ///
    /// # Errors
    ///
    /// If the disk fails. Missing or damaged entries are not errors.
    pub fn entries(&self, place: &Place) -> Result<Entries> {
        self.tree().entries(place)
    }

    /// Looks up every entry of a key, and records which files the lookup read. While
    /// [`Spool::is_current`] is true for that record, another lookup returns the same. There is no
    /// record if that cannot be decided, for example just after a change.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn entries_seen(&self, place: &Place) -> Result<(Entries, Option<LookupTrace>)> {
        self.tree().entries_seen(place)
    }

    /// Whether every file that a lookup read is unchanged. Takes one system call for each file.
    #[must_use]
    pub fn is_current(&self, seen: &LookupTrace) -> bool {
        seen.is_current(&*self.disk_root().disk)
    }

    /// Whether the disk or the current batch has any file for a key. Only names are checked, so a
    /// lookup may still return no entry, for example if the file is damaged.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn is_there(&self, place: &Place) -> Result<bool> {
        self.tree().is_there(place)
    }

    /// Reports every later change of entries by this process to `listener`. Returns false if there
    /// are too many listeners.
    #[must_use]
    pub fn watch(&self, listener: Arc<dyn ChangeListener>) -> bool {
        self.tree().watch(listener)
    }

    /// Lists the older versions of exactly this place, the newest first, without the entry itself.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn versions(&self, place: &Place) -> Result<Vec<Summary>> {
        versions::list(&*self.disk_root().disk, self.root(), place)
    }

    /// Looks up the older version of exactly this place that was stored at this time.
    ///
    /// # Errors
    ///
    /// If the disk fails. A missing or damaged version is a [`Lookup`], not an error.
    pub fn version(&self, place: &Place, stored: Timestamp) -> Result<Lookup> {
        self.tree().version(place, stored)
    }

    /// Examines every entry of a key like [`Spool::walk`], also those in the current batch. Reads
    /// update files, but no bodies. If the keys of a directory are examined one after the other
    /// with the same `last`, the directory is listed once, and later changes may be missed.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn walk_key(&self, place: &Place, last: &mut LastListing) -> Result<Vec<WalkedEntry>> {
        let found = self.tree().walk_key(place, last)?;
        // A file that was renamed since the listing may be missed. Another listing has it.
        let is_missed = found.is_empty();
        if is_missed { self.tree().walk_key(place, &mut LastListing::default()) } else { Ok(found) }
    }

    /// Whether an entry of a key waits for its batch. The batch reports a change of the key, like
    /// any other end of the wait.
    #[must_use]
    pub fn is_pending(&self, place: &Place) -> bool {
        self.tree().pending.has_variants(place.key())
    }

    /// Returns how many older versions of a place are kept.
    #[must_use]
    pub fn versions_kept(&self, place: &Place) -> usize {
        self.tree().versions_kept(place)
    }

    /// Whether an older entry of a place is kept as a version if its body has this length.
    #[must_use]
    pub fn becomes_version(&self, place: &Place, body_len: u64) -> bool {
        self.tree().becomes_version(place, body_len)
    }

    /// Makes an older version of exactly this place its entry again, with the last head of the
    /// version. The present entry becomes a version, even if no versions are kept; this call
    /// removes no surplus versions. After a crash one of the two is the entry, and neither is lost.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full. The entry is then unchanged, unless only the last sync failed.
    pub fn restore(&self, place: &Place, stored: Timestamp) -> Result<RestoreOutcome> {
        restore::restore(self.session(), place, stored)
    }

    /// Removes an older version of exactly this place. Returns false if it is missing.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn remove_version(&self, place: &Place, stored: Timestamp) -> Result<bool> {
        self.tree().remove_version(place, stored)
    }

    /// Records a change of an entry's state, and returns the updated entry. `None` if `entry` is no
    /// longer the entry of its place, because it was replaced or removed; nothing is then changed.
    ///
    /// [`crate::Durability`] says what a crash may undo, as for a new entry.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_invalid`] and [`crate::Error::is_too_large`] for a head that cannot be
    /// stored, or whose status differs from that of the entry; or if the disk fails or is full. The
    /// entry is then unchanged, unless only the last sync failed.
    pub fn update(&self, entry: &Entry, update: &Update) -> Result<Option<Entry>> {
        self.tree().update(entry, update)
    }

    /// Begins to write an entry. The present entry of its place stays until [`Writer::finish`].
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_too_large`] and [`crate::Error::is_invalid`] for an exchange that cannot
    /// be stored; or if the disk fails or is full.
    pub fn begin(&self, place: &Place, new: NewEntry) -> Result<Writer> {
        Writer::begin(Arc::clone(self.session()), place, new, WritePurpose::Whole, None)
    }

    /// Moves every entry of a key, with its older versions, to the place `to`. An entry there with
    /// the same variant is replaced only if `is_forced`. Damaged files are set aside; segments stay
    /// at the old place.
    ///
    /// No file is removed before its copy is as durable as the setting promises. After a crash both
    /// may exist; calling this again completes the move.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_too_large`] and [`crate::Error::is_invalid`] for a place that cannot be
    /// stored, or the same place; [`crate::Error::is_damaged`] if a body is damaged; or if the disk
    /// fails or is full. No entry is then lost: each is at the old place, at the new place, or at
    /// both.
    pub fn move_to(&self, from: &Place, to: &Place, is_forced: bool) -> Result<MoveOutcome> {
        rekey::move_to(self.session(), from, to, is_forced)
    }

    /// Removes the entry of exactly this place, with its older versions and segments; other
    /// variants of its key stay. Returns false if there was nothing to remove.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn remove_variant(&self, place: &Place) -> Result<bool> {
        self.tree().remove_variant_if(place, None, || Ok(true))
    }

    /// Removes an entry, with its older versions and segments, unless it was replaced or confirmed
    /// since it was read. Returns whether it was removed.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn remove_seen(&self, entry: &Entry) -> Result<bool> {
        self.tree().remove_seen(entry)
    }

    /// Removes every entry of a key, whatever its variant, with its older versions and segments. If
    /// the place is that of a login, removes only its entry. Returns false if there was nothing to
    /// remove.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn remove(&self, place: &Place) -> Result<bool> {
        if place.login().is_some() {
            return self.remove_variant(place);
        }
        self.record_shared_removal(place)?;
        self.tree().remove_after(place, || Ok(false))
    }

    /// Moves an entry whose [`crate::Verifier`] has failed to `damaged/`. `None` if it is no longer
    /// the entry of its place, or if its body is in memory.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn set_aside(&self, entry: &Entry) -> Result<Option<Damage>> {
        self.tree().set_aside(entry, "its body does not match its digest")
    }

    /// Returns a new name for the next removal by `who`. Writes nothing.
    #[must_use]
    pub fn removal(&self, who: &str) -> Removal {
        Removal::new(self.disk_root().stamp(), who)
    }

    /// Removes entries like [`Spool::remove`], but keeps the files under `removal` for
    /// [`Spool::undo_removal`]. Segments are removed for ever. Returns false if there was nothing
    /// to remove.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full. No file is removed before all of them are kept under
    /// `removal`.
    pub fn remove_for_now(&self, place: &Place, removal: &Removal) -> Result<bool> {
        self.record_shared_removal(place)?;
        self.tree().remove_for_now(place, removal)
    }

    /// Records the removal of an entry for the archive tier, if the rule covers one of its key.
    fn record_shared_removal(&self, place: &Place) -> Result<()> {
        let rule = &self.0.removals;
        if rule.is_empty() {
            return Ok(());
        }
        let found = self.entries(place)?.found;
        let covered = found.iter().filter(|entry| rule.covers(entry));
        match covered.map(Entry::stored).max() {
            // The clock of the node that stored it may be ahead of ours.
            Some(stored) => shared::record(self.disk_root(), place, stored),
            None => Ok(()),
        }
    }

    /// Lists the removals of `who` that can still be undone, the newest first.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn removals(&self, who: &str) -> Result<Vec<RemovalSummary>> {
        self.tree().list_removals(who)
    }

    /// Whether a removal has an entry of the key of `place`, of any variant.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn removal_has(&self, removal: &Removal, place: &Place) -> Result<bool> {
        self.tree().removal_has(removal, place)
    }

    /// Deletes removals older than [`crate::REMOVED_FOR`]. Then deletes the oldest removals until
    /// the rest has at most `most` bytes, and at most [`crate::MAX_REMOVED_BYTES`]. Returns the
    /// number of deleted bytes.
    ///
    /// # Errors
    ///
    /// If the disk fails; earlier deletions stay done.
    pub fn forget_removed(&self, most: u64) -> Result<u64> {
        self.tree().forget_removed(most)
    }

    /// Undoes a removal. If the place has a newer entry, that entry stays, and the removed one
    /// becomes its older version. `came` receives the place of each file that was brought back.
    /// `None` if the removal does not exist, or can no longer be undone.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full. Files already brought back stay; another call brings back the
    /// others.
    pub fn undo_removal(
        &self,
        removal: &Removal,
        came: &mut dyn FnMut(&Place),
    ) -> Result<Option<BringBackReport>> {
        let mut withdrawn = Ok(());
        let done = self.tree().undo_removal(removal, &mut |place| {
            if !self.0.removals.is_empty() {
                let one = shared::withdraw(self.disk_root(), place.key());
                withdrawn = std::mem::replace(&mut withdrawn, Ok(())).and(one);
            }
            came(place);
        })?;
        withdrawn.map(|()| done)
    }

    /// Lists the entries of the spool, of a scheme, of a host (with its port) under all schemes, or
    /// of both.
    ///
    /// # Errors
    ///
    /// If the disk fails, here or at each step.
    pub fn list(&self, scheme: Option<&str>, host: Option<&str>) -> Result<EntryList> {
        let (disk, pending) = (Arc::clone(&self.disk_root().disk), self.tree().pending.snapshot());
        EntryList::new(disk, self.root(), pending, scheme, host)
    }

    /// Lists the hosts that have a directory of entries, of one scheme or all, in order.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn hosts(&self, scheme: Option<&str>) -> Result<Vec<SpoolHost>> {
        list::hosts(&self.disk_root().disk, self.root(), scheme)
    }

    /// Returns a walk over the directories of entries.
    #[must_use]
    pub fn walk(&self) -> SpoolWalk {
        self.tree().walk()
    }
}
