//! Reports the state of the daemon to systemd (`sd_notify(3)`).

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use tracing::debug;
use wwwoffle_config::Environment;

use super::tasks::Tasks;

/// The service manager that started the daemon, if there is one.
#[derive(Clone, Debug, Default)]
pub struct ServiceManager {
    socket: Option<SocketAddr>,
    /// The time within which the manager expects a sign of life, again and again.
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// The manager that `NOTIFY_SOCKET` and `WATCHDOG_USEC` name. Invalid values are ignored.
    #[must_use]
    pub fn of(environment: &Environment) -> Self {
        let socket = environment.notify_socket.as_deref().and_then(|name| address(name).ok());
        let watchdog = environment.watchdog_usec.as_deref().and_then(OsStr::to_str);
        let watchdog = watchdog.and_then(|text| text.parse().ok()).filter(|&time| time > 0);
        Self { socket, watchdog: watchdog.map(Duration::from_micros) }
    }

    /// Reports that the daemon serves clients.
    pub fn ready(&self, status: &str) {
        self.notify(&format!("READY=1\nSTATUS={status}"));
    }

    /// Reports that the configuration is read again. [`ready`](Self::ready) ends this state.
    pub fn reloading(&self) {
        self.notify("RELOADING=1");
    }

    /// Reports that the daemon stops.
    pub fn stopping(&self) {
        self.notify("STOPPING=1");
    }

    /// Sends signs of life, if the manager expects them, until the daemon stops. Twice as many as
    /// necessary are sent, as `sd_watchdog_enabled(3)` recommends.
    pub async fn keep_alive(self, tasks: Tasks) {
        let Some(watchdog) = self.watchdog.filter(|_| self.socket.is_some()) else { return };
        let mut tick = tokio::time::interval(watchdog / 2);
        loop {
            tokio::select! {
                () = tasks.stopping() => return,
                _ = tick.tick() => self.notify("WATCHDOG=1"),
            }
        }
    }

    fn notify(&self, state: &str) {
        let Some(socket) = &self.socket else { return };
        let sent =
            UnixDatagram::unbound().and_then(|from| from.send_to_addr(state.as_bytes(), socket));
        if let Err(error) = sent {
            debug!(%error, state, "the service manager cannot be notified");
        }
    }
}

/// A path, or after `@` a name in the abstract namespace.
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    match name.as_bytes() {
        [b'/', ..] => SocketAddr::from_pathname(name),
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}
