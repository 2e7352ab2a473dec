//! Automatic purges: on schedule, and when disk space is low.
//!
//! They run unattended, so an error could go unnoticed. Therefore nothing is removed while the
//! clock may be wrong, and a purge for space is not repeated if removing entries does not free
//! space.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep};
use tracing::{debug, error, warn};
use wwwoffle_config::AgeLimit;
use wwwoffle_spool::purge::space;

use super::room::min_free;
use super::{NotPurged, PurgeTask, run};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::storage::context::StorageContext;
use crate::storage::store::timestamp;
use wwwoffle_api::PurgeReport;

/// Time after a start in which nothing is removed. A machine without a battery for its clock has
/// set the clock by then.
pub const REST: Duration = Duration::from_secs(15 * 60);

/// Interval between checks whether a purge is due or space is short.
const LOOK: Duration = Duration::from_secs(20);

/// The pause after a purge for space, because some file systems free space later.
const AFTER_ROOM: Duration = Duration::from_secs(5 * 60);

/// The pause after a purge that could not free enough, or failed.
const AFTER_TOO_LITTLE: Duration = Duration::from_secs(15 * 60);

/// The maximum difference between the progress of the system clock and the elapsed time. A larger
/// difference is a jump. After a jump, nothing is removed for as long as this constant.
const CLOCK_ASTRAY: Duration = Duration::from_secs(60 * 60);

/// The key of the last automatic purge in the state.
const LAST: &str = "purged";

/// Purges on schedule and when free space is low, until the daemon stops. Purges nothing during the
/// time `rest` after the start. Each daemon runs this in one task.
pub async fn purge_when_due(context: Arc<StorageContext>, rest: Duration) {
    let now = Instant::now();
    let mut clock = PurgeClock::new(now, timestamp(clock::now()), rest);
    let (mut room, mut rests_until) = (SpaceWatch::default(), now);
    let mut pause = rest.min(LOOK);
    loop {
        tokio::select! {
            () = context.base.tasks.stopping() => return,
            () = sleep(pause) => pause = LOOK,
        }
        let (now, space) = (Instant::now(), space(context.store.spool().root()).ok());
        let free = space.map(|space| space.free);
        if !clock.may_be_trusted(now, timestamp(clock::now())) {
            continue;
        }
        let is_short =
            room.is_to_be_made(free, min_free(&context.base.config(), space)) && rests_until <= now;
        if !is_short && !is_time(&context).await {
            continue;
        }
        debug!(is_short, "a purge is due");
        let what = if is_short { PurgeTask::ForRoom } else { PurgeTask::ByAge };
        match run(&context, what).await {
            Ok(report) => {
                if is_short {
                    rests_until = Instant::now() + AFTER_ROOM;
                    log_space(&mut room, free, &report);
                }
                if report.missing > 0 {
                    rests_until = Instant::now() + AFTER_TOO_LITTLE;
                    error!(
                        missing = report.missing,
                        "the spool is too large, and no other entry may be removed"
                    );
                }
                record_purge_time(&context).await;
            }
            Err(NotPurged::Busy | NotPurged::Stopping) => {}
            Err(NotPurged::Uses) => {
                pause = AFTER_ROOM;
                warn!(error = error_chain(&NotPurged::Uses), "purging is postponed");
            }
            Err(NotPurged::Spool(failure)) => {
                (pause, rests_until) = (AFTER_ROOM, Instant::now() + AFTER_TOO_LITTLE);
                error!(error = error_chain(&failure), "the spool cannot be purged");
            }
        }
    }
}

fn log_space(room: &mut SpaceWatch, before: Option<u64>, report: &PurgeReport) {
    let removed = report.removed.as_ref().map_or(0, |removed| removed.bytes);
    if !room.record_removal(before, report.free, removed) {
        error!(
            removed,
            free = report.free,
            "removing entries does not free disk space: are there snapshots, or open files? no \
             entry is removed for space until enough is free"
        );
    }
}

/// A record of whether removing entries frees disk space.
#[derive(Debug, Default)]
struct SpaceWatch {
    /// Whether the last purge freed too little, and no other event has freed enough space since.
    is_held: bool,
}

impl SpaceWatch {
    /// Whether entries must be removed for space. `free` and `least` are bytes.
    fn is_to_be_made(&mut self, free: Option<u64>, least: Option<u64>) -> bool {
        let is_short = free.zip(least).is_some_and(|(free, least)| free < least);
        // If the free space is unknown, `is_held` stays unchanged.
        self.is_held &= is_short || free.is_none();
        is_short && !self.is_held
    }

    /// Records the effect of removing `removed` bytes. Returns false if less than half of them
    /// became free.
    fn record_removal(&mut self, before: Option<u64>, after: Option<u64>, removed: u64) -> bool {
        let gained = before.zip(after).map(|(before, after)| after.saturating_sub(before));
        self.is_held = gained.is_some_and(|gained| gained < removed / 2);
        !self.is_held
    }
}

/// A comparison of the system clock with the elapsed time.
#[derive(Debug)]
struct PurgeClock {
    began: Instant,
    said: Timestamp,
    trusted_from: Instant,
}

impl PurgeClock {
    /// Creates a clock that is trusted after `rest`.
    fn new(began: Instant, said: Timestamp, rest: Duration) -> PurgeClock {
        PurgeClock { began, said, trusted_from: began + rest }
    }

    /// Whether the clock may be trusted. After a jump it is not trusted for [`CLOCK_ASTRAY`], so
    /// that it can be set. A jump is also seen after the machine was asleep.
    fn may_be_trusted(&mut self, now: Instant, says: Timestamp) -> bool {
        let passed = SignedDuration::try_from(now.saturating_duration_since(self.began));
        let apart =
            (says.duration_since(self.said) - passed.unwrap_or(SignedDuration::MAX)).unsigned_abs();
        if apart > CLOCK_ASTRAY {
            (self.began, self.said) = (now, says);
            self.trusted_from = self.trusted_from.max(now + CLOCK_ASTRAY);
        }
        self.trusted_from <= now
    }
}

/// Whether a purge is due, judged by the time of the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PurgeTiming {
    Now,
    Later,
    /// No purge is recorded: the interval begins now.
    FromNow,
    /// The recorded purge is in the future: the clock is wrong now, or was wrong then.
    Unknown,
}

fn due(last: Option<Timestamp>, every: Duration, now: Timestamp) -> PurgeTiming {
    let every = SignedDuration::try_from(every).unwrap_or(SignedDuration::MAX);
    match last {
        None => PurgeTiming::FromNow,
        Some(last) if last > now => PurgeTiming::Unknown,
        Some(last) if now.duration_since(last) >= every => PurgeTiming::Now,
        Some(_) => PurgeTiming::Later,
    }
}

/// Whether the configured time has passed since the last automatic purge.
async fn is_time(context: &StorageContext) -> bool {
    let AgeLimit::At(every) = context.base.config().purge.every else { return false };
    // An unreadable value is not overwritten.
    let Ok(last) = context.store.remembered(LAST).await else { return false };
    let last = last.and_then(|last| last.parse().ok());
    match due(last, every.as_duration(), timestamp(clock::now())) {
        PurgeTiming::Now => true,
        PurgeTiming::Later => false,
        PurgeTiming::FromNow => {
            record_purge_time(context).await;
            false
        }
        PurgeTiming::Unknown => {
            debug!("the last purge is recorded in the future: the next one waits for that time");
            false
        }
    }
}

/// Records the current time as that of the last automatic purge. A recorded time in the future is
/// not replaced.
async fn record_purge_time(context: &StorageContext) {
    let now = timestamp(clock::now());
    let last = context.store.remembered(LAST).await.ok().flatten();
    if last.and_then(|last| last.parse::<Timestamp>().ok()).is_some_and(|last| last > now) {
        return;
    }
    if let Err(failure) = context.store.remember(LAST, now.to_string()).await {
        debug!(error = error_chain(&failure), "the time of the purge cannot be stored");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn a_purge_is_due_after_its_interval() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-11-20T12:00:00Z");
        for (last, want) in [
            (None, PurgeTiming::FromNow),
            (Some("2026-11-19T12:00:00Z"), PurgeTiming::Now),
            (Some("2026-11-19T12:00:01Z"), PurgeTiming::Later),
            (Some("2026-11-20T12:00:00Z"), PurgeTiming::Later),
            (Some("2026-11-20T12:00:01Z"), PurgeTiming::Unknown),
            (Some("2099-01-01T00:00:00Z"), PurgeTiming::Unknown),
            (Some("1970-01-01T00:00:10Z"), PurgeTiming::Now),
        ] {
            assert_eq!(due(last.map(at), 24 * HOUR, now), want, "{last:?}");
        }
    }

    #[test]
    fn clock_is_trusted_after_steady_minutes() {
        let (began, said) = (Instant::now(), "2026-11-20T12:00:00Z".parse::<Timestamp>().unwrap());
        let minutes = |count: u64| Duration::from_secs(60 * count);
        let mut clock = PurgeClock::new(began, said, REST);
        let mut wrong = Vec::new();
        // Minutes after the start, minutes on the clock, and whether the clock is trusted.
        for (passed, says, want) in [
            (0, 0, false),
            (14, 14, false),
            (15, 15, true),
            (16, 70, true),
            // The clock was set, or the machine has slept.
            (20, 5_000_000, false),
            (79, 5_000_059, false),
            (80, 5_000_060, true),
            // The clock was put back.
            (90, 0, false),
            (140, 50, false),
            (150, 60, true),
        ] {
            let got = clock.may_be_trusted(began + minutes(passed), said + minutes(says));
            if got != want {
                wrong.push((passed, says));
            }
        }
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    #[test]
    fn removals_that_free_no_space_end_the_purge() {
        let mut room = SpaceWatch::default();
        assert!(!room.is_to_be_made(Some(10), None) && !room.is_to_be_made(None, Some(10)));
        assert!(room.is_to_be_made(Some(10), Some(100)));
        assert!(room.record_removal(Some(10), Some(60), 100), "half of it");
        assert!(room.is_to_be_made(Some(60), Some(100)));
        assert!(!room.record_removal(Some(60), Some(70), 100));
        assert!(!room.is_to_be_made(Some(70), Some(100)));
        assert!(!room.is_to_be_made(None, Some(100)));
        assert!(!room.is_to_be_made(Some(70), Some(100)), "it has not been enough since");
        assert!(!room.is_to_be_made(Some(100), Some(100)));
        assert!(room.is_to_be_made(Some(70), Some(100)), "it has been");
        assert!(room.record_removal(None, Some(1), 100), "nobody knows");
    }
}
