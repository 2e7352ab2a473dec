//! An intercepted connection: we answer in place of the host that the client requested.
//!
//! ```text
//! CONNECT ── 200 ── first bytes ── no TLS, no HTTP inside ─────────────── tunnel
//!                        └──────── TLS ── a certificate for its name ──── HTTP, as on any connection
//!                                              └── rejected ── remembered: a tunnel at the next try
//! ```

use std::pin::Pin;
use std::sync::Arc;

use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::server::Accepted;
use tokio::time::timeout;
use tokio_rustls::{Accept, StartHandshake};
use tracing::{debug, info, warn};

use super::client_connection::{ClientConnection, HttpVersion, ProxyServer};
use super::site::{ConnectionPlan, HttpsSite};
use super::{fixture, tunnel};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::net::upstream::Origin;
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
enum Course {
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
        match hello.map_or(Course::PassOn, |hello| self.course(hello)) {
            Course::Answer(site, hello, config) => {
                let handshake = StartHandshake::from_parts(*hello, client).into_stream(config);
                self.answer(handshake, site).await;
            }
            Course::PassOn => {
                let Self { context, origin, connection, .. } = &self;
                fixture::note_tunnel(context, origin);
                tunnel::pass_on(context, origin, connection, client, &bytes).await;
            }
            Course::Close => {}
        }
    }

    /// Plans the connection for the name in the `ClientHello`, because the client checks the
    /// certificate against that name. The name in CONNECT may differ: some clients use an address
    /// there.
    fn course(&self, hello: Accepted) -> Course {
        let site = match hello::name(&hello) {
            Some(name) => HttpsSite::of(&name, self.site.port(), &self.context.base.local),
            None => Ok(self.site.clone()),
        };
        let Ok(site) = site else { return Course::Close };
        let mode = self.context.base.mode.now();
        let config = self.context.base.config();
        let from = (self.connection.peer, &site);
        match tunnel::connection_plan(&self.context, &config, mode, from) {
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
        let is_same = self.site.host().strip_suffix('.') == Some(site.host());
        let site = if is_same { self.site.clone() } else { site };
        match self.context.clients.tls.leaves.config(site.host(), clock::now()) {
            Ok(config) => Course::Answer(site, Box::new(hello), config),
            Err(error) => {
                if self.context.clients.tls.is_news(&error) {
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

    async fn answer(self, handshake: Accept<TokioIo<Upgraded>>, site: HttpsSite) {
        let Self { context, connection, server, .. } = self;
        let (peer, host) = (connection.peer, site.host().to_owned());
        let patience = context.base.config().options.idle_timeout;
        let shaken = tokio::select! {
            shaken = timeout(patience, handshake) => shaken,
            () = context.base.tasks.stopping() => return,
        };
        let stream = match shaken {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) if is_rejection(&error) => {
                return record_rejected_handshake(&context, peer.ip(), &host);
            }
            Ok(Err(error)) => return debug!(%peer, host, %error, "no TLS with the client"),
            Err(_) => return debug!(%peer, host, "TLS with the client took too long"),
        };
        let (connection, version) = (connection.at(Arc::new(site)), HttpVersion::inside(&stream));
        if let Err(error) = server.speak(stream, version, connection).await {
            // With TLS 1.3 a client may reject the certificate as late as here.
            if is_rejection(&error) {
                record_rejected_handshake(&context, peer.ip(), &host);
            } else {
                debug!(%peer, host, error = error_chain(&error), "connection ended");
            }
        }
    }
}

fn record_rejected_handshake(context: &ProxyContext, client: std::net::IpAddr, host: &str) {
    fixture::note_untrusting(context, host);
    context.clients.tls.rejections.remember(client, host, clock::now());
    info!(
        %client,
        host,
        "the client rejects our certificate; for an hour its connections to this host are not \
         intercepted and not stored (see the page /ca)"
    );
}
