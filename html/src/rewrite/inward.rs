//! Rewrites tags in the gateway and in saved pages: a reference is replaced by its new address. A
//! reference without a new address is removed.

use std::borrow::Cow;

use super::Removal;
use super::style;
use super::tag_policy::{TagChange, TagPolicy};
use super::target::{ReferenceContext, ReferenceTarget, ReferenceUse};
use crate::references::element::{self, Tag};
use crate::references::{link, srcset, with_query_encoded};

/// Attributes that contain a reference, on any element.
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

/// Attributes with lists of images.
const LISTS: [&str; 2] = ["srcset", "imagesrcset"];

/// SVG attributes that may contain `url()`, in addition to `style`.
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

/// Attributes to remove: signatures that the rewritten content does not match, attributes about the
/// origin of the content, and attributes that load content without the user's intention.
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
    // This attribute could make browsers send the gateway address of the page to a site.
    "referrerpolicy",
];

/// `link` relations that preload a resource or are for programs.
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

/// `meta` pragmas that stay because they describe the document.
const PRAGMAS: [&str; 3] = ["content-type", "content-language", "x-ua-compatible"];

/// The changes to a tag.
pub(super) enum ReferenceChange {
    /// A change to the whole element.
    Whole(TagChange),
    /// Changes to attributes of the element.
    Parts(Vec<TagChange>),
}

impl TagPolicy {
    /// Decides about the references of a tag. `None` if references do not change.
    pub(super) fn decide_tag(&mut self, tag: &Tag) -> Option<ReferenceChange> {
        if self.reference_context()?.is_ours() {
            let names = tag.attributes.iter().take(MAX_READ);
            let deeds = names.filter_map(|(name, value)| self.reference(tag, name, value));
            return Some(ReferenceChange::Parts(deeds.collect()));
        }
        if tag.name == "meta" && tag.is("http-equiv", "refresh") {
            self.record_refresh(tag);
        }
        if is_out(tag) || tag.name == "script" && self.cuts(Removal::Scripts) {
            return Some(ReferenceChange::Whole(TagChange::Remove));
        }
        if tag.name == "base" {
            // The base is already applied to each address.
            return Some(ReferenceChange::Parts(vec![TagChange::Drop("href".to_owned())]));
        }
        let mut deeds = Vec::new();
        for (name, value) in tag.attributes.iter().take(MAX_READ) {
            deeds.extend(self.attribute(tag, name, value));
        }
        if tag.attributes.len() > MAX_READ {
            return Some(ReferenceChange::Whole(TagChange::Unwrap));
        }
        deeds.extend(self.form(tag));
        deeds.extend(self.lazy(tag));
        Some(ReferenceChange::Parts(deeds))
    }

    /// The HTML of the link that replaces a refresh. `None` without a refresh.
    pub(super) fn onward_link(&self) -> Option<String> {
        let (place, within) = (self.onward.as_ref()?, self.reference_context()?);
        let escaped =
            |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        let (place, words) = (escaped(place), within.onward());
        Some(format!("<p><a href=\"{place}\">{words}</a></p>"))
    }

    /// Records the target of the first refresh.
    fn record_refresh(&mut self, tag: &Tag) {
        let to = link::refresh(tag.get("content").unwrap_or_default());
        if let Some(ReferenceTarget::To(place)) =
            to.map(|to| self.reference_target(to, ReferenceUse::Link))
            && self.onward.is_none()
        {
            self.onward = Some(place);
        }
    }

    fn reference_target(&self, reference: &str, of: ReferenceUse) -> ReferenceTarget {
        let encoded = with_query_encoded(reference, self.encoding());
        let reference: Cow<'_, str> = encoded.map_or(reference.into(), Into::into);
        self.reference_context()
            .map_or(ReferenceTarget::Nowhere, |within| within.target(&reference, of))
    }

    fn attribute(&self, tag: &Tag, name: &str, value: &str) -> Option<TagChange> {
        if DROPPED.contains(&name) {
            return Some(TagChange::Drop(name.to_owned()));
        }
        if name == "srcdoc" {
            return Some(TagChange::Document("srcdoc", value.to_owned()));
        }
        if name == "style" || STYLES.contains(&name) {
            let name = STYLES.into_iter().find(|known| *known == name).unwrap_or("style");
            let within = self.reference_context()?;
            let led = sheet(value, &within);
            return (led != value).then_some(TagChange::Set(name, led));
        }
        if let Some(name) = LISTS.into_iter().find(|known| *known == name) {
            return Some(TagChange::Set(name, self.list(value)));
        }
        self.reference(tag, name, value)
    }

    fn reference(&self, tag: &Tag, name: &str, value: &str) -> Option<TagChange> {
        let name = REFERENCES.into_iter().find(|known| *known == name)?;
        match self.reference_target(value, ReferenceUse::of(tag, name)) {
            ReferenceTarget::Same => None,
            ReferenceTarget::To(place) => Some(TagChange::Set(name, place)),
            // Without this attribute the form would be sent to the URL of the page.
            ReferenceTarget::Nowhere if matches!(name, "action" | "formaction") => {
                Some(TagChange::Set(name, "about:invalid".to_owned()))
            }
            ReferenceTarget::Nowhere => Some(TagChange::Drop(name.to_owned())),
        }
    }

    fn list(&self, value: &str) -> String {
        let mut list = String::new();
        for candidate in srcset::parse(value) {
            let place = match self.reference_target(candidate.url, ReferenceUse::Part) {
                ReferenceTarget::Same => Cow::Borrowed(candidate.url),
                ReferenceTarget::To(place) => place.into(),
                ReferenceTarget::Nowhere => continue,
            };
            if !list.is_empty() {
                list.push_str(", ");
            }
            // A comma at the end of the address would end the candidate.
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

    /// Sets the `action` of a form that has none. Such a form is sent to the URL of its page.
    fn form(&self, tag: &Tag) -> Option<TagChange> {
        let is_without = tag.name == "form"
            && tag.get("action").is_none_or(str::is_empty)
            && !tag.is("method", "dialog");
        let within = self.reference_context().filter(|_| is_without)?;
        let place = within.address(self.document(), ReferenceUse::Link)?;
        Some(TagChange::Set("action", place))
    }

    /// Sets the source of an image that a script would load when the image scrolls into view. So
    /// the browser loads the image at once.
    fn lazy(&self, tag: &Tag) -> Option<TagChange> {
        let is_empty = |src: &str| src.is_empty() || src.starts_with("data:");
        if tag.name != "img" || !tag.get("src").is_none_or(is_empty) {
            return None;
        }
        let source = element::LAZY.into_iter().find_map(|name| tag.get(name))?;
        match self.reference_target(source, ReferenceUse::Part) {
            ReferenceTarget::To(place) if element::is_like_url(source) => {
                Some(TagChange::Set("src", place))
            }
            _ => None,
        }
    }
}

/// The maximum number of attributes of a tag that are checked. A tag with more attributes is
/// removed; its contents stay.
const MAX_READ: usize = 200;

/// Whether a tag is removed with its contents.
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
        // Animations could change a reference later.
        "animate" | "set" | "animatemotion" | "animatetransform" => {
            let changed = tag.get("attributename").unwrap_or_default();
            let name = changed.rsplit(':').next().unwrap_or_default();
            name.eq_ignore_ascii_case("href")
        }
        "portal" | "fencedframe" => true,
        _ => false,
    }
}

/// The text of a `style` element, with its references replaced.
pub(super) fn sheet(text: &str, within: &ReferenceContext<'_>) -> String {
    style::replace_references(text, within)
}
