//! The options before the verb that name a daemon on another machine.

use std::path::PathBuf;

use clap::Args;

/// The address of a daemon on another machine, and how to log in to it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DaemonArgs {
    /// A daemon on another machine, such as `https://ship.lan:8080`, in place of the one on the
    /// spool.
    #[arg(long, value_name = "URL", conflicts_with = "spool")]
    pub(crate) daemon: Option<String>,
    /// The file with the control password of that daemon; without it, a terminal asks for the
    /// password.
    #[arg(long, value_name = "FILE", requires = "daemon")]
    pub(crate) password_file: Option<PathBuf>,
    /// The file with the certificate authority of that daemon, as `wwwoffle ca export` prints it,
    /// if this machine does not trust it.
    #[arg(long, value_name = "FILE", requires = "daemon")]
    pub(crate) ca: Option<PathBuf>,
}
