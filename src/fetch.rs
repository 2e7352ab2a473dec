//! Fetches the queue of outgoing requests whenever the mode allows.
//!
//! One task (`work`) chooses the due requests. `schedule`, which learns of each change of the
//! queue, knows which are due; `windows` and `budget` limit them, and `held` reports why others
//! wait. The task starts another task for each chosen request (`one`). That task makes an attempt
//! (`attempt`), classifies its result (`verdict`), and records it. Before the request leaves the
//! queue, the requests that its response leads to are queued (`follow`), and the page may be opened
//! in a browser (`browser`). A request leaves the queue only after its response is stored, so a
//! crash costs at most a second fetch. A form stays in the queue as failed while it is being sent,
//! so that a crash never sends it twice. [`plan`] estimates the downloads.

mod attempt;
mod browser;
pub mod chromium;
pub(crate) use self::browser::remove_leftovers;
mod budget;
pub mod capture;
pub mod context;
mod follow;
pub mod gauge;
pub mod hold;
mod last;
pub mod monitor;
mod one;
pub mod plan;
pub mod recurse;
mod redirect;
mod rests;
mod schedule;
#[cfg(feature = "tier")]
pub mod shared_queue;
mod successor;
mod verdict;
mod want;
mod windows;
mod work;

use crate::base::{clock, shown};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Notify, Semaphore, broadcast};
use tokio::time::Instant;
use tracing::error;
use wwwoffle_spool::{Error, Outgoing, OutgoingSummary, Place, Queue, QueueChange, RequestState};
use wwwoffle_url::Key;

pub use last::LastFetch;
pub use want::{FormDraft, WantError, WantOutcome, request_page, send_form};
pub(crate) use want::{put, request};
pub use work::begin;

use crate::base::error_chain::error_chain;
use crate::base::owner::Owner;
use crate::fetch::context::FetchContext;
use crate::proxy::context::QueueWorker;
use crate::proxy::download::Meter;
use crate::storage::store::timestamp;
use budget::{Budget, ExhaustedBudget};
use gauge::{Gauge, Tally};
use last::LastFetches;
use recurse::ask_robots::RobotsCache;
use recurse::runs::Runs;
use schedule::{FetchSchedule, Rests};
use wwwoffle_api::{Event, TotalProgress};

/// The number of events that a slow listener may lag behind before it misses some.
const MAX_EVENTS_BEHIND: usize = 1024;

/// The owner of requests whose place has none: this machine.
const LOCAL: &str = "local";

/// The state of fetching, apart from the queue itself.
#[derive(Debug)]
pub struct Fetcher {
    schedule: Arc<Mutex<FetchSchedule>>,
    budget: Mutex<Budget>,
    tally: Mutex<Tally>,
    last: Mutex<LastFetches>,
    news: Notify,
    /// Notified of each change of the queue.
    changes: Arc<Notify>,
    events: broadcast::Sender<Event>,
    runs: Runs,
    robots: RobotsCache,
    browsers: browser::BrowserTurns,
    /// Limits the number of simultaneous plans.
    plans: Semaphore,
    /// Limits the number of pages that are checked at the same time.
    checks: Arc<Semaphore>,
}

impl Default for Fetcher {
    /// A fetcher without a queue.
    fn default() -> Self {
        Self {
            schedule: Arc::default(),
            budget: Mutex::default(),
            tally: Mutex::default(),
            last: Mutex::default(),
            news: Notify::new(),
            changes: Arc::default(),
            events: broadcast::Sender::new(MAX_EVENTS_BEHIND),
            runs: Runs::default(),
            robots: RobotsCache::default(),
            browsers: browser::BrowserTurns::default(),
            plans: Semaphore::new(plan::MAX_PLANS),
            checks: Arc::new(Semaphore::new(recurse::complete::AT_ONCE)),
        }
    }
}

impl Fetcher {
    /// Fetches this queue, and observes its changes from now on.
    pub fn watch(&self, queue: &Queue) {
        let (schedule, changes) = (Arc::clone(&self.schedule), Arc::clone(&self.changes));
        queue.observe(Box::new(move |change| {
            match change {
                QueueChange::Is(request) => lock(&schedule).is(request),
                QueueChange::Gone(key) => lock(&schedule).remove_request(key),
            }
            changes.notify_one();
        }));
    }

    /// Waits for a change of the queue. Dropping the future has no effect.
    #[cfg(feature = "tier")]
    async fn queue_changed(&self) {
        self.changes.notified().await;
    }

    /// Wakes the worker, because something was added or changed.
    pub fn wake(&self) {
        self.news.notify_one();
    }

    /// Whether the worker has a wake-up pending.
    #[cfg(test)]
    pub(crate) fn is_woken(&self) -> bool {
        futures_util::FutureExt::now_or_never(self.news.notified()).is_some()
    }

    /// Starts a fetch of the queue. Its budget is the configured one, or `budget` bytes.
    pub fn begin(&self, budget: Option<u64>) {
        lock(&self.budget).start_fetch(budget);
        *lock(&self.tally) = Tally::default();
        lock(&self.last).start_fetch(timestamp(clock::now()));
        self.wake();
    }

    /// The progress of the queue since the fetch began, with `left` requests left: of the requests
    /// of `viewer`, or of all requests if that is `None`. The time left is estimated with `gauge`,
    /// only if the mode allows fetching now (`moves`).
    #[must_use]
    pub fn queue_progress(
        &self,
        viewer: Option<&Owner>,
        left: u64,
        moves: bool,
        gauge: &mut Gauge,
    ) -> TotalProgress {
        let (bytes, spent) = {
            let mut budget = lock(&self.budget);
            (budget.of_fetch(), budget.spent())
        };
        let tally = lock(&self.tally);
        let counted = match viewer {
            Some(owner) => tally.progress_of(&owner.to_string(), left),
            None => tally.progress(bytes, left),
        };
        drop(tally);
        gauge.measure(counted, moves && spent.is_none(), Instant::now())
    }

    /// The result of the last fetch of the queue that did anything.
    #[must_use]
    pub fn last(&self) -> Option<LastFetch> {
        lock(&self.last).last_result()
    }

    /// Stops fetching the queue until the next start. Received bytes are preserved.
    pub fn stop_fetching(&self) {
        // Treats the budget of this fetch as spent.
        lock(&self.budget).start_fetch(Some(0));
        self.wake();
    }

    /// The budget that is spent, if any.
    fn spent_budget(&self) -> Option<ExhaustedBudget> {
        lock(&self.budget).spent()
    }

    /// The times until which the host of this request must rest.
    fn host_rests(&self, key: &Key) -> Rests {
        lock(&self.schedule).host_rests(key)
    }

    /// Makes recursive fetches and monitored pages wait at least `distance` between two requests to
    /// `host`, whatever the configuration says. The delay applies until no requests to the host are
    /// left. `host` includes the port, as in a canonical URL.
    fn set_minimum_delay(&self, host: &str, distance: Duration) {
        lock(&self.schedule).set_minimum_delay(host, distance, timestamp(clock::now()));
    }

    /// Whether this request is being fetched.
    #[must_use]
    pub fn is_active(&self, key: &Key) -> bool {
        lock(&self.schedule).is_active(key)
    }

    /// The number of requests being fetched.
    #[must_use]
    pub fn active_count(&self) -> usize {
        lock(&self.schedule).active()
    }

    /// The recursive fetches.
    #[must_use]
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// Subscribes to the events from now on.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Sends an event about a request of `owner`, the owner of its place, and counts its result.
    fn send_event(&self, owner: Option<&str>, event: Event) {
        let is_done = matches!(event, Event::Done { .. });
        if is_done || matches!(event, Event::Failed { .. }) {
            lock(&self.tally).count(owner.unwrap_or(LOCAL), is_done);
            lock(&self.last).count(is_done, timestamp(clock::now()));
        }
        // There may be no listeners.
        let _nobody_listens = self.events.send(event);
    }

    /// The meter that counts the downloads for requests of `owner`, the owner of their place.
    fn meter(&self, owner: Option<&str>) -> Arc<Meter> {
        let whole = lock(&self.budget).meter();
        lock(&self.tally).meter(owner.unwrap_or(LOCAL), whole)
    }

    /// Allows this request now, because the user retries it, whatever its origin has asked for.
    fn open(&self, key: &Key) {
        lock(&self.schedule).open(key);
    }

    /// Frees the slot of this request for others, because the request sends nothing more to its
    /// origin.
    fn step_aside(&self, key: &Key) {
        if lock(&self.schedule).step_aside(key) {
            self.wake();
        }
    }

    /// Records that the origin of this request asked to wait until the time `until`.
    fn close(&self, key: &Key, until: Timestamp) {
        lock(&self.schedule).close(key, until);
    }
}

impl QueueWorker for Fetcher {
    fn wake(&self) {
        Fetcher::wake(self);
    }

    fn is_active(&self, key: &Key) -> bool {
        Fetcher::is_active(self, key)
    }
}

/// Each change under these locks is one call, so a panic leaves nothing half-done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes failed and delayed requests due now: those of `only`, or all, for which `is_theirs`
/// returns true. A request larger than `ask-above` is included only if `only` lists it. Returns the
/// number of requests that were made due.
///
/// # Errors
///
/// If the disk fails. The requests that were changed before the failure are due.
pub async fn retry(
    context: &Arc<FetchContext>,
    only: Option<&[Key]>,
    is_theirs: impl Fn(&Place) -> bool,
) -> Result<u64, Error> {
    let queue = context.storage.store.spool().queue();
    let is_meant = only.is_some();
    let rests = move |state: &RequestState, not_before: Option<Timestamp>| match state {
        RequestState::Waiting => not_before.is_some(),
        RequestState::Failed { .. } => true,
        RequestState::Asking { .. } => is_meant,
    };
    let may_go = |summary: &OutgoingSummary| {
        rests(&summary.fetching.state, summary.fetching.not_before) && is_theirs(&summary.place)
    };
    let mut chosen = Vec::new();
    match only {
        Some(only) => {
            let mut before = HashSet::new();
            let once = only.iter().filter(|key| before.insert(**key));
            chosen
                .extend(once.filter(|key| queue.summary(key).is_some_and(|known| may_go(&known))));
        }
        None => queue.visit(|summary| {
            if may_go(summary) {
                chosen.push(summary.place.key());
            }
        }),
    }
    let mut count = 0;
    for key in chosen.into_iter().filter(|key| !context.fetcher.is_active(key)) {
        context.fetcher.open(&key);
        let own = Arc::clone(context);
        // The request may be starting now. A form that is being sent has the state failed, so
        // without this check it would be sent twice.
        let wake = move |known: Outgoing| {
            let may = !own.fetcher.is_active(&key)
                && rests(&known.summary.fetching.state, known.summary.fetching.not_before);
            may.then(|| want::retry_with_consent(known))
        };
        let woken = context.storage.store.run(move |spool| spool.queue().change_if(&key, wake));
        count += u64::from(woken.await?);
    }
    context.fetcher.wake();
    Ok(count)
}

/// Why a request is not retried automatically, in words for the user, and the status of its last
/// response, if any; `None` for a waiting request.
#[must_use]
pub fn failure_reason(state: &RequestState) -> Option<(String, Option<u16>)> {
    match state {
        RequestState::Waiting => None,
        RequestState::Failed { reason, status } => Some((reason.clone(), *status)),
        RequestState::Asking { bytes } => {
            let size = bytes.map_or_else(String::new, |size| format!(" ({})", shown::bytes(size)));
            let why = format!("it is large{size}, so it is fetched only if you confirm");
            Some((why + ": retry it to consent", None))
        }
    }
}

/// Logs that the result of a request cannot be recorded in the spool.
fn spool_failed(error: &Error) {
    error!(error = error_chain(error), "the queue cannot be changed");
}

#[cfg(test)]
mod tests;
