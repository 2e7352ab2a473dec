//! Reports the state of the daemon to systemd (`sd_notify(3)`).

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use tokio::time::timeout;
use tracing::{debug, warn};
use wwwoffle_config::ServiceVariables;

use super::blocking::blocking;
use super::tasks::Tasks;

/// The service manager that started the daemon, if there is one.
#[derive(Clone, Debug, Default)]
pub struct ServiceManager {
    socket: Option<SocketAddr>,
    /// The time within which the manager expects a sign of life, again and again.
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// The manager that `NOTIFY_SOCKET` and `WATCHDOG_USEC` name. Invalid values are ignored, and
    /// so is a watchdog for another process.
    #[must_use]
    pub fn of(variables: &ServiceVariables) -> Self {
        let socket = variables.notify_socket.as_deref().and_then(|name| address(name).ok());
        let watchdog = variables.watchdog_usec.as_deref().and_then(OsStr::to_str);
        let watchdog = watchdog.and_then(|text| text.parse().ok()).filter(|&time| time > 0);
        let watchdog = watchdog.filter(|_| variables.watches(std::process::id()));
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
    /// necessary are sent, as `sd_watchdog_enabled(3)` recommends. There is no sign while no thread
    /// is free for work on the disk, because then no request can be answered either.
    pub async fn keep_alive(self, tasks: Tasks) {
        let Some(watchdog) = self.watchdog.filter(|_| self.socket.is_some()) else { return };
        let mut tick = tokio::time::interval(watchdog / 2);
        loop {
            tokio::select! {
                () = tasks.stopping() => return,
                _ = tick.tick() => {}
            }
            if has_free_thread(watchdog / 2).await {
                self.notify("WATCHDOG=1");
            } else {
                warn!("no thread is free for work on the disk: the watchdog gets no sign of life");
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

/// Whether a thread for blocking calls takes a call within this time.
async fn has_free_thread(within: Duration) -> bool {
    timeout(within, blocking(|| ())).await.is_ok()
}

/// A path, or after `@` a name in the abstract namespace.
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    match name.as_bytes() {
        [b'/', ..] => SocketAddr::from_pathname(name),
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn a_watchdog_for_another_process_is_ignored() {
        let of = |process: Option<u32>| {
            let watchdog_pid = process.map(|process| process.to_string().into());
            let watchdog_usec = Some("1000".into());
            ServiceManager::of(&ServiceVariables {
                watchdog_usec,
                watchdog_pid,
                ..ServiceVariables::default()
            })
        };
        let own = std::process::id();
        for (process, want) in [(None, true), (Some(own), true), (Some(own + 1), false)] {
            assert_eq!(of(process).watchdog.is_some(), want, "{process:?}");
        }
    }

    #[test]
    fn without_a_free_thread_there_is_no_sign_of_life() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().max_blocking_threads(1).build().unwrap();
        let (free, waits) = sync_channel::<()>(1);
        runtime.block_on(async {
            let blocked = tokio::task::spawn_blocking(move || waits.recv());
            assert!(!has_free_thread(Duration::from_millis(1)).await);
            drop(free);
            assert!(blocked.await.unwrap().is_err());
            assert!(has_free_thread(Duration::from_secs(60)).await);
        });
    }
}
