//! Images and media with several candidates, of which a browser chooses one.

use super::element::{ElementContext, Sources, Tag, is_shown_image, lazy};
use super::gather::Collector;
use super::{Class, Omission, media, srcset};

/// Attributes that scripts copy to `srcset`.
const LAZY_LISTS: [&str; 3] = ["data-srcset", "data-lazy-srcset", "data-original-set"];

/// Reports the references of an `img` element.
pub(super) fn img(tag: &Tag, around: &mut ElementContext, gather: &mut Collector) {
    let left_out = match () {
        () if around.templates > 0 => Some(Omission::Inert),
        () if is_one_pixel(tag) => Some(Omission::OnePixel),
        () => None,
    };
    let is_taken = around.sources == Sources::Picture { taken: true };
    if matches!(around.sources, Sources::Picture { .. }) {
        around.sources = Sources::Nowhere;
    }
    let sizes = tag.get("sizes").or_else(|| tag.get("data-sizes"));
    let own = CandidateRules { sizes, left_out, is_taken };
    own.of(tag.get("srcset"), tag.filled("src"), gather);
    // When the image scrolls into view, scripts replace `srcset` and `src` by the lazy attributes.
    let list = LAZY_LISTS.into_iter().find_map(|name| tag.filled(name));
    own.of(list, lazy(tag), gather);
}

/// The context in which candidates are reported.
struct CandidateRules<'a> {
    sizes: Option<&'a str>,
    /// The reason why none of the candidates is chosen, if there is one.
    left_out: Option<Omission>,
    /// Whether an earlier candidate was chosen.
    is_taken: bool,
}

impl CandidateRules<'_> {
    /// Reports the candidates of a list and the `src`. Returns whether there were any.
    fn of(&self, list: Option<&str>, src: Option<&str>, gather: &mut Collector) -> bool {
        let parsed = srcset::parse(list.unwrap_or_default());
        let is_beside = !parsed.is_empty();
        let candidates = srcset::with_src(parsed, src);
        let taken = srcset::choose(&candidates, self.sizes, &gather.want);
        let all = gather.want.all_candidates;
        let why = |is_chosen: bool| match self.left_out {
            None if all || (is_chosen && !self.is_taken) => None,
            None => Some(Omission::NotTaken),
            reason => reason,
        };
        for (at, candidate) in candidates.iter().enumerate() {
            let left_out = why(taken == Some(at));
            gather.add_marked(candidate.url, Class::Image, false, left_out);
        }
        // If `src` is not a candidate, because the list has widths or an image of density 1, only
        // browsers without `srcset` use it.
        if let Some(src) = src.filter(|_| is_beside) {
            let is_candidate = candidates.iter().any(|candidate| candidate.url == src);
            if !is_candidate {
                gather.add_marked(src, Class::Image, false, why(false));
            }
        }
        !candidates.is_empty()
    }
}

/// Reports the references of a `source` element. In a `picture`, the first matching source is
/// chosen; in media, the first playable source.
pub(super) fn source(tag: &Tag, around: &mut ElementContext, gather: &mut Collector) {
    let inert = (around.templates > 0).then_some(Omission::Inert);
    let kind = tag.get("type").unwrap_or_default();
    match around.sources {
        Sources::Media { taken } => {
            let is_shown = is_played(kind);
            let Some(src) = tag.filled("src").or_else(|| lazy(tag)) else { return };
            let left_out = inert.or(match () {
                () if gather.want.all_candidates => None,
                () if !is_shown => Some(Omission::Unsupported),
                () if taken => Some(Omission::NotTaken),
                () => None,
            });
            gather.add_marked(src, Class::Media, false, left_out);
            around.sources = Sources::Media { taken: taken || is_shown };
        }
        Sources::Nowhere | Sources::Picture { .. } => {
            let was_taken = around.sources == Sources::Picture { taken: true };
            let is_shown = is_shown_image(kind);
            let fits = tag.get("media").is_none_or(|list| media::matches(list, &gather.want));
            let left_out = inert.or((!is_shown).then_some(Omission::Unsupported));
            let left_out = left_out.filter(|_| !gather.want.all_candidates || inert.is_some());
            let sizes = tag.get("sizes").or_else(|| tag.get("data-sizes"));
            let choice = CandidateRules { sizes, left_out, is_taken: was_taken || !fits };
            let own = choice.of(tag.get("srcset"), None, gather);
            let list = LAZY_LISTS.into_iter().find_map(|name| tag.filled(name));
            let is_lazy = choice.of(list, lazy(tag), gather);
            if matches!(around.sources, Sources::Picture { .. }) {
                let taken = was_taken || (fits && is_shown && (own || is_lazy));
                around.sources = Sources::Picture { taken };
            }
        }
    }
}

/// Reports the references of a `video` or `audio` element, with its own source or with `source`
/// elements inside.
pub(super) fn media(tag: &Tag, around: &mut ElementContext, gather: &mut Collector) {
    let inert = (around.templates > 0).then_some(Omission::Inert);
    let src = tag.filled("src").or_else(|| lazy(tag));
    if let Some(src) = src {
        gather.add_marked(src, Class::Media, false, inert);
    }
    for name in ["poster", "data-poster"] {
        if let Some(poster) = tag.filled(name) {
            gather.add_marked(poster, Class::Image, false, inert);
        }
    }
    around.sources = Sources::Media { taken: src.is_some() };
}

/// Whether browsers can probably play this type.
fn is_played(kind: &str) -> bool {
    let (kind, parameters) = kind.split_once(';').unwrap_or((kind, ""));
    let kind = kind.trim().to_ascii_lowercase();
    let known = match kind.split_once('/') {
        None => kind.is_empty(),
        Some(("video", name)) => matches!(name, "mp4" | "webm" | "ogg" | "mp2t" | "x-m4v"),
        Some(("audio", name)) => !matches!(name, "x-ms-wma" | "amr" | "basic" | "midi" | "x-aiff"),
        Some(("application", name)) => matches!(name, "ogg" | "octet-stream"),
        Some(_) => false,
    };
    known && !["hvc1", "hev1", "dvh1", "ap4h"].iter().any(|codec| parameters.contains(codec))
}

/// Whether an element is at most one pixel wide and high, by its style, or else by its attributes.
pub(super) fn is_one_pixel(tag: &Tag) -> bool {
    let style = tag.get("style").unwrap_or_default();
    let is_small = |name: &str| {
        declared(style, name).or_else(|| tag.get(name)).is_some_and(|value| {
            let value = value.strip_suffix("px").unwrap_or(value).trim_end();
            value.parse::<f64>().is_ok_and(|pixels| (0.0..=1.0).contains(&pixels))
        })
    };
    is_small("width") && is_small("height")
}

/// The last value of a property in a `style` attribute. `None` if the attribute does not set the
/// property.
fn declared<'a>(style: &'a str, name: &str) -> Option<&'a str> {
    let mut declarations = style.split(';').filter_map(|declaration| declaration.split_once(':'));
    let (_, value) =
        declarations.rfind(|(property, _)| property.trim().eq_ignore_ascii_case(name))?;
    Some(value.trim().trim_end_matches("!important").trim_end())
}
