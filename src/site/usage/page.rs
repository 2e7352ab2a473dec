//! The local page `/usage/`: the quotas of the caller, and the usage by day.

use crate::base::shown;
use crate::page::quota::{amount, limit};
use crate::page::{RenderedPage, Shell, view};
use crate::site::statistics::chart::{self, Chart, DayCount};
use wwwoffle_api::{DayUsage, QuotaItem, UsageReport};
use wwwoffle_config::{QuotaMeasure, QuotaPeriod};

/// Path of the page.
pub const PATH: &str = "/usage/";

/// The largest number of lines of the table; CSV and JSON have more.
const SHOWN_LINES: usize = 500;

/// Number of days in the chart.
const CHART_DAYS: usize = 30;

/// Renders the page. `is_all`: whether it shows the usage of everyone.
#[must_use]
pub fn page(shell: &Shell, report: &UsageReport, is_all: bool) -> RenderedPage {
    let line = |line: &DayUsage| {
        view! {
            day: line.day,
            // `None` for all others together.
            who: line.owner.as_deref().map(shown::text),
            requests: line.requests,
            from_spool: line.from_spool,
            sent: shown::bytes(line.sent),
            fetched: shown::bytes(line.fetched),
            queued: line.queued,
        }
    };
    let quota = |item: &QuotaItem| {
        let measure = QuotaMeasure::ALL.iter().find(|one| one.as_str() == item.measure);
        let measure = measure.copied().unwrap_or(QuotaMeasure::Bytes);
        let is_of_month = item.period == QuotaPeriod::Month.as_str();
        let period = if is_of_month { QuotaPeriod::Month } else { QuotaPeriod::Day };
        view! {
            who: shown::text(&item.owner),
            what: limit(measure, period, item.most),
            used: amount(measure, item.used),
            is_reached: item.used >= item.most,
            renewed: item.renewed,
        }
    };
    let view = view! {
        is_counted: report.is_counted,
        is_all,
        chart: requests(report),
        quotas: report.quotas.iter().take(SHOWN_LINES).map(quota).collect::<Vec<_>>(),
        lines: report.usage.iter().take(SHOWN_LINES).map(line).collect::<Vec<_>>(),
    };
    shell.page("usage.html", 200, &view)
}

/// Draws the requests of all listed people by day.
fn requests(report: &UsageReport) -> Chart {
    let Ok(today) = report.today.parse() else { return Chart::of_requests(&[]) };
    let days = chart::last_days(today, CHART_DAYS, |day| {
        let name = day.to_string();
        let of_day = report.usage.iter().filter(|line| line.day == name);
        let add = |(whole, part): (u64, u64), line: &DayUsage| {
            (whole.saturating_add(line.requests), part.saturating_add(line.from_spool))
        };
        Some(of_day.fold((0, 0), add))
    });
    let count = |(day, (whole, part))| DayCount { day, whole, part };
    Chart::of_requests(&days.into_iter().map(count).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::{assert_harmless, hostile, shell};

    fn report(owner: &str) -> UsageReport {
        let line = DayUsage {
            day: "2026-11-22".to_owned(),
            owner: Some(owner.to_owned()),
            requests: 40,
            from_spool: 30,
            sent: 2_000,
            ..DayUsage::default()
        };
        let quota = QuotaItem {
            owner: owner.to_owned(),
            measure: "queued".to_owned(),
            period: "month".to_owned(),
            used: 3,
            most: 3,
            renewed: "2026-12-01".to_owned(),
        };
        UsageReport {
            today: "2026-11-22".to_owned(),
            is_counted: true,
            usage: vec![line.clone(), DayUsage { owner: None, ..line }],
            quotas: vec![quota],
        }
    }

    #[test]
    fn usage_and_quotas_are_shown() {
        let all = page(&shell(), &report("user:ada"), true).body;
        for want in [
            "<bdi>user:ada</bdi>",
            "All others",
            "<td>40</td>",
            "60 of 80 requests in the last 30 days were answered from the spool.",
            "<title>2026-11-22: 60 / 80</title>",
            "<td>2.0 kB</td>",
            "3 queued requests per month",
            "<b>3 queued requests</b>",
            "href=\"http://localhost:8080/usage/all.csv\"",
        ] {
            assert!(all.contains(want), "{want} in {all}");
        }
        let own = page(&shell(), &report("user:ada"), false).body;
        assert!(!own.contains("user:ada") && own.contains("/usage/usage.csv"), "{own}");
        let none = page(&shell(), &UsageReport::default(), false).body;
        assert!(none.contains("Usage is not counted") && !none.contains(".csv"), "{none}");
    }

    #[test]
    fn hostile_owners_are_text() {
        for text in hostile() {
            assert_harmless(&page(&shell(), &report(&text), true));
        }
    }
}
