//! Accepts clients, up to a maximum number.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{Instrument, debug_span, error, warn};

use super::{front, redirected};
use crate::proxy::access::crowd::CountedConnection;
use crate::server::context::ServerContext;

/// The maximum number of clients that the system queues until they are accepted. The system may
/// have a lower limit. Beyond the limit, the system delays clients for seconds and may drop clients
/// that send nothing.
const BACKLOG: i32 = 4096;

/// The pause after a failure to accept, such as too many open files.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// The way in which clients come to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Clients connect to the port.
    Direct,
    /// The firewall redirects connections to the port (REDIRECT).
    Redirected,
    /// The firewall hands connections to the port and leaves their destination (TPROXY).
    Transparent {
        /// The port. A connection to this very port came without the firewall.
        port: u16,
    },
}

/// Binds a socket to `address` without listening, for connections to any address. Needs the
/// capability `CAP_NET_ADMIN`.
///
/// # Errors
///
/// The error of the system, such as a port in use or a missing permission.
pub fn bind_transparent(address: SocketAddr) -> io::Result<Socket> {
    let socket = bind(address)?;
    if address.is_ipv6() {
        socket.set_ip_transparent_v6(true)?;
    } else {
        socket.set_ip_transparent_v4(true)?;
    }
    Ok(socket)
}

/// Binds a socket to `address` without listening. Port 0 chooses a free port.
///
/// # Errors
///
/// The error of the system, such as a port in use or a missing permission.
pub fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // A restart must not wait until old connections have expired.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Listens on a socket of [`bind`]. From now on clients can connect.
///
/// # Errors
///
/// The error of the system, for example if another program has started to listen on this address.
pub fn listen(socket: Socket) -> io::Result<TcpListener> {
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Accepts clients until the daemon stops, and serves each in a task.
pub async fn accept(
    context: Arc<ServerContext>,
    (listener, arrival): (TcpListener, Arrival),
    slots: Arc<Semaphore>,
) {
    loop {
        let slot = tokio::select! {
            slot = Arc::clone(&slots).acquire_owned() => slot,
            () = context.base.tasks.stopping() => return,
        };
        let Ok(slot) = slot else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = context.base.tasks.stopping() => return,
        };
        match accepted {
            Ok((stream, peer)) => admit(&context, (stream, arrival), peer, slot),
            Err(error) if is_the_clients(&error) => {}
            Err(error) => {
                context.storage.store.close_files().await;
                warn!(%error, "a client cannot be accepted");
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
}

/// Serves or refuses a client. If its name decides, the name is looked up first.
fn admit(
    context: &Arc<ServerContext>,
    (stream, arrival): (TcpStream, Arrival),
    peer: SocketAddr,
    slot: OwnedSemaphorePermit,
) {
    // If a connection has no local address, the client has closed it.
    let Ok(ours) = own_address(&stream, arrival) else { return };
    let (access, config) = (&context.proxy.clients.access, context.base.config());
    // Connections that wait for a name count too.
    let most = config.startup.max_connections_per_client.get();
    let Some(guest) = access.crowd.enter(peer.ip(), most) else {
        return access.refusals.refuse_excess(&context.base.tasks, stream, peer);
    };
    if !access.needs_name(&config, peer.ip(), ours) {
        return admit_known(context, (stream, arrival), peer, (slot, guest));
    }
    let own = Arc::clone(context);
    context.base.tasks.spawn(async move {
        let dialer = own.proxy.net.upstream.dialer();
        tokio::select! {
            () = own.base.tasks.stopping() => {}
            () = own.proxy.clients.access.client_names.look_up(dialer, peer.ip()) => {
                admit_known(&own, (stream, arrival), peer, (slot, guest));
            }
        }
    });
}

/// Serves or refuses a client, judged by its address and its name. Each request checks this again,
/// because the configuration may change.
fn admit_known(
    context: &Arc<ServerContext>,
    (stream, arrival): (TcpStream, Arrival),
    peer: SocketAddr,
    held: (OwnedSemaphorePermit, CountedConnection),
) {
    let access = &context.proxy.clients.access;
    let is_served = |ours: IpAddr| access.serves(&context.base.config(), peer.ip(), ours);
    if !own_address(&stream, arrival).is_ok_and(is_served) {
        return access.refusals.refuse(&context.base.tasks, stream, peer);
    }
    let span = debug_span!("connection", %peer);
    let own = Arc::clone(context);
    if arrival == Arrival::Direct {
        context.base.tasks.spawn(front::serve(own, stream, peer, held).instrument(span));
    } else {
        let serving = redirected::serve(own, (stream, arrival), peer, held);
        context.base.tasks.spawn(serving.instrument(span));
    }
}

/// The address of ours to which the client connected. A client at the same address is on this
/// machine. With TPROXY the client chooses this address, so it proves nothing and is left out.
pub(super) fn own_address(stream: &TcpStream, arrival: Arrival) -> io::Result<IpAddr> {
    match arrival {
        Arrival::Direct | Arrival::Redirected => Ok(stream.local_addr()?.ip()),
        Arrival::Transparent { .. } => Ok(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
    }
}

/// Whether only the client caused the error: it left before it was accepted.
fn is_the_clients(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}

/// The maximum number of open files of the process, divided among its uses, so that no use can
/// block another. Files that are not assigned here are for origins, the index and writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    limit: usize,
}

/// The approximate number of open files of an idle daemon.
const AT_REST: usize = 32;

impl OpenFiles {
    /// Raises the limit of open files as far as the system allows.
    #[must_use]
    pub fn raise() -> Self {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            error!(%error, "the limit of open files cannot be raised");
        }
        let limit = getrlimit(Resource::Nofile).current;
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        Self { limit: limit.unwrap_or(usize::MAX) }
    }

    /// The maximum number of clients of the port. Each client may need a connection to an origin
    /// too.
    #[must_use]
    pub fn clients(self) -> usize {
        (self.limit.saturating_sub(AT_REST) / 2).clamp(1, Semaphore::MAX_PERMITS)
    }

    /// The maximum number of programs on the control socket.
    #[must_use]
    pub fn programs(self) -> usize {
        (self.limit / 8).max(1)
    }

    /// The maximum number of files of stored pages that stay open for further requests.
    #[must_use]
    pub fn pages(self) -> usize {
        self.limit / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_limit_is_divided_with_a_reserve() {
        for limit in [64, 256, 1_024, 524_288] {
            let files = OpenFiles { limit };
            let sum = files.clients() + files.programs() + files.pages();
            assert!(sum + AT_REST / 2 <= limit, "{limit}: {sum}");
        }
    }
}
