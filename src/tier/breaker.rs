//! The circuit breaker of one engine: while it is open, the engine is not asked.

use std::mem::{Discriminant, discriminant};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::error::TierError;
use crate::base::error_chain::error_chain;

/// The number of deadlines in a row that an engine may miss before it is left alone.
const MAX_MISSED: u32 = 3;

/// The first pause after a failure. Each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause after a failure.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The time for which one call after a pause keeps all others away.
const TRIAL: Duration = Duration::from_secs(10);

/// The state of one engine.
#[derive(Debug)]
pub(super) struct Breaker {
    engine: &'static str,
    /// The breaker that reports failures of the same engine, if there is another one.
    reporter: Option<Arc<Breaker>>,
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
    /// Whether the pause is over, and one call tries the engine.
    is_tried: bool,
    /// Whether lookups were too late. Then only a lookup in time ends it, not a connection.
    is_late: bool,
    kind: Discriminant<TierError>,
    reason: String,
}

impl Breaker {
    pub(super) fn new(engine: &'static str) -> Self {
        Self { engine, reporter: None, state: Mutex::default() }
    }

    /// A breaker for other calls of the same engine. While `reporter` is open, it logs nothing.
    pub(super) fn beside(reporter: &Arc<Self>) -> Self {
        let engine = reporter.engine;
        Self { engine, reporter: Some(Arc::clone(reporter)), state: Mutex::default() }
    }

    fn is_open(&self) -> bool {
        self.lock().open.is_some()
    }

    /// Whether the engine may be asked now. After a pause, only one call may ask it; the others may
    /// when it has answered.
    pub(super) fn admit(&self) -> bool {
        let (now, mut state) = (Instant::now(), self.lock());
        match &mut state.open {
            None => true,
            Some(open) if open.until <= now => {
                (open.until, open.is_tried) = (now + TRIAL, true);
                true
            }
            Some(_) => false,
        }
    }

    /// Waits until [`Breaker::admit`] admits the caller. Dropping the future has no effect.
    pub(super) async fn wait_until_admitted(&self) {
        while !self.admit() {
            let until = self.lock().open.as_ref().map(|open| open.until);
            if let Some(until) = until {
                tokio::time::sleep_until(until).await;
            }
        }
    }

    /// Whether the engine is left alone now.
    pub(super) fn is_pausing(&self) -> bool {
        let now = Instant::now();
        self.lock().open.as_ref().is_some_and(|open| !open.is_tried && open.until > now)
    }

    /// Waits until no pause is left, without keeping other calls away. Dropping the future has no
    /// effect.
    pub(super) async fn wait_out(&self) {
        while self.is_pausing() {
            let until = self.lock().open.as_ref().map(|open| open.until);
            if let Some(until) = until {
                tokio::time::sleep_until(until).await;
            }
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
        if state.open.take().is_some() && self.reporter.is_none() {
            info!("the {} of the archive tier answers again", self.engine);
        }
    }

    /// Records a new connection. After late lookups, the next lookup tries the engine at once.
    pub(super) fn connected(&self) {
        let mut state = self.lock();
        match &mut state.open {
            Some(open) if open.is_late => open.until = Instant::now(),
            _ => {
                drop(state);
                self.succeeded();
            }
        }
    }

    /// Records a missed deadline. Returns whether the caller gives up its connection: at the first
    /// time that there were too many. If a new connection is as late, the network is slow.
    pub(super) fn missed(&self) -> bool {
        let (is_open, missed) = {
            let mut state = self.lock();
            state.missed += 1;
            (state.open.is_some(), state.missed)
        };
        if !is_open && missed < MAX_MISSED {
            return false;
        }
        self.failed(&TierError::Timeout);
        if let Some(open) = &mut self.lock().open {
            open.is_late = true;
        }
        !is_open
    }

    /// Records a failure: the engine is left alone for a while. Failures of calls that began before
    /// the pause do not make it longer. Only the first failure of a kind is logged.
    pub(super) fn failed(&self, error: &TierError) {
        let is_reported = self.reporter.as_ref().is_some_and(|reporter| reporter.is_open());
        let (mut state, now) = (self.lock(), Instant::now());
        state.missed = 0;
        let (kind, reason) = (discriminant(error), error_chain(error));
        let pause = match &state.open {
            None => FIRST_PAUSE,
            Some(open) if !open.is_tried && open.until > now => return,
            Some(open) => (open.pause * 2).min(MAX_PAUSE),
        };
        let is_late = state.open.as_ref().is_some_and(|open| open.is_late);
        let is_schema = matches!(error, TierError::Schema(_));
        let is_known =
            |open: &OpenState| open.kind == kind && !(is_schema && open.reason != reason);
        if !state.open.as_ref().is_some_and(is_known) {
            let engine = self.engine;
            if is_reported {
                debug!(
                    error = reason,
                    "the {engine} of the archive tier fails for other calls too"
                );
            } else {
                warn!(
                    error = reason,
                    "the {engine} of the archive tier cannot be used; this node works alone until it can"
                );
            }
        }
        let until = now + pause;
        state.open = Some(OpenState { until, pause, is_tried: false, is_late, kind, reason });
    }

    /// Lets the next call ask the engine at once, because the network has changed.
    pub(super) fn end_pause(&self) {
        if let Some(open) = &mut self.lock().open {
            open.until = Instant::now();
        }
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
        assert!(!breaker.missed() && !breaker.missed());
        assert!(breaker.admit(), "two missed deadlines are tolerated");
        assert!(breaker.missed());
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            let begun = Instant::now();
            assert!(!breaker.admit());
            // Calls that began earlier fail now. They say nothing new.
            breaker.failed(&TierError::Timeout);
            breaker.wait_until_admitted().await;
            assert_eq!(begun.elapsed().as_secs(), pause);
            assert!(!breaker.admit(), "one call tries the engine, and the others do not");
            breaker.failed(&TierError::Timeout);
        }
        assert_eq!(breaker.fault().as_deref(), Some("catalogue: it did not answer in time"));
        breaker.end_pause();
        assert!(breaker.admit());
        breaker.succeeded();
        assert!(breaker.admit() && breaker.fault().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_network_does_not_reconnect_for_ever() {
        let breaker = Breaker::new("catalogue");
        assert!(!breaker.missed() && !breaker.missed());
        assert!(breaker.missed(), "the connection may be lost");
        breaker.wait_until_admitted().await;
        for pause in [2, 4, 8, 16, 32, 60, 60] {
            breaker.connected();
            assert!(breaker.fault().is_some(), "a connection says nothing about lookups");
            assert!(breaker.admit() && !breaker.admit(), "one lookup tries it");
            assert!(!breaker.missed(), "the new connection is kept");
            let begun = Instant::now();
            breaker.wait_until_admitted().await;
            assert_eq!(begun.elapsed().as_secs(), pause);
        }
        breaker.succeeded();
        assert!(breaker.fault().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_a_pause_out_keeps_no_other_call_away() {
        let breaker = Breaker::new("catalogue");
        breaker.wait_out().await;
        for pause in [1, 2, 4] {
            let begun = Instant::now();
            breaker.failed(&TierError::Timeout);
            breaker.wait_out().await;
            assert_eq!(begun.elapsed().as_secs(), pause);
            assert!(!breaker.is_pausing());
        }
        assert!(breaker.admit());
    }
}
