//! A tunnelled connection to an origin whose bytes are counted, but not interpreted.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::base::statistics::{Account, Outcome};

/// A connection to an origin that counts the bytes which go to a client unchanged.
#[derive(Debug)]
pub(super) struct CountedStream<T> {
    origin: T,
    account: Arc<Account>,
}

impl<T> CountedStream<T> {
    /// Counts one more tunnel, and counts its bytes as they arrive.
    pub(super) fn new(origin: T, account: Arc<Account>) -> Self {
        account.count(Outcome::Tunnelled);
        Self { origin, account }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for CountedStream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.origin).poll_read(cx, buffer))?;
        let came = buffer.filled().len().saturating_sub(before);
        self.account.fetched(came);
        self.account.count_sent_bytes(came, Outcome::Tunnelled.saves());
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for CountedStream<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.origin).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.origin).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.origin).poll_shutdown(cx)
    }
}
