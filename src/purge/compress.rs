//! What a purge compresses: what has reached `compress-age`, after all that goes is gone.
//!
//! What did not become smaller once is not tried at each purge again. For that it is remembered when the last
//! one was that came to its end, and by which rules: what was of its age then, and has not been written since,
//! has been tried. By other rules everything is tried once more.
//!
//! For room nothing is compressed: that has to be quick, and what fills the disk does not wait.

use std::fmt::Write as _;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tracing::{debug, warn};
use wwwoffle_spool::purge::plan::{self, Candidate, GRACE, Sum};
use wwwoffle_spool::purge::{Found, Packed};
use wwwoffle_spool::{Error, Spool};

use super::policy::Policy;
use super::{NotPurged, What};
use crate::api::{PurgeCompressed, PurgeReport, PurgeSum};
use crate::daemon::Daemon;
use crate::error_chain::error_chain;

/// Under which key of the state it is remembered what was tried.
const TRIED: &str = "compressed";

/// A file that takes no more of the disk, in bytes, takes less by nothing.
const LEAST: u64 = 4_096;

/// What is to be compressed, as one purge sees it.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    now: Timestamp,
    by_stored: bool,
    /// A digest of the rules.
    rules: String,
    /// When the last one by the same rules was.
    last: Option<Timestamp>,
    /// What was counted.
    sum: Sum,
}

impl Wanted {
    /// `None` where nothing is to be compressed.
    pub(super) fn new(
        spool: &Spool,
        policy: &Policy,
        what: What,
        now: Timestamp,
    ) -> Result<Option<Self>, Error> {
        let Some(rules) = policy.compress_rules().filter(|_| what != What::ForRoom) else {
            return Ok(None);
        };
        let rules = Sha256::digest(rules).iter().take(8).fold(String::new(), |mut text, byte| {
            let _infallible = write!(text, "{byte:02x}");
            text
        });
        let tried = spool.state()?.0.value(TRIED).map(str::to_owned);
        let last = tried.and_then(|tried| last_by(&tried, &rules)).filter(|last| *last <= now);
        let by_stored = policy.limits(None).by_stored;
        Ok(Some(Self { now, by_stored, rules, last, sum: Sum::default() }))
    }

    /// Whether an entry is to be compressed.
    fn is_meant(&self, policy: &Policy, found: &Found, candidate: &Candidate) -> bool {
        if found.summary.plain_len.is_some() || found.summary.file_len <= LEAST {
            return false;
        }
        let Some(limit) = policy.compress_age(found) else { return false };
        let is_of_age = |at| plan::age(candidate, self.by_stored, at) >= limit.max(GRACE);
        let was_tried =
            |last| found.written.is_some_and(|written| written < last) && is_of_age(last);
        is_of_age(self.now) && !self.last.is_some_and(was_tried)
    }

    /// Counts an entry, if it is meant.
    pub(super) fn count(&mut self, policy: &Policy, found: &Found, candidate: &Candidate) {
        if self.is_meant(policy, found, candidate) {
            self.sum.count += 1;
            self.sum.bytes = self.sum.bytes.saturating_add(found.size);
        }
    }

    /// What was counted, for the report.
    pub(super) fn told(&self) -> PurgeSum {
        PurgeSum { why: "compress".to_owned(), entries: self.sum.count, bytes: self.sum.bytes }
    }

    /// Compresses it. That it fails is told in what comes of it: what was removed stays so.
    pub(super) fn carry_out(
        &self,
        spool: &Spool,
        policy: &Policy,
        go_on: impl Fn(u64) -> bool,
    ) -> Result<PurgeCompressed, NotPurged> {
        let mut all = Packed::default();
        let is_any = self.sum.count > 0;
        let done = if is_any { self.walk(spool, policy, &mut all, go_on) } else { Ok(true) };
        let failure = match done {
            Ok(true) => None,
            Ok(false) => return Err(NotPurged::Stopping),
            Err(error) => {
                warn!(error = error_chain(&error), "compressing ended before its end");
                Some(error_chain(&error))
            }
        };
        let tried = failure.is_none().then(|| format!("{} {}", self.now, self.rules));
        let Packed { entries, before, after, .. } = all;
        Ok(PurgeCompressed { entries, before, after, failure, tried })
    }

    /// False: it is not to go on.
    fn walk(
        &self,
        spool: &Spool,
        policy: &Policy,
        all: &mut Packed,
        go_on: impl Fn(u64) -> bool,
    ) -> Result<bool, Error> {
        let mut packing = spool.packing()?;
        let is_meant = |found: &_| self.is_meant(policy, found, &policy.candidate(found));
        loop {
            let step = packing.step(is_meant)?;
            all.add(&step);
            if step.looked == 0 {
                return Ok(true);
            }
            if !go_on(all.looked) {
                return Ok(false);
            }
        }
    }
}

/// When the last one was, if it was by these rules.
fn last_by(tried: &str, rules: &str) -> Option<Timestamp> {
    let (at, by) = tried.split_once(' ')?;
    at.parse().ok().filter(|_| by == rules)
}

fn tried(report: &PurgeReport) -> Option<String> {
    report.compressed.as_ref()?.tried.clone()
}

/// Remembers in the daemon what was tried.
pub(super) async fn remember(daemon: &Daemon, report: &PurgeReport) {
    let Some(tried) = tried(report) else { return };
    if let Err(failure) = daemon.store.remember(TRIED, tried).await {
        debug!(error = error_chain(&failure), "what was compressed is not remembered");
    }
}

/// The same without a daemon.
///
/// # Errors
///
/// When the disk fails or is full.
pub fn remember_alone(spool: &Spool, report: &PurgeReport) -> Result<(), Error> {
    let Some(tried) = tried(report) else { return Ok(()) };
    let (mut state, _) = spool.state()?;
    state.set_value(TRIED, &tried)?;
    spool.set_state(&state)
}

#[cfg(test)]
mod tests {
    use super::last_by;

    #[test]
    fn what_was_tried_holds_for_the_same_rules() {
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
