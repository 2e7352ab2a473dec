//! Estimates the downloads of a fetch with sub-resources and links.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use tokio::time::Instant;
use wwwoffle_spool::{Outgoing, RequestKind, RequestState, RunId};
use wwwoffle_url::Key;

use super::sizes::{SizeClass, Sizes};
use super::{MAX_TIME, class};
use crate::base::owner::{Places, Requester};
use crate::fetch::attempt::{AttemptFacts, gather_facts, known, request_url};
use crate::fetch::context::FetchContext;
use crate::fetch::follow::follow;
use crate::fetch::recurse::run::{LeftOut, Run, UrlOutcome};
use crate::fetch::recurse::runs::Runs;
use crate::fetch::recurse::{NotBegun, ask_robots, first};
use crate::fetch::schedule::host;
use crate::fetch::verdict::FetchVerdict;
use crate::storage::store::StoredCopy;
use wwwoffle_api::fetch_spec::RecursiveRequest;
use wwwoffle_api::plan::{ExpectedTransfers, RunPlan};

/// The largest number of requests that wait to be examined. Further requests count as not stored.
const MAX_WAITING: usize = 20_000;

/// The reason why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum NotPlanned {
    /// The fetch itself could not start.
    #[error(transparent)]
    NotBegun(#[from] NotBegun),
    /// Too many plans are being made.
    #[error("other plans are being made: try again in a few seconds")]
    Busy,
}

/// Estimates the downloads of the fetches in `asked` for `requester`, one result each, in bounded
/// time.
///
/// # Errors
///
/// [`NotPlanned`] if too many plans are being made, or any of the fetches could not start.
pub async fn plan(
    context: &Arc<FetchContext>,
    requester: &Requester,
    asked: &[RecursiveRequest],
) -> Result<Vec<RunPlan>, NotPlanned> {
    let _turn = context.fetcher.plans.try_acquire().map_err(|_| NotPlanned::Busy)?;
    let until = Instant::now() + MAX_TIME;
    let mut plans = Vec::with_capacity(asked.len());
    for asked in asked {
        let (run, outgoing) = first(context, requester, asked, RequestKind::Page)?;
        plans.push(PlanWalk::new(context, run).walk(outgoing, until).await);
    }
    Ok(plans)
}

/// A simulated recursive fetch, which sends no requests.
struct PlanWalk<'a> {
    context: &'a Arc<FetchContext>,
    /// Contains only the run of this plan.
    runs: Runs,
    id: RunId,
    queue: VecDeque<Key>,
    waiting: HashMap<Key, Outgoing>,
    /// The URLs whose sizes were counted.
    counted: HashSet<Key>,
    sizes: Sizes,
    robots_unknown: HashSet<String>,
    /// The result so far, without the estimates and the counts of `runs`.
    plan: RunPlan,
}

impl<'a> PlanWalk<'a> {
    fn new(context: &'a Arc<FetchContext>, run: Run) -> Self {
        let (runs, id) = (Runs::default(), run.id);
        let start = run.starts().first().map(|start| start.as_str().to_owned());
        runs.take_in(vec![run]);
        Self {
            context,
            runs,
            id,
            queue: VecDeque::new(),
            waiting: HashMap::new(),
            counted: HashSet::new(),
            sizes: Sizes::default(),
            robots_unknown: HashSet::new(),
            plan: RunPlan { start: start.unwrap_or_default(), ..RunPlan::default() },
        }
    }

    async fn walk(mut self, first: Outgoing, until: Instant) -> RunPlan {
        let start = first.summary.place.key();
        self.push(vec![first]);
        while let Some(key) = self.queue.pop_front() {
            let Some(outgoing) = self.waiting.remove(&key) else { continue };
            if Instant::now() >= until {
                self.count_unexamined(&outgoing);
                continue;
            }
            let is_kept = self.step(&outgoing).await;
            self.plan.start_kept |= is_kept && key == start;
        }
        self.finish()
    }

    /// Adds the counts and the estimates to the plan.
    fn finish(self) -> RunPlan {
        let report = self.runs.with_run(self.id, |run| run.report.clone()).unwrap_or_default();
        let mut plan = RunPlan {
            robots_unknown: u64::try_from(self.robots_unknown.len()).unwrap_or(u64::MAX),
            failed: report.failed,
            left_out: report.left_out,
            ..self.plan
        };
        for estimate in self.sizes.estimates() {
            let of = if estimate.class.is_none() { &mut plan.pages } else { &mut plan.parts };
            of.new.add(estimate.amount.count, estimate.amount.bytes);
            plan.basis.add(&estimate.basis);
        }
        plan
    }

    /// Adds requests to examine, each URL once. Requests that cannot be made count as failed.
    fn push(&mut self, next: Vec<Outgoing>) {
        for outgoing in next {
            let key = outgoing.summary.place.key();
            if let RequestState::Failed { reason, .. } = &outgoing.summary.fetching.state {
                self.runs.failed(&outgoing, reason, false);
            } else if let Some(known) = self.waiting.get_mut(&key) {
                let further = outgoing.summary.runs.iter().map(|member| member.depth).max();
                for member in &mut known.summary.runs {
                    member.depth = member.depth.max(further.unwrap_or_default());
                }
            } else if self.waiting.len() < MAX_WAITING {
                self.queue.push_back(key);
                self.waiting.insert(key, outgoing);
            } else {
                self.count_unexamined(&outgoing);
            }
        }
    }

    /// Counts a URL that is not examined.
    fn count_unexamined(&mut self, outgoing: &Outgoing) {
        self.plan.cut = true;
        let bytes = self.missing(outgoing);
        self.runs.record(outgoing, UrlOutcome::Fetched, bytes);
    }

    /// Examines a request. Returns whether a stored response was found and counted.
    async fn step(&mut self, outgoing: &Outgoing) -> bool {
        let found = match gather_facts(self.context, outgoing).await {
            Ok(found) => found,
            Err(FetchVerdict::Done { led, .. }) => {
                self.runs.record(outgoing, UrlOutcome::Fetched, 0);
                self.push(led.next);
                return false;
            }
            Err(FetchVerdict::Failed { error, .. } | FetchVerdict::Again { error, .. }) => {
                self.runs.failed(outgoing, &error, false);
                return false;
            }
            Err(_) => return false,
        };
        if found.how.is_none() && self.is_refused(outgoing).await {
            self.runs.record_exclusion(outgoing, LeftOut::Robots);
            return false;
        }
        match &found.copy {
            Some(copy) => self.count_stored(outgoing, &found, copy).await,
            None => self.absent(outgoing, &found.job.places).await,
        }
        found.copy.is_some()
    }

    /// Counts a stored copy and follows its references.
    async fn count_stored(
        &mut self,
        outgoing: &Outgoing,
        found: &AttemptFacts,
        copy: &Arc<StoredCopy>,
    ) {
        let (class, length) = (class_of(outgoing), copy.entry.body_len());
        let (outcome, mut bytes) = match found.how {
            Some(_) => (UrlOutcome::Kept, 0),
            None => (UrlOutcome::Fetched, length),
        };
        if self.counted.insert(outgoing.summary.place.key()) {
            if copy.status.is_success() {
                self.sizes.measured(host(outgoing.summary.place.url()), class, length);
            }
            let of = self.of(class);
            let amount = if found.how.is_some() { &mut of.fresh } else { &mut of.again };
            amount.add(1, length);
        } else {
            bytes = 0;
        }
        let places = &found.job.places;
        match follow(self.context, &self.runs, outgoing, &known(&found.request, places, copy)).await
        {
            Ok(led) => {
                self.push(led.next);
                self.runs.record(outgoing, outcome, bytes);
            }
            Err(error) => self.runs.failed(outgoing, &error, false),
        }
    }

    /// Counts a response that is missing or incomplete.
    async fn absent(&mut self, outgoing: &Outgoing, places: &Places) {
        let bytes = match missing_bytes(self.context, places).await {
            Some(rest) if self.counted.insert(outgoing.summary.place.key()) => {
                self.of(class_of(outgoing)).rest.add(1, rest);
                rest
            }
            _ => self.missing(outgoing),
        };
        self.runs.record(outgoing, UrlOutcome::Fetched, bytes);
    }

    /// Counts a URL of unknown size. Returns its estimated size in bytes, or 0 if it was counted
    /// before.
    fn missing(&mut self, outgoing: &Outgoing) -> u64 {
        if !self.counted.insert(outgoing.summary.place.key()) {
            return 0;
        }
        let class = class_of(outgoing);
        self.plan.unread += u64::from(may_have_references(class));
        self.sizes.missing(host(outgoing.summary.place.url()), class)
    }

    fn of(&mut self, class: SizeClass) -> &mut ExpectedTransfers {
        if class.is_none() { &mut self.plan.pages } else { &mut self.plan.parts }
    }

    /// Whether the `robots.txt` of the site forbids the URL, as far as known without a request.
    async fn is_refused(&mut self, outgoing: &Outgoing) -> bool {
        let Some(url) = ask_robots::robots_url(self.context, &self.runs, outgoing) else {
            return false;
        };
        let Some(robots) = ask_robots::read_stored_robots(self.context, outgoing, &url).await
        else {
            self.robots_unknown.insert(url.host_port().to_owned());
            return false;
        };
        !robots.allows(url.path_and_arguments())
    }
}

fn class_of(outgoing: &Outgoing) -> SizeClass {
    class(outgoing.summary.kind, outgoing.summary.class.as_deref(), request_url(outgoing))
}

/// Whether a document of this class may have references.
fn may_have_references(class: SizeClass) -> bool {
    use wwwoffle_api::fetch_spec::PartClass::{Frames, Iframes, Scripts, Stylesheets};
    matches!(class, None | Some(Frames | Iframes | Scripts | Stylesheets))
}

/// The number of bytes missing from the most complete partial entry at the personal place, or else
/// at the public place. `None` if there is no partial entry of known length.
pub(super) async fn missing_bytes(context: &FetchContext, places: &Places) -> Option<u64> {
    for place in [&places.own, &places.public] {
        let Ok(found) = context.storage.store.partials_of(place).await else { continue };
        let rest = found.iter().filter_map(|partial| {
            let whole = 0..partial.complete_length()?;
            let missing = partial.missing(&whole).into_iter();
            Some(missing.map(|range| range.end.saturating_sub(range.start)).sum())
        });
        if let Some(rest) = rest.min() {
            return Some(rest);
        }
    }
    None
}
