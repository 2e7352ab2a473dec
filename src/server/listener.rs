//! Accepting clients, a bounded number of them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tracing::{error, warn};

use super::connection;
use crate::daemon::Daemon;

/// How many clients the system holds that have not been accepted yet; it may have a lower bound of its own.
/// Beyond that it makes clients wait for seconds, and forgets those of them that say nothing.
const BACKLOG: i32 = 4096;

/// How long accepting rests after a failure, such as too many open files.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// Takes `address`, on which nobody is heard yet; port 0 takes any free one.
///
/// # Errors
///
/// What the system said: the port is taken, or not ours to take.
pub fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // A restart must not wait for the connections of the time before to be forgotten.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Listens on a socket of [`bind`]: from now on clients connect.
///
/// # Errors
///
/// What the system said: another program began to listen there first.
pub fn listen(socket: Socket) -> io::Result<TcpListener> {
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Accepts clients until the daemon stops; each is served in a task of its own.
pub async fn accept(daemon: Arc<Daemon>, listener: TcpListener, places: Arc<Semaphore>) {
    loop {
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place,
            () = daemon.tasks.stopping() => return,
        };
        let Ok(place) = place else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = daemon.tasks.stopping() => return,
        };
        match accepted {
            Ok((stream, peer)) => {
                if !is_served(&daemon, &stream, peer) {
                    daemon.access.strangers.refuse(&daemon.tasks, stream, peer);
                    continue;
                }
                let most = daemon.config().startup.max_connections_per_client.get();
                let Some(guest) = daemon.access.crowd.enter(peer.ip(), most) else {
                    daemon.access.strangers.refuse_one_more(&daemon.tasks, stream, peer);
                    continue;
                };
                let place = (place, guest);
                daemon.tasks.spawn(connection::serve(Arc::clone(&daemon), stream, peer, place));
            }
            Err(error) if is_the_clients(&error) => {}
            Err(error) => {
                warn!(%error, "a client cannot be accepted");
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
}

/// Whether the client may use the proxy, by its address. Asked again with each request, as the
/// configuration may change meanwhile.
fn is_served(daemon: &Daemon, stream: &TcpStream, peer: SocketAddr) -> bool {
    // Without an address of ours the client has left already.
    stream
        .local_addr()
        .is_ok_and(|ours| daemon.access.serves(&daemon.config(), peer.ip(), ours.ip()))
}

/// Whether the client alone is the cause: it left before it was accepted.
fn is_the_clients(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}

/// Raises the limit of open files to what the system allows: a client is one, and its origin
/// another.
pub fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        error!(%error, "the limit of open files cannot be raised");
    }
}
