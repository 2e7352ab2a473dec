//! Refuses clients that may not use the proxy, and clients with too many connections, at minimal
//! cost.

use std::net::IpAddr;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::{debug, info};

use super::log_throttle::LogThrottle;
use crate::base::clock;
use crate::base::tasks::Tasks;

/// Maximum number of simultaneous refusals; further connections are closed without a response.
const MAX_AT_ONCE: usize = 32;

/// Time limit for sending the response to a refused client and reading until it closes the
/// connection.
const PATIENCE: Duration = Duration::from_secs(2);

/// Maximum number of bytes of the client's request that are read and discarded. If a connection is
/// closed with unread bytes, it is reset, and the client may never see the response.
const MAX_UNREAD: u64 = 64 * 1024;

/// The response to a client that may not use the proxy. It discloses nothing, because it is the
/// same for all clients.
const ANSWER: &[u8] = b"HTTP/1.1 403 Forbidden\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 87\r\n\
    Cache-Control: no-store\r\n\
    Connection: close\r\n\r\n\
    This machine may not use this proxy: see [allowed-connect-hosts] in its \
    configuration.\n";

/// The response to a client with the maximum number of connections.
const CROWDED: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 130\r\n\
    Cache-Control: no-store\r\n\
    Retry-After: 10\r\n\
    Connection: close\r\n\r\n\
    This machine has as many connections to the proxy as one may have: see [startup] \
    max-connections-per-client in its configuration.\n";

/// The time for which the administrator sees a refusal as recent.
const LATELY: Duration = Duration::from_secs(60 * 60);

/// The recent refusals of clients that may not use the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecentRefusals {
    /// Number of refused connections since the last hour without a refusal.
    pub count: u64,
    /// The address of the client that was refused last.
    pub client: IpAddr,
    /// The time of the last refusal.
    pub at: SystemTime,
}

impl RecentRefusals {
    fn is_of_late(&self, now: SystemTime) -> bool {
        now.duration_since(self.at).is_ok_and(|ago| ago < LATELY)
    }
}

/// The refusals of clients: their limits, and the record of recent ones.
#[derive(Debug)]
pub struct ClientRefusals {
    slots: Arc<Semaphore>,
    throttle: LogThrottle,
    crowded_throttle: LogThrottle,
    sent_away: Mutex<Option<RecentRefusals>>,
}

impl Default for ClientRefusals {
    fn default() -> Self {
        let slots = Arc::new(Semaphore::new(MAX_AT_ONCE));
        let (throttle, crowded_throttle, sent_away) = Default::default();
        Self { slots, throttle, crowded_throttle, sent_away }
    }
}

impl ClientRefusals {
    /// Refuses a client that may not use the proxy, and records the refusal.
    pub fn refuse(&self, tasks: &Tasks, stream: TcpStream, peer: SocketAddr) {
        debug!(%peer, "the client may not use the proxy");
        if let Some(count) = self.throttle.count(Instant::now()) {
            info!(%peer, count, "clients that may not use the proxy are refused");
        }
        self.count(peer.ip(), clock::now());
        self.send(tasks, stream, ANSWER);
    }

    /// Refuses a connection of a client with the maximum number of connections.
    pub fn refuse_excess(&self, tasks: &Tasks, stream: TcpStream, peer: SocketAddr) {
        debug!(%peer, "the client has the maximum number of connections");
        if let Some(count) = self.crowded_throttle.count(Instant::now()) {
            info!(%peer, count, "connections are refused for clients with too many");
        }
        self.send(tasks, stream, CROWDED);
    }

    /// The recent refusals of clients that may not use the proxy. `None` if there was no such
    /// refusal within the last hour.
    #[must_use]
    pub fn recent_refusals(&self, now: SystemTime) -> Option<RecentRefusals> {
        let sent_away = self.sent_away.lock().unwrap_or_else(PoisonError::into_inner);
        sent_away.filter(|sent_away| sent_away.is_of_late(now))
    }

    fn count(&self, client: IpAddr, at: SystemTime) {
        let mut sent_away = self.sent_away.lock().unwrap_or_else(PoisonError::into_inner);
        let before = sent_away.filter(|sent_away| sent_away.is_of_late(at));
        let count = before.map_or(1, |before| before.count.saturating_add(1));
        *sent_away = Some(RecentRefusals { count, client, at });
    }

    fn send(&self, tasks: &Tasks, stream: TcpStream, text: &'static [u8]) {
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else { return };
        let stopping = tasks.clone();
        tasks.spawn(async move {
            tokio::select! {
                _told_or_not = timeout(PATIENCE, answer(stream, text)) => {}
                () = stopping.stopping() => {}
            }
            drop(slot);
        });
    }
}

async fn answer(mut stream: TcpStream, text: &[u8]) {
    if stream.write_all(text).await.is_ok() && stream.shutdown().await.is_ok() {
        let mut rest = stream.take(MAX_UNREAD);
        let _left = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_clients_are_listed_for_an_hour() {
        let (refused, start) = (ClientRefusals::default(), clock::now());
        let after = |minutes: u64| start + Duration::from_secs(60 * minutes);
        let client = IpAddr::from([10, 0, 0, 1]);
        assert_eq!(refused.recent_refusals(start), None);
        for (minute, count) in [(0, 1), (59, 2), (200, 1)] {
            refused.count(client, after(minute));
            let expected = RecentRefusals { count, client, at: after(minute) };
            assert_eq!(refused.recent_refusals(after(minute + 59)), Some(expected));
            assert_eq!(refused.recent_refusals(after(minute + 60)), None);
        }
    }

    #[test]
    fn a_refusal_has_its_declared_length() {
        for text in [ANSWER, CROWDED] {
            let text = std::str::from_utf8(text).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let length = format!("Content-Length: {}\r\n", body.len());
            assert!(head.contains(&length), "{}", body.len());
            assert!(body.ends_with(".\n"));
        }
    }
}
