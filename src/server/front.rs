//! Our own port, which speaks TLS or plain HTTP depending on the first byte.
//!
//! ```text
//! first byte ── 22 ── ClientHello ── our name, or no name ── a certificate for it ── HTTP
//!         │                └──────── any other name ──────── refused
//!         └──── any other ────────────────────────────────────────────────────────── HTTP/1.1
//! ```

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use rustls::ServerConfig;
use rustls::server::Accepted;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, join, split};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_rustls::StartHandshake;
use tracing::{debug, warn};

use super::connection::{speak, speak_http1};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::proxy::access::crowd::CountedConnection;
use crate::proxy::client_connection::{ClientConnection, HttpVersion};
use crate::proxy::site::HttpsSite;
use crate::server::context::ServerContext;
use crate::tls::hello::{self, Opening};
use crate::tls::leaf::refusing_config;

/// The first byte of TLS: the type of a handshake record (RFC 8446 §5.1). No HTTP request begins
/// with this byte.
pub(super) const HANDSHAKE: u8 = 22;

/// Serves one client of our own port until it leaves or times out. If the daemon stops, the running
/// request is answered first.
pub(super) async fn serve(
    context: Arc<ServerContext>,
    stream: TcpStream,
    peer: SocketAddr,
    slot: (OwnedSemaphorePermit, CountedConnection),
) {
    let connected = Arc::new(context.count_connection(slot));
    let address = match stream.set_nodelay(true).and_then(|()| stream.local_addr()) {
        Ok(address) => address,
        Err(error) => return debug!(%error, "the client has left already"),
    };
    let connection = ClientConnection::new(peer, address.ip(), connected);
    let mut first = [0];
    let patience = context.base.config().options.idle_timeout;
    let peeked = tokio::select! {
        peeked = timeout(patience, stream.peek(&mut first)) => peeked,
        () = context.base.tasks.stopping() => return,
    };
    match peeked {
        // Boxed, so that an idle client does not need the memory of the larger futures.
        Ok(Ok(1..)) if first != [HANDSHAKE] => {
            log_result(Box::pin(speak_http1(&context, stream, Bytes::new(), connection)).await);
        }
        Ok(Ok(1..)) => Box::pin(secure(&context, stream, connection, &host_of(address))).await,
        Ok(Ok(0)) => {}
        Ok(Err(error)) => debug!(%error, "the client left before it sent anything"),
        Err(_) => debug!("the client sent nothing"),
    }
}

/// Reads the first bytes of the client, and speaks TLS or HTTP/1.1, as the client does. `host` is
/// the name or address to which the client connected. It is used if the client sends no server
/// name.
pub(super) async fn secure<T>(
    context: &Arc<ServerContext>,
    mut stream: T,
    connection: ClientConnection,
    host: &str,
) where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let opening = tokio::select! {
        opening = hello::read(&mut stream) => opening,
        () = context.base.tasks.stopping() => return,
    };
    let Opening { bytes, hello } = match opening {
        Ok(opening) => opening,
        Err(error) => return debug!(%error, "the client left before it sent anything"),
    };
    let Some(hello) = hello else {
        if bytes.is_empty() || bytes.first() == Some(&HANDSHAKE) {
            return debug!("the client did not complete the start of TLS");
        }
        let (reader, writer) = split(stream);
        let again = join(std::io::Cursor::new(bytes).chain(reader), writer);
        return log_result(Box::pin(speak_http1(context, again, Bytes::new(), connection)).await);
    };
    let Some(config) = tls_config(context, &hello, host) else { return };
    let handshake = StartHandshake::from_parts(hello, stream).into_stream(config);
    let patience = context.base.config().options.idle_timeout;
    let shaken = tokio::select! {
        shaken = timeout(patience, handshake) => shaken,
        () = context.base.tasks.stopping() => return,
    };
    match shaken {
        Ok(Ok(stream)) => {
            let version = HttpVersion::inside(&stream);
            log_result(Box::pin(speak(context, stream, version, connection.secured())).await);
        }
        Ok(Err(error)) => debug!(%error, "no TLS with the client"),
        Err(_) => debug!("TLS with the client took too long"),
    }
}

/// The TLS configuration for a client: for the name that it requests, or else for `host`, the name
/// or address to which it connected. With a name that is not ours, the handshake is refused. `None`
/// if no certificate can be created.
fn tls_config(context: &ServerContext, hello: &Accepted, host: &str) -> Option<Arc<ServerConfig>> {
    let port = context.base.local.http_port();
    let name = hello::name(hello);
    let site = HttpsSite::of(name.as_deref().unwrap_or(host), port, &context.base.local);
    let made = match site {
        Ok(site) if name.is_none() || context.base.local.has_name(site.host()) => {
            context.proxy.clients.tls.leaves.config(site.host(), clock::now())
        }
        _ => {
            debug!(name, "the client asks our port for TLS under a name that is not ours");
            refusing_config()
        }
    };
    match made {
        Ok(config) => Some(config),
        Err(error) => {
            let error_text = error_chain(&error);
            if context.proxy.clients.tls.is_news(&error) {
                warn!(error = error_text, "our own pages are not available over TLS");
            }
            debug!(error = error_text, "no certificate for a name of ours");
            None
        }
    }
}

/// An address as written in a URL.
fn host_of(address: SocketAddr) -> String {
    match address.ip().to_canonical() {
        std::net::IpAddr::V4(ip) => ip.to_string(),
        std::net::IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

pub(super) fn log_result(served: hyper::Result<()>) {
    if let Err(error) = served {
        // If a client leaves during the connection, no action is needed.
        debug!(error = error_chain(&error), "connection ended");
    }
}
