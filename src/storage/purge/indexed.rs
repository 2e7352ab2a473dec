//! Plans a purge from the index, which knows the references between entries, and considers entries
//! that are stored during the purge.
//!
//! The index may be behind or incomplete. Then the result is no plan, or a plan in which a
//! sub-resource counts as needed by any page of its site, as in a plan from the files. In each case
//! the files are walked to carry out the plan.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tracing::debug;
use wwwoffle_index::{Error, Index, Snapshot};
use wwwoffle_spool::purge::SizedEntry;
use wwwoffle_spool::purge::plan::{EntryRole, Fate, Plan, Planner, PurgeCandidate, PurgeLimits};
use wwwoffle_spool::{SharedBodies, Spool};

use super::policy::PurgePolicy;
use super::{AT_ONCE, NotPurged};
use crate::base::error_chain::error_chain;

/// The time limit of each of the two waits in `catch_up` for pages that are not indexed yet.
const READ_WITHIN: Duration = Duration::from_secs(3);

/// Time limit for a walk through the index.
const LOOK: Duration = Duration::from_secs(60);

/// The interval at which new entries are looked up.
const NEWS_EVERY: Duration = Duration::from_millis(500);

/// The longest time to wait until the index has the latest entries.
const NEWS_WITHIN: Duration = Duration::from_secs(2);

/// Entries stored at most this long before the plan may be missing in the index.
const SLACK: Duration = Duration::from_secs(2);

/// Makes a plan from the index. `None` if the index is incomplete or cannot be read. `go_on` gets
/// the number of entries considered so far.
///
/// # Errors
///
/// If `go_on` returned false, or the spool failed.
pub(super) fn plan(
    (index, spool): (&Index, &Spool),
    policy: &PurgePolicy,
    limits: PurgeLimits,
    now: Timestamp,
    go_on: &dyn Fn(u64) -> bool,
) -> Result<Option<Plan>, NotPurged> {
    let bodies = spool.bodies()?;
    if !index.catch_up(READ_WITHIN) {
        debug!("the index is incomplete: the plan is made from the files");
        return Ok(None);
    }
    let mut gathered =
        WeighedEntries { bodies, had: HashSet::new(), numbers: Vec::new(), stops: false, go_on };
    let made = index.with_snapshot(LOOK, |moment| gathered.plan(moment, policy, limits, now));
    if gathered.stops {
        return Err(NotPurged::Stopping);
    }
    match made {
        Ok(_) if !go_on(gathered.count()) => Err(NotPurged::Stopping),
        Ok(plan) => Ok(plan),
        Err(error) => {
            debug!(error = error_chain(&error), "the plan is made from the files");
            Ok(None)
        }
    }
}

/// The entries that were considered for removal.
struct WeighedEntries<'a> {
    /// The bodies that several entries share.
    bodies: SharedBodies,
    /// The digests of the bodies for which an entry was found.
    had: HashSet<[u8; 32]>,
    /// The numbers of the entries in the index, in ascending order.
    numbers: Vec<i64>,
    stops: bool,
    go_on: &'a dyn Fn(u64) -> bool,
}

impl WeighedEntries<'_> {
    fn plan(
        &mut self,
        moment: &Snapshot<'_>,
        policy: &PurgePolicy,
        limits: PurgeLimits,
        now: Timestamp,
    ) -> Result<Option<Plan>, Error> {
        let mut planner = Planner::new(limits, now);
        if !moment.is_whole()? {
            return Ok(None);
        }
        moment.candidates(&mut |one| {
            // The bodies of older versions are not known here. They count as freed together with
            // the entries that share them.
            let held = one.digest.and_then(|digest| Some((digest, self.bodies.of(digest)?)));
            self.had.extend(held.map(|(digest, _)| digest));
            let bodies = held.into_iter().map(|(_, held)| held).collect();
            planner.add(&PurgeCandidate { bodies, ..policy.indexed(&one) });
            self.numbers.push(one.number);
            self.step(self.numbers.len())
        })?;
        if self.stops {
            return Ok(None);
        }
        if limits.is_for_room() && self.had.len() < self.bodies.len() {
            debug!(
                "bodies are shared by entries that are not in the index: the plan is made from the \
                 files"
            );
            return Ok(None);
        }
        if moment.has_unread()? {
            debug!(
                "not all pages are indexed yet: a sub-resource may belong to any page of its site"
            );
            return Ok(Some(planner.plan()));
        }
        let (mut needs, mut at) = (planner.needs(), 0);
        moment.parts(&mut |number, parts| {
            // Both lists are sorted.
            while self.numbers.get(at).is_some_and(|known| *known < number) {
                at += 1;
            }
            if self.numbers.get(at) == Some(&number) {
                needs.add(at, parts);
            }
            self.step(at)
        })?;
        needs.propagate(|entry| {
            self.numbers.get(entry).map_or(Ok(Vec::new()), |number| moment.parts_of(*number))
        })?;
        Ok(Some(needs.plan()))
    }

    fn count(&self) -> u64 {
        u64::try_from(self.numbers.len()).unwrap_or(u64::MAX)
    }

    /// Asks `go_on` at intervals whether to continue.
    fn step(&mut self, count: usize) -> ControlFlow<()> {
        if count.is_multiple_of(AT_ONCE) && !(self.go_on)(self.count()) {
            self.stops = true;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// The entries that are stored while a plan is carried out.
pub(super) struct NewEntries<'a> {
    index: Option<&'a Index>,
    since: Timestamp,
    looked: Option<Instant>,
    /// Whether the new entries could not be determined. Then no sub-resource is removed.
    is_blind: bool,
}

impl<'a> NewEntries<'a> {
    /// The entries stored since `begun`, the start of the plan, or within [`SLACK`] before it.
    pub(super) fn since(index: Option<&'a Index>, begun: Timestamp) -> NewEntries<'a> {
        NewEntries { index, since: begun - SLACK, looked: None, is_blind: false }
    }

    /// Protects the sub-resources of new entries.
    pub(super) fn protect_sub_resources(&mut self, plan: &mut Plan, policy: &PurgePolicy) {
        let Some(index) = self.index else { return };
        if self.looked.is_some_and(|looked| looked.elapsed() < NEWS_EVERY) {
            return;
        }
        let is_level = index.is_level_within(NEWS_WITHIN);
        self.is_blind = self.keep_needed_parts(index, plan, policy).is_err() || !is_level;
        self.looked = Some(Instant::now());
    }

    /// Protects the sub-resources of the entries stored since the start of the purge. All these
    /// entries are read again at each call, because entries can be indexed in another order than
    /// they were stored.
    fn keep_needed_parts(
        &self,
        index: &Index,
        plan: &mut Plan,
        policy: &PurgePolicy,
    ) -> Result<(), Error> {
        let mut since = self.since;
        loop {
            let came = index.stored_since(since)?;
            let Some((last, _)) = came.last() else { return Ok(()) };
            let last = last.stored;
            for (one, parts) in came {
                let one = policy.indexed(&one);
                if one.role == EntryRole::Page {
                    // The index may not know all sub-resources of this page yet, so all
                    // sub-resources of its site are preserved.
                    plan.keep_site(&one.site, true);
                }
                for part in parts {
                    plan.keep_entry(part);
                }
            }
            if last <= since {
                return Ok(());
            }
            since = last;
        }
    }

    /// Protects the sub-resources of a page that was pinned during the purge.
    pub(super) fn pinned(&self, url: &wwwoffle_url::CanonicalUrl, plan: &mut Plan) {
        let needs = self.index.and_then(|index| index.needs(&url.key()).ok());
        needs.into_iter().flatten().for_each(|part| plan.keep_entry(part));
    }

    /// Whether the plan removes an entry in its current state. Uses since the plan was made count,
    /// so an entry that has been used since may stay.
    pub(super) fn is_removed(
        &self,
        plan: &Plan,
        found: &SizedEntry,
        mut one: PurgeCandidate,
    ) -> bool {
        let goes = |one: &PurgeCandidate| matches!(plan.fate(one), Fate::Goes(_));
        if !goes(&one) || (self.is_blind && one.role == EntryRole::Part) {
            return false;
        }
        let used = self.index.and_then(|index| index.last_use(&found.summary.place.key()));
        one.used = used.map_or(one.used, |used| used.max(one.used));
        goes(&one)
    }
}
