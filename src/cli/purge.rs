//! `wwwoffle purge`, `pin` and `unpin`, through the daemon or without one.

use std::sync::Arc;

use jiff::Timestamp;
use wwwoffle_index::{FILE, Index};
use wwwoffle_spool::Spool;
use wwwoffle_spool::fs::{Disk, SYSTEM_DISK};

use super::control::Control;
use super::failure::{VerbFailure, VerbResult};
use super::files::{invalid_url, print_json};
use super::settings::Settings;
use super::{Terminal, VerbContext, args, offline};
use crate::base::exit::ExitStatus;
use crate::base::{clock, shown};
use crate::site::purge::page::{in_words, shared_in_words};
use crate::storage::purge::{self, PurgeTask};
use crate::storage::store::timestamp;
use wwwoffle_api::{
    PinRequest, Pins, PurgeEvent, PurgeReport, PurgeRequest, PurgeShared, PurgeSum,
};

/// Purges, or prints what would be removed.
pub(super) fn run(typed: args::Purge, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let args::Purge { dry_run, json } = typed;
    let report = match settings.daemon()? {
        Some(control) => request_purge(&control, dry_run)?,
        None => purge_without_daemon(settings, dry_run)?,
    };
    if json {
        print_json(&report, terminal.stdout)?;
    } else {
        print(&report, terminal)?;
    }
    Ok(ExitStatus::Done)
}

fn request_purge(control: &Control, dry_run: bool) -> VerbResult<PurgeReport> {
    match control.post_for_last("/api/purge", &PurgeRequest { dry_run })? {
        Some(PurgeEvent::Done(report)) => Ok(*report),
        Some(PurgeEvent::Failed(why)) => Err(VerbFailure::plain(shown::line(&why))),
        None => Err(VerbFailure::plain("the daemon ended before the work was done")),
    }
}

/// Purges without a daemon. The spool is locked until the purge ends.
fn purge_without_daemon(settings: &Settings<'_>, dry_run: bool) -> VerbResult<PurgeReport> {
    let (spool, config) = (offline::spool(settings)?, Arc::new(settings.config()?));
    let what = if dry_run { PurgeTask::Plan } else { PurgeTask::Purge };
    let (now, local): (Timestamp, _) = (timestamp(clock::now()), settings.local_host()?);
    let index = index(&spool, settings)?;
    let done = purge::purge((&spool, index.as_ref()), (config, local), what, now, |_| true);
    if let Some(index) = index {
        index.stop();
    }
    let report = done.map_err(|error| VerbFailure::failed("the spool cannot be purged", &error))?;
    // Stores which entries the purge tried to compress. If that fails, the next purge tries the
    // same entries again.
    let _remembered = purge::compress::store_tried_without_daemon(&spool, &report);
    Ok(report)
}

/// Opens the index if it exists. Building it would take longer than a purge without it.
fn index(spool: &Spool, settings: &Settings<'_>) -> VerbResult<Option<Index>> {
    let is_there = SYSTEM_DISK.stamp(&spool.root().join(FILE)).is_ok_and(|stamp| stamp.is_some());
    if !is_there {
        return Ok(None);
    }
    let pages = settings.index_pages()?;
    let opened = Index::open(spool, Some(Arc::new(pages)));
    opened.map(Some).map_err(|error| VerbFailure::failed("the index cannot be opened", &error))
}

fn print(report: &PurgeReport, terminal: &mut Terminal<'_>) -> VerbResult<()> {
    let out = &mut *terminal.stdout;
    let line = |sum: &PurgeSum| {
        let word = if sum.entries == 1 { "entry" } else { "entries" };
        let (why, size) = (in_words(&sum.why), shown::bytes(sum.bytes));
        format!("  {why}: {} {word}, {size}", sum.entries)
    };
    writeln!(out, "{}", if report.removed.is_some() { "was to go" } else { "would go" })?;
    for sum in &report.goes {
        writeln!(out, "{}", line(sum))?;
    }
    if report.goes.is_empty() {
        writeln!(out, "  nothing")?;
    }
    writeln!(out, "stays")?;
    for sum in &report.stays {
        writeln!(out, "{}", line(sum))?;
    }
    if report.scale < 1_000 {
        writeln!(out, "ages are scaled to {}.{} %", report.scale / 10, report.scale % 10)?;
    }
    if let Some(removed) = &report.removed {
        writeln!(out, "removed {} entries, {}", removed.entries, shown::bytes(removed.bytes))?;
    }
    print_compressed(report, terminal)?;
    if let Some(shared) = &report.shared {
        print_shared(shared, terminal)?;
    }
    if report.missing > 0 {
        let missing = shown::bytes(report.missing);
        writeln!(terminal.stderr, "wwwoffle: {missing} more should be removed, but are protected")?;
    }
    Ok(())
}

/// Prints the entries compressed because of their age.
fn print_compressed(report: &PurgeReport, terminal: &mut Terminal<'_>) -> VerbResult<()> {
    let entries = |count: u64| if count == 1 { "entry" } else { "entries" };
    match (&report.compressible, &report.compressed) {
        (_, Some(done)) => {
            let (before, after) = (shown::bytes(done.before), shown::bytes(done.after));
            let word = entries(done.entries);
            writeln!(terminal.stdout, "compressed {} {word}, {before} to {after}", done.entries)?;
            if let Some(why) = &done.first_failure {
                let why = shown::line(why);
                writeln!(
                    terminal.stderr,
                    "wwwoffle: not compressed: {}, the first: {why}",
                    done.failed
                )?;
            }
            if let Some(failure) = &done.failure {
                let failure = shown::line(failure);
                writeln!(terminal.stderr, "wwwoffle: compressing ended early: {failure}")?;
            }
        }
        (Some(sum), None) => {
            let (word, size) = (entries(sum.entries), shown::bytes(sum.bytes));
            let of = "would be compressed if that saves enough";
            writeln!(terminal.stdout, "{of}: {} {word}, {size}", sum.entries)?;
        }
        (None, None) => {}
    }
    Ok(())
}

/// Prints the space that sharing identical bodies has saved, and a failure to share them.
fn print_shared(shared: &PurgeShared, terminal: &mut Terminal<'_>) -> VerbResult<()> {
    for line in shared_in_words(shared) {
        writeln!(terminal.stdout, "{line}")?;
    }
    if let Some(failure) = &shared.failure {
        let why = shown::line(failure);
        writeln!(terminal.stderr, "wwwoffle: not all identical bodies could be shared: {why}")?;
    }
    Ok(())
}

/// Pins or unpins `urls`, and lists the pinned URLs. Without `urls`, only lists them.
pub(super) fn pin(urls: Vec<String>, pinned: bool, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let all = match settings.daemon()? {
        Some(control) if urls.is_empty() => control.get("/api/pins")?,
        Some(control) => control.post("/api/pins", &PinRequest { urls, pinned })?,
        None => pin_alone(&urls, pinned, settings)?,
    };
    let Pins { pins } = all;
    for url in &pins {
        writeln!(terminal.stdout, "{}", shown::line(url))?;
    }
    Ok(ExitStatus::Done)
}

fn pin_alone(urls: &[String], pinned: bool, settings: &Settings<'_>) -> VerbResult<Pins> {
    let local = settings.local_host()?;
    let mut all = Vec::new();
    for text in urls {
        all.push(purge::pinned_url(text, &local).map_err(|error| invalid_url(text, &error))?);
    }
    let spool = offline::spool(settings)?;
    let fail =
        |error: &wwwoffle_spool::Error| VerbFailure::failed("the pins cannot be used", error);
    spool.set_pinned(&all, pinned).map_err(|error| fail(&error))?;
    let pins = spool.pins().map_err(|error| fail(&error))?;
    Ok(Pins { pins: pins.into_iter().collect() })
}
