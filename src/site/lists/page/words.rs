//! Texts of the lists: headings, parent lists, orders and classes.

use wwwoffle_index::{Class, Sort};

use super::{Crumb, ROOT};
use crate::base::shown;
use crate::base::text::{Text, count, say};
use crate::page::form::SelectOption;

/// Maximum number of characters of a title that are shown.
const SHOWN_TITLE: usize = 120;

/// The schemes that have a list of hosts.
pub const SCHEMES: [&str; 4] = ["http", "https", "ftp", "finger"];

/// Returns a title for display, of bounded length.
pub(super) fn cut(title: &str) -> String {
    let title = shown::text(title);
    match title.char_indices().nth(SHOWN_TITLE) {
        Some((end, _)) => format!("{} …", title.get(..end).unwrap_or_default()),
        None => title,
    }
}

/// Returns the heading of the list at `path`.
pub(super) fn heading(path: &str) -> Text {
    let (word, rest) = path.trim_end_matches('/').split_once('/').unwrap_or((path, ""));
    match (word.trim_end_matches('/'), rest) {
        ("all", "") => say("Everything saved"),
        ("sites", "") => say("Sites"),
        ("hosts", "") => say("Hosts"),
        ("lasttime", "") => say("Saved in the last online session"),
        ("lastout", "") => say("Requested in the last offline session"),
        ("site", site) => say("Saved from {site}").with("site", shown::text(site)),
        (scheme, "") if SCHEMES.contains(&scheme) => by_scheme(scheme),
        (scheme, host) if SCHEMES.contains(&scheme) => {
            say("Saved from {site}").with("site", shown::text(&format!("{scheme}://{host}")))
        }
        (word, _) => {
            let back = |begin: &str| word.strip_prefix(begin)?.parse::<u64>().ok();
            match (back("prevtime"), back("prevout")) {
                (Some(back), _) => count(
                    back,
                    "Saved {n} online session before the last",
                    "Saved {n} online sessions before the last",
                ),
                (_, Some(back)) => count(
                    back,
                    "Requested {n} offline session before the last",
                    "Requested {n} offline sessions before the last",
                ),
                _ => say("Lists"),
            }
        }
    }
}

fn by_scheme(scheme: &str) -> Text {
    say("Hosts ({scheme})").with("scheme", scheme)
}

/// Returns links to the parent lists.
pub(super) fn breadcrumbs(path: &str) -> Vec<Crumb> {
    let link = |label, path: &str| Crumb { label, path: format!("{ROOT}{path}") };
    let mut crumbs = vec![link(say("Lists"), "")];
    crumbs.extend(match path.split_once('/') {
        Some(("site", rest)) if !rest.is_empty() => Some(link(say("Sites"), "sites")),
        Some((scheme, rest)) if !rest.is_empty() => {
            let known = SCHEMES.into_iter().find(|known| *known == scheme);
            known.map(|scheme| link(by_scheme(scheme), scheme))
        }
        _ => None,
    });
    crumbs
}

/// Returns the orders that a list can have.
pub(super) fn sorts(chosen: Option<Sort>) -> Vec<SelectOption> {
    let label = |sort| match sort {
        Sort::Name => say("by name"),
        Sort::Stored => say("most recently saved first"),
        Sort::Used => say("most recently used first"),
        Sort::Day => say("by day"),
        Sort::Domain => say("by domain"),
        Sort::Type => say("by type"),
        Sort::Size => say("largest first"),
        Sort::Random => say("at random"),
    };
    let choice = |sort: Sort| SelectOption {
        value: sort.name(),
        label: label(sort),
        chosen: chosen == Some(sort),
    };
    Sort::ALL.into_iter().map(choice).collect()
}

/// Returns the classes to which a list can be restricted.
pub(super) fn kinds(chosen: Option<Class>) -> Vec<SelectOption> {
    let rows = [
        (say("all types"), None),
        (say("pages"), Some(Class::Page)),
        (say("plain text"), Some(Class::Text)),
        (say("documents"), Some(Class::Document)),
        (say("images"), Some(Class::Image)),
        (say("audio and video files"), Some(Class::Media)),
        (say("archives (zip and similar)"), Some(Class::Archive)),
        (say("styles"), Some(Class::Style)),
        (say("scripts"), Some(Class::Script)),
        (say("fonts"), Some(Class::Font)),
        (say("data"), Some(Class::Data)),
    ];
    let choice = |(label, kind): (Text, Option<Class>)| SelectOption {
        value: kind.map(Class::name).unwrap_or_default(),
        label,
        chosen: chosen == kind,
    };
    rows.into_iter().map(choice).collect()
}
