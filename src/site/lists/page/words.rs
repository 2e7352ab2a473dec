//! Texts of the lists: headings, parent lists, orders and classes.

use wwwoffle_index::{ContentClass, Sort};
use wwwoffle_url::SCHEMES;

use super::{ListAddress, ROOT};
use crate::base::shown;
use crate::base::text::{Text, count, tr};
use crate::page::form::SelectOption;
use crate::page::{View, view};

/// Maximum number of characters of a title that are shown.
const SHOWN_TITLE: usize = 120;

/// Returns a title for display, of bounded length.
pub(super) fn cut(title: &str) -> String {
    let title = shown::text(title);
    match title.char_indices().nth(SHOWN_TITLE) {
        Some((end, _)) => format!("{} …", title.get(..end).unwrap_or_default()),
        None => title,
    }
}

/// Returns the heading of a list.
pub(super) fn heading(list: &ListAddress) -> Text {
    match &list.collection {
        Some(name) => tr("In the collection {name}").with("name", shown::text(name)),
        None if !list.words.is_empty() => {
            tr("Pages found for {words}").with("words", shown::text(&list.words))
        }
        None if list.filter.is_everywhere => tr("Hosts of all nodes"),
        None => heading_of_path(&list.path),
    }
}

fn heading_of_path(path: &str) -> Text {
    let (word, rest) = path.trim_end_matches('/').split_once('/').unwrap_or((path, ""));
    match (word.trim_end_matches('/'), rest) {
        ("all", "") => tr("Everything saved"),
        ("sites", "") => tr("Sites"),
        ("hosts", "") => tr("Hosts"),
        ("lasttime", "") => tr("Saved in the last online session"),
        ("lastout", "") => tr("Requested in the last offline session"),
        ("site", site) => tr("Saved from {site}").with("site", shown::text(site)),
        (scheme, "") if SCHEMES.contains(&scheme) => by_scheme(scheme),
        (scheme, host) if SCHEMES.contains(&scheme) => {
            tr("Saved from {site}").with("site", shown::text(&format!("{scheme}://{host}")))
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
                _ => tr("Library"),
            }
        }
    }
}

fn by_scheme(scheme: &str) -> Text {
    tr("Hosts ({scheme})").with("scheme", scheme)
}

/// Returns links to the parent lists.
pub(super) fn breadcrumbs(path: &str) -> Vec<View> {
    let link = |label: Text, path: &str| view! { label, path: format!("{ROOT}{path}") };
    let mut crumbs = vec![link(tr("Library"), "")];
    crumbs.extend(match path.split_once('/') {
        Some(("site", rest)) if !rest.is_empty() => Some(link(tr("Sites"), "sites")),
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
        Sort::Name => tr("by name"),
        Sort::Stored => tr("most recently saved first"),
        Sort::Used => tr("most recently used first"),
        Sort::Day => tr("by day"),
        Sort::Domain => tr("by domain"),
        Sort::Type => tr("by type"),
        Sort::Size => tr("largest first"),
        Sort::Random => tr("at random"),
    };
    let choice = |sort: Sort| SelectOption {
        value: sort.as_str(),
        label: label(sort),
        chosen: chosen == Some(sort),
    };
    Sort::ALL.into_iter().map(choice).collect()
}

/// Returns the classes to which a list can be restricted.
pub(super) fn kinds(chosen: Option<ContentClass>) -> Vec<SelectOption> {
    let rows = [
        (tr("all types"), None),
        (tr("pages"), Some(ContentClass::Page)),
        (tr("plain text"), Some(ContentClass::Text)),
        (tr("documents"), Some(ContentClass::Document)),
        (tr("images"), Some(ContentClass::Image)),
        (tr("audio and video files"), Some(ContentClass::Media)),
        (tr("archives (zip and similar)"), Some(ContentClass::Archive)),
        (tr("styles"), Some(ContentClass::Style)),
        (tr("scripts"), Some(ContentClass::Script)),
        (tr("fonts"), Some(ContentClass::Font)),
        (tr("data"), Some(ContentClass::Data)),
    ];
    let choice = |(label, kind): (Text, Option<ContentClass>)| SelectOption {
        value: kind.map(ContentClass::as_str).unwrap_or_default(),
        label,
        chosen: chosen == kind,
    };
    rows.into_iter().map(choice).collect()
}
