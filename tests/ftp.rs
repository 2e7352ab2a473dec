//! FTP and finger: through the proxy, offline, in the queue and in the gateway.

mod browser;
mod files;
mod finger;
mod hostile;
mod logins;
mod many;
mod monitor;
mod servers;
mod upload;

use crate::harness::daemon::AS_PERSON;
use crate::harness::{Daemon, Response};

/// Reads an address of the gateway like a browser.
#[track_caller]
pub(crate) fn read(daemon: &Daemon, path: &str) -> Response {
    daemon.client().get_path(&daemon.addr().to_string(), path, AS_PERSON).whole()
}
