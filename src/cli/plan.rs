//! Prints the plans of fetches.

use super::Terminal;
use super::failure::VerbResult;
use super::files::{print_lines, print_only_json};
use crate::base::exit::ExitStatus;
use crate::base::shown;
use crate::site::fetches::plan;
use wwwoffle_api::plan::{QueuePlan, RunPlan, RunPlans};

/// Prints the plans of recursive fetches.
pub(super) fn runs(planned: &RunPlans, json: bool, terminal: &mut Terminal<'_>) -> VerbResult {
    if json {
        return print_only_json(planned, terminal.stdout);
    }
    for planned in &planned.plans {
        run(planned, terminal)?;
    }
    Ok(ExitStatus::Done)
}

fn run(planned: &RunPlan, terminal: &mut Terminal<'_>) -> VerbResult<()> {
    let unknown = if planned.start_kept {
        ""
    } else {
        " is not stored, so its sub-resources and links are unknown"
    };
    writeln!(terminal.stdout, "{}{unknown}", shown::line(&planned.start))?;
    for line in plan::describe_run(planned) {
        writeln!(terminal.stdout, "  {line}")?;
    }
    for failed in &planned.failed {
        let (url, reason) = (shown::line(&failed.url), shown::line(&failed.reason));
        writeln!(terminal.stdout, "  would fail: {url}: {reason}")?;
    }
    Ok(())
}

/// Prints the plan of the queue.
pub(super) fn queue(planned: &QueuePlan, json: bool, terminal: &mut Terminal<'_>) -> VerbResult {
    print_lines(planned, json, terminal.stdout, plan::describe_queue(planned))
}
