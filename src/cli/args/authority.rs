//! The arguments of `wwwoffle ca`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The subcommands of `ca`.
#[derive(Debug, Subcommand)]
pub(crate) enum AuthorityVerb {
    /// Show the name, fingerprint and dates of the authority.
    Show,
    /// Print the certificate, to be imported into a browser or system.
    Export {
        /// Print it in DER, the binary form, instead of PEM.
        #[arg(long)]
        der: bool,
    },
    /// Make the system or the browsers of this user trust the authority.
    Install(Install),
    /// Remove it, and earlier ones, from the system and from the browsers of this user.
    Uninstall(Uninstall),
    /// Create a new authority, and keep the old one beside it.
    Renew,
}

/// The arguments of `ca install`.
#[derive(Debug, Args)]
pub(crate) struct Install {
    /// Install it in this user's browsers (Chromium and every Firefox profile) instead of the
    /// system.
    #[arg(long)]
    pub(crate) user: bool,
    #[command(flatten)]
    pub(crate) what: TrustArgs,
}

/// The arguments of `ca uninstall`.
#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    /// Remove every authority that wwwoffle has made for any spool, recognized by its name.
    #[arg(long, conflicts_with = "certificate")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) what: TrustArgs,
}

/// The arguments that `install` and `uninstall` share.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Only print the commands that would do it.
    #[arg(long, visible_alias = "dry-run")]
    pub(crate) print: bool,
    /// Use this PEM file instead of the certificate in the spool, for the spool of another user.
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,
    /// The root directory of the system, for images and tests.
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub(crate) root: PathBuf,
}
