//! The simultaneous exchanges of an HTTP/2 connection: at most as many as its origin accepts.
//!
//! A waiting request is not yet passed to `h2`. While the origin accepts no further stream, `h2`
//! would store the request, and would send it later even if it was abandoned or the mode became
//! offline. After a GOAWAY it would be unknown whether the request was sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, Notify};
use tokio::time::timeout;

/// The interval at which the origin's limit is checked, because its changes are not reported.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The exchanges of one connection.
#[derive(Debug, Default)]
pub(super) struct Seats {
    taken: AtomicUsize,
    freed: Notify,
    /// Held by the first waiting request, so that all are served in order.
    turn: Mutex<()>,
}

/// The right to one exchange on the connection. Dropping it frees the seat.
#[derive(Debug)]
pub(super) struct Seat(Arc<Seats>);

impl Seats {
    /// Waits until fewer than `limit` seats are taken, and takes one. Dropping the future changes
    /// nothing.
    pub(super) async fn take(self: &Arc<Self>, limit: impl Fn() -> usize) -> Seat {
        let _turn = self.turn.lock().await;
        // Only the holder of `turn` increases the number of taken seats.
        while self.taken() >= limit() {
            let _again = timeout(LOOK_AGAIN, self.freed.notified()).await;
        }
        self.taken.fetch_add(1, Ordering::AcqRel);
        Seat(Arc::clone(self))
    }

    /// The number of seats taken now.
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
    async fn seats_are_limited_and_granted_in_order() {
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
        // The limit has risen, and no seat was freed.
        limit.store(2, Ordering::Relaxed);
        drop((third.await, second));
        assert_eq!(seats.taken(), 0);
    }
}
