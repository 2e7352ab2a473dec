//! The local page `/history/`: the stored versions of one page.

use std::collections::BTreeSet;
use std::collections::btree_map::Entry;
use std::ops::Range;

use jiff::civil::Date;
use serde::Serialize;
use wwwoffle_url::url_encode_form_args;

use super::calendar::{Calendar, SavedDay};
use crate::base::escape::written;
use crate::base::shown::{self, ShownTime, ShownUrl};
use crate::base::text::{Text, tr};
use crate::page::links;
use crate::page::{RenderedPage, Shell, View, view};
use crate::site::history::version_list::changes;
use crate::site::lists::page::room::{count_fitting, link_size, without_long_link};
use crate::storage::versions::NotCompared;
use crate::storage::versions::marked::MarkCounts;
use crate::storage::versions::memento::{marked_path, timemap_path, version_path};
use wwwoffle_api::{History, Version};
use wwwoffle_http::media_type::essence;

/// Maximum number of listed versions, fewer if the URL is long; the others are on further pages.
const SHOWN_VERSIONS: usize = 30;

/// Maximum number of bytes for everything that contains the URL, after escaping. With the rest the
/// page stays below 100 kB.
const ROOM: usize = 80_000;

/// Size of a row without its variable texts, in bytes.
const ROW: usize = 1_500;

/// Maximum size of a link to the page if a form leads to its other versions, in bytes. Of a longer
/// URL, the page says only how many there are.
const LONGEST_PAGED: usize = 4 << 10;

/// Size of a version in the lists of versions that can be compared, in bytes.
const CHOICE: usize = 2 * 100;

/// Maximum size of a link to marked changes, in bytes; a row has two more links that are as long.
const MARKED_LINK: usize = 8 << 10;

/// Number of text lines in which a version differs from the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LineCounts {
    /// Lines that only this version has.
    pub added: usize,
    /// Lines that only the previous version has.
    pub removed: usize,
}

/// Renders the page of the versions after the `skipped` newest ones. `lines` are the line counts of
/// the newest of them, in the order of `history`.
#[must_use]
pub fn page(
    shell: &Shell,
    history: &History,
    lines: &[Option<LineCounts>],
    skipped: usize,
) -> RenderedPage {
    let url = ShownUrl::new(&history.url);
    let href = url.href.clone().unwrap_or_default();
    let url = without_long_link(url);
    let skipped = skipped.min(history.versions.len().saturating_sub(1));
    let before = history.versions.iter().skip(1).map(Some).chain([None]);
    let lines = lines.iter().copied().chain(std::iter::repeat(None));
    let mut newer = history.versions.iter().zip(before).collect::<Vec<_>>();
    let all = newer.split_off(skipped).into_iter().zip(lines);
    let row = |((version, before), lines): ((&Version, Option<&Version>), Option<LineCounts>)| {
        version_row(&href, version, before, lines)
    };
    let timemap = timemap_path(&href);
    let (mut versions, costs): (Vec<_>, Vec<_>) = all.take(SHOWN_VERSIONS).map(row).unzip();
    let days: Vec<_> = history.versions.iter().map(|version| day_of(version, shell)).collect();
    let year = days.get(skipped).map_or(0, |day| day.year());
    let (_, calendar_size) = calendar(&days, 0..0).view(year);
    // Size of the calendar, and of the links and of the form that compares versions, all of which
    // contain the URL.
    let around = 3 * link_size(&url) + written(&timemap) + calendar_size;
    let around = around + CHOICE * history.versions.len();
    let form = link_size(&url) + shell.token.len();
    let costs = costs.iter().map(|cost| cost + form);
    let room = ROOM.saturating_sub(around);
    versions.truncate(count_fitting(room, costs));
    let end = skipped + versions.len();
    let costs = newer.iter().rev().take(SHOWN_VERSIONS);
    let costs = costs.map(|(version, before)| version_row(&href, version, *before, None).1 + form);
    let preceding = count_fitting(room, costs);
    let times = distinct_times(history, shell);
    let mut named = BTreeSet::new();
    for (at, row) in versions.iter_mut().enumerate() {
        // The first row of each day is the target of the link in the calendar. The rows of a day
        // need not follow each other: a restored version is as new as it was.
        let day = days.get(skipped + at);
        let anchor = day.filter(|day| named.insert(**day)).map(ToString::to_string);
        row.extend(view! { anchor, received: times.get(skipped + at) });
    }
    let choices = history.versions.iter().zip(&times).map(|(version, time)| {
        view! { at: version.stored.to_string(), text: time.text, size: shown::bytes(version.bytes) }
    });
    let has_calendar = history.versions.len() > 1;
    let view = view! {
        owner: history.owner.as_deref().map(|owner| shell.for_whom(owner)),
        versions,
        // The versions that can be compared, and the first one of this page among them.
        choices: choices.collect::<Vec<_>>(),
        chosen: skipped.min(history.versions.len().saturating_sub(2)),
        calendar: has_calendar.then(|| calendar(&days, skipped..end).view(year).0),
        // Number of versions on further pages, and where the pages before and after this one begin.
        more: history.versions.len() - versions.len(),
        can_turn: url.href.is_some() && link_size(&url) <= LONGEST_PAGED,
        newer: (skipped > 0).then(|| skipped.saturating_sub(preceding)),
        older: (end < history.versions.len()).then_some(end),
        // Address of the time map (a list for programs), without scheme and host.
        timemap,
        url,
    };
    shell.page("history.html", 200, &view)
}

/// Returns the calendar of versions that arrived on these days. Those of the range `here` are on
/// this page; a button leads to the others.
fn calendar(days: &[Date], here: Range<usize>) -> Calendar {
    let mut calendar = Calendar::default();
    for (at, day) in days.iter().enumerate() {
        match calendar.0.entry(*day) {
            Entry::Vacant(entry) => {
                let is_here = here.contains(&at);
                entry.insert(SavedDay { count: 1, value: at.to_string(), is_here });
            }
            Entry::Occupied(mut entry) => {
                let saved = entry.get_mut();
                saved.count += 1;
                saved.is_here |= here.contains(&at);
            }
        }
    }
    calendar
}

/// Returns the day on which a version arrived.
fn day_of(version: &Version, shell: &Shell) -> Date {
    version.received.to_zoned(shell.zone.clone()).date()
}

/// Returns the times of the versions, to the second if they would otherwise look the same.
fn distinct_times(history: &History, shell: &Shell) -> Vec<ShownTime> {
    let of = |version: &Version| ShownTime::new(version.received, &shell.zone);
    let times: Vec<_> = history.versions.iter().map(of).collect();
    let is_alone = |text: &str| times.iter().filter(|other| other.text == text).count() == 1;
    let distinct = history.versions.iter().map(|version| {
        let time = of(version);
        let zone = &shell.zone;
        if is_alone(&time.text) { time } else { ShownTime::to_the_second(version.received, zone) }
    });
    distinct.collect()
}

/// Returns the row of a version, and its size after escaping without the form in it, in bytes.
fn version_row(
    href: &str,
    version: &Version,
    before: Option<&Version>,
    lines: Option<LineCounts>,
) -> (View, usize) {
    let url = url_encode_form_args(href.as_bytes());
    let diff = before.map(|before| {
        format!("/history/diff/?url={url}&from={}&to={}", before.stored, version.stored)
    });
    let marked = before.filter(|before| [version, before].iter().all(|one| is_html(one)));
    let marked =
        marked.map(|before| marked_path(href, before.stored, (version.stored, version.received)));
    let marked = marked.filter(|path| written(path) <= MARKED_LINK);
    let path = version_path(href, (version.stored, version.received));
    let content_type = version.content_type.as_deref().map(shown::text);
    let kind =
        content_type.as_deref().map_or(0, written) + version.capture.as_deref().map_or(0, written);
    let cost = ROW + kind + written(&path);
    let cost = cost + diff.as_deref().map_or(0, written) + marked.as_deref().map_or(0, written);
    let row = view! {
        // The time that identifies the version, as the value of a form field.
        at: version.stored.to_string(),
        present: version.present,
        status: version.status,
        size: shown::bytes(version.bytes),
        content_type,
        // Host of the web archive from which the version came.
        archive: version.capture.as_deref().map(shown::address),
        // Differences from the previous version, in words; `None` if there is no previous version.
        changes: before.map(|before| changes(before, version)),
        lines,
        // Address, without scheme and host, of this version.
        path,
        // Address, without scheme and host, of the page that shows the changes of this version;
        // `None` if there is no previous version.
        diff,
        // Address, without scheme and host, of the version with its changes marked; `None` if it is
        // not a web page, or if its URL is long.
        marked,
    };
    (row, cost)
}

/// Whether a version is a web page, in which changes can be marked.
fn is_html(version: &Version) -> bool {
    let essence = version.content_type.as_deref().map(essence).unwrap_or_default();
    // A redirect has no page to show.
    let is_shown = !(300..400).contains(&version.status);
    is_shown && matches!(essence.as_str(), "text/html" | "application/xhtml+xml")
}

/// Renders the note at the top of a version whose changes since the version `from` are marked: HTML
/// that is put into the page. The page cannot change it, nor can it change the page.
#[must_use]
pub fn marked_note(
    shell: &Shell,
    url: &str,
    (from, to): (&Version, &Version),
    counts: MarkCounts,
) -> String {
    let url = ShownUrl::new(url).href.unwrap_or_default();
    let address = url_encode_form_args(url.as_bytes());
    let view = view! {
        from: ShownTime::new(from.received, &shell.zone),
        to: ShownTime::new(to.received, &shell.zone),
        added: counts.added,
        removed: counts.removed,
        is_cut: counts.is_cut,
        lacks_end: counts.lacks_end,
        diff: format!("/history/diff/?url={address}&from={}&to={}", from.stored, to.stored),
        history: links::history(&url),
    };
    shell.page("history-marked.html", 200, &view).body
}

/// Renders the page in place of a version or a difference that cannot be shown. The status is 404
/// if nothing is stored, or no version of the given time.
#[must_use]
pub fn no_history_page(shell: &Shell, url: &str, why: &NotCompared) -> RenderedPage {
    let (status, list) = match why {
        NotCompared::NotKept => (404, None),
        NotCompared::NoVersion => (404, Some(links::history(url))),
        _ => (200, Some(links::history(url))),
    };
    let view = view! {
        url: ShownUrl::new(url),
        why: words(why),
        // Address of the list of versions, without scheme and host. `None` if the list would be
        // empty.
        list,
    };
    shell.page("history-none.html", status, &view)
}

fn words(why: &NotCompared) -> Text {
    match why {
        NotCompared::NotKept => tr("not saved"),
        NotCompared::NoVersion => {
            tr("no version of that time is saved; `keep-versions` sets how many are saved")
        }
        NotCompared::NoText => tr("one of the versions has no text"),
        NotCompared::NoPage => tr("one of the versions is not a web page"),
        NotCompared::Unread(error) => {
            tr("one of the versions cannot be read: {error}").with("error", shown::text(error))
        }
        NotCompared::Spool(_) => tr("the spool failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::{assert_harmless, hostile, shell, time};

    fn version(number: i64, content_type: &str) -> Version {
        let received = time() - jiff::SignedDuration::from_hours(number);
        Version {
            stored: received,
            received,
            present: number == 0,
            status: if number == 1 { 404 } else { 200 },
            bytes: 1_000,
            content_type: Some(content_type.to_owned()),
            capture: None,
        }
    }

    fn body(history: &History, lines: &[Option<LineCounts>]) -> String {
        let page = page(&shell(), history, lines, 0);
        assert_harmless(&page);
        page.body
    }

    #[test]
    fn the_history_lists_versions_and_actions() {
        let versions = (0..3).map(|number| version(number, "text/html")).collect();
        let url = "http://a.example/p?x=1&y".to_owned();
        let history = History { url, owner: None, versions };
        let lines = [Some(LineCounts { added: 3, removed: 1 })];
        let body = body(&history, &lines);
        for want in [
            "2026-11-20 12:00",
            "the current copy",
            "previously status 404",
            "3 lines added, 1 line removed",
            "previously status 200",
            r#"name="at" value="2026-11-20T11:00:00Z""#,
            r#"formaction="http://localhost:8080/control/history/restore""#,
            r#"formaction="http://localhost:8080/control/history/delete""#,
            "http://localhost:8080/history/version/?url=http://a.example/p%3Fx%3D1%26y&amp;came=2026-11-20T11:00:00Z&amp;at=2026-11-20T11:00:00Z",
            "http://localhost:8080/history/diff/?url=http://a.example/p%3Fx%3D1%26y&amp;from=2026-11-20T10:00:00Z&amp;to=2026-11-20T11:00:00Z",
            r#"<select name="from""#,
        ] {
            assert!(body.contains(want), "{want} in {body}");
        }
        // The current version has neither a restore button nor a delete button.
        assert_eq!(body.matches("/control/history/restore").count(), 2, "{body}");
    }

    #[test]
    fn versions_of_one_minute_show_seconds() {
        let at = |number, received: &str| Version {
            received: received.parse().unwrap(),
            ..version(number, "text/html")
        };
        let versions = vec![
            at(0, "2026-11-20T12:00:41Z"),
            at(1, "2026-11-20T12:00:07Z"),
            at(2, "2026-11-20T11:59:58Z"),
        ];
        let url = "http://a.example/".to_owned();
        let body = body(&History { url, owner: None, versions }, &[]);
        for want in [">2026-11-20 12:00:41<", ">2026-11-20 12:00:07, ", ">2026-11-20 11:59<"] {
            assert!(body.contains(want), "{want} in {body}");
        }
    }

    #[test]
    fn few_and_many_versions_have_their_page() {
        let url = "http://a.example/".to_owned();
        let none = body(&History { url: url.clone(), owner: None, versions: Vec::new() }, &[]);
        assert!(none.contains("It is not saved"), "{none}");
        let one = vec![version(0, "text/html")];
        let one = body(&History { url: url.clone(), owner: None, versions: one }, &[]);
        assert!(one.contains("keep-versions") && !one.contains("<select"), "{one}");
    }

    #[test]
    fn all_versions_are_in_the_calendar_and_on_some_page() {
        let url = "http://a.example/".to_owned();
        // One version in each of 101 weeks: of three years.
        let versions = (0..101).map(|week| version(7 * 24 * week, "text/html")).collect();
        let history = History { url, owner: None, versions };
        let (mut seen, mut skipped, mut before) = (BTreeSet::new(), Some(0), None);
        while let Some(begin) = skipped {
            let body = page(&shell(), &history, &[], begin).body;
            let shown: Vec<_> =
                body.split("id=\"d2").skip(1).map(|rest| rest[..9].to_owned()).collect();
            assert!(shown.len() >= 20 || seen.len() + shown.len() == 101, "{} shown", shown.len());
            let year = format!("aria-current=\"true\">2{}", &shown[0][..3]);
            assert!(body.contains(&year), "{year} in {body}");
            // Any two versions can be compared.
            assert_eq!(body.matches("<option").count(), 2 * 101, "{body}");
            let to = |way: &str| {
                let (before, _) = body.split_once(&format!("\">{way}<"))?;
                before.rsplit_once("value=\"")?.1.parse::<usize>().ok()
            };
            // The page before this one begins where the one before did, or, as its calendar may be
            // of another year, a row or two later.
            let (newer, expected) = (to("Newer versions"), before.replace(begin));
            let is_near = |(newer, old): (usize, usize)| (old..old + 3).contains(&newer);
            assert!(newer.is_some() == expected.is_some(), "{newer:?} for {expected:?}");
            assert!(newer.zip(expected).is_none_or(is_near), "{newer:?} for {expected:?}");
            skipped = to("Older versions");
            seen.extend(shown);
        }
        let first = page(&shell(), &history, &[], 0).body;
        assert!(first.contains("href=\"#d2026-11-20\""), "{first}");
        // A year, and a day of this year that is on another page.
        for want in ["value=\"47\">2025", "aria-label=\"1 version of 2026-01-02\""] {
            assert!(first.contains(want), "{want} in {first}");
        }
        assert_eq!(seen.len(), 101);
        // A position after the end leads to the last version, which is compared with the next one.
        let last = page(&shell(), &history, &[], 900).body;
        assert!(last.contains("id=\"d2024-12-20\""));
        let (from, to) = last.split_once("name=\"to\"").unwrap();
        assert!(from.trim_end().rsplit_once("<option").unwrap().1.contains("selected"), "{from}");
        assert!(to.rsplit("<option").nth(1).unwrap().contains("selected"), "{to}");
    }

    #[test]
    fn the_number_of_shown_versions_depends_on_their_size() {
        let shell = Shell { token: "f".repeat(64), ..shell() };
        for (part, length, at_least) in [
            ("a/b", 60, 30),
            ("a/b=c&", 900, 8),
            ("a/b", 8_100, 1),
            ("&", 8_100, 1),
            ("=", 8_100, 1),
            ("%3f", 8_100, 1),
        ] {
            let url = format!("http://www.example.org/?{}", part.repeat(length / part.len()));
            let versions = (0..30).map(|number| version(number, "application/xhtml+xml")).collect();
            let history = History { url: url.clone(), owner: None, versions };
            let lines = [Some(LineCounts { added: 3_000, removed: 1_000 }); 30];
            let page = page(&shell, &history, &lines, 0);
            assert_harmless(&page);
            let body = page.body;
            let shown = body.matches("class=\"card\"").count();
            assert!(shown >= at_least, "{shown} versions of {url:.60}");
            let older = format!("value=\"{shown}\">Older versions");
            let rest = format!("and {} more", 30 - shown);
            assert_eq!(body.contains(&older) || body.contains(&rest), shown < 30, "{url:.60}");
            assert!(!body.contains("There is no older version"), "{url:.60}");
            assert_eq!(
                body.contains("<select"),
                body.contains("name=\"url\""),
                "{shown} versions of {url:.60}"
            );
        }
    }

    #[test]
    fn a_missing_history_is_explained() {
        for (why, status, want) in [
            (NotCompared::NotKept, 404, "not saved"),
            (NotCompared::NoVersion, 404, "no version of that time is saved"),
            (NotCompared::NoText, 200, "one of the versions has no text"),
        ] {
            let page = no_history_page(&shell(), "http://a.example/", &why);
            assert_harmless(&page);
            assert_eq!(page.status, status);
            assert!(page.body.contains(want), "{want} in {}", page.body);
        }
    }

    #[test]
    fn hostile_values_are_text() {
        for text in hostile() {
            let versions = (0..3).map(|number| version(number, &text)).collect();
            let history = History { url: text.clone(), owner: Some(text.clone()), versions };
            body(&history, &[]);
            assert_harmless(&no_history_page(&shell(), &text, &NotCompared::Unread(text.clone())));
        }
    }
}
