//! Whom we fetch from: one request out, one answer back.
//!
//! ```text
//! Upstream::send ── Pool ── kept-alive connection, at most so many to an origin
//!                    └───── Dialer ── the only outward connect, refused in offline mode
//!                            └─── Tls, for https: the origin's certificate is verified
//! ```
//!
//! A request that was given to a kept-alive connection which the origin had just closed is sent
//! once more on a new one, if it is safe (RFC 9110 §9.2.1) and has no body; nothing else is ever
//! sent twice.

mod answer;
mod dialer;
mod error;
mod h1;
mod pool;
mod refused;
mod secured;
mod tls;
mod tls_error;
mod verify;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING, UPGRADE};
use hyper::{HeaderMap, Request, Response, StatusCode, ext};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::AlertDescription;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};
use tracing::debug;

use answer::Lease;
pub use answer::{Answer, AnswerBody};
pub use dialer::Dialer;
pub use error::Failure;
use h1::Link;
use pool::{Permit, Pool};
pub use refused::{RefusedCertificate, RefusedCertificates};
pub use secured::Secured;
pub use tls::Tls;
pub use tls_error::{CertificateFault, TlsFault};

use crate::server::tasks::Tasks;

/// The largest head of an answer that is read, in bytes, with its fields.
const MAX_ANSWER_HEAD: usize = 256 * 1024;

/// The most fields an answer may have.
const MAX_ANSWER_FIELDS: usize = 256;

/// How often idle connections are looked through.
const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// How long a connection that is ending may take to say why.
const ALERT_WITHIN: Duration = Duration::from_secs(1);

/// What is told of itself by any error of a body we send.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A request body on its way to an origin.
pub type RequestBody = UnsyncBoxBody<Bytes, BoxError>;

/// An interim answer (1xx) on its way to the client.
pub type Interim = (StatusCode, HeaderMap);

/// How an origin is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// HTTP over TCP.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    /// The scheme of this name, in lower case; `None` for one that is not fetched.
    #[must_use]
    pub fn of(protocol: &str) -> Option<Self> {
        match protocol {
            "http" => Some(Self::Http),
            "https" => Some(Self::Https),
            _ => None,
        }
    }
}

/// The origin a URL names (RFC 6454 §4). Shown as host and port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// What is spoken there.
    pub scheme: Scheme,
    /// A name or an address, IPv6 in brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// The body of a request, by what is known of it.
#[derive(Debug)]
pub enum Outbound {
    /// No body.
    Empty,
    /// All of it is here; it can be sent again.
    Whole(Bytes),
    /// It streams from the client.
    Stream(Incoming),
}

/// How long to wait for what, and how much at once.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For the head of an answer, counted from the last byte of the request that moved.
    pub head_timeout: Duration,
    /// For the next byte of a body.
    pub socket_timeout: Duration,
    /// How long a connection is kept alive unused.
    pub idle_timeout: Duration,
    /// Connections to one origin at once.
    pub per_origin: usize,
}

/// Sends requests to origins. One per daemon.
#[derive(Debug)]
pub struct Upstream {
    dialer: Dialer,
    tls: Tls,
    pool: Pool,
    tasks: Tasks,
    limits: Limits,
}

impl Upstream {
    /// An upstream that dials through `dialer`, secures with `tls` and runs its connections in `tasks`.
    #[must_use]
    pub fn new(dialer: Dialer, tls: Tls, tasks: Tasks, limits: Limits) -> Arc<Self> {
        let pool = Pool::new(limits.per_origin, limits.idle_timeout);
        let upstream = Arc::new(Self { dialer, tls, pool, tasks, limits });
        let sweeper = Arc::clone(&upstream);
        upstream.tasks.spawn(async move { sweeper.sweep_until_stop().await });
        upstream
    }

    /// The dialer, for tunnels and for its count of refusals.
    #[must_use]
    pub fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    /// The certificates that were refused of late.
    #[must_use]
    pub fn refused(&self) -> &RefusedCertificates {
        self.tls.refused()
    }

    /// Closes the connections nobody uses: the mode went offline.
    pub fn close_idle(&self) {
        self.pool.close_idle();
    }

    /// Whether a connection that nobody uses is worth keeping. Once it is not, [`Self::close_idle`]
    /// is called.
    fn keeps_connections(&self) -> bool {
        self.dialer.may_dial() && !self.tasks.is_stopping()
    }

    /// Sends a request and waits for the head of its final answer; interim answers (1xx) go to
    /// `interim` as they come. Dropping the future abandons the exchange and its connection.
    ///
    /// `head` is in origin-form with a `Host` field, and has no hop-by-hop fields but those that
    /// are meant for the origin.
    ///
    /// # Errors
    ///
    /// What the dialer, the network or the origin's grammar came to; see [`Failure`].
    pub async fn send(
        self: &Arc<Self>,
        origin: &Origin,
        head: Request<()>,
        body: Outbound,
        interim: Option<mpsc::Sender<Interim>>,
    ) -> Result<Answer, Failure> {
        let permit = self.pool.permit(origin, self.limits.head_timeout).await?;
        // The wait may have been long, and a connection of before is a socket outward too.
        self.dialer.allow()?;
        let repeatable = head.method().is_safe() && matches!(body, Outbound::Empty);
        let copy = repeatable.then(|| head.clone());
        let activity = answer::Activity::new();
        let request = prepare(head, body, &activity, interim.clone());

        let Some(mut link) = self.pool.take(origin) else {
            let (link, answer) = self.exchange_anew(origin, request, &activity).await?;
            return Ok(self.wrap(origin, link, permit, answer));
        };
        let refusal = match self.exchange(&mut link, request, &activity).await {
            Ok(answer) => return Ok(self.wrap(origin, link, permit, answer)),
            Err(refusal) => refusal,
        };
        let request = match (refusal, copy) {
            (Refusal::Unsent(request, _), _) => *request,
            (Refusal::Failed(error @ (Failure::CutShort(_) | Failure::Alert(_))), Some(head)) => {
                debug!(%origin, error = error.chain(), "a kept-alive connection had ended; trying a new one");
                prepare(head, Outbound::Empty, &activity, interim)
            }
            (Refusal::Failed(failure), _) => return Err(failure),
        };
        let (link, answer) = self.exchange_anew(origin, request, &activity).await?;
        Ok(self.wrap(origin, link, permit, answer))
    }

    /// One exchange on a connection of its own.
    async fn exchange_anew(
        &self,
        origin: &Origin,
        request: Request<RequestBody>,
        activity: &answer::Activity,
    ) -> Result<(Link, Response<Incoming>), Failure> {
        let Greeted { mut link, alert } = self.connect(origin).await?;
        match self.exchange(&mut link, request, activity).await {
            Ok(answer) => Ok((link, answer)),
            Err(Refusal::Failed(failure)) => Err(failure),
            Err(Refusal::Unsent(_, told)) => {
                // The connection tells whoever has come to it meanwhile, else its own task.
                let told = match told {
                    Some(told) => Some(told),
                    None => timeout(ALERT_WITHIN, alert).await.ok().and_then(Result::ok),
                };
                Err(told
                    .map_or(Failure::ClosedAtOnce, |alert| Failure::Alert(TlsFault::Alert(alert))))
            }
        }
    }

    async fn connect(&self, origin: &Origin) -> Result<Greeted, Failure> {
        let stream = self.dialer.dial(origin).await?;
        match origin.scheme {
            Scheme::Http => self.greet(stream, None).await,
            Scheme::Https => {
                let allowed = self.tls.allowed(origin);
                let wrap = self.tls.wrap(stream, origin, &allowed);
                let stream = self.dialer.while_allowed(wrap).await?;
                let secured = Secured::of(stream.get_ref().1);
                let secured = secured.map(|secured| Arc::new(secured.where_allowed(&allowed)));
                self.greet(stream, secured).await
            }
        }
    }

    /// Begins HTTP/1.1 on a connection, and runs it in a task of its own.
    async fn greet<S>(&self, stream: S, secured: Option<Arc<Secured>>) -> Result<Greeted, Failure>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (sender, connection) = http1::Builder::new()
            .title_case_headers(true)
            .max_headers(MAX_ANSWER_FIELDS)
            .max_header_size(MAX_ANSWER_HEAD)
            .handshake::<TokioIo<S>, RequestBody>(TokioIo::new(stream))
            .await
            .map_err(Failure::from_exchange)?;
        let (tell, alert) = oneshot::channel();
        self.tasks.spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                // Whoever used the connection has been told; this is the idle end of it.
                debug!(%error, "connection to an origin ended");
                // Not wanted unless the connection ended before its first request.
                let _unheard = tls_error::alert_in(&error).map(|alert| tell.send(alert));
            }
        });
        Ok(Greeted { link: Link { sender, secured }, alert })
    }

    async fn exchange(
        &self,
        link: &mut Link,
        request: Request<RequestBody>,
        activity: &answer::Activity,
    ) -> Result<Response<Incoming>, Refusal> {
        activity.touch();
        let may_switch = request.headers().contains_key(UPGRADE);
        let mut answer = std::pin::pin!(link.sender.try_send_request(request));
        loop {
            let limit = activity.last() + self.limits.head_timeout;
            let answered = tokio::select! {
                biased;
                // Dropping the exchange ends its connection.
                () = activity.flooded() => {
                    return Err(Refusal::Failed(Failure::Wrong("it never gets beyond interim answers")));
                }
                answered = tokio::time::timeout_at(limit, &mut answer) => answered,
            };
            match answered {
                Ok(Ok(mut answer)) => {
                    answer::check(&answer, may_switch).map_err(Refusal::Failed)?;
                    answer::say_length_once(answer.headers_mut());
                    return Ok(answer);
                }
                Ok(Err(mut error)) => {
                    return Err(match error.take_message() {
                        Some(request) => {
                            Refusal::Unsent(Box::new(request), tls_error::alert_in(error.error()))
                        }
                        None => Refusal::Failed(Failure::from_exchange(error.into_error())),
                    });
                }
                Err(_) if activity.last() + self.limits.head_timeout > Instant::now() => {}
                Err(_) => return Err(Refusal::Failed(Failure::HeadTimeout)),
            }
        }
    }

    fn wrap(
        self: &Arc<Self>,
        origin: &Origin,
        link: Link,
        permit: Permit,
        mut answer: Response<Incoming>,
    ) -> Answer {
        if let Some(secured) = &link.secured {
            answer.extensions_mut().insert(Arc::clone(secured));
        }
        let lease = Lease::new(Arc::clone(self), origin.clone(), link, permit);
        answer.map(|body| AnswerBody::new(body, lease, self.limits.socket_timeout))
    }

    async fn sweep_until_stop(&self) {
        let mut tick = tokio::time::interval(SWEEP_EVERY);
        loop {
            tokio::select! {
                () = self.tasks.stopping() => break self.pool.close_idle(),
                _ = tick.tick() => self.pool.sweep(),
            }
        }
    }
}

/// Why an exchange gave no answer.
enum Refusal {
    /// Not a byte was written: the request comes back, with the alert that ended its connection.
    Unsent(Box<Request<RequestBody>>, Option<AlertDescription>),
    Failed(Failure),
}

/// A connection that has just begun.
struct Greeted {
    link: Link,
    /// The TLS alert it ended with, if it did: an origin of TLS 1.3 refuses a client when the
    /// handshake is over for the client, and that may be before the request is given to it.
    alert: oneshot::Receiver<AlertDescription>,
}

fn prepare(
    head: Request<()>,
    body: Outbound,
    activity: &answer::Activity,
    interim: Option<mpsc::Sender<Interim>>,
) -> Request<RequestBody> {
    let streams = matches!(body, Outbound::Stream(_));
    let body = match body {
        Outbound::Empty => Empty::new().map_err(|never| match never {}).boxed_unsync(),
        Outbound::Whole(bytes) => Full::new(bytes).map_err(|never| match never {}).boxed_unsync(),
        Outbound::Stream(incoming) => {
            answer::Watched::new(incoming, activity.clone()).boxed_unsync()
        }
    };
    let mut request = head.map(|()| body);
    if streams && !request.headers().contains_key(CONTENT_LENGTH) {
        // hyper leaves the body of a GET out unless it is told how to frame it.
        request.headers_mut().insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    let activity = activity.clone();
    ext::on_informational(&mut request, move |answer| {
        if !activity.interim() {
            return;
        }
        // hyper's server answers `100-continue` itself, as soon as the body is read.
        if let Some(interim) = &interim
            && answer.status() != StatusCode::CONTINUE
        {
            // A full channel means a client that does not read: an interim answer may be left out.
            let _full = interim.try_send((answer.status(), answer.headers().clone()));
        }
    });
    request
}

/// A timer for hyper's own deadlines.
#[must_use]
pub fn timer() -> TokioTimer {
    TokioTimer::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mode::{Mode, ModeSwitch};
    use std::pin::pin;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_handshake_ends_when_the_mode_goes_offline() {
        let patience = Duration::from_secs(60);
        let limits = Limits {
            head_timeout: patience,
            socket_timeout: patience,
            idle_timeout: patience,
            per_origin: 1,
        };
        let mode = ModeSwitch::new(Mode::Online);
        let dialer = Dialer::new(mode.clone(), patience, patience);
        let tls = Tls::new(&[], patience).unwrap();
        let upstream = Upstream::new(dialer, tls, Tasks::new(), limits);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let origin = Origin { scheme: Scheme::Https, host: "127.0.0.1".to_owned(), port };
        let mut connecting = pin!(upstream.connect(&origin));
        let silent = async {
            let (mut silent, _) = listener.accept().await.unwrap();
            silent.read_u8().await.unwrap();
            silent
        };
        let _silent = tokio::select! {
            _ = &mut connecting => panic!("nobody has answered"),
            silent = silent => silent,
        };
        mode.set(Mode::Offline);
        let ended = timeout(Duration::from_secs(10), connecting).await.unwrap();
        assert!(matches!(ended, Err(Failure::Offline)));
    }
}
