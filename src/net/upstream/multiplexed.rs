//! One connection that speaks HTTP/2: many exchanges at once (RFC 9113).

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt;
use h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use h2::{Ping, PingPong, Reason};
use hyper::body::Body;
use hyper::{Response, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{sleep, timeout};
use tracing::debug;

use super::contention::Contention;
use super::message::{Listener, OutgoingMessage};
use super::recorded_stream::{ConnectionRecord, RecordedStream};
use super::seats::{Seat, Seats};
use super::streamed::{StreamedBody, UploadHandle, send};
use super::tls_error::TlsFault;
use super::{
    Dialer, Failure, MAX_ANSWER_FIELDS, MAX_ANSWER_HEAD, Origin, TlsDetails, UpstreamLimits, answer,
};
use crate::base::tasks::Tasks;

/// The maximum number of simultaneous exchanges on a connection, even if the origin allows more.
/// Further exchanges wait. Browsers use the same number. The limit bounds the memory of a
/// connection.
const MAX_STREAMS: usize = 100;

/// The flow-control window of one response, in bytes. It allows 10 MiB/s at a round-trip time of a
/// tenth of a second. If a client stalls, a response that is not stored holds this memory. A
/// response that is stored continues to the disk.
const STREAM_WINDOW: u32 = 1024 * 1024;

/// The flow-control window of a connection, in bytes, and so its maximum memory. While fewer than
/// sixteen clients stall, the responses for other clients continue.
const CONNECTION_WINDOW: u32 = 16 * STREAM_WINDOW;

/// The maximum size of an accepted frame, in bytes. It is the smallest value that RFC 9113 §6.5.2
/// allows for this setting. Larger frames would delay other responses.
const MAX_FRAME: u32 = 16 * 1024;

/// The size of the send buffer of one request, in bytes. It fills up if the origin does not read.
const MAX_SEND_BUFFER: usize = 64 * 1024;

/// The number of reset streams that are remembered, so that late frames for them are ignored
/// instead of treated as errors.
const MAX_RESET_STREAMS: usize = MAX_STREAMS;

/// The number of stream errors after which the connection is closed.
const MAX_STREAM_FAULTS: usize = 128;

/// The interval of pings on a connection in use, so that its requests notice a dead link.
const PING_EVERY: Duration = Duration::from_secs(10);

/// The timeout for the answer to a ping.
const PONG_WITHIN: Duration = Duration::from_secs(10);

/// A connection shared by any number of requests. It closes when all handles are dropped and its
/// last exchange has ended.
#[derive(Clone, Debug)]
pub(super) struct SharedConnection {
    sender: SendRequest<Bytes>,
    state: Arc<ConnectionState>,
}

#[derive(Debug)]
struct ConnectionState {
    origin: Origin,
    peer: SocketAddr,
    secured: Arc<TlsDetails>,
    seats: Arc<Seats>,
    idle_since: Mutex<Instant>,
    answered: AtomicBool,
    ended: AtomicBool,
    /// Whether the connection ended because the origin answered no ping.
    silent: AtomicBool,
    heard: Arc<ConnectionRecord>,
}

/// The reason why an exchange got no response.
pub(super) enum StreamRefusal {
    /// The connection accepts no new exchanges. Nothing was written.
    Unsent,
    /// The origin reports that it has not processed the request and will not process it (RFC 9113
    /// §8.7).
    Unprocessed,
    /// The request must be sent over HTTP/1.1 (RFC 9113 §7).
    NeedsHttp1,
    Failed(Failure),
}

/// One exchange on a shared connection.
#[derive(Debug)]
pub(super) struct Slot {
    state: Arc<ConnectionState>,
    sending: Option<UploadHandle>,
    /// The seat on the connection. The task that sends the rest of the request body shares it.
    _seat: Arc<Seat>,
}

impl Slot {
    /// Ends the exchange after a complete response. The rest of the request body is sent in the
    /// background.
    pub(super) fn detach(mut self) {
        if let Some(sending) = self.sending.take() {
            sending.detach();
        }
    }

    /// Converts an error in the middle of the response.
    pub(super) fn failure(&self, error: h2::Error) -> Failure {
        self.state.failure(error)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *self.state.idle_since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

impl SharedConnection {
    /// Starts HTTP/2 on a connection to `origin` at `peer` and runs it in a task.
    pub(super) async fn begin<S>(
        stream: S,
        origin: Origin,
        peer: SocketAddr,
        secured: Arc<TlsDetails>,
        tasks: &Tasks,
    ) -> Result<Self, Failure>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let heard = Arc::<ConnectionRecord>::default();
        let state = Arc::new(ConnectionState {
            origin,
            peer,
            secured,
            seats: Arc::default(),
            idle_since: Mutex::new(Instant::now()),
            answered: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            silent: AtomicBool::new(false),
            heard: Arc::clone(&heard),
        });
        let stream = RecordedStream::new(stream, heard);
        let (sender, connection) =
            builder().handshake::<_, Bytes>(stream).await.map_err(|error| state.failure(error))?;
        let watched = Arc::clone(&state);
        tasks.spawn(async move { watched.run(connection).await });
        Ok(Self { sender, state })
    }

    /// Whether the connection accepts another exchange: it is open, and the origin has not
    /// announced its end.
    pub(super) fn is_usable(&self) -> bool {
        let ready = || self.sender.clone().ready().now_or_never();
        !self.state.ended.load(Ordering::Acquire) && ready().is_none_or(|ready| ready.is_ok())
    }

    /// The time since the last use; `None` while the connection is in use.
    pub(super) fn idle_for(&self) -> Option<Duration> {
        if self.state.seats.taken() > 0 {
            return None;
        }
        Some(self.state.idle_since.lock().unwrap_or_else(PoisonError::into_inner).elapsed())
    }

    /// Whether the origin has answered on this connection before.
    pub(super) fn has_answered(&self) -> bool {
        self.state.answered.load(Ordering::Relaxed)
    }

    /// The reason why the connection accepts no exchange.
    pub(super) fn unsent_reason(&self) -> Failure {
        match self.state.heard.alert() {
            Some(alert) => Failure::Alert(TlsFault::Alert(alert)),
            None => Failure::ClosedAtOnce,
        }
    }

    /// The origin for which the connection was opened.
    pub(super) fn origin(&self) -> &Origin {
        &self.state.origin
    }

    /// The remote address.
    pub(super) fn peer(&self) -> SocketAddr {
        self.state.peer
    }

    /// The TLS details of the connection.
    pub(super) fn secured(&self) -> &Arc<TlsDetails> {
        &self.state.secured
    }

    /// The maximum number of simultaneous exchanges now: the origin's limit or ours, whichever is
    /// smaller.
    fn max_exchanges(&self) -> usize {
        if self.state.ended.load(Ordering::Acquire) {
            // The connection has ended, so no request has to wait for a seat on it.
            return usize::MAX;
        }
        self.sender.current_max_send_streams().min(MAX_STREAMS)
    }

    /// Sends a request to `origin` and waits for the response head. Dropping the future abandons
    /// the exchange; the connection continues for the others.
    pub(super) async fn exchange(
        &self,
        (contention, origin): (&Contention, &Origin),
        message: &mut OutgoingMessage,
        dialer: &Dialer,
        tasks: &Tasks,
        limits: &UpstreamLimits,
    ) -> Result<(Response<StreamedBody>, Slot), StreamRefusal> {
        // The wait may be long, so it ends when the mode becomes offline. The mode also applies to
        // existing connections.
        let free = timeout(limits.head_timeout, self.state.seats.take(|| self.max_exchanges()));
        let free = contention.wait(origin, message.line_position(), free);
        let seat = dialer.run_if_allowed(origin, async {
            free.await.map_err(|_| Failure::Busy { authority: origin.to_string() })
        });
        let seat = Arc::new(seat.await.map_err(StreamRefusal::Failed)?);
        let mut sender = self.sender.clone().ready().await.map_err(|_| StreamRefusal::Unsent)?;
        let (head, body) = message.for_http2(origin).map_err(StreamRefusal::Failed)?;
        let (answer, stream) = match sender.send_request(head, body.is_end_stream()) {
            Ok(begun) => begun,
            Err(error) => {
                message.take_back(body);
                return Err(self.state.refusal(error));
            }
        };
        // From here on the request counts as sent, unless the origin reports that it did not
        // process it.
        let mut slot =
            Slot { state: Arc::clone(&self.state), sending: None, _seat: Arc::clone(&seat) };
        if !body.is_end_stream() {
            let (sending, wanted) = UploadHandle::new();
            let patience = limits.head_timeout.max(limits.socket_timeout);
            let rest = send(body, stream, message.activity().clone(), patience, wanted);
            tasks.spawn(async move {
                rest.await;
                drop(seat);
            });
            slot.sending = Some(sending);
        }
        let answer = head_of(answer, message.listener());
        let answered = message.activity().watch(limits.head_timeout, answer).await;
        let answer = match answered.map_err(StreamRefusal::Failed)? {
            Ok(answer) => answer,
            Err(Broken::Rules(what)) => return Err(StreamRefusal::Failed(Failure::Wrong(what))),
            Err(Broken::Stream(error)) => return Err(self.state.refusal(error)),
        };
        self.state.answered.store(true, Ordering::Relaxed);
        let (mut parts, stream) = answer.into_parts();
        answer::say_length_once(&mut parts.headers);
        let frames = StreamedBody::new(stream, &parts.headers);
        Ok((Response::from_parts(parts, frames), slot))
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder
        .enable_push(false)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(MAX_FRAME)
        .max_header_list_size(MAX_ANSWER_HEAD.try_into().unwrap_or(u32::MAX))
        .max_send_buffer_size(MAX_SEND_BUFFER)
        .max_concurrent_reset_streams(MAX_RESET_STREAMS)
        .max_local_error_reset_streams(Some(MAX_STREAM_FAULTS))
        .initial_max_send_streams(MAX_STREAMS);
    builder
}

/// The reason for a missing response head.
enum Broken {
    Stream(h2::Error),
    Rules(&'static str),
}

/// Waits for the final response and forwards interim ones.
async fn head_of(
    mut answer: ResponseFuture,
    listener: Listener,
) -> Result<Response<h2::RecvStream>, Broken> {
    loop {
        match std::future::poll_fn(|cx| answer.poll_informational(cx)).await {
            Some(Ok(interim)) if interim.status() == StatusCode::SWITCHING_PROTOCOLS => {
                // HTTP/2 has no `101` (RFC 9113 §8.6).
                return Err(Broken::Rules("it switches to a protocol that was not requested"));
            }
            Some(Ok(interim)) => {
                if !listener.forward_interim(interim.status(), interim.headers()) {
                    // The watcher of the activity was notified and ends this exchange.
                    std::future::pending::<()>().await;
                }
            }
            Some(Err(error)) => return Err(Broken::Stream(error)),
            None => break,
        }
    }
    let answer = answer.await.map_err(Broken::Stream)?;
    if answer.headers().len() > MAX_ANSWER_FIELDS {
        return Err(Broken::Rules("it has more fields than are accepted"));
    }
    Ok(answer)
}

impl ConnectionState {
    async fn run<S>(&self, mut connection: Connection<S, Bytes>)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let pings = connection.ping_pong();
        tokio::select! {
            ended = &mut connection => {
                if let Err(error) = ended {
                    // The users of the connection got the error. This logs the end of the
                    // connection.
                    debug!(%error, origin = %self.origin, "connection to an origin ended");
                }
            }
            () = self.wait_for_silence(pings) => {
                debug!(origin = %self.origin, "an origin does not respond to a ping");
                self.silent.store(true, Ordering::Release);
            }
        }
        self.ended.store(true, Ordering::Release);
    }

    /// Resolves when the origin has left a ping unanswered and has sent no other data. On a slow
    /// link, data that was sent earlier arrives before the answer, so data counts as a sign of
    /// life.
    async fn wait_for_silence(&self, pings: Option<PingPong>) {
        let Some(mut pings) = pings else { return std::future::pending().await };
        loop {
            sleep(PING_EVERY).await;
            if self.seats.taken() == 0 {
                continue;
            }
            let mut pong = pin!(pings.ping(Ping::opaque()));
            loop {
                let before = self.heard.reads();
                match timeout(PONG_WITHIN, pong.as_mut()).await {
                    Ok(Ok(_)) => break,
                    // The task of the connection reports the reason.
                    Ok(Err(_)) => return std::future::pending().await,
                    Err(_) if self.heard.reads() != before => {}
                    Err(_) => return,
                }
            }
        }
    }

    fn refusal(&self, error: h2::Error) -> StreamRefusal {
        let reset = error.is_reset().then(|| error.reason()).flatten();
        match reset {
            Some(Reason::REFUSED_STREAM) if error.is_remote() => StreamRefusal::Unprocessed,
            Some(Reason::HTTP_1_1_REQUIRED) if error.is_remote() => StreamRefusal::NeedsHttp1,
            // RFC 9113 §6.8: a GOAWAY ends only streams above the last one that the origin
            // processed. So the origin did not process this request.
            _ if error.is_go_away() && error.is_remote() => match error.reason() {
                Some(Reason::HTTP_1_1_REQUIRED) => StreamRefusal::NeedsHttp1,
                _ => StreamRefusal::Unprocessed,
            },
            _ => StreamRefusal::Failed(self.failure(error)),
        }
    }

    fn failure(&self, error: h2::Error) -> Failure {
        if let Some(alert) = self.heard.alert() {
            return Failure::Alert(TlsFault::Alert(alert));
        }
        if self.silent.load(Ordering::Acquire) {
            return Failure::Silent;
        }
        if error.is_io() {
            Failure::CutShort(error.into())
        } else if error.is_remote() {
            Failure::GivenUp(error)
        } else if error.is_library() {
            Failure::BreaksHttp2(error)
        } else if error.is_reset() {
            // This program has reset the stream, because the request body could not be sent.
            Failure::RequestBody(error.into())
        } else {
            Failure::Unsendable("it has no form in HTTP/2")
        }
    }
}
