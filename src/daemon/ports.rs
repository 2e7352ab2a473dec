//! The ports of the daemon: bound before it changes its user, and listened on at last.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use socket2::Socket;
use tokio::sync::Semaphore;
use tracing::info;
use wwwoffle_config::Config;

use super::Daemon;
use super::run::{StartFailure, refuse};
use crate::base::exit::ExitStatus;
use crate::server::listener::{self, Arrival, OpenFiles};

/// Binds the sockets for connections that the firewall redirects.
pub(super) fn bind_intercepting(config: &Config) -> Result<Vec<(Socket, Arrival)>, StartFailure> {
    let startup = &config.startup;
    let [redirect, tproxy] = [&startup.redirect_listen, &startup.tproxy_listen];
    for listed in [redirect, tproxy] {
        config
            .may_listen(listed.as_slice())
            .map_err(|open| refuse(ExitStatus::BadConfig, open.to_string()))?;
    }
    let mut sockets = Vec::new();
    for address in redirect.as_slice() {
        let socket = listener::bind(*address).map_err(|error| listen_failure(*address, &error))?;
        sockets.push((socket, Arrival::Redirected));
    }
    for address in tproxy.as_slice() {
        let socket = listener::bind_transparent(*address).map_err(|error| {
            if error.kind() == io::ErrorKind::PermissionDenied {
                let remedy = "run the daemon with the capability CAP_NET_ADMIN, or use \
                              redirect-listen";
                let message =
                    format!("tproxy-listen {address} cannot be opened: {error}; {remedy}");
                return refuse(ExitStatus::BadConfig, message);
            }
            listen_failure(*address, &error)
        })?;
        sockets.push((socket, Arrival::Transparent { port: address.port() }));
    }
    Ok(sockets)
}

/// Binds the addresses to which clients connect.
pub(super) fn bind_all(listen: &[SocketAddr]) -> Result<Vec<Socket>, StartFailure> {
    let bind =
        |address: &SocketAddr| listener::bind(*address).map_err(|e| listen_failure(*address, &e));
    listen.iter().map(bind).collect()
}

/// The addresses of the sockets, with the ports chosen by the system.
pub(super) fn addresses(sockets: &[Socket]) -> Result<Vec<SocketAddr>, StartFailure> {
    let address = |socket: &Socket| {
        socket.local_addr()?.as_socket().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    };
    let failed = |error: io::Error| {
        refuse(ExitStatus::Failed, format!("the address of a port is unknown: {error}"))
    };
    sockets.iter().map(address).collect::<io::Result<_>>().map_err(failed)
}

/// Listens on all sockets and accepts their clients.
pub(super) fn listen(
    daemon: &Arc<Daemon>,
    sockets: Vec<Socket>,
    intercepting: Vec<(Socket, Arrival)>,
    files: OpenFiles,
) -> Result<(), StartFailure> {
    let most = daemon.base.config().startup.max_connections.get().min(files.clients());
    let slots = Arc::new(Semaphore::new(most));
    let direct = sockets.into_iter().map(|socket| (socket, Arrival::Direct));
    for (socket, arrival) in direct.chain(intercepting) {
        let address = socket.local_addr().ok().and_then(|address| address.as_socket());
        let address = address.unwrap_or(SocketAddr::from(([0; 4], 0)));
        let listener = listener::listen(socket).map_err(|e| listen_failure(address, &e))?;
        if arrival != Arrival::Direct {
            info!(%address, ?arrival, "serving connections that the firewall redirects");
        }
        let (server, slots) = (Arc::clone(&daemon.server), Arc::clone(&slots));
        daemon.base.tasks.spawn(listener::accept(server, (listener, arrival), slots));
    }
    Ok(())
}

fn listen_failure(address: SocketAddr, error: &io::Error) -> StartFailure {
    let (status, remedy) = match error.kind() {
        io::ErrorKind::AddrInUse => (
            ExitStatus::Taken,
            "stop the program that has it, or choose another with --listen ADDR:PORT. If it is \
             wwwoffle: `wwwoffle online` and `wwwoffle offline` switch its mode",
        ),
        io::ErrorKind::PermissionDenied => {
            (ExitStatus::Taken, "choose a port above 1023 with --listen ADDR:PORT")
        }
        _ => (ExitStatus::Taken, "choose another address with --listen ADDR:PORT"),
    };
    refuse(status, format!("{address} cannot be listened on: {error}; {remedy}"))
}
