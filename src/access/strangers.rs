//! Clients that may not use the proxy: told so once, with as little work as that takes.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::{debug, info};

use crate::server::tasks::Tasks;

/// How many are told so at once; the connections of others are closed without a word.
const MAX_AT_ONCE: usize = 32;

/// How long one may take to say what it wants and to leave.
const PATIENCE: Duration = Duration::from_secs(2);

/// Bytes that are read of what one wants, unseen: a connection that is closed with unread bytes is
/// reset, and its client may never see the answer.
const MAX_UNREAD: u64 = 64 * 1024;

/// How often the log tells of them.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// The same for everyone: there is nothing to be known here.
const ANSWER: &[u8] = b"HTTP/1.1 403 Forbidden\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 87\r\n\
    Cache-Control: no-store\r\n\
    Connection: close\r\n\r\n\
    This machine may not use this proxy: see [allowed-connect-hosts] in its \
    configuration.\n";

/// Those that came.
#[derive(Debug)]
pub struct Strangers {
    places: Arc<Semaphore>,
    told: Mutex<Told>,
}

/// What the log was told, and what it has not been yet.
#[derive(Debug, Default)]
struct Told {
    last: Option<Instant>,
    since: u64,
}

impl Told {
    /// Counts one more. Gives the number of those since the last line, when it is time for one.
    fn count(&mut self, now: Instant) -> Option<u64> {
        self.since += 1;
        let is_time =
            self.last.is_none_or(|last| now.saturating_duration_since(last) >= TELL_EVERY);
        is_time.then(|| {
            self.last = Some(now);
            std::mem::take(&mut self.since)
        })
    }
}

impl Default for Strangers {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(MAX_AT_ONCE)), told: Mutex::default() }
    }
}

impl Strangers {
    /// Sends a client away.
    pub fn refuse(&self, tasks: &Tasks, stream: TcpStream, peer: SocketAddr) {
        self.tell(peer);
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else { return };
        let stopping = tasks.clone();
        tasks.spawn(async move {
            tokio::select! {
                _told_or_not = timeout(PATIENCE, answer(stream)) => {}
                () = stopping.stopping() => {}
            }
            drop(place);
        });
    }

    /// Says in the log that a client may not use the proxy.
    pub fn tell(&self, peer: SocketAddr) {
        debug!(%peer, "the client may not use the proxy");
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner).count(Instant::now());
        if let Some(count) = told {
            info!(%peer, count, "clients that may not use the proxy are refused");
        }
    }
}

async fn answer(mut stream: TcpStream) {
    if stream.write_all(ANSWER).await.is_ok() && stream.shutdown().await.is_ok() {
        let mut rest = stream.take(MAX_UNREAD);
        let _left = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_as_long_as_it_says() {
        let text = std::str::from_utf8(ANSWER).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{}", body.len());
        assert!(body.ends_with(".\n"));
    }

    #[test]
    fn the_log_tells_of_many_in_one_line() {
        let (mut told, now) = (Told::default(), Instant::now());
        assert_eq!(told.count(now), Some(1));
        for _ in 0..1000 {
            assert_eq!(told.count(now + Duration::from_secs(59)), None);
        }
        assert_eq!(told.count(now + Duration::from_secs(60)), Some(1001));
    }
}
