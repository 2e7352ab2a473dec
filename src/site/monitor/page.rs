//! The local pages `/monitor/`, the list of monitored pages, and `/monitor-options/`, the form for
//! one page.

use wwwoffle_spool::Schedule;
use wwwoffle_url::url_encode_form_args;

use super::preset::Preset;
use super::schedule::{WEEKDAYS, in_words};
use crate::base::escape::written;
use crate::base::shown::{self, ShownTime, ShownUrl};
use crate::base::text::{Text, tr};
use crate::fetch::monitor::report;
use crate::page::fault::{self, FormFault};
use crate::page::form::SubmittedForm;
use crate::page::links;
use crate::page::{RenderedPage, Shell, View, view};
use crate::site::configuration::page::diff::DiffLine;
use crate::site::fetches::page::link_fields;
use crate::site::lists::page::room;
use crate::storage::versions::diff::{Diff, LineKind};
use crate::storage::versions::memento::marked_path;
use wwwoffle_api::fetch_spec::FetchSpec;
use wwwoffle_api::scope::Scope;
use wwwoffle_api::{ChangeReport, MonitorItem, VersionDiff};

/// Maximum number of listed pages, fewer if they have long URLs; the others are counted.
pub const SHOWN_PAGES: usize = 60;

/// Maximum size of all rows after escaping, in bytes. With the rest the page stays below 100 kB.
const ROOM: usize = 88_000;

/// Size of the words around a report in a row, in bytes.
const REPORT: usize = 80;

/// Size of a row without its variable texts, in bytes.
const ROW: usize = 1_150;

/// Maximum number of lines shown of a difference.
const SHOWN_LINES: usize = 80;

/// Maximum number of listed older changes.
const SHOWN_OLDER: usize = 20;

/// The short names of the months.
const MONTHS: [Text; 12] = [
    tr("Jan"),
    tr("Feb"),
    tr("Mar"),
    tr("Apr"),
    tr("May"),
    tr("Jun"),
    tr("Jul"),
    tr("Aug"),
    tr("Sep"),
    tr("Oct"),
    tr("Nov"),
    tr("Dec"),
];

/// Returns the address of the page that shows the last change of `url`, without scheme and host.
#[must_use]
pub fn diff_path(url: &str) -> String {
    let url = ShownUrl::new(url).href.unwrap_or_default();
    format!("/monitor/diff/?url={}", url_encode_form_args(url.as_bytes()))
}

/// Renders the difference between two versions.
#[must_use]
pub fn diff(shell: &Shell, versions: &VersionDiff, diff: &Diff) -> RenderedPage {
    let line = |line: &crate::storage::versions::diff::ComparedLine| {
        let kind = match line.sort {
            LineKind::Same => "same",
            LineKind::Old => "old",
            LineKind::New => "new",
        };
        DiffLine::new(kind, line.number, &line.text)
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
    let pairs = versions.versions.iter().zip(versions.versions.iter().skip(1));
    let older = pairs.filter(|(to, _)| **to < versions.to).take(SHOWN_OLDER).map(|(to, from)| {
        let path = format!("{}&from={from}&to={to}", diff_path(&versions.url));
        view! { time: ShownTime::new(*to, &shell.zone), path }
    });
    let href = ShownUrl::new(&versions.url).href.unwrap_or_default();
    let view = view! {
        url: ShownUrl::new(&versions.url),
        title: versions.title.as_deref().map(shown::text),
        from: ShownTime::new(versions.from, &shell.zone),
        to: ShownTime::new(versions.to, &shell.zone),
        added: versions.added,
        removed: versions.removed,
        stretches,
        is_cut: versions.is_cut || count > SHOWN_LINES,
        older: older.collect::<Vec<_>>(),
        // Address of the newer version with its changes marked, without scheme and host.
        marked: marked_path(&href, versions.from, (versions.to, versions.to)),
        // Address of the list of all versions, without scheme and host.
        history: links::history(&versions.url),
    };
    shell.page("monitor-diff.html", 200, &view)
}

/// Renders the list. `changed` says which of `items` have an older version.
#[must_use]
pub fn page(shell: &Shell, items: &[MonitorItem], changed: &[bool]) -> RenderedPage {
    let changed = changed.iter().copied().chain(std::iter::repeat(false));
    let rows = items.iter().zip(changed).take(SHOWN_PAGES);
    let rows = rows.map(|(item, is_changed)| monitor_row(item, is_changed, shell));
    let (mut pages, costs): (Vec<_>, Vec<_>) = rows.unzip();
    pages.truncate(room::count_fitting(ROOM, costs));
    let more = items.len().saturating_sub(pages.len());
    let view = view! { pages, more };
    shell.page("monitor.html", 200, &view)
}

/// Returns a row of the list, and its size after escaping, in bytes.
fn monitor_row(item: &MonitorItem, is_changed: bool, shell: &Shell) -> (View, usize) {
    let MonitorItem { key, url, schedule, versions, last, next, owner, report, .. } = item;
    let report = report.as_ref().map(report::describe);
    let report_size = report.as_deref().map_or(0, |report| REPORT + written(report));
    let time = |time| ShownTime::new(time, &shell.zone);
    let (options, changes) = (links::monitor(url), is_changed.then(|| diff_path(url)));
    let addresses = written(&options) + changes.as_deref().map_or(0, written);
    let url = room::without_long_link(ShownUrl::new(url));
    // The text occurs once for display and four times for screen readers.
    let url_size = room::row_links_size(&url) + 5 * written(&url.text);
    let owner = owner.as_deref().map(|owner| shell.for_whom(owner));
    let owner_size = owner.as_ref().map_or(0, |owner| written(&owner.to_string()));
    let (words, schedule) = (in_words(schedule), shown::text(schedule));
    let texts = key.len() + written(&schedule) + owner_size + report_size;
    let row = view! {
        key,
        url,
        schedule,
        // The schedule in words, if it is simple.
        words,
        versions,
        last: last.map(time),
        next: next.map(time),
        owner,
        // The chosen part, words and address of reports.
        report,
        options,
        // Address of the page that shows the last change, if there was one.
        changes,
    };
    (row, ROW + shell.token.len() + texts + addresses + url_size)
}

/// Initial values of the form.
#[derive(Clone, Debug)]
pub struct MonitorForm<'a> {
    /// URL of the page; empty if the user still has to enter it.
    pub url: &'a str,
    /// The current schedule, if the page is monitored.
    pub schedule: Option<Schedule>,
    /// Number of older versions to keep, if the page is monitored.
    pub versions: Option<u16>,
    /// Maximum number of older versions that the form accepts.
    pub max_versions: u16,
    /// The settings for further fetches. `None` if the page is not monitored, or if only the
    /// configured sub-resources are fetched with it.
    pub spec: Option<FetchSpec>,
    /// Which changes are reported.
    pub report: ChangeReport,
}

/// Renders the form.
#[must_use]
pub fn options(shell: &Shell, options: &MonitorForm<'_>) -> RenderedPage {
    let schedule = options.schedule;
    let [minutes, hours, days, ..] = schedule.map(|it| it.fields()).unwrap_or_default();
    // WWWOFFLE 2.9 supports full hours only, and a day must match both sets: the days of the month
    // and the days of the week.
    let is_times = Preset::of(schedule) == Preset::Times;
    let by_sets = schedule.filter(|it| {
        let [_, hours, days, months, weekdays] = it.fields();
        is_times
            && minutes == "0"
            && Schedule::of_sets(&months, &days, &weekdays, &hours).as_ref() == Ok(it)
    });
    let is_all = by_sets.is_none();
    let boxes = |name: &str, labels: &[Text], first: u8, is_in: &dyn Fn(u8) -> bool| {
        let boxes = labels.iter().zip(first..).map(|(label, number)| {
            let checked = is_all || is_in(number);
            view! { name: format!("{name}{number}"), label, checked }
        });
        boxes.collect::<Vec<_>>()
    };
    let view = view! {
        url: ShownUrl::new(options.url),
        // Value that the form sends: the URL as it was given, which may contain a password.
        value: options.url,
        is_known: schedule.is_some(),
        presets: presets(Preset::of(schedule)),
        // Whether the times below are those of the current schedule.
        was_times: is_times,
        // Whether the choices that few people need are shown.
        is_open: is_times,
        months: boxes("mofy", &MONTHS, 1, &|month| by_sets.is_some_and(|it| it.has_month(month))),
        weekdays: boxes("dofw", &WEEKDAYS, 0, &|day| by_sets.is_some_and(|it| it.has_weekday(day))),
        days: by_sets.map_or_else(|| "*".to_owned(), |_| days),
        hours: by_sets.map_or_else(|| "0".to_owned(), |_| hours),
        // The schedule as a line of cron, if the fields of WWWOFFLE 2.9 cannot express it.
        cron: schedule.filter(|_| is_all && is_times).map_or_else(String::new, |it| it.to_string()),
        links: match &options.spec {
            Some(spec) => link_fields(&spec.depth.to_string(), &spec.scope),
            None => link_fields("0", &Scope::default()),
        },
        versions: options.versions.unwrap_or_default().to_string(),
        select: options.report.select.as_deref().unwrap_or_default(),
        words: options.report.words.as_deref().unwrap_or_default(),
        mail: options.report.mail.as_deref().unwrap_or_default(),
        max_versions: options.max_versions,
        faults: Vec::<FormFault>::new(),
    };
    shell.page("monitor-options.html", 200, &view)
}

fn presets(chosen: Preset) -> [View; 6] {
    Preset::ALL.map(|preset| {
        view! { value: preset.as_str(), label: preset.label(), chosen: preset == chosen }
    })
}

/// Renders the form again with the typed values and error messages. `most` is the maximum number of
/// versions.
#[must_use]
pub fn options_again(
    shell: &Shell,
    form: &SubmittedForm,
    faults: &[FormFault],
    most: u16,
) -> RenderedPage {
    let value = |name: &str| form.value(name).unwrap_or_default();
    let boxes = |name: &str, labels: &[Text], first: u8| {
        let boxes = labels.iter().zip(first..).map(|(label, number)| {
            let name = format!("{name}{number}");
            view! { checked: form.value(&name).is_some(), name, label }
        });
        boxes.collect::<Vec<_>>()
    };
    let scope = form.value("method").and_then(|scope| Scope::parse(scope).ok());
    let view = view! {
        url: ShownUrl::new(value("url")),
        value: value("url"),
        is_known: false,
        presets: presets(Preset::meant(form)),
        was_times: form.value("was") == Some(Preset::Times.as_str()),
        is_open: true,
        months: boxes("mofy", &MONTHS, 1),
        weekdays: boxes("dofw", &WEEKDAYS, 0),
        days: shown::text(value("dofm")),
        hours: shown::text(value("hofd")),
        cron: shown::text(value("cron")),
        links: link_fields(&shown::text(value("depth")), &scope.unwrap_or_default()),
        versions: shown::text(value("versions")),
        select: shown::text(value("select")),
        words: shown::text(value("words")),
        mail: shown::text(value("mail")),
        max_versions: most,
        faults,
    };
    shell.page("monitor-options.html", fault::status(faults), &view)
}

#[cfg(test)]
mod tests;
