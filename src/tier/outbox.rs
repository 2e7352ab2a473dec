//! The entries that wait to be pushed.
//!
//! The outbox is no file: it follows from the spool. Changes of this process are reported at once
//! and wait in memory. The state of the spool says whether everything was pushed when the daemon
//! stopped. If not, for example after a crash, a walk offers every entry again ([`super::walk`]);
//! the catalogue knows which of them it has. So no entry that survives a crash is forgotten, and an
//! entry costs no additional write.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::Notify;
use wwwoffle_spool::{ChangeListener, Key, Place};

use super::shared;
use crate::base::clock;

/// The largest number of places that wait in memory. If more change, they are found by a walk.
const MAX_WAITING: usize = 100_000;

/// The places whose entries wait to be pushed.
#[derive(Debug, Default)]
pub(super) struct PushOutbox {
    state: Mutex<OutboxState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct OutboxState {
    places: HashMap<Key, Place>,
    order: VecDeque<Key>,
    /// The number of places that are being pushed.
    pushing: usize,
    /// When the first of the waiting changes was made.
    since: Option<SystemTime>,
    /// Whether changes were left out because too many wait.
    is_over: bool,
    is_scanning: bool,
}

impl ChangeListener for PushOutbox {
    fn changed(&self, place: &Place) {
        if shared::url_of(&place.clone().with_variant("")).is_some() {
            self.add(place.clone().with_variant(""));
        }
    }
}

impl PushOutbox {
    /// Adds a place, unless it waits already.
    pub(super) fn add(&self, place: Place) {
        let mut state = self.lock();
        if state.places.len() >= MAX_WAITING && !state.places.contains_key(&place.key()) {
            state.is_over = true;
            return;
        }
        let key = place.key();
        if state.places.insert(key, place).is_none() {
            state.order.push_back(key);
        }
        state.since.get_or_insert_with(clock::now);
        drop(state);
        self.changed.notify_one();
    }

    /// Takes up to `most` places, the oldest first. They count as being pushed until
    /// [`PushOutbox::done`].
    pub(super) fn take(&self, most: usize) -> Vec<Place> {
        let mut state = self.lock();
        let mut taken = Vec::new();
        while taken.len() < most
            && let Some(key) = state.order.pop_front()
        {
            taken.extend(state.places.remove(&key));
        }
        state.pushing = taken.len();
        taken
    }

    /// Ends the pushing of the places taken last. Those in `left` wait again.
    pub(super) fn done(&self, left: Vec<Place>) {
        let mut state = self.lock();
        state.pushing = 0;
        for place in left.into_iter().rev() {
            let key = place.key();
            if !state.places.contains_key(&key) {
                state.order.push_front(key);
                state.places.insert(key, place);
            }
        }
        if state.places.is_empty() {
            state.since = None;
        }
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

    /// Whether nothing waits, and no change was left out.
    pub(super) fn is_empty(&self) -> bool {
        let state = self.lock();
        state.places.is_empty() && state.pushing == 0 && !state.is_over
    }

    /// Whether changes were left out. From now on they count as found.
    pub(super) fn take_over(&self) -> bool {
        std::mem::take(&mut self.lock().is_over)
    }

    /// Whether there is room for places of a walk, which are less urgent.
    pub(super) fn has_room(&self) -> bool {
        self.lock().places.len() < MAX_WAITING / 100
    }

    pub(super) fn set_scanning(&self, is_scanning: bool) {
        self.lock().is_scanning = is_scanning;
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

    #[test]
    fn a_failed_push_waits_again_before_later_changes() {
        let outbox = PushOutbox::default();
        let [one, two, three] =
            ["http://1.example/", "http://2.example/", "http://3.example/"].map(place);
        outbox.changed(&one);
        outbox.changed(&two);
        outbox.changed(&one.clone().with_variant("accept: x"));
        outbox.changed(&one.clone().owned_by("user:ada"));
        assert_eq!(outbox.backlog(), 2);
        let taken = outbox.take(1);
        assert_eq!(taken.as_slice(), std::slice::from_ref(&one));
        assert!(!outbox.is_empty() && outbox.backlog() == 2);
        outbox.changed(&three);
        outbox.done(taken);
        assert_eq!(outbox.take(9), [one, two, three]);
        outbox.done(Vec::new());
        assert!(outbox.is_empty() && outbox.since().is_none());
    }
}
