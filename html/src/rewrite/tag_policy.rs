//! Decides what happens to each tag.

use std::sync::Arc;

use encoding_rs::{Encoding, UTF_8};
use wwwoffle_url::BrowserUrl;

use super::csp::allow_style;
use super::inward::ReferenceChange;
use super::target::ReferenceContext;
use super::{BLANK_IMAGE, Changes, MAX_MARKED, Mark, PageKnowledge, Removal, UrlStatus};
use crate::references::element::Tag;
use crate::references::{srcset, with_query_encoded};

/// The media type and the class id of Flash.
const FLASH: [&str; 2] =
    ["application/x-shockwave-flash", "clsid:d27cdb6e-ae6d-11cf-96b8-444553540000"];

/// The prefix of Java applet types.
const JAVA: &str = "application/x-java-";

/// The maximum number of attributes that are removed from one tag. If there are more, the tag is
/// removed; its contents stay.
const MAX_DROPPED: usize = 100;

/// Attributes that contain a reference.
const REFERENCES: [&str; 10] = [
    "href",
    "xlink:href",
    "src",
    "action",
    "formaction",
    "data",
    "poster",
    "background",
    "codebase",
    "lowsrc",
];

/// A change to an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TagChange {
    /// Removes the element with its contents.
    Remove,
    /// Removes the tags of the element; its contents stay.
    Unwrap,
    /// Shows the contents of a `noscript` element.
    Show,
    /// Removes an attribute.
    Drop(String),
    /// Sets an attribute.
    Set(&'static str, String),
    /// Inserts HTML before and after the contents.
    Mark(Mark),
    /// Rewrites the document inside an attribute.
    Document(&'static str, String),
}

/// The state for the decisions about the tags of one document. The tags must be passed in document
/// order.
#[derive(Clone)]
pub(super) struct TagPolicy {
    changes: Arc<Changes>,
    known: Arc<dyn PageKnowledge>,
    document: BrowserUrl,
    /// The base of relative references.
    base: BrowserUrl,
    has_base: bool,
    /// The encoding of queries.
    encoding: &'static Encoding,
    /// The number of links that were checked.
    links: usize,
    /// If references are replaced: the target of the first refresh. `None` without a refresh.
    pub(super) onward: Option<String>,
}

impl TagPolicy {
    pub(super) fn new(
        changes: Arc<Changes>,
        known: Arc<dyn PageKnowledge>,
        document: BrowserUrl,
    ) -> Self {
        let base = document.clone();
        let (encoding, onward) = (UTF_8, None);
        Self { changes, known, document, base, has_base: false, encoding, links: 0, onward }
    }

    pub(super) fn set_encoding(&mut self, encoding: &'static Encoding) {
        self.encoding = encoding.output_encoding();
    }

    pub(super) fn changes(&self) -> &Changes {
        &self.changes
    }

    pub(super) fn cuts(&self, cut: Removal) -> bool {
        self.changes.cuts.contains(&cut)
    }

    /// Decides what happens to the element that begins with this tag.
    pub(super) fn open(&mut self, tag: &Tag) -> Vec<TagChange> {
        if tag.name == "base" {
            self.set_base(tag);
        }
        let inside = match self.decide_tag(tag) {
            Some(ReferenceChange::Whole(deed)) => return vec![deed],
            inside => inside,
        };
        if let Some(deed) = self.decide_element(tag) {
            return vec![deed];
        }
        let mut deeds = self.unscripted(tag);
        if deeds.len() > MAX_DROPPED {
            // Removing many attributes one by one takes too long.
            return vec![TagChange::Unwrap];
        }
        if self.cuts(Removal::Styles) && tag.get("style").is_some() {
            deeds.push(TagChange::Drop("style".to_owned()));
        }
        if let Some(ReferenceChange::Parts(parts)) = inside {
            deeds.extend(parts);
        }
        deeds.extend(self.image(tag));
        deeds.extend(self.policy(tag));
        deeds.extend(self.mark(tag));
        deeds
    }

    /// Sets the base of relative references. HTML §4.2.3: the first `base` with `href` counts.
    fn set_base(&mut self, tag: &Tag) {
        let Some(href) = tag.get("href").filter(|_| !self.has_base) else { return };
        self.has_base = true;
        match BrowserUrl::parse(href, Some(&self.document)) {
            Ok(base) if !matches!(base.scheme(), "data" | "javascript") => self.base = base,
            _ => {}
        }
    }

    /// The context for references that are replaced; `None` if they do not change.
    pub(super) fn reference_context(&self) -> Option<ReferenceContext<'_>> {
        let readdress = self.changes.readdress.as_ref()?;
        Some(ReferenceContext { readdress, base: &self.base, has_base: self.has_base })
    }

    pub(super) fn document(&self) -> &BrowserUrl {
        &self.document
    }

    pub(super) fn encoding(&self) -> &'static Encoding {
        self.encoding
    }

    /// Resolves a reference to an absolute URL and removes the fragment. `None` if the URL cannot
    /// be fetched.
    fn resolve(&self, reference: &str) -> Option<String> {
        let encoded = with_query_encoded(reference, self.encoding);
        let reference = encoded.as_deref().unwrap_or(reference);
        let url = BrowserUrl::parse(reference, Some(&self.base)).ok()?;
        if !matches!(url.scheme(), "http" | "https" | "ftp") {
            return None;
        }
        let fragment = url.fragment().map_or(0, |fragment| fragment.len() + 1);
        let mut url = url.into_string();
        url.truncate(url.len() - fragment);
        Some(url)
    }

    fn is_blocked(&self, reference: Option<&str>) -> bool {
        let url = reference.and_then(|reference| self.resolve(reference));
        url.is_some_and(|url| self.known.is_blocked(&url))
    }

    /// Decides about the element as a whole. `None` if the element stays.
    fn decide_element(&self, tag: &Tag) -> Option<TagChange> {
        let cuts = |cut| self.cuts(cut);
        match tag.name.as_str() {
            "script" if cuts(Removal::Scripts) => Some(TagChange::Remove),
            "noscript" if cuts(Removal::Scripts) => Some(TagChange::Show),
            "style" if cuts(Removal::Styles) => Some(TagChange::Remove),
            "link" => self.link(tag),
            "applet" if cuts(Removal::Applets) => Some(TagChange::Unwrap),
            "object" | "embed" if self.is_plugin(tag) => {
                Some(if tag.name == "object" { TagChange::Unwrap } else { TagChange::Remove })
            }
            "blink" if cuts(Removal::Blink) => Some(TagChange::Unwrap),
            "marquee" if cuts(Removal::Marquee) => Some(TagChange::Unwrap),
            "iframe" => {
                let goes = cuts(Removal::Frames)
                    || cuts(Removal::BlockedFrames) && self.is_blocked(tag.get("src"));
                goes.then_some(TagChange::Remove)
            }
            "area" if cuts(Removal::BlockedLinks) && self.is_blocked(tag.get("href")) => {
                Some(TagChange::Remove)
            }
            // The tags stay, because links are often not closed properly: the end tag of another
            // element would be removed instead.
            "a" if cuts(Removal::BlockedLinks) && self.is_blocked(tag.get("href")) => {
                Some(TagChange::Drop("href".to_owned()))
            }
            "meta" => self.meta(tag),
            _ => None,
        }
    }

    fn link(&self, tag: &Tag) -> Option<TagChange> {
        let is_preload = tag.has_word("rel", "preload");
        let is_style = tag.has_word("rel", "stylesheet") || (is_preload && tag.is("as", "style"));
        let is_script =
            tag.has_word("rel", "modulepreload") || (is_preload && tag.is("as", "script"));
        let goes =
            is_style && self.cuts(Removal::Styles) || is_script && self.cuts(Removal::Scripts);
        goes.then_some(TagChange::Remove)
    }

    fn is_plugin(&self, tag: &Tag) -> bool {
        let named = ["type", "classid", "codetype"].map(|name| tag.get(name).unwrap_or_default());
        let is_flash = || {
            let file = tag.get("data").or_else(|| tag.get("src")).unwrap_or_default();
            let path = file.split(['?', '#']).next().unwrap_or_default();
            path.to_ascii_lowercase().ends_with(".swf")
                || named.iter().any(|name| FLASH.iter().any(|it| name.eq_ignore_ascii_case(it)))
        };
        let is_java = || named.iter().any(|name| name.to_ascii_lowercase().starts_with(JAVA));
        self.cuts(Removal::Flash) && is_flash() || self.cuts(Removal::Applets) && is_java()
    }

    fn meta(&self, tag: &Tag) -> Option<TagChange> {
        let goes = if tag.is("http-equiv", "refresh") {
            let is_own = || self.reloads_itself(tag.get("content").unwrap_or_default());
            self.cuts(Removal::Refresh) || self.cuts(Removal::OwnRefresh) && is_own()
        } else {
            self.cuts(Removal::SetCookie) && tag.is("http-equiv", "set-cookie")
        };
        goes.then_some(TagChange::Remove)
    }

    /// Whether a refresh reloads the page itself (HTML §4.2.5.3, *shared declarative refresh
    /// steps*).
    fn reloads_itself(&self, content: &str) -> bool {
        let after_time = content
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
            .trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ';' || c == ',');
        let to = match after_time.split_at_checked(3) {
            Some((url, rest)) if url.eq_ignore_ascii_case("url") => {
                let rest = rest.trim_start();
                rest.strip_prefix('=').map_or(after_time, str::trim_start)
            }
            _ => after_time,
        };
        let to = match to.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let to = to.get(1..).unwrap_or_default();
                to.split(quote).next().unwrap_or_default()
            }
            _ => to,
        };
        to.is_empty() || self.resolve(to) == self.resolve(self.document.as_str())
    }

    /// The removal of each attribute that would run a script.
    fn unscripted(&self, tag: &Tag) -> Vec<TagChange> {
        if !self.cuts(Removal::Scripts) {
            return Vec::new();
        }
        let runs = |(name, value): &&(String, String)| {
            name.starts_with("on") || (REFERENCES.contains(&name.as_str()) && is_script_url(value))
        };
        tag.attributes.iter().filter(runs).map(|(name, _)| TagChange::Drop(name.clone())).collect()
    }

    /// The changes that replace an image, if it is blocked or invisible.
    fn image(&self, tag: &Tag) -> Vec<TagChange> {
        let is_image = match tag.name.as_str() {
            "img" | "source" => true,
            "input" => tag.is("type", "image"),
            _ => false,
        };
        if !is_image {
            return Vec::new();
        }
        let mut deeds = Vec::new();
        let blocked = self.changes.blocked_images.as_ref();
        let sources = srcset::parse(tag.get("srcset").unwrap_or_default());
        if blocked.is_some() && sources.iter().any(|source| self.is_blocked(Some(source.url))) {
            deeds.push(TagChange::Drop("srcset".to_owned()));
        }
        let instead = if tag.name == "source" {
            None
        } else if let Some(instead) = blocked.filter(|_| self.is_blocked(tag.get("src"))) {
            Some(instead)
        } else {
            self.changes.pixels.as_ref().filter(|_| is_pixel(tag))
        };
        if let Some(instead) = instead {
            let instead = if instead.is_empty() { BLANK_IMAGE } else { instead };
            deeds.push(TagChange::Set("src", instead.to_owned()));
            if tag.get("srcset").is_some() && deeds.iter().all(|deed| !is_drop(deed, "srcset")) {
                deeds.push(TagChange::Drop("srcset".to_owned()));
            }
            // These attributes describe the replaced image.
            let told = ["alt", "title"].into_iter().filter(|name| tag.get(name).is_some());
            deeds.extend(told.map(|name| TagChange::Set(name, String::new())));
        }
        deeds
    }

    /// Allows the style of our bar in a policy that the page contains.
    fn policy(&self, tag: &Tag) -> Option<TagChange> {
        let bar = self.changes.bar.as_ref()?;
        let is_policy = tag.name == "meta" && tag.is("http-equiv", "content-security-policy");
        let policy = tag.get("content").filter(|_| is_policy)?;
        Some(TagChange::Set("content", allow_style(policy, &bar.style)?))
    }

    fn mark(&mut self, tag: &Tag) -> Option<TagChange> {
        if tag.name != "a" || self.changes.marks.is_empty() || self.links >= MAX_MARKED {
            return None;
        }
        self.links += 1;
        let marks = &self.changes.marks;
        let href = tag.get("href").filter(|href| !href.is_empty() && !href.starts_with('#'))?;
        let mark = match self.known.status_of(&self.resolve(href)?) {
            UrlStatus::Kept => &marks.kept,
            UrlStatus::Queued => &marks.queued,
            UrlStatus::Absent => &marks.absent,
        };
        (*mark != Mark::default()).then(|| TagChange::Mark(mark.clone()))
    }
}

fn is_drop(deed: &TagChange, name: &str) -> bool {
    matches!(deed, TagChange::Drop(dropped) if dropped == name)
}

/// Whether an image is invisible: at most one pixel wide and high by its attributes.
fn is_pixel(tag: &Tag) -> bool {
    let is_tiny = |name| {
        let value: Option<u32> =
            tag.get(name).and_then(|value| value.trim_end_matches("px").parse().ok());
        value.is_some_and(|value| value <= 1)
    };
    tag.name == "img" && is_tiny("width") && is_tiny("height")
}

/// Whether a URL runs a script. Tabs, line ends and leading spaces are ignored (URL Standard,
/// *basic URL parser*).
fn is_script_url(value: &str) -> bool {
    let mut letters = value
        .chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
        .skip_while(|c| *c <= ' ')
        .map(|c| c.to_ascii_lowercase());
    let scheme: String = letters.by_ref().take_while(|c| *c != ':').take(12).collect();
    matches!(scheme.as_str(), "javascript" | "vbscript" | "livescript")
}
