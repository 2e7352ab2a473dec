//! Starts all tasks of the daemon. So all tasks are counted, notified of the stop, and ended.
#![expect(clippy::disallowed_methods, reason = "this is the file that may spawn")]

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tracing::Instrument;

/// The running tasks: a handle that is cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    shared: Arc<TaskCounts>,
}

#[derive(Debug, Default)]
struct TaskCounts {
    running: AtomicUsize,
    ended: Notify,
    stopping: watch::Sender<bool>,
}

impl Tasks {
    /// Creates a handle without tasks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts `task` in the current span. The task runs until it ends or the runtime is dropped. A
    /// task that waits for a long time should also wait for [`Tasks::stopping`].
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let running = RunningTask::enter(&self.shared);
        tokio::spawn(
            async move {
                task.await;
                drop(running);
            }
            .in_current_span(),
        );
    }

    /// Resolves when the daemon begins to stop, or at once if it has already begun. The future may
    /// be dropped at any time.
    pub async fn stopping(&self) {
        let mut stopping = self.shared.stopping.subscribe();
        // `self` holds the sender, so waiting cannot fail.
        let _ended = stopping.wait_for(|stopping| *stopping).await;
    }

    /// Whether the daemon has begun to stop.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        *self.shared.stopping.borrow()
    }

    /// Asks every task to end.
    pub fn stop(&self) {
        self.shared.stopping.send_replace(true);
    }

    /// Waits until all tasks have ended, at most `deadline`. Returns how many are still running.
    pub async fn wait(&self, deadline: Duration) -> usize {
        let all_ended = async {
            loop {
                let ended = self.shared.ended.notified();
                if self.running() == 0 {
                    return;
                }
                ended.await;
            }
        };
        let _ended_or_not = tokio::time::timeout(deadline, all_ended).await;
        self.running()
    }

    /// The number of running tasks.
    #[must_use]
    pub fn running(&self) -> usize {
        self.shared.running.load(Ordering::Acquire)
    }
}

/// Counts one task until the task ends, panics or is dropped.
struct RunningTask(Arc<TaskCounts>);

impl RunningTask {
    fn enter(shared: &Arc<TaskCounts>) -> Self {
        shared.running.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(shared))
    }
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
        self.0.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stopping_waits_for_every_task_but_not_beyond_the_deadline() {
        let tasks = Tasks::new();
        let patient = tasks.clone();
        tasks.spawn(async move { patient.stopping().await });
        tasks.spawn(std::future::pending());
        assert_eq!(tasks.running(), 2);
        assert!(!tasks.is_stopping());
        tasks.stop();
        assert_eq!(tasks.wait(Duration::from_millis(200)).await, 1);
    }

    #[tokio::test]
    async fn a_panic_ends_a_task_like_any_other() {
        let tasks = Tasks::new();
        tasks.spawn(async { panic!("on purpose") });
        assert_eq!(tasks.wait(Duration::from_secs(5)).await, 0);
    }
}
