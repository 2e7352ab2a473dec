//! URL arguments that do not select content: campaign and click identifiers, and cache-busters.
//! They are called noise.
//!
//! URLs that differ only in these arguments name one page. Offline, one URL may be answered with
//! the stored page of another ([`near_urls`]). Online this never happens, because an origin may
//! interpret its arguments freely.
//!
//! `noise.txt` lists the arguments and their sources. All other arguments, and their order, select
//! content and must be equal in the canonical form. A possible cache-buster counts as noise only if
//! its value is a time or a random number, because `t=2` may be a second page.

use wwwoffle_config::ArgumentNames;
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// The maximum number of URLs that [`near_urls`] returns.
pub const MAX_NEAR: usize = 3;

/// The built-in list.
const LIST: &str = include_str!("noise.txt");

/// File names that servers use for the page of a directory.
const INDEX_NAMES: [&str; 2] = ["index.html", "index.htm"];

/// The difference between a near URL and the requested URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearness {
    /// Arguments that do not select content.
    Arguments,
    /// The scheme is `http` instead of `https`, or the reverse. Arguments that do not select
    /// content may differ too.
    Scheme,
    /// One of the paths ends in `index.html`, and the stored response shows that both name the same
    /// page.
    Index,
    /// The canonical URL is equal, but the client spelled the URL differently.
    Spelling,
}

/// The values with which an argument is noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoiseValue {
    Any,
    Time,
    Chance,
}

/// The URLs that may replace `url`, the nearest first, without duplicates: without noise, with the
/// other scheme, and with both changes. `added` has further noise arguments. A URL with an explicit
/// port has no counterpart with the other scheme.
#[must_use]
pub fn near_urls(
    url: &CanonicalUrl,
    local: &LocalHost,
    added: &ArgumentNames,
) -> Vec<(Nearness, CanonicalUrl)> {
    let read = |text: &str| CanonicalUrl::parse(text, local).ok();
    let quiet = without_noise(url.as_str(), added);
    let mut all: Vec<(Nearness, CanonicalUrl)> = Vec::with_capacity(MAX_NEAR);
    all.extend(quiet.as_deref().and_then(read).map(|url| (Nearness::Arguments, url)));
    if url.port().is_none() {
        for text in [Some(url.as_str()), quiet.as_deref()].into_iter().flatten() {
            let other = other_scheme(text).as_deref().and_then(read);
            all.extend(other.map(|url| (Nearness::Scheme, url)));
        }
    }
    all
}

/// The URLs for which most servers send the same page: `/x/` for `/x/index.html`, and the reverse.
/// Whether this server does so is unknown.
#[must_use]
pub fn index_spellings(url: &CanonicalUrl, local: &LocalHost) -> Vec<CanonicalUrl> {
    let (path, arguments) = match url.as_str().split_once('?') {
        Some((path, arguments)) => (path, format!("?{arguments}")),
        None => (url.as_str(), String::new()),
    };
    let directory = INDEX_NAMES.iter().find_map(|name| path.strip_suffix(name));
    let paths = match directory {
        Some(directory) if directory.ends_with('/') => vec![directory.to_owned()],
        None if path.ends_with('/') => {
            INDEX_NAMES.iter().map(|name| format!("{path}{name}")).collect()
        }
        _ => Vec::new(),
    };
    let read = |path: String| CanonicalUrl::parse(&format!("{path}{arguments}"), local).ok();
    paths.into_iter().filter_map(read).collect()
}

fn other_scheme(url: &str) -> Option<String> {
    match url.split_once("://")? {
        ("http", rest) => Some(format!("https://{rest}")),
        ("https", rest) => Some(format!("http://{rest}")),
        _ => None,
    }
}

/// A canonical URL without its noise. `None` if it has no noise or is a form submission.
#[must_use]
pub fn without_noise(url: &str, added: &ArgumentNames) -> Option<String> {
    let (page, arguments) = url.split_once('?')?;
    if arguments.starts_with('!') || arguments.contains("&!POST:") {
        return None;
    }
    let all = arguments.split('&');
    let kept: Vec<&str> = all.clone().filter(|argument| !is_noise(argument, added)).collect();
    match kept.len() {
        0 => Some(page.to_owned()),
        count if count == all.count() => None,
        _ => Some(format!("{page}?{}", kept.join("&"))),
    }
}

/// Whether `kept` has noise, and equals `asked` after noise is removed from both.
#[must_use]
pub fn differ_in_noise(asked: &str, kept: &str, added: &ArgumentNames) -> bool {
    let page = |url: &str| url.split(['?', '#']).next().map(str::len);
    // Fast path: for most URLs of a host, the parts before the arguments differ in length.
    if page(asked) != page(kept) {
        return false;
    }
    let quiet = without_noise(asked, added);
    without_noise(kept, added).is_some_and(|kept| kept == quiet.as_deref().unwrap_or(asked))
}

fn is_noise(argument: &str, added: &ArgumentNames) -> bool {
    let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
    if added.contains(name) {
        return true;
    }
    let rows = LIST.lines().filter(|row| !row.is_empty() && !row.starts_with('#'));
    rows.map(parse).any(|(pattern, wanted)| names(pattern, name) && wanted.is(value))
}

/// Parses a row of the list.
fn parse(row: &str) -> (&str, NoiseValue) {
    match row.split_once(" = ") {
        Some((name, "time")) => (name, NoiseValue::Time),
        Some((name, _)) => (name, NoiseValue::Chance),
        None => (row, NoiseValue::Any),
    }
}

fn names(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(begin) => name.len() > begin.len() && name.starts_with(begin),
        None => name == pattern,
    }
}

impl NoiseValue {
    fn is(self, value: &str) -> bool {
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match self {
            NoiseValue::Any => true,
            // From 2001 to 2286: 10 digits of seconds or 13 of milliseconds.
            NoiseValue::Time => {
                matches!(value.len(), 10 | 13) && digits(value) && !value.starts_with('0')
            }
            NoiseValue::Chance => {
                value.strip_prefix("0.").is_some_and(|rest| rest.len() >= 6 && digits(rest))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_the_list_is_valid() {
        for (number, row) in (1..).zip(LIST.lines()) {
            if row.is_empty() || row.starts_with('#') {
                continue;
            }
            let (name, value) = row.split_once(" = ").unwrap_or((row, ""));
            assert!(["", "time", "chance"].contains(&value), "noise.txt:{number}: {row}");
            let plain = name.strip_suffix('*').unwrap_or(name);
            let is_name = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
            assert!(!plain.is_empty() && plain.bytes().all(is_name), "noise.txt:{number}: {row}");
        }
    }

    #[test]
    fn urls_that_differ_only_in_tracking_parameters_are_similar() {
        let local = LocalHost::default();
        let url = |text: &str| CanonicalUrl::parse(text.trim(), &local).unwrap();
        let mut wrong = Vec::new();
        for (number, row) in (1..).zip(include_str!("near.txt").lines()) {
            let Some((asked, rest)) = row.split_once(" <- ").filter(|_| !row.starts_with('#'))
            else {
                continue;
            };
            let (kept, want) = rest.split_once(" : ").unwrap();
            let (asked_url, kept) = (url(asked), url(kept));
            let in_noise =
                differ_in_noise(asked_url.as_str(), kept.as_str(), &ArgumentNames::default());
            let found = near_urls(&url(asked), &local, &ArgumentNames::default());
            assert!(found.len() <= MAX_NEAR, "{row}");
            let got =
                found.iter().find(|(_, url)| *url == kept).map_or("no", |(near, _)| match near {
                    Nearness::Arguments => "arguments",
                    Nearness::Scheme => "scheme",
                    Nearness::Index => "index",
                    Nearness::Spelling => "spelling",
                });
            let got = if in_noise && asked_url != kept { "noisy" } else { got };
            if got != want.trim() {
                wrong.push(format!("near.txt:{number}: {row}, but it is {got}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_directory_and_its_index_file_are_similar() {
        let local = LocalHost::default();
        for (url, want) in [
            ("http://a.example/x/index.html", &["http://a.example/x/"][..]),
            ("http://a.example/index.htm?a=1", &["http://a.example/?a=1"]),
            ("http://a.example/", &["http://a.example/index.html", "http://a.example/index.htm"]),
            ("http://a.example/x", &[]),
            ("http://a.example/my-index.html", &[]),
        ] {
            let found = index_spellings(&CanonicalUrl::parse(url, &local).unwrap(), &local);
            let found: Vec<_> = found.iter().map(CanonicalUrl::as_str).collect();
            assert_eq!(found, want, "{url}");
        }
    }
}
