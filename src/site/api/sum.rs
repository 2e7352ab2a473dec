//! Overall progress, reported by responses that are sent line by line.

use tokio::time::Instant;

use crate::fetch::gauge::Gauge;
use crate::proxy::download::ProgressSnapshot;
use wwwoffle_api::{Event, Hold, TotalProgress};

/// Maximum number of reported reasons for blocked requests.
const MOST_CAUSES: usize = 10;

/// Overall progress of all requests of one call.
#[derive(Debug, Default)]
pub(in crate::site) struct OverallProgress {
    /// Size of the settled responses, in bytes.
    settled: u64,
    gauge: Gauge,
    reported: TotalProgress,
}

impl OverallProgress {
    /// Counts a settled response of this size in bytes.
    pub(in crate::site) fn add_settled(&mut self, bytes: u64) {
        self.settled = self.settled.saturating_add(bytes);
    }

    /// Returns the overall progress, including `under_way` bytes of running downloads; `None` if
    /// the progress did not change since the last report.
    pub(in crate::site) fn update(
        &mut self,
        done: u64,
        failed: u64,
        left: u64,
        under_way: u64,
        moves: bool,
    ) -> Option<TotalProgress> {
        let bytes = self.settled.saturating_add(under_way);
        self.update_from(
            TotalProgress { done, failed, left, bytes, ..TotalProgress::default() },
            moves,
        )
    }

    /// Returns the overall progress from numbers counted elsewhere; `None` if it did not change.
    pub(in crate::site) fn update_from(
        &mut self,
        counted: TotalProgress,
        moves: bool,
    ) -> Option<TotalProgress> {
        let whole = self.gauge.measure(counted, moves, Instant::now());
        let is_new = whole != self.reported;
        self.reported = whole;
        is_new.then_some(whole)
    }
}

/// Reports the requests that are blocked for a long time, for which the call does not wait. A block
/// by the mode is not reported: the user chose the mode.
pub(in crate::site) fn held_events(held: Option<Vec<(Hold, u64)>>) -> impl Iterator<Item = Event> {
    let held = held.into_iter().flatten().filter(|(held, _)| *held != Hold::Mode);
    held.take(MOST_CAUSES).map(|(held, count)| Event::Held { held, count })
}

/// Reports the progress of a download.
pub(in crate::site) fn progress(url: &str, shown: &ProgressSnapshot) -> Event {
    Event::Progress {
        url: url.to_owned(),
        bytes: shown.bytes,
        total: shown.total,
        rate: shown.rate,
        seconds_left: shown.time_left().map(|time| time.as_secs()),
    }
}
