//! The streams of one HTTP/2 connection. Counts the running ones, and detects a client that does
//! not read its responses or that mostly resets its requests.
//!
//! hyper serves each stream in a future, which [`Streams`] runs. That future waits while the client
//! keeps the window of the stream closed, and does not write to the socket. So the body
//! ([`PacedBody`]) records when one of its pieces was taken and when the next piece is requested.
//! If no piece is requested for too long, the stream is ended.
//!
//! A stream that became a tunnel is also written by a future of hyper, which waits in the same way.
//! The task that copies the bytes has a timeout. When that task gives up the tunnel, it frees the
//! slot. Then hyper's future gets the same time again for the rest.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use hyper::rt::Executor;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::debug;

use super::slots::RequestSlot;
use crate::base::statistics::ResponseCounter;
use crate::base::tasks::Tasks;
use crate::net::upstream::BoxError;
use crate::proxy::body::Body;
use crate::proxy::client_connection::ClientConnection;

/// The maximum size, in bytes, of a piece of a body that is given to HTTP/2 at once. No frame is
/// larger. On every stream, HTTP/2 holds the piece until the client takes it.
const PIECE: usize = 16 * 1024;

/// A client with more resets than this counts as abusive if it has reset more than half of its
/// streams. A browser that leaves a page resets one or two hundred.
const MANY_RESETS: usize = 500;

tokio::task_local! {
    /// The pace of the stream whose future is being polled. hyper creates that future around our
    /// body and cannot pass the pace on.
    static PACE: Arc<StreamPace>;
}

/// The streams of one connection. Runs their futures in tasks of the daemon.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    tasks: Tasks,
    patience: Duration,
    shared: Arc<StreamCounts>,
}

#[derive(Debug, Default)]
struct StreamCounts {
    active: AtomicUsize,
    changed: Notify,
    asked: AtomicUsize,
    resets: AtomicUsize,
    abused: Notify,
}

impl Streams {
    /// Creates the state of a connection without streams. A stream without progress for `patience`
    /// will be ended.
    pub(super) fn new(tasks: Tasks, patience: Duration) -> Self {
        Self { tasks, patience, shared: Arc::default() }
    }

    /// Resolves when the connection has had no stream for `patience`.
    pub(super) async fn idle(&self, patience: Duration) {
        loop {
            let changed = self.shared.changed.notified();
            if self.shared.active.load(Ordering::Acquire) > 0 {
                changed.await;
            } else if timeout(patience, changed).await.is_err() {
                return;
            }
        }
    }

    /// Resolves when the client has reset too many of its streams, and logs that.
    pub(super) async fn abused(&self) {
        self.shared.abused.notified().await;
        debug!("the client resets most of its streams");
    }

    /// Counts a request.
    pub(super) fn count_request(&self) {
        self.shared.asked.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts streams that the client has reset.
    pub(super) fn reset(&self, streams: usize) {
        let resets = self.shared.resets.fetch_add(streams, Ordering::AcqRel) + streams;
        let asked = self.shared.asked.load(Ordering::Acquire);
        if resets > MANY_RESETS && resets > asked / 2 {
            self.shared.abused.notify_one();
        }
    }
}

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let (active, patience) = (ActiveStream::enter(&self.shared), self.patience);
        // If a stream becomes a tunnel, the future of the stream starts the future of the tunnel.
        // So `PACE` is set here only for a tunnel.
        let outer = PACE.try_with(|pace| pace.slot().clone()).ok();
        self.tasks.spawn(async move {
            // Dropping the future of a stream resets the stream.
            if let Some(slot) = outer {
                tokio::select! {
                    () = stream => {}
                    () = wait_until_idle(&slot, patience) => debug!("the client does not read a tunnel"),
                }
            } else {
                let pace = Arc::<StreamPace>::default();
                tokio::select! {
                    () = PACE.scope(Arc::clone(&pace), stream) => {}
                    () = pace.stalled(patience) => debug!("the client does not read a stream"),
                }
            }
            drop(active);
        });
    }
}

/// Stores the slot of the request whose stream is being polled.
pub(super) fn remember_slot(slot: &Arc<RequestSlot>) {
    // This always runs in the future of a stream, so `PACE` is always set.
    let _held = PACE.try_with(|pace| *pace.slot() = Arc::downgrade(slot));
}

/// Resolves when the slot has been free for at least `patience`.
async fn wait_until_idle(slot: &Weak<RequestSlot>, patience: Duration) {
    loop {
        let was_free = slot.strong_count() == 0;
        sleep(patience).await;
        if was_free {
            return;
        }
    }
}

/// A stream that counts as active until this value is dropped.
struct ActiveStream(Arc<StreamCounts>);

impl ActiveStream {
    fn enter(shared: &Arc<StreamCounts>) -> Self {
        shared.active.fetch_add(1, Ordering::AcqRel);
        shared.changed.notify_waiters();
        Self(Arc::clone(shared))
    }
}

impl Drop for ActiveStream {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::AcqRel);
        self.0.changed.notify_waiters();
    }
}

/// The pace of a stream: the time since which the stream waits for its client, and the slot of its
/// request.
#[derive(Debug, Default)]
struct StreamPace {
    waiting_since: Mutex<Option<Instant>>,
    given: Notify,
    slot: Mutex<Weak<RequestSlot>>,
}

impl StreamPace {
    fn slot(&self) -> MutexGuard<'_, Weak<RequestSlot>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, since: Option<Instant>) {
        *self.waiting_since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    fn since(&self) -> Option<Instant> {
        *self.waiting_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves when the client has taken nothing for `patience`.
    async fn stalled(&self, patience: Duration) {
        loop {
            match self.since() {
                None => self.given.notified().await,
                Some(since) => {
                    sleep_until(since + patience).await;
                    if self.since() == Some(since) {
                        return;
                    }
                }
            }
        }
    }
}

/// A body that is sent in small pieces and reports its progress. It holds the slot of its request.
pub(super) struct PacedBody {
    body: Body,
    /// The part of the last piece of `body` that is not yet sent.
    rest: Bytes,
    pace: Option<Arc<StreamPace>>,
    given: Option<ResponseCounter>,
    _connection: ClientConnection,
}

impl PacedBody {
    /// Wraps `body` for the stream whose future is being polled.
    pub(super) fn new(
        body: Body,
        connection: ClientConnection,
        given: Option<ResponseCounter>,
    ) -> Self {
        let pace = PACE.try_with(Arc::clone).ok();
        Self { body, rest: Bytes::new(), pace, given, _connection: connection }
    }
}

impl hyper::body::Body for PacedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if let Some(pace) = &this.pace {
            pace.set(None);
        }
        while this.rest.is_empty() {
            match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                end => return Poll::Ready(end),
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(PIECE));
        if let Some(given) = &this.given {
            given.count_sent_bytes(piece.len());
        }
        if let Some(pace) = &this.pace {
            pace.set(Some(Instant::now()));
            pace.given.notify_one();
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (left, mut hint) = (self.rest.len(), self.body.size_hint());
        let left = u64::try_from(left).unwrap_or(u64::MAX);
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(left));
        }
        hint.set_lower(hint.lower().saturating_add(left));
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stream_stalls_only_while_its_client_is_waited_for() {
        let (pace, patience) = (StreamPace::default(), Duration::from_secs(5));
        let long = Duration::from_secs(60);
        assert!(timeout(long, pace.stalled(patience)).await.is_err(), "nothing was given");
        pace.set(Some(Instant::now()));
        pace.given.notify_one();
        let again = async {
            for _ in 0..10 {
                tokio::time::sleep(patience / 2).await;
                pace.set(Some(Instant::now()));
            }
            pace.set(None);
            tokio::time::sleep(long).await;
        };
        tokio::select! {
            () = pace.stalled(patience) => panic!("it moves"),
            () = again => {}
        }
        pace.set(Some(Instant::now()));
        timeout(long, pace.stalled(patience)).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_streams_becomes_idle() {
        let streams = Streams::new(Tasks::new(), Duration::from_secs(1));
        let patience = Duration::from_secs(5);
        let active = ActiveStream::enter(&streams.shared);
        assert!(timeout(patience * 3, streams.idle(patience)).await.is_err());
        drop(active);
        let begun = Instant::now();
        streams.idle(patience).await;
        assert_eq!(begun.elapsed(), patience);
    }

    #[tokio::test(start_paused = true)]
    async fn abusive_resets_are_distinguished_from_a_left_page() {
        let streams = Streams::new(Tasks::new(), Duration::from_secs(1));
        let now = Duration::from_millis(1);
        streams.reset(MANY_RESETS);
        assert!(timeout(now, streams.abused()).await.is_err());
        for _ in 0..3 * MANY_RESETS {
            streams.count_request();
        }
        streams.reset(1);
        assert!(timeout(now, streams.abused()).await.is_err());
        streams.reset(MANY_RESETS);
        timeout(now, streams.abused()).await.unwrap();
    }
}
