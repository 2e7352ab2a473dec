//! The batch: finished entries that readers find already, but that are not renamed into place yet.

use crate::durability::Root;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

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

/// The largest number of finished entries that wait for room or for free file descriptors, each
/// with its file open.
const MAX_HELD: usize = MAX_PENDING / 8;

/// The largest number of files left in `tmp/`, each of another place. Only a failing disk causes more.
const MAX_LEFT: usize = 10_000;

/// The time after a failed attempt to rename the files left in `tmp/`, before the next attempt.
const RETRY_LEFT: Duration = Duration::from_secs(60);

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
    /// Files that are durable, but could not be renamed for now.
    held: HashMap<PathBuf, Shortage>,
    /// Files that could not be renamed. A later batch or the next opening tries again.
    left: BTreeMap<VariantKey, LeftEntry>,
    /// When they may be tried again. `None` if at once.
    retry_left: Option<Instant>,
    /// Whether a change other than an entry waits for the next batch.
    is_requested: bool,
    stopping: bool,
}

/// An entry whose file stays in `tmp/`, because it cannot be renamed.
#[derive(Debug, Clone)]
pub(crate) struct LeftEntry {
    pub(crate) place: Place,
    pub(crate) path: PathBuf,
    stored: Timestamp,
}

/// What the next attempt to rename a file needs.
#[derive(Debug, Clone, Copy)]
enum Shortage {
    Room,
    Descriptors,
}

impl Shortage {
    fn of(error: &Error) -> Option<Shortage> {
        let descriptors = || error.is_out_of_files().then_some(Shortage::Descriptors);
        error.is_full().then_some(Shortage::Room).or_else(descriptors)
    }

    /// The error of the file at `path`.
    fn error(self, path: &Path) -> Error {
        let source = match self {
            Shortage::Room => ErrorKind::StorageFull.into(),
            Shortage::Descriptors => rustix::io::Errno::MFILE.into(),
        };
        Error::disk("rename", path, source)
    }
}

impl Batch {
    /// The number of entries that are not held.
    fn ready(&self) -> usize {
        self.waiting.len().saturating_sub(self.held.len())
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

    /// Leaves a synced entry for the next batch, because the disk is full or the process has too many
    /// open files. Only the first such error is recorded as a failure, not one for each batch.
    /// Returns false after another error, or if the number of held entries has reached its limit.
    pub(crate) fn hold(&self, root: &Root, finished: &FinishedFile, error: &Error) -> bool {
        let Some(shortage) = Shortage::of(error) else { return false };
        let most = MAX_HELD.min(self.max);
        let (is_first, is_held) = {
            let held = &mut lock(&self.gathering).held;
            let is_first = held.is_empty();
            let has_place = held.len() < most || held.contains_key(&finished.path);
            if has_place {
                held.insert(finished.path.clone(), shortage);
            }
            (is_first, has_place)
        };
        if is_first {
            root.record_failure(shortage.error(&finished.path));
        }
        is_held
    }

    /// Whether an entry is synced and held.
    pub(crate) fn is_held(&self, finished: &FinishedFile) -> bool {
        lock(&self.gathering).held.contains_key(&finished.path)
    }

    /// Updates the set of held entries, after a batch. Returns whether any entry still waits.
    pub(crate) fn update_shortage(&self) -> bool {
        let mut gathering = lock(&self.gathering);
        let Batch { waiting, held, .. } = &mut *gathering;
        if !held.is_empty() {
            let here: HashSet<_> = waiting.values().map(|finished| &finished.path).collect();
            held.retain(|path, _| here.contains(path));
        }
        !held.is_empty()
    }

    /// The error of an entry that still waits after a batch.
    pub(crate) fn shortage(&self) -> Option<Error> {
        let gathering = lock(&self.gathering);
        gathering.held.iter().next().map(|(path, shortage)| shortage.error(path))
    }

    /// Forgets an entry whose file stays in `tmp/`, because it cannot be renamed. Returns the file
    /// that must be discarded instead: the older one of the same place, or this one if there are too
    /// many.
    pub(crate) fn leave(&self, finished: &FinishedFile) -> Option<PathBuf> {
        let mut gathering = lock(&self.gathering);
        let slot = slot(&finished.place);
        if gathering.waiting.get(&slot).is_some_and(|waiting| waiting.path == finished.path) {
            gathering.waiting.remove(&slot);
        }
        let (place, path) = (finished.place.clone(), finished.path.clone());
        let stored = finished.stored;
        let left = &mut gathering.left;
        let stays = left.get(&slot).map_or(left.len() < MAX_LEFT, |older| older.stored < stored);
        if !stays {
            return Some(path);
        }
        left.insert(slot, LeftEntry { place, path, stored }).map(|older| older.path)
    }

    /// The files that were left in `tmp/`. None soon after a failed attempt to rename them.
    pub(crate) fn due_left(&self) -> Vec<LeftEntry> {
        let gathering = lock(&self.gathering);
        if gathering.retry_left.is_some_and(|time| Instant::now() < time) {
            return Vec::new();
        }
        gathering.left.values().cloned().collect()
    }

    /// Delays the next attempt to rename the files that were left in `tmp/`.
    pub(crate) fn delay_left(&self) {
        lock(&self.gathering).retry_left = Some(Instant::now() + RETRY_LEFT);
    }

    /// Whether a file is still left in `tmp/`.
    pub(crate) fn is_left(&self, entry: &LeftEntry) -> bool {
        let gathering = lock(&self.gathering);
        gathering.left.get(&slot(&entry.place)).is_some_and(|left| left.path == entry.path)
    }

    /// Whether a file of this place was left in `tmp/`.
    pub(crate) fn has_left(&self, place: &Place) -> bool {
        lock(&self.gathering).left.contains_key(&slot(place))
    }

    /// Returns the files of a key that were left in `tmp/`, and forgets them; only those of one
    /// variant if `variant` is given.
    pub(crate) fn take_left(&self, key: Key, variant: Option<Key>) -> Vec<PathBuf> {
        let left = &mut lock(&self.gathering).left;
        let of_key = left.range(slots(key)).map(|(slot, _)| *slot);
        let meant: Vec<_> =
            of_key.filter(|(_, its)| variant.is_none_or(|one| one == *its)).collect();
        meant.iter().filter_map(|slot| left.remove(slot)).map(|entry| entry.path).collect()
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
