//! The connection of a request, and the functions of the server that the proxy calls.

use std::any::Any;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio_rustls::server::TlsStream;
use wwwoffle_config::User;
use wwwoffle_url::CanonicalUrl;

use super::access_record::AccessRecord;
use super::body::Body;
use super::site::{Door, HttpsSite};
use crate::base::basic::Login;
use crate::base::mode::Mode;
use crate::base::owner::Owner;
use crate::net::upstream::Reach;
use crate::tls::leaf::HTTP_2;

/// A slot among all connections or streams. Dropping it frees the slot.
pub type ConnectionSlot = Arc<dyn Any + Send + Sync>;

/// A client's connection: its address, its user, and how it reached us.
#[derive(Clone, Debug)]
pub struct ClientConnection {
    /// The address of the client.
    pub peer: SocketAddr,
    /// The address of ours to which the client connected.
    pub ours: IpAddr,
    /// The user, once identified by a password. Inside a CONNECT it is the user who sent the
    /// CONNECT, with the password at that time.
    pub user: Option<User>,
    /// The port or connection through which the client came.
    pub door: Door,
    /// Whether the client reached our own port through a CONNECT to this proxy.
    pub nested: bool,
    /// The record of the current request for the access log, if there is one.
    pub(super) access: Option<Arc<AccessRecord>>,
    /// The client's slot, occupied while any request or tunnel of its connection is active.
    _connected: ConnectionSlot,
    /// The slot of the stream, if the request came on a stream of an HTTP/2 connection.
    _slot: Option<ConnectionSlot>,
}

impl ClientConnection {
    /// A client at `peer`, connected to our address `ours`. `connected` is the slot of the client.
    #[must_use]
    pub fn new(peer: SocketAddr, ours: IpAddr, connected: ConnectionSlot) -> Self {
        Self {
            peer,
            ours,
            user: None,
            door: Door::Plain,
            nested: false,
            access: None,
            _connected: connected,
            _slot: None,
        }
    }

    /// The owner of the client's requests.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner::of(self.peer.ip(), self.user.as_ref().map(|user| &user.name))
    }

    /// The addresses that the client's requests may reach.
    #[must_use]
    pub fn reach(&self) -> Reach {
        Reach::of(self.peer.ip())
    }

    /// Whether we intercept the connection. On such a connection, the browser must not be told to
    /// bypass the proxy over QUIC or through another host (RFC 7838).
    #[must_use]
    pub fn is_intercepted(&self) -> bool {
        matches!(self.door, Door::Site(_) | Door::Redirected(_))
    }

    /// The same client, inside a connection to `site`.
    #[must_use]
    pub fn at(self, site: Arc<HttpsSite>) -> Self {
        Self { door: Door::Site(site), ..self }
    }

    /// The same client, whose connection to `destination` was redirected to us.
    #[must_use]
    pub fn redirected(self, destination: SocketAddr) -> Self {
        Self { door: Door::Redirected(destination), ..self }
    }

    /// The same client, connected to our own port through a CONNECT to this proxy.
    #[must_use]
    pub fn nested(self) -> Self {
        Self { nested: true, ..self }
    }

    /// The same client, inside a TLS connection to our own port.
    #[must_use]
    pub fn secured(self) -> Self {
        Self { door: Door::Secured, ..self }
    }

    /// The same client, as one stream of its connection.
    #[must_use]
    pub fn in_stream(self, slot: ConnectionSlot) -> Self {
        Self { _slot: Some(slot), ..self }
    }
}

/// The HTTP version of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0 or HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

impl HttpVersion {
    /// The version negotiated in the TLS handshake (RFC 7301).
    #[must_use]
    pub fn inside<T>(stream: &TlsStream<T>) -> Self {
        if stream.get_ref().1.alpn_protocol() == Some(HTTP_2) { Self::Http2 } else { Self::Http1 }
    }
}

/// The client of our own pages.
#[derive(Debug)]
pub struct PageClient {
    /// The address of the client.
    pub peer: SocketAddr,
    /// The login to the proxy, which was removed from the request.
    pub login: Option<Login>,
}

/// A future of the server, whose type the proxy must not depend on.
pub type ServerFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The functions of the server, a higher layer, that the proxy calls.
pub trait ProxyServer: fmt::Debug + Send + Sync {
    /// Answers a request for one of our own pages, at `url`.
    fn own_page(
        &self,
        mode: Mode,
        url: CanonicalUrl,
        page_client: PageClient,
        request: Request<Incoming>,
    ) -> ServerFuture<Response<Body>>;

    /// Serves HTTP inside the TLS of an intercepted connection. Returns an error if the client did
    /// not close the connection properly.
    fn speak(
        &self,
        stream: TlsStream<TokioIo<Upgraded>>,
        version: HttpVersion,
        connection: ClientConnection,
    ) -> ServerFuture<hyper::Result<()>>;

    /// Serves HTTP/1 without TLS. The connection begins with the bytes `first`.
    fn speak_plain(
        &self,
        stream: TokioIo<Upgraded>,
        first: Bytes,
        connection: ClientConnection,
    ) -> ServerFuture<hyper::Result<()>>;

    /// Serves a client that has requested a connection to the proxy itself, under the name `host`.
    fn open_nested(
        &self,
        upgrade: OnUpgrade,
        connection: ClientConnection,
        host: String,
    ) -> ServerFuture<()>;
}
