//! How many requests of a connection have been answered, as its two ends count them.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use crate::net::upstream::BoxError;
use crate::proxy::body::Body;
use crate::server::waiting::Waiting;
use crate::storage::statistics::Given;

/// What the end of a connection that sees its bytes and the one that sees its requests tell each other.
#[derive(Debug, Default)]
pub struct Exchange {
    /// The request that has just come, whole and alone.
    asked: Mutex<Option<Bytes>>,
    /// How many answers have been handed over to their last byte.
    answered: AtomicUsize,
}

impl Exchange {
    /// Tells which bytes the next request is made of.
    pub(super) fn ask(&self, head: Option<Bytes>) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = head;
    }

    /// The bytes of the request that is handled now, if they are known.
    #[must_use]
    pub fn asked(&self) -> Option<Bytes> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn answered(&self) -> usize {
        self.answered.load(Ordering::Acquire)
    }
}

/// A body whose end is counted, and which gives no more than its client takes.
#[derive(Debug)]
pub struct Counted {
    body: Body,
    waiting: Waiting,
    exchange: Arc<Exchange>,
    given: Option<Given>,
}

impl Counted {
    /// Counts the answer that `body` belongs to, and its bytes where `given` says so.
    #[must_use]
    pub fn new(body: Body, exchange: Arc<Exchange>, given: Option<Given>) -> Self {
        Self { body, waiting: Waiting::default(), exchange, given }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.exchange.answered.fetch_add(1, Ordering::AcqRel);
    }
}

impl hyper::body::Body for Counted {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        ready!(self.waiting.poll_room(cx));
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let (Some(given), Some(Ok(frame))) = (&self.given, &frame) {
            given.gave(frame.data_ref().map_or(0, Bytes::len));
        }
        // Nothing waits for the last of it.
        let is_last = self.body.is_end_stream();
        Poll::Ready(frame.map(|frame| match frame {
            Ok(frame) if !is_last => Ok(frame.map_data(|data| self.waiting.count(data))),
            as_it_is => as_it_is,
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
