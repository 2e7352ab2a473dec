//! The state that the byte stream below hyper and the service above hyper share: the current
//! request of a connection, and the number of answered requests.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use crate::base::statistics::ResponseCounter;
use crate::net::upstream::BoxError;
use crate::proxy::body::Body;
use crate::server::waiting::Waiting;

/// The state shared by the byte stream and the service of a connection.
#[derive(Debug, Default)]
pub struct Exchange {
    /// The head of the request that was just received, if it is complete and no further bytes
    /// follow.
    asked: Mutex<Option<Bytes>>,
    /// The number of responses that were handed over completely.
    answered: AtomicUsize,
}

impl Exchange {
    /// Sets the bytes of the next request.
    pub(super) fn set_request(&self, head: Option<Bytes>) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = head;
    }

    /// Takes the bytes of the current request, if known.
    #[must_use]
    pub fn take_request(&self) -> Option<Bytes> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn answered_count(&self) -> usize {
        self.answered.load(Ordering::Acquire)
    }
}

/// A body that reports its end, and reads only as much as its client takes.
#[derive(Debug)]
pub struct ExchangeBody {
    body: Body,
    waiting: Waiting,
    exchange: Arc<Exchange>,
    given: Option<ResponseCounter>,
}

impl ExchangeBody {
    /// Wraps `body`. `given` counts the bytes of the response, if set.
    #[must_use]
    pub fn new(body: Body, exchange: Arc<Exchange>, given: Option<ResponseCounter>) -> Self {
        Self { body, waiting: Waiting::default(), exchange, given }
    }
}

impl Drop for ExchangeBody {
    fn drop(&mut self) {
        self.exchange.answered.fetch_add(1, Ordering::AcqRel);
    }
}

impl hyper::body::Body for ExchangeBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        ready!(self.waiting.poll_room(cx));
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let (Some(given), Some(Ok(frame))) = (&self.given, &frame) {
            given.count_sent_bytes(frame.data_ref().map_or(0, Bytes::len));
        }
        // The last piece is not counted as unsent, because no piece follows it.
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
