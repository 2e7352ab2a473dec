//! The task that starts what is due, for as long as the daemon runs.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::time::Instant;
use tracing::{info, warn};
use wwwoffle_config::{Config, UrlParts};
use wwwoffle_spool::OutgoingSummary;
use wwwoffle_url::{CanonicalUrl, Key};

use super::attempt::base_of;
use super::budget::{self, Allowed, Spent};
use super::schedule::Limits;
use super::{last, lock, one, recurse, rests, windows};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::hooks::Hook;
use crate::fetch::context::FetchContext;
use crate::storage::store::timestamp;

/// How long the queue is left alone when nothing on it is due and no news comes.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// So many requests are judged in one go; then others have their turn.
const AT_ONE_GO: usize = 256;

/// How often what was fetched today is written down while fetching goes on.
const REMEMBER_EVERY: Duration = Duration::from_secs(10);

/// What is remembered, in words.
const TODAY: &str = "what was fetched today";
const LAST: &str = "what came of the queue the last time";
const LEFT_ALONE: &str = "which origins want to be left alone";

/// A request that is on its way, for as long as this lives.
struct Active {
    context: Arc<FetchContext>,
    key: Key,
}

impl Drop for Active {
    fn drop(&mut self) {
        lock(&self.context.fetcher.schedule).ends(&self.key);
        self.context.fetcher.nudge();
    }
}

/// What the task knows from one look to the next.
struct Worker {
    context: Arc<FetchContext>,
    /// What requests were judged by.
    config: Arc<Config>,
    zone: TimeZone,
    spent: Option<Spent>,
    remembered: Instant,
}

/// Reads what is remembered of fetching, which is there for whoever asks from here on, and has the queue
/// worked off until the daemon stops.
pub async fn begin(context: &Arc<FetchContext>) {
    recurse::keep::load(context).await;
    let worker = Worker::new(Arc::clone(context)).await;
    context.base.tasks.spawn(recurse::keep::keep(Arc::clone(context)));
    context.base.tasks.spawn(work(worker));
}

async fn work(mut worker: Worker) {
    let context = Arc::clone(&worker.context);
    let mut mode = context.base.mode.watch();
    let (mut is_fetching, mut could_dial) = (false, false);
    loop {
        let may_dial = mode.borrow_and_update().may_dial();
        if may_dial && !could_dial {
            context.fetcher.begin(None);
        }
        could_dial = may_dial;
        let pause = if may_dial { worker.start_due() } else { LOOK_AGAIN };
        let is_active = context.fetcher.active_count() > 0;
        if is_active != is_fetching {
            is_fetching = is_active;
            context.base.happened(if is_fetching { Hook::FetchStart } else { Hook::FetchStop });
        }
        worker.remember(!is_fetching).await;
        tokio::select! {
            () = context.base.tasks.stopping() => break,
            () = context.fetcher.news.notified() => {}
            // The switch is in the daemon, so the mode never ends.
            _changed = mode.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
    worker.remember(true).await;
}

impl Worker {
    async fn new(context: Arc<FetchContext>) -> Self {
        context.fetcher.watch(context.storage.store.spool().queue());
        let today = read(&context, budget::STATE, TODAY).await;
        lock(&context.fetcher.budget).remember(&today);
        let last = read(&context, last::STATE, LAST).await;
        lock(&context.fetcher.last).remember(&last);
        let rests = read(&context, rests::STATE, LEFT_ALONE).await;
        for (host, until) in rests::of_text(&rests, timestamp(clock::now())) {
            lock(&context.fetcher.schedule).close_host(&host, until);
        }
        let config = context.base.config();
        let (zone, remembered) = (TimeZone::system(), Instant::now());
        Self { context, config, zone, spent: None, remembered }
    }

    /// Starts what is due and fits; returns how long nothing more will be due.
    fn start_due(&mut self) -> Duration {
        let config = self.context.base.config();
        let schedule = Arc::clone(&self.context.fetcher.schedule);
        if !Arc::ptr_eq(&config, &self.config) {
            lock(&schedule).let_in();
            self.config = config;
        }
        let now = timestamp(clock::now());
        if let Some(spent) = self.settle(now) {
            return spent.until.map_or(LOOK_AGAIN, |until| time_to(until, now));
        }
        let options = &self.config.fetch_options;
        let limits = Limits { per_host: options.per_host.get(), at_once: options.at_once.get() };
        for _ in 0..AT_ONE_GO {
            let Some(key) = lock(&schedule).next(limits, now) else {
                let next = lock(&schedule).next_alarm();
                return next.map_or(LOOK_AGAIN, |next| time_to(next, now));
            };
            self.start(key, now);
        }
        Duration::ZERO
    }

    /// Judges what is left of the budget, and says once when it is spent.
    fn settle(&mut self, now: Timestamp) -> Option<Spent> {
        let class = self.context.net.link.class(&self.config);
        let allowed = Allowed::of(&self.config.fetch_options, class);
        let spent = lock(&self.context.fetcher.budget).settle(allowed, now, &self.zone);
        if spent != self.spent {
            match spent {
                Some(Spent { until: None, metered }) => {
                    info!(metered, "the budget is spent until the queue is fetched again");
                }
                Some(Spent { until: Some(until), metered }) => {
                    info!(%until, metered, "the budget of the day is spent");
                }
                None => info!("there is a budget for fetching again"),
            }
            self.spent = spent;
        }
        spent
    }

    /// Starts a request that was chosen, or puts it off.
    fn start(&self, key: Key, now: Timestamp) {
        let schedule = &self.context.fetcher.schedule;
        let Some(summary) = self.context.storage.store.spool().queue().summary(&key) else {
            return lock(schedule).ends(&key);
        };
        match may_start(&self.context, &self.config, &self.zone, &summary, now) {
            Ok(distance) => lock(schedule).begins(&key, distance, now),
            Err(until) => return lock(schedule).put_off(&key, until),
        }
        let active = Active { context: Arc::clone(&self.context), key };
        let context = Arc::clone(&self.context);
        self.context.base.tasks.spawn(async move {
            let event = one::fetch(&context, key).await;
            drop(active);
            if let Some(event) = event {
                context.fetcher.tell(event);
            }
        });
    }

    /// Writes down what was fetched today: now and then, and when fetching `is_over`. Which origins want to
    /// be left alone is written down at once: it is seldom said.
    async fn remember(&mut self, is_over: bool) {
        let rests = lock(&self.context.fetcher.schedule).changed_rests(timestamp(clock::now()));
        if let Some(rests) = rests {
            write(&self.context, rests::STATE, rests::to_text(rests), LEFT_ALONE).await;
        }
        if !is_over && self.remembered.elapsed() < REMEMBER_EVERY {
            return;
        }
        let last = lock(&self.context.fetcher.last).changed();
        if let Some(text) = last {
            self.remembered = Instant::now();
            write(&self.context, last::STATE, text, LAST).await;
        }
        let Some(text) = lock(&self.context.fetcher.budget).changed() else { return };
        self.remembered = Instant::now();
        write(&self.context, budget::STATE, text, TODAY).await;
    }
}

/// What is remembered under a key of the state; where it cannot be read that is told, and it is nothing.
async fn read(context: &FetchContext, key: &'static str, what: &str) -> String {
    let text = context.storage.store.remembered(key).await.unwrap_or_else(|error| {
        let error = error_chain(&error);
        warn!(error, "{what} cannot be read, and counts as nothing");
        None
    });
    text.unwrap_or_default()
}

/// Remembers `text` under a key of the state; where it cannot be written that is told.
async fn write(context: &FetchContext, key: &'static str, text: String, what: &str) {
    if let Err(error) = context.storage.store.remember(key, text).await {
        let error = error_chain(&error);
        warn!(error, "{what} cannot be written down");
    }
}

/// The distance that the configuration has requests like this one keep.
///
/// # Errors
///
/// When it may be started, if that is not now.
pub(super) fn may_start(
    context: &FetchContext,
    config: &Config,
    zone: &TimeZone,
    request: &OutgoingSummary,
    now: Timestamp,
) -> Result<Duration, Timestamp> {
    // What is no URL fails for that reason, later.
    let Ok(url) =
        CanonicalUrl::parse(base_of(request.kind, request.place.url()), &context.base.local)
    else {
        return Ok(Duration::ZERO);
    };
    let (url, options) = (UrlParts::of(&url), &config.fetch_options);
    match windows::opens(options.windows.of(&url), now, zone) {
        Some(until) => Err(until),
        None => Ok(options.delay.of(&url).as_duration()),
    }
}

fn time_to(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or_default().min(LOOK_AGAIN)
}
