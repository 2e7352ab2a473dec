//! What answers that come line by line tell of how far all of it has come.

use tokio::time::Instant;

use crate::api::{Event, Held, Whole};
use crate::fetch::gauge::Gauge;
use crate::proxy::download::ProgressSnapshot;

/// How many causes are told of what is held back.
const MOST_CAUSES: usize = 10;

/// What has come of all that one call has asked for.
#[derive(Debug, Default)]
pub(super) struct Sum {
    /// Bytes of what is settled.
    settled: u64,
    gauge: Gauge,
    told: Whole,
}

impl Sum {
    /// One has come, with so many bytes.
    pub(super) fn came(&mut self, bytes: u64) {
        self.settled = self.settled.saturating_add(bytes);
    }

    /// All of it, with so many bytes `under_way`; `None` when nothing is new since it was told last.
    pub(super) fn whole(
        &mut self,
        done: u64,
        failed: u64,
        left: u64,
        under_way: u64,
        moves: bool,
    ) -> Option<Whole> {
        let bytes = self.settled.saturating_add(under_way);
        self.measured(Whole { done, failed, left, bytes, ..Whole::default() }, moves)
    }

    /// The same of what was counted elsewhere.
    pub(super) fn measured(&mut self, counted: Whole, moves: bool) -> Option<Whole> {
        let whole = self.gauge.measure(counted, moves, Instant::now());
        let is_new = whole != self.told;
        self.told = whole;
        is_new.then_some(whole)
    }
}

/// What is held back for long, and not waited for. The mode is no news to whoever has chosen it.
pub(super) fn held_back(held: Option<Vec<(Held, u64)>>) -> impl Iterator<Item = Event> {
    let held = held.into_iter().flatten().filter(|(held, _)| *held != Held::Mode);
    held.take(MOST_CAUSES).map(|(held, count)| Event::Held { held, count })
}

/// How far a download has come.
pub(super) fn progress(url: &str, shown: &ProgressSnapshot) -> Event {
    Event::Progress {
        url: url.to_owned(),
        bytes: shown.bytes,
        total: shown.total,
        rate: shown.rate,
        seconds_left: shown.time_left().map(|time| time.as_secs()),
    }
}
