//! What is typed after `wwwoffle fetch`.

use std::path::PathBuf;

use clap::Args;
use wwwoffle_config::{ParseSizeError, Size};

/// How to work the queue off.
#[derive(Clone, Debug, Args)]
pub(crate) struct Fetch {
    /// Show the progress, and return when all is settled or held back for long.
    #[arg(long)]
    pub(crate) wait: bool,
    /// No more than this this time, such as 200M; what is left waits for the next time.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) budget: Option<Size>,
    /// Fetch nothing, and tell what would come, how much of it, and when it may.
    #[arg(long, conflicts_with_all = ["wait", "budget"])]
    pub(crate) plan: bool,
    /// Fetch what this bundle asks for, made by `wwwoffle export --queue`, and put the answers into it. A spool
    /// beside it, FILE.spool, takes them meanwhile, or the one that --spool names; no daemon may run on that.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["wait", "budget", "plan"])]
    pub(crate) bundle: Option<PathBuf>,
    /// As JSON; with --wait one object a line for each event.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to tell of the queue, or what to do to which requests.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "words of which one is typed")]
pub(crate) struct QueueArgs {
    /// As JSON.
    #[arg(long, conflicts_with = "urls")]
    pub(crate) json: bool,
    /// Fetch these URLs before all others.
    #[arg(long, requires = "urls", group = "priority")]
    pub(crate) first: bool,
    /// Fetch these URLs in the usual order again.
    #[arg(long, requires = "urls", group = "priority")]
    pub(crate) usual: bool,
    /// Fetch these URLs after all others.
    #[arg(long, requires = "urls", group = "priority")]
    pub(crate) last: bool,
    /// Take these URLs off the queue.
    #[arg(long, group = "priority")]
    pub(crate) remove: bool,
    /// Try these URLs again; without any, all that have failed.
    #[arg(long, group = "priority")]
    pub(crate) retry: bool,
    /// With --remove and --retry: everything that is on the queue.
    #[arg(long, conflicts_with_all = ["urls", "json", "first", "usual", "last"], requires = "priority")]
    pub(crate) all: bool,
    /// What is on the queue, in any spelling.
    #[arg(value_name = "URL", requires = "priority")]
    pub(crate) urls: Vec<String>,
}

/// Reads a size as the configuration has it, or with the letter of its unit alone: `200M`.
pub(super) fn size(text: &str) -> Result<Size, ParseSizeError> {
    text.parse().or_else(|error| match text.as_bytes() {
        [.., b'k' | b'M' | b'G' | b'T'] => format!("{text}B").parse(),
        [rest @ .., b'K'] => format!("{}kB", String::from_utf8_lossy(rest)).parse(),
        _ => Err(error),
    })
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, want) in [
            ("200M", Some(200_000_000)),
            ("200MB", Some(200_000_000)),
            ("64 KiB", Some(65_536)),
            ("5k", Some(5_000)),
            ("5K", Some(5_000)),
            ("1 G", Some(1_000_000_000)),
            ("much", None),
            ("M", None),
            ("-5M", None),
            ("5Q", None),
        ] {
            assert_eq!(size(text).ok().map(wwwoffle_config::Size::bytes), want, "{text}");
        }
    }
}
