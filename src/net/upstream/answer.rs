//! A response being received: its head, its body as a stream, and its connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING};
use hyper::{HeaderMap, Response, StatusCode};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

use super::h1::Http1Connection;
use super::multiplexed::Slot;
use super::pool::Permit;
use super::streamed::StreamedBody;
use super::trailers::cleaned;
use super::usage_meter::UsageMeter;
use super::{Failure, Origin, Upstream};
use crate::base::statistics::Account;
use crate::base::statistics::usage::UsageAccount;

/// A final response: status and fields as sent by the origin, and the body as a stream.
pub type Answer = Response<AnswerBody>;

/// The connection of a response. At the end of the body, it returns to the pool.
#[derive(Debug)]
pub(super) struct Lease {
    upstream: Arc<Upstream>,
    origin: Origin,
    link: Http1Connection,
    permit: Permit,
}

impl Lease {
    pub(super) fn new(
        upstream: Arc<Upstream>,
        origin: Origin,
        link: Http1Connection,
        permit: Permit,
    ) -> Self {
        Self { upstream, origin, link, permit }
    }

    fn give_back(self) {
        let Self { upstream, origin, link, permit } = self;
        let tasks = upstream.tasks.clone();
        tasks.spawn(async move {
            upstream.pool.give_back(&origin, link, || upstream.keeps_connections()).await;
            drop(permit);
        });
    }
}

/// The body of a response. Reading it fails if the body stalls, is truncated or is malformed.
///
/// Dropping it before its end closes a connection with HTTP/1, because nothing will read the rest.
/// On a connection with HTTP/2 it resets only the stream.
#[derive(Debug)]
pub struct AnswerBody {
    source: ConnectionBody,
    stall: Pin<Box<Sleep>>,
    /// Whether the timeout runs. It runs while the origin has to send. It does not run while a slow
    /// client has not yet requested the next piece.
    waiting: bool,
    patience: Duration,
    account: Option<Arc<Account>>,
    usage: Option<UsageMeter>,
}

#[derive(Debug)]
enum ConnectionBody {
    Http1(Incoming, Option<Lease>),
    Http2(StreamedBody, Option<Slot>),
    Piped(mpsc::Receiver<Result<Frame<Bytes>, Failure>>),
}

impl ConnectionBody {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        match self {
            Self::Http1(incoming, _) => {
                let frame = ready!(Pin::new(incoming).poll_frame(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(Failure::from_exchange)))
            }
            Self::Http2(frames, slot) => {
                let frame = ready!(Pin::new(frames).poll_frame(cx));
                let failure = |error| match slot {
                    Some(slot) => slot.failure(error),
                    None => Failure::BreaksHttp2(error),
                };
                Poll::Ready(frame.map(|frame| frame.map_err(failure)))
            }
            Self::Piped(frames) => frames.poll_recv(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Http1(incoming, _) => incoming.is_end_stream(),
            Self::Http2(frames, _) => frames.is_end_stream(),
            Self::Piped(frames) => frames.is_closed() && frames.is_empty(),
        }
    }

    /// Returns the connection for further requests, because the last byte has arrived.
    fn give_back(&mut self) {
        match self {
            Self::Http1(_, lease) => lease.take().map(Lease::give_back),
            Self::Http2(_, slot) => slot.take().map(Slot::detach),
            Self::Piped(_) => None,
        };
    }

    fn abandon(&mut self) {
        match self {
            Self::Http1(_, lease) => *lease = None,
            Self::Http2(_, slot) => *slot = None,
            Self::Piped(frames) => frames.close(),
        }
    }
}

impl AnswerBody {
    pub(super) fn over_http1(incoming: Incoming, lease: Lease, patience: Duration) -> Self {
        Self::with(ConnectionBody::Http1(incoming, Some(lease)), patience)
    }

    pub(super) fn over_http2(frames: StreamedBody, slot: Slot, patience: Duration) -> Self {
        Self::with(ConnectionBody::Http2(frames, Some(slot)), patience)
    }

    /// A body that another task sends.
    pub(crate) fn piped(
        frames: mpsc::Receiver<Result<Frame<Bytes>, Failure>>,
        patience: Duration,
    ) -> Self {
        Self::with(ConnectionBody::Piped(frames), patience)
    }

    /// Counts the received bytes.
    pub(super) fn counted(self, account: Arc<Account>) -> Self {
        Self { account: Some(account), ..self }
    }

    /// Counts the received bytes for a client, and slows them down to its rate. If its quota is used
    /// up, the body ends with [`Failure::OverQuota`].
    pub(crate) fn metered(self, account: Option<Arc<UsageAccount>>) -> Self {
        Self { usage: account.map(UsageMeter::new), ..self }
    }

    /// Counts bytes that have arrived.
    fn count(&mut self, bytes: usize) -> Result<(), Failure> {
        if let Some(account) = &self.account {
            account.fetched(bytes);
        }
        let counted = self.usage.as_mut().map_or(Ok(()), |usage| usage.count(bytes));
        // The last bytes have already arrived.
        if self.source.is_end_stream() { Ok(()) } else { counted }
    }

    fn with(source: ConnectionBody, patience: Duration) -> Self {
        let stall = Box::pin(tokio::time::sleep(patience));
        let mut body = Self { source, stall, waiting: false, patience, account: None, usage: None };
        if body.is_end_stream() {
            body.source.give_back();
        }
        body
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        if let Some(usage) = &mut self.usage {
            ready!(usage.poll_ready(cx));
        }
        if let Poll::Ready(frame) = self.source.poll_frame(cx) {
            self.waiting = false;
            let mut frame = frame.map(|frame| frame.map(cleaned));
            if let Some(Ok(piece)) = &frame
                && let Err(failure) = self.count(piece.data_ref().map_or(0, Bytes::len))
            {
                frame = Some(Err(failure));
            }
            match &frame {
                Some(Err(_)) => self.source.abandon(),
                // A reader that has the last frame may never ask for another, so the end is handled
                // here.
                Some(Ok(frame)) if !frame.is_trailers() && !self.is_end_stream() => {}
                Some(Ok(_)) | None => self.source.give_back(),
            }
            return Poll::Ready(frame);
        }
        if !self.waiting {
            self.waiting = true;
            let limit = Instant::now() + self.patience;
            self.stall.as_mut().reset(limit);
        }
        ready!(self.stall.as_mut().poll(cx));
        self.source.abandon();
        Poll::Ready(Some(Err(Failure::Stalled)))
    }

    fn is_end_stream(&self) -> bool {
        self.source.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            ConnectionBody::Http1(incoming, _) => incoming.size_hint(),
            ConnectionBody::Http2(frames, _) => frames.size_hint(),
            ConnectionBody::Piped(_) => SizeHint::default(),
        }
    }
}

/// Refuses a response that does not fit its request, or whose length is ambiguous. A proxy must not
/// choose one of two possible readings.
pub(super) fn check(answer: &Response<Incoming>, may_switch: bool) -> Result<(), Failure> {
    let fields = answer.headers();
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS && !may_switch {
        return Err(Failure::Wrong("it switches to a protocol that was not requested"));
    }
    is_framed(fields)
}

fn is_framed(fields: &HeaderMap) -> Result<(), Failure> {
    if !fields.contains_key(TRANSFER_ENCODING) {
        return Ok(());
    }
    if fields.contains_key(CONTENT_LENGTH) {
        // RFC 9112 §6.3 (3): this may be response smuggling.
        return Err(Failure::Wrong("it has both Content-Length and Transfer-Encoding"));
    }
    let codings = fields.get_all(TRANSFER_ENCODING).iter().map(|value| value.to_str());
    let mut codings = codings.flat_map(|value| value.unwrap_or("?").split(',')).map(str::trim);
    match (codings.next(), codings.next()) {
        (Some(only), None) if only.eq_ignore_ascii_case("chunked") || is_nobodys(only) => Ok(()),
        _ => Err(Failure::Wrong("its transfer coding is not the one that was offered")),
    }
}

/// Whether this transfer coding is unknown. An unknown name is taken for a mistake of the origin:
/// nothing was encoded, so the body is accepted as sent, and it ends with the connection (RFC 9112
/// §6.3 (4)). A body in a known coding is refused, because it must be decoded and we cannot decode
/// it.
fn is_nobodys(coding: &str) -> bool {
    /// The codings of RFC 9112 §12.3, and the content codings. Some origins write content codings
    /// into `Transfer-Encoding`.
    const KNOWN: [&str; 9] = [
        "chunked",
        "compress",
        "x-compress",
        "deflate",
        "gzip",
        "x-gzip",
        "identity",
        "br",
        "zstd",
    ];
    let is_token = coding.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_token && !coding.is_empty() && !KNOWN.iter().any(|known| coding.eq_ignore_ascii_case(known))
}

/// Replaces a repeated `Content-Length` by one value. RFC 9110 §8.6 allows a recipient to read
/// `1000, 1000` as 1000, as hyper does, but forbids forwarding the repeated value.
pub(super) fn say_length_once(fields: &mut HeaderMap) {
    let Some(said) = fields.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()) else {
        return;
    };
    let first = said.split(',').next().unwrap_or_default().trim();
    if let Ok(once) = HeaderValue::from_str(first) {
        fields.insert(CONTENT_LENGTH, once);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tasks::Tasks;
    use http_body_util::{BodyExt, Empty};
    use hyper::Request;
    use hyper::client::conn::http1;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::{advance, sleep};

    const PATIENCE: Duration = Duration::from_secs(5);

    #[test]
    fn only_chunked_is_a_valid_transfer_coding() {
        for (coding, want) in [
            ("chunked", true),
            ("Chunked", true),
            ("sundry", true),
            ("gzip", false),
            ("gzip, chunked", false),
            ("chunked, identity", false),
            ("chunked, chunked", false),
            ("sundry, chunked", false),
            ("identity", false),
            ("br", false),
            ("x y", false),
            ("sundry;q=1", false),
            ("", false),
        ] {
            let mut fields = HeaderMap::new();
            fields.insert(TRANSFER_ENCODING, coding.parse().unwrap());
            assert_eq!(is_framed(&fields).is_ok(), want, "{coding:?}");
        }
    }

    /// A response of which two of four bytes were read, and the origin's side of the connection.
    async fn half_read() -> (AnswerBody, DuplexStream, impl Sized) {
        let (ours, mut origin) = duplex(4096);
        let handshake = http1::handshake::<_, Empty<Bytes>>(TokioIo::new(ours));
        let (mut sender, connection) = handshake.await.unwrap();
        Tasks::new().spawn(async move { drop(connection.await) });
        let answer = async {
            // hyper rejects bytes that arrive before the request.
            origin.read_u8().await.unwrap();
            origin.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab").await.unwrap();
        };
        let request = sender.send_request(Request::new(Empty::new()));
        let (answer, ()) = tokio::join!(request, answer);
        let answer = answer.unwrap();
        let mut body = AnswerBody::with(ConnectionBody::Http1(answer.into_body(), None), PATIENCE);
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "ab");
        (body, origin, sender)
    }

    #[tokio::test(start_paused = true)]
    async fn a_stalled_origin_times_out() {
        let (mut body, _origin, _sender) = half_read().await;
        assert!(matches!(body.frame().await, Some(Err(Failure::Stalled))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_does_not_cause_an_origin_timeout() {
        let (mut body, mut origin, _sender) = half_read().await;
        advance(PATIENCE * 2).await;
        let more = async {
            sleep(PATIENCE / 2).await;
            origin.write_all(b"cd").await.unwrap();
        };
        let (frame, ()) = tokio::join!(body.frame(), more);
        assert_eq!(frame.unwrap().unwrap().into_data().unwrap(), "cd");
    }
}
