//! The page that asks whether all of a list is to be deleted, and says how much that is.

use serde::Serialize;
use wwwoffle_index::Class;
use wwwoffle_spool::MAX_REMOVED_BYTES;
use wwwoffle_url::url_encode_form_args;

use super::words::{heading, kinds};
use super::{Shown, words};
use crate::base::shown;
use crate::base::text::Text;
use crate::page::{Page, Shell, Templates};
use crate::storage::lists::whole::{Gathered, MOST};

/// Where it is, and where its form goes.
pub const PATH: &str = "/control/delete/url-all";

/// The argument and the field that name the list.
pub const LIST: &str = "list";

/// The field that says until when what is deleted was stored.
pub const UNTIL: &str = "stored-before";

/// The page that asks for all of a list.
pub(super) fn address(shown: &Shown) -> String {
    let list = shown.first().address();
    format!("{PATH}?{LIST}={}", url_encode_form_args(list.as_bytes()))
}

/// What was found of the list.
#[derive(Debug)]
pub struct Found<'a> {
    /// Its entries, as far as they were looked for.
    pub gathered: &'a Gathered,
    /// They are all.
    pub is_all: bool,
    /// There may be entries in it of others, which stay.
    pub has_others: bool,
    /// When it was looked, as the form has it again.
    pub until: String,
}

#[derive(Serialize)]
struct View<'a> {
    heading: Text,
    token: &'a str,
    /// The list.
    back: String,
    until: &'a str,
    entries: usize,
    size: String,
    pinned: u64,
    named: Vec<String>,
    is_all: bool,
    has_others: bool,
    most: usize,
    /// It is more than can be had back: so much can be.
    for_good: Option<String>,
    /// What the list is narrowed to.
    kind: Option<Text>,
    pages_only: bool,
    narrowed: Vec<(&'static str, String)>,
}

/// Makes the page; `token` is the general token.
#[must_use]
pub fn page(
    templates: &Templates,
    shell: &Shell,
    list: &Shown,
    found: &Found<'_>,
    token: &str,
) -> Page {
    let Gathered { places, bytes, pinned, named, .. } = found.gathered;
    let text = (!list.text.is_empty()).then(|| ("text", shown::text(&list.text)));
    let others = list.others.iter().map(|(name, value)| (*name, shown::text(value)));
    let view = View {
        heading: heading(&list.path),
        token,
        back: list.first().address(),
        until: &found.until,
        entries: places.len(),
        size: shown::bytes(*bytes),
        pinned: *pinned,
        named: named.iter().map(|name| words::cut(name)).collect(),
        is_all: found.is_all,
        has_others: found.has_others,
        most: MOST,
        for_good: is_for_good(*bytes).then(|| shown::bytes(MAX_REMOVED_BYTES)),
        kind: list.kind.and_then(label),
        pages_only: list.pages_only,
        narrowed: text.into_iter().chain(others).collect(),
    };
    templates.page("lists-delete.html", 200, shell, &view)
}

/// Whether so much cannot be had back once it is deleted.
#[must_use]
pub fn is_for_good(bytes: u64) -> bool {
    bytes > MAX_REMOVED_BYTES
}

fn label(kind: Class) -> Option<Text> {
    kinds(Some(kind)).into_iter().find(|choice| choice.chosen).map(|choice| choice.label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::{as_key, assert_harmless, hostile, shell, templates};

    fn made(list: &Shown, gathered: &Gathered, is_all: bool) -> String {
        let until = "2026-11-20T12:00:00Z".to_owned();
        let found = Found { gathered, is_all, has_others: true, until };
        let page = page(&templates(), &shell(), list, &found, "f00");
        assert_eq!(page.status, 200);
        assert_harmless(&page);
        page.body
    }

    #[test]
    fn it_says_how_much_goes_and_whether_it_comes_back() {
        let list = Shown {
            path: "http/a.example".into(),
            kind: Some(Class::Image),
            text: "cat".into(),
            after: Some("x".into()),
            ..Shown::default()
        };
        let mut gathered = Gathered::default();
        (gathered.bytes, gathered.pinned) = (3_000, 1);
        gathered.named = vec!["A title".into()];
        let body = made(&list, &gathered, true);
        for want in [
            "0 entries, 3.0 kB",
            "1 of them is pinned",
            "A title",
            "Kept of http://a.example",
            "images",
            "cat",
            "For an hour they can be had back",
            "action=\"http://localhost:8080/control/delete/url-all\"",
            "name=\"token\" value=\"f00\"",
            "name=\"stored-before\" value=\"2026-11-20T12:00:00Z\"",
            "name=\"list\" value=\"/index/http/a.example?type=image&amp;text=cat\"",
        ] {
            assert!(body.contains(want), "{want} in {body}");
        }
        gathered.bytes = u64::MAX;
        let body = made(&list, &gathered, false);
        assert!(body.contains("for good") && body.contains("at most 10000"), "{body}");
        assert!(!body.contains("For an hour"), "{body}");
    }

    #[test]
    fn hostile_values_are_text() {
        for text in hostile() {
            // What was typed is in the address already.
            let typed = as_key(&text).to_owned();
            let others = vec![("status", typed.clone())];
            let list = Shown { text: typed, others, ..Shown::default() };
            let mut gathered = Gathered::default();
            gathered.named.push(text);
            made(&list, &gathered, true);
        }
    }
}
