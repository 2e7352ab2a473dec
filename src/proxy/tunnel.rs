//! `CONNECT`: a connection to an allowed port (RFC 9110 §9.3.6). HTTPS is answered by us as a rule;
//! all else is a tunnel, bytes both ways, nothing kept.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tracing::debug;

use super::Client;
use super::body::{self, Body};
use super::intercept::Intercepted;
use super::reply;
use super::site::{Plan, Site, plan};
use crate::clock;
use crate::daemon::Daemon;
use crate::mode::Mode;
use crate::pages::message::Message;
use crate::upstream::{Failure, Origin};

/// Lets the client through to us or to the origin, or says why not. Both run in a task of their own
/// until either side ends.
pub(super) async fn open(
    daemon: &Arc<Daemon>,
    client: &Client,
    mode: Mode,
    origin: Origin,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let host_port = origin.to_string();
    if !daemon.config.tunnel.ports.contains(origin.port) {
        return reply::message(daemon, mode, &Message::PortBlocked { host_port: &host_port });
    }
    let site = match Site::of(&origin.host, origin.port, &daemon.local) {
        Ok(site) => site,
        Err(error) => {
            let detail = reply::error_chain(&error);
            return reply::message(daemon, mode, &Message::BadRequest { detail: &detail });
        }
    };
    let visitor = client.visitor.clone();
    let plan = plan(&daemon.config, &site, has_rejected(daemon, mode, visitor.peer, &site));
    debug!(site = site.url().as_str(), %mode, ?plan, "decided");
    match plan {
        Plan::Intercept => {
            let intercepted = Intercepted { daemon: Arc::clone(daemon), visitor, origin, site };
            daemon.tasks.spawn(intercepted.run(hyper::upgrade::on(&mut request)));
            return Response::new(body::empty());
        }
        Plan::Tunnel(_) => {}
        Plan::Refuse => {
            return reply::message(daemon, mode, &Message::HostRefused { host_port: &host_port });
        }
    }
    let upstream = match daemon.upstream.dialer().dial(&origin).await {
        Ok(stream) => stream,
        Err(failure) => return refuse(daemon, mode, &host_port, &failure),
    };
    let upgrade = hyper::upgrade::on(&mut request);
    let inside = Arc::clone(daemon);
    daemon.tasks.spawn(async move {
        let client = match upgrade.await {
            Ok(client) => client,
            Err(error) => return debug!(%error, "the client left before its tunnel stood"),
        };
        splice(&inside, TokioIo::new(client), upstream).await;
        drop(visitor);
    });
    Response::new(body::empty())
}

/// Whether the client has lately rejected our certificate for `site`, and so gets a tunnel. Offline
/// there is none to get: then ours is offered again, and a browser that trusts us by now has its page.
pub(super) fn has_rejected(daemon: &Daemon, mode: Mode, client: SocketAddr, site: &Site) -> bool {
    mode.may_dial() && daemon.faces.rejections.has(client.ip(), site.host(), clock::now())
}

/// Makes a tunnel of a connection whose client has said `first` already, and has been told that it
/// stands: there is no way left to say why not.
pub(super) async fn pass_on(
    daemon: &Daemon,
    origin: &Origin,
    client: impl AsyncRead + AsyncWrite + Unpin,
    first: &[u8],
) {
    let mut upstream = match daemon.upstream.dialer().dial(origin).await {
        Ok(stream) => stream,
        Err(failure) => return debug!(%origin, failure = failure.chain(), "no tunnel"),
    };
    match upstream.write_all(first).await {
        Ok(()) => splice(daemon, client, upstream).await,
        Err(error) => debug!(%origin, %error, "a tunnel broke off"),
    }
}

/// Whether bytes of another protocol may follow a request: a tunnel's, or those of an upgrade.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Switch {
    No,
    Tunnel,
    Upgrade,
}

impl Switch {
    /// What `request` asks for.
    pub(super) fn asked<B>(request: &Request<B>) -> Self {
        if request.method() == Method::CONNECT {
            Self::Tunnel
        } else if request.headers().contains_key(UPGRADE) {
            Self::Upgrade
        } else {
            Self::No
        }
    }

    /// Ends the connection with an answer that does not grant what was asked for.
    ///
    /// After such a request the gate beneath hyper lets every byte through, as it cannot know what
    /// the answer will be. So nothing that comes after it may be read as another request.
    pub(super) fn close_unless_granted<B>(self, response: &mut Response<B>) {
        let granted = match self {
            Self::No => true,
            Self::Tunnel => response.status().is_success(),
            Self::Upgrade => response.status() == StatusCode::SWITCHING_PROTOCOLS,
        };
        if !granted {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// Moves bytes both ways until either side has ended, the mode goes offline or the daemon stops: a
/// tunnel is a socket outward, and offline there is none.
pub(super) async fn splice(
    daemon: &Daemon,
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    mut origin: impl AsyncRead + AsyncWrite + Unpin,
) {
    let mut mode = daemon.mode.watch();
    tokio::select! {
        copied = copy_bidirectional(&mut client, &mut origin) => {
            if let Err(error) = copied {
                debug!(%error, "a tunnel broke off");
            }
        }
        _offline = mode.wait_for(|mode| !mode.may_dial()) => {}
        () = daemon.tasks.stopping() => {}
    }
}

fn refuse(daemon: &Daemon, mode: Mode, host_port: &str, failure: &Failure) -> Response<Body> {
    let chain = failure.chain();
    let told = match reply::origin_failure(failure, &chain) {
        Some(failure) => Message::OriginFailed { url: host_port, failure, kept: None },
        None => Message::TunnelOffline { host_port },
    };
    let mut response = reply::message(daemon, mode, &told);
    *response.status_mut() = failure.status();
    response
}
