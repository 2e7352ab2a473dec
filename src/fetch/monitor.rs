//! Monitored pages: puts due pages into the queue.
//!
//! One task ([`queue_due_pages`]) does this whenever the mode allows. If several scheduled times
//! passed while the mode did not allow it, the page is fetched once. A page is queued before its
//! run is recorded, so a crash in between causes at most one additional conditional request.

pub mod report;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tracing::{debug, warn};
use wwwoffle_spool::{
    Error, Monitor, MonitorSummary, Outgoing, Place, RequestKind, Schedule, SetOutcome,
};
use wwwoffle_url::Key;

use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::owner::{Places, Requester};
use crate::fetch::context::FetchContext;
use crate::fetch::recurse::{self, NotBegun};
use crate::fetch::{self, WantError};
use crate::storage::store::timestamp;
use crate::storage::versions;
use wwwoffle_api::ChangeReport;
use wwwoffle_api::fetch_spec::{FetchSpec, MAX_DEPTH, PartClass};
use wwwoffle_api::scope::Scope;

/// The longest pause between two checks, and so the delay after which a change of the clock is
/// noticed.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// The pause after the spool failed to record a due page.
const AFTER_FAILURE: Duration = Duration::from_secs(60);

/// The largest value of [`MonitorSettings::versions`].
pub const MAX_VERSIONS: u16 = 100;

/// The settings of a monitored page.
#[derive(Clone, Debug)]
pub struct MonitorSettings {
    /// The page.
    pub url: String,
    /// The schedule.
    pub schedule: Schedule,
    /// The smallest number of older versions that the spool keeps of the page.
    pub versions: u16,
    /// The sub-resources and links to fetch with the page. `None` means the configured
    /// sub-resources and no links.
    pub spec: Option<FetchSpec>,
    /// Which changes are reported, checked by [`report::check`]; `None` means all of them, in the
    /// feed only.
    pub report: Option<ChangeReport>,
}

impl MonitorSettings {
    /// Settings without links.
    #[must_use]
    pub fn new(url: String, schedule: Schedule, versions: u16) -> Self {
        Self { url, schedule, versions, spec: None, report: None }
    }

    /// Also fetches the pages that the page links to, up to `depth` links and within `scope`.
    #[must_use]
    pub fn following(self, depth: u16, scope: Scope) -> Self {
        let spec = FetchSpec { depth: depth.min(MAX_DEPTH), scope, ..FetchSpec::default() };
        Self { spec: (depth > 0).then_some(spec), ..self }
    }

    /// Reports these changes. For this, at least one older version is kept.
    #[must_use]
    pub fn reporting(self, report: Option<ChangeReport>) -> Self {
        let versions = if report.is_some() { self.versions.max(1) } else { self.versions };
        Self { versions, report, ..self }
    }

    /// Sets for each class in `parts` whether its sub-resources are fetched. The configuration
    /// decides about the other classes.
    #[must_use]
    pub fn with_parts(mut self, parts: BTreeMap<PartClass, bool>) -> Self {
        if !parts.is_empty() {
            self.spec.get_or_insert_default().parts = parts;
        }
        self
    }
}

/// Queues due pages until the daemon stops. Each daemon has one such task.
pub async fn queue_due_pages(context: Arc<FetchContext>) {
    let mut mode = context.base.mode.watch();
    loop {
        let may_dial = mode.borrow_and_update().may_dial();
        let pause = if may_dial { start_due(&context).await } else { LOOK_AGAIN };
        tokio::select! {
            () = context.base.tasks.stopping() => return,
            () = context.monitor.notified() => {}
            // The daemon owns the sender of the mode, so the channel stays open.
            _changed = mode.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Queues the due pages, the longest overdue first. Returns the time until the next check.
async fn start_due(context: &Arc<FetchContext>) -> Duration {
    let now = timestamp(clock::now());
    let mut next = Vec::new();
    let (zone, session) = (TimeZone::system(), context.base.mode.session().map(timestamp));
    context.storage.store.spool().monitors().visit(|one| {
        next.extend(one.next_run(now, &zone, session).map(|time| (time, one.place.key())));
    });
    next.sort_unstable();
    let due = next.partition_point(|(time, _)| *time <= now);
    for (_, key) in next.iter().take(due) {
        if let Err(error) = start(context, *key, now).await {
            warn!(error = error_chain(&error), "the monitored pages cannot be queued");
            return AFTER_FAILURE;
        }
    }
    next.get(due).map_or(LOOK_AGAIN, |(time, _)| {
        Duration::try_from(time.duration_since(now)).unwrap_or_default().min(LOOK_AGAIN)
    })
}

/// Queues a due page, and records `now` as the time of its last run.
async fn start(context: &Arc<FetchContext>, key: Key, now: Timestamp) -> Result<(), Error> {
    let read = context.storage.store.run(move |spool| spool.monitors().get(&key)).await;
    let monitor = match read {
        Ok(Some(monitor)) => monitor,
        Ok(None) => return Ok(()),
        Err(error) if error.is_damaged() => {
            warn!(error = error_chain(&error), "a page is no longer monitored");
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    debug!(url = monitor.request.summary.place.url(), schedule = %monitor.schedule, "a page is due");
    let mut request = monitor.request;
    request.summary.queued = now;
    if let Some(spec) = fetch_spec(&request) {
        request.options = None;
        match recurse::begin_at(context, request.clone(), &spec).await {
            Ok(_) => return record_fetch_time(context, key, now).await,
            Err(NotBegun::Page(WantError::Spool(error))) => return Err(error),
            // The page itself is fetched anyway.
            Err(error) => warn!(error = error_chain(&error), "links of a page are not followed"),
        }
    }
    fetch::put(context, request).await?;
    record_fetch_time(context, key, now).await
}

async fn record_fetch_time(context: &FetchContext, key: Key, now: Timestamp) -> Result<(), Error> {
    context.storage.store.run(move |spool| spool.monitors().record_run(&key, now)).await?;
    context.fetcher.wake();
    Ok(())
}

/// The links and sub-resources to fetch with the page, if the request names them.
pub(crate) fn fetch_spec(request: &Outgoing) -> Option<FetchSpec> {
    serde_json::from_str(request.options.as_deref()?).ok()
}

/// Monitors a page for `requester` and replaces its earlier settings. The recorded time of its last
/// run stays.
///
/// # Errors
///
/// [`WantError`] if the URL cannot be requested or the spool fails.
pub async fn set(
    context: &Arc<FetchContext>,
    requester: &Requester,
    wanted: MonitorSettings,
) -> Result<(MonitorSummary, SetOutcome), WantError> {
    let mut request = fetch::request(context, requester, &wanted.url, RequestKind::Monitored)?;
    request.options = wanted.spec.and_then(|spec| serde_json::to_string(&spec).ok());
    let versions = wanted.versions.min(MAX_VERSIONS);
    let (schedule, report) = (wanted.schedule, wanted.report);
    let report = report.and_then(|report| serde_json::to_string(&report).ok());
    // The stored version counts as reported, so that the next one is compared with it.
    let place = report.as_ref().map(|_| &request.summary.place);
    let places = place.and_then(|place| Places::of_queued(place, &context.base.local));
    let stored = match places {
        Some(places) => versions::of(&context.storage, &places).await?,
        None => None,
    };
    let reported = stored.map(|stored| stored.current.entry.stored());
    let done = context.storage.store.run(move |spool| {
        let key = request.summary.place.key();
        let known = spool.monitors().summary(&key);
        let last_run = known.and_then(|known| known.last_run);
        let monitor = Monitor { request, schedule, last_run, versions, report, reported };
        let set = spool.monitors().set(&monitor)?;
        Ok((monitor.summary(), set))
    });
    let done = done.await?;
    context.monitor.notify_one();
    Ok(done)
}

/// Stops monitoring a page. Returns whether it was monitored.
///
/// # Errors
///
/// If the disk fails.
pub async fn remove(context: &Arc<FetchContext>, key: Key) -> Result<bool, Error> {
    context.storage.store.run(move |spool| spool.monitors().remove(&key)).await
}

/// The monitored pages whose place `may_see` allows, sorted by URL.
#[must_use]
pub fn list(context: &FetchContext, may_see: impl Fn(&Place) -> bool) -> Vec<MonitorSummary> {
    let mut list = context.storage.store.spool().monitors().list();
    list.retain(|one| may_see(&one.place));
    list
}
