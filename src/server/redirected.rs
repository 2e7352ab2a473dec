//! Connections of clients that know no proxy. The firewall redirects them to a port of ours.
//!
//! ```text
//! destination ── none, or this port itself ── closed
//!     └── first byte ── TLS ── name in the ClientHello ── intercepted or passed on, as after CONNECT
//!                └──── HTTP/1.1 ── the Host field names the origin
//! ```
//!
//! The name decides, and the address is not used: the daemon looks up the name itself. So a client
//! that sends a false name gets, and stores, what the real host sends.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_rustls::StartHandshake;
use tracing::{debug, warn};

use super::connection::{speak, speak_http1};
use super::front::{HANDSHAKE, log_result};
use super::listener::{Arrival, own_address};
use crate::proxy::access::crowd::CountedConnection;
use crate::proxy::client_connection::{ClientConnection, HttpVersion};
use crate::proxy::intercept::{self, Course};
use crate::proxy::tunnel;
use crate::server::context::ServerContext;
use crate::tls::hello::{self, Opening};

/// Serves one client until it leaves or times out. If the daemon stops, the running request is
/// answered first.
pub(super) async fn serve(
    context: Arc<ServerContext>,
    (stream, arrival): (TcpStream, Arrival),
    peer: SocketAddr,
    slot: (OwnedSemaphorePermit, CountedConnection),
) {
    let connected = Arc::new(context.count_connection(slot));
    let found = stream
        .set_nodelay(true)
        .and_then(|()| Ok((destination(&stream, arrival)?, own_address(&stream, arrival)?)));
    let (destination, ours) = match found {
        Ok((Some(destination), ours)) => (destination, ours),
        Ok((None, _)) => return debug!("the connection was not redirected by the firewall"),
        Err(error) => return debug!(%error, "the client has left, or was not redirected"),
    };
    let connection = ClientConnection::new(peer, ours, connected);
    let mut first = [0];
    let patience = context.base.config().options.idle_timeout;
    let peeked = tokio::select! {
        peeked = timeout(patience, stream.peek(&mut first)) => peeked,
        () = context.base.tasks.stopping() => return,
    };
    let Ok(Ok(1..)) = peeked else { return debug!("the client sent nothing") };
    // The daemon remembers a connection before it sends anything on it.
    if context.proxy.net.upstream.dialer().has_opened(peer) {
        return warn!(
            %destination,
            "the firewall redirects connections of the daemon itself; exclude its user"
        );
    }
    if first == [HANDSHAKE] {
        Box::pin(secure(&context, stream, connection, destination)).await;
    } else {
        let connection = connection.redirected(destination);
        log_result(Box::pin(speak_http1(&context, stream, Bytes::new(), connection)).await);
    }
}

/// The address to which the client connected. `None` if it connected to our port itself.
fn destination(stream: &TcpStream, arrival: Arrival) -> io::Result<Option<SocketAddr>> {
    let own = stream.local_addr()?;
    let destination = match arrival {
        Arrival::Direct => return Ok(None),
        Arrival::Transparent { port } => Some(own).filter(|own| own.port() != port),
        Arrival::Redirected => {
            let socket = SockRef::from(stream);
            let found =
                if own.is_ipv4() { socket.original_dst_v4() } else { socket.original_dst_v6() };
            found?.as_socket().filter(|found| *found != own)
        }
    };
    Ok(destination.filter(|destination| destination.port() != 0))
}

/// Serves a client that speaks TLS.
async fn secure(
    context: &Arc<ServerContext>,
    mut stream: TcpStream,
    connection: ClientConnection,
    destination: SocketAddr,
) {
    let opening = tokio::select! {
        opening = hello::read(&mut stream) => opening,
        () = context.base.tasks.stopping() => return,
    };
    let (bytes, hello) = match opening {
        Ok(Opening { bytes, hello: Some(hello) }) => (bytes, hello),
        Ok(_) => return debug!("the client did not complete the start of TLS"),
        Err(error) => return debug!(%error, "the client left before it sent anything"),
    };
    let (proxy, peer) = (&context.proxy, connection.peer);
    match intercept::plan_redirected(proxy, &connection, destination, hello) {
        Some((Course::Answer(site, hello, config), _)) => {
            let host = site.host().to_owned();
            let handshake = StartHandshake::from_parts(*hello, stream).into_stream(config);
            let shaken = intercept::shake_hands(proxy, peer, &host, handshake).await;
            let Some(stream) = shaken else { return };
            let version = HttpVersion::inside(&stream);
            let connection = connection.at(Arc::new(site));
            if let Err(error) = speak(context, stream, version, connection).await {
                intercept::note_end(proxy, peer, &host, &error);
            }
        }
        Some((Course::PassOn, origin)) => {
            tunnel::pass_on_redirected(proxy, &origin, connection, stream, &bytes).await;
        }
        Some((Course::Close, _)) | None => {}
    }
}
