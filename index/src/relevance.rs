//! How well the names of a page match a query: its title, the last segment of its path, its host.
//!
//! In a long page about a subject, the words of a query are less frequent than in a short page that
//! mentions them. The names show which pages are about the subject. The number of links shows which
//! of these is the main page.

use crate::fold::{self, Word};
use crate::query::Query;

/// The weights of an exact title, segment and host. The best text has the weight 1.
const TITLE: f64 = 2.0;
const SEGMENT: f64 = 2.0;
const HOST: f64 = 0.5;

/// The share by which [`MAX_LINKS`] incoming links raise the weight of the names.
const LINKS: f64 = 0.5;

/// The maximum number of incoming links that are counted.
pub(crate) const MAX_LINKS: u32 = 1_000;

/// The weight of later parts of a title, which often name the site.
const LATER_PART: f64 = 0.5;

/// The maximum length of a file extension that is ignored, in bytes including its dot.
const MAX_ENDING: usize = 6;

/// How well the names of a page match. 0 if they contain no word of the query.
pub(crate) fn of_names(query: &Query, title: &str, host: &str, path: &str) -> f64 {
    let host = of_host(query, host);
    let segment = segment(path).map_or(host, |segment| of_segment(query, segment));
    TITLE * of_title(query, title) + SEGMENT * segment + HOST * host
}

/// The share by which `count` incoming links raise the weight of the names. Each further link adds
/// less than the link before it.
pub(crate) fn of_links(count: u32) -> f64 {
    LINKS * f64::from(count).ln_1p() / f64::from(MAX_LINKS).ln_1p()
}

/// The match of the best part of a title, such as `Vec` in `Vec | The Book`.
fn of_title(query: &Query, title: &str) -> f64 {
    let is_separator = |word: &str| !word.is_empty() && !word.chars().any(char::is_alphanumeric);
    let (mut parts, mut part) = (Vec::new(), String::new());
    for word in title.split_whitespace() {
        if is_separator(word) {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push_str(word);
            part.push(' ');
        }
    }
    parts.push(part);
    let weights = std::iter::once(1.0).chain(std::iter::repeat(LATER_PART));
    let matches =
        parts.iter().zip(weights).map(|(part, weight)| weight * NameMatch::of(query, part).title());
    matches.fold(0.0, f64::max)
}

/// The last significant segment of a path. An index page is named by its folder.
fn segment(path: &str) -> Option<&str> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut segments = path.rsplit('/').filter(|segment| !segment.is_empty());
    segments.find(|segment| !matches!(stem(segment), "index" | "default"))
}

/// A file name without its extension.
fn stem(segment: &str) -> &str {
    match segment.rfind('.') {
        Some(dot) if dot > 0 && segment.len() - dot <= MAX_ENDING => {
            segment.get(..dot).unwrap_or(segment)
        }
        _ => segment,
    }
}

/// The match of a file name, or of a part between dots in it, such as `Vec` in `struct.Vec.html`.
fn of_segment(query: &Query, segment: &str) -> f64 {
    let segment = percent_encoding::percent_decode_str(stem(segment)).decode_utf8_lossy();
    let last = segment.rsplit('.').next().unwrap_or_default();
    [&*segment, last].map(|name| NameMatch::of(query, name).share()).into_iter().fold(0.0, f64::max)
}

/// The match of the best label of a host, without `www` and the top-level domain.
fn of_host(query: &Query, host: &str) -> f64 {
    let labels = host.rsplit('.').skip(1).filter(|label| *label != "www");
    labels.map(|label| NameMatch::of(query, label).share()).fold(0.0, f64::max)
}

/// How much of a query occurs in a short text, and how much of the text is covered by the query.
/// Both are between 0 and 1.
#[derive(Debug, Default)]
struct NameMatch {
    /// The share of the query that occurs.
    found: f64,
    /// The share of the text that is covered.
    covered: f64,
    /// Whether the text begins with a match.
    is_first: bool,
}

impl NameMatch {
    fn of(query: &Query, text: &str) -> Self {
        let words: Vec<Word> = fold::words(text).collect();
        let (mut groups, mut covered, mut is_first, mut at) = (Vec::new(), 0, false, 0);
        while at < words.len() {
            let hit = query.hit_at(&words, at);
            is_first |= at == 0 && hit.is_some();
            if let Some((length, group)) = hit {
                covered += length;
                groups.push(group);
            }
            at += hit.map_or(1, |(length, _)| length.max(1));
        }
        groups.sort_unstable();
        groups.dedup();
        Self {
            found: ratio(groups.len(), query.groups()),
            covered: ratio(covered, words.len()),
            is_first,
        }
    }

    fn share(&self) -> f64 {
        self.found * self.covered
    }

    /// The match of a title. The first words count most, because they name the subject.
    fn title(&self) -> f64 {
        let first = if self.is_first { 1.0 } else { 0.0 };
        self.found * (first + self.covered) / 2.0
    }
}

fn ratio(some: usize, all: usize) -> f64 {
    let [some, all] = [some, all].map(|count| f64::from(u32::try_from(count).unwrap_or(u32::MAX)));
    if all > 0.0 { some / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_with_that_name_matches_best() {
        for (query, best, worse) in [
            (
                "vec",
                ("Vec in std::vec - Rust", "/std/vec/struct.Vec.html"),
                ("nomicon", "/vec/vec-alloc.html"),
            ),
            (
                "vec",
                ("Vec in std::vec - Rust", "/std/vec/struct.Vec.html"),
                ("std::vec - Rust", "/std/vec/index.html"),
            ),
            (
                "vec push",
                ("Vec in std::vec - Rust", "/struct.Vec.html"),
                ("VecDeque - Rust", "/struct.VecDeque.html"),
            ),
            (
                "json",
                ("json — JSON encoder", "/3/library/json.html"),
                ("What is new, json and more", "/3/new.html"),
            ),
            ("map", ("Array.prototype.map()", "/Array/map"), ("Array", "/Array/")),
            ("café", ("Home", "/caf%C3%A9/"), ("Home", "/tea/")),
            ("example", ("Home", "/"), ("Home", "/about.html")),
            ("hash map", ("Hash map | Site", "/x"), ("Site | Hash map", "/x")),
        ] {
            let query = Query::parse(query);
            let of = |(title, path): (&str, &str)| of_names(&query, title, "www.example.org", path);
            assert!(
                of(best) > of(worse),
                "{query:?}: {best:?} {} {worse:?} {}",
                of(best),
                of(worse)
            );
        }
        assert_eq!(of_names(&Query::parse("tea"), "Coffee", "a.example", "/x.html").to_bits(), 0);
    }

    #[test]
    fn a_segment_is_a_file_or_its_folder() {
        for (path, want) in [
            ("/", None),
            ("/index.html?x=/y", None),
            ("/a/b/index.html", Some("b")),
            ("/a/b/", Some("b")),
            ("/a/b.html", Some("b.html")),
            ("/.profile", Some(".profile")),
            ("", None),
        ] {
            assert_eq!(segment(path), want, "{path}");
        }
    }
}
