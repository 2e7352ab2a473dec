//! Clients that may not use the proxy: told so once, with as little work as that takes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::{debug, info};

use super::told::Told;
use crate::server::tasks::Tasks;

/// How many are told so at once; the connections of others are closed without a word.
const MAX_AT_ONCE: usize = 32;

/// How long one may take to say what it wants and to leave.
const PATIENCE: Duration = Duration::from_secs(2);

/// Bytes that are read of what one wants, unseen: a connection that is closed with unread bytes is
/// reset, and its client may never see the answer.
const MAX_UNREAD: u64 = 64 * 1024;

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
    told: Told,
}

impl Default for Strangers {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(MAX_AT_ONCE)), told: Told::default() }
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

    fn tell(&self, peer: SocketAddr) {
        debug!(%peer, "the client may not use the proxy");
        if let Some(count) = self.told.count(Instant::now()) {
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
}
