//! The elements `link` and `meta`.

use super::element::{ElementContext, Tag, is_shown_image};
use super::gather::Collector;
use super::{Class, Omission, srcset};

/// Reports the reference of a `link` element. The most specific word of its `rel` determines the
/// class.
pub(super) fn link(tag: &Tag, around: &mut ElementContext, gather: &mut Collector) {
    let (class, reason) = relation(tag);
    let inert = (around.templates > 0).then_some(Omission::Inert);
    around.has_icon |= inert.is_none() && class == Class::Icon;
    let left_out = inert.or(reason);
    if class == Class::Image
        && let Some(list) = tag.filled("imagesrcset")
    {
        return preloaded(tag, list, left_out, gather);
    }
    if around.templates == 0
        && tag.has_word("rel", "canonical")
        && let Some(reference) = tag.filled("href")
    {
        gather.set_canonical(reference);
    }
    let nofollow = tag.has_word("rel", "nofollow");
    if let Some(reference) = tag.filled("href").or_else(|| tag.filled("data-href")) {
        gather.add_marked(reference, class, nofollow, left_out);
    }
}

/// Reports the references of `<link rel=preload as=image imagesrcset=…>`.
fn preloaded(tag: &Tag, list: &str, left_out: Option<Omission>, gather: &mut Collector) {
    let candidates = srcset::parse(list);
    let taken = srcset::choose(&candidates, tag.get("imagesizes"), &gather.want);
    let all = gather.want.all_candidates;
    for (at, candidate) in candidates.iter().enumerate() {
        let not_taken = (!all && taken != Some(at)).then_some(Omission::NotTaken);
        gather.add_marked(candidate.url, Class::Image, false, left_out.or(not_taken));
    }
    if let Some(href) = tag.filled("href")
        && !candidates.iter().any(|candidate| candidate.url == href)
    {
        let not_taken = (!all).then_some(Omission::NotTaken);
        gather.add_marked(href, Class::Image, false, left_out.or(not_taken));
    }
}

fn relation(tag: &Tag) -> (Class, Option<Omission>) {
    let is = |word: &str| tag.has_word("rel", word);
    let kind = tag.get("type").unwrap_or_default().to_ascii_lowercase();
    let fits = |class: Class, want: bool| (class, (!want).then_some(Omission::Unsupported));
    match () {
        () if is("stylesheet") || is("stylesheet/less") => {
            fits(Class::Stylesheet, kind.is_empty() || kind.starts_with("text/css"))
        }
        () if is("icon") || is("mask-icon") || is("fluid-icon") || starts(tag, "apple-touch-") => {
            fits(Class::Icon, is_shown_image(&kind))
        }
        () if is("modulepreload") => (Class::Script, None),
        () if is("preload") || is("prefetch") => (preload(tag, is("preload")), None),
        () if is("manifest") => (Class::Manifest, None),
        () if is("image_src") => (Class::Preview, None),
        () if is("alternate") && is_feed(&kind) => (Class::Feed, None),
        () if [
            "alternate",
            "canonical",
            "next",
            "prev",
            "previous",
            "first",
            "last",
            "up",
            "start",
            "contents",
            "index",
            "help",
            "license",
            "author",
            "amphtml",
            "shortlink",
            "bookmark",
            "chapter",
            "section",
            "appendix",
            "glossary",
            "copyright",
            "prerender",
            "archives",
            "top",
            "privacy-policy",
        ]
        .into_iter()
        .any(is) =>
        {
            (Class::Page, None)
        }
        () => (Class::Page, Some(Omission::Service)),
    }
}

fn starts(tag: &Tag, start: &str) -> bool {
    let words = tag.get("rel").unwrap_or_default().split_ascii_whitespace();
    words
        .into_iter()
        .any(|word| word.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start)))
}

fn is_feed(kind: &str) -> bool {
    matches!(
        kind.split(';').next().unwrap_or_default().trim(),
        "application/rss+xml"
            | "application/atom+xml"
            | "application/rdf+xml"
            | "application/feed+json"
    )
}

/// The class of a preloaded resource, from `as`, or from its file name if `as` is missing or
/// unknown.
fn preload(tag: &Tag, is_preload: bool) -> Class {
    let destination = tag.get("as").unwrap_or_default().to_ascii_lowercase();
    match destination.as_str() {
        "style" => Class::Stylesheet,
        "script" | "worker" | "sharedworker" | "serviceworker" | "audioworklet"
        | "paintworklet" => Class::Script,
        "image" => Class::Image,
        "font" => Class::Font,
        "audio" | "video" | "track" => Class::Media,
        "fetch" | "json" => Class::Data,
        "embed" | "object" => Class::Object,
        "document" => Class::Page,
        _ => Class::of_name(tag.get("href").unwrap_or_default()).unwrap_or(if is_preload {
            Class::Data
        } else {
            Class::Page
        }),
    }
}

/// Handles a `meta` element: a refresh, instructions for robots, or an image.
pub(super) fn meta(tag: &Tag, gather: &mut Collector) {
    let Some(content) = tag.filled("content") else { return };
    let pragma = tag.get("http-equiv").unwrap_or_default();
    if pragma.eq_ignore_ascii_case("refresh") {
        if let Some(reference) = refresh(content) {
            gather.add(reference, Class::Refresh);
        }
        return;
    }
    let names = ["name", "property", "itemprop"].into_iter().filter_map(|name| tag.get(name));
    for name in names {
        match name.to_ascii_lowercase().as_str() {
            "robots" => robots(content, gather),
            "og:image"
            | "og:image:url"
            | "og:image:secure_url"
            | "twitter:image"
            | "twitter:image:src"
            | "image"
            | "thumbnail"
            | "thumbnailurl"
            | "sailthru.image.full" => {
                gather.add(content, Class::Preview);
            }
            "msapplication-tileimage"
            | "msapplication-square70x70logo"
            | "msapplication-square150x150logo"
            | "msapplication-wide310x150logo"
            | "msapplication-square310x310logo" => gather.add(content, Class::Icon),
            "msapplication-config" => {
                gather.add_marked(content, Class::Data, false, Some(Omission::Service));
            }
            _ => {}
        }
    }
}

fn robots(content: &str, gather: &mut Collector) {
    for word in content.split(',').map(str::trim) {
        let is = |name: &str| word.eq_ignore_ascii_case(name);
        gather.found.nofollow |= is("nofollow") || is("none");
        gather.found.noindex |= is("noindex") || is("none");
    }
}

/// The URL in a refresh, after the seconds (HTML §4.2.5.3, *shared declarative refresh steps*).
/// `None` if the refresh has no URL.
pub(crate) fn refresh(content: &str) -> Option<&str> {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let rest = content.trim_start_matches(is_digit);
    if rest.len() == content.len()
        || !rest.starts_with(|c: char| c.is_whitespace() || ";,".contains(c))
    {
        return None;
    }
    let rest = rest.trim_start().strip_prefix([';', ',']).unwrap_or(rest.trim_start()).trim_start();
    let mut url = rest;
    if let Some((word, after)) = rest.split_at_checked(3)
        && word.eq_ignore_ascii_case("url")
        && let Some(after) = after.trim_start().strip_prefix('=')
    {
        url = after.trim_start();
    }
    match url.chars().next()? {
        quote @ ('"' | '\'') => url.get(1..)?.split(quote).next(),
        _ => Some(url),
    }
}

#[cfg(test)]
mod tests {
    use super::refresh;

    #[test]
    fn a_refresh_names_a_url_in_many_ways() {
        let rows = [
            ("5; url=/a", Some("/a")),
            ("0;URL='/a b' c", Some("/a b")),
            ("0,/a", Some("/a")),
            ("0 /a", Some("/a")),
            ("1.5;url = \"/a", Some("/a")),
            ("0; urls", Some("urls")),
            ("5", None),
            ("5;", None),
            ("; url=/a", None),
            ("x; url=/a", None),
            ("5x; url=/a", None),
        ];
        for (content, expected) in rows {
            assert_eq!(refresh(content), expected, "{content}");
        }
    }
}
