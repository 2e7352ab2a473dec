//! The running recursive fetches, and those that ended recently.
//!
//! `keep` reads and writes them, `outcome` records the results of requests.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::Notify;
use wwwoffle_spool::{Outgoing, RunId, share_name};
use wwwoffle_url::CanonicalUrl;

use super::begin::NotBegun;
use super::run::{FailedUrl, LeftOut, Report, Run, RunDecision, UrlOutcome, links_left};
use wwwoffle_api::runs::RunItem;

/// The number of ended runs whose reports are stored.
const MAX_ENDED: usize = 50;

/// The maximum number of concurrent runs.
pub const MAX_RUNS: usize = 200;

/// The maximum number of concurrent runs of one user or guest. Runs of this machine have no such
/// limit.
pub const MAX_OWNED_RUNS: usize = 20;

/// All runs of a daemon.
#[derive(Debug, Default)]
pub struct Runs {
    known: Mutex<BTreeMap<RunId, Run>>,
    /// Runs whose stored text is outdated, or must be removed.
    changed: Mutex<HashSet<RunId>>,
    news: Notify,
}

/// The public description of a run.
fn item(run: &Run) -> RunItem {
    RunItem {
        id: run.id.to_string(),
        owner: run.owner.clone(),
        start: run.starts().first().map(|start| start.as_str().to_owned()).unwrap_or_default(),
        spec: run.spec.clone(),
        begun: run.begun,
        ended: run.ended,
        waiting: u64::try_from(run.waiting_count()).unwrap_or(u64::MAX),
        report: run.report.clone(),
    }
}

impl Runs {
    /// Calls `look` with a run. `None` if the run is not known.
    pub fn with_run<T>(&self, id: RunId, look: impl FnOnce(&Run) -> T) -> Option<T> {
        self.lock().get(&id).map(look)
    }

    /// Calls `change` with a run that has not ended. `None` if there is no such run.
    pub(super) fn change<T>(&self, id: RunId, change: impl FnOnce(&mut Run) -> T) -> Option<T> {
        let mut known = self.lock();
        let run = known.get_mut(&id).filter(|run| run.ended.is_none())?;
        let done = change(run);
        drop(known);
        self.mark(id);
        Some(done)
    }

    /// All runs, the newest first.
    #[must_use]
    pub fn list(&self) -> Vec<RunItem> {
        let mut list: Vec<_> = self.lock().values().map(item).collect();
        list.sort_by_key(|run| std::cmp::Reverse(run.begun));
        list
    }

    /// The state of one run; `None` if the run is not known.
    #[must_use]
    pub fn item(&self, id: RunId) -> Option<RunItem> {
        self.with_run(id, item)
    }

    /// Adds a run.
    ///
    /// # Errors
    ///
    /// [`NotBegun::TooMany`] or [`NotBegun::ShareUsedUp`] if too many runs have not ended.
    pub(in crate::fetch) fn add(&self, run: Run) -> Result<(), NotBegun> {
        let id = run.id;
        {
            let mut known = self.lock();
            let active = || known.values().filter(|run| run.ended.is_none());
            if active().count() >= MAX_RUNS {
                return Err(NotBegun::TooMany);
            }
            if let Some(share) = run.owner.as_deref().map(share_name) {
                let owners = active().filter_map(|run| run.owner.as_deref());
                if owners.filter(|owner| share_name(owner) == share).count() >= MAX_OWNED_RUNS {
                    return Err(NotBegun::ShareUsedUp);
                }
            }
            known.insert(id, run);
        }
        self.mark(id);
        Ok(())
    }

    /// Ends a run if no request of it waits, and returns its report. `None` if the run continues or
    /// has ended before.
    pub(super) fn end_if_done(&self, id: RunId, now: Timestamp) -> Option<Report> {
        let mut known = self.lock();
        let run =
            known.get_mut(&id).filter(|run| run.ended.is_none() && run.waiting_count() == 0)?;
        run.end(now);
        let report = run.report.clone();
        drop(known);
        self.mark(id);
        Some(report)
    }

    /// Forgets a run completely.
    pub(super) fn forget(&self, id: RunId) {
        if self.lock().remove(&id).is_some() {
            self.mark(id);
        }
    }

    /// Adds stored runs and returns their identifiers. Runs that were started in the meantime stay
    /// unchanged.
    pub(in crate::fetch) fn take_in(&self, runs: Vec<Run>) -> Vec<RunId> {
        let mut known = self.lock();
        let mut taken = Vec::new();
        for run in runs {
            if let Entry::Vacant(place) = known.entry(run.id) {
                taken.push(run.id);
                place.insert(run);
            }
        }
        taken
    }

    /// Waits until a run changes. Later changes are reported only after a call of
    /// [`take_changed`](Self::take_changed).
    pub(super) async fn changed(&self) {
        self.news.notified().await;
    }

    /// Returns the runs changed since the last call.
    pub(super) fn take_changed(&self) -> HashSet<RunId> {
        std::mem::take(&mut *lock(&self.changed))
    }

    /// If there are too many ended runs, forgets those that ended first.
    pub(super) fn forget_the_oldest(&self) {
        let mut ended: Vec<_> =
            self.lock().values().filter_map(|run| Some((run.ended?, run.id))).collect();
        ended.sort_unstable();
        let surplus = ended.len().saturating_sub(MAX_ENDED);
        for (_, id) in ended.into_iter().take(surplus) {
            self.forget(id);
        }
    }

    /// Records the result of a request for all its runs.
    pub(in crate::fetch) fn record(&self, outgoing: &Outgoing, outcome: UrlOutcome, bytes: u64) {
        let key = outgoing.summary.place.key();
        for member in &outgoing.summary.runs {
            self.change(member.run, |run| run.record(&key, outcome, bytes));
        }
    }

    /// Records that a request failed.
    pub(in crate::fetch) fn failed(&self, outgoing: &Outgoing, reason: &str, dead: bool) {
        let key = outgoing.summary.place.key();
        for member in &outgoing.summary.runs {
            let failed = FailedUrl {
                url: outgoing.summary.place.url().to_owned(),
                from: outgoing.summary.page.clone(),
                reason: reason.to_owned(),
                dead,
            };
            self.change(member.run, |run| run.failed(&key, failed));
        }
    }

    /// Records that the URL of a request is left out.
    pub(in crate::fetch) fn record_exclusion(&self, outgoing: &Outgoing, why: LeftOut) {
        let (key, url) = (outgoing.summary.place.key(), outgoing.summary.place.url());
        for member in &outgoing.summary.runs {
            self.change(member.run, |run| run.record_exclusion(&key, url, why));
        }
    }

    /// Passes the target `new` of a redirect from `old` to the runs that wanted `old`, as far as
    /// their limits allow. Returns false if no run wants `new`.
    pub(super) fn redirected(
        &self,
        from: &Outgoing,
        to: &mut Outgoing,
        [old, new]: [&CanonicalUrl; 2],
        now: Timestamp,
    ) -> bool {
        let key = to.summary.place.key();
        to.summary.runs.retain(|member| {
            let step = self.change(member.run, |run| {
                run.record_redirect(old, new);
                if from.summary.class.is_some() {
                    run.part(new.as_str(), key, links_left(true, member.depth), now)
                } else {
                    run.page(new, key, member.depth, now)
                }
            });
            step.is_some_and(is_to_do)
        });
        !to.summary.runs.is_empty()
    }

    fn mark(&self, id: RunId) {
        let is_first = {
            let mut changed = lock(&self.changed);
            changed.insert(id);
            changed.len() == 1
        };
        if is_first {
            self.news.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, Run>> {
        lock(&self.known)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic leaves valid data: each change is one call, or only changes a count.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the decision about a URL requires a request.
pub(super) fn is_to_do(step: Result<RunDecision, LeftOut>) -> bool {
    matches!(step, Ok(RunDecision::Fetch | RunDecision::Follow))
}

#[cfg(test)]
mod tests {
    use wwwoffle_api::fetch_spec::FetchSpec;
    use wwwoffle_url::LocalHost;

    use super::*;

    #[test]
    fn one_owner_cannot_use_all_runs() {
        let runs = Runs::default();
        let mut number = 0;
        let mut add = |owner: Option<&str>| {
            number += 1;
            let url = CanonicalUrl::parse("http://a.test/", &LocalHost::default()).unwrap();
            let owner = owner.map(str::to_owned);
            let id = RunId::from_number(number);
            runs.add(Run::new(id, owner, url, FetchSpec::default(), Timestamp::UNIX_EPOCH))
        };
        for host in 0..MAX_OWNED_RUNS {
            add(Some(&format!("client:2001:db8::{host:x}"))).unwrap();
        }
        let refused = add(Some("client:2001:db8::ffff")).unwrap_err();
        assert!(matches!(refused, NotBegun::ShareUsedUp), "{refused:?}");
        add(Some("client:2001:db8:0:1::1")).unwrap();
        add(Some("user:ada")).unwrap();
        for _ in MAX_OWNED_RUNS + 2..MAX_RUNS {
            add(None).unwrap();
        }
        assert!(matches!(add(None).unwrap_err(), NotBegun::TooMany));
    }
}
