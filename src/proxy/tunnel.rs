//! `CONNECT`: a connection to an allowed port (RFC 9110 §9.3.6). HTTPS is normally intercepted. Any
//! other connection is a tunnel, which passes bytes both ways and stores nothing.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tracing::debug;
use wwwoffle_config::{Config, UrlParts};

use super::Client;
use super::access_record::AccessRecord;
use super::body::{self, Body};
use super::client_connection::ClientConnection;
use super::counted_stream::CountedStream;
use super::intercept::InterceptedConnection;
use super::protocols::allows_port;
use super::rules::parent;
use super::site::{ConnectionPlan, HttpsSite, TunnelReason, plan};
use super::{quota, reply};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::mode::Mode;
use crate::base::patient_io::PatientIo;
use crate::net::upstream::{Failure, Origin};
use crate::page::context::PageReader;
use crate::page::message::{Message, Ruled};
use crate::proxy::context::ProxyContext;

/// Connects the client to us or to the origin, or refuses. The connection runs in a task of its own
/// until either side ends.
pub(super) async fn open(
    context: &Arc<ProxyContext>,
    client: &Client,
    mode: Mode,
    mut origin: Origin,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let host_port = origin.to_string();
    let reader = PageReader::of(mode, request.headers());
    let config = context.base.config();
    let blocked =
        || reply::message(context, &reader, &Message::PortBlocked { host_port: &host_port });
    let site = HttpsSite::of(&origin.host, origin.port, &context.base.local);
    let is_open =
        context.traffic.fixture.is_some() || is_open(&config, origin.port, site.as_ref().ok());
    let site = match site {
        Ok(site) => site,
        Err(_) if !is_open => return blocked(),
        Err(error) => {
            let detail = error_chain(&error);
            return reply::message(context, &reader, &Message::BadRequest { detail: &detail });
        }
    };
    origin.via = parent(&context.base, &config, site.url());
    origin.reach = client.connection.reach();
    let connection = client.connection.clone();
    let plan = connection_plan(context, &config, mode, (connection.peer, &site));
    debug!(site = site.url().as_str(), %mode, ?plan, "decided");
    match plan {
        ConnectionPlan::Ourselves if connection.nested => {
            let detail = "this connection already leads to the proxy";
            return reply::message(context, &reader, &Message::BadRequest { detail });
        }
        ConnectionPlan::Ourselves => {
            let (upgrade, host) = (hyper::upgrade::on(&mut request), site.host().to_owned());
            context.base.tasks.spawn(client.server.open_nested(upgrade, connection, host));
            return Response::new(body::empty());
        }
        _ if !is_open => return blocked(),
        ConnectionPlan::Intercept => {
            let server = Arc::clone(&client.server);
            let intercepted = InterceptedConnection {
                context: Arc::clone(context),
                connection,
                origin,
                site,
                server,
            };
            context.base.tasks.spawn(intercepted.run(hyper::upgrade::on(&mut request)));
            return Response::new(body::empty());
        }
        ConnectionPlan::Tunnel(_) => {}
        ConnectionPlan::Refuse => {
            return reply::message(
                context,
                &reader,
                &Message::HostRefused { host_port: &host_port },
            );
        }
    }
    if let Some(listed) = config.dont_get.urls.matches(site.url()) {
        debug!(site = site.url().as_str(), by = %listed.location(), "blocked");
        let url = site.url().as_str();
        let notice = Message::Ruled { url, ruled: Ruled::Blocked, place: None };
        return reply::message(context, &reader, &notice);
    }
    let owner = connection.owner();
    // Before the mode is known to permit the connection, nothing is counted.
    if mode.may_dial()
        && let Err(reached) = quota::begin_request(context, &owner)
    {
        let response = reply::message(context, &reader, &Message::QuotaReached);
        return quota::with_renewal(response, &reached);
    }
    let upstream = match context.net.upstream.dialer().dial(&origin).await {
        Ok(stream) => stream,
        Err(failure) => return refuse(context, &reader, &host_port, &failure),
    };
    let upgrade = hyper::upgrade::on(&mut request);
    let inside = Arc::clone(context);
    context.base.tasks.spawn(async move {
        let client = match upgrade.await {
            Ok(client) => client,
            Err(error) => return debug!(%error, "the client left before its tunnel was ready"),
        };
        splice(&inside, &origin, &connection, (TokioIo::new(client), upstream), b"").await;
    });
    Response::new(body::empty())
}

/// Whether a tunnel may go to `port`. A configured range does not include the ports of other
/// protocols.
pub(super) fn is_open(config: &Config, port: u16, site: Option<&HttpsSite>) -> bool {
    let (ports, url) = (&config.tunnel.ports, site.map(HttpsSite::url));
    let is_of_the_web = || url.is_some_and(|url| allows_port(config, url, &UrlParts::of(url)));
    ports.lists(port) || ports.contains(port) && is_of_the_web()
}

/// The handling of a connection of a client to `site`. For a fixture all connections are
/// intercepted, because a tunnel could not be replayed.
pub(super) fn connection_plan(
    context: &ProxyContext,
    config: &Config,
    mode: Mode,
    (client, site): (SocketAddr, &HttpsSite),
) -> ConnectionPlan {
    if context.traffic.fixture.is_some() && !site.url().is_local() {
        return ConnectionPlan::Intercept;
    }
    plan(config, site, tunnel_reason(context, mode, client, site))
}

/// The reason why connections of a client to `site` cannot be intercepted, if any.
fn tunnel_reason(
    context: &ProxyContext,
    mode: Mode,
    client: SocketAddr,
    site: &HttpsSite,
) -> Option<TunnelReason> {
    if !context.clients.tls.authority.permits(site.host()) {
        Some(TunnelReason::Outside)
    } else if has_rejected(context, mode, client, site) {
        Some(TunnelReason::Rejected)
    } else {
        None
    }
}

/// Whether the client has recently rejected our certificate for `site`, and so gets a tunnel.
/// Offline no tunnel is possible, so our certificate is offered again: a browser that trusts it by
/// now gets its page.
fn has_rejected(context: &ProxyContext, mode: Mode, client: SocketAddr, site: &HttpsSite) -> bool {
    let is_near = || context.base.config().local_net.hosts.contains(site.host());
    (mode.may_dial() || is_near() || context.base.mode.allows(site.host()))
        && context.clients.tls.rejections.has(client.ip(), site.host(), clock::now())
}

/// Passes on a connection that the firewall redirected to us, as [`pass_on`]. The access log has it
/// as the `CONNECT` that its client would have sent to a proxy.
pub(crate) async fn pass_on_redirected(
    context: &ProxyContext,
    origin: &Origin,
    mut connection: ClientConnection,
    client: impl AsyncRead + AsyncWrite + Unpin,
    first: &[u8],
) {
    let request = Request::connect(origin.to_string()).body(()).unwrap_or_default();
    let log = context.traffic.access_log.as_ref();
    connection.access = log.map(|log| AccessRecord::begin(log, &connection, &request));
    pass_on(context, origin, &connection, client, first).await;
}

/// Converts a connection into a tunnel after its client has received the `200` and sent `first`. An
/// error response is no longer possible, so a failure only closes the connection.
pub(crate) async fn pass_on(
    context: &ProxyContext,
    origin: &Origin,
    connection: &ClientConnection,
    client: impl AsyncRead + AsyncWrite + Unpin,
    first: &[u8],
) {
    // After a CONNECT, the status of its response is known already.
    let record_status = |status| {
        if let Some(record) = &connection.access {
            record.set_status(status);
        }
    };
    let site = HttpsSite::of(&origin.host, origin.port, &context.base.local);
    if site.is_ok_and(|site| context.base.config().dont_get.urls.matches(site.url()).is_some()) {
        record_status(StatusCode::FORBIDDEN);
        return debug!(%origin, "blocked");
    }
    let owner = connection.owner();
    if quota::begin_request(context, &owner).is_err() {
        record_status(StatusCode::TOO_MANY_REQUESTS);
        return debug!(%origin, %owner, "the quota is used up");
    }
    let dialled = tokio::select! {
        dialled = context.net.upstream.dialer().dial(origin) => dialled,
        () = context.base.tasks.stopping() => return,
    };
    match dialled {
        Ok(upstream) => {
            record_status(StatusCode::OK);
            splice(context, origin, connection, (client, upstream), first).await;
        }
        Err(failure) => {
            record_status(failure.status());
            debug!(%origin, failure = failure.chain(), "no tunnel");
        }
    }
}

/// The switch to another protocol that a request asks for. Bytes of that protocol may follow the
/// request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Switch {
    No,
    Tunnel,
    Upgrade,
    /// An upgrade over HTTP/2, where the connection continues in any case.
    WebSocket,
}

impl Switch {
    /// The protocol switch that `request` requests.
    pub(super) fn of_request<B>(request: &Request<B>) -> Self {
        if request.extensions().get::<hyper::ext::Protocol>().is_some() {
            Self::WebSocket
        } else if request.method() == Method::CONNECT {
            Self::Tunnel
        } else if request.headers().contains_key(UPGRADE) {
            Self::Upgrade
        } else {
            Self::No
        }
    }

    /// Closes the connection after a response that does not grant the protocol switch.
    ///
    /// After a request for a switch, the gate ([`wwwoffle_http::framing::Gate`]) passes every byte,
    /// because it cannot predict the response. So no later byte may be parsed as another request.
    pub(super) fn close_unless_granted<B>(self, response: &mut Response<B>) {
        let granted = match self {
            Self::No | Self::WebSocket => true,
            Self::Tunnel => response.status().is_success(),
            Self::Upgrade => response.status() == StatusCode::SWITCHING_PROTOCOLS,
        };
        if !granted {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// Copies bytes both ways until either side ends, the mode becomes offline or the daemon stops. A
/// tunnel is an outgoing connection, so offline it closes, unless `to` is a host that is reached in
/// every mode. The client has already sent `first`. An origin that does not read these bytes delays
/// neither a change of the mode nor the stop. The bytes of the origin count for the owner of
/// `connection`.
pub(super) async fn splice(
    context: &ProxyContext,
    to: &Origin,
    connection: &ClientConnection,
    (client, origin): (impl AsyncRead + AsyncWrite + Unpin, impl AsyncRead + AsyncWrite + Unpin),
    first: &[u8],
) {
    let account = context.storage.statistics.account(&to.host);
    let usage = quota::account(context, &connection.owner());
    let record = connection.access.clone();
    let mut origin = CountedStream::new(origin, account, usage).recorded_by(record);
    // hyper has no timeout for an HTTP/2 stream whose client does not read.
    let mut client = PatientIo::new(client, context.base.config().options.socket_timeout);
    let copy = async {
        origin.write_all(first).await?;
        copy_bidirectional(&mut client, &mut origin).await
    };
    tokio::select! {
        biased;
        () = context.net.upstream.dialer().wait_until_shut(to) => {}
        () = context.base.tasks.stopping() => {}
        copied = copy => {
            if let Err(error) = copied {
                debug!(%error, "a tunnel broke off");
            }
        }
    }
}

fn refuse(
    context: &ProxyContext,
    reader: &PageReader,
    host_port: &str,
    failure: &Failure,
) -> Response<Body> {
    let chain = failure.chain();
    let notice = match reply::origin_failure(failure, &chain) {
        Some(failure) => Message::OriginFailed { url: host_port, failure, copy: None },
        None => Message::TunnelOffline { host_port },
    };
    let mut response = reply::message(context, reader, &notice);
    *response.status_mut() = failure.status();
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::log::access::{AccessLog, AccessLogSink};
    use crate::daemon::testing::TestDaemon;
    use crate::net::upstream::Scheme;
    use std::pin::pin;
    use tokio::io::duplex;
    use tokio::net::{TcpListener, TcpSocket};
    use wwwoffle_config::{AccessLogFormat, Config, LogTo};

    fn context(root: &tempfile::TempDir) -> Arc<ProxyContext> {
        TestDaemon::new(root, Config::default(), Mode::Online).proxy()
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "the test reads the file")]
    async fn a_redirected_tunnel_is_in_the_access_log() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("access.log");
        let sink = AccessLogSink::open(&LogTo::File(path.clone())).unwrap();
        let log = AccessLog::start(sink, AccessLogFormat::Combined).unwrap();
        let spool = tempfile::tempdir().unwrap();
        let context = TestDaemon::logging(&spool, Config::default(), Mode::Online, log).proxy();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let origin = Origin::here(Scheme::Https, "127.0.0.1", address.port());
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(b"12345").await.unwrap();
        };
        let connect = || {
            let connection = ClientConnection::new(address, address.ip(), Arc::new(()));
            pass_on_redirected(&context, &origin, connection, tokio::io::empty(), b"hello")
        };
        tokio::join!(connect(), serve);
        drop(listener);
        connect().await;
        context.traffic.access_log.as_ref().unwrap().finish();
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<_> = text.lines().collect();
        let begin = format!("\"CONNECT {address} HTTP/1.1\"");
        assert!(lines[0].contains(&format!("{begin} 200 5 ")), "{text}");
        assert!(lines[1].contains(&format!("{begin} 502 0 ")), "{text}");
    }

    #[tokio::test]
    async fn unread_first_bytes_of_a_websocket_do_not_block() {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(1024).unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener: TcpListener = socket.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        let origin = Origin::here(Scheme::Https, "127.0.0.1", address.port());
        let first = vec![b'x'; 64 << 20];
        for stop in [false, true] {
            let root = tempfile::tempdir().unwrap();
            let context = context(&root);
            let (client, _other) = duplex(8);
            let connection = ClientConnection::new(address, address.ip(), Arc::new(()));
            let mut passed = pin!(pass_on(&context, &origin, &connection, client, &first));
            let (_unread, _) = tokio::select! {
                () = &mut passed => panic!("the origin has not read"),
                accepted = listener.accept() => accepted.unwrap(),
            };
            if stop {
                context.base.tasks.stop();
            } else {
                context.base.mode.set(Mode::Offline);
            }
            tokio::time::timeout(std::time::Duration::from_secs(10), passed).await.unwrap();
        }
    }
}
