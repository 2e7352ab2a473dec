//! What is typed after `wwwoffle import` and `wwwoffle export`.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use wwwoffle_config::{Size, UrlSpec};
use wwwoffle_index::MAX_SESSIONS;

use super::fetch::size;
use crate::base::owner::Owner;

/// What to take in, and how.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that is typed or not")]
pub(crate) struct Import {
    /// What is kept gives way to what comes, however old that is.
    #[arg(long)]
    pub(crate) replace: bool,
    /// Keep nothing, and tell what would be kept.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Keep for everyone, and without cookies, also what may be meant for one person.
    #[arg(long, conflicts_with = "owner")]
    pub(crate) everyone: bool,
    /// For whom that is kept: local, user:NAME or client:ADDRESS.
    #[arg(long, default_value = "local", value_name = "OWNER")]
    pub(crate) owner: Owner,
    /// Take no longer bodies than this, such as 200M; without it 4 GiB.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_size: Option<Size>,
    /// What the URLs of a folder of plain files begin with: http or https.
    #[arg(long, value_name = "SCHEME", default_value = "https", value_parser = ["http", "https"])]
    pub(crate) scheme: String,
    /// As JSON, one object a line.
    #[arg(long)]
    pub(crate) json: bool,
    /// The archives: files, or the folder of a spool or a mirror; - is standard input.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

/// What to write out, and where.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that is typed or not")]
pub(crate) struct Export {
    /// Only what is of this host, with its port if that is not the usual one; may be given more than once.
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<String>,
    /// Only what came then or later: 2026-11-01, or 2026-11-01T10:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) since: Option<Timestamp>,
    /// Only what came before.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) until: Option<Timestamp>,
    /// Only what is no longer than this, such as 200M.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_size: Option<Size>,
    /// Only what matches this URL-SPECIFICATION, such as *://*.example.org/*; may be given more than once.
    #[arg(long, value_name = "SPEC")]
    pub(crate) url_spec: Vec<UrlSpec>,
    /// Also what is kept for this owner alone: local, user:NAME or client:ADDRESS.
    #[arg(long, value_name = "OWNER")]
    pub(crate) owner: Option<Owner>,
    /// Only pages with these words, as `wwwoffle search` finds them.
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<String>,
    /// Only what was fetched in one time online: latest, or so many before, such as 1.
    #[arg(long, value_name = "N", value_parser = session)]
    pub(crate) session: Option<usize>,
    /// Without the images, styles, fonts and scripts of matching pages that do not match themselves.
    #[arg(long)]
    pub(crate) no_sub_resources: bool,
    /// Also the older versions that are kept.
    #[arg(long)]
    pub(crate) versions: bool,
    /// In place of what is kept, the requests that wait: a bundle, for `wwwoffle fetch --bundle` where there is
    /// a line. Those with a cookie or a login stay at home, and so do forms.
    #[arg(long, conflicts_with_all = ["host", "since", "until", "max_size", "url_spec", "owner", "search", "session", "no_sub_resources", "versions"])]
    pub(crate) queue: bool,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// The archive: its end says whether it is .warc.gz or .wacz, or a folder of plain files that ends with /; - is
    /// standard output, in WARC.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Reads which time online is meant, counted back from the last.
fn session(text: &str) -> Result<usize, &'static str> {
    let back = if text == "latest" { Ok(0) } else { text.parse() };
    back.ok().filter(|back| *back < MAX_SESSIONS).ok_or("expected latest, or a number from 0 to 7")
}

/// Reads a time, or a day by the clocks of this machine.
fn moment(text: &str) -> Result<Timestamp, &'static str> {
    let day = |text: &str| {
        let day: Date = text.parse().ok()?;
        day.to_zoned(TimeZone::system()).ok().map(|time| time.timestamp())
    };
    let parsed = text.parse().ok().or_else(|| day(text));
    parsed.ok_or("expected a day, as 2026-11-01, or a time, as 2026-11-01T10:00:00Z")
}
