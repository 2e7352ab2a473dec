//! The page with the actions on whole lists: what they contain, and a button for each action.

use wwwoffle_index::ContentClass;
use wwwoffle_spool::MAX_REMOVED_BYTES;
use wwwoffle_url::url_encode_form_args;

use super::words::{heading, kinds};
use super::{ListAddress, ROOT, words};
use crate::base::shown;
use crate::base::text::Text;
use crate::page::{RenderedPage, Shell, view};
use crate::storage::lists::whole::{GatheredEntries, MOST};

/// Path of the page and of its form.
pub const PATH: &str = "/control/delete/url-all";

/// Argument and form field that name a list. Several lists are several fields.
pub const LIST: &str = "list";

/// Form field with a time: only entries stored before it are deleted.
pub const UNTIL: &str = "stored-before";

/// Returns the address of the page for the list `shown`.
pub(in crate::site) fn address(shown: &ListAddress) -> String {
    let list = shown.first().address();
    format!("{PATH}?{LIST}={}", url_encode_form_args(list.as_bytes()))
}

/// The entries of the list.
#[derive(Debug)]
pub struct ListContents<'a> {
    /// The entries found until the search ended or reached its limit.
    pub gathered: &'a GatheredEntries,
    /// Whether the search found all entries.
    pub is_all: bool,
    /// Whether the lists may be deleted as a whole.
    pub can_delete: bool,
    /// Whether the list may contain entries of other owners, which are not deleted.
    pub has_others: bool,
    /// Time of the search, for the form field [`UNTIL`].
    pub until: String,
}

/// Renders the page for one or more lists, to be acted on together.
#[must_use]
pub fn page(shell: &Shell, lists: &[ListAddress], found: &ListContents<'_>) -> RenderedPage {
    let GatheredEntries { places, bytes, pinned, named, .. } = found.gathered;
    let list = |list: &ListAddress| {
        let filter = &list.filter;
        let text = (!filter.text.is_empty()).then(|| ("text", shown::text(&filter.text)));
        let is_named = |name: &str| name == "collection" && list.collection.is_some();
        let others = filter.others.iter().filter(|(name, _)| !is_named(name));
        let others = others.map(|(name, value)| (*name, shown::text(value)));
        view! {
            heading: heading(list),
            address: list.first().address(),
            // The filters of the list, in words.
            kind: filter.kind.and_then(label),
            pages_only: filter.pages_only,
            narrowed: text.into_iter().chain(others).collect::<Vec<_>>(),
        }
    };
    let view = view! {
        lists: lists.iter().map(list).collect::<Vec<_>>(),
        // Address of the page with the list or the lists.
        back: return_to(lists),
        until: &found.until,
        // The entries of the lists.
        contents: view! {
            entries: places.len(),
            size: shown::bytes(*bytes),
            pinned,
            named: named.iter().map(|name| words::cut(name)).collect::<Vec<_>>(),
            is_all: found.is_all,
            has_others: found.has_others,
            can_delete: found.can_delete,
            most: MOST,
            // The size up to which a deletion can be undone, if the entries exceed it.
            for_good: is_for_good(*bytes).then(|| shown::bytes(MAX_REMOVED_BYTES)),
        },
    };
    shell.page("lists-whole.html", 200, &view)
}

/// Returns the address of the page from which the lists were chosen: that of the only list, or the
/// library.
#[must_use]
pub fn return_to(lists: &[ListAddress]) -> String {
    match lists {
        [list] => list.first().address(),
        _ => ROOT.to_owned(),
    }
}

/// Whether a deletion of this size cannot be undone.
#[must_use]
pub fn is_for_good(bytes: u64) -> bool {
    bytes > MAX_REMOVED_BYTES
}

fn label(kind: ContentClass) -> Option<Text> {
    kinds(Some(kind)).into_iter().find(|choice| choice.chosen).map(|choice| choice.label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::{as_key, assert_harmless, hostile, shell};
    use crate::site::lists::page::ListFilter;

    fn made(list: &ListAddress, gathered: &GatheredEntries, is_all: bool) -> String {
        let until = "2026-11-20T12:00:00Z".to_owned();
        let found = ListContents { gathered, is_all, can_delete: true, has_others: true, until };
        let page = page(&shell(), std::slice::from_ref(list), &found);
        assert_eq!(page.status, 200);
        assert_harmless(&page);
        page.body
    }

    #[test]
    fn the_confirmation_shows_the_amount_and_whether_undo_is_possible() {
        let list = ListAddress {
            path: "http/a.example".into(),
            filter: ListFilter {
                kind: Some(ContentClass::Image),
                text: "cat".into(),
                ..ListFilter::default()
            },
            after: Some("x".into()),
            ..ListAddress::default()
        };
        let mut gathered = GatheredEntries::default();
        (gathered.bytes, gathered.pinned) = (3_000, 1);
        gathered.named = vec!["A title".into()];
        let body = made(&list, &gathered, true);
        for want in [
            "0 entries, 3.0 kB",
            "1 of them is pinned",
            "A title",
            "Saved from http://a.example",
            "images",
            "cat",
            "You have an hour to restore them",
            "action=\"http://localhost:8080/control/delete/url-all\"",
            "name=\"token\" value=\"f00\"",
            "name=\"stored-before\" value=\"2026-11-20T12:00:00Z\"",
            "name=\"list\" value=\"/index/http/a.example?type=image&amp;text=cat\"",
        ] {
            assert!(body.contains(want), "{want} in {body}");
        }
        gathered.bytes = u64::MAX;
        let body = made(&list, &gathered, false);
        assert!(body.contains("cannot undo this") && body.contains("At most 10000"), "{body}");
        assert!(!body.contains("an hour to restore"), "{body}");
    }

    #[test]
    fn hostile_values_are_text() {
        for text in hostile() {
            // Typed text is part of the address, so it is tested only with the texts that a key can
            // have.
            let typed = as_key(&text).to_owned();
            let others = vec![("status", typed.clone())];
            let list = ListAddress {
                filter: ListFilter { text: typed, others, ..ListFilter::default() },
                ..ListAddress::default()
            };
            let mut gathered = GatheredEntries::default();
            gathered.named.push(text);
            made(&list, &gathered, true);
        }
    }
}
