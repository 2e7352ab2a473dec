//! Purging: a plan of the entries to remove, carried out by the command line, on a page, or by the
//! daemon automatically.
//!
//! The spool decides ([`wwwoffle_spool::purge`]) from the configuration for each URL ([`policy`])
//! and the references in the index (`indexed`). The plan is made from the index, or from the files
//! if the index is incomplete. The files are walked to carry it out, step by step, on a blocking
//! thread, while requests are served. Only one purge runs at a time.

mod alone;
pub mod compress;
mod indexed;
pub mod policy;
pub mod room;
mod share;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tracing::{info, warn};
use wwwoffle_config::Config;
use wwwoffle_index::Index;
use wwwoffle_spool::purge::plan::{Fate, KeepReason, Plan, Planner, PurgeLimits, PurgeReason, Sum};
use wwwoffle_spool::purge::{Space, space};
use wwwoffle_spool::{Error, Spool, Uses};
use wwwoffle_url::{LocalHost, registrable_domain};

pub use self::alone::{REST, purge_when_due};
use self::indexed::NewEntries;
use self::policy::PurgePolicy;
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::storage::context::StorageContext;
use crate::storage::store::timestamp;
use wwwoffle_api::{PurgeReport, PurgeStatus, PurgeSum};

/// Time limit for writing the uses of the last hour.
const USES_WAIT: Duration = Duration::from_secs(10);

/// The number of entries that are examined between two calls of `go_on`.
const AT_ONCE: usize = 512;

/// The task of a purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeTask {
    /// Only makes a plan.
    Plan,
    /// Makes a plan and carries it out.
    Purge,
    /// Purges automatically, to free space.
    ForRoom,
    /// Purges automatically by age and by `max-size`. Free disk space is ignored.
    ByAge,
}

/// The reason why a purge failed or did not take place.
#[derive(Debug, thiserror::Error)]
pub enum NotPurged {
    /// Another purge is running.
    #[error("a purge is running: `wwwoffle purge --dry-run` and the page /purge/ show its result")]
    Busy,
    /// The last uses could not be written to the disk, so they are unknown.
    #[error("the entries used within the last hour are not known yet")]
    Uses,
    /// The program is stopping.
    #[error("the daemon is stopping")]
    Stopping,
    /// The spool failed.
    #[error("the spool failed")]
    Spool(#[from] Error),
}

/// The purges of a daemon.
#[derive(Debug, Default)]
pub struct PurgeState {
    running: Arc<AtomicBool>,
    looked: Arc<AtomicU64>,
    last: Arc<Mutex<LastPurge>>,
}

#[derive(Debug, Default)]
struct LastPurge {
    plan: Option<PurgeReport>,
    purge: Option<PurgeReport>,
    failure: Option<String>,
}

/// The exclusive right to purge, until it is dropped.
#[derive(Debug)]
pub struct PurgeTurn(Arc<AtomicBool>);

impl Drop for PurgeTurn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl PurgeState {
    /// Takes the right to purge.
    ///
    /// # Errors
    ///
    /// [`NotPurged::Busy`] if a purge is running.
    pub fn take_turn(&self) -> Result<PurgeTurn, NotPurged> {
        if self.running.swap(true, Ordering::AcqRel) {
            return Err(NotPurged::Busy);
        }
        self.looked.store(0, Ordering::Relaxed);
        Ok(PurgeTurn(Arc::clone(&self.running)))
    }

    /// The progress of a running purge, and the results of the last plan and purge.
    #[must_use]
    pub fn status(&self) -> PurgeStatus {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // A query must not take the turn. Otherwise a purge that starts at this moment would be
        // refused.
        let running = self.running.load(Ordering::Acquire);
        PurgeStatus {
            running,
            looked: if running { self.looked.load(Ordering::Relaxed) } else { 0 },
            plan: last.plan.clone(),
            last: last.purge.clone(),
            failure: last.failure.clone(),
        }
    }
}

/// Makes a plan for a spool, and carries it out if requested. `go_on` gets the number of examined
/// entries, and decides whether to continue. Blocks for a time that depends on the size of the
/// spool.
///
/// # Errors
///
/// If the disk fails, or `go_on` returned false. Earlier removals stay.
pub fn purge(
    (spool, index): (&Spool, Option<&Index>),
    (config, local): (Arc<Config>, LocalHost),
    what: PurgeTask,
    now: Timestamp,
    go_on: impl Fn(u64) -> bool,
) -> Result<PurgeReport, NotPurged> {
    let room = || space(spool.root()).ok();
    if what == PurgeTask::ForRoom {
        // Deleted entries, which can still be restored, are removed before stored ones.
        if let Err(error) = spool.forget_removed(0) {
            warn!(error = error_chain(&error), "cannot delete the files of earlier removals");
        }
    }
    let mut policy = PurgePolicy::new(config, spool.pins()?, Uses::default(), local);
    let limits = limits(&policy, what, room());
    let looked = AtomicU64::new(0);
    let tell = |count| {
        looked.store(count, Ordering::Relaxed);
        go_on(count)
    };
    let indexed = match index {
        Some(index) => indexed::plan((index, spool), &policy, limits, now, &tell)?,
        None => None,
    };
    // Candidates from the index already have their uses. Candidates from the files need the uses
    // that the spool has recorded.
    policy.uses = spool.uses()?;
    let mut packing = compress::CompressionPlan::new(spool, &policy, what, now)?;
    let mut plan = match indexed {
        Some(plan) if packing.is_none() => plan,
        indexed => {
            // Only the files show which entries would be compressed.
            let walked = plan_by_walking(spool, &policy, (limits, now), packing.as_mut(), &tell)?;
            indexed.unwrap_or(walked)
        }
    };
    let removed = match what {
        PurgeTask::Plan => None,
        PurgeTask::Purge | PurgeTask::ForRoom | PurgeTask::ByAge => {
            let before = looked.load(Ordering::Relaxed);
            let news = NewEntries::since(index, now);
            let go_on = |done| go_on(before + done);
            Some(remove_entries(spool, &mut policy, &mut plan, news, go_on)?)
        }
    };
    let done = looked.load(Ordering::Relaxed);
    let compressed = match &packing {
        Some(packing) if removed.is_some() => {
            Some(packing.compress_entries(spool, &policy, &|count| go_on(done + count))?)
        }
        _ => None,
    };
    let compressible = packing.map(|packing| packing.summary());
    let shared =
        (what != PurgeTask::Plan).then(|| share::share_bodies(spool, &policy, &|| go_on(done)));
    Ok(PurgeReport { compressible, compressed, shared, ..report(&plan, removed, room()) })
}

/// The limits of a purge. `space` is that of the disk, if known.
fn limits(policy: &PurgePolicy, what: PurgeTask, space: Option<Space>) -> PurgeLimits {
    let limits = policy.limits(space);
    let min_free = limits.min_free.filter(|_| what != PurgeTask::ByAge);
    PurgeLimits { min_free, ..limits }
}

/// Makes a plan by walking the files.
fn plan_by_walking(
    spool: &Spool,
    policy: &PurgePolicy,
    (limits, now): (PurgeLimits, Timestamp),
    mut packing: Option<&mut compress::CompressionPlan>,
    go_on: &dyn Fn(u64) -> bool,
) -> Result<Plan, NotPurged> {
    let (mut planner, mut unread) = (Planner::new(limits, now), None);
    let (mut looked, mut candidates) = (0, spool.candidates()?);
    loop {
        let before = looked;
        for found in candidates.by_ref().take(AT_ONCE) {
            looked += 1;
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    unread.get_or_insert(error);
                    continue;
                }
            };
            let candidate = policy.candidate(&found);
            if let Some(packing) = &mut packing {
                packing.count(policy, &found, &candidate);
            }
            planner.add(&candidate);
        }
        if looked == before {
            if let Some(error) = unread {
                let error = error_chain(&error);
                warn!(error, "the plan lacks entries that cannot be read: no sub-resource goes");
                planner.keep_parts();
            }
            return Ok(planner.plan());
        }
        if !go_on(looked) {
            return Err(NotPurged::Stopping);
        }
    }
}

fn remove_entries(
    spool: &Spool,
    policy: &mut PurgePolicy,
    plan: &mut Plan,
    mut news: NewEntries<'_>,
    go_on: impl Fn(u64) -> bool,
) -> Result<Sum, NotPurged> {
    let (mut removed, mut looked, mut failed) = (Sum::default(), 0, 0);
    let mut sweep = spool.sweep()?;
    if plan.removed_sum().count == 0 {
        return Ok(removed);
    }
    loop {
        // Entries pinned or added during the purge protect their sub-resources too.
        for url in policy.pin(spool.pins()?) {
            plan.keep_site(registrable_domain(url.host()), true);
            news.pinned(&url, plan);
        }
        news.protect_sub_resources(plan, policy);
        let step = sweep.step(|found| news.is_removed(plan, found, policy.candidate(found)))?;
        removed.count += step.removed.count;
        removed.bytes = removed.bytes.saturating_add(step.removed.bytes);
        looked += step.looked;
        failed += step.failed;
        if step.looked == 0 {
            if let Some(error) = sweep.failure() {
                let error = error_chain(&error);
                warn!(failed, error, "some entries could not be read or removed, and stay");
            }
            return Ok(removed);
        }
        if !go_on(looked) {
            return Err(NotPurged::Stopping);
        }
    }
}

fn report(
    plan: &Plan,
    removed: Option<Sum>,
    room: Option<wwwoffle_spool::purge::Space>,
) -> PurgeReport {
    let sum_of = |name: &str, sum: &Sum| PurgeSum {
        why: name.to_owned(),
        entries: sum.count,
        bytes: sum.bytes,
    };
    let mut report = PurgeReport {
        at: plan.now(),
        scale: plan.scale(),
        missing: plan.missing,
        removed: removed.map(|sum| sum_of("removed", &sum)),
        free: room.map(|room| room.free),
        ..PurgeReport::default()
    };
    for (fate, sum) in &plan.fates {
        match fate {
            Fate::Goes(why) => report.goes.push(sum_of(name_of(*why), sum)),
            Fate::Stays(because) => report.stays.push(sum_of(name_of_stay(*because), sum)),
        }
    }
    report
}

fn name_of(why: PurgeReason) -> &'static str {
    match why {
        PurgeReason::Old => "old",
        PurgeReason::Room => "room",
        PurgeReason::NeverGot => "dont-get",
        PurgeReason::NeverKept => "dont-cache",
    }
}

fn name_of_stay(because: KeepReason) -> &'static str {
    match because {
        KeepReason::Young => "young",
        KeepReason::Recent => "recent",
        KeepReason::NoAge => "no-age",
        KeepReason::Pinned => "pinned",
        KeepReason::Needed => "needed",
        KeepReason::PerhapsNeeded => "perhaps-needed",
    }
}

/// Purges in the daemon and remembers the result. Dropping the future does not stop a running
/// purge.
///
/// # Errors
///
/// [`NotPurged`] if the purge failed or did not take place. Earlier removals stay.
pub async fn run(context: &StorageContext, what: PurgeTask) -> Result<PurgeReport, NotPurged> {
    run_in(context, context.purging.take_turn()?, what).await
}

/// Purges for a caller that holds the `turn`.
///
/// # Errors
///
/// [`NotPurged`] like [`run`], but never [`NotPurged::Busy`].
pub async fn run_in(
    context: &StorageContext,
    turn: PurgeTurn,
    what: PurgeTask,
) -> Result<PurgeReport, NotPurged> {
    let purging = &context.purging;
    let (looked, last) = (Arc::clone(&purging.looked), Arc::clone(&purging.last));
    let parts = (context.base.config(), context.base.local.clone());
    let (tasks, index) = (context.base.tasks.clone(), context.index.clone());
    let work = move |spool: &Spool| {
        let go_on = |count| {
            looked.store(count, Ordering::Relaxed);
            !tasks.is_stopping()
        };
        // The uses of the last hour may be only in memory. Without this call they would not count,
        // so an automatic purge is postponed.
        let are_written = index.write_uses(USES_WAIT);
        let done = if are_written || matches!(what, PurgeTask::Plan | PurgeTask::Purge) {
            purge((spool, Some(&index)), parts, what, timestamp(clock::now()), go_on)
        } else {
            Err(NotPurged::Uses)
        };
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        match &done {
            Ok(report) if what == PurgeTask::Plan => last.plan = Some(report.clone()),
            Ok(report) => (last.purge, last.plan) = (Some(report.clone()), None),
            Err(_) => {}
        }
        last.failure = done.as_ref().err().map(|error| error_chain(error));
        // The turn ends first, so that a caller that sees the result can start the next purge.
        drop(turn);
        drop(last);
        Ok(done)
    };
    let done = context.store.run(work).await?;
    if let Ok(report) = &done {
        compress::store_tried(context, report).await;
        share::log(report);
    }
    if let Ok(report) = &done
        && let Some(PurgeSum { entries, bytes, .. }) = report.removed
    {
        info!(entries, bytes, missing = report.missing, "purged");
    }
    done
}

/// The form of a URL in the list of pins: canonical and without credentials. A pin applies to all
/// entries of the URL.
///
/// # Errors
///
/// If `text` is not a URL.
pub fn pinned_url(text: &str, local: &LocalHost) -> Result<String, wwwoffle_url::ParseError> {
    let url = wwwoffle_url::CanonicalUrl::parse(text, local)?;
    Ok(url.without_credentials().as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn reading_the_status_does_not_block_a_purge() {
        let purging = PurgeState::default();
        let ask = || (0..500_000).for_each(|_| assert_eq!(purging.status().looked, 0));
        thread::scope(|scope| {
            let asking = scope.spawn(ask);
            while !asking.is_finished() {
                assert!(purging.take_turn().is_ok());
            }
        });
    }

    #[test]
    fn a_purge_by_age_ignores_only_the_free_space() {
        let (pins, uses) = (std::collections::BTreeSet::new(), Uses::default());
        let policy = PurgePolicy::new(Arc::default(), pins, uses, LocalHost::default());
        let space = Some(Space { total: 9_000, free: 5 });
        for (what, min_free) in [
            (PurgeTask::ByAge, None),
            (PurgeTask::ForRoom, Some((225, 5))),
            (PurgeTask::Purge, Some((225, 5))),
        ] {
            let limits = limits(&policy, what, space);
            assert_eq!((limits.max_size, limits.min_free), (Some(4_500), min_free), "{what:?}");
        }
    }

    #[test]
    fn one_purge_runs_at_a_time() {
        let purging = PurgeState::default();
        assert!(!purging.status().running);
        let turn = purging.take_turn().unwrap();
        assert!(purging.status().running);
        assert!(matches!(purging.take_turn(), Err(NotPurged::Busy)));
        drop(turn);
        assert!(!purging.status().running && purging.take_turn().is_ok());
    }
}
