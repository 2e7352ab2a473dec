//! Requests to origins and their responses.
//!
//! ```text
//! Upstream::send ── Registry ── the protocol of each https origin, and its connection of HTTP/2
//!          ├─────── ConnectionPool ── persistent connections of HTTP/1.1, limited for each origin
//!          └─────── Dialer ── the only outgoing connect, refused in offline mode
//!                    └─── Tls, for https: verifies the origin's certificate
//! ```
//!
//! If the origin had just closed a reused connection, the request is sent once more on a new
//! connection, provided that no byte of it was sent, or that its method is safe (RFC 9110 §9.2.1)
//! and it has no body. A request is also sent again, whatever its method, if the origin reports
//! that it did not process the request (RFC 9113 §8.7), or that the request used the wrong
//! connection (RFC 9110 §15.5.20) or protocol (RFC 9113 §7). No other request is sent twice.

mod activity;
mod adjustable;
mod answer;
mod contention;
mod dialer;
mod error;
mod finger;
mod ftp;
mod h1;
mod inward;
mod latest;
mod line;
mod message;
mod multiplexed;
mod parents;
mod pool;
mod probe;
mod recorded_stream;
mod refused;
mod registry;
mod seats;
mod socks;
mod step;
mod streamed;
mod tls;
mod tls_details;
mod tls_error;
mod trailers;
mod usage_meter;
mod verify;
mod via;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::{HeaderMap, Request, StatusCode};
use hyper_util::rt::TokioTimer;
use tokio::sync::mpsc;
use tokio_rustls::rustls::ClientConfig;
use tracing::debug;
use wwwoffle_config::Options;

use adjustable::Adjustable;
pub use answer::{Answer, AnswerBody};
use contention::Contention;
pub use contention::LinePosition;
pub use dialer::{Dialer, OriginReport};
pub use error::{Failure, LeftOutFile};
pub use ftp::{Listing, ListingFormat};
pub(crate) use inward::is_inner_host;
pub use inward::{Reach, reachable_addresses};
use message::OutgoingMessage;
pub use parents::{FailingParent, ParentHealth};
use pool::ConnectionPool;
pub use refused::{RefusedCertificate, RefusedCertificates};
use registry::{OriginRoute, Registry};
use step::{AttemptOutcome, Tries};
pub use tls::Tls;
pub(crate) use tls::server_name;
pub use tls_details::TlsDetails;
pub use tls_error::{CertificateFault, TlsFault};
pub(crate) use usage_meter::UsageMeter;
pub use via::{ParentFault, ParentRoute, Via};

use crate::base::tasks::Tasks;

/// The largest response head with its fields, in bytes.
const MAX_ANSWER_HEAD: usize = 256 * 1024;

/// The largest number of fields of a response.
const MAX_ANSWER_FIELDS: usize = 256;

/// The interval at which idle connections are checked.
const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// The maximum number of connections tried for a request that the origin refuses unprocessed.
const MAX_TRIES: usize = 4;

/// Any error of a body that we send.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of an outgoing request.
pub type RequestBody = UnsyncBoxBody<Bytes, BoxError>;

/// An extension of a request: it must use a new HTTP/1.1 connection. On a reused connection, bytes
/// left by a faulty origin would be taken for the response.
#[derive(Clone, Copy, Debug)]
pub struct NewConnection;

/// An extension of a response: its connection belongs to one person, because the origin may have
/// logged in the connection instead of the request. So only this person may get the response.
#[derive(Clone, Copy, Debug)]
pub struct PersonalConnection;

/// An extension of a response: the source from which this node received it. Only responses of a node
/// of an archive tier have it, and not those of private addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceivedFrom {
    /// The origin, at a public address.
    PublicAddress,
    /// A parent proxy. The address of the origin is unknown.
    ParentProxy,
}

/// An interim response (1xx) on its way to the client.
pub type Interim = (StatusCode, HeaderMap);

/// The protocol of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// HTTP over TCP.
    Http,
    /// HTTP over TLS.
    Https,
    /// FTP, with TLS if the server offers it.
    Ftp,
    /// Finger.
    Finger,
}

impl Scheme {
    /// Parses the lower-case name of a scheme. Returns `None` if the scheme is not fetched.
    #[must_use]
    pub fn of(protocol: &str) -> Option<Self> {
        match protocol {
            "http" => Some(Self::Http),
            "https" => Some(Self::Https),
            "ftp" => Some(Self::Ftp),
            "finger" => Some(Self::Finger),
            _ => None,
        }
    }

    /// The lower-case name of the scheme.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Ftp => "ftp",
            Self::Finger => "finger",
        }
    }
}

/// The origin of a URL (RFC 6454 §4). Displayed as host and port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Its protocol.
    pub scheme: Scheme,
    /// A name or an address, IPv6 in brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// The parent proxy, if any. A connection through another parent is not shared.
    pub via: Option<Arc<Via>>,
    /// The reach of the client. Connections are not shared between different reaches.
    pub reach: Reach,
}

#[cfg(test)]
impl Origin {
    /// An origin without a parent, for a client on this machine.
    pub(crate) fn here(scheme: Scheme, host: &str, port: u16) -> Self {
        Self { scheme, host: host.to_owned(), port, via: None, reach: Reach::All }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// The body of a request.
#[derive(Debug)]
pub enum Outbound {
    /// No body.
    Empty,
    /// A complete body, which can be sent again.
    Whole(Bytes),
    /// A body that streams from the client.
    Stream(ClientBody),
    /// A body that we read from the spool. The head has its `Content-Length`.
    Stored(RequestBody),
}

/// The body of a client's request, of which the first bytes were read.
#[derive(Debug)]
pub struct ClientBody {
    /// The first bytes.
    pub start: Bytes,
    /// The rest.
    pub rest: Incoming,
}

/// The timeouts and the number of connections.
#[derive(Clone, Copy, Debug)]
pub struct UpstreamLimits {
    /// The timeout for a response head, from the last progress of the request.
    pub head_timeout: Duration,
    /// The timeout for the next byte of a body.
    pub socket_timeout: Duration,
    /// The time for which an idle connection stays open.
    pub idle_timeout: Duration,
    /// The largest number of connections to one origin.
    pub per_origin: usize,
}

impl UpstreamLimits {
    /// The limits from the options.
    #[must_use]
    pub fn of(options: &Options) -> Self {
        Self {
            head_timeout: options.head_timeout,
            socket_timeout: options.socket_timeout,
            idle_timeout: options.idle_timeout,
            per_origin: options.connections_per_host.get(),
        }
    }
}

/// The sender of requests to origins. One per daemon.
#[derive(Debug)]
pub struct Upstream {
    dialer: Dialer,
    tls: Tls,
    pool: ConnectionPool,
    registry: Registry,
    contention: Contention,
    tasks: Tasks,
    limits: Adjustable<UpstreamLimits>,
}

impl Upstream {
    /// Creates an upstream with this dialer and TLS. It runs its connections in `tasks`.
    #[must_use]
    pub fn new(dialer: Dialer, tls: Tls, tasks: Tasks, limits: UpstreamLimits) -> Arc<Self> {
        let pool = ConnectionPool::new(limits.per_origin, limits.idle_timeout);
        let registry = Registry::new(limits.idle_timeout);
        let limits = Adjustable::new(limits);
        let contention = Contention::default();
        let upstream = Arc::new(Self { dialer, tls, pool, registry, contention, tasks, limits });
        let sweeper = Arc::clone(&upstream);
        upstream.tasks.spawn(async move { sweeper.sweep_until_stop().await });
        upstream
    }

    /// Sets new limits, which apply from now on. Running exchanges continue with the old limits.
    pub fn set_limits(
        &self,
        limits: UpstreamLimits,
        dns_timeout: Duration,
        connect_timeout: Duration,
    ) {
        self.limits.set(limits);
        self.pool.set_limits(limits.per_origin, limits.idle_timeout);
        self.registry.set_idle_timeout(limits.idle_timeout);
        self.dialer.set_timeouts(dns_timeout, connect_timeout);
        self.tls.set_patience(connect_timeout);
    }

    /// The dialer, for tunnels and for its counters.
    #[must_use]
    pub fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    /// The TLS configuration for a connection to `origin` in a protocol other than HTTP.
    pub(crate) fn tls_config(&self, origin: &Origin) -> Arc<ClientConfig> {
        self.tls.config_for_other(origin)
    }

    /// Recently refused certificates.
    #[must_use]
    pub fn refused_certificates(&self) -> &RefusedCertificates {
        self.tls.refused_certificates()
    }

    /// Closes idle connections, because the mode became offline or the daemon stops.
    pub fn close_idle(&self) {
        self.pool.close_idle();
        self.registry.close_idle();
    }

    /// Resolves when a request waits for a connection to `origin`, and this transfer is the oldest
    /// that may give up its connection. Returns whether `gives_up` agreed. Dropping the future has
    /// no effect.
    pub async fn yields(
        &self,
        origin: &Origin,
        transfer: u64,
        gives_up: impl Fn() -> bool,
    ) -> bool {
        self.contention.yields(origin, transfer, gives_up).await
    }

    /// Whether idle connections stay open. When this becomes false, [`Self::close_idle`] is called.
    fn keeps_connections(&self) -> bool {
        self.dialer.may_dial() && !self.tasks.is_stopping()
    }

    /// Sends a request and waits for the head of its final response. Interim responses (1xx) go to
    /// `interim`. Dropping the future abandons the exchange. It also closes the connection, unless
    /// the connection is shared.
    ///
    /// `head` is in origin-form with a `Host` field, and has only those hop-by-hop fields that are
    /// meant for the origin. The owner of the request is an extension of `head`. A connection that
    /// may have been logged in (RFC 4559) is used again for the same owner only.
    ///
    /// # Errors
    ///
    /// [`Failure`]: an error of the dialer, the network, the parent proxy or the origin, or a request
    /// that cannot be sent.
    pub async fn send(
        self: &Arc<Self>,
        origin: &Origin,
        head: Request<()>,
        body: Outbound,
        interim: Option<mpsc::Sender<Interim>>,
    ) -> Result<Answer, Failure> {
        let sent = self.send_now(origin, head, body, interim).await;
        match &sent {
            // A parent proxy may send a server error if it cannot reach the origin, so this is not
            // taken for a response of the origin.
            Ok(answer) if origin.via.is_some() && answer.status().is_server_error() => {}
            Ok(_) => self.dialer.report_result(origin, true),
            Err(failure) if failure.is_no_way() => self.dialer.report_result(origin, false),
            Err(_) => {}
        }
        let account = self.dialer.account(origin);
        sent.map(|answer| answer.map(|body| body.counted(account)))
    }

    /// Sends the request by the first of the ways to `origin` that works.
    async fn send_now(
        self: &Arc<Self>,
        origin: &Origin,
        head: Request<()>,
        body: Outbound,
        interim: Option<mpsc::Sender<Interim>>,
    ) -> Result<Answer, Failure> {
        let mut message = OutgoingMessage::new(head, body, interim);
        let mut failed = Failure::Unprocessed;
        for way in self.dialer.parents().ways(origin) {
            match self.send_by(&way, &mut message).await {
                Err(failure) if failure.may_try_next_parent() && message.is_whole() => {
                    failed = failure;
                }
                sent => return sent,
            }
        }
        Err(failed)
    }

    /// Sends the request to `origin` by its parent proxy, if it has one.
    async fn send_by(
        self: &Arc<Self>,
        origin: &Origin,
        message: &mut OutgoingMessage,
    ) -> Result<Answer, Failure> {
        let parent = origin.via.as_ref().filter(|via| via.takes_requests(origin.scheme));
        match origin.scheme {
            Scheme::Ftp if parent.is_none() => {
                return Box::pin(self.ask_ftp(origin, message)).await;
            }
            Scheme::Finger if parent.is_none() => {
                return Box::pin(self.ask_finger(origin, message.head())).await;
            }
            _ => {}
        }
        message.address(origin)?;
        let mut tries = Tries::default();
        loop {
            tries.count += 1;
            let step = match self.route(origin, self.needs_http1(origin, message)).await? {
                OriginRoute::Shared(shared) => self.share(origin, &shared, message, &tries).await,
                OriginRoute::Dial(offer, turn) => {
                    self.use_or_dial(origin, offer, turn, message, &tries).await
                }
            };
            match step? {
                AttemptOutcome::Answered(answer) => {
                    return match parent {
                        Some(parent)
                            if answer.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED =>
                        {
                            Err(parent.failed(ParentFault::LoginInResponse))
                        }
                        _ => Ok(answer),
                    };
                }
                AttemptOutcome::Again(failure)
                    if tries.count >= MAX_TRIES || !message.is_whole() =>
                {
                    return Err(failure);
                }
                AttemptOutcome::Again(failure) => {
                    debug!(%origin, error = failure.chain(), "sent again");
                }
                AttemptOutcome::Harmless(failure) => {
                    debug!(%origin, error = failure.chain(), "a connection in use had ended; trying a new one");
                    tries.is_repeated = true;
                }
            }
        }
    }

    async fn sweep_until_stop(&self) {
        let mut tick = tokio::time::interval(SWEEP_EVERY);
        loop {
            tokio::select! {
                () = self.tasks.stopping() => break self.close_idle(),
                _ = tick.tick() => {
                    self.pool.sweep();
                    self.registry.sweep();
                }
            }
        }
    }
}

/// A timer for hyper's deadlines.
#[must_use]
pub fn timer() -> TokioTimer {
    TokioTimer::new()
}

#[cfg(test)]
mod scene;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_http2;
#[cfg(test)]
mod tests_http2_connections;
