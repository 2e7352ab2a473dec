//! The arguments of `wwwoffle get`.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use wwwoffle_config::Size;

use wwwoffle_api::fetch_spec::{MAX_DEPTH, PartClass};
use wwwoffle_api::scope::Scope;

/// The arguments of `get`.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags as they are typed")]
pub(crate) struct GetArgs {
    /// Fetch the pages again even if they are stored.
    #[arg(long)]
    pub(crate) refresh: bool,
    /// Follow links up to this depth, and fetch the sub-resources of all pages.
    #[arg(short = 'r', long = "recursive", value_name = "DEPTH",
        value_parser = clap::value_parser!(u16).range(0..=i64::from(MAX_DEPTH)))]
    pub(crate) depth: Option<u16>,
    /// Fetch nothing, and show what would be fetched: measured for stored pages, estimated for
    /// others.
    #[arg(long)]
    pub(crate) plan: bool,
    /// Print JSON: one object a line for each event.
    #[arg(long)]
    pub(crate) json: bool,
    /// Store the copies that web archives have, in place of the pages of the sites. The archives of
    /// [web-archives] are asked, and learn the URLs.
    #[arg(long, conflicts_with_all = ["refresh", "depth", "plan", "data", "upload"])]
    pub(crate) from_archive: bool,
    /// With --from-archive: the copies closest to this time, such as 2020-05-01 [default: the
    /// latest].
    #[arg(long, value_name = "TIME", requires = "from_archive", value_parser = super::exchange::moment)]
    pub(crate) at: Option<Timestamp>,
    #[command(flatten)]
    pub(crate) reach: RunLimitArgs,
    #[command(flatten)]
    pub(crate) with: PartFlags,
    #[command(flatten)]
    pub(crate) form: FormArgs,
    /// Also get all URLs in this file: a page, bookmarks or any text; - is standard input. Or those
    /// in the profile of Firefox or a browser like Chromium: its directory, places.sqlite, Bookmarks
    /// or History.
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) profile: ProfileArgs,
    /// The URLs to get; http if a URL has no protocol.
    #[arg(required_unless_present = "from", value_name = "URL")]
    pub(crate) urls: Vec<String>,
}

/// The URLs to take from the profile of a browser.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "With --from and the profile of a browser")]
pub(crate) struct ProfileArgs {
    /// Get the bookmarks, the newest first. This is the default.
    #[arg(long, requires = "from")]
    pub(crate) bookmarks: bool,
    /// Get the pages of the history, the most visited first.
    #[arg(long, requires = "from", conflicts_with = "bookmarks")]
    pub(crate) history: bool,
    /// Get only bookmarks made, or pages visited, since this time, such as 2026-11-01.
    #[arg(long, value_name = "TIME", requires = "from", value_parser = super::exchange::moment)]
    pub(crate) since: Option<Timestamp>,
    /// Get at most this many [default: 1000 of a history].
    #[arg(long, value_name = "COUNT", requires = "from")]
    pub(crate) most: Option<usize>,
}

impl ProfileArgs {
    /// Whether any of them was typed.
    pub(crate) fn is_any(&self) -> bool {
        self.bookmarks || self.history || self.since.is_some() || self.most.is_some()
    }
}

/// A form to send in place of a request for a page.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "To send a form or a file once, now or when online")]
pub(crate) struct FormArgs {
    /// Send this by POST: the text itself, the contents of @FILE, or standard input for @-.
    #[arg(long, value_name = "TEXT|@FILE", allow_hyphen_values = true,
        conflicts_with_all = ["upload", "refresh", "depth", "plan", "from"])]
    pub(crate) data: Option<String>,
    /// Send this file by PUT; - is standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["refresh", "depth", "plan", "from"])]
    pub(crate) upload: Option<PathBuf>,
    /// The media type of the data; by default that of a form, or application/octet-stream for a
    /// file.
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) media_type: Option<String>,
}

/// The limits of a recursive fetch.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "With --recursive")]
pub(crate) struct RunLimitArgs {
    /// The pages to follow links to: any, protocol, host, site, directory or a URL-SPECIFICATION.
    #[arg(long, value_name = "SCOPE", value_parser = Scope::parse, requires = "depth",
        default_value = "host")]
    pub(crate) within: Scope,
    /// Fetch at most this many pages, not counting their sub-resources.
    #[arg(long, value_name = "COUNT", requires = "depth",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pages: Option<u64>,
    /// Fetch at most this much in all, such as 200M.
    #[arg(long, value_name = "SIZE", requires = "depth", value_parser = super::fetch::size)]
    pub(crate) budget: Option<Size>,
    /// Stop after this many minutes.
    #[arg(long, value_name = "MINUTES", requires = "depth",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) minutes: Option<u64>,
    /// Ignore robots.txt and nofollow, by which a site asks programs not to fetch pages.
    #[arg(long, requires = "depth")]
    pub(crate) no_robots: bool,
}

/// The classes of sub-resources to fetch with a page, where they differ from the configuration.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Sub-resources of pages (by default as configured)")]
#[expect(clippy::struct_excessive_bools, reason = "flags as they are typed")]
pub(crate) struct PartFlags {
    /// Also fetch what the data saver leaves out.
    #[arg(long)]
    pub(crate) whole: bool,
    /// Fetch style sheets.
    #[arg(long)]
    stylesheets: bool,
    /// Fetch images.
    #[arg(long)]
    images: bool,
    /// Fetch icons.
    #[arg(long)]
    icons: bool,
    /// Fetch fonts.
    #[arg(long)]
    fonts: bool,
    /// Fetch scripts.
    #[arg(long)]
    scripts: bool,
    /// Fetch frames.
    #[arg(long)]
    frames: bool,
    /// Fetch inline frames.
    #[arg(long)]
    iframes: bool,
    /// Fetch audio and video.
    #[arg(long)]
    media: bool,
    /// Fetch embedded objects.
    #[arg(long)]
    objects: bool,
    /// Do not fetch these, such as images,fonts.
    #[arg(long, value_name = "CLASS", value_delimiter = ',', value_parser = part)]
    without: Vec<PartClass>,
}

impl PartFlags {
    /// Returns the named classes, and whether each is to be fetched.
    pub(crate) fn named(&self) -> impl Iterator<Item = (PartClass, bool)> {
        let flags = [
            (PartClass::Stylesheets, self.stylesheets),
            (PartClass::Images, self.images),
            (PartClass::Icons, self.icons),
            (PartClass::Fonts, self.fonts),
            (PartClass::Scripts, self.scripts),
            (PartClass::Frames, self.frames),
            (PartClass::Iframes, self.iframes),
            (PartClass::Media, self.media),
            (PartClass::Objects, self.objects),
        ];
        let with = flags.into_iter().filter(|(_, is_said)| *is_said);
        with.chain(self.without.iter().map(|class| (*class, false)))
    }
}

fn part(name: &str) -> Result<PartClass, String> {
    PartClass::named(name).ok_or_else(|| {
        let all: Vec<_> = PartClass::ALL.iter().map(|class| class.as_str()).collect();
        format!("the classes are {}", all.join(", "))
    })
}
