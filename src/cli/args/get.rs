//! What is typed after `wwwoffle get`.

use std::path::PathBuf;

use clap::Args;
use wwwoffle_config::Size;

use crate::api::aim::{MAX_DEPTH, PartClass};
use crate::api::scope::Scope;

/// What to get, and how far to go.
#[derive(Clone, Debug, Args)]
pub(crate) struct GetArgs {
    /// Even when the spool has them.
    #[arg(long)]
    pub(crate) refresh: bool,
    /// Follow links, so many one after the other, and fetch the parts of all pages.
    #[arg(short = 'r', long = "recursive", value_name = "DEPTH",
        value_parser = clap::value_parser!(u16).range(0..=i64::from(MAX_DEPTH)))]
    pub(crate) depth: Option<u16>,
    /// Fetch nothing, and tell what would come: measured where something is kept, estimated elsewhere.
    #[arg(long)]
    pub(crate) plan: bool,
    /// As JSON: one object a line for each event.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reach: Reach,
    #[command(flatten)]
    pub(crate) with: With,
    /// Get also all that this file links to or names: a page, bookmarks, any text; - is standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// What to get; without a protocol it is http.
    #[arg(required_unless_present = "from", value_name = "URL")]
    pub(crate) urls: Vec<String>,
}

/// How far links are followed.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "With --recursive")]
pub(crate) struct Reach {
    /// Which pages belong to it: any, protocol, host, site, directory or a URL-SPECIFICATION.
    #[arg(long, value_name = "SCOPE", value_parser = Scope::parse, requires = "depth",
        default_value = "host")]
    pub(crate) within: Scope,
    /// No more pages than this; their parts do not count.
    #[arg(long, value_name = "COUNT", requires = "depth",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pages: Option<u64>,
    /// No more than this in all, such as 200M.
    #[arg(long, value_name = "SIZE", requires = "depth", value_parser = super::fetch::size)]
    pub(crate) budget: Option<Size>,
    /// For no longer than this.
    #[arg(long, value_name = "MINUTES", requires = "depth",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) minutes: Option<u64>,
    /// Even what the site asks programs not to get (robots.txt, nofollow).
    #[arg(long, requires = "depth")]
    pub(crate) no_robots: bool,
}

/// Which parts come with a page, where it is not the configuration that says so.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Parts of pages (without any, as the configuration says)")]
#[expect(clippy::struct_excessive_bools, reason = "flags as they are typed")]
pub(crate) struct With {
    /// With style sheets.
    #[arg(long)]
    stylesheets: bool,
    /// With images.
    #[arg(long)]
    images: bool,
    /// With icons.
    #[arg(long)]
    icons: bool,
    /// With fonts.
    #[arg(long)]
    fonts: bool,
    /// With scripts.
    #[arg(long)]
    scripts: bool,
    /// With frames.
    #[arg(long)]
    frames: bool,
    /// With frames within pages.
    #[arg(long)]
    iframes: bool,
    /// With sound and film.
    #[arg(long)]
    media: bool,
    /// With objects.
    #[arg(long)]
    objects: bool,
    /// Without these, such as images,fonts.
    #[arg(long, value_name = "CLASS", value_delimiter = ',', value_parser = part)]
    without: Vec<PartClass>,
}

impl With {
    /// The classes that were named, and whether they are wanted.
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
