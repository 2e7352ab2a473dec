//! A pool of persistent connections, with a maximum number for each origin.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::adjustable::Adjustable;
use super::h1::{ConnectionUsers, Http1Connection};
use super::{Failure, Origin};
use crate::base::owner::Owner;

/// The time within which a connection must be ready again after the last byte of a response.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// The idle connections and the permits of each origin.
#[derive(Debug)]
pub(super) struct ConnectionPool {
    origins: Mutex<HashMap<Origin, OriginPool>>,
    per_origin: Adjustable<usize>,
    idle_timeout: Adjustable<Duration>,
}

#[derive(Debug)]
struct OriginPool {
    permits: Arc<Semaphore>,
    idle: Vec<Idle>,
}

#[derive(Debug)]
struct Idle {
    link: Http1Connection,
    since: Instant,
}

impl Idle {
    fn is_of(&self, owner: &Owner) -> bool {
        matches!(&self.link.users, ConnectionUsers::One(one) if one == owner)
    }
}

impl OriginPool {
    fn position(&self, owner: Option<&Owner>) -> Option<usize> {
        let own = owner.and_then(|owner| self.idle.iter().rposition(|idle| idle.is_of(owner)));
        own.or_else(|| {
            self.idle.iter().rposition(|idle| idle.link.users == ConnectionUsers::Everyone)
        })
    }
}

/// The permit to use one connection to an origin. Dropping it returns the permit.
#[derive(Debug)]
pub(super) struct Permit {
    _permit: OwnedSemaphorePermit,
}

impl ConnectionPool {
    pub(super) fn new(per_origin: usize, idle_timeout: Duration) -> Self {
        let (per_origin, idle_timeout) =
            (Adjustable::new(per_origin), Adjustable::new(idle_timeout));
        Self { origins: Mutex::new(HashMap::new()), per_origin, idle_timeout }
    }

    /// Sets new limits, which apply from now on. Connections that are in use do not count against
    /// the new number.
    pub(super) fn set_limits(&self, per_origin: usize, idle_timeout: Duration) {
        self.idle_timeout.set(idle_timeout);
        let mut origins = self.lock();
        if self.per_origin.get() == per_origin {
            return;
        }
        self.per_origin.set(per_origin);
        for pool in origins.values_mut() {
            pool.permits = Arc::new(Semaphore::new(per_origin));
            pool.idle.truncate(per_origin);
        }
    }

    /// Waits at most `patience` for the permit to use one connection to `origin`.
    pub(super) async fn permit(
        &self,
        origin: &Origin,
        patience: Duration,
    ) -> Result<Permit, Failure> {
        let permits = Arc::clone(&self.of(&mut self.lock(), origin).permits);
        match timeout(patience, permits.acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Permit { _permit: permit }),
            Ok(Err(_)) | Err(_) => Err(Failure::Busy { authority: origin.to_string() }),
        }
    }

    /// An open idle connection for a request of `owner`: one that belongs to the owner, else one
    /// for everyone; the most recently used first. If both are missing and the limit is reached,
    /// closes a connection of another owner.
    pub(super) fn take(&self, origin: &Origin, owner: Option<&Owner>) -> Option<Http1Connection> {
        let mut origins = self.lock();
        let pool = origins.get_mut(origin)?;
        while let Some(at) = pool.position(owner) {
            let idle = pool.idle.remove(at);
            if idle.link.is_usable() && idle.since.elapsed() < self.idle_timeout.get() {
                return Some(idle.link);
            }
        }
        let in_use = self.per_origin.get().saturating_sub(pool.permits.available_permits());
        if !pool.idle.is_empty() && in_use + pool.idle.len() > self.per_origin.get() {
            pool.idle.remove(0);
        }
        None
    }

    /// Whether an idle connection belongs to this owner.
    pub(super) fn has_own(&self, origin: &Origin, owner: &Owner) -> bool {
        self.lock().get(origin).is_some_and(|pool| pool.idle.iter().any(|idle| idle.is_of(owner)))
    }

    /// Returns a connection to the pool after its response. Closes the connection if it cannot
    /// carry another request, if the pool is full, or if `is_wanted` returns false.
    pub(super) async fn give_back(
        &self,
        origin: &Origin,
        mut link: Http1Connection,
        is_wanted: impl FnOnce() -> bool,
    ) {
        if link.users == ConnectionUsers::Ended {
            return;
        }
        if !matches!(timeout(READY_WITHIN, link.sender.ready()).await, Ok(Ok(()))) {
            return;
        }
        let mut origins = self.lock();
        // Checked under the lock. If connections become unwanted later, `close_idle` finds this
        // connection in the pool.
        if !is_wanted() {
            return;
        }
        let pool = self.of(&mut origins, origin);
        if pool.idle.len() < self.per_origin.get() {
            pool.idle.push(Idle { link, since: Instant::now() });
        }
    }

    /// Closes connections that were idle for too long, and removes unused origins.
    pub(super) fn sweep(&self) {
        let (keep, mut origins) = (self.idle_timeout.get(), self.lock());
        origins.retain(|_, pool| {
            pool.idle.retain(|idle| !idle.link.sender.is_closed() && idle.since.elapsed() < keep);
            // A permit in use holds a second reference to the semaphore.
            !pool.idle.is_empty() || Arc::strong_count(&pool.permits) > 1
        });
    }

    /// Closes every idle connection, because the mode became offline or the daemon stops.
    pub(super) fn close_idle(&self) {
        for pool in self.lock().values_mut() {
            pool.idle.clear();
        }
    }

    fn of<'pools>(
        &self,
        origins: &'pools mut HashMap<Origin, OriginPool>,
        origin: &Origin,
    ) -> &'pools mut OriginPool {
        origins.entry(origin.clone()).or_insert_with(|| OriginPool {
            permits: Arc::new(Semaphore::new(self.per_origin.get())),
            idle: Vec::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Origin, OriginPool>> {
        // A panic under the lock cannot leave the map half changed.
        self.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::mpsc::sync_channel;
    use std::thread;

    use bytes::Bytes;
    use hyper::Request;

    use super::super::{Dialer, NewConnection, Outbound, Scheme, Tls, Upstream, UpstreamLimits};
    use super::*;
    use crate::base::mode::{Mode, ModeSwitch};
    use crate::base::tasks::Tasks;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn upstream() -> Arc<Upstream> {
        let limits = UpstreamLimits {
            head_timeout: PATIENCE,
            socket_timeout: PATIENCE,
            idle_timeout: PATIENCE,
            per_origin: 1,
        };
        let dialer = Dialer::new(ModeSwitch::new(Mode::Online), PATIENCE, PATIENCE);
        Upstream::new(dialer, Tls::new(&[], PATIENCE).unwrap(), Tasks::new(), limits)
    }

    fn head() -> Request<()> {
        Request::get("/").header("host", "127.0.0.1").body(()).unwrap()
    }

    async fn get(upstream: &Arc<Upstream>, origin: &Origin, head: Request<()>) -> Bytes {
        let answer = upstream.send(origin, head, Outbound::Empty, None).await.unwrap();
        http_body_util::BodyExt::collect(answer.into_body()).await.unwrap().to_bytes()
    }

    /// Only the operating system knows about the new bytes here: one thread runs all tasks, and it
    /// is blocked while the origin sends.
    #[tokio::test]
    async fn a_connection_with_unread_bytes_is_not_reused() {
        for surplus in [&b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nPOISONED"[..], b""] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let (go_on, proceed) = sync_channel(0);
            let (has_sent, sent) = sync_channel(0);
            let origin = thread::spawn(move || {
                let mut kept = Vec::new();
                for number in 0..2 {
                    let (mut stream, _) = listener.accept().unwrap();
                    let mut head = [0; 4096];
                    assert!(stream.read(&mut head).unwrap() > 0);
                    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{number}");
                    stream.write_all(answer.as_bytes()).unwrap();
                    if number == 0 {
                        proceed.recv().unwrap();
                        stream.write_all(surplus).unwrap();
                        if surplus.is_empty() {
                            stream.shutdown(std::net::Shutdown::Write).unwrap();
                        }
                        has_sent.send(()).unwrap();
                    }
                    kept.push(stream);
                }
            });
            let upstream = upstream();
            let there = Origin::here(Scheme::Http, "127.0.0.1", port);
            assert_eq!(get(&upstream, &there, head()).await, "0");
            // The permit becomes free only after the connection has returned to the pool.
            drop(upstream.pool.permit(&there, PATIENCE).await.unwrap());
            assert_eq!(upstream.pool.lock()[&there].idle.len(), 1, "it is kept");
            go_on.send(()).unwrap();
            sent.recv().unwrap();
            assert_eq!(get(&upstream, &there, head()).await, "1", "{surplus:?}");
            origin.join().unwrap();
        }
    }

    /// A persistent connection is used again, unless the request needs a new one.
    #[tokio::test]
    async fn a_request_may_require_a_new_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                thread::spawn(move || {
                    while stream.read(&mut [0; 4096]).unwrap() > 0 {
                        let answer =
                            format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{number}");
                        stream.write_all(answer.as_bytes()).unwrap();
                    }
                });
            }
        });
        let (upstream, there) = (upstream(), Origin::here(Scheme::Http, "127.0.0.1", port));
        for (wants_new, connection) in [(false, "0"), (false, "0"), (true, "1"), (false, "1")] {
            let mut head = head();
            if wants_new {
                head.extensions_mut().insert(NewConnection);
            }
            assert_eq!(get(&upstream, &there, head).await, connection);
            // The permit becomes free only after the connection has returned to the pool.
            drop(upstream.pool.permit(&there, PATIENCE).await.unwrap());
        }
    }
}
