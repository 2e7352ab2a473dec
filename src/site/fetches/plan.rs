//! Fetch plans in words, for pages and the command line. They state which figures are measured and
//! which are estimated.

use crate::api::ItemKind;
use crate::api::plan::{Amount, Basis, Expected, HostPlan, QueuePlan, RunPlan};
use crate::base::shown;
use crate::base::text::{Text, TextValue, count, row, say};

/// Describes the expected results of a recursive fetch.
#[must_use]
pub fn describe_run(plan: &RunPlan) -> Vec<Text> {
    let all = plan.pages.with(&plan.parts);
    let mut lines = vec![
        say("pages: {amounts}").with("amounts", expected(&plan.pages)),
        say("parts: {amounts}").with("amounts", expected(&plan.parts)),
        in_all(&all),
    ];
    lines.extend(basis(&plan.basis));
    if plan.unread > 0 {
        lines.push(count(
            plan.unread,
            "{n} that is not kept may contain and link to more, of which nothing is known",
            "{n} that are not kept may contain and link to more, of which nothing is known",
        ));
    }
    if plan.robots_unknown > 0 {
        lines.push(count(
            plan.robots_unknown,
            "what programs may get (robots.txt) of {n} host is not known: as if that were all",
            "what programs may get (robots.txt) of {n} hosts is not known: as if that were all",
        ));
    }
    for (why, left) in &plan.left_out {
        let text = count(left.count, "left out: {n}, for {why}", "left out: {n}, for {why}");
        lines.push(text.with("why", why.text()));
    }
    lines.extend(cut(plan.cut));
    lines
}

/// Describes the expected results of fetching the queue.
#[must_use]
pub fn describe_queue(plan: &QueuePlan) -> Vec<Text> {
    let mut lines = vec![expected(&plan.all), in_all(&plan.all)];
    lines.extend(basis(&plan.basis));
    lines.extend(plan.hosts.iter().map(of_host));
    if plan.more_hosts > 0 {
        lines.push(count(plan.more_hosts, "and {n} host more", "and {n} hosts more"));
    }
    if plan.failing > 0 {
        lines.push(count(
            plan.failing,
            "{n} would fail at once: the configuration or lost secrets",
            "{n} would fail at once: the configuration or lost secrets",
        ));
    }
    if plan.failed > 0 {
        lines.push(count(
            plan.failed,
            "{n} has failed, and waits to be tried again by hand",
            "{n} have failed, and wait to be tried again by hand",
        ));
    }
    if plan.asking.count > 0 {
        let text = count(
            plan.asking.count,
            "{n} asks whether it may come, for it is long ({size} told)",
            "{n} ask whether they may come, for they are long ({size} told)",
        );
        lines.push(text.with("size", shown::bytes(plan.asking.bytes)));
    }
    lines.extend(budget(plan));
    if !plan.may_fetch {
        lines.push(say("the mode lets nothing be fetched now"));
    }
    lines.extend(cut(plan.cut));
    lines
}

fn budget(plan: &QueuePlan) -> Vec<Text> {
    let budget = &plan.budget;
    let fetch = budget.fetch.map(|bytes| {
        let text = say("budget of a fetch: {size}");
        text.with("size", shown::bytes(bytes))
    });
    let day = budget.day.map(|bytes| {
        let text = match budget.until {
            Some(time) => say("left of the budget of the day: {size}, more from {time} on")
                .with("time", format!("{time:.0}")),
            None => say("left of the budget of the day: {size}"),
        };
        text.with("size", shown::bytes(bytes))
    });
    fetch.into_iter().chain(day).collect()
}

fn of_host(host: &HostPlan) -> Text {
    let kinds = host.kinds.iter().map(|(kind, count)| of_kind(*kind, *count).into());
    let from = host
        .from
        .map_or_else(|| TextValue::from(say("now")), |time| TextValue::from(format!("{time:.0}")));
    let text = match host.seconds {
        0 => say("{host}: {kinds}: {amounts}; from {from}"),
        seconds => say("{host}: {kinds}: {amounts}; from {from}, for at least {seconds} s")
            .with("seconds", seconds.to_string()),
    };
    text.with("host", shown::line(&host.host))
        .with("kinds", row(kinds))
        .with("amounts", sum(&host.expected))
        .with("from", from)
}

/// Counts items of a kind.
fn of_kind(kind: ItemKind, number: u64) -> Text {
    match kind {
        ItemKind::Page => count(number, "{n} page", "{n} pages"),
        ItemKind::Part => count(number, "{n} part", "{n} parts"),
        ItemKind::Refresh => count(number, "{n} refresh", "{n} refresh"),
        ItemKind::Post => count(number, "{n} post", "{n} post"),
        ItemKind::Recursive => count(number, "{n} recursive", "{n} recursive"),
        ItemKind::Monitored => count(number, "{n} monitored", "{n} monitored"),
    }
}

fn expected(expected: &Expected) -> Text {
    let Expected { fresh, again, rest, new } = expected;
    let of = |text: Text, amount: &Amount| text.with("size", shown::bytes(amount.bytes)).into();
    let new_text =
        count(new.count, "{n} not kept ({size} estimated)", "{n} not kept ({size} estimated)");
    let again_text = count(
        again.count,
        "{n} kept and asked about again (at most {size} measured)",
        "{n} kept and asked about again (at most {size} measured)",
    );
    let mut facts: Vec<TextValue> = vec![
        of(new_text, new),
        of(again_text, again),
        count(fresh.count, "{n} kept and fresh", "{n} kept and fresh").into(),
    ];
    if rest.count > 0 {
        let text = count(
            rest.count,
            "{n} kept in part (the rest is {size}, measured)",
            "{n} kept in part (the rest is {size}, measured)",
        );
        facts.push(of(text, rest));
    }
    row(facts)
}

fn sum(expected: &Expected) -> Text {
    let text = count(
        expected.requests(),
        "{n} to ask for: at most {measured} measured, and about {estimated} estimated",
        "{n} to ask for: at most {measured} measured, and about {estimated} estimated",
    );
    text.with("measured", shown::bytes(expected.measured()))
        .with("estimated", shown::bytes(expected.new.bytes))
}

fn in_all(all: &Expected) -> Text {
    say("in all {amounts}").with("amounts", sum(all))
}

fn basis(basis: &Basis) -> Option<Text> {
    let host = count(
        basis.host,
        "{n} by what is kept of the same host",
        "{n} by what is kept of the same host",
    );
    let class = count(
        basis.class,
        "{n} by what is kept of other hosts",
        "{n} by what is kept of other hosts",
    );
    let default = count(basis.default, "{n} by what is usual", "{n} by what is usual");
    let of = [(basis.host, host), (basis.class, class), (basis.default, default)];
    let of: Vec<TextValue> =
        of.into_iter().filter(|(number, _)| *number > 0).map(|(_, text)| text.into()).collect();
    (!of.is_empty()).then(|| say("estimated: {amounts}").with("amounts", row(of)))
}

fn cut(is_cut: bool) -> Option<Text> {
    is_cut.then(|| {
        say("not everything was looked at, for that takes long: what was not counts as not kept")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ItemKind;
    use crate::api::plan::PlanBudget;

    fn told(lines: &[Text]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

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
            told(&describe_run(&plan)),
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
        let lines = told(&describe_queue(&queue));
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
