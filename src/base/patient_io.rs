//! Connections on which a write that makes no progress fails.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A timer that lets a write fail if it makes no progress for a given time.
#[derive(Debug)]
pub struct WriteTimer {
    patience: Duration,
    stall: Pin<Box<Sleep>>,
    /// Whether a write is waiting for the client, so that the timer is running.
    is_waiting: bool,
}

impl WriteTimer {
    /// Creates a timer that fails a write after `patience` without progress.
    #[must_use]
    pub fn new(patience: Duration) -> Self {
        Self { patience, stall: Box::pin(tokio::time::sleep(patience)), is_waiting: false }
    }

    /// Returns the result of one write step, or an error if the writes have waited too long.
    pub fn watch<R>(
        &mut self,
        cx: &mut Context<'_>,
        step: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if step.is_ready() {
            self.is_waiting = false;
            return step;
        }
        if !self.is_waiting {
            self.is_waiting = true;
            self.stall.as_mut().reset(Instant::now() + self.patience);
        }
        ready!(self.stall.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
    }
}

/// A connection with a [`WriteTimer`].
#[derive(Debug)]
pub struct PatientIo<T> {
    inner: T,
    timer: WriteTimer,
}

impl<T> PatientIo<T> {
    /// Wraps `inner`. A write that makes no progress for `patience` fails.
    pub fn new(inner: T, patience: Duration) -> Self {
        Self { inner, timer: WriteTimer::new(patience) }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for PatientIo<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for PatientIo<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { inner, timer } = self.get_mut();
        let step = Pin::new(inner).poll_write(cx, bytes);
        timer.watch(cx, step)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { inner, timer } = self.get_mut();
        let step = Pin::new(inner).poll_flush(cx);
        timer.watch(cx, step)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { inner, timer } = self.get_mut();
        let step = Pin::new(inner).poll_shutdown(cx);
        timer.watch(cx, step)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Self { inner, timer } = self.get_mut();
        let step = Pin::new(inner).poll_write_vectored(cx, buffers);
        timer.watch(cx, step)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}
