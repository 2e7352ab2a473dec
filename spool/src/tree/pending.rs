//! The batch: finished entries that readers find already, but that are not renamed into place yet.

use crate::durability::Root;
use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::entry::place::Place;
use crate::error::Error;
use crate::fs::parallel::lock;
use crate::tree::variants::{MAX_VARIANTS, eviction_order};
use crate::tree::{FinishedFile, Tree};
use wwwoffle_url::Key;

/// The time for which finished entries are collected before they are written as a batch.
pub const BATCH_INTERVAL: Duration = Duration::from_millis(250);

/// The largest number of waiting entries, each with its file open. The caller that finishes one more
/// waits until a batch is written. A batch begins early at a quarter of this number.
pub(crate) const MAX_PENDING: usize = 1_024;

/// Returns the largest number of waiting entries: [`MAX_PENDING`], or an eighth of the files that
/// the process may open if that is less.
fn max_pending() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    (limit / 8).clamp(1, MAX_PENDING)
}

/// The largest number of finished entries that wait for room on a full disk, each with its file
/// open.
const MAX_HELD: usize = MAX_PENDING / 8;

/// The finished entries that wait for their names.
#[derive(Debug)]
pub(crate) struct Pending {
    gathering: Mutex<Batch>,
    changed: Condvar,
    /// The largest number of waiting entries.
    max: usize,
    /// Held while a batch is written.
    pub(crate) batch: Mutex<()>,
}

impl Default for Pending {
    fn default() -> Pending {
        let (gathering, changed) = (Mutex::default(), Condvar::new());
        Pending { gathering, changed, max: max_pending(), batch: Mutex::default() }
    }
}

/// A key, and the name of a variant.
type VariantKey = (Key, Key);

#[derive(Debug, Default)]
struct Batch {
    waiting: BTreeMap<VariantKey, FinishedFile>,
    /// Files that are durable, but could not be renamed because the disk is full.
    short_of_room: HashSet<PathBuf>,
    /// Whether a change other than an entry waits for the next batch.
    is_requested: bool,
    stopping: bool,
}

impl Batch {
    /// The number of entries that do not wait for room.
    fn ready(&self) -> usize {
        self.waiting.len().saturating_sub(self.short_of_room.len())
    }
}

impl Pending {
    /// The path of the file of this place, if it is waiting.
    pub(crate) fn path(&self, place: &Place) -> Option<PathBuf> {
        lock(&self.gathering).waiting.get(&slot(place)).map(|finished| finished.path.clone())
    }

    /// The waiting entries of a key, whatever their variant.
    pub(crate) fn variants(&self, key: Key) -> Vec<FinishedFile> {
        lock(&self.gathering).waiting.range(slots(key)).map(|(_, one)| one.clone()).collect()
    }

    /// Whether an entry of a key waits, whatever its variant.
    pub(crate) fn has_variants(&self, key: Key) -> bool {
        lock(&self.gathering).waiting.range(slots(key)).next().is_some()
    }

    /// Adds an entry. Returns the waiting entries that it replaces or displaces.
    pub(crate) fn add(&self, finished: FinishedFile) -> Vec<FinishedFile> {
        let mut gathering = lock(&self.gathering);
        let waiting = &mut gathering.waiting;
        let key = finished.place.key();
        let mut gone = Vec::from_iter(waiting.insert(slot(&finished.place), finished));
        if waiting.range(slots(key)).count() > MAX_VARIANTS {
            let oldest = waiting
                .range(slots(key))
                .min_by_key(|(_, one)| eviction_order(&one.place, one.stored));
            let oldest = oldest.map(|(slot, _)| *slot);
            gone.extend(oldest.and_then(|slot| waiting.remove(&slot)));
        }
        // The thread waits for the first entry, and then for the end of the interval or for many
        // entries.
        if waiting.len() == 1 || gathering.ready() == self.many() {
            self.changed.notify_all();
        }
        gone
    }

    /// The number of entries at which a batch begins early.
    fn many(&self) -> usize {
        self.max.div_ceil(4)
    }

    /// Whether no further entry may wait.
    pub(crate) fn is_full(&self) -> bool {
        lock(&self.gathering).waiting.len() >= self.max
    }

    pub(crate) fn remove(&self, place: &Place) -> Option<FinishedFile> {
        lock(&self.gathering).waiting.remove(&slot(place))
    }

    /// Removes the entry of this key whose file is at `path`.
    pub(crate) fn remove_at(&self, key: Key, path: &Path) {
        let mut gathering = lock(&self.gathering);
        let slot = gathering.waiting.range(slots(key)).find(|(_, one)| one.path == path);
        if let Some(slot) = slot.map(|(slot, _)| *slot) {
            gathering.waiting.remove(&slot);
        }
    }

    /// Whether this file is still the newest one of its place.
    pub(crate) fn is_newest(&self, finished: &FinishedFile) -> bool {
        let gathering = lock(&self.gathering);
        let newest = gathering.waiting.get(&slot(&finished.place));
        newest.is_some_and(|newest| newest.path == finished.path)
    }

    /// Leaves a synced entry for the next batch, because the disk has no room for its name. Only
    /// the first such error is recorded as a failure, not one for each batch. Returns false if the
    /// number of waiting entries has reached its limit.
    pub(crate) fn hold_for_room(&self, root: &Root, finished: &FinishedFile) -> bool {
        let most = MAX_HELD.min(self.max);
        let (is_first, is_held) = {
            let short_of_room = &mut lock(&self.gathering).short_of_room;
            let is_first = short_of_room.is_empty();
            let has_place = short_of_room.len() < most || short_of_room.contains(&finished.path);
            if has_place {
                short_of_room.insert(finished.path.clone());
            }
            (is_first, has_place)
        };
        if is_first {
            root.record_failure(disk_full_error(&finished.path));
        }
        is_held
    }

    /// Whether an entry is synced and waits for room on the disk.
    pub(crate) fn is_held(&self, finished: &FinishedFile) -> bool {
        lock(&self.gathering).short_of_room.contains(&finished.path)
    }

    /// Updates the set of entries that wait for room, after a batch. Returns whether any entry
    /// still waits.
    pub(crate) fn update_shortage(&self) -> bool {
        let mut gathering = lock(&self.gathering);
        let Batch { waiting, short_of_room, .. } = &mut *gathering;
        if !short_of_room.is_empty() {
            let here: HashSet<_> = waiting.values().map(|finished| &finished.path).collect();
            short_of_room.retain(|path| here.contains(path));
        }
        !short_of_room.is_empty()
    }

    /// The error of an entry that still waits after a batch because there is no room for its name.
    pub(crate) fn shortage(&self) -> Option<Error> {
        let gathering = lock(&self.gathering);
        let path = gathering.short_of_room.iter().next()?;
        Some(disk_full_error(path))
    }

    /// Every waiting entry, the oldest first.
    pub(crate) fn snapshot(&self) -> Vec<FinishedFile> {
        let mut all: Vec<_> = lock(&self.gathering).waiting.values().cloned().collect();
        all.sort_unstable_by_key(|finished| finished.stored);
        all
    }

    /// Schedules a batch for a change that is not an entry.
    pub(crate) fn schedule_batch(&self) {
        lock(&self.gathering).is_requested = true;
        self.changed.notify_all();
    }

    /// Ends [`run`].
    pub(crate) fn stop(&self) {
        lock(&self.gathering).stopping = true;
        self.changed.notify_all();
    }

    /// Waits until the next batch is due: `interval` after its first entry, or when there are many.
    /// Returns false if the spool is closing.
    fn gather(&self, interval: Duration) -> bool {
        let idle = |gathering: &mut Batch| {
            gathering.waiting.is_empty() && !gathering.is_requested && !gathering.stopping
        };
        let gathering = lock(&self.gathering);
        let gathering =
            self.changed.wait_while(gathering, idle).unwrap_or_else(PoisonError::into_inner);
        let more = |gathering: &mut Batch| !gathering.stopping && gathering.ready() < self.many();
        let (mut gathering, _) = self
            .changed
            .wait_timeout_while(gathering, interval, more)
            .unwrap_or_else(PoisonError::into_inner);
        gathering.is_requested = false;
        !gathering.stopping
    }
}

fn disk_full_error(path: &Path) -> Error {
    Error::disk("rename", path, ErrorKind::StorageFull.into())
}

fn slot(place: &Place) -> VariantKey {
    (place.key(), place.variant_name())
}

fn slots(key: Key) -> RangeInclusive<VariantKey> {
    (key, Key::from_bytes([0; 32]))..=(key, Key::from_bytes([u8::MAX; 32]))
}

/// Writes batches until [`Pending::stop`] is called. The caller of `run` then writes the last
/// batch.
pub(crate) fn run(tree: &Arc<Tree>, interval: Duration) {
    while tree.pending.gather(interval) {
        tree.write_batch();
    }
}
