//! Fetch plans in words, for pages and the command line. The texts state which figures are measured
//! and which are estimated.

use crate::base::shown;
use crate::base::text::{Text, TextValue, count, count_same, row, tr};
use crate::page::left_out::left_out;
use wwwoffle_api::RequestKind;
use wwwoffle_api::plan::{Amount, EstimateBasis, ExpectedTransfers, HostPlan, QueuePlan, RunPlan};

/// Describes the expected results of a recursive fetch.
#[must_use]
pub fn describe_run(plan: &RunPlan) -> Vec<Text> {
    let all = plan.pages.with(&plan.parts);
    let mut lines = vec![
        tr("pages: {amounts}").with("amounts", expected(&plan.pages)),
        tr("images, styles and other files: {amounts}").with("amounts", expected(&plan.parts)),
        in_all(&all),
    ];
    lines.extend(basis(&plan.basis));
    let unknown = [
        count(
            plan.unread,
            "{n} unsaved page may need more files, which are not counted",
            "{n} unsaved pages may need more files, which are not counted",
        ),
        count(
            plan.robots_unknown,
            "the robots.txt of {n} host is not saved; the estimate assumes that it allows \
             everything",
            "the robots.txt of {n} hosts is not saved; the estimate assumes that it allows \
             everything",
        ),
    ];
    lines.extend(unknown.into_iter().filter_map(Text::if_any));
    for (why, left) in &plan.left_out {
        let text = count_same(left.count, "left out: {n} ({why})");
        lines.push(text.with("why", left_out(*why)));
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
    let asking = count(
        plan.asking.count,
        "{n} waits for your consent because of its size ({size} announced)",
        "{n} wait for your consent because of their size ({size} announced)",
    );
    let rest = [
        count(plan.more_hosts, "and {n} more host", "and {n} more hosts"),
        count_same(
            plan.failing,
            "{n} cannot be sent: the configuration forbids it, or the stored password cannot be \
             read",
        ),
        count(
            plan.failed,
            "{n} failed and waits until you retry it",
            "{n} failed and wait until you retry them",
        ),
        asking.with("size", shown::bytes(plan.asking.bytes)),
    ];
    lines.extend(rest.into_iter().filter_map(Text::if_any));
    lines.extend(budget(plan));
    if !plan.may_fetch {
        lines.push(tr("the mode does not allow fetching now"));
    }
    lines.extend(cut(plan.cut));
    lines
}

fn budget(plan: &QueuePlan) -> Vec<Text> {
    let budget = &plan.budget;
    let fetch = budget.fetch.map(|bytes| {
        let text = tr("budget of one fetch: {size}");
        text.with("size", shown::bytes(bytes))
    });
    let day = budget.day.map(|bytes| {
        let text = match budget.until {
            Some(time) => tr("left of the daily budget: {size}; reset at {time}")
                .with("time", format!("{time:.0}")),
            None => tr("left of the daily budget: {size}"),
        };
        text.with("size", shown::bytes(bytes))
    });
    fetch.into_iter().chain(day).collect()
}

fn of_host(host: &HostPlan) -> Text {
    let kinds = host.kinds.iter().map(|(kind, count)| of_kind(*kind, *count).into());
    let from = host
        .from
        .map_or_else(|| TextValue::from(tr("now")), |time| TextValue::from(format!("{time:.0}")));
    let text = match host.seconds {
        0 => tr("{host}: {kinds}: {amounts}; from {from}"),
        seconds => tr("{host}: {kinds}: {amounts}; from {from}, for at least {seconds} s")
            .with("seconds", seconds.to_string()),
    };
    text.with("host", shown::line(&host.host))
        .with("kinds", row(kinds))
        .with("amounts", sum(&host.expected))
        .with("from", from)
}

/// Describes the number of requests of a kind.
fn of_kind(kind: RequestKind, number: u64) -> Text {
    match kind {
        RequestKind::Page => count(number, "{n} page", "{n} pages"),
        RequestKind::Part => count(number, "{n} other file", "{n} other files"),
        RequestKind::Refresh => count(number, "{n} refresh", "{n} refreshes"),
        RequestKind::Post => count(number, "{n} form", "{n} forms"),
        RequestKind::Recursive => count(number, "{n} followed link", "{n} followed links"),
        RequestKind::Monitored => count(number, "{n} monitored page", "{n} monitored pages"),
    }
}

fn expected(expected: &ExpectedTransfers) -> Text {
    let ExpectedTransfers { fresh, again, rest, new } = expected;
    let of = |text: Text, amount: &Amount| text.with("size", shown::bytes(amount.bytes)).into();
    let new_text = count_same(new.count, "{n} not saved yet (about {size})");
    let again_text = count_same(again.count, "{n} saved, to be checked again (at most {size})");
    let mut facts: Vec<TextValue> = vec![
        of(new_text, new),
        of(again_text, again),
        count_same(fresh.count, "{n} saved and up to date").into(),
    ];
    let rest_text = count_same(rest.count, "{n} partly saved (rest: {size})").if_any();
    facts.extend(rest_text.map(|text| of(text, rest)));
    row(facts)
}

fn sum(expected: &ExpectedTransfers) -> Text {
    let text = count_same(
        expected.requests(),
        "{n} to fetch: at most {measured} of known size, plus an estimated {estimated}",
    );
    text.with("measured", shown::bytes(expected.measured()))
        .with("estimated", shown::bytes(expected.new.bytes))
}

fn in_all(all: &ExpectedTransfers) -> Text {
    tr("total: {amounts}").with("amounts", sum(all))
}

fn basis(basis: &EstimateBasis) -> Option<Text> {
    let of = [
        count_same(basis.host, "{n} from the sizes of similar saved files of the same host"),
        count_same(basis.class, "{n} from the sizes of similar saved files of other hosts"),
        count_same(basis.default, "{n} from typical sizes"),
    ];
    let of: Vec<TextValue> = of.into_iter().filter_map(Text::if_any).map(TextValue::from).collect();
    (!of.is_empty()).then(|| tr("estimated sizes: {amounts}").with("amounts", row(of)))
}

fn cut(is_cut: bool) -> Option<Text> {
    is_cut.then(|| tr("only some pages were checked, to save time; the others count as not saved"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wwwoffle_api::RequestKind;
    use wwwoffle_api::plan::PlanBudget;

    fn texts(lines: &[Text]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn measured_and_estimated_sizes_are_distinguished() {
        let amount = |count, bytes| Amount { count, bytes };
        let pages = ExpectedTransfers {
            fresh: amount(1, 7),
            again: amount(2, 2_000),
            rest: amount(1, 500),
            new: amount(3, 90_000),
        };
        let basis = EstimateBasis { host: 2, class: 0, default: 1 };
        let plan = RunPlan { pages, basis, unread: 3, robots_unknown: 1, ..RunPlan::default() };
        assert_eq!(
            texts(&describe_run(&plan)),
            [
                "pages: 3 not saved yet (about 90 kB), 2 saved, to be checked again (at most 2.0 kB), 1 saved and \
                 up to date, 1 partly saved (rest: 500 B)",
                "images, styles and other files: 0 not saved yet (about 0 B), 0 saved, to be checked again (at \
                 most 0 B), 0 saved and up to date",
                "total: 6 to fetch: at most 2.5 kB of known size, plus an estimated 90 kB",
                "estimated sizes: 2 from the sizes of similar saved files of the same host, 1 from \
                 typical sizes",
                "3 unsaved pages may need more files, which are not counted",
                "the robots.txt of 1 host is not saved; the estimate assumes that it allows everything",
            ]
        );
        let host = HostPlan {
            host: "a\u{1b}".to_owned(),
            kinds: [(RequestKind::Page, 2), (RequestKind::Recursive, 1)].into(),
            expected: pages,
            from: Some("2026-11-20T12:00:00Z".parse().unwrap()),
            seconds: 40,
        };
        let budget = PlanBudget { fetch: None, day: Some(0), until: host.from };
        let queue = QueuePlan { hosts: vec![host], budget, cut: true, ..QueuePlan::default() };
        let lines = texts(&describe_queue(&queue));
        assert_eq!(
            lines[2..],
            [
                "a⟨U+001B⟩: 2 pages, 1 followed link: 6 to fetch: at most 2.5 kB of known size, plus \
                 an estimated 90 kB; from 2026-11-20T12:00:00Z, for at least 40 s",
                "left of the daily budget: 0 B; reset at 2026-11-20T12:00:00Z",
                "the mode does not allow fetching now",
                "only some pages were checked, to save time; the others count as not saved",
            ]
        );
    }
}
