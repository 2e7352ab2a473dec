//! The outgoing queue, worked off whenever the mode allows.
//!
//! One task ([`work`]) looks at the queue, chooses what is due (`schedule`) and starts a task for
//! each request it chose (`one`). A request leaves the queue only after its answer is kept, so a
//! crash at any moment costs at worst a second fetch; a form stays on it as failed while it is sent,
//! so that a crash sends none twice.

mod one;
mod redirect;
mod schedule;
mod want;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, broadcast};
use tracing::error;
use wwwoffle_spool::{Error, Place, RequestState};
use wwwoffle_url::Key;

pub(crate) use redirect::{location, shown};
pub use want::{WantError, Wanted, want};

use crate::api::Event;
use crate::clock;
use crate::daemon::Daemon;
use crate::error_chain::error_chain;
use crate::hooks::Hook;
use crate::store::timestamp;
use schedule::{Limits, Waiting, choose};

/// How many events a slow listener may be behind before it misses some.
const MAX_EVENTS_BEHIND: usize = 1024;

/// How long the queue is left alone when nothing on it is due and no news comes.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// The state of the fetching, apart from the queue itself.
#[derive(Debug)]
pub struct Fetcher {
    active: Mutex<HashMap<Key, String>>,
    news: Notify,
    events: broadcast::Sender<Event>,
}

impl Default for Fetcher {
    fn default() -> Self {
        Self::new()
    }
}

impl Fetcher {
    /// Nothing is being fetched.
    #[must_use]
    pub fn new() -> Self {
        Self {
            active: Mutex::default(),
            news: Notify::new(),
            events: broadcast::Sender::new(MAX_EVENTS_BEHIND),
        }
    }

    /// Makes the worker look at the queue now: something was added or changed.
    pub fn nudge(&self) {
        self.news.notify_one();
    }

    /// Whether this request is on its way.
    #[must_use]
    pub fn is_active(&self, key: &Key) -> bool {
        self.lock().contains_key(key)
    }

    /// How many requests are on their way.
    #[must_use]
    pub fn active_count(&self) -> usize {
        self.lock().len()
    }

    /// The news of the fetching, from now on.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    fn tell(&self, event: Event) {
        // Nobody needs to listen.
        let _nobody_listens = self.events.send(event);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, String>> {
        // Each change of the map is one call.
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is on its way, for as long as this lives.
struct Active {
    daemon: Arc<Daemon>,
    key: Key,
}

impl Active {
    fn enter(daemon: &Arc<Daemon>, key: Key, host: String) -> Self {
        daemon.fetcher.lock().insert(key, host);
        Self { daemon: Arc::clone(daemon), key }
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.daemon.fetcher.lock().remove(&self.key);
        self.daemon.fetcher.nudge();
    }
}

/// Works the queue off until the daemon stops. One task of each daemon.
pub async fn work(daemon: Arc<Daemon>) {
    let mut mode = daemon.mode.watch();
    let mut is_fetching = false;
    loop {
        let may_dial = mode.borrow_and_update().may_dial();
        let pause = if may_dial { start_due(&daemon) } else { LOOK_AGAIN };
        if (daemon.fetcher.active_count() > 0) != is_fetching {
            is_fetching = !is_fetching;
            daemon.happened(if is_fetching { Hook::FetchStart } else { Hook::FetchStop });
        }
        tokio::select! {
            () = daemon.tasks.stopping() => return,
            () = daemon.fetcher.news.notified() => {}
            // The switch is in the daemon, so the mode never ends.
            _changed = mode.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Starts what is due and fits; returns how long nothing more will be due.
fn start_due(daemon: &Arc<Daemon>) -> Duration {
    let options = &daemon.config().fetch_options;
    let limits = Limits { per_host: options.per_host.get(), at_once: options.at_once.get() };
    let now = timestamp(clock::now());
    let active = daemon.fetcher.lock().clone();
    let mut waiting = Vec::new();
    daemon.store.spool().queue().visit(|summary| {
        if summary.state == RequestState::Waiting {
            waiting.push(Waiting::of(summary));
        }
    });
    let plan = choose(waiting, &active, limits, now);
    for (key, host) in plan.start {
        let active = Active::enter(daemon, key, host);
        let fetcher = Arc::clone(daemon);
        daemon.tasks.spawn(async move {
            one::fetch(&fetcher, key).await;
            drop(active);
        });
    }
    plan.next_due.map_or(LOOK_AGAIN, |due| {
        let wait = due.duration_since(now);
        Duration::try_from(wait).unwrap_or_default().min(LOOK_AGAIN)
    })
}

/// Makes failed and delayed requests due now: one, or all, of those that `is_theirs` says may be
/// touched. Returns how many.
///
/// # Errors
///
/// When the disk fails; those before it are due.
pub async fn retry(
    daemon: &Arc<Daemon>,
    key: Option<Key>,
    is_theirs: impl Fn(&Place) -> bool,
) -> Result<u64, Error> {
    let only: Option<HashSet<Key>> = key.map(|key| [key].into());
    let mut chosen = Vec::new();
    daemon.store.spool().queue().visit(|summary| {
        let key = summary.place.key();
        let rests = summary.not_before.is_some() || summary.state != RequestState::Waiting;
        let rests = rests && is_theirs(&summary.place);
        if rests && only.as_ref().is_none_or(|only| only.contains(&key)) {
            chosen.push(key);
        }
    });
    let mut count = 0;
    for key in chosen.into_iter().filter(|key| !daemon.fetcher.is_active(key)) {
        if let Some(mut outgoing) = daemon.store.queued(key).await? {
            outgoing.state = RequestState::Waiting;
            outgoing.not_before = None;
            outgoing.attempts = 0;
            if daemon.store.requeue(outgoing).await? {
                count += 1;
            }
        }
    }
    daemon.fetcher.nudge();
    Ok(count)
}

/// Says once in the log that the spool cannot record what became of a request.
fn spool_failed(error: &Error) {
    error!(error = error_chain(error), "the outgoing queue cannot be changed");
}
