//! The bar at the end of a stored page: the date of the stored copy, and links to actions for the
//! page.
//!
//! The bar is inserted into the page of an origin, so the bar and the page are isolated from each
//! other. The bar is in a shadow root, which the style sheets (CSS Scoping §3.1) and the scripts of
//! the page cannot access. It contains no token, and its links are complete URLs. Its element is a
//! `div`, because browsers close an open paragraph before a `div`.

use std::fmt::Write as _;

use crate::page::links;
use jiff::Timestamp;

use crate::base::shown::{ShownTime, ShownUrl};
use crate::base::text::{Text, count, tr};
use crate::page::{Shell, View, view};
use wwwoffle_html::rewrite::Bar;
use wwwoffle_html::rewrite::csp::style_source;

/// Renders the bar of the page at `url`. `saves` says whether the data saver may have left out
/// pictures of the page.
#[must_use]
pub fn bar(
    shell: &Shell,
    url: &str,
    checked: Option<Timestamp>,
    now: Timestamp,
    saves: bool,
) -> Bar {
    let url = ShownUrl::new(url).href.unwrap_or_default();
    let view = view! {
        // When the origin last confirmed the page; `None` if it was fetched just now.
        kept: checked.map(|checked| ShownTime::new(checked, &shell.zone)),
        age: checked.map(|checked| age(checked, now)),
        refresh: links::fetch(&url),
        pictures: saves.then(|| links::pictures(&url)),
        monitor: links::monitor(&url),
        versions: links::history(&url),
        info: links::info(&url),
        delete: links::delete(&url),
        configure: links::options(&url),
        index: links::host_list(&url),
    };
    let html = shell.page("bar.html", 200, &view).body;
    Bar { style: style_of(&html), html }
}

/// Renders the banner of a capture from a web archive, for the end of a page in any encoding that
/// extends ASCII. `memento` is the URL of the capture there.
#[must_use]
pub fn capture_banner(shell: &Shell, url: &str, memento: &str, captured: Timestamp) -> String {
    let captured = ShownTime::new(captured, &shell.zone);
    let text = tr("This is not the page of its site, but a copy of {when} from a web archive.")
        .with("when", captured.text);
    let ways = [(Some(memento), tr("The copy in the archive")), (None, tr("Versions"))];
    let links: Vec<_> = ways
        .into_iter()
        .filter_map(|(memento, label)| {
            let href = match memento {
                Some(memento) => ShownUrl::new(memento).href?,
                None => format!("{}{}", shell.origin.as_str(), links::history(url)),
            };
            Some(view! { href, label })
        })
        .collect();
    ascii(&banner(shell, &text, &links))
}

/// Renders the banner of a page that is missing at its origin, with a link to its captures in web
/// archives.
#[must_use]
pub fn missing_banner(shell: &Shell, url: &str) -> Bar {
    let text = tr("The site says that this page is missing. A web archive may have a copy.");
    let href = format!("{}{}", shell.origin.as_str(), links::captures(url));
    let html = banner(shell, &text, &[view! { href, label: tr("Look for it in web archives") }]);
    Bar { style: style_of(&html), html }
}

fn banner(shell: &Shell, text: &Text, links: &[View]) -> String {
    shell.page("banner.html", 200, &view! { text, links }).body
}

/// Escapes all characters beyond ASCII, since the encoding of the page is not known.
fn ascii(html: &str) -> String {
    let mut escaped = String::with_capacity(html.len());
    for character in html.chars() {
        if character.is_ascii() {
            escaped.push(character);
        } else {
            // Writing to a string does not fail.
            let _written = write!(escaped, "&#{};", u32::from(character));
        }
    }
    escaped
}

fn style_of(html: &str) -> String {
    let style = html.split_once("<style>").and_then(|(_, rest)| rest.split_once("</style>"));
    style_source(style.map_or("", |(style, _)| style))
}

/// Returns the age of an event in the largest unit that it spans at least twice, or else in
/// minutes.
fn age(checked: Timestamp, now: Timestamp) -> Text {
    const HOUR: u64 = 60;
    const DAY: u64 = 24 * HOUR;
    const WEEK: u64 = 7 * DAY;
    let seconds = now.as_second().saturating_sub(checked.as_second());
    match u64::try_from(seconds).unwrap_or_default() / 60 {
        0 => tr("less than a minute ago"),
        minutes if minutes < 2 * HOUR => count(minutes, "{n} minute ago", "{n} minutes ago"),
        minutes if minutes < 2 * DAY => count(minutes / HOUR, "{n} hour ago", "{n} hours ago"),
        minutes if minutes < 2 * WEEK => count(minutes / DAY, "{n} day ago", "{n} days ago"),
        minutes => count(minutes / WEEK, "{n} week ago", "{n} weeks ago"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing;

    #[test]
    fn the_page_bar_shows_the_age_and_has_a_hashed_style() {
        let shell = testing::shell();
        let checked = Some(testing::time());
        let now = "2026-11-23T13:00:00Z".parse().unwrap();
        let shown = bar(&shell, "http://user:pw@a.example/?b=<c>", checked, now, true);
        for part in [
            "<time datetime=\"2026-11-20T12:00:00Z\">2026-11-20 12:00</time>",
            "3 days",
            "/info/?http://a.example/%3Fb%3D%3Cc%3E\"",
            "/control/delete/url?url=http://a.example/%3Fb%3D%3Cc%3E\"",
            "/configuration/url?http://a.example/%3Fb%3D%3Cc%3E\"",
            "/refresh-recurse/?url=http://a.example/%3Fb%3D%3Cc%3E;depth=0;images=Y;",
            "/index/url?http://a.example/%3Fb%3D%3Cc%3E\"",
            "shadowrootmode=\"closed\"",
        ] {
            assert!(shown.html.contains(part), "{part} in {}", shown.html);
        }
        let (_, style) = shown.html.split_once("<style>").unwrap();
        assert_eq!(shown.style, style_source(style.split_once("</style>").unwrap().0));
        let now = bar(&shell, "http://a.example/", None, now, false);
        assert!(!now.html.contains("whole=Y"), "the data saver is off");
        assert!(now.html.contains("just now") && now.style == shown.style, "{}", now.html);
    }

    #[test]
    fn a_bar_shows_hostile_urls_as_text() {
        for url in testing::hostile() {
            let shown = bar(&testing::shell(), &url, None, testing::time(), false);
            assert_eq!(shown.html.matches('<').count(), 26, "{}", shown.html);
            assert!(!shown.html.contains("hunter2"), "{}", shown.html);
        }
    }

    #[test]
    fn banners_are_ascii_and_show_hostile_urls_as_text() {
        let shell = testing::shell();
        let memento = "https://archive.example/web/20240501100000id_/http://a.example/é";
        let html = capture_banner(&shell, "http://a.example/", memento, testing::time());
        assert!(html.is_ascii() && html.contains("2026-11-20 12:00"), "{html}");
        assert!(html.contains("/history/?http://a.example/"), "{html}");
        let bar = missing_banner(&shell, "http://a.example/?b=<c>");
        assert!(bar.html.contains("/captures/?http://a.example/%3Fb%3D%3Cc%3E\""), "{}", bar.html);
        for url in testing::hostile() {
            let html = capture_banner(&shell, &url, &url, testing::time());
            let count = html.matches('<').count();
            assert!(count == 14 || count == 12, "{count} in {html}");
            assert!(!html.contains("hunter2"), "{html}");
            let bar = missing_banner(&shell, &url);
            assert_eq!(bar.html.matches('<').count(), 12, "{}", bar.html);
            assert!(!bar.html.contains("hunter2"), "{}", bar.html);
        }
    }

    #[test]
    fn an_age_is_shown_in_the_largest_unit_that_fits_twice() {
        let checked: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        for (seconds, want) in [
            (-5, "less than a minute ago"),
            (59, "less than a minute ago"),
            (60, "1 minute ago"),
            (119 * 60, "119 minutes ago"),
            (7_200, "2 hours ago"),
            (2 * 86_400 - 1, "47 hours ago"),
            (13 * 86_400, "13 days ago"),
            (14 * 86_400, "2 weeks ago"),
        ] {
            let now = checked + jiff::SignedDuration::from_secs(seconds);
            assert_eq!(age(checked, now).to_string(), want, "{seconds}");
        }
    }
}
