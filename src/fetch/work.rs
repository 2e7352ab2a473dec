//! The task that starts due requests while the daemon runs.

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
use super::budget::{self, Allowed, ExhaustedBudget};
use super::schedule::ScheduleLimits;
use super::{last, lock, one, recurse, rests, windows};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::hooks::Hook;
use crate::base::owner::Owner;
use crate::fetch::context::FetchContext;
use crate::proxy::quota;
use crate::storage::store::timestamp;

/// Time until the next check if nothing in the queue is due and no event arrives.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// The number of requests examined at once, before other tasks get a turn.
const AT_ONE_GO: usize = 256;

/// Interval at which the bytes fetched today are saved during a fetch.
const REMEMBER_EVERY: Duration = Duration::from_secs(10);

/// Names of the saved values, for messages.
const TODAY: &str = "the bytes fetched today";
const LAST: &str = "the result of the last fetch";
const LEFT_ALONE: &str = "the rest times of origins";

/// Marks a request as being fetched until this value is dropped.
struct ActiveRequest {
    context: Arc<FetchContext>,
    key: Key,
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        lock(&self.context.fetcher.schedule).record_end(&self.key);
        self.context.fetcher.wake();
    }
}

/// The state of the task.
struct WorkState {
    context: Arc<FetchContext>,
    /// The configuration of the last check. If it changes, deferred requests are checked again.
    config: Arc<Config>,
    zone: TimeZone,
    spent: Option<ExhaustedBudget>,
    remembered: Instant,
}

/// Loads the saved state of fetching, and starts the task that fetches the queue until the daemon
/// stops. When this returns, other code may use the state.
pub async fn begin(context: &Arc<FetchContext>) {
    recurse::keep::load(context).await;
    let worker = WorkState::new(Arc::clone(context)).await;
    context.base.tasks.spawn(recurse::keep::save_changes(Arc::clone(context)));
    context.base.tasks.spawn(run_queue(worker));
}

async fn run_queue(mut worker: WorkState) {
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
            context.base.run_hook(if is_fetching { Hook::FetchStart } else { Hook::FetchStop });
        }
        worker.save_spent(!is_fetching).await;
        tokio::select! {
            () = context.base.tasks.stopping() => break,
            () = context.fetcher.news.notified() => {}
            // The daemon owns the sender of the mode, so the channel stays open.
            _changed = mode.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
    worker.save_spent(true).await;
}

impl WorkState {
    async fn new(context: Arc<FetchContext>) -> Self {
        context.fetcher.watch(context.storage.store.spool().queue());
        let today = read(&context, budget::STATE, TODAY).await;
        lock(&context.fetcher.budget).restore(&today);
        let last = read(&context, last::STATE, LAST).await;
        lock(&context.fetcher.last).restore(&last);
        let rests = read(&context, rests::STATE, LEFT_ALONE).await;
        for (host, until) in rests::of_text(&rests, timestamp(clock::now())) {
            lock(&context.fetcher.schedule).close_host(&host, until);
        }
        let config = context.base.config();
        let (zone, remembered) = (TimeZone::system(), Instant::now());
        Self { context, config, zone, spent: None, remembered }
    }

    /// Starts the due requests that fit the limits. Returns the time until the next request may be
    /// due.
    fn start_due(&mut self) -> Duration {
        let config = self.context.base.config();
        let schedule = Arc::clone(&self.context.fetcher.schedule);
        if !Arc::ptr_eq(&config, &self.config) {
            lock(&schedule).recheck_postponed();
            self.config = config;
        }
        let now = timestamp(clock::now());
        if let Some(spent) = self.check_budget(now) {
            return spent.until.map_or(LOOK_AGAIN, |until| duration_until(until, now));
        }
        let options = &self.config.fetch_options;
        let limits =
            ScheduleLimits { per_host: options.per_host.get(), at_once: options.at_once.get() };
        for _ in 0..AT_ONE_GO {
            let Some(key) = lock(&schedule).next(limits, now) else {
                let next = lock(&schedule).next_alarm();
                return next.map_or(LOOK_AGAIN, |next| duration_until(next, now));
            };
            self.start(key, now);
        }
        Duration::ZERO
    }

    /// Applies the budget limits, and logs each change. Returns the exhausted budget, if any.
    fn check_budget(&mut self, now: Timestamp) -> Option<ExhaustedBudget> {
        let class = self.context.net.link.class(&self.config);
        let allowed = Allowed::of(&self.config.fetch_options, class);
        let spent = lock(&self.context.fetcher.budget).apply_limits(allowed, now, &self.zone);
        if spent != self.spent {
            match spent {
                Some(ExhaustedBudget { until: None, metered }) => {
                    info!(metered, "the budget is spent until the queue is fetched again");
                }
                Some(ExhaustedBudget { until: Some(until), metered }) => {
                    info!(%until, metered, "the daily budget is used up");
                }
                None => info!("a new budget for fetching has begun"),
            }
            self.spent = spent;
        }
        spent
    }

    /// Starts a chosen request, or defers it.
    fn start(&self, key: Key, now: Timestamp) {
        let schedule = &self.context.fetcher.schedule;
        let Some(summary) = self.context.storage.store.spool().queue().summary(&key) else {
            return lock(schedule).record_end(&key);
        };
        match may_start(&self.context, &self.config, &self.zone, &summary, now) {
            Ok(distance) => lock(schedule).record_start(&key, distance, now),
            Err(until) => return lock(schedule).put_off(&key, until),
        }
        let owner = summary.place.owner().map(str::to_owned);
        let active = ActiveRequest { context: Arc::clone(&self.context), key };
        let context = Arc::clone(&self.context);
        self.context.base.tasks.spawn(async move {
            let event = one::fetch(&context, key).await;
            drop(active);
            if let Some(event) = event {
                context.fetcher.send_event(owner.as_deref(), event);
            }
        });
    }

    /// Saves the bytes fetched today and the result of the last fetch, at intervals and if
    /// `is_over` is set. The rest times of origins change rarely and are saved at once.
    async fn save_spent(&mut self, is_over: bool) {
        let rests = lock(&self.context.fetcher.schedule).take_delays(timestamp(clock::now()));
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

/// Reads a value of the state. A failure is logged, and the value is then empty.
async fn read(context: &FetchContext, key: &'static str, what: &str) -> String {
    let text = context.storage.store.remembered(key).await.unwrap_or_else(|error| {
        let error = error_chain(&error);
        warn!(error, "{what} cannot be read, and count as empty");
        None
    });
    text.unwrap_or_default()
}

/// Saves `text` under a key of the state. A failure is logged.
async fn write(context: &FetchContext, key: &'static str, text: String, what: &str) {
    if let Err(error) = context.storage.store.remember(key, text).await {
        let error = error_chain(&error);
        warn!(error, "{what} cannot be stored");
    }
}

/// Returns the configured delay between requests like this one.
///
/// # Errors
///
/// The time at which the request may be started, if not now.
pub(super) fn may_start(
    context: &FetchContext,
    config: &Config,
    zone: &TimeZone,
    request: &OutgoingSummary,
    now: Timestamp,
) -> Result<Duration, Timestamp> {
    // An invalid URL fails later, with its own reason.
    let Ok(url) =
        CanonicalUrl::parse(base_of(request.kind, request.place.url()), &context.base.local)
    else {
        return Ok(Duration::ZERO);
    };
    if let Some(until) = quota_renewal(context, config, request) {
        return Err(until);
    }
    let (url, options) = (UrlParts::of(&url), &config.fetch_options);
    match windows::opens(options.windows.of(&url), now, zone) {
        Some(until) => Err(until),
        None => Ok(options.delay.of(&url).as_duration()),
    }
}

/// When the quota of the owner of a request is renewed, if it is used up.
pub(super) fn quota_renewal(
    context: &FetchContext,
    config: &Config,
    request: &OutgoingSummary,
) -> Option<Timestamp> {
    if config.usage.quotas.is_empty() {
        return None;
    }
    let owner = Owner::of_queued(&request.place)?;
    let usage = context.storage.statistics.usage.with_limits(config, &owner)?;
    usage.reached().as_ref().map(quota::renewal)
}

fn duration_until(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or_default().min(LOOK_AGAIN)
}
