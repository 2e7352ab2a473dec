//! `wwwoffle usage`: lists the usage of users and clients by day, and their quotas.

use super::VerbContext;
use super::args::UsageArgs;
use super::failure::VerbResult;
use super::files::print_lines;
use crate::base::exit::ExitStatus;
use crate::base::shown;
use wwwoffle_api::{DayUsage, QuotaItem, UsageReport};

/// Lists the usage.
pub(super) fn run(typed: &UsageArgs, context: &mut VerbContext<'_>) -> VerbResult {
    let (control, terminal) = (context.settings.control()?, &mut context.terminal);
    let out = &mut *terminal.stdout;
    let report: UsageReport = control.get(&format!("/api/usage?days={}", typed.days))?;
    if typed.csv {
        out.write_all(report.to_csv().as_bytes())?;
        return Ok(ExitStatus::Done);
    }
    if !report.is_counted && !typed.json {
        let remedy = "`wwwoffle config set usage.count true` turns counting on";
        writeln!(terminal.stderr, "wwwoffle: usage is not counted: {remedy}")?;
    }
    let usage = report.usage.iter().map(describe_day);
    print_lines(&report, typed.json, out, usage.chain(report.quotas.iter().map(describe_quota)))
}

fn describe_day(line: &DayUsage) -> String {
    let owner = line.owner.as_deref().map_or_else(|| "others".to_owned(), shown::line);
    format!(
        "{}  {owner}  {} requests, {} from the spool, sent {}, fetched {}, {} queued",
        line.day,
        line.requests,
        line.from_spool,
        shown::bytes(line.sent),
        shown::bytes(line.fetched),
        line.queued
    )
}

fn describe_quota(quota: &QuotaItem) -> String {
    let amount = |number: u64| match quota.measure.as_str() {
        "bytes" => shown::bytes(number),
        measure => format!("{number} {measure}"),
    };
    let (owner, used, most) = (shown::line(&quota.owner), amount(quota.used), amount(quota.most));
    format!("quota  {owner}  {used} of {most} per {}, until {}", quota.period, quota.renewed)
}
