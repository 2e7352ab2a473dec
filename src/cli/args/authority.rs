//! What is typed after `wwwoffle ca`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What to do with the certificate authority.
#[derive(Debug, Subcommand)]
pub(crate) enum AuthorityVerb {
    /// Show its name, fingerprint and dates.
    Show,
    /// Print its certificate, to be imported by a browser or system.
    Export {
        /// In DER, the binary form, in place of PEM.
        #[arg(long)]
        der: bool,
    },
    /// Have the system or the browsers of this user trust it.
    Install(Install),
    /// Take it out of the system and of the browsers of this user, and those before it too.
    Uninstall(Uninstall),
    /// Make a new one, and keep the old one beside it.
    Renew,
}

/// Where the authority is to be trusted.
#[derive(Debug, Args)]
pub(crate) struct Install {
    /// In the browsers of this user, Chromium and every profile of Firefox, in place of the system.
    #[arg(long)]
    pub(crate) user: bool,
    #[command(flatten)]
    pub(crate) what: Trusted,
}

/// What is to be trusted no more.
#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    /// Every authority that wwwoffle has made for any spool, to judge by their names.
    #[arg(long, conflicts_with = "certificate")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) what: Trusted,
}

/// What is common to both.
#[derive(Debug, Args)]
pub(crate) struct Trusted {
    /// Print the commands that would do it, and do nothing.
    #[arg(long, visible_alias = "dry-run")]
    pub(crate) print: bool,
    /// The certificate in PEM, in place of that in the spool: for a spool of another user.
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,
    /// The directory that holds the system, for images and tests.
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub(crate) root: PathBuf,
}
