//! The rate of several downloads together. Pure: the caller passes the time.

use tokio::time::Instant;

use crate::base::pace::Pace;
use wwwoffle_api::TotalProgress;

/// The samples from which the rate and the remaining time are estimated.
#[derive(Clone, Debug, Default)]
pub struct Gauge {
    bytes: Pace,
    left: Pace,
}

impl Gauge {
    /// Adds the rate and the time left to `counted`. The time is omitted if `counted.left` is 0 or
    /// does not fall, or if the mode does not allow fetching now (`moves` is false).
    pub fn measure(&mut self, counted: TotalProgress, moves: bool, now: Instant) -> TotalProgress {
        for (pace, number) in [(&mut self.bytes, counted.bytes), (&mut self.left, counted.left)] {
            if pace.has_begun() { pace.add_sample(now, number) } else { pace.begin(now, number) }
        }
        let time = self.left.time_until_zero().filter(|_| moves && counted.left > 0);
        TotalProgress {
            rate: self.bytes.rise(),
            seconds_left: time.map(|time| time.as_secs()),
            ..counted
        }
    }
}

/// The results since the last start of fetching the queue.
#[derive(Debug, Default)]
pub(super) struct Tally {
    done: u64,
    failed: u64,
}

impl Tally {
    /// Counts a request that was answered or given up.
    pub(super) fn count(&mut self, is_done: bool) {
        let count = if is_done { &mut self.done } else { &mut self.failed };
        *count = count.saturating_add(1);
    }

    /// The progress, with the received `bytes` and the number of requests `left`.
    pub(super) fn progress(&self, bytes: u64, left: u64) -> TotalProgress {
        let (done, failed) = (self.done, self.failed);
        TotalProgress { done, failed, left, bytes, ..TotalProgress::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_remaining_time_is_estimated_only_with_progress() {
        for (moves, left, want) in [
            (true, [40, 30, 20], Some(10)),
            (false, [40, 30, 20], None),
            (true, [40, 50, 60], None),
            (true, [20, 10, 0], None),
        ] {
            let (mut tally, mut gauge) = (Tally::default(), Gauge::default());
            let start = Instant::now();
            let mut last = TotalProgress::default();
            for (index, left) in (0_u64..).zip(left) {
                tally.count(true);
                let now = start + Duration::from_secs(5 * index);
                last = gauge.measure(tally.progress(index * 10_000, left), moves, now);
            }
            tally.count(false);
            assert_eq!(last.seconds_left, want, "{moves} {left:?}");
            assert_eq!((last.done, last.failed, last.rate), (3, 0, Some(2_000)));
        }
    }
}
