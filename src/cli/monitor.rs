//! `wwwoffle monitor`: pages that are fetched on a schedule.

use wwwoffle_spool::Schedule;
use wwwoffle_url::url_encode_form_args;

use super::args::{MonitorVerb, ScheduleFlags};
use super::control::Control;
use super::failure::{VerbFailure, VerbResult};
use super::files::{print_lines, print_only_json};
use super::{Terminal, VerbContext};
use crate::base::exit::ExitStatus;
use crate::base::shown;
use crate::fetch::monitor::report;
use wwwoffle_api::{
    ChangeReport, DeletedUrls, MonitorItem, MonitorList, MonitorRequest, MonitorsToDelete,
    VersionDiff,
};

/// Runs a subcommand of `monitor`.
pub(super) fn run(verb: MonitorVerb, context: &mut VerbContext<'_>) -> VerbResult {
    let (control, terminal) = (context.settings.control()?, &mut context.terminal);
    match verb {
        MonitorVerb::Add { when, versions, depth, within, with, select, words, mail, urls } => {
            let schedule = schedule(&when)
                .map_err(|error| VerbFailure::usage(format_args!("monitor: {error}")))?;
            let schedule = schedule.to_string();
            let parts = with.named().collect();
            let report = ChangeReport { select, words, mail };
            let wanted = MonitorRequest { urls, schedule, versions, depth, within, parts, report };
            let set: MonitorList = control.post("/api/monitor", &wanted)?;
            print_lines(&set, false, terminal.stdout, set.monitor.iter().map(line))
        }
        MonitorVerb::List { json } => {
            let list: MonitorList = control.get("/api/monitor")?;
            print_lines(&list, json, terminal.stdout, list.monitor.iter().map(line))
        }
        MonitorVerb::Diff { from, to, json, url } => {
            let mut path =
                format!("/api/monitor/diff?url={}", url_encode_form_args(url.as_bytes()));
            for (name, time) in [("from", from), ("to", to)] {
                if let Some(time) = time {
                    path = format!("{path}&{name}={time}");
                }
            }
            diff(&control.get(&path)?, json, terminal)
        }
        MonitorVerb::Rm { all, urls } => remove(&control, all, urls, terminal),
    }
}

/// Builds the schedule from the options: a cron line, or a named interval. The other options
/// replace fields of the interval.
pub(super) fn schedule(when: &ScheduleFlags) -> Result<Schedule, String> {
    if let Some(line) = &when.cron {
        return line.parse().map_err(|error| format!("--cron: {error}"));
    }
    let named = [
        (when.each_session, "@online"),
        (when.hourly, "@hourly"),
        (when.weekly, "@weekly"),
        (when.monthly, "@monthly"),
        (when.daily, "@daily"),
    ];
    let name = named.iter().find(|(is_said, _)| *is_said).map_or("@daily", |(_, name)| name);
    let schedule: Schedule = name.parse().map_err(|error| format!("{error}"))?;
    if schedule.is_each_session() {
        return Ok(schedule);
    }
    let [mut minutes, mut hours, mut days, mut months, mut weekdays] = schedule.fields();
    if let Some(at) = &when.at {
        let bad = || format!("--at: expected a time as 6:30, not {at:?}");
        let (hour, minute) = at.split_once(':').ok_or_else(bad)?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !is_number(hour) || !is_number(minute) {
            return Err(bad());
        }
        // With `--hourly`, only the minutes of `--at` count.
        if !when.hourly {
            hour.clone_into(&mut hours);
        }
        minute.clone_into(&mut minutes);
    }
    for (field, said) in [
        (&mut hours, &when.hours),
        (&mut days, &when.days),
        (&mut months, &when.months),
        (&mut weekdays, &when.weekdays),
    ] {
        if let Some(said) = said {
            said.clone_into(field);
        }
    }
    let line = format!("{minutes} {hours} {days} {months} {weekdays} and");
    line.parse().map_err(|error| format!("{error}"))
}

fn diff(difference: &VersionDiff, json: bool, terminal: &mut Terminal<'_>) -> VerbResult {
    let out = &mut *terminal.stdout;
    if json {
        return print_only_json(difference, out);
    }
    writeln!(out, "- {}", difference.from)?;
    writeln!(out, "+ {}", difference.to)?;
    for text in difference.diff.lines() {
        writeln!(out, "{}", shown::line(text))?;
    }
    if difference.is_cut {
        writeln!(terminal.stderr, "wwwoffle: the difference is longer and was truncated")?;
    }
    Ok(ExitStatus::Done)
}

/// Formats schedule, last and next time, and URL.
fn line(item: &MonitorItem) -> String {
    let time = |time: Option<jiff::Timestamp>| {
        time.map_or_else(|| "-".to_owned(), |time| format!("{time:.0}"))
    };
    let (last, next) = (time(item.last), time(item.next));
    let target = item.target.as_deref();
    let target = target.map(|target| format!("  (requested as {})", shown::line(target)));
    let owner = item.owner.as_deref().map(|owner| format!("  ({})", shown::line(owner)));
    let report = item.report.as_ref().map(|one| format!("  [{}]", report::describe(one)));
    let (schedule, url) = (shown::line(&item.schedule), shown::line(&item.url));
    format!(
        "{schedule:<16} last {last:<20} next {next:<20} {url}{}{}{}",
        target.unwrap_or_default(),
        owner.unwrap_or_default(),
        report.unwrap_or_default()
    )
}

fn remove(
    control: &Control,
    all: bool,
    urls: Vec<String>,
    terminal: &mut Terminal<'_>,
) -> VerbResult {
    let gone: DeletedUrls = control.post("/api/monitor/delete", &MonitorsToDelete { urls, all })?;
    for url in &gone.deleted {
        writeln!(terminal.stdout, "no longer monitored: {}", shown::line(url))?;
    }
    for url in &gone.missing {
        writeln!(terminal.stderr, "wwwoffle: not monitored: {}", shown::line(url))?;
    }
    Ok(if gone.missing.is_empty() { ExitStatus::Done } else { ExitStatus::Failed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn when() -> ScheduleFlags {
        ScheduleFlags {
            cron: None,
            each_session: false,
            hourly: false,
            daily: false,
            weekly: false,
            monthly: false,
            at: None,
            months: None,
            days: None,
            weekdays: None,
            hours: None,
        }
    }

    #[test]
    fn typed_schedules_are_parsed() {
        let text = |text: &str| Some(text.to_owned());
        for (said, want) in [
            (when(), "0 0 * * *"),
            (ScheduleFlags { cron: text("30 6 1 * 1"), ..when() }, "30 6 1 * 1"),
            (ScheduleFlags { each_session: true, ..when() }, "@online"),
            (ScheduleFlags { hourly: true, ..when() }, "0 * * * *"),
            (ScheduleFlags { hourly: true, at: text("0:20"), ..when() }, "20 * * * *"),
            (ScheduleFlags { daily: true, at: text("06:30"), ..when() }, "30 6 * * *"),
            (ScheduleFlags { weekly: true, ..when() }, "0 0 * * 0"),
            (ScheduleFlags { weekly: true, weekdays: text("mon"), ..when() }, "0 0 * * 1"),
            (ScheduleFlags { monthly: true, at: text("4:05"), ..when() }, "5 4 1 * *"),
            (
                ScheduleFlags { days: text("1-7"), weekdays: text("mon"), ..when() },
                "0 0 1-7 * 1 and",
            ),
            (
                ScheduleFlags { hours: text("6,18"), months: text("1-3"), ..when() },
                "0 6,18 * 1-3 *",
            ),
        ] {
            assert_eq!(schedule(&said).unwrap().to_string(), want, "{said:?}");
        }
        for said in [
            ScheduleFlags { cron: text("x"), ..when() },
            ScheduleFlags { at: text("6"), ..when() },
            ScheduleFlags { at: text("25:00"), ..when() },
            ScheduleFlags { at: text("6:60"), ..when() },
            ScheduleFlags { at: text("*:*"), ..when() },
            ScheduleFlags { days: text("31"), months: text("2"), ..when() },
        ] {
            assert!(schedule(&said).is_err(), "{said:?}");
        }
    }
}
