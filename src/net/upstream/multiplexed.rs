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

use super::message::{Listener, Message};
use super::overheard::{Heard, Overheard};
use super::seats::{Seat, Seats};
use super::streamed::{Frames, Sending, send};
use super::tls_error::TlsFault;
use super::{Dialer, Failure, Limits, MAX_ANSWER_FIELDS, MAX_ANSWER_HEAD, Origin, Secured, answer};
use crate::base::tasks::Tasks;

/// How many exchanges one connection carries at once, whatever the origin would take. What comes
/// beyond waits for its turn: as many as browsers send at once, and a bound for what they hold.
const MAX_STREAMS: usize = 100;

/// How much of one answer may be under way unread, in bytes: 10 MiB/s over a tenth of a second. It
/// is what a client that stops reading an answer which is not kept costs in memory; one that is kept
/// goes to the disk and stops for nobody.
const STREAM_WINDOW: u32 = 1024 * 1024;

/// How much of all answers may be under way unread, in bytes: the most that a connection costs in
/// memory. Sixteen clients that have stopped reading do not stop the others.
const CONNECTION_WINDOW: u32 = 16 * STREAM_WINDOW;

/// The largest frame taken, in bytes: the smallest that may be asked for (RFC 9113 §6.5.2). Larger
/// ones would make the answers beside them wait.
const MAX_FRAME: u32 = 16 * 1024;

/// How much of one request is buffered towards an origin that does not read, in bytes.
const MAX_SEND_BUFFER: usize = 64 * 1024;

/// How many streams that we gave up are remembered, so that what still comes for them is ignored
/// and not taken for a fault.
const MAX_RESET_STREAMS: usize = MAX_STREAMS;

/// How many faults of single streams are borne before the connection is given up.
const MAX_STREAM_FAULTS: usize = 128;

/// How often a connection in use is tried, so that a dead line is noticed by what waits for it.
const PING_EVERY: Duration = Duration::from_secs(10);

/// How long an origin may say nothing when it was tried.
const PONG_WITHIN: Duration = Duration::from_secs(10);

/// A connection that any number of requests share. It is closed when nobody holds it and the last
/// exchange on it has ended.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    sender: SendRequest<Bytes>,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    origin: Origin,
    peer: SocketAddr,
    secured: Arc<Secured>,
    seats: Arc<Seats>,
    idle_since: Mutex<Instant>,
    answered: AtomicBool,
    ended: AtomicBool,
    /// Whether it ended because the origin answered no ping.
    silent: AtomicBool,
    heard: Arc<Heard>,
}

/// Why an exchange gave no answer.
pub(super) enum Refusal {
    /// The connection takes no new exchanges: nothing was written.
    Unsent,
    /// The origin says that it has not looked at it, and will not (RFC 9113 §8.7).
    Unprocessed,
    /// It has to be sent over HTTP/1.1 (RFC 9113 §7).
    NeedsHttp1,
    Failed(Failure),
}

/// One exchange's place on its connection.
#[derive(Debug)]
pub(super) struct Slot {
    state: Arc<State>,
    sending: Option<Sending>,
    /// Whatever is left of the request's body has it too.
    _seat: Arc<Seat>,
}

impl Slot {
    /// The answer has come whole: what is left of the request's body goes on by itself.
    pub(super) fn let_go(mut self) {
        if let Some(sending) = self.sending.take() {
            sending.let_go();
        }
    }

    /// What a failure in the middle of the answer came to.
    pub(super) fn failure(&self, error: h2::Error) -> Failure {
        self.state.failure(error)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *self.state.idle_since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

impl Shared {
    /// Begins HTTP/2 on a connection to `origin` at `peer`, and runs it in a task of its own.
    pub(super) async fn begin<S>(
        stream: S,
        origin: Origin,
        peer: SocketAddr,
        secured: Arc<Secured>,
        tasks: &Tasks,
    ) -> Result<Self, Failure>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let heard = Arc::<Heard>::default();
        let state = Arc::new(State {
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
        let stream = Overheard::new(stream, heard);
        let (sender, connection) =
            builder().handshake::<_, Bytes>(stream).await.map_err(|error| state.failure(error))?;
        let watched = Arc::clone(&state);
        tasks.spawn(async move { watched.run(connection).await });
        Ok(Self { sender, state })
    }

    /// Whether it takes another exchange: it stands, and the origin has not said that it will go.
    pub(super) fn is_usable(&self) -> bool {
        let ready = || self.sender.clone().ready().now_or_never();
        !self.state.ended.load(Ordering::Acquire) && ready().is_none_or(|ready| ready.is_ok())
    }

    /// For how long nobody has used it; `None` while somebody does.
    pub(super) fn idle_for(&self) -> Option<Duration> {
        if self.state.seats.taken() > 0 {
            return None;
        }
        Some(self.state.idle_since.lock().unwrap_or_else(PoisonError::into_inner).elapsed())
    }

    /// Whether the origin has answered on it before.
    pub(super) fn has_answered(&self) -> bool {
        self.state.answered.load(Ordering::Relaxed)
    }

    /// Why it takes no exchange.
    pub(super) fn why_unsent(&self) -> Failure {
        match self.state.heard.alert() {
            Some(alert) => Failure::Alert(TlsFault::Alert(alert)),
            None => Failure::ClosedAtOnce,
        }
    }

    /// The origin that it was made for.
    pub(super) fn origin(&self) -> &Origin {
        &self.state.origin
    }

    /// Where it leads.
    pub(super) fn peer(&self) -> SocketAddr {
        self.state.peer
    }

    /// How it is secured.
    pub(super) fn secured(&self) -> &Arc<Secured> {
        &self.state.secured
    }

    /// How many exchanges it carries at once: as many as the origin takes now, if we do.
    fn most_at_once(&self) -> usize {
        if self.state.ended.load(Ordering::Acquire) {
            // Nobody has to wait for what is no more.
            return usize::MAX;
        }
        self.sender.current_max_send_streams().min(MAX_STREAMS)
    }

    /// Sends a request to `origin` and waits for the head of its answer. Dropping the future
    /// abandons the exchange, and leaves the connection to the others.
    pub(super) async fn exchange(
        &self,
        origin: &Origin,
        message: &mut Message,
        dialer: &Dialer,
        tasks: &Tasks,
        limits: &Limits,
    ) -> Result<(Response<Frames>, Slot), Refusal> {
        // The wait may be long, and a connection of before is a socket outward too.
        let free = timeout(limits.head_timeout, self.state.seats.take(|| self.most_at_once()));
        let seat = dialer.while_allowed(origin, async {
            free.await.map_err(|_| Failure::Busy { authority: origin.to_string() })
        });
        let seat = Arc::new(seat.await.map_err(Refusal::Failed)?);
        let mut sender = self.sender.clone().ready().await.map_err(|_| Refusal::Unsent)?;
        let (head, body) = message.for_http2(origin).map_err(Refusal::Failed)?;
        let (answer, stream) = match sender.send_request(head, body.is_end_stream()) {
            Ok(begun) => begun,
            Err(error) => {
                message.take_back(body);
                return Err(self.state.refusal(error));
            }
        };
        // From here on it counts as sent, unless the origin says that it has not looked at it.
        let mut slot =
            Slot { state: Arc::clone(&self.state), sending: None, _seat: Arc::clone(&seat) };
        if !body.is_end_stream() {
            let (sending, wanted) = Sending::new();
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
        let answer = match answered.map_err(Refusal::Failed)? {
            Ok(answer) => answer,
            Err(Broken::Rules(what)) => return Err(Refusal::Failed(Failure::Wrong(what))),
            Err(Broken::Stream(error)) => return Err(self.state.refusal(error)),
        };
        self.state.answered.store(true, Ordering::Relaxed);
        let (mut parts, stream) = answer.into_parts();
        answer::say_length_once(&mut parts.headers);
        let frames = Frames::new(stream, &parts.headers);
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

/// Why there is no head.
enum Broken {
    Stream(h2::Error),
    Rules(&'static str),
}

/// Waits for the final answer, and passes the interim ones on.
async fn head_of(
    mut answer: ResponseFuture,
    listener: Listener,
) -> Result<Response<h2::RecvStream>, Broken> {
    loop {
        match std::future::poll_fn(|cx| answer.poll_informational(cx)).await {
            Some(Ok(interim)) if interim.status() == StatusCode::SWITCHING_PROTOCOLS => {
                // RFC 9113 §8.6.
                return Err(Broken::Rules("it changes to a protocol that nobody asked for"));
            }
            Some(Ok(interim)) => {
                if !listener.hear(interim.status(), interim.headers()) {
                    // Whoever watches has been told.
                    std::future::pending::<()>().await;
                }
            }
            Some(Err(error)) => return Err(Broken::Stream(error)),
            None => break,
        }
    }
    let answer = answer.await.map_err(Broken::Stream)?;
    if answer.headers().len() > MAX_ANSWER_FIELDS {
        return Err(Broken::Rules("it has more fields than are taken"));
    }
    Ok(answer)
}

impl State {
    async fn run<S>(&self, mut connection: Connection<S, Bytes>)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let pings = connection.ping_pong();
        tokio::select! {
            ended = &mut connection => {
                if let Err(error) = ended {
                    // Whoever used the connection has been told; this is the end of it.
                    debug!(%error, origin = %self.origin, "connection to an origin ended");
                }
            }
            () = self.falls_silent(pings) => {
                debug!(origin = %self.origin, "an origin answers no ping");
                self.silent.store(true, Ordering::Release);
            }
        }
        self.ended.store(true, Ordering::Release);
    }

    /// Resolves when the origin has left a ping without an answer and said nothing else meanwhile: on
    /// a slow line the answer is behind whatever was on its way already.
    async fn falls_silent(&self, pings: Option<PingPong>) {
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
                    // The connection tells why.
                    Ok(Err(_)) => return std::future::pending().await,
                    Err(_) if self.heard.reads() != before => {}
                    Err(_) => return,
                }
            }
        }
    }

    fn refusal(&self, error: h2::Error) -> Refusal {
        let reset = error.is_reset().then(|| error.reason()).flatten();
        match reset {
            Some(Reason::REFUSED_STREAM) if error.is_remote() => Refusal::Unprocessed,
            Some(Reason::HTTP_1_1_REQUIRED) if error.is_remote() => Refusal::NeedsHttp1,
            // RFC 9113 §6.8: only streams above the last one that the origin has taken end by this.
            _ if error.is_go_away() && error.is_remote() => match error.reason() {
                Some(Reason::HTTP_1_1_REQUIRED) => Refusal::NeedsHttp1,
                _ => Refusal::Unprocessed,
            },
            _ => Refusal::Failed(self.failure(error)),
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
            // We have ended it ourselves.
            Failure::RequestBody(error.into())
        } else {
            Failure::Unsendable("it has no form in HTTP/2")
        }
    }
}
