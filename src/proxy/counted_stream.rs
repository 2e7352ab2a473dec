//! A tunnelled connection to an origin whose bytes are counted, but not interpreted.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::access_record::AccessRecord;
use crate::base::statistics::usage::UsageAccount;
use crate::base::statistics::{Account, Outcome, ResponseCounter};
use crate::net::upstream::UsageMeter;

/// A connection to an origin that counts the bytes which go to a client unchanged.
#[derive(Debug)]
pub(super) struct CountedStream<T> {
    origin: T,
    account: Arc<Account>,
    counter: ResponseCounter,
    usage: Option<UsageMeter>,
    record: Option<Arc<AccessRecord>>,
}

impl<T> CountedStream<T> {
    /// Counts one more tunnel, and counts its bytes as they arrive.
    pub(super) fn new(origin: T, account: Arc<Account>, usage: Option<Arc<UsageAccount>>) -> Self {
        let counter =
            ResponseCounter::begin(Arc::clone(&account), Outcome::Tunnelled, usage.clone());
        Self { origin, account, counter, usage: usage.map(UsageMeter::new), record: None }
    }

    /// Counts the bytes for the access log too.
    pub(super) fn recorded_by(mut self, record: Option<Arc<AccessRecord>>) -> Self {
        if let Some(record) = &record {
            record.set_outcome(Outcome::Tunnelled);
        }
        self.record = record;
        self
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for CountedStream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if let Some(usage) = &mut self.usage {
            ready!(usage.poll_ready(cx));
        }
        ready!(Pin::new(&mut self.origin).poll_read(cx, buffer))?;
        let came = buffer.filled().len().saturating_sub(before);
        self.account.fetched(came);
        self.counter.count_sent_bytes(came);
        if let Some(record) = &self.record {
            record.count_sent_bytes(came);
        }
        let counted = self.usage.as_mut().map_or(Ok(()), |usage| usage.count(came));
        Poll::Ready(counted.map_err(io::Error::other))
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
