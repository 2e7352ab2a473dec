//! The running deletion of a whole list. Only one runs at a time, because it keeps the disk busy.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wwwoffle_spool::Removal;

/// The maximum time that [`Deletions::stop`] waits for the end of a deletion.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// Interval between checks whether a stopped deletion has ended.
const LOOK: Duration = Duration::from_millis(10);

/// The running deletion, if any.
#[derive(Debug, Default)]
pub struct Deletions(Arc<Mutex<Option<RunningDeletion>>>);

#[derive(Debug)]
struct RunningDeletion {
    removal: Removal,
    is_stopped: bool,
}

/// The right to delete a list. When it is dropped, another deletion may begin.
#[derive(Debug)]
pub struct DeletionTurn(Arc<Mutex<Option<RunningDeletion>>>);

fn lock(running: &Mutex<Option<RunningDeletion>>) -> MutexGuard<'_, Option<RunningDeletion>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Deletions {
    /// Begins a deletion. Returns `None` if another one is running.
    #[must_use]
    pub fn begin(&self, removal: Removal) -> Option<DeletionTurn> {
        let mut running = lock(&self.0);
        if running.is_some() {
            return None;
        }
        *running = Some(RunningDeletion { removal, is_stopped: false });
        Some(DeletionTurn(Arc::clone(&self.0)))
    }

    /// Whether a deletion is running that this person began.
    #[must_use]
    pub fn is_by(&self, who: &str) -> bool {
        lock(&self.0).as_ref().is_some_and(|running| running.removal.is_by(who))
    }

    /// Whether the running deletion is `removal`.
    #[must_use]
    pub fn is_this(&self, removal: Removal) -> bool {
        lock(&self.0).as_ref().is_some_and(|running| running.removal == removal)
    }

    /// Stops the deletion `removal` if it is running, and waits a short time for its end. If this
    /// future is dropped, the deletion still stops.
    pub async fn stop(&self, removal: Removal) {
        let is_under_way = || {
            let mut running = lock(&self.0);
            let running = running.as_mut().filter(|running| running.removal == removal);
            running.map(|running| running.is_stopped = true).is_some()
        };
        let ended = async {
            while is_under_way() {
                tokio::time::sleep(LOOK).await;
            }
        };
        let _in_time = tokio::time::timeout(ENDS_WITHIN, ended).await;
    }
}

impl DeletionTurn {
    /// Whether the deletion must stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        lock(&self.0).as_ref().is_none_or(|running| running.is_stopped)
    }
}

impl Drop for DeletionTurn {
    fn drop(&mut self) {
        *lock(&self.0) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_deletion_runs_at_a_time_and_can_be_stopped() {
        let removal = |at: &str| -> Removal { format!("{at}-{}", "0".repeat(32)).parse().unwrap() };
        let (first, other) = (removal("1700000000000000"), removal("1700000000000001"));
        let deletions = Deletions::default();
        let turn = deletions.begin(first).unwrap();
        assert!(deletions.begin(other).is_none());
        assert!(!deletions.is_by("ada"));
        // Stopping another removal does not stop this one.
        deletions.stop(other).await;
        assert!(!turn.is_stopped());
        let ends = async {
            while !turn.is_stopped() {
                tokio::task::yield_now().await;
            }
            drop(turn);
        };
        tokio::join!(deletions.stop(first), ends);
        assert!(deletions.begin(other).is_some());
    }
}
