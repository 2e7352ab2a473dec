//! Compression during a purge: of entries that have reached `compress-age`, after the removals.
//!
//! An entry that did not become smaller is not tried again in each purge. For this, the time and
//! rules of the last complete compression are stored. Entries that were old enough then, and were
//! not written since, have been tried. If the rules change, all entries are tried again.
//!
//! A purge for space does not compress, because it must be fast. Compression stops when free space
//! falls below the limit, and after one hour. The next purge continues.

use std::cell::Cell;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tracing::{debug, warn};
use wwwoffle_spool::purge::plan::{self, GRACE, PurgeCandidate, Sum};
use wwwoffle_spool::purge::{CompressFailure, CompressStep, SizedEntry, space};
use wwwoffle_spool::{Error, RewriteBounds, Spool};

use super::policy::PurgePolicy;
use super::{NotPurged, PurgeTask};
use crate::base::error_chain::error_chain;
use crate::storage::context::StorageContext;
use crate::storage::purge::room::min_free_at;
use wwwoffle_api::{PurgeCompressed, PurgeReport, PurgeSum};

/// The key of the last compression in the state.
const TRIED: &str = "compressed";

/// The minimum size of a file, in bytes. A smaller file would not use less space on the disk after
/// compression.
const LEAST: u64 = 4_096;

/// The time limit of compression in one purge. No other purge starts until compression ends.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// The entries to compress in one purge.
#[derive(Clone, Debug)]
pub(super) struct CompressionPlan {
    now: Timestamp,
    by_stored: bool,
    /// A digest of the rules.
    rules: String,
    /// The time of the last compression by the same rules.
    last: Option<Timestamp>,
    /// The number and size of the counted entries.
    sum: Sum,
}

impl CompressionPlan {
    /// Creates the plan. `None` if the configuration compresses nothing, or the purge is for space.
    pub(super) fn new(
        spool: &Spool,
        policy: &PurgePolicy,
        what: PurgeTask,
        now: Timestamp,
    ) -> Result<Option<Self>, Error> {
        let Some(rules) = policy.compress_rules().filter(|_| what != PurgeTask::ForRoom) else {
            return Ok(None);
        };
        let rules = hex::encode(Sha256::digest(rules).get(..8).unwrap_or_default());
        let tried = spool.state()?.0.value(TRIED).map(str::to_owned);
        let last = tried.and_then(|tried| last_by(&tried, &rules)).filter(|last| *last <= now);
        let by_stored = policy.limits(None).by_stored;
        Ok(Some(Self { now, by_stored, rules, last, sum: Sum::default() }))
    }

    /// Whether an entry is to be compressed.
    fn is_meant(
        &self,
        policy: &PurgePolicy,
        found: &SizedEntry,
        candidate: &PurgeCandidate,
    ) -> bool {
        if found.summary.plain_len.is_some() || found.summary.file_len <= LEAST {
            return false;
        }
        let Some(limit) = policy.compress_age(found) else { return false };
        let is_of_age = |at| plan::age(candidate, self.by_stored, at) >= limit.max(GRACE);
        let was_tried =
            |last| found.written.is_some_and(|written| written < last) && is_of_age(last);
        is_of_age(self.now) && !self.last.is_some_and(was_tried)
    }

    /// Counts an entry, if it is to be compressed.
    pub(super) fn count(
        &mut self,
        policy: &PurgePolicy,
        found: &SizedEntry,
        candidate: &PurgeCandidate,
    ) {
        if self.is_meant(policy, found, candidate) {
            self.sum.count += 1;
            self.sum.bytes = self.sum.bytes.saturating_add(found.size);
        }
    }

    /// The count for the report.
    pub(super) fn summary(&self) -> PurgeSum {
        PurgeSum { why: "compress".to_owned(), entries: self.sum.count, bytes: self.sum.bytes }
    }

    /// Compresses the entries. A failure becomes part of the result, because the removals of this
    /// purge stay valid. The only error is [`NotPurged::Stopping`]. `go_on` is also called within
    /// large files.
    pub(super) fn compress_entries(
        &self,
        spool: &Spool,
        policy: &PurgePolicy,
        go_on: &dyn Fn(u64) -> bool,
    ) -> Result<PurgeCompressed, NotPurged> {
        let (mut all, mut first) = (CompressStep::default(), None);
        let is_any = self.sum.count > 0;
        let done = if is_any {
            self.walk(spool, policy, (&mut all, &mut first), go_on)
        } else {
            Ok(WalkEnd::ToItsEnd)
        };
        let failure = match done {
            Ok(WalkEnd::ToItsEnd) => None,
            Ok(WalkEnd::Stopped) => return Err(NotPurged::Stopping),
            Ok(WalkEnd::TooLong) => Some("the next purge continues".to_owned()),
            Ok(WalkEnd::NoRoom) => Some("there is too little free disk space".to_owned()),
            Err(error) => Some(error_chain(&error)),
        };
        let CompressStep { entries, before, after, failed, .. } = all;
        if let Some(failure) = &failure {
            warn!(failure, "compressing ended early");
        }
        let first_failure = first.map(|failure| match failure {
            CompressFailure::NoRoom => "there is too little disk space".to_owned(),
            CompressFailure::Failed(error) => error_chain(&error),
        });
        if let Some(failure) = &first_failure {
            warn!(
                failed,
                failure, "some entries that have reached their age could not be compressed"
            );
        }
        // Failed entries are tried again only after they were rewritten, or with other rules.
        let tried = failure.is_none().then(|| format!("{} {}", self.now, self.rules));
        Ok(PurgeCompressed { entries, before, after, failed, first_failure, failure, tried })
    }

    fn walk(
        &self,
        spool: &Spool,
        policy: &PurgePolicy,
        (all, first): (&mut CompressStep, &mut Option<CompressFailure>),
        go_on: &dyn Fn(u64) -> bool,
    ) -> Result<WalkEnd, Error> {
        let (began, looked) = (Instant::now(), Cell::new(0));
        let free = || space(spool.root()).ok().map(|space| space.free);
        let within = || began.elapsed() < LONGEST && go_on(looked.get());
        let bounds = RewriteBounds::new(min_free_at(policy.config(), spool.root()), &free, &within);
        let mut packing = spool.compression()?;
        let is_meant = |found: &_| self.is_meant(policy, found, &policy.candidate(found));
        loop {
            let step = packing.step(is_meant, &bounds)?;
            all.add(&step);
            looked.set(all.looked);
            if first.is_none() {
                *first = packing.failure();
            }
            if !go_on(all.looked) {
                return Ok(WalkEnd::Stopped);
            }
            if step.is_short {
                return Ok(WalkEnd::NoRoom);
            }
            if step.looked == 0 {
                return Ok(WalkEnd::ToItsEnd);
            }
            if step.is_stopped || began.elapsed() >= LONGEST {
                return Ok(WalkEnd::TooLong);
            }
        }
    }
}

/// The result of the walk through the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WalkEnd {
    ToItsEnd,
    Stopped,
    TooLong,
    NoRoom,
}

/// The time of the last compression, if it was by these rules.
fn last_by(tried: &str, rules: &str) -> Option<Timestamp> {
    let (at, by) = tried.split_once(' ')?;
    at.parse().ok().filter(|_| by == rules)
}

fn tried_text(report: &PurgeReport) -> Option<String> {
    report.compressed.as_ref()?.tried.clone()
}

/// Stores the time and rules of the compression in the daemon's state.
pub(super) async fn store_tried(context: &StorageContext, report: &PurgeReport) {
    let Some(tried) = tried_text(report) else { return };
    if let Err(failure) = context.store.remember(TRIED, tried).await {
        debug!(error = error_chain(&failure), "the tried entries cannot be recorded");
    }
}

/// Stores the time and rules of the compression, without a daemon.
///
/// # Errors
///
/// If the disk fails or is full.
pub fn store_tried_without_daemon(spool: &Spool, report: &PurgeReport) -> Result<(), Error> {
    let Some(tried) = tried_text(report) else { return Ok(()) };
    let (mut state, _) = spool.state()?;
    state.set_value(TRIED, &tried)?;
    spool.set_state(&state)
}

#[cfg(test)]
mod tests {
    use super::last_by;

    #[test]
    fn failed_compressions_are_remembered_for_the_same_rules() {
        let at = "2026-11-20T13:13:26.123456Z";
        let time = Some(at.parse().unwrap());
        for (tried, want) in [
            (format!("{at} 00ff"), time),
            (format!("{at} 00fe"), None),
            (at.to_owned(), None),
            ("now 00ff".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(last_by(&tried, "00ff"), want, "{tried}");
        }
    }
}
