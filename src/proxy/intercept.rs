//! An intercepted connection: we answer in place of the host that the client requested.
//!
//! ```text
//! CONNECT ── 200 ── first bytes ── no TLS, no HTTP inside ─────────────── tunnel
//!                        └──────── TLS ── a certificate for its name ──── HTTP, as on any connection
//!                                              └── rejected ── remembered: a tunnel at the next try
//! ```
//!
//! A connection that the firewall redirects to us begins at its first bytes.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::server::Accepted;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, StartHandshake};
use tracing::{debug, info, warn};

use super::client_connection::{ClientConnection, HttpVersion, ProxyServer};
use super::rules::parent;
use super::site::{ConnectionPlan, HttpsSite};
use super::{fixture, tunnel};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::net::upstream::{Origin, Scheme};
use crate::proxy::context::ProxyContext;
use crate::tls::hello::{self, Opening};
use crate::tls::rejected::is_rejection;

/// A connection whose client has received the `200` response to its CONNECT.
pub(super) struct InterceptedConnection {
    pub(super) context: Arc<ProxyContext>,
    pub(super) connection: ClientConnection,
    /// The target of CONNECT, for a connection that is tunnelled after all.
    pub(super) origin: Origin,
    pub(super) site: HttpsSite,
    pub(super) server: Arc<dyn ProxyServer>,
}

/// The handling of a connection after its first bytes.
pub(crate) enum Course {
    Answer(HttpsSite, Box<Accepted>, Arc<ServerConfig>),
    PassOn,
    Close,
}

impl InterceptedConnection {
    /// Serves the connection until it closes, or the daemon stops. The future is boxed, because it
    /// would otherwise contain itself: a request inside the connection has the same handler.
    pub(super) fn run(self, upgrade: OnUpgrade) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            match upgrade.await {
                Ok(client) => self.open(TokioIo::new(client)).await,
                Err(error) => debug!(%error, "the client left before its connection was ready"),
            }
        })
    }

    async fn open(self, mut client: TokioIo<Upgraded>) {
        let opening = tokio::select! {
            opening = hello::read(&mut client) => opening,
            () = self.context.base.tasks.stopping() => return,
        };
        let Opening { bytes, hello } = match opening {
            Ok(opening) => opening,
            Err(error) => return debug!(%error, "the client left before it sent anything"),
        };
        if hello.is_none() && fixture::speaks_plain_http(&self.context, &bytes) {
            return self.speak_plain(client, bytes).await;
        }
        let course = |hello| plan_course(&self.context, self.connection.peer, &self.site, hello);
        match hello.map_or(Course::PassOn, course) {
            Course::Answer(site, hello, config) => {
                let handshake = StartHandshake::from_parts(*hello, client).into_stream(config);
                self.answer(handshake, site).await;
            }
            Course::PassOn => {
                let Self { context, origin, connection, .. } = &self;
                if fixture::note_tunnel(context, origin) {
                    tunnel::pass_on(context, origin, connection, client, &bytes).await;
                }
            }
            Course::Close => {}
        }
    }

    /// Serves HTTP without TLS inside the connection. Its `Host` fields name the origin, as on a
    /// redirected connection.
    async fn speak_plain(self, client: TokioIo<Upgraded>, bytes: Vec<u8>) {
        let connection = self.connection.redirected(([0, 0, 0, 0], self.origin.port).into());
        let peer = connection.peer;
        if let Err(error) = self.server.speak_plain(client, bytes.into(), connection).await {
            note_end(&self.context, peer, &self.origin.host, &error);
        }
    }

    async fn answer(self, handshake: Accept<TokioIo<Upgraded>>, site: HttpsSite) {
        let Self { context, connection, server, .. } = self;
        let (peer, host) = (connection.peer, site.host().to_owned());
        let Some(stream) = shake_hands(&context, peer, &host, handshake).await else { return };
        let (connection, version) = (connection.at(Arc::new(site)), HttpVersion::inside(&stream));
        if let Err(error) = server.speak(stream, version, connection).await {
            note_end(&context, peer, &host, &error);
        }
    }
}

/// Plans the connection for the name in the `ClientHello`, because the client checks the
/// certificate against that name. The name in CONNECT may differ: some clients use an address
/// there.
fn plan_course(
    context: &ProxyContext,
    peer: SocketAddr,
    requested: &HttpsSite,
    hello: Accepted,
) -> Course {
    let site = match hello::name(&hello) {
        Some(name) => HttpsSite::of(&name, requested.port(), &context.base.local),
        None => Ok(requested.clone()),
    };
    let Ok(site) = site else { return Course::Close };
    let mode = context.base.mode.now();
    let config = context.base.config();
    let from = (peer, &site);
    match tunnel::connection_plan(context, &config, mode, from) {
        ConnectionPlan::Intercept => {}
        ConnectionPlan::Ourselves | ConnectionPlan::Tunnel(_) => return Course::PassOn,
        ConnectionPlan::Refuse => return Course::Close,
    }
    if !hello::speaks_http(&hello) {
        debug!(
            site = site.url().as_str(),
            "the client does not speak HTTP; its connection is tunnelled"
        );
        return Course::PassOn;
    }
    // The handshake names a host without the final dot of an absolute name (RFC 6066 §3); the
    // requests have the dot.
    let is_same = requested.host().strip_suffix('.') == Some(site.host());
    let site = if is_same { requested.clone() } else { site };
    match context.clients.tls.leaves.config(site.host(), clock::now()) {
        Ok(config) => Course::Answer(site, Box::new(hello), config),
        Err(error) => {
            if context.clients.tls.is_news(&error) {
                warn!(
                    error = error_chain(&error),
                    "HTTPS is not intercepted and not stored; check the clock; if it is \
                     right, `wwwoffle ca renew` creates a new authority"
                );
            }
            debug!(site = site.url().as_str(), error = error_chain(&error), "no certificate");
            Course::PassOn
        }
    }
}

/// Plans a TLS connection to `destination` that the firewall redirects to us. The name in the
/// `ClientHello` decides which origin it is for; without a name, the address does. Returns the
/// origin too, for a tunnel. `None` if the connection is closed.
pub(crate) fn plan_redirected(
    context: &ProxyContext,
    connection: &ClientConnection,
    destination: SocketAddr,
    hello: Accepted,
) -> Option<(Course, Origin)> {
    let (config, local) = (context.base.config(), &context.base.local);
    let host = hello::name(&hello).unwrap_or_else(|| host_of(destination.ip()));
    let site = HttpsSite::of(&host, destination.port(), local).ok()?;
    // No program can log in to a proxy that it does not know.
    if !config.allowed_users.users.is_empty() {
        debug!("users have to log in, so no connection is intercepted");
        return None;
    }
    // A connection to our own pages would lead through us to ourselves.
    if site.url().is_local() || !tunnel::is_open(&config, site.port(), Some(&site)) {
        debug!(site = site.url().as_str(), "this site or its port is not served");
        return None;
    }
    let origin = Origin {
        scheme: Scheme::Https,
        host: site.host().to_owned(),
        port: site.port(),
        via: parent(&context.base, &config, site.url()),
        reach: connection.reach(),
    };
    Some((plan_course(context, connection.peer, &site, hello), origin))
}

/// An address as the host of a URL.
fn host_of(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// Completes the handshake with a client. `None` if there is no TLS connection. A client that
/// rejects our certificate for `host` is remembered.
pub(crate) async fn shake_hands<T: AsyncRead + AsyncWrite + Unpin>(
    context: &ProxyContext,
    peer: SocketAddr,
    host: &str,
    handshake: Accept<T>,
) -> Option<TlsStream<T>> {
    let patience = context.base.config().options.idle_timeout;
    let shaken = tokio::select! {
        shaken = timeout(patience, handshake) => shaken,
        () = context.base.tasks.stopping() => return None,
    };
    match shaken {
        Ok(Ok(stream)) => return Some(stream),
        Ok(Err(error)) if is_rejection(&error) => {
            record_rejected_handshake(context, peer.ip(), host);
        }
        Ok(Err(error)) => debug!(%peer, host, %error, "no TLS with the client"),
        Err(_) => debug!(%peer, host, "TLS with the client took too long"),
    }
    None
}

/// Notes why a connection with TLS has ended. With TLS 1.3 a client may reject the certificate as
/// late as here.
pub(crate) fn note_end(context: &ProxyContext, peer: SocketAddr, host: &str, error: &hyper::Error) {
    if is_rejection(error) {
        record_rejected_handshake(context, peer.ip(), host);
    } else {
        debug!(%peer, host, error = error_chain(error), "connection ended");
    }
}

fn record_rejected_handshake(context: &ProxyContext, client: IpAddr, host: &str) {
    fixture::note_untrusting(context, host);
    context.clients.tls.rejections.remember(client, host, clock::now());
    info!(
        %client,
        host,
        "the client rejects our certificate; for an hour its connections to this host are not \
         intercepted and not stored (see the page /ca)"
    );
}
