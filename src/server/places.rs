//! How many requests of HTTP/2 are under way at once, on all connections together: one of them
//! costs as much as a connection of HTTP/1.1, so there are as many places as there are for those.
//! Each may hold a piece of a kept body, 128 KiB, and what its client has not taken yet.
//!
//! Tunnels and other protocols are counted apart, and do not wait, as requests run inside them:
//! those must not wait for each other.

use std::sync::Arc;
use std::time::Duration;

use hyper::{Method, Request};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The places.
#[derive(Debug)]
pub struct Places {
    requests: Arc<Semaphore>,
    tunnels: Arc<Semaphore>,
}

/// One of them, free again when it is dropped.
#[derive(Debug)]
pub struct Place(#[expect(dead_code, reason = "it is there to be dropped")] OwnedSemaphorePermit);

impl Place {
    /// What is said when there is none.
    pub const NONE: &str = "too many requests are under way";
}

impl Places {
    /// So many for requests, and so many for tunnels.
    #[must_use]
    pub fn new(count: usize) -> Self {
        let places = || Arc::new(Semaphore::new(count));
        Self { requests: places(), tunnels: places() }
    }

    /// Takes the place for `request`, waiting at most `patience`; `None` when there is none.
    pub async fn take<B>(&self, request: &Request<B>, patience: Duration) -> Option<Place> {
        if request.method() == Method::CONNECT {
            return Arc::clone(&self.tunnels).try_acquire_owned().ok().map(Place);
        }
        let free = timeout(patience, Arc::clone(&self.requests).acquire_owned());
        free.await.ok().and_then(Result::ok).map(Place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn requests_wait_for_a_place_and_tunnels_do_not() {
        let (places, patience) = (Places::new(3), Duration::from_secs(5));
        let (get, connect) = (Request::get("/").body(()).unwrap(), Request::connect("h:1"));
        let connect = connect.body(()).unwrap();
        for request in [&get, &connect] {
            let mut taken = Vec::new();
            for _ in 0..3 {
                taken.push(places.take(request, patience).await.unwrap());
            }
            assert!(places.take(request, patience).await.is_none());
            taken.pop();
            assert!(places.take(request, patience).await.is_some());
        }
    }
}
