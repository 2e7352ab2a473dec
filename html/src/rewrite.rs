//! A page that is changed on its way to the browser; what is kept stays as it came.
//!
//! No I/O, no clock, no daemon. A [`Rewriter`] takes the body of an HTML document in pieces, decoded from its
//! content coding, and gives what is sent in its place; [`FirstFrame`] does the same for an image that moves.
//! [`Changes`] says what is changed, [`Known`] what is known of the URLs that the page names.
//!
//! ```text
//! bytes ─ mend: characters ─ lol_html ─ judge: what becomes of a tag ─ bytes
//! ```
//!
//! # What a parser is worth
//!
//! Tags are read as a browser reads them, but no tree is made of them. So what is taken out is what stands in
//! the text of the page: a script that stays may put it there again. Who takes scripts out can rely on that all the
//! same, for the answer says so itself ([`csp::NO_SCRIPTS`]). A page that the parser cannot read in
//! [`MAX_PARSER_MEMORY`] goes on as it came from there.
//!
//! # In the gateway
//!
//! A page that is read through an address of ours ([`gateway`]) has each of its references led to such an
//! address. A reference that is missed is held back by the policy that the answer says besides; so nothing of such a
//! page is sent that was not read.

pub mod csp;
pub mod gateway;
mod gif;
mod inward;
mod judge;
mod mend;
mod page;
mod style;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use gateway::Gateway;
pub use gif::FirstFrame;
pub use page::Rewriter;
pub use style::Sheet;

/// Bytes of memory that the parser of a page may take.
pub const MAX_PARSER_MEMORY: usize = 8 << 20;

/// Bytes of what stands for browsers without scripts in one place that are shown; the rest is left out.
pub const MAX_NOSCRIPT: usize = 1 << 20;

/// Links of a page that are marked; those after them are not.
pub const MAX_MARKED: usize = 10_000;

/// An image of one transparent pixel, for what is replaced by nothing in particular.
pub const BLANK_IMAGE: &str =
    "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

/// What is taken out of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cut {
    /// Scripts, wherever they stand; what is there for browsers without them is shown.
    Scripts,
    /// Java applets; what stands in their place is shown.
    Applets,
    /// Style sheets and styles.
    Styles,
    /// Elements `blink`; their text stays.
    Blink,
    /// Elements `marquee`; their text stays.
    Marquee,
    /// Flash; what stands in its place is shown.
    Flash,
    /// Inline frames.
    Frames,
    /// Inline frames whose URL is never got.
    BlockedFrames,
    /// Links to what is never got; their text stays.
    BlockedLinks,
    /// What sends the browser elsewhere after a time.
    Refresh,
    /// The same where that is the page itself.
    OwnRefresh,
    /// What would set a cookie.
    SetCookie,
}

/// Characters that are mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mend {
    /// Those that windows-1252 has where other character sets have none, as ASCII.
    MsChars,
    /// Those of windows-1251 in a page in KOI8-R.
    Cyrillic,
}

/// What stands inside a link, before and after what it shows: HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Before.
    pub begin: String,
    /// After.
    pub end: String,
}

/// How links are marked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// To what is kept.
    pub kept: Mark,
    /// To what waits to be fetched.
    pub queued: Mark,
    /// To what is neither.
    pub absent: Mark,
}

impl Marks {
    /// Whether none is marked.
    #[must_use]
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

/// What stands at the end of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// HTML.
    pub html: String,
    /// By what its style is known to a `Content-Security-Policy`: `'sha256-…'`.
    pub style: String,
}

/// What is changed in a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// What is taken out.
    pub cuts: BTreeSet<Cut>,
    /// What is shown in place of images that are never got.
    pub blocked_images: Option<String>,
    /// What is shown in place of images of one pixel.
    pub pixels: Option<String>,
    /// How links are marked.
    pub marks: Marks,
    /// What stands at its end.
    pub bar: Option<Bar>,
    /// Which characters are mended.
    pub mends: BTreeSet<Mend>,
    /// How it is led into the gateway, if it is read there.
    pub gateway: Option<Gateway>,
}

impl Changes {
    /// Whether the page stays as it is.
    #[must_use]
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

/// What there is of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is kept.
    Kept,
    /// It waits to be fetched.
    Queued,
    /// Neither.
    Absent,
}

/// What is known of the URLs that a page names: absolute, without a fragment.
pub trait Known: Send + Sync {
    /// Whether it is never got.
    fn is_blocked(&self, url: &str) -> bool;

    /// What there is of it. It is asked for each link of a page, and may block.
    fn standing(&self, url: &str) -> Standing;
}
