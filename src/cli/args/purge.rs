//! What is typed after `wwwoffle purge`.

use clap::Args;

/// How to purge.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Purge {
    /// Remove nothing, and tell what would go and why.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
