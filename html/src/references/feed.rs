//! Feeds (RSS, Atom) and sitemaps: the URLs of their items and entries.

use wwwoffle_url::MAX_LEN;

use super::element::Tag;
use super::gather::Collector;
use super::{Class, Omission, boundary, page};

/// The receiver of the elements of a feed or sitemap from an XML parser.
#[derive(Debug, Default)]
pub(super) struct FeedCollector {
    pub(super) gather: Collector,
    /// The element whose text is collected, and its text so far. `None` outside such an element.
    collected: Option<(FeedText, String)>,
    /// The class of the URL of the current entry, in a sitemap.
    entry: Option<Class>,
    /// The prefix of the elements of the feed. Elements with other prefixes belong to extensions.
    /// `None` before the root element.
    prefix: Option<String>,
    in_image: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FeedText {
    Url(Class),
    Title,
}

impl FeedCollector {
    pub(super) fn new(gather: Collector) -> Self {
        Self { gather, ..Self::default() }
    }

    pub(super) fn open(&mut self, prefix: &str, tag: &Tag) {
        self.collected = None;
        if self.prefix.is_none() {
            // In RSS 1.0 the elements inside `rdf:RDF` have no prefix.
            let own = if tag.name == "rdf" { "" } else { prefix };
            self.prefix = Some(own.to_owned());
        }
        if self.prefix.as_deref() != Some(prefix) {
            return self.extension(prefix, tag);
        }
        let text = match tag.name.as_str() {
            "url" if self.in_image => Some(FeedText::Url(Class::Image)),
            "url" => {
                self.entry = Some(Class::Page);
                None
            }
            "sitemap" => {
                self.entry = Some(Class::Sitemap);
                None
            }
            "loc" => self.entry.map(FeedText::Url),
            "image" => {
                self.in_image = true;
                None
            }
            "link" if tag.get("href").is_some() => {
                self.link(tag);
                None
            }
            "link" | "comments" => Some(FeedText::Url(Class::Page)),
            "guid" if tag.get("ispermalink") != Some("false") => Some(FeedText::Url(Class::Page)),
            "logo" => Some(FeedText::Url(Class::Image)),
            "icon" => Some(FeedText::Url(Class::Icon)),
            "enclosure" => {
                self.enclosure(tag, "url");
                None
            }
            "content" => {
                self.add(tag, "src", Class::Page);
                None
            }
            "title" if self.gather.found.title.is_none() => Some(FeedText::Title),
            _ => None,
        };
        self.collected = text.map(|text| (text, String::new()));
    }

    /// Handles elements of other vocabularies.
    fn extension(&mut self, prefix: &str, tag: &Tag) {
        match (prefix, tag.name.as_str()) {
            (_, "link") => self.link(tag),
            ("media", "content") => self.enclosure(tag, "url"),
            ("media", "thumbnail") => self.add(tag, "url", Class::Image),
            ("media", "player") => self.add(tag, "url", Class::Page),
            (_, "image") => ["href", "xlink:href"]
                .into_iter()
                .for_each(|name| self.add(tag, name, Class::Image)),
            _ => {}
        }
    }

    fn add(&mut self, tag: &Tag, name: &str, class: Class) {
        if let Some(reference) = tag.filled(name) {
            self.gather.add(reference, class);
        }
    }

    /// Atom's `link` (RFC 4287 §4.2.7).
    fn link(&mut self, tag: &Tag) {
        let Some(href) = tag.filled("href") else { return };
        let (class, left_out) = match tag.get("rel").unwrap_or("alternate") {
            "enclosure" => return self.enclosure(tag, "href"),
            "next" | "previous" | "prev" | "first" | "last" | "next-archive" | "prev-archive" => {
                (Class::Feed, None)
            }
            "alternate" | "related" | "via" | "replies" => (Class::Page, None),
            _ => (Class::Page, Some(Omission::Service)),
        };
        self.gather.add_marked(href, class, false, left_out);
    }

    fn enclosure(&mut self, tag: &Tag, name: &str) {
        let Some(reference) = tag.filled(name) else { return };
        let is_image = tag.get("medium") == Some("image")
            || tag.get("type").is_some_and(|kind| kind.starts_with("image/"));
        let class = if is_image { Class::Image } else { Class::Media };
        self.gather.add(reference, class);
    }

    pub(super) fn text(&mut self, text: &str) {
        if let Some((_, collected)) = &mut self.collected {
            // One byte more than a URL may have, so that a longer URL is counted as refused.
            let room = (MAX_LEN + 1).saturating_sub(collected.len());
            collected.push_str(text.get(..boundary(text, room)).unwrap_or_default());
        }
    }

    pub(super) fn close(&mut self, name: &str) {
        match self.collected.take() {
            Some((FeedText::Url(class), url)) => self.gather.add(&url, class),
            Some((FeedText::Title, text)) => self.gather.found.title = page::title(&text),
            None => {}
        }
        match name {
            "image" => self.in_image = false,
            "sitemap" => self.entry = None,
            "url" if !self.in_image => self.entry = None,
            _ => {}
        }
    }

    pub(super) fn finish(self) -> Collector {
        self.gather
    }
}
