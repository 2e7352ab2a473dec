//! `wwwoffle fsck`: checks the spool.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use wwwoffle_index::CheckReport;
use wwwoffle_spool::{CheckOptions, CheckTotals, CheckVerdict, Finding, Reader, Spool};

use super::args::Fsck;
use super::failure::{VerbFailure, VerbResult};
use super::fsck_index;
use super::settings::Settings;
use super::{VerbContext, files};
use crate::base::error_chain::error_chain;
use crate::base::exit::ExitStatus;
use crate::base::shown;
use crate::storage::spool_options;

/// The last line of `--json`.
#[derive(Serialize)]
struct TotalsLine<'a> {
    #[serde(flatten)]
    totals: &'a CheckTotals,
    index: Option<&'a CheckReport>,
}

/// Checks the spool, and repairs it if requested.
pub(super) fn run(typed: &Fsck, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let how = CheckOptions::new(typed.deep).with_known(wwwoffle_index::FILE);
    let out = &mut *terminal.stdout;
    let mut written = Ok(());
    let mut tell = |finding: &Finding| {
        // If the reader of the output goes away, the repair still continues.
        if written.is_ok() {
            written = print(finding, typed.json, out);
        }
    };
    let (mut sums, index) = if typed.repair {
        let sums = repair(&how, settings, &mut tell)?;
        (sums, fsck_index::repair(settings)?)
    } else {
        // Opening the reader makes the daemon flush the names of pages, and reports an unusable
        // spool.
        let root = files::reader(settings)?.root().to_owned();
        let disk = spool_options::disk(&settings.config()?.startup);
        let reader = Reader::open_with(Arc::new(disk), &root)?;
        let sums = reader.check(&how, &mut tell)?;
        (sums, fsck_index::compare(&reader)?)
    };
    if let Some(finding) = &index.finding {
        sums.add(finding);
        tell(finding);
    }
    written?;
    if typed.json {
        let line = TotalsLine { totals: &sums, index: index.report.as_ref() };
        files::print_json(&line, terminal.stdout)?;
    } else {
        print_sums(&sums, index.report.as_ref(), typed, terminal.stdout)?;
    }
    Ok(match (sums.is_sound(), sums.was_repaired()) {
        (true, false) => ExitStatus::Done,
        (true, true) => ExitStatus::Repaired,
        (false, _) => ExitStatus::Unsound,
    })
}

fn repair(
    how: &CheckOptions,
    settings: &Settings<'_>,
    tell: &mut dyn FnMut(&Finding),
) -> VerbResult<CheckTotals> {
    let root = settings.spool()?;
    let options = super::offline::options(settings)?;
    super::offline::become_owner(&root, settings)?;
    Spool::repair(&root, &options, how, tell).map_err(|error| {
        if error.is_locked() {
            let what = "a repair needs exclusive use of the spool; a check without --repair does \
                not";
            return VerbFailure::Said(
                ExitStatus::Taken,
                format!("{what}: {}", error_chain(&error)),
            );
        }
        super::offline::unusable(&root, &error)
    })
}

fn print(finding: &Finding, json: bool, out: &mut dyn Write) -> VerbResult<()> {
    if json {
        return files::print_json(finding, out);
    }
    let name = |path: &Path| shown::line(&path.to_string_lossy());
    let now = finding.moved_to.as_deref().map(|path| format!("; now {}", name(path)));
    let (verdict, path, reason) =
        (finding.verdict.as_str(), name(&finding.path), shown::line(&finding.reason));
    Ok(writeln!(out, "{verdict:<15} {path}: {reason}{}", now.unwrap_or_default())?)
}

fn print_sums(
    sums: &CheckTotals,
    index: Option<&CheckReport>,
    typed: &Fsck,
    out: &mut dyn Write,
) -> VerbResult<()> {
    writeln!(out, "{:<15} {}", "sound", files(sums.sound))?;
    if let Some(CheckReport { agreeing, behind, .. }) = index {
        writeln!(out, "{:<15} {agreeing} of its entries agree with the files", "index")?;
        if *behind > 0 {
            let what =
                "are not indexed yet: the next start, or `wwwoffle reindex --changed`, adds them";
            writeln!(out, "{:<15} {behind} changes {what}", "")?;
        }
    }
    for (verdict, count) in [
        (CheckVerdict::Mendable, sums.mendable),
        (CheckVerdict::Repaired, sums.repaired),
        (CheckVerdict::BeyondRepair, sums.beyond_repair),
        (CheckVerdict::SetAside, sums.set_aside),
        (CheckVerdict::Leftover, sums.left_over),
        (CheckVerdict::Removed, sums.removed),
        (CheckVerdict::Foreign, sums.foreign),
    ] {
        if count > 0 {
            writeln!(out, "{:<15} {count}", verdict.as_str())?;
        }
    }
    if sums.unfinished > 0 {
        let what = "being written, or left by a stop: the next start handles them";
        writeln!(out, "{:<15} {}, {what}", "unfinished", files(sums.unfinished))?;
    }
    if sums.admitted > 0 {
        let what = "left by a stop, and now completed";
        writeln!(out, "{:<15} {}, {what}", "admitted", files(sums.admitted))?;
    }
    if sums.damaged > 0 {
        let (many, bytes) = (files(sums.damaged), shown::bytes(sums.damaged_bytes));
        writeln!(out, "{:<15} {many} set aside, {bytes}", "in damaged/")?;
    }
    if !sums.is_sound() && !typed.repair {
        writeln!(out, "`wwwoffle fsck --repair` repairs it as far as possible")?;
    }
    Ok(())
}

fn files(count: u64) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}
