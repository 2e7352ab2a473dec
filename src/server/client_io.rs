//! The byte stream of a client's connection, below hyper. It ends the connection of a client that
//! does not read, refuses malformed requests, and sends interim responses (1xx), for which hyper's
//! server has no interface.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};
use tracing::debug;

use super::parking::ParkingTimer;
use super::repeat::Replayer;
use super::resets::ResetCounter;
use crate::base::patient_io::WriteTimer;
use crate::base::presence::Presence;
use crate::proxy::interims::Interims;
use wwwoffle_http::framing::Gate;

/// The time for which a client that closed its half of the connection waits for the next byte of a
/// response that has begun. As long as nothing is written, such a client cannot be distinguished
/// from one that has left.
const HALF_CLOSED_PAUSE: Duration = Duration::from_secs(10);

/// The time for which a client may continue to send the body of a request that was answered early.
const LINGER_PAUSE: Duration = Duration::from_secs(5);

/// The maximum number of bytes that are read and discarded of a request that was answered early.
const LINGER_BYTES: usize = 64 << 20;

/// The connection of one client.
#[derive(Debug)]
pub struct ClientIo<T> {
    inner: T,
    timer: WriteTimer,
    /// Whether hyper has written everything. If so, its next byte begins a response.
    between: bool,
    interims: Interims,
    /// The check of the received bytes, if there is one.
    gate: Option<Gate>,
    /// The replayer, which answers repeated requests without hyper, if there is one.
    replayer: Option<Box<Replayer>>,
    /// Parks the connection, if it may be parked.
    parking: Option<ParkingTimer>,
    half_closed: HalfClosed,
    /// Whether a byte was written since the last byte was read: the response has begun.
    has_begun: bool,
    /// Whether the client has closed its half, for the requests of the connection.
    presence: Presence,
    /// The counter of the streams that the client resets, if it speaks HTTP/2.
    resets: Option<ResetCounter>,
    /// The rest of a request that was answered early. It is read after the end of the response.
    linger: Option<Linger>,
}

/// A client that has closed its half of the connection.
#[derive(Debug)]
struct HalfClosed {
    /// The deadline for the response, once the client has closed its half.
    until: Option<Pin<Box<Sleep>>>,
    /// The time for which the client may wait for the first byte of its response.
    limit: Duration,
}

/// The rest of a body that is discarded.
#[derive(Debug)]
struct Linger {
    until: Pin<Box<Sleep>>,
    /// The number of bytes that may still be discarded.
    left: usize,
}

impl<T> ClientIo<T> {
    /// Wraps `inner`. A write without progress for `patience` fails.
    pub fn new(inner: T, patience: Duration) -> Self {
        Self {
            inner,
            timer: WriteTimer::new(patience),
            between: true,
            interims: Interims::default(),
            gate: None,
            replayer: None,
            parking: None,
            half_closed: HalfClosed { until: None, limit: patience },
            has_begun: false,
            presence: Presence::default(),
            resets: None,
            linger: None,
        }
    }

    /// Checks each request and refuses malformed ones.
    #[must_use]
    pub fn with_gate(mut self) -> Self {
        self.gate = Some(Gate::default());
        self
    }

    /// Answers repeated requests without hyper.
    #[must_use]
    pub(super) fn with_replayer(mut self, replayer: Replayer) -> Self {
        self.replayer = Some(Box::new(replayer));
        self
    }

    /// Lets `timer` park the connection between two requests. Only with a replayer.
    #[must_use]
    pub(super) fn parked_by(mut self, timer: ParkingTimer) -> Self {
        self.parking = Some(timer);
        self
    }

    /// Sets how long a client that has closed its half may wait for the first byte of its response.
    #[must_use]
    pub(super) fn half_closed_for(mut self, limit: Duration) -> Self {
        self.half_closed.limit = limit;
        self
    }

    /// Counts the streams that the client resets.
    #[must_use]
    pub(super) fn counting(mut self, resets: ResetCounter) -> Self {
        self.resets = Some(resets);
        self
    }

    /// Whether the client has closed its half of this connection.
    pub fn presence(&self) -> Presence {
        self.presence.clone()
    }

    /// A sender of interim responses into this connection.
    pub fn interims(&self) -> Interims {
        self.interims.clone()
    }
}

impl<T: AsyncWrite + Unpin> ClientIo<T> {
    /// Polls a write and fails after the timeout.
    fn watch_write<R>(
        &mut self,
        cx: &mut Context<'_>,
        step: impl FnOnce(Pin<&mut T>, &mut Context<'_>) -> Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        let step = step(Pin::new(&mut self.inner), cx);
        if step.is_ready() {
            self.has_begun = true;
            if let Some(timer) = &mut self.parking {
                timer.note_use();
            }
            if let Some(until) = &mut self.half_closed.until {
                until.as_mut().reset(Instant::now() + HALF_CLOSED_PAUSE);
            }
        }
        self.timer.watch(cx, step)
    }

    /// Polls a flush or the end of the stream, and fails after the timeout.
    fn watch_flush(
        &mut self,
        cx: &mut Context<'_>,
        step: impl FnOnce(Pin<&mut T>, &mut Context<'_>) -> Poll<io::Result<()>>,
    ) -> Poll<io::Result<()>> {
        let step = step(Pin::new(&mut self.inner), cx);
        self.timer.watch(cx, step)
    }

    /// Writes the rest of a response that is sent without hyper.
    fn poll_answering(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(mut replayer) = self.replayer.take_if(|replayer| replayer.is_answering()) {
            let step = self.watch_write(cx, |inner, cx| replayer.poll_step(inner, cx));
            self.replayer = Some(replayer);
            ready!(step)?;
        }
        Poll::Ready(Ok(()))
    }

    /// Whether every request was answered, and no part of another one was received. `None` if that
    /// is unknown.
    fn is_answered(&self) -> Option<bool> {
        let heads = self.gate.as_ref().and_then(Gate::between);
        heads.zip(self.replayer.as_ref()).map(|(heads, replayer)| replayer.is_idle(heads))
    }

    /// Whether the connection is parked, so that hyper sees its end.
    fn is_parked(&self) -> bool {
        self.parking.as_ref().is_some_and(ParkingTimer::is_parked)
    }

    /// Waits until the connection is parked, after the client has sent nothing.
    fn poll_parked(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // Within a request, or in another protocol, the next event is a byte. So an idle tunnel needs
        // no timer.
        let Some(is_idle) = self.is_answered() else { return Poll::Pending };
        match &mut self.parking {
            Some(timer) => timer.poll_parked(cx, is_idle),
            None => Poll::Pending,
        }
    }

    /// Waits while a client that closed its half may still wait for its response.
    fn poll_half_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_answered().unwrap_or(true) {
            return Poll::Ready(());
        }
        self.presence.set_half_closed();
        let limit = if self.has_begun { HALF_CLOSED_PAUSE } else { self.half_closed.limit };
        let until =
            self.half_closed.until.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        until.as_mut().poll(cx)
    }

    /// Writes waiting interim responses if hyper is between two responses.
    ///
    /// hyper flushes each time it has written its buffer, and in every later iteration of its loop.
    /// It starts a request only after the previous response was handed over. So an interim response
    /// that waits between a flush and the next byte belongs exactly there. An interim response that
    /// arrives while an earlier response is being written waits for the flush.
    fn poll_interims(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.between {
            let Some(chunk) = self.interims.next(cx.waker()) else { break };
            let written = ready!(self.watch_write(cx, |inner, cx| inner.poll_write(cx, &chunk)))?;
            self.interims.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncRead + Unpin> ClientIo<T> {
    /// Discards the rest of a request body that was not read, up to a limit. If the connection was
    /// closed earlier, the client would see its own write fail and lose the response (RFC 9112
    /// §9.6).
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(gate) = self.gate.as_mut().filter(|gate| gate.is_in_body()) else {
            return Poll::Ready(());
        };
        let linger = self.linger.get_or_insert_with(|| Linger {
            until: Box::pin(tokio::time::sleep(LINGER_PAUSE)),
            left: LINGER_BYTES,
        });
        let mut scratch = [0; 4096];
        while gate.is_in_body() && linger.left > 0 && linger.until.as_mut().poll(cx).is_pending() {
            let mut buffer = ReadBuf::new(&mut scratch);
            let read = ready!(Pin::new(&mut self.inner).poll_read(cx, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                break;
            }
            linger.left = linger.left.saturating_sub(buffer.filled().len());
            gate.pass(buffer.filled_mut());
        }
        Poll::Ready(())
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for ClientIo<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.is_parked() {
            return Poll::Ready(Ok(()));
        }
        loop {
            ready!(this.poll_answering(cx))?;
            if this.replayer.as_mut().is_some_and(|replayer| replayer.ends_its_turn()) {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let before = buffer.filled().len();
            let Some(gate) = &mut this.gate else {
                ready!(Pin::new(&mut this.inner).poll_read(cx, buffer))?;
                if let Some(resets) = &mut this.resets {
                    resets.read(buffer.filled().get(before..).unwrap_or_default());
                }
                return Poll::Ready(Ok(()));
            };
            if gate.refused().is_some() {
                let ending = gate.ending();
                if ending.len() <= buffer.remaining() {
                    buffer.put_slice(ending);
                }
                return Poll::Ready(Ok(()));
            }
            if this.half_closed.until.is_none() {
                match Pin::new(&mut this.inner).poll_read(cx, buffer) {
                    Poll::Ready(read) => read?,
                    Poll::Pending => return this.poll_parked(cx).map(Ok),
                }
            }
            if buffer.filled().len() == before && buffer.remaining() > 0 {
                ready!(this.poll_half_closed(cx));
                return Poll::Ready(Ok(()));
            }
            this.has_begun = false;
            if let Some(timer) = &mut this.parking {
                timer.note_use();
            }
            let fresh = buffer.filled_mut().get_mut(before..).unwrap_or_default();
            if let (Some(replayer), Some(heads)) = (&mut this.replayer, gate.between())
                && replayer.take(heads, fresh)
            {
                buffer.set_filled(before);
                continue;
            }
            let passed = gate.pass(fresh);
            buffer.set_filled(before + passed);
            if let Some(why) = gate.refused() {
                debug!(why, "the client is refused");
            }
            return Poll::Ready(Ok(()));
        }
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ClientIo<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_answering(cx))?;
        ready!(self.poll_interims(cx))?;
        self.between = false;
        self.watch_write(cx, |inner, cx| inner.poll_write(cx, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_answering(cx))?;
        self.between = true;
        ready!(self.poll_interims(cx))?;
        ready!(self.watch_flush(cx, AsyncWrite::poll_flush))?;
        if let Some(replayer) = &mut self.replayer {
            replayer.flushed();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_parked() {
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_answering(cx))?;
        if self.linger.is_none() {
            ready!(self.watch_flush(cx, AsyncWrite::poll_shutdown))?;
        }
        ready!(self.poll_linger(cx));
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_answering(cx))?;
        ready!(self.poll_interims(cx))?;
        self.between = false;
        self.watch_write(cx, |inner, cx| inner.poll_write_vectored(cx, buffers))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

#[cfg(test)]
mod framing_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::interims::MAX_WAITING_INTERIMS;
    use hyper::{HeaderMap, StatusCode};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[tokio::test]
    async fn an_interim_response_is_written_at_the_next_flush() {
        let (client, mut other) = duplex(4096);
        let mut io = ClientIo::new(client, Duration::from_secs(60));
        let interims = io.interims();
        let fields = [(hyper::header::LINK, "</a.css>; rel=preload".parse().unwrap())];
        interims.send(StatusCode::EARLY_HINTS, &fields.into_iter().collect());
        io.flush().await.unwrap();
        io.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        drop(io);
        let mut seen = String::new();
        other.read_to_string(&mut seen).await.unwrap();
        assert_eq!(
            seen,
            "HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n\
             HTTP/1.1 200 OK\r\n\r\n"
        );
    }

    #[tokio::test]
    async fn interim_responses_are_sent_in_order() {
        let (client, mut other) = duplex(4096);
        let mut io = ClientIo::new(client, Duration::from_secs(60));
        let interims = io.interims();
        io.write_all(b"first, ").await.unwrap();
        interims.send(StatusCode::PROCESSING, &HeaderMap::new());
        io.write_all(b"still first\n").await.unwrap();
        io.flush().await.unwrap();
        interims.send(StatusCode::EARLY_HINTS, &HeaderMap::new());
        io.write_all(b"second\n").await.unwrap();
        drop(io);
        let mut seen = String::new();
        other.read_to_string(&mut seen).await.unwrap();
        assert_eq!(
            seen,
            "first, still first\nHTTP/1.1 102 Processing\r\n\r\n\
             HTTP/1.1 103 Early Hints\r\n\r\nsecond\n"
        );
    }

    #[tokio::test]
    async fn the_number_of_interim_responses_is_limited() {
        let (client, mut other) = duplex(4096);
        let mut io = ClientIo::new(client, Duration::from_secs(60));
        for _ in 0..100 {
            io.interims().send(StatusCode::PROCESSING, &HeaderMap::new());
        }
        io.flush().await.unwrap();
        drop(io);
        let mut seen = String::new();
        other.read_to_string(&mut seen).await.unwrap();
        assert_eq!(seen.matches("102 Processing").count(), MAX_WAITING_INTERIMS);
    }

    #[tokio::test(start_paused = true)]
    async fn writing_to_an_unresponsive_client_times_out() {
        let (client, _other) = duplex(8);
        let mut io = ClientIo::new(client, Duration::from_secs(5));
        let error = io.write_all(&[b'x'; 100]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
