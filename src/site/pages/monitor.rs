//! The local pages `/monitor/`, what is looked at on a schedule, and `/monitor-options/`, the form for
//! one page.

use serde::Serialize;
use wwwoffle_spool::Schedule;
use wwwoffle_url::url_encode_form_args;

use super::configuration::diff::Line;
use super::lists::room;
use super::refresh::LinksView;
use super::schedule::{WEEKDAYS, in_words};
use crate::api::aim::Aim;
use crate::api::scope::Scope;
use crate::api::{MonitorItem, VersionDiff};
use crate::base::escape::written;
use crate::base::shown::{self, ShownTime, ShownUrl};
use crate::base::text::{Text, say};
use crate::page::fault::{self, FormFault};
use crate::page::form::SubmittedForm;
use crate::page::links;
use crate::page::{Page, Shell, Templates};
use crate::storage::versions::diff::{Diff, Sort};

/// Pages that are listed, fewer where they have long URLs; the others are counted.
pub const SHOWN_PAGES: usize = 60;

/// Bytes of all rows of the list together, as they are written into it; with what stands around them that stays below
/// 100 kB.
const ROOM: usize = 80_000;

/// Bytes of a row of its own, whatever is in it.
const ROW: usize = 1_050;

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
    let line = |line: &crate::storage::versions::diff::Line| {
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
        history: links::history(&told.url),
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
    /// The same in words, where it is simple.
    words: Option<Text>,
    versions: u16,
    last: Option<ShownTime>,
    next: Option<ShownTime>,
    owner: Option<Text>,
    options: String,
    /// Where what has changed is shown, if anything has.
    changes: Option<String>,
}

/// Makes the list; `changed` says of which of `items` there is an older version, and `token` is the general
/// token.
#[must_use]
pub fn page<'a>(
    templates: &Templates,
    shell: &Shell,
    items: &'a [MonitorItem],
    changed: &[bool],
    token: &'a str,
) -> Page {
    let time = |time| ShownTime::new(time, &shell.zone);
    let view = |(item, changed): (&'a MonitorItem, bool)| {
        let MonitorItem { key, url, schedule, versions, last, next, owner } = item;
        PageView {
            key,
            url: room::brief(ShownUrl::new(url)),
            schedule: shown::text(schedule),
            words: in_words(schedule),
            versions: *versions,
            last: last.map(time),
            next: next.map(time),
            owner: owner.as_deref().map(|owner| shell.for_whom(owner)),
            options: links::monitor(url),
            changes: changed.then(|| diff_path(url)),
        }
    };
    let changed = changed.iter().copied().chain(std::iter::repeat(false));
    let mut pages: Vec<_> = items.iter().zip(changed).take(SHOWN_PAGES).map(view).collect();
    pages.truncate(room::fitting(ROOM, pages.iter().map(|page| cost(page, token))));
    let more = items.len().saturating_sub(pages.len());
    let view = View { token, pages, more };
    templates.page("monitor.html", 200, shell, &view)
}

/// Bytes of a row of the list, as it is written.
fn cost(page: &PageView<'_>, token: &str) -> usize {
    let owner = page.owner.as_ref().map_or(0, |owner| written(&owner.to_string()));
    let addresses = written(&page.options) + page.changes.as_deref().map_or(0, written);
    // Its text stands there once, and four times for who hears the page.
    let url = room::linked(&page.url) + 5 * written(&page.url.text);
    ROW + token.len() + page.key.len() + written(&page.schedule) + owner + addresses + url
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
    versions: String,
    max_versions: u16,
    links: LinksView,
    faults: &'a [FormFault],
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
            Some(aim) => LinksView::new(aim.depth.to_string(), &aim.scope),
            None => LinksView::new(0.to_string(), &Scope::default()),
        },
        versions: options.versions.unwrap_or_default().to_string(),
        max_versions: options.max_versions,
        faults: &[],
    };
    templates.page("monitor-options.html", 200, shell, &view)
}

/// Makes the form again, with what was typed into it and what is wrong with that; `most` is how many versions may
/// be kept, and `token` the general token.
#[must_use]
pub fn options_again(
    templates: &Templates,
    shell: &Shell,
    form: &SubmittedForm,
    faults: &[FormFault],
    (most, token): (u16, &str),
) -> Page {
    let value = |name: &str| form.value(name).unwrap_or_default();
    let boxes = |name: &str, labels: &[Text], first: u8| {
        let numbers = labels.iter().cloned().zip(first..);
        let boxes = numbers.map(|(label, number)| {
            let name = format!("{name}{number}");
            Choice { checked: form.value(&name).is_some(), name, label }
        });
        boxes.collect()
    };
    let scope = form.value("method").and_then(|scope| Scope::parse(scope).ok());
    let view = OptionsView {
        token,
        url: ShownUrl::new(value("url")),
        value: value("url"),
        is_known: false,
        months: boxes("mofy", &MONTHS, 1),
        weekdays: boxes("dofw", &WEEKDAYS, 0),
        days: shown::text(value("dofm")),
        hours: shown::text(value("hofd")),
        cron: shown::text(value("cron")),
        links: LinksView::new(shown::text(value("depth")), &scope.unwrap_or_default()),
        versions: shown::text(value("versions")),
        max_versions: most,
        faults,
    };
    templates.page("monitor-options.html", fault::status(faults), shell, &view)
}

#[cfg(test)]
mod tests;
