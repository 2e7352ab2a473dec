//! The local page `/statistics/`: the work of the proxy in figures, as charts and by host.

use jiff::civil::Date;

use crate::base::shown;
use crate::base::statistics::Outcome;
use crate::base::text::{Text, count, tr};
use crate::page::{RenderedPage, Shell, View, view};
use crate::site::home::page::space::part;
use crate::site::statistics::chart::{self, Chart, DayCount};
use wwwoffle_api::{HostCounts, StatisticsReport, Sums, TierStatus};

/// Path of the page.
pub const PATH: &str = "/statistics/";

/// Number of days in a chart, and in the longest period of the table except the total.
const MONTH: usize = 30;

/// Maximum number of listed hosts; the others are summed up.
const SHOWN_HOSTS: usize = 50;

/// Renders the page.
#[must_use]
pub fn page(
    shell: &Shell,
    statistics: &StatisticsReport,
    tier: Option<&TierStatus>,
) -> RenderedPage {
    let month = last_days(statistics, MONTH);
    let days = month.iter().rev().map(|(day, sums)| {
        view! {
            date: day.to_string(),
            requests: sums.all(),
            kept: saved_requests(sums),
            saved: shown::bytes(sums.saved),
            fetched: shown::bytes(sums.fetched),
        }
    });
    let view = view! {
        // Whether nothing was counted yet.
        is_empty: statistics.days.is_empty(),
        lines: lines(statistics, &month),
        charts: charts(&month),
        days: days.collect::<Vec<_>>(),
        // `None` if this node belongs to no archive tier.
        tier: tier.map(|tier| self::tier(tier, statistics.hosts.is_some())),
        // `None` if the caller may not see the hosts.
        hosts: statistics.hosts.as_ref().map(|hosts| self::hosts(hosts, statistics.rest.as_ref())),
    };
    shell.page("statistics.html", 200, &view)
}

/// Returns the state of the archive tier. The fault of an engine names its address, so only the
/// owner of the machine sees it.
fn tier(tier: &TierStatus, is_owner: bool) -> View {
    let counts = [
        (tr("Waiting to be added"), tier.backlog),
        (tr("Added since the start"), tier.pushed),
        (tr("Read from it since the start"), tier.pulled),
        (tr("Queued requests that other nodes may fetch"), tier.given),
        (tr("Requests fetched for other nodes now"), tier.taken),
    ];
    let lines = counts.map(|(title, value)| view! { title, value });
    view! {
        lines: lines.to_vec(),
        scanning: tier.scanning,
        fails: tier.fault.is_some(),
        fault: tier.fault.as_deref().filter(|_| is_owner).map(shown::text),
    }
}

/// Returns the last days up to today, oldest first, including days without requests.
fn last_days(statistics: &StatisticsReport, many: usize) -> Vec<(Date, Sums)> {
    let Ok(today) = statistics.today.parse::<Date>() else { return Vec::new() };
    chart::last_days(today, many, |day| {
        let name = day.to_string();
        let counted = statistics.days.iter().rfind(|counted| counted.day == name);
        counted.map(|counted| counted.sums.clone())
    })
}

/// Returns the requests of each day for the chart.
pub(in crate::site) fn request_counts(days: &[(Date, Sums)]) -> Vec<DayCount> {
    let of = |(day, sums): &(Date, Sums)| DayCount {
        day: *day,
        whole: sums.all(),
        part: saved_requests(sums),
    };
    days.iter().map(of).collect()
}

/// Returns the number of requests that were served without transferring the whole response from the
/// origin.
pub(in crate::site) fn saved_requests(sums: &Sums) -> u64 {
    let saving = Outcome::ALL.iter().filter(|outcome| outcome.saves());
    saving.fold(0, |sum, outcome| sum.saturating_add(sums.of(outcome.as_str())))
}

/// Returns the lines of the table: one number for each of the periods on the page.
fn lines(statistics: &StatisticsReport, month: &[(Date, Sums)]) -> Vec<View> {
    let of_last = |many: usize| {
        let mut sums = Sums::default();
        month.iter().rev().take(many).for_each(|(_, day)| sums.add(day));
        sums
    };
    let mut all = Sums::default();
    statistics.days.iter().for_each(|day| all.add(&day.sums));
    let times = [of_last(1), of_last(7), of_last(MONTH), all];
    // `is_part`: whether the line is a subtotal of a previous line.
    let line = |title: Text, is_part: bool, value: &dyn Fn(&Sums) -> String| {
        view! { title, values: times.iter().map(value).collect::<Vec<_>>(), is_part }
    };
    let mut lines = vec![line(tr("Requests"), false, &|sums| sums.all().to_string())];
    for outcome in Outcome::ALL {
        let of = |sums: &Sums| sums.of(outcome.as_str());
        if times.iter().any(|sums| of(sums) > 0) {
            lines.push(line(words(outcome), true, &|sums| of(sums).to_string()));
        }
    }
    lines.push(line(tr("Sent to browsers"), false, &|sums| shown::bytes(sums.given)));
    lines.push(line(tr("Fetched"), false, &|sums| shown::bytes(sums.fetched)));
    lines.push(line(tr("Traffic avoided"), false, &|sums| shown::bytes(sums.saved)));
    let left_out: (_, fn(&Sums) -> u64) = (tr("Left out by the data saver"), |sums| sums.unfetched);
    let unsent: (_, fn(&Sums) -> u64) =
        (tr("Not sent, because pictures were recompressed"), |sums| sums.unsent);
    for (title, of) in [left_out, unsent] {
        if times.iter().any(|sums| of(sums) > 0) {
            lines.push(line(title, false, &|sums| shown::bytes(of(sums))));
        }
    }
    lines
}

fn words(outcome: Outcome) -> Text {
    match outcome {
        Outcome::Hit => tr("served from the spool"),
        Outcome::Validated => tr("served from the spool after the site confirmed it"),
        Outcome::Stale => tr("served from the spool because the site failed"),
        Outcome::Stored => tr("fetched and saved"),
        Outcome::Joined => tr("fetched together with another request"),
        Outcome::Passed => tr("served without saving"),
        Outcome::Queued => tr("put on the queue"),
        Outcome::Refused => tr("not saved and not queued"),
        Outcome::Blocked => tr("blocked by the configuration"),
        Outcome::Moved => tr("redirected by the configuration"),
        Outcome::LeftOut => tr("left out by the data saver"),
        Outcome::Failed => tr("failed"),
        Outcome::Tunnelled => tr("tunneled, not intercepted"),
    }
}

fn charts(month: &[(Date, Sums)]) -> [Chart; 2] {
    let traffic = |(day, sums): &(Date, Sums)| {
        let whole = sums.fetched.saturating_add(sums.saved);
        DayCount { day: *day, whole, part: sums.saved }
    };
    let traffic: Vec<_> = month.iter().map(traffic).collect();
    [Chart::of_requests(&request_counts(month)), Chart::of_traffic(&traffic)]
}

fn hosts(all: &[HostCounts], rest: Option<&Sums>) -> Vec<View> {
    let mut others = rest.cloned().unwrap_or_default();
    all.iter().skip(SHOWN_HOSTS).for_each(|host| others.add(&host.sums));
    let most = all.iter().map(|host| host.sums.all()).max().unwrap_or_default();
    let one = |name: Option<String>, before: u64, sums: &Sums| {
        let is_host = name.is_some();
        let before = count(
            before,
            "plus at most {n} earlier request, counted under “All others”",
            "plus at most {n} earlier requests, counted under “All others”",
        );
        view! {
            // `None` for the sum of all others.
            name,
            requests: sums.all(),
            // Maximum number of further requests, from before the host was counted separately.
            before: before.if_any(),
            kept: saved_requests(sums),
            saved: shown::bytes(sums.saved),
            // The bar of the host, compared with the one that has the most requests.
            bar: is_host.then(|| {
                [part(saved_requests(sums), most), part(sums.all(), most)]
            }),
        }
    };
    let listed = all.iter().take(SHOWN_HOSTS);
    let listed = listed.map(|host| one(Some(shown::text(&host.host)), host.before, &host.sums));
    let others = (others != Sums::default()).then(|| one(None, 0, &others));
    listed.chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::{assert_harmless, hostile, shell};
    use wwwoffle_api::DayCounts;

    fn sums(hits: u64, saved: u64) -> Sums {
        let requests = [("hit".to_owned(), hits), ("queued".to_owned(), 1)].into_iter().collect();
        Sums { requests, given: saved + 10, fetched: 10, saved, unfetched: 0, unsent: 0 }
    }

    fn statistics(host: &str) -> StatisticsReport {
        let day = |day: &str, hits| {
            let sums = sums(hits, hits * 1_500);
            DayCounts { day: day.to_owned(), sums }
        };
        let one = HostCounts { host: host.to_owned(), before: 3, sums: sums(2, 10) };
        StatisticsReport {
            today: "2026-11-22".to_owned(),
            days: vec![day("2026-01-01", 7), day("2026-11-16", 5), day("2026-11-22", 2)],
            hosts: Some(vec![one; SHOWN_HOSTS + 2]),
            rest: Some(sums(4, 10)),
        }
    }

    fn body(statistics: &StatisticsReport) -> String {
        let page = page(&shell(), statistics, None);
        assert_harmless(&page);
        page.body
    }

    #[test]
    fn only_the_owner_sees_which_engine_fails() {
        let fault = Some("catalogue: db.example:5432 does not respond".to_owned());
        let tier = TierStatus { fault, backlog: 1_234, ..TierStatus::default() };
        for is_owner in [true, false] {
            let statistics = StatisticsReport {
                today: "2026-11-22".to_owned(),
                days: Vec::new(),
                hosts: is_owner.then(Vec::new),
                rest: None,
            };
            let page = page(&shell(), &statistics, Some(&tier));
            assert_harmless(&page);
            assert!(page.body.contains("<td>1234</td>"), "{}", page.body);
            assert!(page.body.contains("An engine does not answer"), "{}", page.body);
            assert_eq!(page.body.contains("db.example"), is_owner);
        }
    }

    #[test]
    fn the_page_shows_counts_of_day_week_month_and_total() {
        let shown = body(&statistics("a.example"));
        for want in [
            "<th scope=\"row\">Requests</th><td>3</td><td>9</td><td>9</td><td>17</td>",
            "served from the spool</th><td>2</td><td>7</td><td>7</td><td>14</td>",
            "put on the queue</th><td>1</td><td>2</td><td>2</td><td>3</td>",
            "<th scope=\"row\">Traffic avoided</th><td>3.0 kB</td><td>10 kB</td><td>10 kB</td><td>21 kB</td>",
            "7 of 9 requests in the last 30 days were answered from the spool.",
            "10 kB of 10 kB in the last 30 days did not have to be fetched.",
            "<title>2026-11-16: 5 / 6</title>",
            "<th scope=\"row\"><time datetime=\"2026-11-16\">2026-11-16</time></th><td>6</td><td>5</td>",
            "<time datetime=\"2026-10-24\">2026-10-24</time></th><td>0</td>",
            "<bdi>a.example</bdi>",
            "plus at most 3 earlier requests, counted under “All others”",
            "All others</th><td>11</td>",
        ] {
            assert!(shown.contains(want), "{want} in {shown}");
        }
        assert!(!shown.contains("blocked by"));
        assert_eq!(shown.matches("<svg class=\"chart\"").count(), 2);
        let bar = "<path class=\"kept\" d=\"M0 0H666V10H0Z\"></path><path class=\"other\" d=\"M666 0H1000V10H666Z\">";
        assert_eq!(shown.matches(bar).count(), SHOWN_HOSTS);
        assert_eq!(shown.matches("a.example").count(), SHOWN_HOSTS);
    }

    #[test]
    fn hosts_are_hidden_from_other_users() {
        let shown = body(&StatisticsReport { hosts: None, rest: None, ..statistics("a.example") });
        assert!(!shown.contains("a.example") && shown.contains("/statistics/hosts"), "{shown}");
    }

    #[test]
    fn empty_statistics_are_reported() {
        let today = "2026-11-22".to_owned();
        let shown = body(&StatisticsReport {
            today,
            hosts: Some(Vec::new()),
            ..StatisticsReport::default()
        });
        assert!(
            shown.contains("Nothing was counted yet") && !shown.contains("class=\"chart\""),
            "{shown}"
        );
    }

    #[test]
    fn hostile_values_are_text() {
        for text in hostile() {
            let mut shown = statistics(&text);
            shown.days.push(DayCounts { day: text.clone(), sums: sums(u64::MAX, 1 << 60) });
            body(&shown);
            body(&StatisticsReport { today: text, ..shown });
        }
    }
}
