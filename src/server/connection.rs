//! One client's connection, from its first byte to its last.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tracing::{Instrument, debug, debug_span};

use super::client_io::ClientIo;
use crate::daemon::{Connected, Daemon};
use crate::proxy::site::Site;
use crate::proxy::{self, Client};

/// The largest head of a request that is read, in bytes, with its fields. A URL may be of any
/// length that fits.
const MAX_REQUEST_HEAD: usize = 1024 * 1024 + 64 * 1024;

/// The most fields a request may have.
const MAX_REQUEST_FIELDS: usize = 256;

/// Whose connection it is, and what it is for.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// The other end.
    pub peer: SocketAddr,
    /// The address of ours that it was opened to.
    pub ours: IpAddr,
    /// Who uses it, once a password has told: for a connection that was opened with CONNECT, whoever
    /// opened it.
    pub user: Option<Arc<str>>,
    /// The site it was opened for with CONNECT, if it is answered by us.
    pub site: Option<Arc<Site>>,
    /// Its place among all clients, held for as long as anything of its connection is under way: a
    /// tunnel counts as much as a request.
    _connected: Arc<Connected>,
}

impl Visitor {
    /// The same client, inside a connection to `site`.
    #[must_use]
    pub fn at(mut self, site: Arc<Site>) -> Self {
        self.site = Some(site);
        self
    }
}

/// Serves one client until it leaves, stays silent for too long, or the daemon stops and its
/// request under way is done.
pub(super) async fn serve(
    daemon: Arc<Daemon>,
    stream: TcpStream,
    peer: SocketAddr,
    place: OwnedSemaphorePermit,
) {
    let connected = Arc::new(daemon.count_connection(place));
    if let Err(error) = stream.set_nodelay(true) {
        return debug!(%peer, %error, "the client has left already");
    }
    let ours = match stream.local_addr() {
        Ok(address) => address.ip(),
        Err(error) => return debug!(%peer, %error, "the client has left already"),
    };
    let visitor = Visitor { peer, ours, user: None, site: None, _connected: connected };
    let served = speak(&daemon, stream, visitor);
    if let Err(error) = served.instrument(debug_span!("connection", %peer)).await {
        // A client that leaves in the middle is nobody's fault and nothing to act on.
        debug!(%peer, error = crate::error_chain::error_chain(&error), "connection ended");
    }
}

/// Speaks HTTP/1.1 on `stream` until its client leaves, is silent for too long, or the daemon stops
/// and its request under way is done. Dropping it closes the connection.
///
/// # Errors
///
/// What ended it, if not its client in good order.
pub(crate) async fn speak<T>(daemon: &Arc<Daemon>, stream: T, visitor: Visitor) -> hyper::Result<()>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let options = &daemon.config().options;
    let io = ClientIo::new(stream, options.socket_timeout).gated();
    let client = Client { interims: io.interims(), visitor };
    let handler = Arc::clone(daemon);
    let service = service_fn(move |request| {
        let (daemon, client) = (Arc::clone(&handler), client.clone());
        async move { Ok::<_, Infallible>(proxy::handle(daemon, client, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(options.idle_timeout)
        .max_headers(MAX_REQUEST_FIELDS)
        .max_buf_size(MAX_REQUEST_HEAD)
        .title_case_headers(true)
        .serve_connection(TokioIo::new(io), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    tokio::select! {
        served = connection.as_mut() => return served,
        () = daemon.tasks.stopping() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}
