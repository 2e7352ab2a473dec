//! The arguments of `wwwoffle history`.

use clap::Args;
use jiff::Timestamp;

use crate::base::owner::Owner;

/// The arguments of `history`.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Restore the version stored at this time (see --json); the current copy becomes a version.
    #[arg(long, value_name = "TIME", conflicts_with = "remove")]
    pub(crate) restore: Option<Timestamp>,
    /// Remove the older version stored at this time.
    #[arg(long, value_name = "TIME")]
    pub(crate) remove: Option<Timestamp>,
    /// The owner: local, user:NAME or client:ADDRESS; if it has no entry, the public one is used.
    #[arg(long, default_value = "local", value_name = "OWNER")]
    pub(crate) owner: Owner,
    /// The page, in any spelling.
    #[arg(value_name = "URL")]
    pub(crate) url: String,
}
