//! The arguments of `wwwoffle import` and `wwwoffle export`.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use wwwoffle_config::{Size, UrlSpec};
use wwwoffle_index::MAX_SESSIONS;

use super::fetch::size;
use crate::base::owner::Owner;

/// The arguments of `import`.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that is typed or not")]
pub(crate) struct ImportArgs {
    /// Replace stored responses, even by older ones.
    #[arg(long)]
    pub(crate) replace: bool,
    /// Store nothing, and show what would be stored.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Store everything for everyone, without cookies, even responses that may be meant for one
    /// person.
    #[arg(long, conflicts_with = "owner")]
    pub(crate) everyone: bool,
    /// The owner of responses meant for one person: local, user:NAME or client:ADDRESS.
    #[arg(long, default_value = "local", value_name = "OWNER")]
    pub(crate) owner: Owner,
    /// Skip bodies longer than this, such as 200M [default: 4 GiB].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_size: Option<Size>,
    /// The scheme of the URLs in a folder of plain files.
    #[arg(long, value_name = "SCHEME", default_value = "https", value_parser = ["http", "https"])]
    pub(crate) scheme: String,
    /// Print JSON, one object a line.
    #[arg(long)]
    pub(crate) json: bool,
    /// The archives: files, or the folder of a spool or a mirror; - is standard input.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

/// The arguments of `export`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) chosen: ExportChoice,
    /// Export the queue as a bundle instead, for `wwwoffle fetch --bundle` on an online machine.
    /// Forms and requests with a cookie or a login are left out.
    #[arg(long, conflicts_with_all = ["host", "since", "until", "max_size", "url_spec", "owner", "search", "session", "page", "collection", "no_sub_resources", "versions", "unchanged"])]
    pub(crate) queue: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// In a folder, leave pages as they were received: links lead to the web, and scripts stay.
    #[arg(long)]
    pub(crate) unchanged: bool,
    /// The archive: FILE.warc.gz, FILE.wacz, or a folder to browse if the name ends with /; or
    /// FILE.html for one page with its pictures and styles; - is standard output, in WARC.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// The entries to export.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExportChoice {
    /// Only entries of this host, such as example.org or example.org:8080 (without the default
    /// port); may be repeated.
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<String>,
    /// Only entries stored at this time or later: 2026-11-01, or 2026-11-01T10:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) since: Option<Timestamp>,
    /// Only entries stored before this time.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) until: Option<Timestamp>,
    /// Only bodies of at most this length, such as 200M.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_size: Option<Size>,
    /// Only URLs that match this URL-SPECIFICATION, such as *://*.example.org/*; may be repeated.
    #[arg(long, value_name = "SPEC")]
    pub(crate) url_spec: Vec<UrlSpec>,
    /// Also the personal entries of this owner: local, user:NAME or client:ADDRESS.
    #[arg(long, value_name = "OWNER")]
    pub(crate) owner: Option<Owner>,
    /// Only pages with these words, as `wwwoffle search` finds them.
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<String>,
    /// Only entries fetched in one online session: latest, or a number of sessions back, such as 1.
    #[arg(long, value_name = "N", value_parser = session)]
    pub(crate) session: Option<usize>,
    /// Only this page.
    #[arg(long, value_name = "URL", conflicts_with_all = ["host", "since", "until", "url_spec", "search", "session"])]
    pub(crate) page: Option<String>,
    /// Only the pages, sites and searches of this collection: its name or its id.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["search", "session", "page"])]
    pub(crate) collection: Option<String>,
    /// Omit images, styles, fonts and scripts of matching pages unless they match themselves.
    #[arg(long)]
    pub(crate) no_sub_resources: bool,
    /// Also export the older versions.
    #[arg(long)]
    pub(crate) versions: bool,
}

/// Parses the number of an online session, counted back from the latest.
fn session(text: &str) -> Result<usize, &'static str> {
    let back = if text == "latest" { Ok(0) } else { text.parse() };
    back.ok().filter(|back| *back < MAX_SESSIONS).ok_or("expected latest, or a number from 0 to 7")
}

/// Parses a time, or a day in the time zone of this machine.
pub(super) fn moment(text: &str) -> Result<Timestamp, &'static str> {
    let day = |text: &str| {
        let day: Date = text.parse().ok()?;
        day.to_zoned(TimeZone::system()).ok().map(|time| time.timestamp())
    };
    let parsed = text.parse().ok().or_else(|| day(text));
    parsed.ok_or("expected a day, as 2026-11-01, or a time, as 2026-11-01T10:00:00Z")
}
