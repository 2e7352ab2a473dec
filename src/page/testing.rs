//! Helpers for the tests of all pages.

use std::sync::Arc;

use jiff::{Timestamp, tz::TimeZone};

use crate::base::shown;
use crate::page::{HTML, Language, LocalOrigin, RenderedPage, Shell, Templates};
use wwwoffle_api::Mode;

/// Values that must appear as text, or not at all.
const HOSTILE: &[&str] = &[
    "",
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "http://a.example/\"><script>alert(1)</script>",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "http://user:hunter2@a.example/<b>",
    "http://a.example/\u{202e}gpj.exe",
    "a\u{2066}b\u{2069}\u{200b}c",
    "line\r\nbreak\0nul\u{1b}[31m\u{7f}\u{85}",
    "{{ page }}{% include 'x' %}{# #}",
    "<!-- ]]> --></style></title></textarea><plaintext>",
    "&lt;script&gt;&#60;",
    "日本語 ünïcode 🦀",
];

/// Returns [`HOSTILE`], and 100 kB that end in markup.
pub(crate) fn hostile() -> Vec<String> {
    let long = format!("http://a.example/{}<script>", "x".repeat(100_000));
    HOSTILE.iter().map(|text| (*text).to_owned()).chain([long]).collect()
}

/// Returns a text for a key, a ticket or a token: `hostile`, or another text if `hostile` is long,
/// private or has hidden characters. Real keys, tickets and tokens are made by our own code and
/// consist of hex digits.
pub(crate) fn as_key(hostile: &str) -> &str {
    if shown::text(hostile) == hostile { hostile } else { "k" }
}

pub(crate) fn shell() -> Shell {
    Shell {
        templates: Arc::default(),
        token: "f00".to_owned(),
        origin: LocalOrigin::parse("http", "localhost:8080").unwrap(),
        mode: Mode::Offline,
        chosen: Mode::Offline.into(),
        zone: TimeZone::UTC,
        language: Language::default(),
        reader: "local".to_owned(),
        path: "/page/".to_owned(),
        notice: None,
    }
}

pub(crate) fn time() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

pub(crate) fn undone(templates: &Arc<Templates>) -> RenderedPage {
    let shell = Shell { templates: Arc::clone(templates), ..shell() };
    crate::page::undone::page(&shell, "http://a.example/<b>", true)
}

/// Elements that have no end tag.
const VOID: &[&str] = &["meta", "link", "input", "br", "img"];
/// Elements of our pages; any other element came from a value.
const KNOWN: &[&str] = &[
    "html", "head", "title", "style", "body", "header", "nav", "span", "b", "a", "bdi", "main",
    "h1", "h2", "h3", "p", "ul", "ol", "li", "dl", "dt", "dd", "form", "button", "section", "div",
    "time", "code", "progress", "footer", "label", "select", "option", "textarea", "fieldset",
    "legend", "svg", "path", "mark", "table", "thead", "tbody", "tr", "th", "td", "text",
    "details", "summary", "rect", "script", "caption", "g",
];
/// Attributes of our pages; any other attribute came from a value.
const ATTRIBUTES: &[&str] = &[
    "lang",
    "dir",
    "charset",
    "name",
    "content",
    "rel",
    "href",
    "class",
    "aria-label",
    "aria-labelledby",
    "aria-describedby",
    "aria-pressed",
    "aria-invalid",
    "aria-describedby",
    "preserveAspectRatio",
    "height",
    "width",
    "src",
    "alt",
    "aria-hidden",
    "aria-current",
    "method",
    "action",
    "formaction",
    "type",
    "value",
    "datetime",
    "max",
    "id",
    "for",
    "form",
    "role",
    "rows",
    "placeholder",
    "selected",
    "title",
    "rx",
    "open",
    "data-costly",
    "data-live",
    "data-results",
    "defer",
    "checked",
    "autocomplete",
    "spellcheck",
    "inputmode",
    "viewBox",
    "scope",
    "x",
    "y",
    "text-anchor",
    "fill",
    "d",
];

/// Parses the page tag by tag, as a browser would. It fails if the page is not well formed or if a
/// value became markup.
pub(crate) fn assert_harmless(page: &RenderedPage) {
    let html = &page.body;
    assert_eq!(page.content_type, HTML);
    assert!(html.starts_with(
        "<!DOCTYPE html>\n<html lang=\"en\" dir=\"ltr\">\n<head>\n<meta charset=\"utf-8\">"
    ));
    assert!(html.len() < 100_000, "{} bytes", html.len());
    assert!(!html.contains("hunter2"), "a password is shown");
    let hidden = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if let Some(at) = html.find(hidden) {
        panic!("a hidden character at byte {at}");
    }

    let mut rest = html.strip_prefix("<!DOCTYPE html>").unwrap();
    let mut open = Vec::new();
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        assert!(!tag.contains('<'), "<{tag}>");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
            continue;
        }
        let name = tag.split_ascii_whitespace().next().unwrap_or_default();
        check_attributes(tag, &tag[name.len()..]);
        if VOID.contains(&name) {
            continue;
        }
        assert!(KNOWN.contains(&name), "<{tag}>");
        open.push(name);
        if name == "style" {
            rest = &rest[rest.find("</style>").expect("the style ends")..];
        }
    }
    assert!(open.is_empty(), "{open:?} not closed");
}

/// Checks the attributes of a tag. Each is `name="value"`. Addresses must be ours, or web
/// addresses.
fn check_attributes(tag: &str, mut rest: &str) {
    while !rest.trim().is_empty() {
        let (name, after) = rest.trim_start().split_once("=\"").expect(tag);
        assert!(ATTRIBUTES.contains(&name), "{name} in <{tag}>");
        let (value, after) = after.split_once('"').expect(tag);
        if matches!(name, "href" | "action" | "formaction") && !value.starts_with("#d") {
            let web =
                ["http://", "https://", "ftp://"].iter().any(|scheme| value.starts_with(scheme));
            // A link for the bookmarks of a browser. A click on it does nothing: our pages run no
            // scripts.
            let is_bookmarklet = name == "href"
                && value.starts_with("javascript:location.href='http://localhost:8080/")
                && value.ends_with("?'+encodeURIComponent(location.href)");
            assert!(
                web || is_bookmarklet || value.starts_with("data:image/svg+xml,%3Csvg xmlns="),
                "{name} in <{tag}>"
            );
        }
        if name == "src" && tag.starts_with("script ") {
            assert!(value.starts_with("http://localhost:8080/live-"), "{tag}");
        } else if name == "src" {
            // Pages load nothing, so their images are `data:` URLs. Only raster images are allowed.
            let is_picture = ["png", "gif", "jpeg", "x-icon", "webp"]
                .iter()
                .any(|kind| value.starts_with(&format!("data:image/{kind};base64,")));
            assert!(is_picture, "{name} in <{tag}>");
        }
        if matches!(name, "action" | "formaction") {
            assert!(value.starts_with("http://localhost:8080/"), "{name} in <{tag}>");
        }
        rest = after;
    }
}
