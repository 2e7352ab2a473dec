//! The progress of an exchange, from the request to the response head.

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::trailers::cleaned;
use super::{BoxError, ClientBody, Failure};

/// The maximum number of interim responses before the final response.
const MAX_INTERIMS: usize = 64;

/// The time of the last progress, and the number of interim responses.
#[derive(Clone, Debug)]
pub(super) struct Activity(Arc<Moves>);

#[derive(Debug)]
struct Moves {
    last: Mutex<Instant>,
    interims: AtomicUsize,
    flooded: Notify,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self(Arc::new(Moves {
            last: Mutex::new(Instant::now()),
            interims: AtomicUsize::new(0),
            flooded: Notify::new(),
        }))
    }

    pub(super) fn touch(&self) {
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn last(&self) -> Instant {
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an interim response. Returns `false` if there are too many.
    pub(super) fn interim(&self) -> bool {
        self.touch();
        let within = self.0.interims.fetch_add(1, Ordering::Relaxed) < MAX_INTERIMS;
        if !within {
            self.0.flooded.notify_one();
        }
        within
    }

    /// Waits for the response head. Gives up if there is no progress for `patience`.
    ///
    /// # Errors
    ///
    /// [`Failure::HeadTimeout`] without progress, and [`Failure::Wrong`] after more than
    /// [`MAX_INTERIMS`] interim responses.
    pub(super) async fn watch<T>(
        &self,
        patience: Duration,
        head: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        self.touch();
        let mut head = pin!(head);
        loop {
            let limit = self.last() + patience;
            let answered = tokio::select! {
                biased;
                // Returning drops `head`, which ends the exchange.
                () = self.0.flooded.notified() => {
                    return Err(Failure::Wrong("it sends only interim responses"));
                }
                answered = timeout_at(limit, &mut head) => answered,
            };
            match answered {
                Ok(answered) => return Ok(answered),
                Err(_) if self.last() + patience > Instant::now() => {}
                Err(_) => return Err(Failure::HeadTimeout),
            }
        }
    }
}

/// A client's request body that reports its progress.
#[derive(Debug)]
pub(super) struct ProgressBody {
    body: ClientBody,
    activity: Activity,
}

impl ProgressBody {
    pub(super) fn new(body: ClientBody, activity: Activity) -> Self {
        Self { body, activity }
    }
}

impl Body for ProgressBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if !self.body.start.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.body.start)))));
        }
        let frame = ready!(Pin::new(&mut self.body.rest).poll_frame(cx));
        self.activity.touch();
        Poll::Ready(frame.map(|frame| frame.map(cleaned).map_err(BoxError::from)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.start.is_empty() && self.body.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let start = u64::try_from(self.body.start.len()).unwrap_or(u64::MAX);
        let rest = self.body.rest.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(start));
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(start));
        }
        hint
    }
}
