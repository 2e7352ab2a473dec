//! The requests that wait for a connection to their origin, and the transfers that would give up
//! their connection for such a request.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::sync::watch;

use super::Origin;

/// An extension of a request: how far the request has come on its way to its origin.
#[derive(Clone, Debug, Default)]
pub struct LinePosition(Arc<watch::Sender<LineStep>>);

/// A step of a request on its way to its origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LineStep {
    /// The request does not wait for another one, and no connection has taken it.
    #[default]
    Apart,
    /// The request waits for a connection that other requests use.
    Waiting,
    /// A connection has taken the request.
    Sent,
}

impl LinePosition {
    /// Resolves when the request waits for a connection. Dropping the future has no effect.
    pub async fn waits(&self) {
        let mut step = self.0.subscribe();
        // Cannot fail: the sender is in `self`.
        drop(step.wait_for(|step| *step == LineStep::Waiting).await);
    }

    /// Whether the request waits now.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        *self.0.borrow() == LineStep::Waiting
    }

    /// Whether a connection has taken the request, so that the request may have arrived.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        *self.0.borrow() == LineStep::Sent
    }

    /// Records that a connection takes the request.
    pub(super) fn set_sent(&self) {
        self.0.send_replace(LineStep::Sent);
    }
}

/// The waiting requests of all origins.
#[derive(Debug, Default)]
pub(super) struct Contention(watch::Sender<Lines>);

#[derive(Debug, Default)]
struct Lines {
    next: u64,
    waiting: BTreeMap<u64, WaitingRequest>,
    /// The transfers that would give up their connection, with their origins. The oldest transfer
    /// has the smallest number.
    dispensable: BTreeMap<u64, Origin>,
}

#[derive(Debug)]
struct WaitingRequest {
    origin: Origin,
    /// Whether a transfer has given up its connection for this request.
    is_served: bool,
}

impl Lines {
    fn unserved(&mut self, origin: &Origin) -> Option<&mut WaitingRequest> {
        self.waiting.values_mut().find(|waiting| waiting.origin == *origin && !waiting.is_served)
    }

    /// Whether this transfer is the next that gives up its connection to `origin`.
    fn is_due(&self, origin: &Origin, transfer: u64) -> bool {
        let is_wanted =
            self.waiting.values().any(|waiting| waiting.origin == *origin && !waiting.is_served);
        let oldest = self.dispensable.iter().find(|(_, of)| *of == origin);
        is_wanted && oldest.is_some_and(|(oldest, _)| *oldest == transfer)
    }
}

/// A waiting request. Dropping this value removes the request from the waiting ones.
struct WaitingPlace<'a> {
    contention: &'a Contention,
    position: Option<&'a LinePosition>,
    number: u64,
}

impl Drop for WaitingPlace<'_> {
    fn drop(&mut self) {
        self.contention.0.send_modify(|lines| drop(lines.waiting.remove(&self.number)));
        if let Some(position) = self.position {
            position.0.send_replace(LineStep::Apart);
        }
    }
}

/// A transfer that would give up its connection.
struct Dispensable<'a> {
    contention: &'a Contention,
    transfer: u64,
}

impl Drop for Dispensable<'_> {
    fn drop(&mut self) {
        self.contention.0.send_modify(|lines| drop(lines.dispensable.remove(&self.transfer)));
    }
}

impl Contention {
    /// Waits for `connection`. If it is not free at once, the request counts as waiting.
    pub(super) async fn wait<T>(
        &self,
        origin: &Origin,
        position: Option<&LinePosition>,
        connection: impl Future<Output = T>,
    ) -> T {
        let mut connection = pin!(connection);
        let at_once = poll_fn(|cx| Poll::Ready(connection.as_mut().poll(cx))).await;
        if let Poll::Ready(free) = at_once {
            return free;
        }
        let mut number = 0;
        self.0.send_modify(|lines| {
            (number, lines.next) = (lines.next, lines.next.wrapping_add(1));
            let waiting = WaitingRequest { origin: origin.clone(), is_served: false };
            lines.waiting.insert(number, waiting);
        });
        let _in_line = WaitingPlace { contention: self, position, number };
        if let Some(position) = position {
            position.0.send_replace(LineStep::Waiting);
        }
        connection.await
    }

    /// Resolves when a request waits for the connection of this transfer, and this transfer is the
    /// oldest that may give up its connection. Returns whether `gives_up` agreed. Each request ends
    /// at most one transfer.
    pub(super) async fn yields(
        &self,
        origin: &Origin,
        transfer: u64,
        gives_up: impl Fn() -> bool,
    ) -> bool {
        self.0.send_modify(|lines| drop(lines.dispensable.insert(transfer, origin.clone())));
        let _dispensable = Dispensable { contention: self, transfer };
        let mut lines = self.0.subscribe();
        loop {
            // Cannot fail: the sender is in `self`.
            drop(lines.wait_for(|lines| lines.is_due(origin, transfer)).await);
            let mut answer = None;
            self.0.send_if_modified(|lines| {
                if !lines.is_due(origin, transfer) {
                    return false;
                }
                let is_over = gives_up();
                lines.dispensable.remove(&transfer);
                if let Some(waiting) = lines.unserved(origin) {
                    waiting.is_served = is_over;
                }
                answer = Some(is_over);
                true
            });
            if let Some(is_over) = answer {
                return is_over;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use tokio::sync::oneshot;
    use tokio::task::yield_now;

    use super::*;
    use crate::net::upstream::Scheme;

    async fn is_pending(mut future: Pin<&mut impl Future>) -> bool {
        tokio::select! {
            biased;
            _ = &mut future => false,
            () = yield_now() => true,
        }
    }

    #[tokio::test]
    async fn each_waiting_request_ends_the_oldest_transfer_of_its_origin() {
        let (contention, position) = (Contention::default(), LinePosition::default());
        let [here, there] = [1, 2].map(|port| Origin::here(Scheme::Http, "h.test", port));
        let mut elsewhere = pin!(contention.yields(&there, 1, || true));
        let mut older = pin!(contention.yields(&here, 2, || true));
        let mut newer = pin!(contention.yields(&here, 3, || true));
        assert!(is_pending(older.as_mut()).await && is_pending(newer.as_mut()).await);
        assert_eq!(contention.wait(&here, Some(&position), async { 7 }).await, 7);
        assert!(is_pending(older.as_mut()).await, "the connection was free");
        let (free, permit) = oneshot::channel::<()>();
        let mut waiting = pin!(contention.wait(&here, Some(&position), async {
            drop(permit.await);
        }));
        assert!(is_pending(waiting.as_mut()).await && position.is_waiting());
        assert!(is_pending(newer.as_mut()).await, "the older one comes first");
        assert!(!is_pending(older.as_mut()).await);
        assert!(is_pending(newer.as_mut()).await, "one is enough");
        assert!(is_pending(elsewhere.as_mut()).await);
        drop(free);
        assert!(!is_pending(waiting.as_mut()).await && !position.is_waiting());
    }
}
