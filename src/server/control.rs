//! placeholder
use crate::daemon::Daemon;
use std::{io, path::Path, sync::Arc};
/// x
#[derive(Debug)]
pub struct ControlSocket;
/// x
/// # Errors
/// x
pub fn bind(_spool: &Path) -> io::Result<ControlSocket> {
    Ok(ControlSocket)
}
/// x
pub async fn accept(daemon: Arc<Daemon>, _socket: ControlSocket) {
    daemon.tasks.stopping().await;
}
