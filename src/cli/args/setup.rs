//! The arguments of `wwwoffle setup`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The arguments of `setup`.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that is typed or not")]
pub(crate) struct SetupArgs {
    /// Who shall use the proxy.
    #[arg(long = "for", value_name = "WHOM", value_enum, default_value_t)]
    pub(crate) audience: SetupAudience,
    /// Only show the plan.
    #[arg(long, visible_alias = "dry-run")]
    pub(crate) plan: bool,
    /// Do not ask.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Take everything back that `setup` has changed.
    #[arg(long, conflicts_with_all = ["audience", "listen", "name", "client", "user_name",
        "user_file", "password", "skip"])]
    pub(crate) undo: bool,
    /// With --undo: forget the former state of what was changed since, and is left alone.
    #[arg(long, requires = "undo")]
    pub(crate) forget: bool,
    /// Set up this user only, also for root. Without it, root sets up the machine.
    #[arg(long)]
    pub(crate) user: bool,
    /// Leave a part out: service, certificate or proxy; may be repeated.
    #[arg(long, value_name = "PART", value_enum)]
    pub(crate) skip: Vec<SetupPart>,
    /// An address to listen on, instead of the configured ones; may be repeated.
    #[arg(long, value_name = "ADDR:PORT", value_parser = super::address_and_port)]
    pub(crate) listen: Vec<SocketAddr>,
    #[command(flatten)]
    pub(crate) sharing: SharingArgs,
    /// The root directory of the system, for images and tests.
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub(crate) root: PathBuf,
}

/// The arguments for a household or a school.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SharingArgs {
    /// A name under which other machines reach the proxy; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Vec<String>,
    /// A machine or network that may use the proxy, instead of the networks of this machine; may be
    /// repeated.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) client: Vec<String>,
    /// A user of the proxy, whose password is asked for; may be repeated.
    #[arg(long = "user-name", value_name = "NAME")]
    pub(crate) user_name: Vec<String>,
    /// A file with users, one NAME:PASSWORD a line, that only its owner can read.
    #[arg(long = "user-file", value_name = "FILE")]
    pub(crate) user_file: Option<PathBuf>,
    /// A file with the control password in its first line. Without it, a password that is not
    /// configured is asked for.
    #[arg(long = "control-password", value_name = "FILE")]
    pub(crate) password: Option<PathBuf>,
}

/// The people for whom the proxy is set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SetupAudience {
    /// This machine only.
    #[default]
    ThisMachine,
    /// Also the other machines of the local network.
    Household,
    /// The other machines of the local network, and everyone logs in.
    School,
}

/// A part of the set-up that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SetupPart {
    /// The service that starts the daemon.
    Service,
    /// The certificate in the stores of the system and of browsers.
    Certificate,
    /// The proxy settings of the desktop, of programs and of browsers.
    Proxy,
}
