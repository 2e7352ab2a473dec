//! What one element refers to.
//!
//! The parsers of HTML and of XML hand their tags to this table. It knows nothing of text; but it knows
//! the `picture` or `video` that an element stands in, for there only one of several sources is taken.

use super::gather::Gather;
use super::{Class, LeftOut, css, image, link};

/// A start tag: names in lower case without a prefix, values decoded.
#[derive(Debug, Default)]
pub(super) struct Tag {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
}

impl Tag {
    /// The first attribute of this name, without blanks around it.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.attributes.iter().find(|(known, _)| known == name)?;
        Some(value.trim_matches(|c: char| c <= ' '))
    }

    /// As [`get`](Self::get), but never empty.
    pub(super) fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Whether an attribute of blank-separated words has this one.
    pub(super) fn has_word(&self, name: &str, word: &str) -> bool {
        let words = self.get(name).unwrap_or_default().split_ascii_whitespace();
        words.into_iter().any(|known| known.eq_ignore_ascii_case(word))
    }
}

/// Whether the value of an attribute is looked at by anybody.
pub(super) fn is_of_interest(attribute: &str) -> bool {
    !matches!(attribute, "class" | "id" | "title" | "alt" | "value" | "role" | "tabindex")
        && !attribute.starts_with("aria-")
        && !attribute.starts_with("on")
}

/// Where in the document we are, as far as elements depend on it.
#[derive(Debug, Default)]
pub(super) struct Around {
    pub(super) sources: Sources,
    /// How many `template` elements are open: what is in them is not shown before a script asks.
    pub(super) templates: u32,
    /// The page names an icon.
    pub(super) has_icon: bool,
}

/// In which element `source` stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sources {
    #[default]
    Nowhere,
    /// In a `picture`, and whether one of its sources was taken.
    Picture { taken: bool },
    /// In `video` or `audio`.
    Media { taken: bool },
}

/// Images that browsers show.
pub(super) fn is_shown_image(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let Some(subtype) = kind.strip_prefix("image/") else { return kind.is_empty() };
    !matches!(
        subtype,
        "jxl" | "jp2" | "jpx" | "jpm" | "vnd.ms-photo" | "jxr" | "tiff" | "heic" | "heif"
    )
}

/// Attributes of which scripts make the source of an element when it comes into view.
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

/// The same for backgrounds.
const LAZY_BACKGROUNDS: [&str; 4] =
    ["data-bg", "data-background", "data-background-image", "data-bg-url"];

/// Tells what the element refers to.
pub(super) fn read(tag: &Tag, around: &mut Around, gather: &mut Gather) {
    let hidden = (around.templates > 0).then_some(LeftOut::Inert);
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
                () if tag.filled("srcdoc").is_some() => Some(LeftOut::NotTaken),
                () if image::is_one_pixel(tag) => Some(LeftOut::OnePixel),
                () => None,
            });
            if let Some(reference) = tag.filled("src") {
                gather.add_marked(reference, Class::IFrame, false, left_out);
            }
        }
        _ => {
            // A script for browsers that know no modules.
            let is_for_others = tag.name == "script" && tag.get("nomodule").is_some();
            let not_taken = is_for_others && !gather.want.all_candidates;
            let left_out = hidden.or(not_taken.then_some(LeftOut::NotTaken));
            if let Some((names, class)) = plain(tag) {
                for reference in references(tag, names) {
                    gather.add_marked(reference, class, false, left_out);
                }
            }
        }
    }
    everywhere(tag, hidden, gather);
}

/// Where elements of SVG have their reference; XML's own prefix for it is made `xlink`.
const HREF: [&str; 2] = ["href", "xlink:href"];

fn references<'a>(tag: &'a Tag, names: &'a [&str]) -> impl Iterator<Item = &'a str> {
    names.iter().filter_map(|name| tag.filled(name))
}

/// Elements of which nothing has to be known but the attributes.
fn plain(tag: &Tag) -> Option<(&'static [&'static str], Class)> {
    Some(match tag.name.as_str() {
        "script" => (&["src", "href", "xlink:href"], Class::Script),
        "frame" => (&["src"], Class::Frame),
        "object" => (&["data"], typed(tag, Class::Object)),
        "embed" => (&["src"], typed(tag, Class::Object)),
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

/// What any element may have.
fn everywhere(tag: &Tag, hidden: Option<LeftOut>, gather: &mut Gather) {
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

/// What a script will make the source.
pub(super) fn lazy(tag: &Tag) -> Option<&str> {
    LAZY.into_iter().filter_map(|name| tag.filled(name)).find(|value| is_like_url(value))
}

/// Lazy attributes also hold `true`, `3` and templates for scripts.
pub(crate) fn is_like_url(value: &str) -> bool {
    value.contains(['/', '.']) && !value.contains(['{', '<', ' ']) && value.parse::<f64>().is_err()
}

/// An object whose type says that it is something else.
fn typed(tag: &Tag, class: Class) -> Class {
    let kind = tag.get("type").unwrap_or_default().to_ascii_lowercase();
    match kind.split('/').next() {
        Some("image") => Class::Image,
        Some("video" | "audio") => Class::Media,
        _ => class,
    }
}
