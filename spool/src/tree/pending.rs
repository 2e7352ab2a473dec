//! Entries that are finished, and visible, but not yet under their name: the batch.

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
use crate::tree::shelf::{MAX_VARIANTS, eviction_order};
use crate::tree::{FinishedFile, Tree};
use wwwoffle_url::Key;

/// How long finished entries gather before they are written as one batch.
pub const BATCH_INTERVAL: Duration = Duration::from_millis(250);

/// So many finished entries make a batch at once, and whoever finished the last one writes it. Each
/// holds its file open.
pub(crate) const MAX_PENDING: usize = 256;

/// The most finished entries of a batch: of the files that the process may open, an eighth.
fn max_pending() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    (limit / 8).clamp(1, MAX_PENDING)
}

/// So many finished entries wait for room on a full disk, each with its file open.
const MAX_HELD: usize = MAX_PENDING / 2;

/// The entries between `finish` and their name.
#[derive(Debug)]
pub(crate) struct Pending {
    gathering: Mutex<Batch>,
    changed: Condvar,
    /// So many that wait make a batch.
    pub(crate) max: usize,
    /// Held while a batch is written.
    pub(crate) batch: Mutex<()>,
}

impl Default for Pending {
    fn default() -> Pending {
        let (gathering, changed) = (Mutex::default(), Condvar::new());
        Pending { gathering, changed, max: max_pending(), batch: Mutex::default() }
    }
}

/// A key, and what names one of the entries under it.
type Slot = (Key, Key);

#[derive(Debug, Default)]
struct Batch {
    waiting: BTreeMap<Slot, FinishedFile>,
    /// Where those lie that are on the medium, and could not get their name because the disk is full.
    short_of_room: HashSet<PathBuf>,
    /// Something else waits for the next batch.
    poked: bool,
    stopping: bool,
}

impl Pending {
    /// Where the entry of this place is now, if it waits.
    pub(crate) fn path(&self, place: &Place) -> Option<PathBuf> {
        let gathering = lock(&self.gathering);
        gathering.waiting.get(&slot(place)).map(|finished| finished.path.clone())
    }

    /// The entries of this key that wait, whatever their variant.
    pub(crate) fn variants(&self, key: Key) -> Vec<FinishedFile> {
        lock(&self.gathering).waiting.range(slots(key)).map(|(_, one)| one.clone()).collect()
    }

    /// Adds an entry; gives back those it replaces or leaves no room for, and how many there are.
    pub(crate) fn add(&self, finished: FinishedFile) -> (Vec<FinishedFile>, usize) {
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
        let count = waiting.len();
        self.changed.notify_all();
        (gone, count)
    }

    pub(crate) fn forget(&self, place: &Place) -> Option<FinishedFile> {
        lock(&self.gathering).waiting.remove(&slot(place))
    }

    /// Forgets the entry of this key that waits at `path`, if one does.
    pub(crate) fn forget_at(&self, key: Key, path: &Path) {
        let mut gathering = lock(&self.gathering);
        let slot = gathering.waiting.range(slots(key)).find(|(_, one)| one.path == path);
        if let Some(slot) = slot.map(|(slot, _)| *slot) {
            gathering.waiting.remove(&slot);
        }
    }

    /// Whether this is still the newest for its key.
    pub(crate) fn holds(&self, finished: &FinishedFile) -> bool {
        let gathering = lock(&self.gathering);
        let newest = gathering.waiting.get(&slot(&finished.place));
        newest.is_some_and(|newest| newest.path == finished.path)
    }

    /// Leaves an entry, which is on the medium, for the next batch: the disk has no room for its name.
    /// The first such error is told, and not those of each batch after it. False when too many wait.
    pub(crate) fn hold(&self, root: &Root, finished: &FinishedFile) -> bool {
        let (is_first, is_held) = {
            let short_of_room = &mut lock(&self.gathering).short_of_room;
            let is_first = short_of_room.is_empty();
            let has_place =
                short_of_room.len() < MAX_HELD || short_of_room.contains(&finished.path);
            if has_place {
                short_of_room.insert(finished.path.clone());
            }
            (is_first, has_place)
        };
        if is_first {
            root.fail(no_room(&finished.path));
        }
        is_held
    }

    /// Whether an entry is on the medium already, and waits for room there.
    pub(crate) fn is_held(&self, finished: &FinishedFile) -> bool {
        lock(&self.gathering).short_of_room.contains(&finished.path)
    }

    /// Forgets of those that waited for room which wait no more. Whether any is left.
    pub(crate) fn ends_batch(&self) -> bool {
        let mut gathering = lock(&self.gathering);
        let Batch { waiting, short_of_room, .. } = &mut *gathering;
        if !short_of_room.is_empty() {
            let here: HashSet<_> = waiting.values().map(|finished| &finished.path).collect();
            short_of_room.retain(|path| here.contains(path));
        }
        !short_of_room.is_empty()
    }

    /// Why something waits still after a batch: there is no room for its name.
    pub(crate) fn shortage(&self) -> Option<Error> {
        let gathering = lock(&self.gathering);
        let path = gathering.short_of_room.iter().next()?;
        Some(no_room(path))
    }

    /// All that wait, the one finished first first.
    pub(crate) fn snapshot(&self) -> Vec<FinishedFile> {
        let mut all: Vec<_> = lock(&self.gathering).waiting.values().cloned().collect();
        all.sort_unstable_by_key(|finished| finished.stored);
        all
    }

    /// Something else than an entry waits for the next batch.
    pub(crate) fn poke(&self) {
        lock(&self.gathering).poked = true;
        self.changed.notify_all();
    }

    /// Ends [`run`].
    pub(crate) fn stop(&self) {
        lock(&self.gathering).stopping = true;
        self.changed.notify_all();
    }

    /// Waits for something to do. False: there will be nothing more.
    fn gather(&self, interval: Duration) -> bool {
        let idle = |gathering: &mut Batch| {
            gathering.waiting.is_empty() && !gathering.poked && !gathering.stopping
        };
        let gathering = lock(&self.gathering);
        let gathering =
            self.changed.wait_while(gathering, idle).unwrap_or_else(PoisonError::into_inner);
        let more = |gathering: &mut Batch| !gathering.stopping;
        let (mut gathering, _) = self
            .changed
            .wait_timeout_while(gathering, interval, more)
            .unwrap_or_else(PoisonError::into_inner);
        gathering.poked = false;
        !gathering.stopping
    }
}

fn no_room(path: &Path) -> Error {
    Error::disk("give a name to", path, ErrorKind::StorageFull.into())
}

fn slot(place: &Place) -> Slot {
    (place.key(), place.variant_name())
}

fn slots(key: Key) -> RangeInclusive<Slot> {
    (key, Key::from_bytes([0; 32]))..=(key, Key::from_bytes([u8::MAX; 32]))
}

/// Writes batches until [`Pending::stop`]. What is left then is for who stopped it.
pub(crate) fn run(tree: &Arc<Tree>, interval: Duration) {
    while tree.pending.gather(interval) {
        tree.write_batch();
    }
}
