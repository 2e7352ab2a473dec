//! What has changed and is not in the index yet: told by those who serve, who must not wait.
//!
//! What is noted is bounded. Of more it is only noted that there was more, and then a walk over the
//! directories finds it.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wwwoffle_spool::{Key, Place, Timestamp, Watcher};

use crate::error::Error;
use crate::sessions::Asked;

/// As many places are noted.
const MAX_PLACES: usize = 10_000;

/// As many uses are noted; of more, the later ones are forgotten.
const MAX_USES: usize = 20_000;

/// As many faults are kept until they are asked for.
const MAX_FAULTS: usize = 16;

/// How long changes gather, so that one commit serves many.
const GATHER: Duration = Duration::from_millis(200);

/// How long uses gather: nobody waits for them.
const GATHER_USES: Duration = Duration::from_secs(20);

/// What is done on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reindex {
    /// The index is made anew from the files.
    All,
    /// What others have changed in the spool is looked for.
    Changed,
}

/// How far the index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// It can be asked.
    pub is_ready: bool,
    /// It is being made, or the directories are walked: so many entries until now.
    pub walked: Option<u64>,
    /// So many changes are to come into it.
    pub waiting: usize,
    /// There are pages whose words are to come into it.
    pub has_unread: bool,
    /// Something has changed that is not in it and is not waited for: there was no room.
    pub is_behind: bool,
}

/// What the thread of the index is to do next.
#[derive(Debug)]
pub(crate) enum Task {
    /// To end, with what is noted written first.
    Stop,
    /// Somebody waits for this.
    Order(Reindex),
    /// Places changed, or there were too many of them.
    Changes(Vec<Place>),
    Walk,
    /// Keys were used; what has changed until then is to be there before.
    Uses(Vec<Place>, HashMap<Key, Timestamp>),
    /// Somebody waits for all uses to be written down beside the index.
    WriteUses,
    /// A session began, with this on the queue.
    Asked(Timestamp, Vec<Asked>),
    /// There is time to read pages.
    Read,
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each may be so by itself")]
struct State {
    places: HashMap<Key, Place>,
    /// Since when the oldest of them waits.
    since: Option<Instant>,
    uses: HashMap<Key, Timestamp>,
    used_since: Option<Instant>,
    /// There were too many changes to be noted.
    has_missed: bool,
    asked: Option<(Timestamp, Vec<Asked>)>,
    order: Option<Reindex>,
    /// The number of the last order that was given, of the last that was taken, and of the last that was
    /// carried out.
    ordered: u64,
    taken: u64,
    done: u64,
    /// Why the last could not be.
    fault: Option<Error>,
    /// As `ordered`, `taken` and `done`, of writing uses down, and whether the last could be.
    uses_ordered: u64,
    uses_taken: u64,
    uses_done: u64,
    are_uses_written: bool,
    /// Somebody waits for all changes.
    is_urgent: bool,
    /// Something that was taken is being worked on, …
    is_busy: bool,
    /// … and it is more than reading pages.
    is_applying: bool,
    is_stopping: bool,
    has_ended: bool,
    progress: Progress,
    faults: Vec<Error>,
}

impl State {
    fn take_places(&mut self) -> Vec<Place> {
        self.since = None;
        self.places.drain().map(|(_, place)| place).collect()
    }
}

/// Where those who change the spool, and those who ask, meet the thread of the index.
#[derive(Debug)]
pub(crate) struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

impl Default for Desk {
    fn default() -> Desk {
        // Until the thread asks for the first time what to do, it opens the index.
        let state = State { is_busy: true, is_applying: true, ..State::default() };
        Desk { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl Watcher for Desk {
    fn changed(&self, place: &Place) {
        let mut state = self.lock();
        if state.places.len() < MAX_PLACES {
            state.places.insert(place.key(), place.clone());
        } else if !state.places.contains_key(&place.key()) {
            state.has_missed = true;
        }
        let is_first = state.since.is_none();
        state.since.get_or_insert_with(Instant::now);
        drop(state);
        // The thread waits for the first one, and then for the time to be over.
        if is_first {
            self.changed.notify_all();
        }
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that what has this key was used.
    pub(crate) fn used(&self, key: Key, now: Timestamp) {
        let mut state = self.lock();
        if state.uses.len() < MAX_USES || state.uses.contains_key(&key) {
            let last = state.uses.entry(key).or_insert(now);
            *last = now.max(*last);
            let is_first = state.used_since.is_none();
            state.used_since.get_or_insert_with(Instant::now);
            drop(state);
            if is_first {
                self.changed.notify_all();
            }
        }
    }

    /// When what has this key was used, if that is not in the index yet.
    pub(crate) fn use_of(&self, key: &Key) -> Option<Timestamp> {
        self.lock().uses.get(key).copied()
    }

    /// Whether there is an index, and all that has changed until now is in it.
    pub(crate) fn is_level(&self) -> bool {
        let state = self.lock();
        let Progress { is_ready, walked, is_behind, .. } = state.progress;
        let is_waiting = !state.places.is_empty() || state.has_missed || state.is_applying;
        is_ready && walked.is_none() && !is_behind && !is_waiting && !state.is_stopping
    }

    /// Notes what was on the queue when a session began.
    pub(crate) fn keep_asked(&self, session: Timestamp, asked: Vec<Asked>) {
        self.lock().asked = Some((session, asked));
        self.changed.notify_all();
    }

    /// What is to be done next; waits until there is something. `can_read`: there are pages to be read.
    pub(crate) fn next(&self, can_read: bool) -> Task {
        let mut state = self.lock();
        loop {
            (state.is_busy, state.is_applying) = (true, true);
            state.progress.has_unread = can_read;
            let ends = state.is_stopping || state.is_urgent;
            let due = |since: Option<Instant>, wait: Duration| {
                since.is_some_and(|since| ends || since.elapsed() >= wait)
            };
            if due(state.since, GATHER) && !state.places.is_empty() {
                return Task::Changes(state.take_places());
            }
            let has_order = state.uses_taken < state.uses_ordered;
            let is_asked = (state.is_stopping || has_order) && !state.uses.is_empty();
            if due(state.used_since, GATHER_USES) || is_asked {
                state.used_since = None;
                // Of what comes back the use is told as soon as it is there.
                let places = state.take_places();
                return Task::Uses(places, std::mem::take(&mut state.uses));
            }
            if let Some((session, asked)) = state.asked.take() {
                return Task::Asked(session, asked);
            }
            if state.is_stopping {
                return Task::Stop;
            }
            if has_order {
                state.uses_taken = state.uses_ordered;
                return Task::WriteUses;
            }
            if std::mem::take(&mut state.has_missed) {
                return Task::Walk;
            }
            if let Some(order) = state.order.take() {
                state.taken = state.ordered;
                return Task::Order(order);
            }
            state.is_applying = false;
            if can_read {
                // Who waits for what has changed need not wait for what is read.
                self.changed.notify_all();
                return Task::Read;
            }
            state.is_busy = false;
            state.is_urgent = false;
            state.since = state.since.filter(|_| !state.places.is_empty());
            self.changed.notify_all();
            let left = |since: Option<Instant>, wait: Duration| {
                since.map(|since| wait.saturating_sub(since.elapsed()))
            };
            let waits = [left(state.since, GATHER), left(state.used_since, GATHER_USES)];
            state = match waits.into_iter().flatten().min() {
                Some(wait) => {
                    let woken = self.changed.wait_timeout(state, wait);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Whether something is to be done before more pages are read.
    pub(crate) fn is_called(&self) -> bool {
        let state = self.lock();
        state.is_stopping
            || state.order.is_some()
            || state.uses_taken < state.uses_ordered
            || state.has_missed
            || state.since.is_some_and(|since| state.is_urgent || since.elapsed() >= GATHER)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.lock().is_stopping
    }

    /// Tells how far it is.
    pub(crate) fn tell(&self, tell: impl FnOnce(&mut Progress)) {
        tell(&mut self.lock().progress);
        self.changed.notify_all();
    }

    pub(crate) fn progress(&self) -> Progress {
        let state = self.lock();
        Progress { waiting: state.places.len(), ..state.progress }
    }

    pub(crate) fn fail(&self, error: Error) {
        let mut state = self.lock();
        if state.faults.len() < MAX_FAULTS {
            state.faults.push(error);
        }
    }

    pub(crate) fn faults(&self) -> Vec<Error> {
        std::mem::take(&mut self.lock().faults)
    }

    /// The order that was taken was carried out, or could not be.
    pub(crate) fn done(&self, fault: Option<Error>) {
        let mut state = self.lock();
        (state.done, state.fault) = (state.taken, fault);
        drop(state);
        self.changed.notify_all();
    }

    /// The uses were written down, or could not be.
    pub(crate) fn uses_done(&self, are_written: bool) {
        let mut state = self.lock();
        (state.uses_done, state.are_uses_written) = (state.uses_taken, are_written);
        drop(state);
        self.changed.notify_all();
    }

    /// Has the uses written down, and waits for it, but no longer than that. False: they are not.
    pub(crate) fn write_uses(&self, patience: Duration) -> bool {
        let since = Instant::now();
        let mut state = self.lock();
        state.uses_ordered += 1;
        let mine = state.uses_ordered;
        self.changed.notify_all();
        while state.uses_done < mine {
            let left = patience.saturating_sub(since.elapsed());
            if state.has_ended || state.is_stopping || left.is_zero() {
                return false;
            }
            let woken = self.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.are_uses_written
    }

    /// The thread has ended.
    pub(crate) fn ended(&self) {
        self.lock().has_ended = true;
        self.changed.notify_all();
    }

    pub(crate) fn stop(&self) {
        self.lock().is_stopping = true;
        self.changed.notify_all();
    }

    /// Gives an order, and waits until it is carried out.
    pub(crate) fn order(&self, order: Reindex) -> Result<(), Error> {
        let mut state = self.lock();
        // What is asked for while another waits is done along with it, if that is no less.
        state.order = Some(if state.order == Some(Reindex::All) { Reindex::All } else { order });
        state.ordered += 1;
        let mine = state.ordered;
        self.changed.notify_all();
        while state.done < mine {
            if state.has_ended || state.is_stopping {
                return Err(Error::stopped());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.fault.take().map_or(Ok(()), Err)
    }

    /// Waits until all that has changed until now is in the index, and with `words` all that can be read.
    /// No longer than `patience`.
    pub(crate) fn settle(&self, words: bool, patience: Option<Duration>) -> Result<(), Error> {
        let (mut state, begun) = (self.lock(), Instant::now());
        loop {
            if state.has_ended {
                return Err(Error::stopped());
            }
            let is_still = state.progress.is_ready
                && state.places.is_empty()
                && !state.has_missed
                && state.order.is_none()
                && state.asked.is_none()
                && state.progress.walked.is_none()
                && !state.is_applying;
            let is_idle = !state.is_busy && state.places.is_empty() && state.order.is_none();
            if is_idle && !state.progress.is_ready {
                // It could not be made, and nobody is at it.
                return Err(state.faults.pop().unwrap_or_else(Error::not_ready));
            }
            if is_still && (!words || (!state.is_busy && !state.progress.has_unread)) {
                return Ok(());
            }
            if patience.is_some_and(|patience| begun.elapsed() >= patience) {
                return Ok(());
            }
            state.is_urgent = true;
            self.changed.notify_all();
            let woken = self.changed.wait_timeout(state, Duration::from_millis(50));
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
