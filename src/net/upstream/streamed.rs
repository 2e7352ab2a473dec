//! Bodies on an HTTP/2 connection, in both directions, with flow control.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::{Reason, RecvStream, SendStream};
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::CONTENT_LENGTH;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::debug;

use super::RequestBody;
use super::activity::Activity;

/// The body of a response. Reading it reopens the window, so an unread response uses at most one
/// window of memory.
#[derive(Debug)]
pub(super) struct StreamedBody {
    stream: RecvStream,
    /// The remaining length, if the origin announced it.
    left: Option<u64>,
    at_trailers: bool,
}

impl StreamedBody {
    pub(super) fn new(stream: RecvStream, fields: &HeaderMap) -> Self {
        let said = fields.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        Self { stream, left: said, at_trailers: false }
    }
}

impl Body for StreamedBody {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        if !self.at_trailers {
            if let Some(data) = ready!(self.stream.poll_data(cx)) {
                return Poll::Ready(Some(data.and_then(|data| {
                    self.stream.flow_control().release_capacity(data.len())?;
                    let length = u64::try_from(data.len()).unwrap_or(u64::MAX);
                    self.left = self.left.map(|left| left.saturating_sub(length));
                    Ok(Frame::data(data))
                })));
            }
            self.at_trailers = true;
        }
        let trailers = ready!(self.stream.poll_trailers(cx));
        Poll::Ready(trailers.transpose().map(|trailers| trailers.map(Frame::trailers)))
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match self.left {
            _ if self.is_end_stream() => SizeHint::with_exact(0),
            Some(left) => SizeHint::with_exact(left),
            None => SizeHint::default(),
        }
    }
}

/// A request body that is being sent. Dropping it cancels the sending and resets the stream.
#[derive(Debug)]
pub(super) struct UploadHandle {
    go_on: Option<oneshot::Sender<()>>,
}

impl UploadHandle {
    /// A handle, and the receiver for [`send`].
    pub(super) fn new() -> (Self, oneshot::Receiver<()>) {
        let (go_on, proceed) = oneshot::channel();
        (Self { go_on: Some(go_on) }, proceed)
    }

    /// Sends the rest of the body in the background: the response is complete, and the origin still
    /// reads.
    pub(super) fn detach(mut self) {
        // Sending may have ended already.
        let _ended = self.go_on.take().map(|go_on| go_on.send(()));
    }
}

/// Sends a request body to its end at the origin's pace, unless its [`UploadHandle`] is dropped or
/// there is no progress for `patience`.
pub(super) async fn send(
    body: RequestBody,
    mut stream: SendStream<Bytes>,
    activity: Activity,
    patience: Duration,
    wanted: oneshot::Receiver<()>,
) {
    let unwanted = async {
        if wanted.await.is_ok() {
            std::future::pending::<()>().await;
        }
    };
    let sent = tokio::select! {
        sent = send_all(body, &mut stream, &activity, patience) => sent,
        () = unwanted => Err("no client is waiting for the response"),
    };
    if let Err(why) = sent {
        debug!(why, "a request's body was not sent to its end");
        // RFC 9113 §8.1. A reset has no effect if the stream has ended.
        stream.send_reset(Reason::CANCEL);
    }
}

async fn send_all(
    mut body: RequestBody,
    stream: &mut SendStream<Bytes>,
    activity: &Activity,
    patience: Duration,
) -> Result<(), &'static str> {
    const ORIGIN: &str = "the origin does not accept the rest";
    loop {
        let frame = tokio::select! {
            frame = timeout(patience, body.frame()) => frame.map_err(|_| "the client stopped")?,
            _reason = poll_fn(|cx| stream.poll_reset(cx)) => return Err(ORIGIN),
        };
        let frame = match frame {
            None => return stream.send_data(Bytes::new(), true).map_err(|_| ORIGIN),
            Some(Err(_)) => return Err("the client broke off"),
            Some(Ok(frame)) => frame,
        };
        let mut data = match frame.into_data() {
            Ok(data) => data,
            Err(frame) => match frame.into_trailers() {
                Ok(trailers) => return stream.send_trailers(trailers).map_err(|_| ORIGIN),
                Err(_) => continue,
            },
        };
        while !data.is_empty() {
            stream.reserve_capacity(data.len());
            let room = timeout(patience, poll_fn(|cx| stream.poll_capacity(cx)));
            let room = match room.await {
                Ok(Some(Ok(room))) => room,
                Ok(Some(Err(_)) | None) => return Err(ORIGIN),
                Err(_) => return Err("the origin stopped reading"),
            };
            activity.touch();
            let piece = data.split_to(room.min(data.len()));
            let is_last = data.is_empty() && body.is_end_stream();
            stream.send_data(piece, is_last).map_err(|_| ORIGIN)?;
            if is_last {
                return Ok(());
            }
        }
    }
}
