//! The usage of users and clients, as a page, CSV and JSON.

pub mod page;

use std::collections::BTreeSet;

use hyper::{Response, StatusCode};
use jiff::civil::Date;
use wwwoffle_spool::{Counts, Spool, Statistics as StoredUsage, share_name};

use super::caller::Caller;
use crate::base::owner::Owner;
use crate::base::statistics::day;
use crate::base::statistics::usage::{QuotaUse, UsageCount, decode};
use crate::base::{clock, shown};
use crate::page::form::SubmittedForm;
use crate::proxy::body::{self, Body};
use crate::site::api::fault::CallFault;
use wwwoffle_api::{DayUsage, QuotaItem, UsageReport};

/// The number of days in a report, unless the caller names another, and the largest one.
const DAYS: usize = 31;
const MAX_DAYS: usize = 400;

/// The largest number of lines in a report; those of earlier days are left out.
const MAX_LINES: usize = 20_000;

/// The content type of the CSV file.
const CSV: &str = "text/csv; charset=utf-8; header=present";

/// Returns the usage that the caller may see: the owner of the machine sees that of everyone, other
/// callers their own.
pub(super) async fn report(
    caller: &Caller,
    arguments: Option<&str>,
) -> Result<UsageReport, CallFault> {
    let arguments = SubmittedForm::of_arguments(arguments).unwrap_or_default();
    let days = match arguments.value("days") {
        None => DAYS,
        Some(days) => {
            days.parse().ok().filter(|days| (1..=MAX_DAYS).contains(days)).ok_or_else(|| {
                let expected = format!("days: expected a number from 1 to {MAX_DAYS}");
                CallFault::new(StatusCode::BAD_REQUEST, expected)
            })?
        }
    };
    let (storage, config) = (&caller.context.storage, caller.context.base.config());
    let today = storage.statistics.usage.day().unwrap_or_else(|| day(clock::now()));
    let own = share_name(&caller.owner.to_string());
    let only = (!caller.owns()).then(|| own.clone());
    let now = storage.statistics.usage.counts();
    let usage =
        storage.store.run(move |spool| lines(spool, (today, now), days, only.as_deref())).await?;
    let owners = usage.iter().filter_map(|line| line.owner.clone()).chain([own]);
    let quotas = owners.collect::<BTreeSet<_>>().into_iter().flat_map(|name| {
        let uses = owner_of(&name)
            .and_then(|owner| storage.statistics.usage.with_limits(&config, &owner))
            .map(|usage| usage.uses());
        let item = move |used: QuotaUse| quota(&name, &used, today);
        uses.into_iter().flatten().map(item)
    });
    let quotas = quotas.collect();
    let is_counted = config.usage.count || !config.usage.quotas.is_empty();
    Ok(UsageReport { today: today.to_string(), is_counted, usage, quotas })
}

/// The owner whose requests are counted under `name`. For the addresses of an IPv6 network it is
/// the first of them.
fn owner_of(name: &str) -> Option<Owner> {
    name.strip_suffix("/64").unwrap_or(name).parse().ok()
}

fn quota(owner: &str, used: &QuotaUse, today: Date) -> QuotaItem {
    QuotaItem {
        owner: shown::text(owner),
        measure: used.limit.measure.as_str().to_owned(),
        period: used.limit.period.as_str().to_owned(),
        used: used.used,
        most: used.limit.most,
        renewed: used.renewed(today).to_string(),
    }
}

/// Collects the lines of the last days, latest first: those of `only`, or of everyone.
fn lines(
    spool: &Spool,
    (today, now): (Date, StoredUsage),
    days: usize,
    only: Option<&str>,
) -> Result<Vec<DayUsage>, wwwoffle_spool::Error> {
    let mut lines = Vec::new();
    add_day(&mut lines, today, &now, only);
    let past = spool.usage_days()?.into_iter().rev().filter(|day| *day < today);
    for day in past.take(days.saturating_sub(1)).take_while(|day| {
        usize::try_from(today.duration_since(*day).as_hours() / 24).is_ok_and(|age| age < days)
    }) {
        if lines.len() >= MAX_LINES {
            break;
        }
        // A damaged file is moved aside at the next start.
        add_day(&mut lines, day, &spool.usage(day)?.0, only);
    }
    Ok(lines)
}

fn add_day(lines: &mut Vec<DayUsage>, day: Date, usage: &StoredUsage, only: Option<&str>) {
    let line = |owner: Option<String>, counts: &Counts| {
        let of = |count: UsageCount| counts.of(count.as_str());
        DayUsage {
            day: day.to_string(),
            owner,
            requests: of(UsageCount::Requests),
            from_spool: of(UsageCount::Saved),
            sent: of(UsageCount::Given),
            fetched: of(UsageCount::Fetched),
            origin_requests: of(UsageCount::Asked),
            queued: of(UsageCount::Queued),
        }
    };
    for (name, counts) in &usage.hosts {
        let name = decode(name);
        if only.is_none_or(|only| only == name) {
            lines.push(line(Some(name), &counts.counts));
        }
    }
    if only.is_none() && !usage.rest.is_empty() {
        lines.push(line(None, &usage.rest));
    }
}

/// Shows the page.
pub(super) async fn show(caller: &Caller) -> Response<Body> {
    match report(caller, None).await {
        Ok(report) => caller.page(page::page(&caller.shell, &report, caller.owns())),
        Err(fault) => caller.bad_form(fault.status, &fault.error),
    }
}

/// Shows the page with the usage of everyone, if the caller owns the machine.
pub(super) async fn show_all(caller: &Caller) -> Response<Body> {
    if caller.owns() { show(caller).await } else { caller.see_other(page::PATH) }
}

/// Sends the counts that the caller may see as CSV.
pub(super) async fn csv(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    match report(caller, arguments).await {
        Ok(report) => caller.other(StatusCode::OK, Some(CSV), body::from_bytes(report.to_csv())),
        Err(fault) => caller.bad_form(fault.status, &fault.error),
    }
}
