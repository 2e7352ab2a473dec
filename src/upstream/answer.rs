//! An answer on its way in: its head, its body as a stream, and the connection behind it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::Response;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::SendRequest;
use tokio::time::{Instant, Sleep};

use super::pool::Permit;
use super::{BoxError, Failure, Origin, RequestBody, Upstream};

/// A final answer: status and fields as the origin sent them, and the body to come.
pub type Answer = Response<AnswerBody>;

/// The connection an answer comes on, given back to the pool when its body has ended.
#[derive(Debug)]
pub(super) struct Lease {
    upstream: Arc<Upstream>,
    origin: Origin,
    sender: SendRequest<RequestBody>,
    permit: Permit,
}

impl Lease {
    pub(super) fn new(
        upstream: Arc<Upstream>,
        origin: Origin,
        sender: SendRequest<RequestBody>,
        permit: Permit,
    ) -> Self {
        Self { upstream, origin, sender, permit }
    }

    fn give_back(self) {
        let Self { upstream, origin, sender, permit } = self;
        let tasks = upstream.tasks.clone();
        tasks.spawn(async move {
            upstream.pool.give_back(&origin, sender, || upstream.keeps_connections()).await;
            drop(permit);
        });
    }
}

/// The body of an answer. It fails when it stops moving, is cut short or is malformed.
///
/// Dropped before its end, it takes its connection down with it: the rest of the body is nobody's.
#[derive(Debug)]
pub struct AnswerBody {
    incoming: Incoming,
    lease: Option<Lease>,
    stall: Pin<Box<Sleep>>,
    patience: Duration,
}

impl AnswerBody {
    pub(super) fn new(incoming: Incoming, lease: Lease, patience: Duration) -> Self {
        let stall = Box::pin(tokio::time::sleep(patience));
        let mut body = Self { incoming, lease: Some(lease), stall, patience };
        if body.incoming.is_end_stream() {
            body.ended();
        }
        body
    }

    fn ended(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.give_back();
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) {
            let next = Instant::now() + self.patience;
            self.stall.as_mut().reset(next);
            let is_last = frame.as_ref().is_none_or(|frame| {
                frame.as_ref().is_ok_and(|frame| frame.is_trailers() || self.is_end_stream())
            });
            // Whoever has the last frame need not ask whether there is one more.
            if is_last {
                self.ended();
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Failure::from_exchange)));
        }
        ready!(self.stall.as_mut().poll(cx));
        self.lease = None;
        Poll::Ready(Some(Err(Failure::Stalled)))
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

/// When something last moved on an exchange.
#[derive(Clone, Debug)]
pub(super) struct Activity(Arc<Mutex<Instant>>);

impl Activity {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    pub(super) fn touch(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(super) fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client's request body that tells when it moves.
#[derive(Debug)]
pub(super) struct Watched {
    incoming: Incoming,
    activity: Activity,
}

impl Watched {
    pub(super) fn new(incoming: Incoming, activity: Activity) -> Self {
        Self { incoming, activity }
    }
}

impl Body for Watched {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.incoming).poll_frame(cx));
        self.activity.touch();
        Poll::Ready(frame.map(|frame| frame.map_err(BoxError::from)))
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
