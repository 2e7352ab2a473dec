//! Finds the references of a document: its sub-resources and its links.
//!
//! No I/O, no clock, no daemon. [`BodyKind::of`] determines how a body is parsed. A [`Finder`] takes
//! the body in pieces, decoded from its content coding, and returns [`References`]: every reference
//! as an absolute URL with its [`Class`], in document order and without duplicates. The result does
//! not depend on how the body is cut into pieces.
//!
//! ```text
//! bytes ─ charset: WHATWG ─ text ─┬─ html (lol_html) ─┬─ element: references of a tag ──┬─ gather
//!                                 ├─ xml (quick-xml) ─┘   picture, srcset, sizes        │  absolute,
//!                                 │    └─ feed, sitemap ───────────────────────────────┤  each once,
//!                                 ├─ css (cssparser) ──────────────────────────────────┤  bounded
//!                                 ├─ script: literal imports ─────────────────────────────┤
//!                                 └─ manifest ──────────────────────────────────────────┘
//! ```
//!
//! # Omitted references
//!
//! References that are normally not fetched, such as images of one pixel or rejected candidates,
//! are still reported, with the reason ([`Omission`]). The caller may fetch them anyway. References
//! that are not valid URLs are counted ([`References::refused`]). References into the document
//! itself (`#top`) and schemes that cannot be fetched (`data:`, `javascript:`, `mailto:`) are not
//! links.
//!
//! # Bounds
//!
//! At most [`MAX_LINKS`] links with [`MAX_LINK_BYTES`] bytes, URLs of [`wwwoffle_url::MAX_LEN`]
//! bytes, [`MAX_NESTING`] levels of inner documents and [`MAX_INNER`] inner documents in total,
//! [`MAX_PARSER_MEMORY`] bytes per parser, and [`MAX_HELD`] bytes of incomplete text. At a bound
//! parsing stops, or continues without the part that is too large. [`References::cut`] names the
//! first bound that was reached, and the references found are returned.

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
pub use header::{FieldLink, field_links};
pub use kind::{BodyKind, HEAD};

/// The maximum number of links of one document.
pub const MAX_LINKS: usize = 50_000;

/// The maximum length of all URLs of one document together, in bytes.
pub const MAX_LINK_BYTES: usize = 8 << 20;

/// The largest depth at which inner documents (`srcdoc` and `noscript`) are parsed.
pub const MAX_NESTING: u32 = 4;

/// The maximum number of inner documents of one document that are parsed, at any depth. Each needs
/// a parser.
pub const MAX_INNER: usize = 2_000;

/// The most memory for the parser of a document, in bytes.
pub const MAX_PARSER_MEMORY: usize = 16 << 20;

/// The most text buffered until a rule, a tag or a manifest is complete, in bytes.
pub const MAX_HELD: usize = 4 << 20;

/// The longest title, in bytes.
pub const MAX_TITLE: usize = 1024;

wwwoffle_url::named! {
    /// The use of a reference in a document.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Class {
        /// A style sheet, including `@import`.
        Stylesheet = "stylesheet",
        /// An image: `img`, CSS `url()`, a poster, an image in inline SVG.
        Image = "image",
        /// The icon of a page or of its manifest.
        Icon = "icon",
        /// A font: `@font-face`, or a preloaded font.
        Font = "font",
        /// A script, a module or a worker.
        Script = "script",
        /// `frame`.
        Frame = "frame",
        /// `iframe`.
        IFrame = "iframe",
        /// Audio and video, their text tracks, and enclosures of feeds.
        Media = "media",
        /// `object` and `embed`.
        Object = "object",
        /// A web app manifest.
        Manifest = "manifest",
        /// Data for scripts: preloaded as `fetch`.
        Data = "data",
        /// The preview image for other sites (Open Graph, Twitter).
        Preview = "preview",
        /// A feed of this page or site.
        Feed = "feed",
        /// A sitemap that another sitemap lists.
        Sitemap = "sitemap",
        /// The target of a `meta` refresh.
        Refresh = "refresh",
        /// A link for the reader: `a`, `area`, items of feeds, entries of sitemaps.
        Page = "page",
    }
}

impl Class {
    /// Parses a [name](Self::as_str). `None` if no class has this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }

    /// Guesses the class of a file from its extension. `None` if the extension is unknown.
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

    /// Whether browsers load references of this class in order to show the page. References of the
    /// other classes are links and hints.
    #[must_use]
    pub const fn is_part(self) -> bool {
        !matches!(self, Self::Preview | Self::Feed | Self::Sitemap | Self::Refresh | Self::Page)
    }
}

/// The reason why a reference is normally not fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Omission {
    /// An image or frame of at most one pixel, which serves only to count readers.
    OnePixel,
    /// A candidate that the browser would not choose.
    NotTaken,
    /// A type that browsers do not show.
    Unsupported,
    /// A hint, or an interface for programs (`preconnect`, `pingback`). It is not visible content.
    Service,
    /// Not in the document: browsers request it on their own (`/favicon.ico`).
    Implied,
    /// A protocol that is not fetched, such as `ws`.
    Protocol,
    /// In a `template`, which is not shown unless a script uses it.
    Inert,
}

/// A reference of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The absolute URL as a browser sends it, without fragment. Its scheme is `http` or `https`,
    /// unless `left_out` is set.
    pub url: String,
    /// How the document uses the URL. A URL may occur once for each class.
    pub class: Class,
    /// Whether every reference to the URL has `nofollow`.
    pub nofollow: bool,
    /// The reason why the URL is normally not fetched. `None` if at least one reference to the URL
    /// has no such reason.
    pub left_out: Option<Omission>,
}

/// The reason why a document was not parsed completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Truncation {
    /// More than [`MAX_LINKS`] links or [`MAX_LINK_BYTES`] bytes of URLs.
    Links,
    /// A tag, rule or manifest needs more than [`MAX_PARSER_MEMORY`] or [`MAX_HELD`].
    Memory,
    /// Inner documents or blocks are nested too deep, or there are too many.
    Nesting,
    /// The document does not have the format of its type.
    Malformed,
}

/// The references of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// The links in document order. Each URL occurs once for each class.
    pub links: Vec<Link>,
    /// The number of references that are not valid URLs or are too long.
    pub refused: usize,
    /// The first title with white space collapsed, at most [`MAX_TITLE`] bytes. `None` without a
    /// title.
    pub title: Option<String>,
    /// The WHATWG name of the encoding; empty if nothing was read.
    pub charset: &'static str,
    /// Whether `<meta name="robots">` has `nofollow`.
    pub nofollow: bool,
    /// Whether `<meta name="robots">` has `noindex`.
    pub noindex: bool,
    /// The first URL in `<link rel=canonical>` or a `Link` field (RFC 6596). `None` without such a
    /// URL.
    pub canonical: Option<String>,
    /// The first reason why the document was not parsed completely. `None` if it was parsed
    /// completely.
    pub cut: Option<Truncation>,
}

impl References {
    /// Whether links may be missing.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// The sub-resources that are to be fetched.
    pub fn parts(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(|link| link.class.is_part() && link.left_out.is_none())
    }
}

/// The browser window for which candidates are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Viewport {
    /// Width of the window in CSS pixels.
    pub width: u32,
    /// Height of the window in CSS pixels.
    pub height: u32,
    /// Device pixels per 100 CSS pixels.
    pub density_percent: u32,
    /// Whether all candidates of a `srcset`, `picture` or `image-set()` are returned as chosen.
    pub all_candidates: bool,
}

impl Default for Viewport {
    /// The viewport of a laptop.
    fn default() -> Self {
        Self { width: 1366, height: 768, density_percent: 100, all_candidates: false }
    }
}

/// The last character boundary that is not after `at`.
fn boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
