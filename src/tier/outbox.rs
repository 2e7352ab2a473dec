//! The entries that wait to be pushed.
//!
//! The outbox is no file: it follows from the spool. Changes of this process are reported at once
//! and wait in memory. The spool says whether everything was pushed when it was closed, and nothing
//! has opened it since. If not, for example after a crash, a walk offers every entry again
//! ([`super::walk`]); the catalogue knows which of them it has. So no entry that survives a crash is
//! forgotten, and an entry costs no additional write.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::Notify;
use wwwoffle_spool::{ChangeListener, Key, Place};

use super::shared;
use crate::base::clock;

/// The largest number of places that wait in memory. If more change, they are found by a walk.
const MAX_WAITING: usize = 100_000;

/// The largest size of the URLs that wait in memory, in bytes.
const MAX_BYTES: usize = 32 << 20;

/// The number of failures after which a place is set aside until the next start. A failure counts
/// only if other entries were pushed since the one before, so that it is not that of an engine.
const MAX_FAILURES: u32 = 5;

/// The places whose entries wait to be pushed.
#[derive(Debug, Default)]
pub(super) struct PushOutbox {
    state: Mutex<OutboxState>,
    changed: Notify,
}

/// A place whose entries wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnpushedPlace {
    pub(super) place: Place,
    failures: u32,
    /// The value of [`OutboxState::successes`] at the last failure.
    failed_at: u64,
}

/// The result of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PushResult {
    Done,
    /// It was not tried.
    Later,
    Failed,
}

#[derive(Debug, Default)]
struct OutboxState {
    places: HashMap<Key, UnpushedPlace>,
    order: VecDeque<Key>,
    /// The size of the URLs.
    bytes: usize,
    /// The number of places that are being pushed.
    pushing: usize,
    /// The number of places that were pushed.
    successes: u64,
    /// When the first of the waiting changes was made.
    since: Option<SystemTime>,
    /// Whether changes were left out because too many wait.
    is_over: bool,
    /// Whether entries were set aside, or may be missing in a walk. Only a walk that begins later
    /// offers them again.
    is_incomplete: bool,
    is_scanning: bool,
}

impl OutboxState {
    fn insert(&mut self, waiting: UnpushedPlace) -> bool {
        let (key, size) = (waiting.place.key(), waiting.place.url().len());
        if self.places.contains_key(&key) {
            return true;
        }
        if self.places.len() >= MAX_WAITING || self.bytes + size > MAX_BYTES {
            self.is_over = true;
            return false;
        }
        self.bytes += size;
        self.places.insert(key, waiting);
        self.order.push_back(key);
        true
    }
}

impl ChangeListener for PushOutbox {
    fn changed(&self, place: &Place) {
        let place = place.clone().with_variant("");
        if shared::url_of(&place).is_some() {
            self.add(place);
        }
    }
}

impl PushOutbox {
    /// Adds a place, unless it waits already.
    pub(super) fn add(&self, place: Place) {
        let mut state = self.lock();
        if state.insert(UnpushedPlace { place, failures: 0, failed_at: 0 }) {
            state.since.get_or_insert_with(clock::now);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Takes up to `most` places, the oldest first. They count as being pushed until
    /// [`PushOutbox::done`].
    pub(super) fn take(&self, most: usize) -> Vec<UnpushedPlace> {
        let mut state = self.lock();
        let mut taken = Vec::new();
        while taken.len() < most
            && let Some(key) = state.order.pop_front()
        {
            taken.extend(state.places.remove(&key));
        }
        state.bytes -= taken.iter().map(|waiting| waiting.place.url().len()).sum::<usize>();
        state.pushing = taken.len();
        taken
    }

    /// Ends the pushing of the places taken last. The others wait again, after those that wait
    /// already. Returns the places that are set aside.
    pub(super) fn done(&self, results: Vec<(UnpushedPlace, PushResult)>) -> Vec<Place> {
        let mut state = self.lock();
        let mut set_aside = Vec::new();
        state.pushing = 0;
        let pushed = results.iter().filter(|(_, result)| *result == PushResult::Done).count();
        state.successes += u64::try_from(pushed).unwrap_or_default();
        for (mut waiting, result) in results {
            match result {
                PushResult::Done => continue,
                PushResult::Later => {}
                PushResult::Failed => {
                    if waiting.failures == 0 || state.successes > waiting.failed_at {
                        waiting.failures += 1;
                    }
                    waiting.failed_at = state.successes;
                }
            }
            if waiting.failures >= MAX_FAILURES {
                state.is_incomplete = true;
                set_aside.push(waiting.place);
            } else {
                state.insert(waiting);
            }
        }
        if state.places.is_empty() {
            state.since = None;
        }
        set_aside
    }

    /// Waits until a place waits. Dropping the future has no effect.
    pub(super) async fn wait(&self) {
        loop {
            let changed = self.changed.notified();
            if !self.lock().places.is_empty() {
                return;
            }
            changed.await;
        }
    }

    /// Whether nothing waits, and nothing was left out.
    pub(super) fn is_complete(&self) -> bool {
        let state = self.lock();
        let is_empty = state.places.is_empty() && state.pushing == 0;
        is_empty && !state.is_over && !state.is_incomplete && !state.is_scanning
    }

    /// Whether changes were left out. From now on they count as found.
    pub(super) fn take_over(&self) -> bool {
        std::mem::take(&mut self.lock().is_over)
    }

    /// Whether there is room for places of a walk, which are less urgent.
    pub(super) fn has_room(&self) -> bool {
        let state = self.lock();
        state.places.len() < MAX_WAITING / 100 && state.bytes < MAX_BYTES / 2
    }

    /// Begins a walk. It offers everything again that was left out before.
    pub(super) fn begin_scan(&self) {
        let mut state = self.lock();
        (state.is_scanning, state.is_incomplete) = (true, false);
    }

    /// Ends a walk.
    pub(super) fn end_scan(&self, is_complete: bool) {
        let mut state = self.lock();
        state.is_scanning = false;
        state.is_incomplete |= !is_complete;
    }

    /// Records that an entry cannot be pushed yet: the next start offers it again.
    pub(super) fn leave_out(&self) {
        self.lock().is_incomplete = true;
    }

    pub(super) fn is_scanning(&self) -> bool {
        self.lock().is_scanning
    }

    /// The number of places that wait or are being pushed.
    pub(super) fn backlog(&self) -> u64 {
        let state = self.lock();
        u64::try_from(state.places.len() + state.pushing).unwrap_or(u64::MAX)
    }

    /// The time since which something waits.
    pub(super) fn since(&self) -> Option<SystemTime> {
        self.lock().since
    }

    fn lock(&self) -> MutexGuard<'_, OutboxState> {
        // A panic cannot leave the state inconsistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    fn place(url: &str) -> Place {
        Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap())
    }

    fn places(taken: &[UnpushedPlace]) -> Vec<Place> {
        taken.iter().map(|waiting| waiting.place.clone()).collect()
    }

    #[test]
    fn a_failed_push_waits_behind_the_others() {
        let outbox = PushOutbox::default();
        let [one, two, three] =
            ["http://1.example/", "http://2.example/", "http://3.example/"].map(place);
        outbox.changed(&one);
        outbox.changed(&two);
        outbox.changed(&one.clone().with_variant("accept: x"));
        outbox.changed(&one.clone().owned_by("user:ada"));
        assert_eq!(outbox.backlog(), 2);
        let taken = outbox.take(1);
        assert_eq!(places(&taken), std::slice::from_ref(&one));
        assert!(!outbox.is_complete() && outbox.backlog() == 2);
        outbox.changed(&three);
        outbox.done(taken.into_iter().map(|place| (place, PushResult::Failed)).collect());
        let taken = outbox.take(9);
        assert_eq!(places(&taken), [two, three, one]);
        outbox.done(taken.into_iter().map(|place| (place, PushResult::Done)).collect());
        assert!(outbox.is_complete() && outbox.since().is_none());
    }

    #[test]
    fn a_place_is_set_aside_only_if_others_succeed() {
        let outbox = PushOutbox::default();
        let (bad, good) = (place("http://bad.example/"), place("http://good.example/"));
        let result = |waiting: &UnpushedPlace| {
            if waiting.place == bad { PushResult::Failed } else { PushResult::Done }
        };
        let round = || {
            let taken = outbox.take(9);
            let results = taken.into_iter().map(|place| (place.clone(), result(&place)));
            outbox.done(results.collect())
        };
        outbox.add(bad.clone());
        for _ in 0..100 {
            assert_eq!(round(), [], "the engine may be down");
        }
        for _ in 1..MAX_FAILURES - 1 {
            outbox.add(good.clone());
            assert_eq!(round(), []);
        }
        outbox.add(good);
        assert_eq!(round(), [bad]);
        assert!(!outbox.is_complete(), "the next start offers it again");
        assert_eq!(outbox.backlog(), 0);
    }

    #[test]
    fn an_entry_left_out_during_a_walk_is_not_forgotten_at_its_end() {
        let outbox = PushOutbox::default();
        outbox.begin_scan();
        outbox.leave_out();
        outbox.end_scan(true);
        assert!(!outbox.is_complete());
        outbox.begin_scan();
        outbox.end_scan(true);
        assert!(outbox.is_complete(), "a later walk has offered it again");
        outbox.begin_scan();
        outbox.end_scan(false);
        assert!(!outbox.is_complete());
    }

    #[test]
    fn long_urls_are_bounded_by_their_bytes() {
        let outbox = PushOutbox::default();
        let long = "x".repeat(8 << 10);
        for number in 0..8_000 {
            outbox.add(place(&format!("http://h.example/{number}/{long}")));
        }
        assert!(outbox.backlog() < 4_200);
        assert!(outbox.take_over(), "a walk finds the others");
    }
}
