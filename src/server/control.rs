//! The control socket `<spool>/control`: the API for the account of the daemon, and for root.
//!
//! The mode of the socket excludes other accounts. The peer credentials are checked too, in case
//! the mode was changed or is not enforced.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::fs::{FileType, Mode};
use rustix::io::Errno;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tracing::{debug, warn};

use super::client_io::ClientIo;
use crate::base::control_path::ControlPath;
use crate::base::error_chain::error_chain;
use crate::server::context::ServerContext;
use crate::site;

/// The maximum number of connected programs. If another one connects, idle ones are disconnected.
const MAX_AT_ONCE: usize = 64;

/// The interval at which idle programs are asked to disconnect while another one waits.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The pause after a failure to accept, such as too many open files.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// The path of the event stream. Its readers reconnect, so they are disconnected like idle
/// programs.
const EVENTS: &str = "/api/events";

/// The listening control socket. Dropping it removes the socket file.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    spool: PathBuf,
}

/// Listens on the control socket of the spool, for its owner only. A socket left by an earlier
/// daemon is removed. No other daemon can be using it, because the caller holds the lock of the
/// spool.
///
/// # Errors
///
/// The error of the system, for example if a file that is not a socket has this name.
pub fn bind(spool: &Path) -> io::Result<ControlSocket> {
    let path = ControlPath::of(spool)?;
    match rustix::fs::lstat(path.as_path()) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Socket => {
            rustix::fs::unlink(path.as_path())?;
        }
        Ok(_) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let listener = UnixListener::bind(path.as_path())?;
    let socket = ControlSocket { listener, spool: spool.to_owned() };
    rustix::fs::chmod(path.as_path(), Mode::RUSR | Mode::WUSR)?;
    Ok(socket)
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let unlinked =
            ControlPath::of(&self.spool).and_then(|path| Ok(rustix::fs::unlink(path.as_path())?));
        if let Err(error) = unlinked {
            debug!(%error, "the control socket cannot be removed");
        }
    }
}

/// Serves the API on the control socket until the daemon stops, for at most `most` programs at
/// once. Running requests are still answered after that. On return the socket is removed.
pub async fn accept(context: Arc<ServerContext>, socket: ControlSocket, most: usize) {
    let (slots, wanted) = (Arc::new(Semaphore::new(most.min(MAX_AT_ONCE))), Arc::default());
    loop {
        let accepted = tokio::select! {
            accepted = socket.listener.accept() => accepted,
            () = context.base.tasks.stopping() => return,
        };
        match accepted {
            Ok((stream, _)) if !is_trusted(&stream) => {
                warn!("another account connected to the control socket and was refused");
            }
            Ok((stream, _)) => {
                let slot = tokio::select! {
                    slot = acquire_slot(&slots, &wanted) => slot,
                    () = context.base.tasks.stopping() => return,
                };
                let served = serve(Arc::clone(&context), stream, Arc::clone(&wanted));
                context.base.tasks.spawn(async move {
                    served.await;
                    drop(slot);
                });
            }
            Err(error) => {
                context.storage.store.close_files().await;
                warn!(%error, "a connection to the control socket cannot be accepted");
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
}

/// Whether the other end runs as root or as the account of the daemon.
fn is_trusted(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == 0 || peer.uid() == own)
}

/// Waits for a slot for one more program. Until a slot is free, `wanted` tells idle programs to
/// disconnect. `None` only if `slots` was closed.
async fn acquire_slot(slots: &Arc<Semaphore>, wanted: &Notify) -> Option<OwnedSemaphorePermit> {
    let acquired = Arc::clone(slots).acquire_owned();
    let mut acquired = pin!(acquired);
    loop {
        match timeout(LOOK_AGAIN, acquired.as_mut()).await {
            Ok(slot) => return slot.ok(),
            Err(_elapsed) => wanted.notify_waiters(),
        }
    }
}

/// Serves one program until it leaves or times out, or until it is idle and its slot is `wanted`.
/// If the daemon stops, the running request is answered first.
async fn serve(context: Arc<ServerContext>, stream: UnixStream, wanted: Arc<Notify>) {
    let options = &context.base.config().options;
    let io = ClientIo::new(stream, options.socket_timeout).with_gate();
    let (handler, has_asked) = (Arc::clone(&context), Arc::new(AtomicBool::new(false)));
    let asks = Arc::clone(&has_asked);
    let service = service_fn(move |request: Request<Incoming>| {
        asks.store(request.uri().path() != EVENTS, Ordering::Relaxed);
        let context = Arc::clone(&handler);
        async move { Ok::<_, Infallible>(site::over_socket(Arc::clone(&context.site), request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(options.idle_timeout)
        .serve_connection(TokioIo::new(io), service);
    let mut connection = pin!(connection);
    let served = async {
        tokio::select! {
            served = connection.as_mut() => return served,
            () = wanted.notified() => {
                if !has_asked.load(Ordering::Relaxed) {
                    return Ok(());
                }
            }
            () = context.base.tasks.stopping() => {}
        }
        // A running request is answered first.
        connection.as_mut().graceful_shutdown();
        connection.await
    };
    if let Err(error) = served.await {
        debug!(error = error_chain(&error), "a connection to the control socket ended");
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixListener;

    use super::{bind, io};

    #[tokio::test]
    async fn the_socket_replaces_an_old_one_and_is_removed_at_the_end() {
        let spool = tempfile::tempdir().unwrap();
        let path = spool.path().join("control");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "it was left behind");
        let socket = bind(spool.path()).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_file_that_is_not_a_socket_is_not_removed() {
        let spool = tempfile::tempdir().unwrap();
        let directory = spool.path().join("control");
        std::fs::DirBuilder::new().create(&directory).unwrap();
        assert_eq!(bind(spool.path()).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert!(directory.is_dir());
    }
}
