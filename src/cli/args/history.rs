//! What is typed after `wwwoffle history`.

use clap::Args;
use jiff::Timestamp;

use crate::base::owner::Owner;

/// What of the history of a page is to be seen, or done.
#[derive(Debug, Args)]
pub(crate) struct History {
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Make the version that was stored then, as --json tells, what is kept; that becomes a version.
    #[arg(long, value_name = "TIME", conflicts_with = "remove")]
    pub(crate) restore: Option<Timestamp>,
    /// Remove the older version that was stored then.
    #[arg(long, value_name = "TIME")]
    pub(crate) remove: Option<Timestamp>,
    /// Whose answer: local, user:NAME or client:ADDRESS. Where there is none, it is everyone's.
    #[arg(long, default_value = "local", value_name = "OWNER")]
    pub(crate) owner: Owner,
    /// The page, in any spelling.
    #[arg(value_name = "URL")]
    pub(crate) url: String,
}
