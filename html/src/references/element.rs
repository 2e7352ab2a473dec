//! The references of one element.
//!
//! The HTML and XML parsers pass the tags to this module. The module does not see text, but it
//! knows the enclosing `picture` or `video`, in which only one of several sources is chosen.

use super::gather::Collector;
use super::{Class, Omission, css, image, link};

/// A start tag: lower-case names, decoded values.
#[derive(Debug, Default)]
pub(crate) struct Tag {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
}

impl Tag {
    /// The value of the first attribute of this name, trimmed. `None` if there is no such
    /// attribute.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.attributes.iter().find(|(known, _)| known == name)?;
        Some(value.trim_matches(|c: char| c <= ' '))
    }

    /// Whether the attribute has this value, in any letter case.
    pub(crate) fn is(&self, name: &str, value: &str) -> bool {
        self.get(name).is_some_and(|known| known.eq_ignore_ascii_case(value))
    }

    /// Like [`get`](Self::get), but `None` if the value is empty.
    pub(crate) fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Whether an attribute that contains a list of words separated by spaces contains this word.
    pub(crate) fn has_word(&self, name: &str, word: &str) -> bool {
        let words = self.get(name).unwrap_or_default().split_ascii_whitespace();
        words.into_iter().any(|known| known.eq_ignore_ascii_case(word))
    }
}

/// Whether the parser uses the value of this attribute.
pub(super) fn is_of_interest(attribute: &str) -> bool {
    !matches!(attribute, "class" | "id" | "title" | "alt" | "value" | "role" | "tabindex")
        && !attribute.starts_with("aria-")
        && !attribute.starts_with("on")
}

/// The position in the document, as far as the meaning of elements depends on it.
#[derive(Debug, Default)]
pub(super) struct ElementContext {
    pub(super) sources: Sources,
    /// The number of open `template` elements. Their contents are not shown before a script uses
    /// them.
    pub(super) templates: u32,
    /// Whether the page names an icon.
    pub(super) has_icon: bool,
}

/// The element that contains `source` elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sources {
    #[default]
    Nowhere,
    /// In a `picture`, and whether one of its sources was chosen.
    Picture { taken: bool },
    /// In a `video` or `audio`, and whether one of its sources was chosen.
    Media { taken: bool },
}

/// Whether browsers can show images of this type.
pub(super) fn is_shown_image(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let Some(subtype) = kind.strip_prefix("image/") else { return kind.is_empty() };
    !matches!(
        subtype,
        "jxl" | "jp2" | "jpx" | "jpm" | "vnd.ms-photo" | "jxr" | "tiff" | "heic" | "heif"
    )
}

/// Attributes whose value a script copies to the source of an element when the element scrolls into
/// view.
pub(crate) const LAZY: [&str; 9] = [
    "data-src",
    "data-lazy-src",
    "data-lazy",
    "data-original",
    "data-lazyload",
    "data-echo",
    "data-image",
    "data-url-src",
    "data-orig-file",
];

/// Attributes like those in [`LAZY`], for background images.
const LAZY_BACKGROUNDS: [&str; 4] =
    ["data-bg", "data-background", "data-background-image", "data-bg-url"];

/// Reports the references of an element.
pub(super) fn read(tag: &Tag, around: &mut ElementContext, gather: &mut Collector) {
    let hidden = (around.templates > 0).then_some(Omission::Inert);
    match tag.name.as_str() {
        "a" | "area" => {
            let nofollow = tag.has_word("rel", "nofollow");
            for reference in references(tag, &HREF) {
                gather.add_marked(reference, Class::Page, nofollow, hidden);
            }
        }
        "img" | "amp-img" | "amp-anim" => image::img(tag, around, gather),
        "picture" => around.sources = Sources::Picture { taken: false },
        "source" => image::source(tag, around, gather),
        "video" | "audio" | "amp-video" | "amp-audio" => image::media(tag, around, gather),
        "link" => link::link(tag, around, gather),
        "meta" => link::meta(tag, gather),
        "base" => {
            if let Some(reference) = tag.get("href") {
                gather.set_base(reference);
            }
        }
        "iframe" | "amp-iframe" => {
            let left_out = hidden.or(match () {
                () if tag.filled("srcdoc").is_some() => Some(Omission::NotTaken),
                () if image::is_one_pixel(tag) => Some(Omission::OnePixel),
                () => None,
            });
            if let Some(reference) = tag.filled("src") {
                gather.add_marked(reference, Class::IFrame, false, left_out);
            }
        }
        _ => {
            // A script with `nomodule` is only for browsers that do not support modules.
            let is_for_others = tag.name == "script" && tag.get("nomodule").is_some();
            let not_taken = is_for_others && !gather.want.all_candidates;
            let left_out = hidden.or(not_taken.then_some(Omission::NotTaken));
            if let Some((names, class)) = plain(tag) {
                for reference in references(tag, names) {
                    gather.add_marked(reference, class, false, left_out);
                }
            }
        }
    }
    common_references(tag, hidden, gather);
}

/// Attributes for references in SVG. XML parsers map the `XLink` prefix to `xlink`.
const HREF: [&str; 2] = ["href", "xlink:href"];

fn references<'a>(tag: &'a Tag, names: &'a [&str]) -> impl Iterator<Item = &'a str> {
    names.iter().filter_map(|name| tag.filled(name))
}

/// For an element whose references depend only on its attributes: these attributes, and the class
/// of the references. `None` for other elements.
fn plain(tag: &Tag) -> Option<(&'static [&'static str], Class)> {
    Some(match tag.name.as_str() {
        "script" => (&["src", "href", "xlink:href"], Class::Script),
        "frame" => (&["src"], Class::Frame),
        "object" => (&["data"], class_by_type(tag, Class::Object)),
        "embed" => (&["src"], class_by_type(tag, Class::Object)),
        "track" | "bgsound" => (&["src"], Class::Media),
        "input" if tag.get("type").is_some_and(|kind| kind.eq_ignore_ascii_case("image")) => {
            (&["src"], Class::Image)
        }
        "body" | "table" | "thead" | "tbody" | "tfoot" | "tr" | "td" | "th" => {
            (&["background"], Class::Image)
        }
        "image" | "use" | "feimage" | "mpath" | "lineargradient" | "radialgradient" | "pattern"
        | "filter" | "textpath" => (&HREF, Class::Image),
        "q" | "blockquote" | "ins" | "del" => (&["cite"], Class::Page),
        _ => return None,
    })
}

/// Reports the references that any element may have.
fn common_references(tag: &Tag, hidden: Option<Omission>, gather: &mut Collector) {
    if let Some(style) = tag.filled("style") {
        css::read(style, gather);
    }
    for (name, value) in &tag.attributes {
        match name.as_str() {
            // Presentation attributes of SVG are CSS.
            "fill" | "stroke" | "filter" | "mask" | "clip-path" | "marker-start" | "marker-mid"
            | "marker-end" | "cursor"
                if value.contains("url(") =>
            {
                css::read(value, gather);
            }
            "longdesc" => gather.add_marked(value, Class::Page, false, hidden),
            name if LAZY_BACKGROUNDS.contains(&name) => {
                if value.contains("url(") {
                    css::read(value, gather);
                } else if is_like_url(value) {
                    gather.add_marked(value, Class::Image, false, hidden);
                }
            }
            _ => {}
        }
    }
    let class = match tag.name.as_str() {
        "script" => Class::Script,
        "iframe" => Class::IFrame,
        "embed" => Class::Object,
        _ => return,
    };
    if let Some(reference) = lazy(tag) {
        gather.add_marked(reference, class, false, hidden);
    }
}

/// The source that a script will set when the element scrolls into view. `None` if no attribute
/// contains such a source.
pub(super) fn lazy(tag: &Tag) -> Option<&str> {
    LAZY.into_iter().filter_map(|name| tag.filled(name)).find(|value| is_like_url(value))
}

/// Whether a lazy attribute looks like a URL. Such attributes may also contain `true`, `3` or
/// script templates.
pub(crate) fn is_like_url(value: &str) -> bool {
    value.contains(['/', '.']) && !value.contains(['{', '<', ' ']) && value.parse::<f64>().is_err()
}

/// The class of an object according to its type, or else `class`.
fn class_by_type(tag: &Tag, class: Class) -> Class {
    let kind = tag.get("type").unwrap_or_default().to_ascii_lowercase();
    match kind.split('/').next() {
        Some("image") => Class::Image,
        Some("video" | "audio") => Class::Media,
        _ => class,
    }
}
