//! Rewrites a page on its way to the browser; the stored page is unchanged.
//!
//! No I/O, no clock, no daemon. A [`Rewriter`] takes the body of an HTML document in pieces,
//! decoded from its content coding, and returns the rewritten body; [`FirstFrame`] does the same
//! for an animated image. [`Changes`] lists the changes, and [`PageKnowledge`] supplies facts about
//! the URLs in the page.
//!
//! ```text
//! bytes ─ mend: characters ─ lol_html ─ policy: decides each tag ─ bytes
//! ```
//!
//! # Limits of the parser
//!
//! Tags are parsed as in a browser, but without a tree. Removal applies to the text of the page,
//! and a script that stays could add an element again. The removal of scripts is still reliable,
//! because the response also forbids them ([`csp::NO_SCRIPTS`]). If a page needs more than
//! [`MAX_PARSER_MEMORY`], its rest is sent unchanged.
//!
//! # In the gateway
//!
//! In a page that is read through a gateway address ([`gateway`]), every reference is replaced by
//! such an address. The policy in the response blocks any reference that was missed, so an unparsed
//! rest of such a page is not sent.
//!
//! # In a file
//!
//! In a page that is saved to be read without the proxy ([`SavedDocument`]), references are replaced
//! in the same way by the addresses of files, or by their contents. The page gets its policy and its
//! encoding in `meta` elements.

pub mod csp;
pub mod gateway;
mod gif;
mod inward;
mod mend;
mod page;
mod saved;
mod style;
mod tag_policy;
mod target;
#[cfg(test)]
mod tests;
mod xhtml;

use std::collections::BTreeSet;

pub use gif::FirstFrame;
pub use page::Rewriter;
pub use saved::{SavedAddresses, SavedDocument};
pub use style::Sheet;
pub use target::{Readdress, ReferenceUse};

/// The most memory for the parser of a page, in bytes.
pub const MAX_PARSER_MEMORY: usize = 8 << 20;

/// The maximum number of bytes of one `noscript` element that are shown. The rest is dropped.
pub const MAX_NOSCRIPT: usize = 1 << 20;

/// The maximum number of links of a page that are marked.
pub const MAX_MARKED: usize = 10_000;

/// An image of one transparent pixel, the default replacement.
pub const BLANK_IMAGE: &str =
    "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

/// Elements that are removed from a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Removal {
    /// All scripts; the contents of `noscript` are shown.
    Scripts,
    /// Java applets; their fallback content is shown.
    Applets,
    /// Style sheets and styles.
    Styles,
    /// `blink` elements; their text stays.
    Blink,
    /// `marquee` elements; their text stays.
    Marquee,
    /// Flash; its fallback content is shown.
    Flash,
    /// Inline frames.
    Frames,
    /// Inline frames with a blocked URL.
    BlockedFrames,
    /// Links to blocked URLs; their text stays.
    BlockedLinks,
    /// Refreshes to any URL.
    Refresh,
    /// Refreshes of the page itself.
    OwnRefresh,
    /// `meta` elements that set a cookie.
    SetCookie,
}

/// Characters to repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Repair {
    /// windows-1252 punctuation in pages in windows-1252, ISO-8859 and similar encodings, replaced
    /// by ASCII.
    MsChars,
    /// windows-1251 characters in pages in KOI8-R.
    Cyrillic,
}

/// HTML inserted inside a link, before and after its contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Inserted before the contents.
    pub begin: String,
    /// Inserted after the contents.
    pub end: String,
}

/// The marks of links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Links to stored pages.
    pub kept: Mark,
    /// Links to queued pages.
    pub queued: Mark,
    /// Links to other pages.
    pub absent: Mark,
}

impl Marks {
    /// Whether no links are marked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A bar at the end of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// HTML.
    pub html: String,
    /// The source expression of the bar's style for `Content-Security-Policy`: `'sha256-…'`.
    pub style: String,
}

/// The changes to a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Elements to remove.
    pub cuts: BTreeSet<Removal>,
    /// The replacement of blocked images; [`BLANK_IMAGE`] if empty. `None` if the images stay.
    pub blocked_images: Option<String>,
    /// The replacement of one-pixel images; [`BLANK_IMAGE`] if empty. `None` if the images stay.
    pub pixels: Option<String>,
    /// How links are marked.
    pub marks: Marks,
    /// The bar at the end of the page. `None` if no bar is added.
    pub bar: Option<Bar>,
    /// Characters to repair.
    pub mends: BTreeSet<Repair>,
    /// How references are replaced, if the page is read through the gateway or from a file.
    pub readdress: Option<Readdress>,
}

impl Changes {
    /// Whether the page stays unchanged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The status of a URL: stored, queued or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlStatus {
    /// The URL is stored.
    Kept,
    /// The URL is in the queue.
    Queued,
    /// The URL is neither stored nor queued.
    Absent,
}

/// Facts about the URLs in a page: absolute, without fragment.
pub trait PageKnowledge: Send + Sync {
    /// Whether the URL is never fetched.
    fn is_blocked(&self, url: &str) -> bool;

    /// Whether the URL is stored or queued. Called for each link of a page; may block.
    fn status_of(&self, url: &str) -> UrlStatus;
}
