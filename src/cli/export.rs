//! `wwwoffle export`: writes entries into an archive.

use std::io::{self, Write};
use std::path::Path;

use serde_json::json;
use wwwoffle_archive::{ExportOptions, ExportReport, to_folder, to_wacz, to_warc, to_warc_file};
use wwwoffle_spool::Entry;

use super::args::Export;
use super::bundle;
use super::chosen::{ExportedPlaces, chosen};
use super::failure::{VerbFailure, VerbResult};
use super::files::{self, print_json, reader};
use super::plain::Plain;
use super::{Terminal, VerbContext};
use crate::base::exit::ExitStatus;
use crate::base::{clock, shown};
use crate::site::entries::exchange::title;
use crate::storage::store::timestamp;

/// Writes the archive.
pub(super) fn run(typed: &Export, context: &mut VerbContext<'_>) -> VerbResult {
    if typed.queue {
        return bundle::write(&typed.file, typed.json, context);
    }
    let VerbContext { settings, terminal } = context;
    let (reader, options) = (reader(settings)?, options(typed.chosen.versions));
    let ExportedPlaces { mut places, sub_resources, personal, notes } =
        chosen(&typed.chosen, &reader)?;
    let name = typed.file.to_string_lossy().to_ascii_lowercase();
    let to_stdout = typed.file == Path::new("-");
    let done = if to_stdout {
        to_warc(&reader, &mut places, terminal.stdout, &options)
    } else if name.ends_with(".warc.gz") {
        to_warc_file(&reader, &mut places, &typed.file, &options)
    } else if Path::new(&name).extension().is_some_and(|end| end == "wacz") {
        to_wacz(&reader, &mut places, &typed.file, &options, &title)
    } else if name.ends_with('/') {
        to_folder(&reader, &mut places, &typed.file, &decoded, typed.chosen.versions)
    } else {
        let what = "the name must end with .warc.gz or .wacz, or with / for a folder, or be -";
        return Err(VerbFailure::usage(what));
    };
    // The message names no file, because `error` does.
    let done = done.map_err(|error| VerbFailure::failed("the export failed", &error))?;
    for note in notes {
        writeln!(terminal.stderr, "wwwoffle: {note}")?;
    }
    print_totals((done, sub_resources, personal.get()), typed, to_stdout, terminal)?;
    Ok(if done.left_out == 0 { ExitStatus::Done } else { ExitStatus::Failed })
}

/// Writes a body with its known content codings decoded.
fn decoded(entry: &Entry, out: &mut dyn Write) -> io::Result<()> {
    let (_, undone) = files::decoded(entry.head());
    let mut plain = Plain::new(&undone, out);
    let done = files::print_body(entry, &mut plain).and_then(|()| plain.finish());
    done.map_err(|failure| match failure {
        VerbFailure::Said(_, why) => io::Error::other(why),
        VerbFailure::NobodyReads | VerbFailure::CommandEnded(_) => io::ErrorKind::BrokenPipe.into(),
    })
}

/// Returns the options of an export. They include the metadata of the archive: the software that
/// made it, and when.
pub(super) fn options(versions: bool) -> ExportOptions {
    let software = concat!("wwwoffle/", env!("CARGO_PKG_VERSION")).to_owned();
    ExportOptions { software, now: timestamp(clock::now()), versions }
}

/// Prints the totals: the entries exported, the sub-resources among them, and the personal entries
/// left out.
fn print_totals(
    (done, sub_resources, personal): (ExportReport, usize, u64),
    typed: &Export,
    to_stdout: bool,
    terminal: &mut Terminal<'_>,
) -> VerbResult<()> {
    let ExportReport { entries, bytes, left_out } = done;
    // If the archive goes to standard output, nothing else may.
    let out = if to_stdout { &mut *terminal.stderr } else { &mut *terminal.stdout };
    if typed.json {
        let summary = json!({
            "entries": entries,
            "bytes": bytes,
            "sub_resources": sub_resources,
            "personal_left_out": personal,
            "left_out": left_out,
        });
        return print_json(&summary, out);
    }
    let name = if to_stdout { "standard output".into() } else { typed.file.to_string_lossy() };
    writeln!(out, "{}: {entries} responses, {}", shown::line(&name), shown::bytes(bytes))?;
    if sub_resources > 0 {
        writeln!(out, "  {sub_resources} of them are sub-resources of the others")?;
    }
    if personal > 0 {
        writeln!(out, "  {personal} left out as personal: `--owner OWNER` exports them")?;
    }
    if left_out > 0 {
        writeln!(out, "  {left_out} left out: damaged, or deleted during the export")?;
    }
    Ok(())
}
