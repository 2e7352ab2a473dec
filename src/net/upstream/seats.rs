//! How many exchanges a connection of HTTP/2 carries at once: no more than its origin takes.
//!
//! Whoever waits here has given nothing to the connection. A request that `h2` has is one that may
//! reach the origin: where there is no room for it, `h2` keeps it and sends it later, also when
//! nobody wants it any more or the mode has gone offline; and once the origin has said that it will
//! go, nobody can tell whether it has been sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, Notify};
use tokio::time::timeout;

/// How often it is looked whether the origin takes more by now, which nobody tells.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The exchanges of one connection.
#[derive(Debug, Default)]
pub(super) struct Seats {
    taken: AtomicUsize,
    freed: Notify,
    /// Held by whoever is next, so that all get their turn as they came.
    turn: Mutex<()>,
}

/// One of them, free again when it is dropped.
#[derive(Debug)]
pub(super) struct Seat(Arc<Seats>);

impl Seats {
    /// Waits until fewer than `limit` are taken. Dropping it leaves them as they were.
    pub(super) async fn take(self: &Arc<Self>, limit: impl Fn() -> usize) -> Seat {
        let _turn = self.turn.lock().await;
        // Only whoever has the turn adds to them.
        while self.taken() >= limit() {
            let _again = timeout(LOOK_AGAIN, self.freed.notified()).await;
        }
        self.taken.fetch_add(1, Ordering::AcqRel);
        Seat(Arc::clone(self))
    }

    /// How many are taken now.
    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::AcqRel);
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use tokio::task::yield_now;

    #[tokio::test(start_paused = true)]
    async fn no_more_are_taken_than_allowed_and_all_in_turn() {
        let (seats, limit) = (Arc::new(Seats::default()), AtomicUsize::new(1));
        let allowed = || limit.load(Ordering::Relaxed);
        let first = seats.take(allowed).await;
        let (mut second, mut third) = (pin!(seats.take(allowed)), pin!(seats.take(allowed)));
        tokio::select! {
            biased;
            _ = &mut second => panic!("there is none"),
            _ = &mut third => panic!("there is none"),
            () = yield_now() => {}
        }
        drop(first);
        let second = tokio::select! {
            biased;
            _ = &mut third => panic!("it is not its turn"),
            second = &mut second => second,
        };
        // More are taken now, and nobody has left.
        limit.store(2, Ordering::Relaxed);
        drop((third.await, second));
        assert_eq!(seats.taken(), 0);
    }
}
