//! How many requests of HTTP/2 are under way at once, on all connections together. One connection
//! is one client among `max-connections`, and brings up to a hundred of them.

use std::sync::Arc;
use std::time::Duration;

use hyper::{Method, Request};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How many are answered at once; one more waits. Each may hold a piece of a kept body and what
/// its client has not taken yet: about 200 KiB.
const MAX_REQUESTS: usize = 1024;

/// How many tunnels and other protocols there are at once; one more is refused. They are counted
/// apart, as requests run inside them: those must not wait for each other.
const MAX_TUNNELS: usize = 1024;

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

impl Default for Places {
    fn default() -> Self {
        let places = |count| Arc::new(Semaphore::new(count));
        Self { requests: places(MAX_REQUESTS), tunnels: places(MAX_TUNNELS) }
    }
}

impl Places {
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
        let (places, patience) = (Places::default(), Duration::from_secs(5));
        let (get, connect) = (Request::get("/").body(()).unwrap(), Request::connect("h:1"));
        let connect = connect.body(()).unwrap();
        for (request, most) in [(&get, MAX_REQUESTS), (&connect, MAX_TUNNELS)] {
            let mut taken = Vec::new();
            for _ in 0..most {
                taken.push(places.take(request, patience).await.unwrap());
            }
            assert!(places.take(request, patience).await.is_none());
            taken.pop();
            assert!(places.take(request, patience).await.is_some());
        }
    }
}
