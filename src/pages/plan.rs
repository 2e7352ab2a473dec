//! Plans in words, for pages and the command line: what is measured, and what is estimated.

use super::shown;
use crate::api::plan::{Amount, Basis, Expected, HostPlan, QueuePlan, RunPlan};

/// What a fetch along links would bring.
#[must_use]
pub fn of_run(plan: &RunPlan) -> Vec<String> {
    let all = plan.pages.with(&plan.parts);
    let mut lines = vec![
        format!("pages: {}", expected(&plan.pages)),
        format!("parts: {}", expected(&plan.parts)),
        format!("in all {}", sum(&all)),
    ];
    lines.extend(basis(&plan.basis));
    if plan.unread > 0 {
        lines.push(format!(
            "{} that are not kept may contain and link to more, of which nothing is known",
            plan.unread
        ));
    }
    if plan.robots_unknown > 0 {
        lines.push(format!(
            "what programs may get (robots.txt) of {} is not known: as if that were all",
            hosts(plan.robots_unknown)
        ));
    }
    for (why, left) in &plan.left_out {
        lines.push(format!("left out: {}, for {}", left.count, why.reason()));
    }
    lines.extend(cut(plan.cut));
    lines
}

/// What the queue would bring.
#[must_use]
pub fn of_queue(plan: &QueuePlan) -> Vec<String> {
    let count = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let mut lines = vec![expected(&plan.all), format!("in all {}", sum(&plan.all))];
    lines.extend(basis(&plan.basis));
    lines.extend(plan.hosts.iter().map(of_host));
    lines.extend((plan.more_hosts > 0).then(|| format!("and {} more", hosts(plan.more_hosts))));
    lines.extend(count(plan.failing, "would fail at once: the configuration or lost secrets"));
    lines.extend(count(plan.failed, "have failed, and wait to be tried again by hand"));
    if plan.asking.count > 0 {
        let Amount { count, bytes } = plan.asking;
        let bytes = shown::bytes(bytes);
        lines.push(format!("{count} ask whether they may come, for they are long ({bytes} told)"));
    }
    let budget = &plan.budget;
    if let Some(bytes) = budget.fetch {
        lines.push(format!("budget of a fetch: {}", shown::bytes(bytes)));
    }
    if let Some(bytes) = budget.day {
        let until = budget.until.map(|time| format!(", more from {time:.0} on"));
        let bytes = shown::bytes(bytes);
        lines.push(format!("left of the budget of the day: {bytes}{}", until.unwrap_or_default()));
    }
    if !plan.may_fetch {
        lines.push("the mode lets nothing be fetched now".to_owned());
    }
    lines.extend(cut(plan.cut));
    lines
}

fn of_host(host: &HostPlan) -> String {
    let kinds: Vec<_> = host
        .kinds
        .iter()
        .map(|(kind, count)| format!("{count} {}", format!("{kind:?}").to_lowercase()))
        .collect();
    let from = host.from.map_or_else(|| "now".to_owned(), |time| format!("{time:.0}"));
    let seconds = match host.seconds {
        0 => String::new(),
        seconds => format!(", for at least {seconds} s"),
    };
    format!(
        "{}: {}: {}; from {from}{seconds}",
        shown::line(&host.host),
        kinds.join(", "),
        sum(&host.expected)
    )
}

fn expected(expected: &Expected) -> String {
    let Expected { fresh, again, rest, new } = expected;
    let mut parts = vec![
        format!("{} not kept ({} estimated)", new.count, shown::bytes(new.bytes)),
        format!(
            "{} kept and asked about again (at most {} measured)",
            again.count,
            shown::bytes(again.bytes)
        ),
        format!("{} kept and fresh", fresh.count),
    ];
    if rest.count > 0 {
        let bytes = shown::bytes(rest.bytes);
        parts.push(format!("{} kept in part (the rest is {bytes}, measured)", rest.count));
    }
    parts.join(", ")
}

fn sum(expected: &Expected) -> String {
    format!(
        "{} to ask for: at most {} measured, and about {} estimated",
        expected.requests(),
        shown::bytes(expected.measured()),
        shown::bytes(expected.new.bytes)
    )
}

fn basis(basis: &Basis) -> Option<String> {
    let of = [
        (basis.host, "by what is kept of the same host"),
        (basis.class, "by what is kept of other hosts"),
        (basis.default, "by what is usual"),
    ];
    let of: Vec<_> = of.iter().filter(|(n, _)| *n > 0).map(|(n, by)| format!("{n} {by}")).collect();
    (!of.is_empty()).then(|| format!("estimated: {}", of.join(", ")))
}

fn hosts(count: u64) -> String {
    if count == 1 { "1 host".to_owned() } else { format!("{count} hosts") }
}

fn cut(is_cut: bool) -> Option<String> {
    let why = "not everything was looked at, for that takes long: what was not counts as not kept";
    is_cut.then(|| why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ItemKind;
    use crate::api::plan::PlanBudget;

    #[test]
    fn what_is_measured_and_what_is_estimated_is_told_apart() {
        let amount = |count, bytes| Amount { count, bytes };
        let pages = Expected {
            fresh: amount(1, 7),
            again: amount(2, 2_000),
            rest: amount(1, 500),
            new: amount(3, 90_000),
        };
        let basis = Basis { host: 2, class: 0, default: 1 };
        let plan = RunPlan { pages, basis, unread: 3, robots_unknown: 1, ..RunPlan::default() };
        assert_eq!(
            of_run(&plan),
            [
                "pages: 3 not kept (90 kB estimated), 2 kept and asked about again (at most 2.0 kB \
                 measured), 1 kept and fresh, 1 kept in part (the rest is 500 B, measured)",
                "parts: 0 not kept (0 B estimated), 0 kept and asked about again (at most 0 B \
                 measured), 0 kept and fresh",
                "in all 6 to ask for: at most 2.5 kB measured, and about 90 kB estimated",
                "estimated: 2 by what is kept of the same host, 1 by what is usual",
                "3 that are not kept may contain and link to more, of which nothing is known",
                "what programs may get (robots.txt) of 1 host is not known: as if that were all",
            ]
        );
        let host = HostPlan {
            host: "a\u{1b}".to_owned(),
            kinds: [(ItemKind::Page, 2), (ItemKind::Recursive, 1)].into(),
            expected: pages,
            from: Some("2026-11-20T12:00:00Z".parse().unwrap()),
            seconds: 40,
        };
        let budget = PlanBudget { fetch: None, day: Some(0), until: host.from };
        let queue = QueuePlan { hosts: vec![host], budget, cut: true, ..QueuePlan::default() };
        let lines = of_queue(&queue);
        assert_eq!(
            lines[2..],
            [
                "a⟨U+001B⟩: 2 page, 1 recursive: 6 to ask for: at most 2.5 kB measured, and about \
                 90 kB estimated; from 2026-11-20T12:00:00Z, for at least 40 s",
                "left of the budget of the day: 0 B, more from 2026-11-20T12:00:00Z on",
                "the mode lets nothing be fetched now",
                "not everything was looked at, for that takes long: what was not counts as not kept",
            ]
        );
    }
}
