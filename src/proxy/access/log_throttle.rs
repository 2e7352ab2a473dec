//! Limits log messages that a client could cause without limit.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The shortest interval between two log messages about the same event.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// A counter of events that allows one log message a minute.
#[derive(Debug, Default)]
pub(super) struct LogThrottle(Mutex<Count>);

#[derive(Debug, Default)]
struct Count {
    last: Option<Instant>,
    since: u64,
}

impl LogThrottle {
    /// Counts one more event. If the next log message is due, returns the number of events since
    /// the last message, otherwise `None`.
    pub(super) fn count(&self, now: Instant) -> Option<u64> {
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        count.since += 1;
        let is_time =
            count.last.is_none_or(|last| now.saturating_duration_since(last) >= TELL_EVERY);
        is_time.then(|| {
            count.last = Some(now);
            std::mem::take(&mut count.since)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_refusals_are_logged_in_one_line() {
        let (throttle, now) = (LogThrottle::default(), Instant::now());
        assert_eq!(throttle.count(now), Some(1));
        for _ in 0..1000 {
            assert_eq!(throttle.count(now + Duration::from_secs(59)), None);
        }
        assert_eq!(throttle.count(now + Duration::from_secs(60)), Some(1001));
    }
}
