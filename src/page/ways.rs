//! The offers of a message page: links to pages of ours, a form that fetches, and stored URLs that
//! resemble the requested one.

use crate::page::links;
use jiff::Timestamp;
use serde::Serialize;
use wwwoffle_config::schema::SECTIONS;
use wwwoffle_url::{url_decode_form_args, url_encode_form_args};

use crate::base::shown::{self, ShownTime, ShownUrl};
use crate::base::text::{Text, tr};
use crate::page::{Shell, View, view};
use crate::storage::versions::memento::version_path;
use wwwoffle_api::Mode;
use wwwoffle_http::caching::like::Likeness;

/// The path of the page that lists stored URLs that resemble a given one.
pub const MISSING: &str = "/missing/";

/// Maximum number of words of a URL that are searched for.
const MAX_WORDS: usize = 3;

/// Minimum length of a significant word, in characters.
const SHORTEST_WORD: usize = 3;

/// Words in addresses that say nothing about the page.
const SAY_NOTHING: [&str; 9] =
    ["html", "htm", "php", "asp", "aspx", "index", "search", "find", "amp"];

/// A link to a page of ours.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PageLink {
    /// The address, without scheme and host.
    path: String,
    label: Text,
}

impl PageLink {
    fn to(path: impl Into<String>, label: Text) -> Self {
        Self { path: path.into(), label }
    }

    /// Returns a link to the start page, where the mode is changed.
    pub(crate) fn mode(mode: Mode) -> Self {
        let label = match mode {
            Mode::Offline => tr("Go online"),
            Mode::Online | Mode::Autodial => tr("Go offline: show saved pages and queue the rest"),
        };
        Self::to("/", label)
    }

    pub(crate) fn start() -> Self {
        Self::to("/", tr("The start page of the proxy"))
    }

    /// Returns a link to the list that contains the button that was pressed. `path` is a path of
    /// ours.
    pub(crate) fn back(path: &str) -> Self {
        Self::to(path, tr("Back to the list"))
    }

    /// Returns a link to an address of ours that a page of another site may have opened. `path` is
    /// a path of ours.
    pub(crate) fn open(path: &str) -> Self {
        Self::to(path, tr("Open this address"))
    }

    pub(crate) fn queue() -> Self {
        Self::to("/queue/", tr("See the whole queue"))
    }

    pub(crate) fn lists() -> Self {
        Self::to("/index/", tr("Lists of everything saved"))
    }

    pub(crate) fn purge() -> Self {
        Self::to("/purge/", tr("Free disk space: see what would be purged"))
    }

    pub(crate) fn usage() -> Self {
        Self::to("/usage/", tr("See your quotas, and when they are renewed"))
    }

    pub(crate) fn authority() -> Self {
        Self::to("/ca", tr("Save pages of secure sites: trust the certificate of this proxy"))
    }

    /// Returns a link to the form that changes an option, prepared for a rule for `url`.
    pub(crate) fn option(section: &str, key: &str, url: Option<&str>) -> Self {
        let url = url.and_then(linkable);
        let path = links::configuration(&[section, key], url.as_deref());
        debug_assert!(has_option(section, key), "[{section}] {key}");
        let option = format!("[{section}] {key}");
        Self::to(path, tr("Change {option} in the configuration").with("option", option))
    }

    /// Returns a link to the values of all options for a URL.
    pub(crate) fn rules(url: &str) -> Option<Self> {
        let path = links::configuration(&["url"], Some(&linkable(url)?));
        Some(Self::to(path, tr("Configuration for this address")))
    }

    /// Returns a link to the stored URLs that resemble `url`.
    pub(crate) fn like(url: &str) -> Option<Self> {
        let path = with_url(MISSING, url)?;
        Some(Self::to(path, tr("Look for similar saved pages")))
    }

    /// Returns a link to the stored URLs of the same host.
    pub(crate) fn host(url: &str) -> Option<Self> {
        Some(Self::to(with_url("/index/url", url)?, tr("Saved from this host")))
    }

    /// Returns a link to a search for stored pages that contain the words of a URL.
    pub(crate) fn words(url: &str) -> Option<Self> {
        let words = words(&linkable(url)?);
        let path = format!("{}?q={}", links::SEARCH, url_encode_form_args(words.as_bytes()));
        let label = tr("Search saved pages for: {words}").with("words", shown::text(&words));
        (!words.is_empty()).then(|| Self::to(path, label))
    }

    /// Returns a link to the form that fetches a page, with all its options.
    pub(crate) fn choices(url: &str) -> Option<Self> {
        linkable(url)?;
        Some(Self::to(links::fetch(url), tr("Other ways to fetch it")))
    }

    pub(crate) fn about(url: &str) -> Option<Self> {
        linkable(url)?;
        Some(Self::to(links::info(url), tr("Details")))
    }

    pub(crate) fn captures(url: &str) -> Option<Self> {
        linkable(url)?;
        Some(Self::to(links::captures(url), tr("Look for it in web archives")))
    }

    pub(crate) fn versions(url: &str) -> Option<Self> {
        linkable(url)?;
        Some(Self::to(links::history(url), tr("Older versions")))
    }
}

fn has_option(section: &str, key: &str) -> bool {
    let known = SECTIONS.iter().find(|known| known.name == section);
    known.is_some_and(|known| known.options.iter().any(|option| option.key == key))
}

/// Returns a URL in the form in which an address of ours may contain it.
fn linkable(url: &str) -> Option<String> {
    ShownUrl::new(url).href
}

fn with_url(path: &str, url: &str) -> Option<String> {
    Some(format!("{path}?{}", url_encode_form_args(linkable(url)?.as_bytes())))
}

/// Returns the most descriptive words of a URL, as written: the last words of its path, or else of
/// the values of its arguments.
fn words(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let Some((_, rest)) = rest.split_once('/') else { return String::new() };
    let (path, arguments) = rest.split_once('?').unwrap_or((rest, ""));
    let values =
        arguments.split('&').map(|one| one.split_once('=').map_or(one, |(_, value)| value));
    let of_path = key_words(path);
    let words =
        if of_path.is_empty() { key_words(&values.collect::<Vec<_>>().join(" ")) } else { of_path };
    words.join(" ")
}

/// Returns the last significant words of an encoded text, at most [`MAX_WORDS`].
fn key_words(text: &str) -> Vec<String> {
    let text = url_decode_form_args(text.as_bytes());
    let text = String::from_utf8_lossy(&text);
    let mut words: Vec<String> = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let says = word.chars().count() >= SHORTEST_WORD
            && !word.chars().all(|c| c.is_ascii_digit())
            && !SAY_NOTHING.contains(&word.to_ascii_lowercase().as_str());
        if says && !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    let first = words.len().saturating_sub(MAX_WORDS);
    words.split_off(first)
}

/// A page that can be fetched, with the token for that one purpose.
#[derive(Clone, Copy, Debug)]
pub struct FetchOffer<'a> {
    /// The URL, without credentials.
    pub url: &'a str,
    /// [`Tokens::fetch`](super::token::Tokens::fetch) for that URL, or on a local page the general token.
    pub token: &'a str,
}

/// Returns the form that fetches the page of a [`FetchOffer`]; `None` if a form cannot send the URL
/// back unchanged.
pub(crate) fn fetch_form(fetch: &FetchOffer<'_>, shell: &Shell) -> Option<View> {
    let url = linkable(fetch.url).filter(|url| url == fetch.url)?;
    Some(view! {
        url,
        token: fetch.token,
        as_configured: wwwoffle_api::fetch_spec::AS_CONFIGURED,
        // Whether the fetch waits until we are online.
        is_offline: shell.mode == Mode::Offline,
    })
}

/// A stored page that resembles the requested one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimilarPage {
    /// The difference between the two URLs.
    pub likeness: Likeness,
    /// The URL.
    pub url: String,
    /// When the page was stored, and when it arrived.
    pub version: (Timestamp, Timestamp),
}

/// Returns the list of stored pages that resemble the requested one.
pub(crate) fn similar_pages(likes: &[SimilarPage], shell: &Shell) -> Vec<View> {
    let row = |like: &SimilarPage| {
        view! {
            url: ShownUrl::new(&like.url),
            how: likeness_text(like.likeness),
            when: ShownTime::new(like.version.1, &shell.zone),
            // Address, without scheme and host, of the page that displays the stored version. While
            // offline, the URL itself leads there. Otherwise it may lead to the origin.
            copy: copy_of(&like.url, like.version).filter(|_| shell.mode != Mode::Offline),
        }
    };
    likes.iter().map(row).collect()
}

/// Returns the address, without scheme and host, of the page that displays a version.
pub(crate) fn copy_of(url: &str, version: (Timestamp, Timestamp)) -> Option<String> {
    linkable(url).map(|url| version_path(&url, version))
}

fn likeness_text(likeness: Likeness) -> Text {
    match likeness {
        Likeness::Scheme => tr("the same page at http or https"),
        Likeness::Www => tr("the same page with or without www"),
        Likeness::Arguments => tr("the same page with other tracking parameters"),
        Likeness::Order => tr("the same arguments in another order"),
        Likeness::Slash => tr("the same address with or without a final slash or index.html"),
        Likeness::Case => tr("the same address with different capitals"),
        Likeness::Several => tr("an address that differs slightly"),
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn search_words_come_from_the_end_of_a_url() {
        for (url, want) in [
            ("http://a.example/", ""),
            ("http://a.example", ""),
            ("http://a.example/2026/11/the-long-way-home.html", "long way home"),
            ("http://a.example/wiki/B%C3%A4ume?action=edit", "wiki Bäume"),
            ("http://a.example/search?q=green+tea&page=2", "green tea"),
            ("http://a.example/index.php?id=1234", ""),
            ("http://a.example/%3Cscript%3E/x", "script"),
            ("http://a.example/?a%26b=%3D", ""),
            ("http://a.example/tea/tea/TEA", "tea TEA"),
        ] {
            assert_eq!(words(url), want, "{url}");
        }
    }
}
