//! The arguments of `wwwoffle fetch` and `wwwoffle queue`.

use std::path::PathBuf;

use clap::Args;
use wwwoffle_config::{ParseSizeError, Size};

/// The arguments of `fetch`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Fetch {
    /// Show the progress, and return when every request is done or held back for a long time.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Fetch at most this much, such as 200M; the rest waits for the next fetch.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) budget: Option<Size>,
    /// Fetch nothing, and show what would be fetched, how much it is, and when it may be.
    #[arg(long, conflicts_with_all = ["wait", "budget"])]
    pub(crate) plan: bool,
    /// Fetch the requests of this bundle, made by `wwwoffle export --queue`, and add the responses
    /// to it. They are stored in the spool FILE.spool first, or in the one named by --spool, on
    /// which no daemon may run.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["wait", "budget", "plan"])]
    pub(crate) bundle: Option<PathBuf>,
    /// Print JSON; with --wait one object a line for each event.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The arguments of `queue`.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "words of which one is typed")]
pub(crate) struct QueueArgs {
    /// Print JSON.
    #[arg(long, conflicts_with = "urls")]
    pub(crate) json: bool,
    /// Sort the list by turn (what will be fetched first), age (the oldest first) or url.
    #[arg(long, value_name = "ORDER", default_value = "turn", conflicts_with = "priority",
        value_parser = ["turn", "age", "url"])]
    pub(crate) sort: String,
    /// Fetch these URLs before all others.
    #[arg(long, requires = "urls", group = "priority")]
    pub(crate) first: bool,
    /// Fetch these URLs in the usual order again.
    #[arg(long, requires = "urls", group = "priority")]
    pub(crate) usual: bool,
    /// Fetch these URLs after all others.
    #[arg(long, requires = "urls", group = "priority")]
    pub(crate) last: bool,
    /// Remove these URLs from the queue, with all their spellings.
    #[arg(long, group = "priority")]
    pub(crate) remove: bool,
    /// Retry these URLs; without URLs, all that have failed.
    #[arg(long, group = "priority")]
    pub(crate) retry: bool,
    /// With --remove: the whole queue. With --retry: all that have failed.
    #[arg(long, conflicts_with_all = ["urls", "json", "first", "usual", "last"], requires = "priority")]
    pub(crate) all: bool,
    /// URLs in the queue, in any spelling.
    #[arg(value_name = "URL", requires = "priority")]
    pub(crate) urls: Vec<String>,
}

/// Parses a size as the configuration writes it, or with only the letter of its unit: `200M`.
pub(super) fn size(text: &str) -> Result<Size, ParseSizeError> {
    text.parse().or_else(|error| match text.as_bytes() {
        [.., b'k' | b'M' | b'G' | b'T'] => format!("{text}B").parse(),
        [rest @ .., b'K'] => format!("{}kB", String::from_utf8_lossy(rest)).parse(),
        _ => Err(error),
    })
}

/// The arguments of `usage`.
#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// List this number of days, up to today.
    #[arg(long, value_name = "NUMBER", default_value_t = 31,
        value_parser = clap::value_parser!(u32).range(1..=400))]
    pub(crate) days: u32,
    /// Print comma-separated values, without the quotas.
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
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
