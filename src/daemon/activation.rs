//! Sockets that the service manager has opened for the daemon (`sd_listen_fds(3)`).

use listenfd::ListenFd;
use socket2::{Protocol, Socket};
use wwwoffle_config::ServiceVariables;

/// The maximum number of sockets that are taken over.
const MAX_SOCKETS: usize = 64;

/// A socket from the service manager that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadSocket {
    /// The file descriptor is no TCP socket that listens.
    #[error(
        "socket {0} of {1} from the service manager is no TCP socket that listens: each \
         ListenStream= of the socket unit must be ADDRESS:PORT, without Accept=yes"
    )]
    Kind(usize, usize),
    /// There are too many.
    #[error("the service manager handed over {0} sockets; at most {MAX_SOCKETS} are taken over")]
    TooMany(usize),
}

/// Takes the sockets over. Their number is zero if they are for another process, such as a parent,
/// or if the daemon was started in another way.
///
/// # Errors
///
/// [`BadSocket`] if one of them does not accept TCP connections.
pub fn take_sockets(variables: &ServiceVariables) -> Result<Vec<Socket>, BadSocket> {
    // `listenfd` takes sockets without `LISTEN_PID` too.
    if !variables.has_sockets_for(std::process::id()) {
        return Ok(Vec::new());
    }
    let mut handed = ListenFd::from_env();
    let count = handed.len();
    if count > MAX_SOCKETS {
        return Err(BadSocket::TooMany(count));
    }
    let mut take = |at| {
        let bad = || BadSocket::Kind(at + 1, count);
        let listener = handed.take_tcp_listener(at).ok().flatten().ok_or_else(bad)?;
        let socket = Socket::from(listener);
        let is_tcp = matches!(socket.protocol(), Ok(Some(Protocol::TCP)));
        let listens = socket.is_listener().unwrap_or(false);
        let is_ready = is_tcp && listens && socket.set_nonblocking(true).is_ok();
        is_ready.then_some(socket).ok_or_else(bad)
    };
    (0..count).map(&mut take).collect()
}
