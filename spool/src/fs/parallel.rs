//! Threads: the same call for many items at once, and locks.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle, scope};

/// Calls `call` for each item, in up to `threads` threads. Returns the results in the order of the
/// items.
pub(crate) fn for_each<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    call: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let call = &call;
    let share = items.len().div_ceil(threads.max(1)).max(1);
    let mut shares = items.chunks(share);
    // The present thread processes the first share.
    let mine = shares.next().unwrap_or_default();
    scope(|scope| {
        let others: Vec<_> = shares.map(|share| begin(scope, share, call)).collect();
        let mut done: Vec<_> = mine.iter().map(call).collect();
        for other in others {
            done.extend(match other {
                Ok(thread) => {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                }
                // If a thread cannot be started, the present thread processes its share.
                Err(share) => share.iter().map(call).collect(),
            });
        }
        done
    })
}

/// Takes a lock, even if it is poisoned: the data behind these locks is valid even after a panic in
/// another thread.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn begin<'scope, T: Sync, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    share: &'scope [T],
    call: &'scope (impl Fn(&T) -> R + Sync),
) -> Result<ScopedJoinHandle<'scope, Vec<R>>, &'scope [T]> {
    let thread = Builder::new().name("sync".into());
    thread.spawn_scoped(scope, move || share.iter().map(call).collect()).map_err(|_| share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn results_keep_the_order_of_items() {
        for (items, threads) in [(0, 4), (1, 4), (3, 4), (4, 4), (5, 4), (100, 8), (7, 1), (7, 0)] {
            let items: Vec<usize> = (0..items).collect();
            let want: Vec<_> = items.iter().map(|item| item * 2).collect();
            assert_eq!(for_each(&items, threads, |item| item * 2), want, "{items:?} {threads}");
        }
    }

    #[test]
    fn calls_run_in_parallel() {
        // Each call waits for all the others.
        let together = Barrier::new(4);
        let leaders = for_each(&[(); 4], 4, |()| together.wait().is_leader());
        assert_eq!(leaders.into_iter().filter(|leads| *leads).count(), 1);
    }
}
