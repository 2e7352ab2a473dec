//! Estimates the downloads of the queue.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::time::Instant;
use wwwoffle_config::Config;
use wwwoffle_spool::{OutgoingSummary, Place, RequestKind, RequestState};
use wwwoffle_url::Key;

use super::run::{NotPlanned, missing_bytes};
use super::sizes::Sizes;
use super::{MAX_TIME, class};
use crate::base::clock;
use crate::fetch::attempt::gather_facts;
use crate::fetch::budget::Allowed;
use crate::fetch::context::FetchContext;
use crate::fetch::lock;
use crate::fetch::schedule::host;
use crate::fetch::verdict::FetchVerdict;
use crate::fetch::work::may_start;
use crate::storage::store::timestamp;
use wwwoffle_api::plan::{Amount, HostPlan, PlanBudget, QueuePlan};

/// The largest number of hosts in the result.
const MAX_HOSTS: usize = 100;

/// The number of requests examined before other tasks get a turn.
const AT_ONE_GO: usize = 256;

/// Estimates the downloads of the queued requests selected by `is_theirs`, without contacting any
/// origin.
///
/// # Errors
///
/// [`NotPlanned::Busy`] if too many plans are being made.
pub async fn plan(
    context: &Arc<FetchContext>,
    is_theirs: impl Fn(&Place) -> bool,
) -> Result<QueuePlan, NotPlanned> {
    let _turn = context.fetcher.plans.try_acquire().map_err(|_| NotPlanned::Busy)?;
    let mut plan =
        QueuePlan { may_fetch: context.base.mode.now().may_dial(), ..QueuePlan::default() };
    let mut waiting = Vec::new();
    context.storage.store.spool().queue().visit(|request| {
        if !is_theirs(&request.place) {
            return;
        }
        match &request.fetching.state {
            RequestState::Waiting => waiting.push(request.place.key()),
            RequestState::Failed { .. } => plan.failed += 1,
            RequestState::Asking { bytes } => plan.asking.add(1, bytes.unwrap_or_default()),
        }
    });
    let mut look = QueueEstimate::new(context);
    for (number, key) in waiting.into_iter().enumerate() {
        if number % AT_ONE_GO == 0 {
            tokio::task::yield_now().await;
        }
        look.at(key).await;
    }
    Ok(look.into_plan(plan))
}

/// The estimate so far.
struct QueueEstimate<'a> {
    context: &'a Arc<FetchContext>,
    config: Arc<Config>,
    zone: TimeZone,
    now: Timestamp,
    until: Instant,
    hosts: HashMap<Box<str>, HostEstimate>,
    sizes: Sizes,
    failing: u64,
    cut: bool,
}

/// The estimate for one host.
#[derive(Default)]
struct HostEstimate {
    plan: HostPlan,
    /// The time at which the first request to the host may start.
    first: Option<Timestamp>,
    /// The number of requests between which a delay is kept. The delay is `distance`.
    polite: u32,
    distance: Duration,
}

impl<'a> QueueEstimate<'a> {
    fn new(context: &'a Arc<FetchContext>) -> Self {
        Self {
            context,
            config: context.base.config(),
            zone: TimeZone::system(),
            now: timestamp(clock::now()),
            until: Instant::now() + MAX_TIME,
            hosts: HashMap::new(),
            sizes: Sizes::default(),
            failing: 0,
            cut: false,
        }
    }

    /// Counts one request. While there is time, also examines its stored copy.
    async fn at(&mut self, key: Key) {
        // The request may have left the queue.
        let Some(request) = self.context.storage.store.spool().queue().summary(&key) else {
            return;
        };
        let name: Box<str> = host(request.place.url()).into();
        self.count(&name, &request);
        self.cut |= Instant::now() >= self.until;
        if self.cut || self.add_known_size(&name, &request).await.is_none() {
            self.sizes.missing(&name, class_of(&request));
        }
    }

    /// Counts the response if its size is known, or the request if it would fail. `None` if the
    /// size is unknown.
    async fn add_known_size(&mut self, name: &str, request: &OutgoingSummary) -> Option<()> {
        let outgoing = self.context.storage.store.queued(request.place.key()).await.ok()??;
        let found = match gather_facts(self.context, &outgoing).await {
            Ok(found) => found,
            Err(FetchVerdict::Failed { .. }) => {
                self.failing += 1;
                return Some(());
            }
            // An alias gives the request another URL, so the size of its response is unknown.
            Err(_) => return None,
        };
        let class = class_of(request);
        let expected = &mut self.hosts.entry(name.into()).or_default().plan.expected;
        if let Some(copy) = &found.copy {
            let length = copy.entry.body_len();
            let amount =
                if found.how.is_some() { &mut expected.fresh } else { &mut expected.again };
            amount.add(1, length);
            if copy.status.is_success() {
                self.sizes.measured(name, class, length);
            }
            return Some(());
        }
        expected.rest.add(1, missing_bytes(self.context, &found.job.places).await?);
        Some(())
    }

    /// Counts a request and the time at which it may start.
    fn count(&mut self, name: &str, request: &OutgoingSummary) {
        let may_start = may_start(self.context, &self.config, &self.zone, request, self.now);
        let host = self.hosts.entry(name.into()).or_default();
        *host.plan.kinds.entry(request.kind).or_default() += 1;
        let opens = may_start.err();
        let due = request.fetching.not_before.max(opens).unwrap_or(self.now);
        host.first = Some(host.first.map_or(due, |first| first.min(due)));
        if request.kind.rank() >= RequestKind::Recursive.rank() {
            host.polite = host.polite.saturating_add(1);
            host.distance = host.distance.max(may_start.unwrap_or_default());
        }
    }

    fn into_plan(mut self, mut plan: QueuePlan) -> QueuePlan {
        for estimate in self.sizes.estimates() {
            let Amount { count, bytes } = estimate.amount;
            plan.all.new.add(count, bytes);
            plan.basis.add(&estimate.basis);
            // The missing responses of hosts beyond the limit of `Sizes` only count in the sum.
            if let Some(host) = self.hosts.get_mut(&estimate.host) {
                host.plan.expected.new.add(count, bytes);
            }
        }
        let schedule = Arc::clone(&self.context.fetcher.schedule);
        let new = std::mem::take(&mut plan.all.new);
        for (name, host) in self.hosts {
            let manners = lock(&schedule).host_delays(&name);
            plan.all = plan.all.with(&host.plan.expected);
            plan.hosts.push(host.into_plan(&name, manners, self.now));
        }
        plan.all.new = new;
        let bytes =
            |host: &HostPlan| host.expected.measured().saturating_add(host.expected.new.bytes);
        plan.hosts.sort_by(|one, other| {
            bytes(other).cmp(&bytes(one)).then_with(|| one.host.cmp(&other.host))
        });
        let more = plan.hosts.len().saturating_sub(MAX_HOSTS);
        plan.hosts.truncate(MAX_HOSTS);
        plan.more_hosts = u64::try_from(more).unwrap_or(u64::MAX);
        plan.budget = budget(self.context, &self.config, self.now, &self.zone);
        (plan.failing, plan.cut) = (self.failing, self.cut);
        plan
    }
}

impl HostEstimate {
    fn into_plan(
        self,
        name: &str,
        (closed_until, wanted): (Option<Timestamp>, Duration),
        now: Timestamp,
    ) -> HostPlan {
        let distance = self.distance.max(wanted);
        let pauses = self.polite.saturating_sub(1);
        HostPlan {
            host: name.to_owned(),
            from: self.first.max(closed_until).filter(|time| *time > now),
            seconds: distance.saturating_mul(pauses).as_secs(),
            ..self.plan
        }
    }
}

fn class_of(request: &OutgoingSummary) -> super::sizes::SizeClass {
    class(request.kind, request.class.as_deref(), request.place.url())
}

/// The budgets for the plan. A fetch that a person starts has the full budget for a fetch, and the
/// rest of the day's budget.
fn budget(context: &FetchContext, config: &Config, now: Timestamp, zone: &TimeZone) -> PlanBudget {
    let allowed = Allowed::of(&config.fetch_options, context.net.link.class(config));
    let metered = allowed.over_metered.and_then(|most| most.fetch);
    let mut budget = lock(&context.fetcher.budget);
    PlanBudget {
        fetch: [allowed.all.fetch, metered].into_iter().flatten().min(),
        until: budget.apply_limits(allowed, now, zone).and_then(|spent| spent.until),
        day: budget.left_of_day(allowed),
    }
}
