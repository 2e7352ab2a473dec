//! Changes that are not in the index yet, reported by threads that must not wait.
//!
//! The number of recorded changes is limited. Beyond the limit, only the fact is recorded that
//! there are more, and a walk over the directories finds them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wwwoffle_spool::{ChangeListener, Key, Place, Timestamp};

use crate::documents::DocumentState;
use crate::error::{Error, IndexFault};
use crate::sessions::{MAX_SESSIONS, SessionRequest};

/// The maximum number of changed places that are recorded.
const MAX_PLACES: usize = 10_000;

/// The maximum number of uses that are recorded. Further uses are dropped.
const MAX_USES: usize = 20_000;

/// The maximum number of errors that are stored until a caller fetches them.
const MAX_FAULTS: usize = 16;

/// The time for which changes are collected for one commit, unless a caller waits for them. An
/// entry that then waits for its batch is collected once more, so a list is at most about a second
/// old.
const GATHER: Duration = Duration::from_millis(450);

/// The time for which uses are collected, unless a caller of [`WorkQueue::write_uses`] waits for
/// them.
const GATHER_USES: Duration = Duration::from_secs(20);

/// A request to update the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReindexScope {
    /// Rebuild the index from the files.
    All,
    /// Find changes made by other programs.
    Changed,
}

/// The state of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Whether the index can be queried.
    pub is_ready: bool,
    /// The number of entries so far, while the index is being built or the directories are walked.
    /// `None` at other times.
    pub walked: Option<u64>,
    /// The number of changes not yet applied.
    pub waiting: usize,
    /// Whether there are pages whose words are not indexed yet.
    pub has_unread: bool,
    /// Whether a change is neither in the index nor recorded, because the disk was full or failed.
    pub is_behind: bool,
}

/// The next task of the index thread.
#[derive(Debug)]
pub(crate) enum Task {
    /// Stop. Everything recorded has been written.
    Stop,
    /// Carry out a request, for which a caller waits.
    Order(ReindexScope),
    /// Apply the changes of these places.
    Changes(Vec<Place>),
    Walk,
    /// Apply the changes of these places, and then record these uses of keys.
    Uses(Vec<Place>, HashMap<Key, Timestamp>),
    /// Write all uses to the file of uses in the spool. A caller waits for this.
    WriteUses,
    /// Store the requests that were queued when a session began.
    SessionRequest(Timestamp, Vec<SessionRequest>),
    /// Read some pages whose words are not indexed yet.
    Read,
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is independent of the others")]
struct QueueState {
    changes: PendingChanges,
    uses: PendingUses,
    /// At most [`MAX_SESSIONS`]: older ones are dropped.
    asked: VecDeque<(Timestamp, Vec<SessionRequest>)>,
    orders: PendingOrders,
    /// Whether a caller waits for all changes.
    is_urgent: bool,
    /// Whether a task is running.
    is_busy: bool,
    /// Whether a task is running that is more than reading pages.
    is_applying: bool,
    document: DocumentState,
    is_stopping: bool,
    has_ended: bool,
    progress: Progress,
    faults: Vec<Error>,
}

#[derive(Debug, Default)]
struct PendingChanges {
    places: HashMap<Key, Place>,
    /// When the oldest of these changes was recorded.
    since: Option<Instant>,
    /// Whether there were too many changes to record.
    has_missed: bool,
}

#[derive(Debug, Default)]
struct PendingUses {
    times: HashMap<Key, Timestamp>,
    /// When the oldest of these uses was recorded.
    since: Option<Instant>,
    /// The numbers of the requests to write these uses.
    tickets: OrderNumbers,
    /// Whether the last attempt to write the uses succeeded.
    are_written: bool,
}

#[derive(Debug, Default)]
struct PendingOrders {
    /// The request that has not been started.
    next: Option<ReindexScope>,
    tickets: OrderNumbers,
    /// Why the last request failed. `None` if it succeeded.
    fault: Option<Error>,
}

/// Sequence numbers of the last request that was made, the last that was started, and the last that
/// was finished.
#[derive(Debug, Default)]
struct OrderNumbers {
    ordered: u64,
    taken: u64,
    done: u64,
}

impl QueueState {
    /// Whether a caller waits for the thread, or it must stop.
    fn is_awaited(&self) -> bool {
        self.is_urgent
            || self.is_stopping
            || self.orders.next.is_some()
            || self.uses.tickets.taken < self.uses.tickets.ordered
    }

    fn take_places(&mut self) -> Vec<Place> {
        self.changes.since = None;
        self.changes.places.drain().map(|(_, place)| place).collect()
    }
}

/// The state that the index thread, the writers of the spool and the callers share.
#[derive(Debug)]
pub(crate) struct WorkQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

impl Default for WorkQueue {
    fn default() -> WorkQueue {
        // Before it asks for its first task, the thread opens the index, so it counts as busy.
        let state = QueueState { is_busy: true, is_applying: true, ..QueueState::default() };
        WorkQueue { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl ChangeListener for WorkQueue {
    fn changed(&self, place: &Place) {
        let mut state = self.lock();
        if state.changes.places.len() < MAX_PLACES {
            state.changes.places.insert(place.key(), place.clone());
        } else if !state.changes.places.contains_key(&place.key()) {
            state.changes.has_missed = true;
        }
        let is_first = state.changes.since.is_none();
        state.changes.since.get_or_insert_with(Instant::now);
        drop(state);
        // The thread waits for the first change, and then for the end of the collection period.
        if is_first {
            self.changed.notify_all();
        }
    }
}

impl WorkQueue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a use of this key.
    pub(crate) fn record_use(&self, key: Key, now: Timestamp) {
        let mut state = self.lock();
        if state.uses.times.len() < MAX_USES || state.uses.times.contains_key(&key) {
            let last = state.uses.times.entry(key).or_insert(now);
            *last = now.max(*last);
            let is_first = state.uses.since.is_none();
            state.uses.since.get_or_insert_with(Instant::now);
            drop(state);
            if is_first {
                self.changed.notify_all();
            }
        }
    }

    /// When this key was last used, if that use is not in the index yet.
    pub(crate) fn use_of(&self, key: &Key) -> Option<Timestamp> {
        self.lock().uses.times.get(key).copied()
    }

    /// Whether the index exists and contains all changes so far.
    pub(crate) fn is_level(&self) -> bool {
        let state = self.lock();
        let Progress { is_ready, walked, is_behind, .. } = state.progress;
        let is_waiting =
            !state.changes.places.is_empty() || state.changes.has_missed || state.is_applying;
        is_ready && walked.is_none() && !is_behind && !is_waiting && !state.is_stopping
    }

    /// Records the queued requests at the start of a session.
    pub(crate) fn record_session_requests(&self, session: Timestamp, asked: Vec<SessionRequest>) {
        let mut state = self.lock();
        if state.asked.len() >= MAX_SESSIONS {
            state.asked.pop_front();
        }
        state.asked.push_back((session, asked));
        drop(state);
        self.changed.notify_all();
    }

    /// Waits for the next task. `can_read` tells whether there are pages whose words are not
    /// indexed yet.
    pub(crate) fn next(&self, can_read: bool) -> Task {
        let mut state = self.lock();
        loop {
            (state.is_busy, state.is_applying) = (true, true);
            state.progress.has_unread = can_read || state.document != DocumentState::None;
            let ends = state.is_stopping || state.is_urgent;
            let due = |since: Option<Instant>, wait: Duration| {
                since.is_some_and(|since| ends || since.elapsed() >= wait)
            };
            if due(state.changes.since, GATHER) && !state.changes.places.is_empty() {
                return Task::Changes(state.take_places());
            }
            let has_order = state.uses.tickets.taken < state.uses.tickets.ordered;
            let is_asked = (state.is_stopping || has_order) && !state.uses.times.is_empty();
            if due(state.uses.since, GATHER_USES) || is_asked {
                state.uses.since = None;
                // A restored entry is used at once, so its change must be applied first.
                let places = state.take_places();
                return Task::Uses(places, std::mem::take(&mut state.uses.times));
            }
            if let Some((session, asked)) = state.asked.pop_front() {
                return Task::SessionRequest(session, asked);
            }
            if state.is_stopping {
                return Task::Stop;
            }
            if has_order {
                state.uses.tickets.taken = state.uses.tickets.ordered;
                return Task::WriteUses;
            }
            if std::mem::take(&mut state.changes.has_missed) {
                return Task::Walk;
            }
            if let Some(order) = state.orders.next.take() {
                state.orders.tickets.taken = state.orders.tickets.ordered;
                return Task::Order(order);
            }
            state.is_applying = false;
            if can_read || state.document == DocumentState::Read {
                state.document.forget_read();
                // Callers waiting for changes need not wait for pages to be read.
                state.is_urgent = false;
                self.changed.notify_all();
                return Task::Read;
            }
            state.is_busy = false;
            state.is_urgent = false;
            state.changes.since = state.changes.since.filter(|_| !state.changes.places.is_empty());
            self.changed.notify_all();
            let left = |since: Option<Instant>, wait: Duration| {
                since.map(|since| wait.saturating_sub(since.elapsed()))
            };
            let waits = [left(state.changes.since, GATHER), left(state.uses.since, GATHER_USES)];
            state = match waits.into_iter().flatten().min() {
                Some(wait) => {
                    let woken = self.changed.wait_timeout(state, wait);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    pub(crate) fn set_document(&self, document: DocumentState) {
        self.lock().document = document;
        self.changed.notify_all();
    }

    pub(crate) fn is_document_running(&self) -> bool {
        self.lock().document == DocumentState::Running
    }

    /// Whether a caller waits for the thread, or it must stop.
    pub(crate) fn is_awaited(&self) -> bool {
        self.lock().is_awaited()
    }

    /// Waits for `time`, or until a caller waits for the thread.
    pub(crate) fn rest(&self, time: Duration) {
        let mut state = self.lock();
        state.is_applying = false;
        self.changed.notify_all();
        drop(self.changed.wait_timeout_while(state, time, |state| !state.is_awaited()));
    }

    /// Whether another task is due, so that reading pages must be interrupted.
    pub(crate) fn is_called(&self) -> bool {
        let state = self.lock();
        state.is_stopping
            || state.orders.next.is_some()
            || state.uses.tickets.taken < state.uses.tickets.ordered
            || state.changes.has_missed
            || state.changes.since.is_some_and(|since| state.is_urgent || since.elapsed() >= GATHER)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.lock().is_stopping
    }

    /// Updates the progress.
    pub(crate) fn update(&self, tell: impl FnOnce(&mut Progress)) {
        tell(&mut self.lock().progress);
        self.changed.notify_all();
    }

    pub(crate) fn progress(&self) -> Progress {
        let state = self.lock();
        Progress { waiting: state.changes.places.len(), ..state.progress }
    }

    pub(crate) fn record_error(&self, error: Error) {
        let mut state = self.lock();
        if state.faults.len() < MAX_FAULTS {
            state.faults.push(error);
        }
    }

    pub(crate) fn faults(&self) -> Vec<Error> {
        std::mem::take(&mut self.lock().faults)
    }

    /// Reports that the current request was carried out or failed.
    pub(crate) fn finish_request(&self, fault: Option<Error>) {
        let mut state = self.lock();
        (state.orders.tickets.done, state.orders.fault) = (state.orders.tickets.taken, fault);
        drop(state);
        self.changed.notify_all();
    }

    /// Reports that the uses were written or could not be.
    pub(crate) fn uses_done(&self, are_written: bool) {
        let mut state = self.lock();
        (state.uses.tickets.done, state.uses.are_written) = (state.uses.tickets.taken, are_written);
        drop(state);
        self.changed.notify_all();
    }

    /// Requests that the uses are written, and waits at most for `patience`. Returns whether they
    /// were written.
    pub(crate) fn write_uses(&self, patience: Duration) -> bool {
        let since = Instant::now();
        let mut state = self.lock();
        state.uses.tickets.ordered += 1;
        let mine = state.uses.tickets.ordered;
        self.changed.notify_all();
        while state.uses.tickets.done < mine {
            let left = patience.saturating_sub(since.elapsed());
            if state.has_ended || state.is_stopping || left.is_zero() {
                return false;
            }
            let woken = self.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.uses.are_written
    }

    /// Reports that the thread has ended.
    pub(crate) fn record_end(&self) {
        self.lock().has_ended = true;
        self.changed.notify_all();
    }

    pub(crate) fn stop(&self) {
        self.lock().is_stopping = true;
        self.changed.notify_all();
    }

    /// Makes a request and waits until it is carried out.
    pub(crate) fn order(&self, order: ReindexScope) -> Result<(), Error> {
        let mut state = self.lock();
        // Requests that are made while another one waits are combined with it. The combined request
        // does the larger task.
        state.orders.next = Some(if state.orders.next == Some(ReindexScope::All) {
            ReindexScope::All
        } else {
            order
        });
        state.orders.tickets.ordered += 1;
        let mine = state.orders.tickets.ordered;
        self.changed.notify_all();
        while state.orders.tickets.done < mine {
            if state.has_ended || state.is_stopping {
                return Err(IndexFault::Stopped.into());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.orders.fault.take().map_or(Ok(()), Err)
    }

    /// Waits until all changes so far are in the index and, with `words`, all pages are read. After
    /// `patience` it returns `Ok`, even if that is not the case.
    pub(crate) fn wait_until_current(
        &self,
        words: bool,
        patience: Option<Duration>,
    ) -> Result<(), Error> {
        let (mut state, begun) = (self.lock(), Instant::now());
        loop {
            if state.has_ended {
                return Err(IndexFault::Stopped.into());
            }
            let is_still = state.progress.is_ready
                && state.changes.places.is_empty()
                && !state.changes.has_missed
                && state.orders.next.is_none()
                && state.asked.is_empty()
                && state.progress.walked.is_none()
                && !state.is_applying;
            let is_idle =
                !state.is_busy && state.changes.places.is_empty() && state.orders.next.is_none();
            if is_idle && !state.progress.is_ready {
                // Building the index failed, and no attempt is running.
                return Err(state.faults.pop().unwrap_or_else(|| IndexFault::NotReady.into()));
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

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn the_thread_rests_unless_a_caller_waits() {
        let work = WorkQueue::default();
        work.update(|progress| progress.is_ready = true);
        let (begun, rest) = (Instant::now(), Duration::from_millis(20));
        work.rest(rest);
        assert!(begun.elapsed() >= rest);
        // This caller does not wait for words, and no change is being applied.
        work.wait_until_current(false, None).unwrap();
        std::thread::scope(|scope| {
            let caller = scope.spawn(|| work.wait_until_current(true, Some(LONG)));
            work.rest(LONG);
            // Pages are read, then there is nothing more to do.
            assert!(matches!(work.next(true), Task::Read));
            scope.spawn(|| assert!(matches!(work.next(false), Task::Stop)));
            caller.join().unwrap().unwrap();
            work.stop();
        });
        work.rest(LONG);
        assert!(begun.elapsed() < LONG);
    }

    #[test]
    fn reading_ends_the_haste_for_a_caller_that_waited_for_changes() {
        let work = WorkQueue::default();
        work.lock().is_urgent = true;
        assert!(matches!(work.next(true), Task::Read));
        assert!(!work.is_awaited());
    }
}
