//! Statistics, as JSON and as a page.

pub(super) mod chart;
pub(super) mod exposition;
pub(super) mod metrics;
pub mod page;

use hyper::Response;
use jiff::civil::Date;
use wwwoffle_spool::Counts;

use super::caller::Caller;
use super::status;
use crate::base::statistics::{self, FETCHED, GIVEN, Outcome, SAVED, UNFETCHED, UNSENT};
use crate::base::{clock, shown};
use crate::proxy::body::Body;
use wwwoffle_api::{DayCounts, HostCounts, StatisticsReport, Sums};

/// Returns the statistics that the caller may see. Names of hosts are only for the owner of the
/// machine, because they reveal what others have read.
pub(super) fn statistics(caller: &Caller) -> StatisticsReport {
    let now = clock::now();
    let books = caller.context.storage.statistics.ledger(now);
    let day =
        |(day, counts): (&Date, &Counts)| DayCounts { day: day.to_string(), sums: sums(counts) };
    let host = |(host, counts): (&str, &wwwoffle_spool::HostCounts)| HostCounts {
        host: shown::text(host),
        before: counts.before,
        sums: sums(&counts.counts),
    };
    StatisticsReport {
        today: statistics::day(now).to_string(),
        days: books.days().iter().map(day).collect(),
        hosts: caller.owns().then(|| books.hosts().into_iter().map(host).collect()),
        rest: caller.owns().then(|| sums(books.other_hosts())),
    }
}

/// Returns the counts of the last `many` days up to today, oldest first.
pub(super) fn last_days(caller: &Caller, many: usize) -> Vec<(Date, Sums)> {
    let now = clock::now();
    let books = caller.context.storage.statistics.ledger(now);
    chart::last_days(statistics::day(now), many, |day| books.days().get(&day).map(sums))
}

/// Returns the counts of the current day.
pub(super) fn today(caller: &Caller) -> Sums {
    last_days(caller, 1).pop().map(|(_, sums)| sums).unwrap_or_default()
}

/// Shows the page.
pub(super) fn show(caller: &Caller) -> Response<Body> {
    let figures = statistics(caller);
    let tier = status::tier(caller);
    caller.page(page::page(&caller.shell, &figures, tier.as_ref()))
}

/// Shows the page with the names of hosts, if the caller owns the machine.
pub(super) fn show_hosts(caller: &Caller) -> Response<Body> {
    if caller.owns() { show(caller) } else { caller.see_other(page::PATH) }
}

fn sums(counts: &Counts) -> Sums {
    let requests = Outcome::ALL.iter().map(|outcome| outcome.as_str());
    let requests = requests.map(|name| (name.to_owned(), counts.of(name)));
    Sums {
        requests: requests.filter(|(_, count)| *count > 0).collect(),
        given: counts.of(GIVEN),
        fetched: counts.of(FETCHED),
        saved: counts.of(SAVED),
        unfetched: counts.of(UNFETCHED),
        unsent: counts.of(UNSENT),
    }
}
