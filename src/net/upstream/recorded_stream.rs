//! A connection that records the TLS alert that ended it, because `h2` reports errors only as text.
//! It also counts reads with data, because data shows that the origin is alive even if the answer
//! to a ping is late.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use rustls::AlertDescription;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::tls_error::find_alert;

/// The recorded events of a connection.
#[derive(Debug, Default)]
pub(super) struct ConnectionRecord {
    alert: OnceLock<AlertDescription>,
    reads: AtomicUsize,
}

impl ConnectionRecord {
    /// The TLS alert that ended the connection, if any.
    pub(super) fn alert(&self) -> Option<AlertDescription> {
        self.alert.get().copied()
    }

    /// The number of reads with data. It increases whenever data arrives.
    pub(super) fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }
}

/// A byte stream and the record of its events.
#[derive(Debug)]
pub(super) struct RecordedStream<S> {
    stream: S,
    heard: Arc<ConnectionRecord>,
}

impl<S> RecordedStream<S> {
    pub(super) fn new(stream: S, heard: Arc<ConnectionRecord>) -> Self {
        Self { stream, heard }
    }

    fn record_result<T>(&self, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &done
            && let Some(alert) = find_alert(error)
        {
            // Later alerts are ignored, because the first one is the cause.
            let _later = self.heard.alert.set(alert);
        }
        done
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RecordedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let done = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.heard.reads.fetch_add(1, Ordering::Relaxed);
        }
        self.record_result(done)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for RecordedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.record_result(done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.record_result(done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_flush(cx);
        self.record_result(done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.record_result(done)
    }
}
