//! The tree of entries: look up, store, replace, remove.
//!
//! Two locks synchronise the threads. `commit` is held while names of entries change, so a thread
//! that holds it sees the names unchanged. It is held during a sync only where the next change of a
//! name must wait for that sync: for example, a key gets its first variant, an update file is
//! removed with its entry ([`variants`]), an older version is kept ([`versions`]), or a removal can
//! be undone ([`removed`]). The lock of `pending` is held only for one access to its map.

pub(crate) mod check_recent;
pub(crate) mod disk_usage;
pub(crate) mod list;
pub(crate) mod pending;
pub(crate) mod recover;
pub(crate) mod rekey;
pub(crate) mod removed;
pub(crate) mod restore;
pub(crate) mod rewrite;
pub(crate) mod salvage;
pub(crate) mod seen;
pub(crate) mod segments;
pub(crate) mod session;
pub(crate) mod sharing;
pub(crate) mod update;
pub(crate) mod variants;
pub(crate) mod versions;
pub(crate) mod walk;
pub(crate) mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock};

use jiff::Timestamp;

use self::pending::Pending;
use self::removed::RemovalLocks;
use self::seen::ChangeListener;
use self::segments::SegmentLocks;
use self::variants::{VariantChoice, is_unchanged};
use self::versions::{VersionLimits, Versions};
use self::walk::SpoolWalk;
use crate::durability::outbox::Outbox;
use crate::durability::{Durability, Root, TMP};
use crate::entry::overlay::{self, OverlayLookup, overlay_path};
use crate::entry::place::Place;
use crate::entry::read::{self, EntryContent, ExpectedEntry};
use crate::entry::{BodyFile, Entries, Entry, Lookup};
use crate::error::{Damage, Error, Result};
use crate::fs::parallel::{self, lock};
use crate::fs::{DiskFile, parent};
use crate::notes::collections::CollectionsLock;
use crate::notes::pins::PinLock;
use wwwoffle_url::Key;

/// The number of attempts of a lookup if an entry is being renamed. After these, the lookup blocks
/// renames.
pub(crate) const LOOKUP_TRIES: usize = 4;

/// The number of updates, of different keys, that can be written at the same time.
pub(crate) const UPDATES: usize = 16;

/// A number of entries, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// The number of entries.
    pub count: u64,
    /// Their total size in bytes.
    pub bytes: u64,
}

impl Sum {
    /// Adds one entry.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The tree of entries of one spool.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) root: Root,
    /// Held while names of entries change.
    pub(crate) commit: Mutex<()>,
    pub(crate) pending: Pending,
    /// Held while an update is written, one lock for each group of keys with the same first byte
    /// modulo [`UPDATES`]. So each update is based on the state that the previous one left.
    pub(crate) updates: [Mutex<()>; UPDATES],
    /// Changes of the outgoing queue that wait for the next batch.
    pub(crate) outbox: Outbox,
    pub(crate) versions: VersionLimits,
    /// Held while bodies are shared, and while their holders are removed.
    pub(crate) sharing: Mutex<()>,
    pub(crate) removals: RemovalLocks,
    pub(crate) segments: SegmentLocks,
    /// The receivers of changes.
    pub(crate) listeners: RwLock<Vec<Arc<dyn ChangeListener>>>,
    pub(crate) pins: PinLock,
    pub(crate) collections: CollectionsLock,
}

/// A complete file under `tmp/`.
#[derive(Debug, Clone)]
pub(crate) struct FinishedFile {
    pub(crate) place: Place,
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn DiskFile>,
    /// The time of finishing, unless the caller has set another time. Times of finishing increase.
    pub(crate) stored: Timestamp,
    pub(crate) status: u16,
    /// The digest of the body.
    pub(crate) digest: [u8; 32],
    pub(crate) body_len: u64,
}

impl FinishedFile {
    pub(crate) fn sync(&self) -> Result<()> {
        self.file.sync().map_err(|error| Error::disk("write", &self.path, error))
    }
}

/// The entry that a new one may replace.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReplaceCondition<'a> {
    /// The place may have any entry, or no entry.
    Anything,
    /// The place must have no entry.
    Nothing,
    /// The place must have the entry with this record id.
    Only(&'a str),
    /// The place must have this entry, and the entry was not confirmed since it was read.
    Seen(&'a Entry),
}

impl<'a> ReplaceCondition<'a> {
    /// The condition that the place still has the entry that was found, or still has no entry.
    pub(crate) fn found(found: Option<&'a Entry>) -> ReplaceCondition<'a> {
        found.map_or(ReplaceCondition::Nothing, |entry| ReplaceCondition::Only(entry.id()))
    }
}

impl Tree {
    pub(crate) fn new(root: Root, versions: Versions) -> Tree {
        Tree {
            root,
            commit: Mutex::default(),
            pending: Pending::default(),
            updates: Default::default(),
            outbox: Outbox::default(),
            versions: VersionLimits::new(versions),
            sharing: Mutex::default(),
            removals: RemovalLocks::default(),
            segments: SegmentLocks::default(),
            listeners: RwLock::default(),
            pins: PinLock::default(),
            collections: CollectionsLock::default(),
        }
    }

    /// A walk over the directories of entries.
    pub(crate) fn walk(&self) -> SpoolWalk {
        SpoolWalk::new(Arc::clone(&self.root.disk), self.root.path.clone())
    }

    /// Looks up the entry of a place; without a variant text, the newest entry of the key. Damaged
    /// files are set aside.
    pub(crate) fn entry(&self, place: &Place) -> Result<Lookup> {
        let which =
            if place.variant_text().is_empty() { VariantChoice::All } else { VariantChoice::Exact };
        let mut entries = self.lookup(place, which)?;
        if !entries.found.is_empty() {
            self.record_damage(entries.set_aside.drain(..));
        }
        Ok(entries.into())
    }

    /// Looks up every entry of a key. Damaged files are set aside.
    pub(crate) fn entries(&self, place: &Place) -> Result<Entries> {
        self.lookup(place, VariantChoice::All)
    }

    /// Looks up the entry of exactly this place.
    pub(crate) fn exact(&self, place: &Place) -> Result<Option<Entry>> {
        let mut entries = self.lookup(place, VariantChoice::Exact)?;
        self.record_damage(entries.set_aside.drain(..));
        Ok(entries.found.pop())
    }

    /// Records damage found during other work as failures.
    fn record_damage(&self, set_aside: impl Iterator<Item = Damage>) {
        for damage in set_aside {
            self.root.record_failure(Error::damaged(damage));
        }
    }

    fn lookup(&self, place: &Place, which: VariantChoice) -> Result<Entries> {
        for _ in 0..LOOKUP_TRIES {
            let look = self.look_up(place, which)?;
            if !look.bad.is_empty() {
                break;
            }
            if !look.moved {
                return Ok(look.into_entries());
            }
        }
        // A damaged file may have been replaced, or a file renamed, in the meantime. So the files
        // are read again while names cannot change.
        let _told = self.changing(place);
        let _commit = lock(&self.commit);
        let look = self.look_up(place, which)?;
        let mut entries = Entries { found: look.found, set_aside: Vec::new() };
        for (path, reason) in look.bad {
            self.pending.remove_at(place.key(), &path);
            entries.set_aside.push(self.root.move_aside(&path, reason));
        }
        Ok(entries)
    }

    /// Sets an entry with a damaged body aside. `None` if it is no longer the entry of its place,
    /// or if its body is in memory.
    pub(crate) fn set_aside(&self, entry: &Entry, reason: &str) -> Result<Option<Damage>> {
        let damage = self.set_entry_aside(entry, reason)?;
        if damage.is_some() {
            self.set_refuted_holder_aside(entry)?;
        }
        Ok(damage)
    }

    fn set_entry_aside(&self, entry: &Entry, reason: &str) -> Result<Option<Damage>> {
        let Some(body) = entry.file() else { return Ok(None) };
        let place = entry.place();
        let _told = self.changing(place);
        let _commit = lock(&self.commit);
        let paths = match self.pending.path(place) {
            Some(path) => vec![path],
            None => self.names_of(place),
        };
        for path in paths {
            let expected = ExpectedEntry { place, name: place.variant_name() };
            let content = read::read(&*self.root.disk, &self.root.path, &path, Some(expected))?;
            let EntryContent::Whole(now) = content else { continue };
            let identity = |body: &BodyFile| {
                body.identity().map_err(|error| Error::disk("look at", &path, error))
            };
            // The entry holds its file open, so no other file can have its inode number.
            if let Some(file) = now.file()
                && identity(file)? == identity(body)?
            {
                self.pending.remove_at(place.key(), &path);
                let damage = self.root.move_aside(&path, reason);
                self.drop_overlay(&path)?;
                return Ok(Some(damage));
            }
        }
        Ok(None)
    }

    /// Makes a finished file the entry of its place, as durably as the setting promises.
    pub(crate) fn admit(&self, finished: FinishedFile) -> Result<()> {
        self.admit_if(finished, ReplaceCondition::Anything).map(|_| ())
    }

    /// Stores a finished file if its place is in the expected state. Returns false if it is not.
    pub(crate) fn admit_if(
        &self,
        finished: FinishedFile,
        over: ReplaceCondition<'_>,
    ) -> Result<bool> {
        if self.root.durability == Durability::Each {
            finished.sync()?;
        }
        self.make_and_admit(&finished.place.clone(), over, || Ok(finished))
    }

    /// Stores a file that `make` completes only after the place was found in the expected state. So
    /// a crash before that leaves no complete file that the next opening would store. `make` syncs
    /// it under [`Durability::Each`]. `commit` is held during the call.
    pub(crate) fn make_and_admit(
        &self,
        place: &Place,
        over: ReplaceCondition<'_>,
        make: impl FnOnce() -> Result<FinishedFile>,
    ) -> Result<bool> {
        let now = || self.look_up(place, VariantChoice::Exact).map(|look| look.found);
        let is_outdated = || {
            Ok::<_, Error>(match over {
                ReplaceCondition::Anything => false,
                ReplaceCondition::Nothing => !now()?.is_empty(),
                ReplaceCondition::Only(id) => now()?.first().is_none_or(|now| now.id() != id),
                ReplaceCondition::Seen(seen) => {
                    now()?.first().is_none_or(|now| !is_unchanged(now, seen))
                }
            })
        };
        let _told = self.changing(place);
        if self.root.durability == Durability::Batch {
            {
                let _commit = lock(&self.commit);
                if is_outdated()? {
                    return Ok(false);
                }
                let finished = make()?;
                let name = (finished.place.key(), finished.place.variant_name());
                let digest = finished.digest;
                for gone in self.pending.add(finished) {
                    self.keep_replaced(&gone, name, digest);
                }
            }
            if self.pending.is_full() {
                let _one = lock(&self.pending.batch);
                // Another thread may have written a batch in the meantime.
                if self.pending.is_full() {
                    self.write_waiting();
                }
            }
            return Ok(true);
        }
        let (finished, path) = {
            let _commit = lock(&self.commit);
            if is_outdated()? {
                return Ok(false);
            }
            let finished = make()?;
            let path = self.put_in_place(&finished)?;
            (finished, path)
        };
        self.root.write_recent();
        if self.root.durability == Durability::Each {
            self.root.sync_names(&[parent(&path)])?;
        }
        self.drop_outdated_overlay(&finished.place, &path);
        self.drop_parts(&finished);
        Ok(true)
    }

    /// Removes the segments of a place after a complete response was stored, as durably as the
    /// setting promises. An error or a redirect does not affect the segments: their body may still
    /// be completed.
    pub(crate) fn drop_parts(&self, finished: &FinishedFile) {
        if !(200..300).contains(&finished.status) {
            return;
        }
        // If the segments cannot be removed, they are harmless, because they are older than the
        // entry.
        let _ = segments::files::remove(self, &finished.place, Some(finished.stored));
    }

    /// Renames every finished file into place and syncs it. If there is no room for the name of a
    /// file, or the process has too many open files, the file stays durably in `tmp/` until the next
    /// batch. A file that cannot be renamed for another reason stays there too, but lookups do not find
    /// it until a batch without failures can rename it. A file that cannot be synced is discarded. Each
    /// reason is recorded as a failure once.
    pub(crate) fn write_batch(&self) {
        let _one = lock(&self.pending.batch);
        self.write_waiting();
    }

    /// Writes a batch; the caller holds the lock of batches.
    fn write_waiting(&self) {
        // The changes of the queue are taken first. The responses to these requests are then in
        // this batch, or already durable.
        let outbox = self.outbox.due_batch();
        let (mut failures, mut changed) = (Vec::new(), Vec::new());
        let mut synced = Vec::new();
        // Whether a newer response, which is not durable yet, has replaced one of this batch.
        let mut is_superseded = false;
        // Whether lookups no longer find a file of this batch, which stays in `tmp/`.
        let mut has_left = false;
        let waiting = self.pending.snapshot();
        let (held, unsynced): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|finished| self.pending.is_held(finished));
        synced.extend(held);
        self.root.write_out(unsynced.len());
        let threads = self.root.disk.waits_at_once();
        let done = parallel::for_each(&unsynced, threads, |finished| finished.file.sync());
        for (finished, done) in unsynced.into_iter().zip(done) {
            match done {
                Ok(()) => synced.push(finished),
                Err(error) if self.discard(&finished) => {
                    failures.push(Error::disk("write", &finished.path, error));
                }
                Err(_) => is_superseded = true,
            }
        }
        for finished in synced {
            let place = finished.place.clone();
            let _told = self.changing(&place);
            let _commit = lock(&self.commit);
            if !self.pending.is_newest(&finished) {
                is_superseded = true;
                continue;
            }
            match self.put_in_place(&finished) {
                Ok(path) => {
                    self.pending.remove(&finished.place);
                    changed.push((finished, path));
                }
                // Lookups read the file below `tmp/`, and the next opening would find it there.
                Err(error) if self.pending.hold(&self.root, &finished, &error) => {}
                Err(error) => {
                    self.leave(&finished);
                    has_left = true;
                    failures.push(error);
                }
            }
        }
        let is_short = self.pending.update_shortage();
        if failures.is_empty() && !is_short {
            changed.extend(recover::admit_left(self));
        }
        self.root.write_recent();
        let directories: Vec<_> = changed.iter().map(|(_, path)| parent(path)).collect();
        match self.root.sync_names(&directories) {
            // The renames may not be durable, so the old entries may still need their update files,
            // which stay.
            Err(error) => failures.push(error),
            Ok(()) => {
                for (finished, path) in &changed {
                    self.drop_outdated_overlay(&finished.place, path);
                    self.drop_parts(finished);
                }
            }
        }
        // New requests need no entry of this batch. If they waited, each would keep its file open.
        let has_all = !is_short && failures.is_empty();
        let outbox = if has_all { outbox } else { self.outbox.without_removals(outbox) };
        if is_short || has_left {
            // The disk may stay full for long, so the names below `tmp/` must survive a power
            // failure.
            failures.extend(self.root.sync_dir(&self.root.join(TMP)).err());
        }
        if failures.is_empty() && is_superseded {
            self.pending.schedule_batch();
        }
        failures.extend(self.outbox.write(&self.root, &outbox, !is_superseded).err());
        if !failures.is_empty() {
            self.outbox.cancel_removals(&outbox);
        }
        for error in failures {
            self.root.record_failure(error);
        }
    }

    /// Removes the update file of the previous entry. Failures are ignored, because lookups ignore
    /// an outdated update file.
    fn drop_outdated_overlay(&self, place: &Place, path: &Path) {
        let overlay = overlay_path(path);
        if !self.root.is_file(&overlay).unwrap_or_default() {
            return;
        }
        let _told = self.changing(place);
        let _commit = lock(&self.commit);
        let expected = ExpectedEntry { place, name: place.variant_name() };
        let read = read::read(&*self.root.disk, &self.root.path, path, Some(expected));
        let Ok(EntryContent::Whole(now)) = read else { return };
        if !matches!(
            overlay::read(&*self.root.disk, &overlay, &now),
            Ok(OverlayLookup::Its(_)) | Err(_)
        ) {
            let _ = self.root.disk.remove_file(&overlay);
        }
    }

    /// Discards a finished file that cannot be synced. Returns false if it was already replaced.
    fn discard(&self, finished: &FinishedFile) -> bool {
        let _told = self.changing(&finished.place);
        let _commit = lock(&self.commit);
        let is_newest = self.pending.is_newest(finished);
        if is_newest {
            self.pending.remove(&finished.place);
            self.root.discard(&finished.path);
        }
        is_newest
    }

    /// Leaves a complete file in `tmp/`, because it cannot be renamed.
    pub(crate) fn leave(&self, finished: &FinishedFile) {
        if let Some(surplus) = self.pending.leave(finished) {
            self.root.discard(&surplus);
            self.root.leaves_tmp();
        }
    }

    /// Removes the files of a key that were left in `tmp/`; only those of one variant if `variant` is
    /// given. Returns whether there was one.
    pub(crate) fn discard_left(&self, key: Key, variant: Option<Key>) -> bool {
        let left = self.pending.take_left(key, variant);
        for path in &left {
            self.root.discard(path);
            self.root.leaves_tmp();
        }
        !left.is_empty()
    }
}
