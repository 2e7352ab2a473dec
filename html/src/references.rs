//! What a document refers to: the parts of a page, and where it leads.
//!
//! No I/O, no clock, no daemon. [`Kind::of`] says how a body is read; a [`Finder`] takes the body in
//! pieces, decoded from its content coding, and comes to [`Found`]: every reference as an absolute URL
//! with its [`Class`], in the order of the document, each once. However the body is cut into pieces,
//! the same is found.
//!
//! ```text
//! bytes ─ charset: WHATWG ─ text ─┬─ html (lol_html) ─┬─ element: what a tag refers to ─┬─ gather
//!                                 ├─ xml (quick-xml) ─┘   picture, srcset, sizes        │  absolute,
//!                                 │    └─ feed, sitemap ───────────────────────────────┤  each once,
//!                                 ├─ css (cssparser) ──────────────────────────────────┤  bounded
//!                                 ├─ script: imports that stand in the text ────────────┤
//!                                 └─ manifest ──────────────────────────────────────────┘
//! ```
//!
//! # What is told
//!
//! A reference that a rule of this module leaves out is told all the same, with its reason
//! ([`LeftOut`]): an image of one pixel, the candidates that a browser would not take. Whoever wants
//! it anyway takes it. What no browser can read as a URL is counted ([`Found::refused`]). References
//! into the document itself (`#top`) and under schemes that name nothing to fetch (`data:`,
//! `javascript:`, `mailto:`) are no links.
//!
//! # Bounds
//!
//! [`MAX_LINKS`] links and [`MAX_LINK_BYTES`] bytes of them, URLs of [`wwwoffle_url::MAX_LEN`] bytes,
//! [`MAX_NESTING`] documents inside one another and [`MAX_INNER`] altogether, [`MAX_PARSER_MEMORY`] bytes for a parser and
//! [`MAX_HELD`] bytes of text that cannot be read before more has come. At a bound the rest is not read
//! and [`Found::cut`] says which it was; what was found until then is told.

pub mod charset;
pub(crate) mod css;
pub(crate) mod element;
pub mod entity;
mod feed;
mod finder;
mod gather;
mod header;
mod html;
mod image;
mod kind;
pub(crate) mod link;
mod manifest;
mod media;
mod page;
mod script;
mod squeeze;
pub(crate) mod srcset;
#[cfg(test)]
mod tests;
mod xml;

pub use finder::Finder;
pub(crate) use gather::with_query_encoded;
pub use kind::{HEAD, Kind};

/// How many links of one document are told.
pub const MAX_LINKS: usize = 50_000;

/// Bytes of all URLs told of one document together.
pub const MAX_LINK_BYTES: usize = 8 << 20;

/// How deep documents inside a document are read: `srcdoc` and `noscript`.
pub const MAX_NESTING: u32 = 4;

/// How many documents inside one document are read, whatever their depth: each needs a parser.
pub const MAX_INNER: usize = 2_000;

/// Bytes of memory that the parser of a document may take.
pub const MAX_PARSER_MEMORY: usize = 16 << 20;

/// Bytes of text held until the rest of a rule, a tag or a manifest has come.
pub const MAX_HELD: usize = 4 << 20;

/// Bytes of a title that are told.
pub const MAX_TITLE: usize = 1024;

/// As what a document refers to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// A style sheet, also by `@import`.
    Stylesheet,
    /// An image: `img`, CSS `url()`, a poster, an image of inline SVG.
    Image,
    /// The icon of a page or of its manifest.
    Icon,
    /// A font: `@font-face`, or preloaded as one.
    Font,
    /// A script, a module or a worker.
    Script,
    /// `frame`.
    Frame,
    /// `iframe`.
    IFrame,
    /// Sound and moving pictures, their tracks of text, and enclosures of feeds.
    Media,
    /// `object` and `embed`.
    Object,
    /// The manifest of an application.
    Manifest,
    /// What scripts will ask for: preloaded as `fetch`.
    Data,
    /// The image by which others show this page (Open Graph, Twitter).
    Preview,
    /// A feed of this page or site.
    Feed,
    /// A list of a site's pages, named by another one.
    Sitemap,
    /// Where the page goes by itself (`meta` refresh).
    Refresh,
    /// Where a reader may go: `a`, `area`, items of feeds, entries of sitemaps.
    Page,
}

impl Class {
    /// All classes, in the order of their names in the options.
    pub const ALL: [Self; 16] = [
        Self::Stylesheet,
        Self::Image,
        Self::Icon,
        Self::Font,
        Self::Script,
        Self::Frame,
        Self::IFrame,
        Self::Media,
        Self::Object,
        Self::Manifest,
        Self::Data,
        Self::Preview,
        Self::Feed,
        Self::Sitemap,
        Self::Refresh,
        Self::Page,
    ];

    /// A word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stylesheet => "stylesheet",
            Self::Image => "image",
            Self::Icon => "icon",
            Self::Font => "font",
            Self::Script => "script",
            Self::Frame => "frame",
            Self::IFrame => "iframe",
            Self::Media => "media",
            Self::Object => "object",
            Self::Manifest => "manifest",
            Self::Data => "data",
            Self::Preview => "preview",
            Self::Feed => "feed",
            Self::Sitemap => "sitemap",
            Self::Refresh => "refresh",
            Self::Page => "page",
        }
    }

    /// The class with this [name](Self::name).
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }

    /// What a file of this name is, by its ending.
    #[must_use]
    pub fn of_name(url: &str) -> Option<Self> {
        Some(match kind::extension(url).as_str() {
            "css" => Self::Stylesheet,
            "js" | "mjs" => Self::Script,
            "png" | "jpg" | "jpeg" | "gif" | "webp" | "avif" | "svg" | "bmp" | "apng" => {
                Self::Image
            }
            "ico" => Self::Icon,
            "woff" | "woff2" | "ttf" | "otf" | "eot" => Self::Font,
            "mp4" | "webm" | "ogv" | "ogg" | "oga" | "mp3" | "m4a" | "opus" | "wav" | "flac"
            | "vtt" => Self::Media,
            "json" | "wasm" => Self::Data,
            "webmanifest" => Self::Manifest,
            _ => return None,
        })
    }

    /// Whether a page is shown with it, so that it belongs to the page; the others are where a page
    /// leads.
    #[must_use]
    pub const fn is_part(self) -> bool {
        !matches!(self, Self::Preview | Self::Feed | Self::Sitemap | Self::Refresh | Self::Page)
    }
}

/// Why a reference is left out, unless it is wanted all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeftOut {
    /// An image or a frame of at most one pixel: it shows nothing and counts readers.
    OnePixel,
    /// One of several candidates, of which a browser takes another one.
    NotTaken,
    /// Of a type that browsers do not show.
    Unsupported,
    /// A hint, or an interface for programs (`preconnect`, `pingback`): nothing that is shown.
    Service,
    /// Nothing refers to it; browsers ask for it by themselves (`/favicon.ico`).
    Implied,
    /// Under a protocol that is not fetched, as `ftp`.
    Protocol,
    /// In a `template`, which is not shown unless a script makes something of it.
    Inert,
}

impl LeftOut {
    /// The reason in words, to follow "left out: ".
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::OnePixel => "of one pixel only",
            Self::NotTaken => "a browser takes another candidate",
            Self::Unsupported => "of a type that browsers do not show",
            Self::Service => "not for readers",
            Self::Implied => "no page refers to it",
            Self::Protocol => "its protocol is not fetched",
            Self::Inert => "in a template for scripts",
        }
    }
}

/// A reference of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The absolute URL as a browser would send it, without fragment: `http`, `https`, or left out.
    pub url: String,
    /// As what it is referred to. The same URL may be there once for each class.
    pub class: Class,
    /// Every reference to it says `nofollow`.
    pub nofollow: bool,
    /// Why it need not be fetched. `None` when any of the references to it is to be followed.
    pub left_out: Option<LeftOut>,
}

/// Why a document was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cut {
    /// More than [`MAX_LINKS`] links, or more than [`MAX_LINK_BYTES`] bytes of them.
    Links,
    /// A tag, rule or manifest needs more than [`MAX_PARSER_MEMORY`] or [`MAX_HELD`].
    Memory,
    /// Documents or blocks are nested deeper than is read, or there are more of them.
    Nesting,
    /// It is not what it says to be, from some place on.
    Malformed,
}

impl Cut {
    /// The reason in words, to follow "not read to its end: ".
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Links => "it has too many links",
            Self::Memory => "one piece of it is too long",
            Self::Nesting => "it is nested too deep",
            Self::Malformed => "it is malformed",
        }
    }
}

/// What a document refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// In the order of the document, each URL once for each class.
    pub links: Vec<Link>,
    /// How many references no browser can read as a URL, or are too long.
    pub refused: usize,
    /// The first title, its blanks collapsed, at most [`MAX_TITLE`] bytes.
    pub title: Option<String>,
    /// Name of the encoding by which it was read, after the WHATWG; empty when nothing was.
    pub charset: &'static str,
    /// `<meta name="robots">` asks that its links not be followed.
    pub nofollow: bool,
    /// `<meta name="robots">` asks that it not be listed.
    pub noindex: bool,
    /// The URL that `<link rel=canonical>` or a `Link` field names for the document (RFC 6596); the first.
    pub canonical: Option<String>,
    /// Why not all of it was read; the first reason.
    pub cut: Option<Cut>,
}

impl Found {
    /// Whether there may be more links than were found.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// The parts of the page that are to be had: not left out.
    pub fn parts(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(|link| link.class.is_part() && link.left_out.is_none())
    }
}

/// For which browser candidates are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    /// Width of the window in CSS pixels.
    pub width: u32,
    /// Height of the window in CSS pixels.
    pub height: u32,
    /// Pixels of the screen for 100 CSS pixels in a row.
    pub density_percent: u32,
    /// All candidates of a `srcset`, `picture` or `image-set()` are to be had.
    pub all_candidates: bool,
}

impl Default for Want {
    /// A laptop.
    fn default() -> Self {
        Self { width: 1366, height: 768, density_percent: 100, all_candidates: false }
    }
}

/// The last place up to `at` between two characters.
fn boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
