//! The progress of a download, for its display.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::time::Instant;

use crate::base::pace::Pace;

/// The progress of a download.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgressSnapshot {
    /// Bytes of the body that have arrived.
    pub bytes: u64,
    /// Bytes of the whole body, if that is known.
    pub total: Option<u64>,
    /// Recent bytes per second; `None` before the first measurement.
    pub rate: Option<u64>,
    /// How often the download was resumed.
    pub resumed: u32,
    /// The wait for the next attempt, if the connection to the origin is broken.
    pub waiting: Option<RetryWait>,
}

impl ProgressSnapshot {
    /// The estimated time for the rest at the current speed; `None` if it cannot be estimated.
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        let rest = self.total?.saturating_sub(self.bytes);
        let rate = self.rate.filter(|_| self.waiting.is_none())?;
        // Rounded up to a whole second, so that the estimate is never too short.
        rest.checked_div(rate)
            .map(|seconds| Duration::from_secs(seconds.saturating_add(u64::from(rest % rate > 0))))
    }
}

/// The wait of a download between two attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryWait {
    /// When the connection broke, before the first of the attempts.
    pub since: SystemTime,
    /// The time of the next attempt. It may have passed already.
    pub next: SystemTime,
    /// Number of consecutive attempts without progress.
    pub attempts: u32,
    /// Why the connection broke, or why the last attempt failed.
    pub error: String,
}

/// The changing progress of a running download.
#[derive(Debug, Default)]
pub(super) struct LiveProgress {
    state: Mutex<ProgressState>,
    /// Whether the download waits between two attempts. Tasks that must react at once subscribe to
    /// this.
    is_waiting: watch::Sender<bool>,
}

#[derive(Debug)]
struct ProgressState {
    /// The progress without its rate, which is measured when the progress is read.
    shown: ProgressSnapshot,
    pace: Pace,
    /// When bytes last arrived, or when the download started or was resumed, whichever is later.
    moved: Instant,
}

impl Default for ProgressState {
    fn default() -> Self {
        Self { shown: ProgressSnapshot::default(), pace: Pace::default(), moved: Instant::now() }
    }
}

impl LiveProgress {
    /// Records that a body starts. An earlier attempt may have saved its first bytes; their number
    /// is `bytes`.
    pub(super) fn start_body(&self, bytes: u64, total: Option<u64>) {
        let mut state = self.lock();
        (state.shown.bytes, state.shown.total) = (bytes, total);
        if bytes > 0 {
            state.shown.resumed += 1;
        }
        state.begin();
    }

    /// Sets the number of bytes that have arrived. A smaller number than before is ignored.
    pub(super) fn set_bytes(&self, bytes: u64) {
        let mut state = self.lock();
        // The bytes of an earlier attempt are copied first. The displayed number must not decrease
        // while they are copied.
        state.shown.bytes = state.shown.bytes.max(bytes);
        state.moved = Instant::now();
        state.add_sample(Instant::now());
    }

    /// Records that the download broke off and now waits for its next attempt.
    pub(super) fn delay(&self, next: SystemTime, now: SystemTime, attempts: usize, error: String) {
        let mut state = self.lock();
        let since = state.shown.waiting.as_ref().map_or(now, |waiting| waiting.since);
        let attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
        state.shown.waiting = Some(RetryWait { since, next, attempts, error });
        self.is_waiting.send_replace(true);
    }

    /// Records that the download continues.
    pub(super) fn record_continuation(&self, total: Option<u64>) {
        let mut state = self.lock();
        state.shown.resumed = state.shown.resumed.saturating_add(1);
        state.shown.total = state.shown.total.or(total);
        state.shown.waiting = None;
        self.is_waiting.send_replace(false);
        // The time without a connection must not affect the measured speed.
        state.begin();
    }

    /// Waits until the download breaks off. Dropping the future has no effect.
    pub(super) async fn wait_for_interruption(&self) {
        // Cannot fail: the sender is in `self`.
        let mut is_waiting = self.is_waiting.subscribe();
        let _waits = is_waiting.wait_for(|is_waiting| *is_waiting).await;
    }

    /// Whether the connection is broken and the download waits for the next attempt.
    pub(super) fn is_waiting(&self) -> bool {
        self.lock().shown.waiting.is_some()
    }

    /// The time since bytes last arrived, or since the download started or was resumed.
    pub(super) fn stalled_for(&self) -> Duration {
        self.lock().moved.elapsed()
    }

    /// A snapshot of the progress.
    pub(super) fn snapshot(&self) -> ProgressSnapshot {
        let mut state = self.lock();
        state.add_sample(Instant::now());
        ProgressSnapshot { rate: state.rate(), ..state.shown.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, ProgressState> {
        // A panic cannot leave the state inconsistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProgressState {
    fn begin(&mut self) {
        self.moved = Instant::now();
        self.pace.begin(Instant::now(), self.shown.bytes);
    }

    fn add_sample(&mut self, now: Instant) {
        self.pace.add_sample(now, self.shown.bytes);
    }

    fn rate(&self) -> Option<u64> {
        if self.shown.waiting.is_some() { Some(0) } else { self.pace.rise() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn the_rate_is_that_of_the_last_seconds() {
        let progress = LiveProgress::default();
        progress.start_body(0, Some(100_000));
        assert_eq!(progress.snapshot().rate, None, "nothing can be said yet");
        for second in 1..=5 {
            advance(Duration::from_secs(1)).await;
            progress.set_bytes(second * 1_000);
        }
        assert_eq!(progress.snapshot().rate, Some(1_000));
        assert_eq!(progress.snapshot().time_left(), Some(Duration::from_secs(95)));
        advance(Duration::from_secs(20)).await;
        assert_eq!(progress.snapshot().rate, Some(0), "nothing has come for long");
        assert_eq!(progress.snapshot().time_left(), None);
        assert_eq!((progress.snapshot().bytes, progress.snapshot().total), (5_000, Some(100_000)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_is_reported_with_its_cause_until_it_ends() {
        let progress = LiveProgress::default();
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        progress.start_body(0, None);
        progress.delay(at(101), at(100), 1, "reset".to_owned());
        progress.delay(at(104), at(102), 2, "refused".to_owned());
        let error = "refused".to_owned();
        let waiting = RetryWait { since: at(100), next: at(104), attempts: 2, error };
        assert_eq!(progress.snapshot().waiting, Some(waiting));
        assert_eq!(progress.snapshot().rate, Some(0));
        progress.record_continuation(Some(7));
        let shown = progress.snapshot();
        assert_eq!((shown.waiting, shown.resumed, shown.total), (None, 1, Some(7)));
    }
}
