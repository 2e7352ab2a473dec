//! The arguments of `wwwoffle purge`.

use clap::Args;

/// The arguments of `purge`.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Purge {
    /// Remove nothing, and show which entries would be removed and why.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
