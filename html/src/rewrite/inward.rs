//! What becomes of a tag in the gateway: where it leads is led inside, and what would lead out goes.

use std::borrow::Cow;

use super::gateway::{Lead, Within};
use super::judge::{Deed, Judge, Tag};
use super::style;
use crate::references::{element, link, srcset, with_query_encoded};

/// Attributes that name something, whatever element they stand at.
const REFERENCES: [&str; 13] = [
    "href",
    "xlink:href",
    "src",
    "action",
    "formaction",
    "data",
    "poster",
    "background",
    "cite",
    "longdesc",
    "lowsrc",
    "dynsrc",
    "icon",
];

/// Lists of images.
const LISTS: [&str; 2] = ["srcset", "imagesrcset"];

/// Attributes that are style, besides `style`: those of SVG, where `url()` is in them.
const STYLES: [&str; 9] = [
    "fill",
    "stroke",
    "filter",
    "mask",
    "clip-path",
    "marker-start",
    "marker-mid",
    "marker-end",
    "cursor",
];

/// Attributes that go. What is loaded is no longer what was signed, comes from elsewhere than they say, or is
/// asked for without anybody's wish.
const DROPPED: [&str; 12] = [
    "integrity",
    "crossorigin",
    "nonce",
    "ping",
    "manifest",
    "codebase",
    "classid",
    "archive",
    "profile",
    "attributionsrc",
    "csp",
    // It would tell a site the address at which its page was read.
    "referrerpolicy",
];

/// Relations of `link` that ask for something ahead of time, or for programs.
const AHEAD: [&str; 10] = [
    "dns-prefetch",
    "preconnect",
    "prefetch",
    "prerender",
    "preload",
    "modulepreload",
    "manifest",
    "import",
    "pingback",
    "serviceworker",
];

/// Pragmas of `meta` that stay: what the document is.
const PRAGMAS: [&str; 3] = ["content-type", "content-language", "x-ua-compatible"];

/// What is done to a tag.
pub(super) enum Inside {
    /// To all of it.
    Whole(Deed),
    /// To its parts.
    Parts(Vec<Deed>),
}

impl Judge {
    /// What becomes of a tag in the gateway; `None` elsewhere.
    pub(super) fn inside(&mut self, tag: &Tag) -> Option<Inside> {
        if self.within()?.gateway.is_ours {
            let names = tag.attributes.iter().take(MAX_READ);
            let deeds = names.filter_map(|(name, value)| self.reference(name, value));
            return Some(Inside::Parts(deeds.collect()));
        }
        if tag.name == "meta" && tag.is("http-equiv", "refresh") {
            self.goes_on(tag);
        }
        if is_out(tag) {
            return Some(Inside::Whole(Deed::Remove));
        }
        if tag.name == "base" {
            // What it says is in each address already.
            return Some(Inside::Parts(vec![Deed::Drop("href".to_owned())]));
        }
        let mut deeds = Vec::new();
        for (name, value) in tag.attributes.iter().take(MAX_READ) {
            deeds.extend(self.attribute(name, value));
        }
        if tag.attributes.len() > MAX_READ {
            return Some(Inside::Whole(Deed::Unwrap));
        }
        deeds.extend(self.form(tag));
        deeds.extend(self.lazy(tag));
        Some(Inside::Parts(deeds))
    }

    /// The link to where the page would go by itself: HTML.
    pub(super) fn onward_link(&self) -> Option<String> {
        let (place, within) = (self.onward.as_ref()?, self.within()?);
        let escaped =
            |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        let (place, words) = (escaped(place), &within.gateway.onward);
        Some(format!("<p><a href=\"{place}\">{words}</a></p>"))
    }

    /// Remembers the first place where the page would go.
    fn goes_on(&mut self, tag: &Tag) {
        let to = link::refresh(tag.get("content").unwrap_or_default());
        if let Some(Lead::To(place)) = to.map(|to| self.lead(to))
            && self.onward.is_none()
        {
            self.onward = Some(place);
        }
    }

    fn lead(&self, reference: &str) -> Lead {
        let encoded = with_query_encoded(reference, self.encoding());
        let reference: Cow<'_, str> = encoded.map_or(reference.into(), Into::into);
        self.within().map_or(Lead::Nowhere, |within| within.lead(&reference))
    }

    fn attribute(&self, name: &str, value: &str) -> Option<Deed> {
        if DROPPED.contains(&name) {
            return Some(Deed::Drop(name.to_owned()));
        }
        if name == "srcdoc" {
            return Some(Deed::Document("srcdoc", value.to_owned()));
        }
        if name == "style" || STYLES.contains(&name) && value.contains("url(") {
            let name = STYLES.into_iter().find(|known| *known == name).unwrap_or("style");
            let within = self.within()?;
            let led = style::led(value, &|reference| within.lead(reference));
            return (led != value).then_some(Deed::Set(name, led));
        }
        if let Some(name) = LISTS.into_iter().find(|known| *known == name) {
            return Some(Deed::Set(name, self.list(value)));
        }
        self.reference(name, value)
    }

    fn reference(&self, name: &str, value: &str) -> Option<Deed> {
        let name = REFERENCES.into_iter().find(|known| *known == name)?;
        match self.lead(value) {
            Lead::Same => None,
            Lead::To(place) => Some(Deed::Set(name, place)),
            // Without it a form would go to the page.
            Lead::Nowhere if matches!(name, "action" | "formaction") => {
                Some(Deed::Set(name, "about:invalid".to_owned()))
            }
            Lead::Nowhere => Some(Deed::Drop(name.to_owned())),
        }
    }

    fn list(&self, value: &str) -> String {
        let mut list = String::new();
        for candidate in srcset::parse(value) {
            let place = match self.lead(candidate.url) {
                Lead::Same => Cow::Borrowed(candidate.url),
                Lead::To(place) => place.into(),
                Lead::Nowhere => continue,
            };
            if !list.is_empty() {
                list.push_str(", ");
            }
            // A comma at its end would end the candidate.
            let bare = place.trim_end_matches(',');
            list.push_str(bare);
            list.push_str(&"%2C".repeat(place.len() - bare.len()));
            if !candidate.described.is_empty() {
                list.push(' ');
                list.push_str(candidate.described);
            }
        }
        list
    }

    /// A form that names nothing is sent to its page, at whatever address that is shown.
    fn form(&self, tag: &Tag) -> Option<Deed> {
        let is_without = tag.name == "form"
            && tag.get("action").is_none_or(str::is_empty)
            && !tag.is("method", "dialog");
        let within = self.within().filter(|_| is_without)?;
        within.gateway.place(self.document()).map(|place| Deed::Set("action", place))
    }

    /// An image that a script would load when it comes into view is loaded at once.
    fn lazy(&self, tag: &Tag) -> Option<Deed> {
        let is_empty = |src: &str| src.is_empty() || src.starts_with("data:");
        if tag.name != "img" || !tag.get("src").is_none_or(is_empty) {
            return None;
        }
        let source = element::LAZY.into_iter().find_map(|name| tag.get(name))?;
        match self.lead(source) {
            Lead::To(place) if element::is_like_url(source) => Some(Deed::Set("src", place)),
            _ => None,
        }
    }
}

/// Attributes of a tag that are looked at; of a tag with more, the tag itself goes.
const MAX_READ: usize = 200;

/// Whether a tag goes with all that is in it.
fn is_out(tag: &Tag) -> bool {
    match tag.name.as_str() {
        "link" => {
            let is_icon = tag.has_word("rel", "icon") || tag.has_word("rel", "stylesheet");
            !is_icon && AHEAD.iter().any(|word| tag.has_word("rel", word))
        }
        "meta" => {
            let pragma = tag.get("http-equiv").unwrap_or_default().to_ascii_lowercase();
            let is_of_referrer = tag.is("name", "referrer");
            is_of_referrer || !pragma.is_empty() && !PRAGMAS.contains(&pragma.as_str())
        }
        // What changes a reference after it was read.
        "animate" | "set" | "animatemotion" | "animatetransform" => {
            let changed = tag.get("attributename").unwrap_or_default();
            let name = changed.rsplit(':').next().unwrap_or_default();
            name.eq_ignore_ascii_case("href")
        }
        "portal" | "fencedframe" => true,
        _ => false,
    }
}

/// The text of a `style` element, led inside.
pub(super) fn sheet(text: &str, within: &Within<'_>) -> String {
    style::led(text, &|reference| within.lead(reference))
}
