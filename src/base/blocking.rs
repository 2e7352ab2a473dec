//! Threads for blocking calls.
//!
//! Tokio starts a thread for each call of a burst, and then wakes the thread that has been idle for
//! longest. So many threads take turns, each with cold caches. This pool wakes the thread that
//! became idle last, and only one at a time: a thread that takes a call wakes the next one if more
//! calls wait. So a burst of short calls needs two threads, and calls that wait for the disk get
//! one thread each.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

/// The largest number of threads. More calls wait for a free thread.
const MAX_THREADS: usize = 256;

/// The time after which an idle thread ends.
const KEEP_IDLE: Duration = Duration::from_secs(10);

static POOL: BlockingPool = BlockingPool::new();

/// Runs a blocking operation, for example on the disk, on a thread for such operations. Dropping
/// the future does not end the operation.
pub(crate) async fn blocking<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let runtime = Handle::current();
    // The clock of a test runtime stands still only during calls that Tokio knows.
    if runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
        return match spawn_blocking(run).await {
            Ok(done) => done,
            // Only a panic ends a blocking call early. The panic is resumed in the caller.
            Err(error) => resume_unwind(error.into_panic()),
        };
    }
    let (done, result) = oneshot::channel();
    POOL.submit(Box::new(move || {
        // A call may start tasks, for example the program of a changed configuration.
        let _entered = runtime.enter();
        // Fails if nobody waits for the result any more.
        let _ = done.send(catch_unwind(AssertUnwindSafe(run)));
    }));
    match result.await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => resume_unwind(panic),
        // Unreachable: each call that was submitted is run.
        Err(never_run) => resume_unwind(Box::new(never_run)),
    }
}

/// Waits until all calls have ended, at most `deadline`. Returns how many have not ended.
pub(crate) fn wait_for_blocking(deadline: Duration) -> usize {
    POOL.wait_until_ended(deadline)
}

type Call = Box<dyn FnOnce() + Send>;

struct BlockingPool {
    state: Mutex<BlockingPoolState>,
    /// Notified when the last call has ended.
    ended: Condvar,
}

struct BlockingPoolState {
    /// The calls that wait for a thread.
    calls: VecDeque<Call>,
    /// The number of calls that are running.
    running: usize,
    /// Whether the end of all calls is awaited.
    is_awaited: bool,
    /// The idle threads. The last one became idle last.
    idle: Vec<Thread>,
    threads: usize,
    /// Whether a thread was started or woken and has not looked for calls yet.
    is_waking: bool,
}

impl BlockingPoolState {
    fn left(&self) -> usize {
        self.running + self.calls.len()
    }
}

impl BlockingPool {
    const fn new() -> Self {
        let state = BlockingPoolState {
            calls: VecDeque::new(),
            running: 0,
            is_awaited: false,
            idle: Vec::new(),
            threads: 0,
            is_waking: false,
        };
        Self { state: Mutex::new(state), ended: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, BlockingPoolState> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until_ended(&self, deadline: Duration) -> usize {
        let mut state = self.lock();
        state.is_awaited = true;
        let is_busy = |state: &mut BlockingPoolState| state.left() > 0;
        let waited = self.ended.wait_timeout_while(state, deadline, is_busy);
        waited.unwrap_or_else(PoisonError::into_inner).0.left()
    }

    /// Counts a call that has ended. Notifies only if that is awaited, because it is a system call.
    fn end_call(&self) -> MutexGuard<'_, BlockingPoolState> {
        let mut state = self.lock();
        state.running -= 1;
        if state.is_awaited && state.left() == 0 {
            self.ended.notify_all();
        }
        state
    }

    fn submit(&'static self, call: Call) {
        let mut state = self.lock();
        state.calls.push_back(call);
        self.wake_one(state);
    }

    /// Wakes or starts a thread if calls wait and no thread is on its way.
    fn wake_one(&'static self, mut state: MutexGuard<'static, BlockingPoolState>) {
        if state.is_waking || state.calls.is_empty() {
            return;
        }
        if let Some(thread) = state.idle.pop() {
            state.is_waking = true;
            drop(state);
            thread.unpark();
        } else if state.threads < MAX_THREADS {
            state.is_waking = true;
            state.threads += 1;
            drop(state);
            let thread = thread::Builder::new().name("blocking".into());
            if thread.spawn(|| self.work()).is_err() {
                self.continue_without_thread();
            }
        }
    }

    /// After a thread could not be started: wakes a thread that has become idle since. Without any
    /// thread the calls would wait forever, so they are run here.
    fn continue_without_thread(&'static self) {
        let mut state = self.lock();
        state.is_waking = false;
        state.threads -= 1;
        if !state.idle.is_empty() {
            return self.wake_one(state);
        }
        while state.threads == 0
            && let Some(call) = state.calls.pop_front()
        {
            state.running += 1;
            drop(state);
            call();
            state = self.end_call();
        }
    }

    /// Takes calls until there have been none for some time.
    fn work(&'static self) {
        let mut state = self.lock();
        state.is_waking = false;
        loop {
            state = if let Some(call) = state.calls.pop_front() {
                state.running += 1;
                self.wake_one(state);
                call();
                self.end_call()
            } else if let Some(state) = self.wait(state) {
                state
            } else {
                return;
            };
        }
    }

    /// Waits until the thread is woken. `None` if it was idle for too long.
    fn wait(
        &'static self,
        mut state: MutexGuard<'static, BlockingPoolState>,
    ) -> Option<MutexGuard<'static, BlockingPoolState>> {
        let this = thread::current();
        let until = Instant::now() + KEEP_IDLE;
        state.idle.push(this.clone());
        loop {
            drop(state);
            thread::park_timeout(until.saturating_duration_since(Instant::now()));
            state = self.lock();
            let Some(place) = state.idle.iter().position(|idle| idle.id() == this.id()) else {
                state.is_waking = false;
                return Some(state);
            };
            if Instant::now() >= until {
                state.idle.remove(place);
                state.threads -= 1;
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier, mpsc};

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn calls_that_wait_for_each_other_run_at_once() {
        let together = Arc::new(Barrier::new(20));
        let calls = (0..20).map(|number| {
            let together = Arc::clone(&together);
            blocking(move || {
                together.wait();
                number
            })
        });
        let done = futures_util::future::join_all(calls).await;
        assert!(done.into_iter().eq(0..20));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_call_may_start_tasks() {
        // Panics without a runtime.
        let _runtime = blocking(Handle::current).await;
    }

    #[test]
    fn running_and_waiting_calls_are_waited_for() {
        let pool: &'static BlockingPool = Box::leak(Box::new(BlockingPool::new()));
        let calls = MAX_THREADS + 5;
        let (done, results) = mpsc::sync_channel(calls);
        let (go_on, may_go_on) = mpsc::sync_channel::<()>(1);
        let may_go_on = Arc::new(Mutex::new(may_go_on));
        for number in 0..calls {
            let (done, may_go_on) = (done.clone(), Arc::clone(&may_go_on));
            pool.submit(Box::new(move || {
                // Fails once the sender is dropped.
                let _ = may_go_on.lock().unwrap().recv();
                done.send(number).unwrap();
            }));
        }
        assert_eq!(pool.wait_until_ended(Duration::ZERO), calls);
        drop(go_on);
        assert_eq!(pool.wait_until_ended(Duration::MAX), 0);
        drop(done);
        assert_eq!(results.into_iter().count(), calls);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_panic_is_resumed_in_the_caller() {
        let failed = AssertUnwindSafe(blocking(|| panic!("it failed"))).catch_unwind().await;
        assert!(failed.is_err());
        assert_eq!(blocking(|| 1).await, 1);
    }
}
