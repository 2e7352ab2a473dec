//! The bar at the end of a stored page: the date of the stored copy, and links to actions for the
//! page.
//!
//! The bar is inserted into the page of an origin, so the bar and the page are isolated from each
//! other. The bar is in a shadow root, which the style sheets (CSS Scoping §3.1) and the scripts of
//! the page cannot access. It contains no token, and its links are complete URLs. Its element is a
//! `div`, because browsers close an open paragraph before a `div`.

use crate::page::links;
use jiff::Timestamp;

use crate::base::shown::{ShownTime, ShownUrl};
use crate::base::text::{Text, count, tr};
use crate::page::{Shell, view};
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
    let style = html.split_once("<style>").and_then(|(_, rest)| rest.split_once("</style>"));
    let style = style_source(style.map_or("", |(style, _)| style));
    Bar { html, style }
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
