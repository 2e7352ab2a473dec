//! The circuit breaker of one engine: while it is open, the engine is not asked.

use std::mem::{Discriminant, discriminant};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::{info, warn};

use super::error::TierError;
use crate::base::error_chain::error_chain;

/// The number of deadlines in a row that an engine may miss before it is left alone.
const MAX_MISSED: u32 = 3;

/// The first pause after a failure. Each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause after a failure.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The state of one engine.
#[derive(Debug)]
pub(super) struct Breaker {
    engine: &'static str,
    state: Mutex<BreakerState>,
}

#[derive(Debug, Default)]
struct BreakerState {
    /// The deadlines missed in a row.
    missed: u32,
    open: Option<OpenState>,
}

#[derive(Debug)]
struct OpenState {
    until: Instant,
    pause: Duration,
    kind: Discriminant<TierError>,
    reason: String,
}

impl Breaker {
    pub(super) fn new(engine: &'static str) -> Self {
        Self { engine, state: Mutex::default() }
    }

    /// Whether the engine may be asked at this time.
    pub(super) fn is_closed(&self, now: Instant) -> bool {
        self.lock().open.as_ref().is_none_or(|open| open.until <= now)
    }

    /// Waits until the engine may be asked. Dropping the future has no effect.
    pub(super) async fn wait_until_closed(&self) {
        let until = self.lock().open.as_ref().map(|open| open.until);
        if let Some(until) = until {
            tokio::time::sleep_until(until).await;
        }
    }

    /// The reason why the engine is left alone, if it is.
    pub(super) fn fault(&self) -> Option<String> {
        let state = self.lock();
        state.open.as_ref().map(|open| format!("{}: {}", self.engine, open.reason))
    }

    /// Records an answer.
    pub(super) fn succeeded(&self) {
        let mut state = self.lock();
        state.missed = 0;
        if state.open.take().is_some() {
            info!("the {} of the archive tier answers again", self.engine);
        }
    }

    /// Records a missed deadline. The engine is left alone after [`MAX_MISSED`] in a row.
    pub(super) fn missed(&self) {
        let missed = {
            let mut state = self.lock();
            state.missed += 1;
            state.missed
        };
        if missed >= MAX_MISSED {
            self.failed(&TierError::Timeout);
        }
    }

    /// Records a failure: the engine is left alone for a while. Only the first failure of a kind is
    /// logged.
    pub(super) fn failed(&self, error: &TierError) {
        let mut state = self.lock();
        let (kind, reason) = (discriminant(error), error_chain(error));
        let pause = state.open.as_ref().map_or(FIRST_PAUSE, |open| (open.pause * 2).min(MAX_PAUSE));
        if state.open.as_ref().is_none_or(|open| open.kind != kind) {
            let engine = self.engine;
            warn!(
                error = reason,
                "the {engine} of the archive tier cannot be used; this node works alone until it can"
            );
        }
        state.open = Some(OpenState { until: Instant::now() + pause, pause, kind, reason });
    }

    fn lock(&self) -> MutexGuard<'_, BreakerState> {
        // A panic cannot leave the state inconsistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_engine_is_left_alone_for_longer_after_each_failure() {
        let breaker = Breaker::new("catalogue");
        for _ in 0..2 {
            breaker.missed();
        }
        assert!(breaker.is_closed(Instant::now()), "two missed deadlines are tolerated");
        breaker.missed();
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            let begun = Instant::now();
            assert!(!breaker.is_closed(begun));
            breaker.wait_until_closed().await;
            assert_eq!(begun.elapsed().as_secs(), pause);
            assert!(breaker.is_closed(Instant::now()));
            breaker.failed(&TierError::Timeout);
        }
        assert_eq!(breaker.fault().as_deref(), Some("catalogue: it did not answer in time"));
        breaker.succeeded();
        assert!(breaker.is_closed(Instant::now()) && breaker.fault().is_none());
    }
}
