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
use tokio_rustls::server::TlsStream;
use tracing::{Instrument, debug, debug_span};
use wwwoffle_config::User;

use super::client_io::ClientIo;
use super::places::Place;
use super::repeat::{Counted, Repeater};
use super::{front, http2};
use crate::base::owner::Owner;
use crate::daemon::Daemon;
use crate::net::upstream::Reach;
use crate::proxy::site::{Door, Site};
use crate::proxy::{self, Client};
use crate::server::access::crowd::Guest;
use crate::server::context::Connected;
use crate::storage::statistics::Given;
use crate::tls::leaf::HTTP_2;

/// The largest head of a request that is read, in bytes, with its fields. A URL may be of any
/// length that fits.
const MAX_REQUEST_HEAD: usize = 1024 * 1024 + 64 * 1024;

/// The most fields a request may have.
pub(super) const MAX_REQUEST_FIELDS: usize = 256;

/// Whose connection it is, and what it is for.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// The other end.
    pub peer: SocketAddr,
    /// The address of ours that it was opened to.
    pub ours: IpAddr,
    /// Who uses it, once a password has told: for a connection that was opened with CONNECT, whoever
    /// opened it, with the password of that time.
    pub user: Option<User>,
    /// The way it came in.
    pub door: Door,
    /// Whether it came to our port through a connection that was opened here with CONNECT.
    pub nested: bool,
    /// Its place among all clients, held for as long as anything of its connection is under way: a
    /// tunnel counts as much as a request.
    _connected: Arc<Connected>,
    /// Its place among all streams, if it is one stream of a connection; held just as long.
    _place: Option<Arc<Place>>,
}

impl Visitor {
    /// Whose requests these are.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner::of(self.peer.ip(), self.user.as_ref().map(|user| &user.name))
    }

    /// How far its requests may go.
    #[must_use]
    pub fn reach(&self) -> Reach {
        Reach::of(self.peer.ip())
    }

    /// The same client, inside a connection to `site`.
    #[must_use]
    pub fn at(self, site: Arc<Site>) -> Self {
        Self { door: Door::Site(site), ..self }
    }

    /// The same client, at our own port again, through a connection that was opened there.
    #[must_use]
    pub fn nested(self) -> Self {
        Self { nested: true, ..self }
    }

    /// The same client, inside TLS that it speaks with our own port.
    #[must_use]
    pub fn secured(self) -> Self {
        Self { door: Door::Secured, ..self }
    }

    /// The same client, as one stream of its connection.
    #[must_use]
    pub fn in_stream(self, place: Arc<Place>) -> Self {
        Self { _place: Some(place), ..self }
    }
}

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spoken {
    Http1,
    Http2,
}

impl Spoken {
    /// What was agreed on in the handshake (RFC 7301).
    pub(crate) fn inside<T>(stream: &TlsStream<T>) -> Self {
        if stream.get_ref().1.alpn_protocol() == Some(HTTP_2) { Self::Http2 } else { Self::Http1 }
    }
}

/// Serves one client until it leaves, stays silent for too long, or the daemon stops and its
/// request under way is done.
pub(super) async fn serve(
    daemon: Arc<Daemon>,
    stream: TcpStream,
    peer: SocketAddr,
    place: (OwnedSemaphorePermit, Guest),
) {
    let connected = Arc::new(daemon.server.count_connection(place));
    if let Err(error) = stream.set_nodelay(true) {
        return debug!(%peer, %error, "the client has left already");
    }
    let ours = match stream.local_addr() {
        Ok(address) => address.ip(),
        Err(error) => return debug!(%peer, %error, "the client has left already"),
    };
    let (door, nested) = (Door::Plain, false);
    let visitor =
        Visitor { peer, ours, user: None, door, nested, _connected: connected, _place: None };
    front::open(&daemon, stream, visitor).instrument(debug_span!("connection", %peer)).await;
}

/// Speaks HTTP on `stream` until its client leaves, is silent for too long, or the daemon stops
/// and its request under way is done. Dropping it closes the connection.
///
/// # Errors
///
/// What ended it, if not its client in good order.
pub(crate) async fn speak<T>(
    daemon: &Arc<Daemon>,
    stream: T,
    spoken: Spoken,
    visitor: Visitor,
) -> hyper::Result<()>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    match spoken {
        Spoken::Http1 => speak_http1(daemon, stream, visitor).await,
        Spoken::Http2 => Box::pin(http2::serve(daemon, stream, visitor)).await,
    }
}

async fn speak_http1<T>(daemon: &Arc<Daemon>, stream: T, visitor: Visitor) -> hyper::Result<()>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let options = &daemon.base.config().options;
    let repeater = Repeater::new(Arc::clone(daemon), visitor.clone());
    let (whence, exchange) = repeater.exchange();
    let io = ClientIo::new(stream, options.socket_timeout).gated().repeating(repeater);
    let client = Client { interims: Some(io.interims()), visitor };
    let (handler, whence) = (Arc::clone(daemon), Arc::new(whence));
    let service = service_fn(move |request| {
        let (daemon, client) = (Arc::clone(&handler), client.clone());
        let (whence, exchange, asked) =
            (Arc::clone(&whence), Arc::clone(&exchange), exchange.asked());
        async move {
            // hyper keeps room for this future as long as the connection lives.
            let answering = Box::pin(proxy::handle(Arc::clone(&daemon), client, request));
            let mut response = answering.await;
            let given = response.extensions_mut().remove::<Given>();
            if let Some(asked) = asked {
                daemon.server.repeats.remember(&whence, asked, given.as_ref(), &mut response);
            }
            Ok::<_, Infallible>(response.map(|body| Counted::new(body, exchange, given)))
        }
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
        () = daemon.base.tasks.stopping() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}
