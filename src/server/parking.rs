//! Connections that wait for their next request.
//!
//! hyper holds buffers of 16 KiB for a connection. So a connection that has waited for its next
//! request for some time is *parked*: it is taken back from hyper, and hyper gets it again with the
//! next bytes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures_util::future::poll_fn;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep};

/// The time after which a connection without a request is parked. It may take twice as long.
pub(super) const PARK_AFTER: Duration = Duration::from_secs(1);

/// The number of bytes that are read when a parked connection is used again. Most request heads are
/// shorter.
const FIRST_READ: usize = 4096;

/// Decides when a connection is parked.
#[derive(Debug)]
pub(super) struct ParkingTimer {
    until: Option<Pin<Box<Sleep>>>,
    /// Whether bytes were received or written since `until` was set.
    was_used: bool,
    is_parked: Arc<AtomicBool>,
}

impl ParkingTimer {
    /// Records that bytes were received or written.
    pub(super) fn note_use(&mut self) {
        self.was_used = true;
    }

    /// Whether the connection is parked: hyper must end it without closing the stream.
    pub(super) fn is_parked(&self) -> bool {
        self.is_parked.load(Ordering::Relaxed)
    }

    /// Resolves when the connection is parked. `is_idle`: every request was answered.
    pub(super) fn poll_parked(&mut self, cx: &mut Context<'_>, is_idle: bool) -> Poll<()> {
        loop {
            let until = self.until.get_or_insert_with(|| Box::pin(tokio::time::sleep(PARK_AFTER)));
            ready!(until.as_mut().poll(cx));
            if is_idle && !self.was_used {
                self.is_parked.store(true, Ordering::Relaxed);
                return Poll::Ready(());
            }
            self.was_used = false;
            until.as_mut().reset(Instant::now() + PARK_AFTER);
        }
    }
}

/// A stream that hyper holds. If the connection was parked, dropping it gives the stream back.
#[derive(Debug)]
pub(super) struct LentStream<T> {
    /// `None` only during the drop.
    stream: Option<T>,
    /// Bytes that were read from the stream before, and come first.
    first: Bytes,
    owner: Option<oneshot::Sender<T>>,
    is_parked: Arc<AtomicBool>,
}

impl<T> LentStream<T> {
    /// Lends `stream`, whose next bytes are `first`. Returns also the receiver that gets the stream
    /// back, and the timer that parks it.
    pub(super) fn new(stream: T, first: Bytes) -> (Self, oneshot::Receiver<T>, ParkingTimer) {
        let (owner, returned) = oneshot::channel();
        let is_parked = Arc::<AtomicBool>::default();
        let timer = ParkingTimer { until: None, was_used: false, is_parked: is_parked.clone() };
        let lent = Self { stream: Some(stream), first, owner: Some(owner), is_parked };
        (lent, returned, timer)
    }

    fn stream(&mut self) -> io::Result<Pin<&mut T>>
    where
        T: Unpin,
    {
        self.stream.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl<T> Drop for LentStream<T> {
    fn drop(&mut self) {
        if self.is_parked.load(Ordering::Relaxed)
            && let (Some(owner), Some(stream)) = (self.owner.take(), self.stream.take())
        {
            // Fails if the connection is being dropped as a whole.
            let _ = owner.send(stream);
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for LentStream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.first.has_remaining() {
            let length = self.first.len().min(buffer.remaining());
            buffer.put_slice(&self.first.split_to(length));
            return Poll::Ready(Ok(()));
        }
        self.stream()?.poll_read(cx, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for LentStream<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write_vectored(cx, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }
}

/// Waits for the next bytes of a parked connection and returns them. Empty if the client has left.
/// The wait needs no buffer.
pub(super) async fn next_bytes<T: AsyncRead + Unpin>(stream: &mut T) -> Bytes {
    poll_fn(|cx| {
        let mut bytes = [0; FIRST_READ];
        let mut buffer = ReadBuf::new(&mut bytes);
        let read = ready!(Pin::new(&mut *stream).poll_read(cx, &mut buffer));
        Poll::Ready(match read {
            Ok(()) => Bytes::copy_from_slice(buffer.filled()),
            Err(_) => Bytes::new(),
        })
    })
    .await
}
