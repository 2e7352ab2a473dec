//! The outgoing queue, worked off whenever the mode allows.
//!
//! One task (`work`) chooses what is due (`schedule`, which learns each change of the queue) and may
//! come (`windows`, `budget`; what keeps the others is told by `held`), and starts a task for each request it chose (`one`). That makes an
//! attempt (`attempt`), judges it (`verdict`), and records what came of it; what a kept answer leads to
//! (`follow`) is on the queue before the request is off it; a page may be opened in a browser
//! before that (`browser`). A request leaves the queue only after its answer is kept, so a
//! crash at any moment costs at worst a second fetch; a form stays on it as failed while it is sent,
//! so that a crash sends none twice. What all of that would come to is told by [`plan`].

mod attempt;
mod browser;
pub mod chromium;
pub(crate) use self::browser::remove_leftovers;
mod budget;
pub mod context;
mod follow;
pub mod gauge;
pub mod held;
mod last;
pub mod monitor;
mod one;
pub mod plan;
pub mod recurse;
mod redirect;
mod rests;
mod schedule;
mod successor;
mod verdict;
mod want;
mod windows;
mod work;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Notify, broadcast};
use tokio::time::Instant;
use tracing::error;
use wwwoffle_spool::{Change, Error, Outgoing, OutgoingSummary, Place, Queue, RequestState};
use wwwoffle_url::Key;

pub use last::LastFetch;
pub use want::{WantError, Wanted, want};
pub(crate) use want::{put, request};
pub use work::begin;

use crate::api::{Event, Held, Whole};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::fetch::context::FetchContext;
use crate::proxy::context::QueueWorker;
use crate::proxy::download::Meter;
use crate::storage::store::timestamp;
use budget::{Budget, Spent};
use gauge::Tally;
use last::Last;
use recurse::ask_robots::Known;
use recurse::runs::Runs;
use schedule::{Rests, Schedule};

/// How many events a slow listener may be behind before it misses some.
const MAX_EVENTS_BEHIND: usize = 1024;

/// The state of the fetching, apart from the queue itself.
#[derive(Debug)]
pub struct Fetcher {
    schedule: Arc<Mutex<Schedule>>,
    budget: Mutex<Budget>,
    tally: Mutex<Tally>,
    last: Mutex<Last>,
    news: Notify,
    events: broadcast::Sender<Event>,
    runs: Runs,
    robots: Known,
    browsers: browser::Turns,
    plans: plan::Turns,
    complete: recurse::complete::Turns,
}

impl Default for Fetcher {
    fn default() -> Self {
        Self::new()
    }
}

impl Fetcher {
    /// Nothing is being fetched, and no queue is known.
    #[must_use]
    pub fn new() -> Self {
        Self {
            schedule: Arc::default(),
            budget: Mutex::default(),
            tally: Mutex::default(),
            last: Mutex::default(),
            news: Notify::new(),
            events: broadcast::Sender::new(MAX_EVENTS_BEHIND),
            runs: Runs::default(),
            robots: Known::default(),
            browsers: browser::Turns::default(),
            plans: plan::Turns::default(),
            complete: recurse::complete::Turns::default(),
        }
    }

    /// Works off this queue, whose changes it learns from then on.
    pub fn watch(&self, queue: &Queue) {
        let schedule = Arc::clone(&self.schedule);
        queue.observe(Box::new(move |change| match change {
            Change::Is(request) => lock(&schedule).is(request),
            Change::Gone(key) => lock(&schedule).gone(key),
        }));
    }

    /// Makes the worker look at the queue now, because something was added or changed.
    pub fn nudge(&self) {
        self.news.notify_one();
    }

    /// Whether it has been made to look since it did.
    #[cfg(test)]
    pub(crate) fn is_nudged(&self) -> bool {
        futures_util::FutureExt::now_or_never(self.news.notified()).is_some()
    }

    /// Begins to work the queue off: the budget for each time is whole again, or is `budget` bytes this
    /// time.
    pub fn begin(&self, budget: Option<u64>) {
        lock(&self.budget).begins(budget);
        *lock(&self.tally) = Tally::default();
        lock(&self.last).begins(timestamp(clock::now()));
        self.nudge();
    }

    /// How far the queue has come since it was last begun to be worked off, with so many requests `left`.
    /// How long they take is foretold only where all of them may go.
    #[must_use]
    pub fn whole(&self, left: u64, moves: bool) -> Whole {
        let (bytes, spent) = {
            let mut budget = lock(&self.budget);
            (budget.of_fetch(), budget.spent())
        };
        lock(&self.tally).whole(bytes, left, moves && spent.is_none(), Instant::now())
    }

    /// What came of the queue the last time that something did.
    #[must_use]
    pub fn last(&self) -> Option<LastFetch> {
        lock(&self.last).told()
    }

    /// Stops working the queue off, until it is begun again. What has come is kept.
    pub fn hold(&self) {
        // The budget of this time is as good as spent.
        lock(&self.budget).begins(Some(0));
        self.nudge();
    }

    /// Which budget is spent, if one is.
    fn spent(&self) -> Option<Spent> {
        lock(&self.budget).spent()
    }

    /// For how long the host of this request rests.
    fn rests(&self, key: &Key) -> Rests {
        lock(&self.schedule).rests(key)
    }

    /// Recursive fetches and schedules wait at least so long between two requests to `host` (with its
    /// port, as in a canonical URL) while any are there, whatever the configuration says.
    fn keep_distance(&self, host: &str, distance: Duration) {
        lock(&self.schedule).keep_distance(host, distance, timestamp(clock::now()));
    }

    /// Whether this request is on its way.
    #[must_use]
    pub fn is_active(&self, key: &Key) -> bool {
        lock(&self.schedule).is_active(key)
    }

    /// How many requests are on their way.
    #[must_use]
    pub fn active_count(&self) -> usize {
        lock(&self.schedule).active()
    }

    /// The recursive fetches.
    #[must_use]
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// Who may make a plan.
    fn plans(&self) -> &plan::Turns {
        &self.plans
    }

    /// What origins ask of programs.
    fn robots(&self) -> &Known {
        &self.robots
    }

    /// The news of the fetching, from now on.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    fn tell(&self, event: Event) {
        match &event {
            Event::Done { .. } => {
                lock(&self.tally).done();
                lock(&self.last).count(true, timestamp(clock::now()));
            }
            Event::Failed { .. } => {
                lock(&self.tally).failed();
                lock(&self.last).count(false, timestamp(clock::now()));
            }
            _ => {}
        }
        // Nobody needs to listen.
        let _nobody_listens = self.events.send(event);
    }

    /// What downloads for the queue are counted with.
    fn meter(&self) -> Arc<Meter> {
        lock(&self.budget).meter()
    }

    /// A person wants this request tried now, whatever its origin has said.
    fn open(&self, key: &Key) {
        lock(&self.schedule).open(key);
    }

    /// This request asks its origin for nothing more: others have its place.
    fn step_aside(&self, key: &Key) {
        if lock(&self.schedule).step_aside(key) {
            self.nudge();
        }
    }

    /// The origin of this request wants to be left alone until then.
    fn close(&self, key: &Key, until: Timestamp) {
        lock(&self.schedule).close(key, until);
    }
}

impl QueueWorker for Fetcher {
    fn nudge(&self) {
        Fetcher::nudge(self);
    }

    fn is_active(&self, key: &Key) -> bool {
        Fetcher::is_active(self, key)
    }
}

/// Each change under these locks is one call.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes failed and delayed requests due now: those of `only`, or all, of those that `is_theirs` says
/// may be touched. One that is too long to be fetched unasked may come then, if it is one of `only`.
/// Returns how many.
///
/// # Errors
///
/// When the disk fails; those before it are due.
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
        rests(&summary.state, summary.not_before) && is_theirs(&summary.place)
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
        // It may begin just now; and a form that is on its way rests: to wake it is to send it twice.
        let wake = move |known: Outgoing| {
            let may = !own.fetcher.is_active(&key) && rests(&known.state, known.not_before);
            may.then(|| want::awake(known))
        };
        let woken = context.storage.store.run(move |spool| spool.queue().change_if(&key, wake));
        count += u64::from(woken.await?);
    }
    context.fetcher.nudge();
    Ok(count)
}

/// Why a request is not tried again of itself, in words for a person, and the status of the answer it
/// got, if it got one; `None` for one that waits.
#[must_use]
pub fn why_it_rests(state: &RequestState) -> Option<(String, Option<u16>)> {
    match state {
        RequestState::Waiting => None,
        RequestState::Failed { reason, status } => Some((reason.clone(), *status)),
        RequestState::Asking { bytes } => {
            let asks = Held::Asks { bytes: *bytes }.in_words(|time| time.to_string());
            Some((format!("it {asks}: retry it to fetch it all the same"), None))
        }
    }
}

/// Says once in the log that the spool cannot record what became of a request.
fn spool_failed(error: &Error) {
    error!(error = error_chain(error), "the outgoing queue cannot be changed");
}

#[cfg(test)]
mod tests;
