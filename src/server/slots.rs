//! Limits the running HTTP/2 requests of all connections together. Such a request costs as much as
//! a connection of HTTP/1.1, so the limit is the same. Each request may hold 128 KiB of a stored
//! body and the unsent part of its response.
//!
//! Tunnels and other protocols are counted separately and do not wait. Requests run inside them.
//! With a common limit, each could wait for the other.

use std::sync::Arc;
use std::time::Duration;

use hyper::{Method, Request};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The limits for running requests and for tunnels.
#[derive(Debug)]
pub struct RequestSlots {
    requests: Arc<Semaphore>,
    tunnels: Arc<Semaphore>,
}

/// The permit to run one request or tunnel. Dropping it frees the slot.
#[derive(Debug)]
pub struct RequestSlot(
    #[expect(dead_code, reason = "it is there to be dropped")] OwnedSemaphorePermit,
);

impl RequestSlot {
    /// The error text if no slot is free.
    pub const NONE: &str = "too many requests are being served";
}

impl RequestSlots {
    /// Creates `count` slots for requests, and the same number for tunnels.
    #[must_use]
    pub fn new(count: usize) -> Self {
        let slots = || Arc::new(Semaphore::new(count));
        Self { requests: slots(), tunnels: slots() }
    }

    /// Takes a slot for `request`. A CONNECT request does not wait; other requests wait at most
    /// `patience`. `None` if no slot is free.
    pub async fn take<B>(&self, request: &Request<B>, patience: Duration) -> Option<RequestSlot> {
        if request.method() == Method::CONNECT {
            return Arc::clone(&self.tunnels).try_acquire_owned().ok().map(RequestSlot);
        }
        let free = timeout(patience, Arc::clone(&self.requests).acquire_owned());
        free.await.ok().and_then(Result::ok).map(RequestSlot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn requests_wait_for_a_place_and_tunnels_do_not() {
        let (slots, patience) = (RequestSlots::new(3), Duration::from_secs(5));
        let (get, connect) = (Request::get("/").body(()).unwrap(), Request::connect("h:1"));
        let connect = connect.body(()).unwrap();
        for request in [&get, &connect] {
            let mut taken = Vec::new();
            for _ in 0..3 {
                taken.push(slots.take(request, patience).await.unwrap());
            }
            assert!(slots.take(request, patience).await.is_none());
            taken.pop();
            assert!(slots.take(request, patience).await.is_some());
        }
    }
}
