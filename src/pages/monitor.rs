//! The local pages `/monitor/`, what is looked at on a schedule, and `/monitor-options/`, the form for
//! one page.

use serde::Serialize;
use wwwoffle_spool::Schedule;
use wwwoffle_url::url_encode_form_args;

use super::configuration::diff::Line;
use super::{
    Page, Shell, Templates, history,
    refresh::LinksView,
    shown::{self, ShownTime, ShownUrl},
    text::{Text, say},
};
use crate::api::{MonitorItem, VersionDiff};
use crate::fetch::recurse::aim::Aim;
use crate::fetch::recurse::scope::Scope;
use crate::versions::diff::{Diff, Sort};

/// Pages that are listed; the others are counted.
const SHOWN_PAGES: usize = 60;

/// Lines of a difference that are shown.
const SHOWN_LINES: usize = 80;

/// Older changes that are listed.
const SHOWN_OLDER: usize = 20;

/// The names of the months, as a person reads them.
const MONTHS: [Text; 12] = [
    say("Jan"),
    say("Feb"),
    say("Mar"),
    say("Apr"),
    say("May"),
    say("Jun"),
    say("Jul"),
    say("Aug"),
    say("Sep"),
    say("Oct"),
    say("Nov"),
    say("Dec"),
];

/// The names of the days of the week, from Sunday on.
const WEEKDAYS: [Text; 7] =
    [say("Sun"), say("Mon"), say("Tue"), say("Wed"), say("Thu"), say("Fri"), say("Sat")];

/// The address of the form for `url`, without our origin.
#[must_use]
pub fn options_path(url: &str) -> String {
    let url = ShownUrl::new(url).href.unwrap_or_default();
    format!("/monitor-options/?{}", url_encode_form_args(url.as_bytes()))
}

/// The address of the page that shows what has changed of `url`, without our origin.
#[must_use]
pub fn diff_path(url: &str) -> String {
    let url = ShownUrl::new(url).href.unwrap_or_default();
    format!("/monitor/diff/?url={}", url_encode_form_args(url.as_bytes()))
}

#[derive(Serialize)]
struct DiffView {
    url: ShownUrl,
    title: Option<String>,
    from: ShownTime,
    to: ShownTime,
    added: usize,
    removed: usize,
    stretches: Vec<Vec<Line>>,
    is_cut: bool,
    older: Vec<Older>,
    /// Where all versions are listed, without our origin.
    history: String,
}

/// An older change.
#[derive(Serialize)]
struct Older {
    time: ShownTime,
    path: String,
}

/// Shows what differs between two versions.
#[must_use]
pub fn diff(templates: &Templates, shell: &Shell, told: &VersionDiff, diff: &Diff) -> Page {
    let line = |line: &crate::versions::diff::Line| {
        let kind = match line.sort {
            Sort::Same => "same",
            Sort::Old => "old",
            Sort::New => "new",
        };
        Line::new(kind, line.number, &line.text)
    };
    let mut room = SHOWN_LINES;
    let mut stretches = Vec::new();
    for stretch in &diff.stretches {
        let lines: Vec<_> = stretch.iter().take(room).map(line).collect();
        room -= lines.len();
        if !lines.is_empty() {
            stretches.push(lines);
        }
    }
    let count: usize = diff.stretches.iter().map(Vec::len).sum();
    let pairs = told.versions.iter().zip(told.versions.iter().skip(1));
    let older = pairs.filter(|(to, _)| **to < told.to).take(SHOWN_OLDER).map(|(to, from)| Older {
        time: ShownTime::new(*to, &shell.zone),
        path: format!("{}&from={from}&to={to}", diff_path(&told.url)),
    });
    let view = DiffView {
        url: ShownUrl::new(&told.url),
        title: told.title.as_deref().map(shown::text),
        from: ShownTime::new(told.from, &shell.zone),
        to: ShownTime::new(told.to, &shell.zone),
        added: told.added,
        removed: told.removed,
        stretches,
        is_cut: told.is_cut || count > SHOWN_LINES,
        older: older.collect(),
        history: history::path_of(&told.url),
    };
    templates.page("monitor-diff.html", 200, shell, &view)
}

#[derive(Serialize)]
struct View<'a> {
    token: &'a str,
    pages: Vec<PageView<'a>>,
    more: usize,
}

#[derive(Serialize)]
struct PageView<'a> {
    key: &'a str,
    url: ShownUrl,
    schedule: String,
    versions: u16,
    last: Option<ShownTime>,
    next: Option<ShownTime>,
    owner: Option<Text>,
    options: String,
    changes: String,
}

/// Makes the list; `token` is the general token.
#[must_use]
pub fn page<'a>(
    templates: &Templates,
    shell: &Shell,
    items: &'a [MonitorItem],
    token: &'a str,
) -> Page {
    let time = |time| ShownTime::new(time, &shell.zone);
    let view = |item: &'a MonitorItem| {
        let MonitorItem { key, url, schedule, versions, last, next, owner } = item;
        PageView {
            key,
            url: ShownUrl::new(url),
            schedule: shown::text(schedule),
            versions: *versions,
            last: last.map(time),
            next: next.map(time),
            owner: owner.as_deref().map(|owner| shell.for_whom(owner)),
            options: options_path(url),
            changes: diff_path(url),
        }
    };
    let view = View {
        token,
        pages: items.iter().take(SHOWN_PAGES).map(view).collect(),
        more: items.len().saturating_sub(SHOWN_PAGES),
    };
    templates.page("monitor.html", 200, shell, &view)
}

/// What the form begins with.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// The page; empty when it is still to be named.
    pub url: &'a str,
    /// When it is looked at now, if it is.
    pub schedule: Option<Schedule>,
    /// How many older versions are kept now, if it is.
    pub versions: Option<u16>,
    /// How many may be.
    pub max_versions: u16,
    /// What is fetched with it now, if it is monitored and that is more than its parts.
    pub aim: Option<Aim>,
    /// The general token.
    pub token: &'a str,
}

#[derive(Serialize)]
struct OptionsView<'a> {
    token: &'a str,
    url: ShownUrl,
    /// What the form sends: the URL as it was given, which may have a password.
    value: &'a str,
    is_known: bool,
    months: Vec<Choice>,
    weekdays: Vec<Choice>,
    days: String,
    hours: String,
    /// A line of cron, where the fields of 2.9 do not say it all.
    cron: String,
    versions: u16,
    max_versions: u16,
    links: LinksView,
}

/// A box that is checked or not.
#[derive(Serialize)]
struct Choice {
    name: String,
    label: Text,
    checked: bool,
}

/// Makes the form.
#[must_use]
pub fn options(templates: &Templates, shell: &Shell, options: &Options<'_>) -> Page {
    let schedule = options.schedule;
    let [minutes, hours, days, ..] = schedule.map(|it| it.fields()).unwrap_or_default();
    // 2.9 knows full hours only, and days that are in both sets.
    let by_sets = schedule.filter(|it| {
        let [_, hours, days, months, weekdays] = it.fields();
        minutes == "0" && Schedule::of_sets(&months, &days, &weekdays, &hours).as_ref() == Ok(it)
    });
    let is_all = by_sets.is_none();
    let boxes = |name: &str, labels: &[Text], first: u8, is_in: &dyn Fn(u8) -> bool| {
        let numbers = labels.iter().cloned().zip(first..);
        let boxes = numbers.map(|(label, number)| Choice {
            name: format!("{name}{number}"),
            label,
            checked: is_all || is_in(number),
        });
        boxes.collect()
    };
    let view = OptionsView {
        token: options.token,
        url: ShownUrl::new(options.url),
        value: options.url,
        is_known: schedule.is_some(),
        months: boxes("mofy", &MONTHS, 1, &|month| by_sets.is_some_and(|it| it.has_month(month))),
        weekdays: boxes("dofw", &WEEKDAYS, 0, &|day| by_sets.is_some_and(|it| it.has_weekday(day))),
        days: by_sets.map_or_else(|| "*".to_owned(), |_| days),
        hours: by_sets.map_or_else(|| "0".to_owned(), |_| hours),
        cron: schedule.filter(|_| is_all).map_or_else(String::new, |it| it.to_string()),
        links: match &options.aim {
            Some(aim) => LinksView::new(aim.depth, &aim.scope),
            None => LinksView::new(0, &Scope::default()),
        },
        versions: options.versions.unwrap_or_default(),
        max_versions: options.max_versions,
    };
    templates.page("monitor-options.html", 200, shell, &view)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::testing::{as_key, assert_harmless, hostile, shell, templates, time};

    fn item(url: &str) -> MonitorItem {
        MonitorItem {
            key: "ab".to_owned(),
            url: url.to_owned(),
            schedule: "0 6 * * 1-5".to_owned(),
            versions: 3,
            last: Some(time()),
            next: Some(time()),
            owner: None,
        }
    }

    #[test]
    fn it_lists_when_and_what_can_be_done() {
        let page = page(&templates(), &shell(), &[item("http://a.example/p?x=1&y")], "f00");
        assert_harmless(&page);
        let body = page.body.replace("&#x2f;", "/");
        for want in [
            "<code>0 6 * * 1-5</code>",
            "last <time",
            "next <time",
            "3 older versions",
            r#"name="token" value="f00""#,
            r#"name="key" value="ab""#,
            r#"formaction="http://localhost:8080/control/delete/mon""#,
            "http://localhost:8080/monitor-options/?http://a.example/p%3Fx%3D1%26y",
        ] {
            assert!(body.contains(want), "{want} in {body}");
        }
        let many = vec![item("http://a.example/"); SHOWN_PAGES + 2];
        let page = super::page(&templates(), &shell(), &many, "f00");
        assert_harmless(&page);
        assert!(page.body.contains("and 2 more"), "{}", page.body);
        let none = super::page(&templates(), &shell(), &[], "f00");
        assert_harmless(&none);
        assert!(none.body.contains("Nothing is monitored"));
    }

    #[test]
    fn the_form_begins_with_what_is_said_already() {
        let form = |schedule: Option<&str>| {
            let schedule = schedule.map(|text| text.parse().unwrap());
            let given = Options {
                url: "http://a.example/",
                schedule,
                versions: Some(7),
                max_versions: 100,
                aim: None,
                token: "f00",
            };
            let page = options(&templates(), &shell(), &given);
            assert_harmless(&page);
            page.body
        };
        let checked = |body: &str| body.matches("checked=\"checked\"").count();
        for (schedule, boxes, cron, days, hours) in [
            (None, 19, "", "*", "0"),
            (Some("0 6,18 1-7 1,2 *"), 9, "", "1-7", "6,18"),
            (Some("0 6 1-7 * 1 and"), 13, "", "1-7", "6"),
            (Some("30 6 * * 1-5"), 19, "30 6 * * 1-5", "*", "0"),
            (Some("0 6 1 * 1"), 19, "0 6 1 * 1", "*", "0"),
        ] {
            let body = form(schedule);
            assert_eq!(checked(&body), boxes, "{schedule:?}");
            for (name, value) in
                [("cron", cron), ("dofm", days), ("hofd", hours), ("versions", "7")]
            {
                let want = format!("name=\"{name}\" value=\"{value}\"");
                assert!(body.contains(&want), "{want} in {body}");
            }
        }
    }

    #[test]
    fn the_form_says_how_far_links_are_followed() {
        for (aim, depth, method) in [
            (None, 0, "host"),
            (Some(Aim { depth: 3, scope: Scope::Site, ..Aim::default() }), 3, "site"),
            (
                Some(Aim {
                    depth: 1,
                    scope: Scope::parse("http://*/a").unwrap(),
                    ..Aim::default()
                }),
                1,
                "http://*/a",
            ),
        ] {
            let url = "http://a.example/";
            let given =
                Options { url, schedule: None, versions: None, max_versions: 9, aim, token: "t" };
            let page = options(&templates(), &shell(), &given);
            assert_harmless(&page);
            let body = page.body.replace("&#x2f;", "/");
            for want in [
                format!("name=\"depth\" value=\"{depth}\""),
                format!("<option value=\"{method}\" selected=\"selected\">"),
            ] {
                assert!(body.contains(&want), "{want} in {body}");
            }
        }
    }

    #[test]
    fn a_change_is_shown_line_by_line() {
        let text = |line: &str| crate::versions::text::Text {
            lines: vec![line.to_owned()],
            ..Default::default()
        };
        for hostile in hostile().iter().map(String::as_str).chain(["old"]) {
            let diff = Diff::of(&text(hostile), &text("new words"));
            let told = VersionDiff {
                url: hostile.to_owned(),
                versions: vec![time(), jiff::Timestamp::UNIX_EPOCH],
                from: jiff::Timestamp::UNIX_EPOCH,
                to: time(),
                title: Some(hostile.to_owned()),
                added: diff.added,
                removed: diff.removed,
                diff: diff.plain(),
                is_cut: true,
            };
            let page = super::diff(&templates(), &shell(), &told, &diff);
            assert_harmless(&page);
            assert!(page.body.contains("<bdi>new words</bdi>"), "{}", page.body);
        }
    }

    #[test]
    fn hostile_values_are_text() {
        for text in &hostile() {
            let item = MonitorItem {
                key: as_key(text).to_owned(),
                schedule: text.clone(),
                owner: Some(text.clone()),
                ..item(text)
            };
            assert_harmless(&page(&templates(), &shell(), &[item], "t"));
            let url = as_key(text);
            let given = Options {
                url,
                schedule: None,
                versions: None,
                max_versions: 9,
                aim: Some(Aim {
                    depth: 7,
                    scope: Scope::Prefix(as_key(text).to_owned()),
                    ..Aim::default()
                }),
                token: "t",
            };
            assert_harmless(&options(&templates(), &shell(), &given));
        }
    }
}
