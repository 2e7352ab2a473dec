//! The rate of several downloads together. Pure: the caller passes the time.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::Instant;

use crate::base::pace::Pace;
use crate::proxy::download::Meter;
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

/// The largest number of owners whose results are counted separately.
const MAX_OWNERS: usize = 1_000;

/// The results since the last start of fetching the queue.
#[derive(Debug, Default)]
pub(super) struct Tally {
    all: ResultCounts,
    /// The results of each owner, as the text of an `Owner`.
    owned: HashMap<String, ResultCounts>,
}

#[derive(Debug, Default)]
struct ResultCounts {
    done: u64,
    failed: u64,
    /// Counts the bytes of one owner.
    meter: Arc<Meter>,
}

impl ResultCounts {
    fn count(&mut self, is_done: bool) {
        let count = if is_done { &mut self.done } else { &mut self.failed };
        *count = count.saturating_add(1);
    }

    fn progress(&self, bytes: u64, left: u64) -> TotalProgress {
        let (done, failed) = (self.done, self.failed);
        TotalProgress { done, failed, left, bytes, ..TotalProgress::default() }
    }
}

impl Tally {
    /// Counts a request of `owner` that was answered or given up.
    pub(super) fn count(&mut self, owner: &str, is_done: bool) {
        self.all.count(is_done);
        if let Some(own) = self.of(owner) {
            own.count(is_done);
        }
    }

    /// The results of an owner. `None` if there are too many owners.
    fn of(&mut self, owner: &str) -> Option<&mut ResultCounts> {
        let has_room = self.owned.len() < MAX_OWNERS || self.owned.contains_key(owner);
        has_room.then(|| self.owned.entry(owner.to_owned()).or_default())
    }

    /// The meter for downloads of `owner`. `whole` counts and limits those of all owners.
    pub(super) fn meter(&mut self, owner: &str, whole: Arc<Meter>) -> Arc<Meter> {
        let Some(own) = self.of(owner) else { return whole };
        if !own.meter.is_part() {
            own.meter = Arc::new(Meter::part_of(whole));
        }
        Arc::clone(&own.meter)
    }

    /// The progress of all requests, with the received `bytes` and the number of requests `left`.
    pub(super) fn progress(&self, bytes: u64, left: u64) -> TotalProgress {
        self.all.progress(bytes, left)
    }

    /// The progress of the requests of `owner`, with the number of requests `left`.
    pub(super) fn progress_of(&self, owner: &str, left: u64) -> TotalProgress {
        let own = self.owned.get(owner);
        own.map_or_else(
            || TotalProgress { left, ..TotalProgress::default() },
            |own| own.progress(own.meter.used(), left),
        )
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
                tally.count("local", true);
                let now = start + Duration::from_secs(5 * index);
                last = gauge.measure(tally.progress(index * 10_000, left), moves, now);
            }
            tally.count("local", false);
            assert_eq!(last.seconds_left, want, "{moves} {left:?}");
            assert_eq!((last.done, last.failed, last.rate), (3, 0, Some(2_000)));
        }
    }

    #[test]
    fn each_owner_has_counts_of_their_own() {
        let (mut tally, whole) = (Tally::default(), Arc::new(Meter::default()));
        whole.allow(Some(150));
        assert!(!tally.meter("user:ada", Arc::clone(&whole)).count(60));
        assert!(!tally.meter("user:ada", Arc::clone(&whole)).count(40));
        assert!(!tally.meter("user:bob", Arc::clone(&whole)).count(7));
        for (owner, is_done) in [("user:ada", true), ("user:ada", false), ("user:bob", true)] {
            tally.count(owner, is_done);
        }
        let of = |owner: &str| {
            let TotalProgress { done, failed, left, bytes, .. } = tally.progress_of(owner, 5);
            (done, failed, left, bytes)
        };
        assert_eq!(of("user:ada"), (1, 1, 5, 100));
        assert_eq!(of("user:bob"), (1, 0, 5, 7));
        assert_eq!(of("user:eve"), (0, 0, 5, 0));
        let all = tally.progress(whole.used(), 9);
        assert_eq!((all.done, all.failed, all.left, all.bytes), (2, 1, 9, 107));
        // The limit is that of all owners.
        assert!(tally.meter("user:bob", Arc::clone(&whole)).count(43));
        assert!(tally.meter("user:ada", Arc::clone(&whole)).is_empty());
        for number in 0..2 * MAX_OWNERS {
            tally.count(&format!("client:{number}"), false);
        }
        assert!(tally.owned.len() <= MAX_OWNERS);
        assert_eq!(of_ada(&tally), 1, "an owner that is known is counted on");
    }

    fn of_ada(tally: &Tally) -> u64 {
        tally.progress_of("user:ada", 0).done
    }
}
