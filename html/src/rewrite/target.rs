//! The new target of each reference of a document.

use wwwoffle_url::BrowserUrl;

use super::gateway::{self, Gateway};
use super::saved::SavedDocument;
use crate::references::element::Tag;

/// How the references of a document are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readdress {
    /// By gateway addresses.
    Gateway(Gateway),
    /// By the addresses in a saved document.
    Saved(SavedDocument),
}

/// The use that a document makes of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceUse {
    /// A person follows it, or it only names something: a link, a form, a citation.
    Link,
    /// The browser loads it with the document as passive content: an image, a font, audio or video.
    Part,
    /// The browser loads it with the document as a style sheet.
    Sheet,
    /// The browser loads it with the document as another document, in a frame or a plug-in, or
    /// inserts its elements.
    Document,
}

impl ReferenceUse {
    /// The use of an attribute with a reference.
    pub(super) fn of(tag: &Tag, name: &str) -> Self {
        let is_link = match name {
            "href" | "xlink:href" => match tag.name.as_str() {
                "a" | "area" => true,
                "link" if tag.has_word("rel", "stylesheet") => return Self::Sheet,
                "link" => !is_icon(tag),
                "use" => return Self::Document,
                _ => false,
            },
            "src" if matches!(tag.name.as_str(), "iframe" | "frame" | "embed") => {
                return Self::Document;
            }
            "data" => return Self::Document,
            "action" | "formaction" | "cite" | "longdesc" => true,
            _ => false,
        };
        if is_link { Self::Link } else { Self::Part }
    }
}

/// Whether a `link` element names an icon, which the browser loads.
fn is_icon(tag: &Tag) -> bool {
    tag.get("rel").unwrap_or_default().to_ascii_lowercase().contains("icon")
}

/// The target of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReferenceTarget {
    /// The reference stays unchanged: it is within the page, or its scheme sends no request to a
    /// site, such as `mailto`.
    Same,
    /// Another address.
    To(String),
    /// A target that the document must not reach.
    Nowhere,
}

/// The context for references of a document.
pub(super) struct ReferenceContext<'a> {
    pub(super) readdress: &'a Readdress,
    pub(super) base: &'a BrowserUrl,
    /// Whether the page has its own base. Then a bare fragment does not refer to the page.
    pub(super) has_base: bool,
}

impl ReferenceContext<'_> {
    /// The target of `reference`. Its query is already in the encoding of the page.
    pub(super) fn target(&self, reference: &str, of: ReferenceUse) -> ReferenceTarget {
        let reference = reference.trim_matches(|c: char| c <= ' ');
        if reference.starts_with('#') && !self.has_base {
            return ReferenceTarget::Same;
        }
        let Ok(url) = BrowserUrl::parse(reference, Some(self.base)) else {
            return ReferenceTarget::Nowhere;
        };
        match url.scheme() {
            _ if gateway::is_fetched(&url) => {
                self.address(&url, of).map_or(ReferenceTarget::Nowhere, ReferenceTarget::To)
            }
            // In a file, only the document restricts what such a document or style sheet may load.
            "data" if self.is_saved() && of != ReferenceUse::Part => ReferenceTarget::Nowhere,
            "data" | "mailto" | "tel" | "sms" | "about" => ReferenceTarget::Same,
            _ => ReferenceTarget::Nowhere,
        }
    }

    /// The address that replaces a URL. `None` if the document must not refer to the URL. A link of
    /// a saved document to a URL that is not saved leads to the web.
    pub(super) fn address(&self, url: &BrowserUrl, of: ReferenceUse) -> Option<String> {
        let saved = match self.readdress {
            Readdress::Gateway(gateway) => return gateway.place(url),
            Readdress::Saved(saved) => saved,
        };
        match saved.addresses.address(url, of) {
            Some(address) => {
                let fragment = url.fragment().map_or_else(String::new, |part| format!("#{part}"));
                Some(format!("{address}{fragment}"))
            }
            None => (of == ReferenceUse::Link).then(|| url.as_str().to_owned()),
        }
    }

    /// The target of a string in a style sheet, which becomes a URL if another rule uses it as one.
    /// In a file, some URLs lead to a server of the local network.
    pub(super) fn target_of_string(&self, text: &str) -> ReferenceTarget {
        let leads_to_server = || {
            let base = BrowserUrl::parse("file:///a/b", None).ok()?;
            let url = BrowserUrl::parse(text, Some(&base)).ok()?;
            let path = url.as_str().strip_prefix("file:")?;
            Some(!path.starts_with("///") || path.starts_with("////"))
        };
        if self.is_saved() && leads_to_server().unwrap_or(false) {
            ReferenceTarget::Nowhere
        } else {
            ReferenceTarget::Same
        }
    }

    fn is_saved(&self) -> bool {
        matches!(self.readdress, Readdress::Saved(_))
    }

    /// The text of the link that replaces a refresh, as HTML.
    pub(super) fn onward(&self) -> &str {
        match self.readdress {
            Readdress::Gateway(gateway) => &gateway.onward,
            Readdress::Saved(saved) => &saved.onward,
        }
    }

    /// Whether the page is one of our own in the gateway, in which only references change.
    pub(super) fn is_ours(&self) -> bool {
        matches!(self.readdress, Readdress::Gateway(gateway) if gateway.is_ours)
    }
}
