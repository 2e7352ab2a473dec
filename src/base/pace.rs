//! Measures how fast a number changed over the last seconds. It does no I/O: the caller passes the
//! time.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// The period over which the rate is measured.
const OVER: Duration = Duration::from_secs(10);

/// The minimum interval between two samples.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The minimum measured period that allows an estimate.
const FORETOLD_FROM: Duration = Duration::from_secs(3);

/// Samples of a number. Memory use is bounded, however often the number is sampled.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// The samples, oldest first.
    looks: VecDeque<(Instant, u64)>,
}

impl Pace {
    /// Starts a new measurement with this sample and discards earlier ones.
    pub fn begin(&mut self, now: Instant, number: u64) {
        self.looks = [(now, number)].into();
    }

    /// Adds a sample. A sample is ignored before [`Pace::begin`], and within half a second after
    /// the last sample.
    pub fn add_sample(&mut self, now: Instant, number: u64) {
        let is_due = |(last, _): &(Instant, u64)| now.duration_since(*last) >= LOOK_EVERY;
        if self.looks.back().is_some_and(is_due) {
            self.looks.push_back((now, number));
        }
        // One older sample must stay for comparison.
        while self.looks.get(1).is_some_and(|(then, _)| now.duration_since(*then) >= OVER) {
            self.looks.pop_front();
        }
    }

    /// Whether the measurement has begun.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        !self.looks.is_empty()
    }

    /// The increase per second, 0 if the number falls. `None` before it can be estimated.
    #[must_use]
    pub fn rise(&self) -> Option<u64> {
        let ((then, before), (now, number)) = (self.looks.front()?, self.looks.back()?);
        let millis = now.duration_since(*then).as_millis();
        let per_second = u128::from(number.saturating_sub(*before)) * 1_000;
        per_second.checked_div(millis).and_then(|rise| u64::try_from(rise).ok())
    }

    /// The estimated time until the number is zero. `None` if it does not fall, or the samples
    /// cover too short a time.
    #[must_use]
    pub fn time_until_zero(&self) -> Option<Duration> {
        let ((then, before), (now, number)) = (self.looks.front()?, self.looks.back()?);
        let (span, fallen) = (now.duration_since(*then), before.checked_sub(*number)?);
        if span < FORETOLD_FROM {
            return None;
        }
        let millis = span.as_millis().saturating_mul(u128::from(*number));
        let millis = millis.checked_div(u128::from(fallen))?;
        Some(Duration::from_millis(u64::try_from(millis).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked_at(numbers: &[(u64, u64)]) -> Pace {
        let (mut pace, start) = (Pace::default(), Instant::now());
        for (index, (millis, number)) in numbers.iter().enumerate() {
            let now = start + Duration::from_millis(*millis);
            if index == 0 { pace.begin(now, *number) } else { pace.add_sample(now, *number) }
        }
        pace
    }

    #[test]
    fn rate_and_remaining_time_are_estimated() {
        for (numbers, rise, nothing) in [
            (&[][..], None, None),
            (&[(0, 9)], None, None),
            (&[(0, 0), (1_000, 500)], Some(500), None),
            // Too soon after the last sample.
            (&[(0, 0), (1_000, 500), (1_100, 900)], Some(500), None),
            (&[(0, 0), (1_000, 500), (5_000, 5_000)], Some(1_000), None),
            // Old samples do not count.
            (&[(0, 0), (1_000, 9_000), (30_000, 9_000), (60_000, 9_000)], Some(0), None),
            (&[(0, 10), (4_000, 8)], Some(0), Some(16)),
            (&[(0, 10), (4_000, 10)], Some(0), None),
            (&[(0, 10), (4_000, 12)], Some(0), None),
            (&[(0, 10), (2_000, 8)], Some(0), None),
            (&[(0, 10), (4_000, 0)], Some(0), Some(0)),
        ] {
            let pace = looked_at(numbers);
            assert_eq!(pace.rise(), rise, "{numbers:?}");
            let seconds = pace.time_until_zero().map(|time| time.as_secs());
            assert_eq!(seconds, nothing, "{numbers:?}");
        }
    }

    #[test]
    fn the_number_of_samples_is_limited() {
        let numbers: Vec<_> = (0..100_000).map(|n| (n * 7, n)).collect();
        assert!(looked_at(&numbers).looks.len() < 30);
    }
}
