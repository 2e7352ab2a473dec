//! The arguments of `wwwoffle service`.

use clap::{Args, Subcommand};

/// The subcommands of `service`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ServiceVerb {
    /// Write a unit of systemd for this user, start the daemon, and start it at every login.
    Install(ServiceArgs),
    /// Stop the daemon and remove the unit. The spool stays.
    Uninstall(ServiceArgs),
}

/// The arguments of both subcommands.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServiceArgs {
    /// For this user. For the whole machine, the package of your distribution has a unit.
    #[arg(long, required = true)]
    pub(crate) user: bool,
    /// Only print the unit and the commands.
    #[arg(long, visible_alias = "dry-run")]
    pub(crate) print: bool,
}
