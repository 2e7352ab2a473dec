//! The hot set: the entries of recently requested keys, in memory.
//!
//! The disk stays authoritative. A [`CachedLookup`] is the result of one lookup, with every file
//! name that the lookup examined ([`LookupTrace`]). It is valid for [`LOOK_AGAIN`]. Then the file
//! names are examined again, and the result stays valid if they are unchanged. A change by this
//! daemon invalidates it at once: the spool reports the change ([`ChangeListener`]) before the
//! changing call returns. A lookup without entries is remembered too.
//!
//! The set is bounded in bytes. It has a younger and an older half. A requested lookup moves into
//! the younger half. When the younger half is full, the older half is dropped and the younger one
//! takes its place. So frequently requested lookups stay, even during a long series of other
//! requests.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wwwoffle_spool::{Body, ChangeListener, LookupTrace, Place};
use wwwoffle_url::Key;

use super::StoredCopy;

/// The time for which a lookup is valid without another check. Other programs may write in the
/// spool, and this is noticed within a second.
const LOOK_AGAIN: Duration = Duration::from_millis(750);

/// The number of shards, each with its own lock.
const PARTS: usize = 16;

/// The memory charged for an entry whose body is on disk and which keeps its file open. The value
/// is large because descriptors are scarcer than memory.
pub const OPEN_FILE: usize = 256 * 1024;

/// The approximate memory of a header field, in bytes, without its text.
const FIELD: usize = 128;

/// All entries under one key, from one lookup.
#[derive(Debug)]
pub struct CachedLookup {
    all: Vec<Arc<StoredCopy>>,
    /// The files that the lookup examined. If they are unchanged, no other lookup is needed.
    seen: Option<LookupTrace>,
    /// The time of the last check, in milliseconds of the set's clock.
    looked: AtomicU64,
    gone: AtomicBool,
}

impl CachedLookup {
    /// Creates the result of a lookup at `looked`.
    fn new(all: Vec<Arc<StoredCopy>>, seen: Option<LookupTrace>, looked: Duration) -> Arc<Self> {
        let gone = AtomicBool::new(seen.is_none());
        Arc::new(Self { all, seen, looked: AtomicU64::new(millis(looked)), gone })
    }

    /// The entries. The entry that was stored last comes first.
    #[must_use]
    pub fn all(&self) -> &[Arc<StoredCopy>] {
        &self.all
    }

    /// Whether neither an entry nor a segment was stored.
    pub(super) fn is_nothing(&self) -> bool {
        self.seen().is_some_and(LookupTrace::is_nothing)
    }

    /// The examined file names, or `None` if a change is known.
    pub(super) fn seen(&self) -> Option<&LookupTrace> {
        self.seen.as_ref().filter(|_| !self.gone.load(Ordering::Acquire))
    }

    /// Whether the lookup is valid at `now` without another check.
    pub(super) fn counts(&self, now: Duration) -> bool {
        let until = self.looked.load(Ordering::Acquire).saturating_add(millis(LOOK_AGAIN));
        !self.gone.load(Ordering::Acquire) && millis(now) < until
    }

    fn held_bytes(&self) -> usize {
        let seen = self.seen.as_ref().map_or(0, LookupTrace::memory_size);
        let all: usize = self.all.iter().map(|copy| held_bytes(copy)).sum();
        2 * size_of::<Self>() + seen + all
    }
}

fn held_bytes(copy: &StoredCopy) -> usize {
    let fields = copy.fields.len() + copy.request.len();
    let file = if matches!(copy.entry.body(), Body::File(_)) { OPEN_FILE } else { 0 };
    // The values of the fields are copies of text in the head, so the length of the head is added.
    size_of::<StoredCopy>()
        + copy.entry.memory_size()
        + copy.entry.head().len()
        + FIELD * fields
        + file
}

/// The lookups in memory.
#[derive(Debug)]
pub(super) struct HotSet {
    parts: [Mutex<HotShard>; PARTS],
    hasher: RandomState,
    /// The maximum number of bytes in each half of a shard.
    half: AtomicUsize,
}

#[derive(Debug, Default)]
struct HotShard {
    young: Generation,
    old: Generation,
    /// How often entries under the keys of this shard have changed.
    changes: u64,
}

#[derive(Debug, Default)]
struct Generation {
    lookups: HashMap<Key, Arc<CachedLookup>>,
    held: usize,
}

impl Generation {
    fn insert(&mut self, key: Key, found: Arc<CachedLookup>) {
        self.held += found.held_bytes();
        self.lookups.insert(key, found);
    }

    fn take(&mut self, key: Key) -> Option<Arc<CachedLookup>> {
        let found = self.lookups.remove(&key)?;
        self.held = self.held.saturating_sub(found.held_bytes());
        Some(found)
    }

    /// Removes a lookup. It no longer learns of changes, so it is marked as outdated for all its
    /// holders.
    fn remove(&mut self, key: Key) -> Option<Arc<CachedLookup>> {
        let found = self.take(key)?;
        found.gone.store(true, Ordering::Release);
        Some(found)
    }

    /// Removes all lookups and returns them.
    fn clear(&mut self) -> Generation {
        for found in self.lookups.values() {
            found.gone.store(true, Ordering::Release);
        }
        std::mem::take(self)
    }
}

/// The state before a lookup. The result of the lookup is stored only if nothing has changed since.
#[derive(Clone, Copy, Debug)]
pub(super) struct PreLookupState {
    changes: u64,
    time: Duration,
}

impl HotSet {
    /// An empty set.
    pub(super) fn new(bytes: usize) -> Self {
        let set = Self {
            parts: Default::default(),
            hasher: RandomState::new(),
            half: AtomicUsize::new(0),
        };
        set.resize(bytes);
        set
    }

    /// Sets the size in bytes and empties the set.
    pub(super) fn resize(&self, bytes: usize) {
        self.half.store(bytes / (2 * PARTS), Ordering::Release);
        self.clear();
    }

    /// Removes all lookups.
    pub(super) fn clear(&self) {
        for part in &self.parts {
            let mut part = lock(part);
            let gone = [part.young.clear(), part.old.clear()];
            drop(part);
            drop(gone);
        }
    }

    /// The maximum size in bytes.
    pub(super) fn capacity(&self) -> usize {
        self.half.load(Ordering::Acquire) * 2 * PARTS
    }

    /// The lookup of a key, if it is in the set and valid at `now`.
    pub(super) fn get(&self, key: Key, now: Duration) -> Option<Arc<CachedLookup>> {
        self.find(key).filter(|found| found.counts(now))
    }

    /// The lookup of a key, if it is in the set. It may need another check.
    pub(super) fn find(&self, key: Key) -> Option<Arc<CachedLookup>> {
        let mut part = lock(self.part(key));
        if let Some(found) = part.young.lookups.get(&key) {
            return Some(Arc::clone(found));
        }
        let found = part.old.take(key)?;
        let gone = self.add(&mut part, key, &found);
        drop(part);
        drop(gone);
        Some(found)
    }

    /// The state to record before a lookup begins.
    pub(super) fn begin_lookup(&self, key: Key, now: Duration) -> PreLookupState {
        PreLookupState { changes: lock(self.part(key)).changes, time: now }
    }

    /// Records that the file names of a lookup were unchanged at a check that began at `before`.
    /// Returns false if the lookup has become outdated since.
    pub(super) fn confirm_lookup(
        &self,
        key: Key,
        found: &CachedLookup,
        before: PreLookupState,
    ) -> bool {
        let part = lock(self.part(key));
        let is_same = part.changes == before.changes && !found.gone.load(Ordering::Acquire);
        if is_same {
            found.looked.fetch_max(millis(before.time), Ordering::AcqRel);
        }
        is_same
    }

    /// Caches the result of a lookup, unless an entry under a key of the same shard has changed
    /// since `before`.
    pub(super) fn found(
        &self,
        key: Key,
        all: Vec<Arc<StoredCopy>>,
        seen: Option<LookupTrace>,
        before: PreLookupState,
    ) -> Arc<CachedLookup> {
        let found = CachedLookup::new(all, seen, before.time);
        let mut part = lock(self.part(key));
        if found.seen.is_none() || part.changes != before.changes {
            found.gone.store(true, Ordering::Release);
            return found;
        }
        let was = [part.young.remove(key), part.old.remove(key)];
        let gone = self.add(&mut part, key, &found);
        drop(part);
        drop((was, gone));
        found
    }

    /// Puts a lookup into the younger half. Returns the half that it displaces, which the caller
    /// must drop without holding the lock.
    fn add(&self, part: &mut HotShard, key: Key, found: &Arc<CachedLookup>) -> Option<Generation> {
        let most = self.half.load(Ordering::Acquire);
        if found.held_bytes() > most {
            found.gone.store(true, Ordering::Release);
            return None;
        }
        let is_full = part.young.held + found.held_bytes() > most;
        let gone = is_full.then(|| {
            let gone = part.old.clear();
            part.old = std::mem::take(&mut part.young);
            gone
        });
        part.young.insert(key, Arc::clone(found));
        gone
    }

    fn part(&self, key: Key) -> &Mutex<HotShard> {
        let [byte, ..] = self.hasher.hash_one(key).to_le_bytes();
        let [first, rest @ ..] = &self.parts;
        (usize::from(byte) % PARTS).checked_sub(1).and_then(|at| rest.get(at)).unwrap_or(first)
    }

    /// Discards the outdated entries of a key.
    fn forget(&self, key: Key) {
        let mut part = lock(self.part(key));
        part.changes += 1;
        // Holders of a lookup may continue to read it, but not rely on it for another request.
        let gone = [part.young.remove(key), part.old.remove(key)];
        drop(part);
        drop(gone);
    }
}

impl ChangeListener for HotSet {
    fn changed(&self, place: &Place) {
        self.forget(place.key());
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn lock(part: &Mutex<HotShard>) -> MutexGuard<'_, HotShard> {
    // A panic leaves a valid map of lookups.
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of empty lookups that fit into each half of each shard.
    const ROOM: usize = 4;

    fn set() -> HotSet {
        let found = CachedLookup::new(Vec::new(), Some(LookupTrace::default()), Duration::ZERO);
        HotSet::new(2 * PARTS * ROOM * found.held_bytes())
    }

    fn key(number: usize) -> Key {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        Key::from_bytes(bytes)
    }

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn put(set: &HotSet, key: Key, now: Duration) -> Arc<CachedLookup> {
        let before = set.begin_lookup(key, now);
        set.found(key, Vec::new(), Some(LookupTrace::default()), before)
    }

    fn held(set: &HotSet) -> usize {
        set.parts.iter().map(|part| lock(part)).map(|part| part.young.held + part.old.held).sum()
    }

    #[test]
    fn a_lookup_is_valid_until_its_next_check() {
        let (set, key) = (set(), key(1));
        let found = put(&set, key, at(1_000));
        assert!(set.get(key, at(1_000)).is_some() && set.get(key, at(1_749)).is_some());
        assert!(set.get(key, at(1_750)).is_none());
        // The lookup is still in the set, and its file names are unchanged.
        let before = set.begin_lookup(key, at(2_000));
        assert!(found.seen().is_some() && set.confirm_lookup(key, &found, before));
        assert!(set.get(key, at(2_749)).is_some() && set.get(key, at(2_750)).is_none());
    }

    #[test]
    fn a_changed_lookup_is_dropped_at_once() {
        let (set, key) = (set(), key(1));
        let found = put(&set, key, at(0));
        set.forget(key);
        assert!(set.find(key).is_none() && !found.counts(at(0)) && found.seen().is_none());
        let before = set.begin_lookup(key, at(0));
        assert!(!set.confirm_lookup(key, &found, before));
    }

    #[test]
    fn a_lookup_before_a_change_is_not_cached() {
        let (set, key) = (set(), key(1));
        let before = set.begin_lookup(key, at(0));
        set.forget(key);
        let found = set.found(key, Vec::new(), Some(LookupTrace::default()), before);
        assert!(set.find(key).is_none() && !found.counts(at(0)));
        let found = put(&set, key, at(0));
        let before = set.begin_lookup(key, at(0));
        set.forget(key);
        assert!(!set.confirm_lookup(key, &found, before));
        // A lookup that cannot be checked again is not stored either.
        let before = set.begin_lookup(key, at(0));
        let found = set.found(key, Vec::new(), None, before);
        assert!(set.find(key).is_none() && !found.counts(at(0)));
    }

    #[test]
    fn the_cache_is_limited_and_used_lookups_stay() {
        let set = set();
        let favourite = put(&set, key(0), at(0));
        let mut lookups = Vec::new();
        for number in 1..10_000 {
            lookups.push(put(&set, key(number), at(0)));
            assert!(set.get(key(0), at(0)).is_some(), "{number}");
            assert!(held(&set) <= set.capacity());
        }
        assert!(favourite.counts(at(0)) && held(&set) > set.capacity() / 4);
        let there = (1..10_000).filter(|number| set.find(key(*number)).is_some()).count();
        assert!(there > 0 && there < 2 * PARTS * ROOM);
        // A dropped lookup would not learn of changes.
        let counting = lookups.iter().filter(|found| found.counts(at(0))).count();
        assert!(counting <= 2 * PARTS * ROOM);
        set.resize(0);
        assert_eq!((held(&set), put(&set, key(0), at(0)).counts(at(0))), (0, false));
    }

    #[test]
    fn the_last_of_two_concurrent_lookups_is_cached() {
        let (set, key) = (set(), key(1));
        let (one, other) = (set.begin_lookup(key, at(0)), set.begin_lookup(key, at(0)));
        let one = set.found(key, Vec::new(), Some(LookupTrace::default()), one);
        let other = set.found(key, Vec::new(), Some(LookupTrace::default()), other);
        assert!(!one.counts(at(0)) && other.counts(at(0)));
        assert!(Arc::ptr_eq(&set.find(key).unwrap(), &other));
    }
}
