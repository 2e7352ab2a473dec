//! `wwwoffle export`: writes entries into an archive.

use std::io::{self, Write};
use std::path::Path;

use serde_json::json;
use wwwoffle_archive::{
    ExportOptions, ExportReport, FolderForm, FolderOptions, SinglePage, SinglePageReport,
    to_folder, to_single_page, to_wacz, to_warc, to_warc_file,
};
use wwwoffle_spool::{Entry, Reader};

use super::args::Export;
use super::bundle;
use super::chosen::{ExportedPlaces, chosen, collection, page_entry};
use super::failure::{VerbFailure, VerbResult};
use super::files::{self, print_json, reader};
use super::plain::Plain;
use super::{Terminal, VerbContext};
use crate::base::exit::ExitStatus;
use crate::base::{clock, shown};
use crate::site::entries::exchange::title;
use crate::storage::collections::edit::definition_text;
use crate::storage::store::timestamp;

/// Writes the archive.
pub(super) fn run(typed: &Export, context: &mut VerbContext<'_>) -> VerbResult {
    if typed.queue {
        return bundle::write(&typed.file, typed.json, context);
    }
    let Some(format) = ExportTarget::of(&typed.file) else {
        let what =
            "the name must end with .warc.gz, .wacz or .html, or with / for a folder, or be -";
        return Err(VerbFailure::usage(what));
    };
    let VerbContext { settings, terminal } = context;
    let reader = reader(settings)?;
    if format == ExportTarget::Page {
        return write_page(typed, &reader, terminal);
    }
    let mut options = options(typed.chosen.versions);
    if let Some(name) = &typed.chosen.collection {
        let one = collection(name, typed.chosen.owner.as_ref(), &reader)?;
        options.collection = Some(definition_text(&one));
    }
    let ExportedPlaces { mut places, sub_resources, personal, notes } =
        chosen(&typed.chosen, &reader)?;
    let done = match format {
        ExportTarget::Output => to_warc(&reader, &mut places, terminal.stdout, &options),
        ExportTarget::Warc => to_warc_file(&reader, &mut places, &typed.file, &options),
        ExportTarget::Wacz => to_wacz(&reader, &mut places, &typed.file, &options, &title),
        ExportTarget::Folder | ExportTarget::Page => {
            to_folder(&reader, &mut places, &typed.file, &folder_options(typed))
        }
    };
    // The message names no file, because `error` does.
    let done = done.map_err(|error| VerbFailure::failed("the export failed", &error))?;
    for note in notes {
        writeln!(terminal.stderr, "wwwoffle: {note}")?;
    }
    let to_stdout = format == ExportTarget::Output;
    print_totals((done, sub_resources, personal.get()), typed, to_stdout, terminal)?;
    Ok(if done.left_out == 0 { ExitStatus::Done } else { ExitStatus::Failed })
}

/// The format of an export, which the name of the file decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExportTarget {
    /// WARC on standard output.
    Output,
    Warc,
    Wacz,
    Folder,
    /// One page as one HTML file.
    Page,
}

impl ExportTarget {
    fn of(file: &Path) -> Option<Self> {
        let name = file.to_string_lossy().to_ascii_lowercase();
        match Path::new(&name).extension().and_then(|end| end.to_str()) {
            _ if name == "-" => Some(Self::Output),
            _ if name.ends_with('/') => Some(Self::Folder),
            _ if name.ends_with(".warc.gz") => Some(Self::Warc),
            Some("wacz") => Some(Self::Wacz),
            Some("html" | "htm") => Some(Self::Page),
            _ => None,
        }
    }
}

fn folder_options(typed: &Export) -> FolderOptions<'static> {
    let form = if typed.unchanged { FolderForm::Unchanged } else { FolderForm::Browsable };
    FolderOptions { form, decode: decoded, titles: &title, versions: typed.chosen.versions }
}

/// Writes one page as an HTML file.
fn write_page(typed: &Export, reader: &Reader, terminal: &mut Terminal<'_>) -> VerbResult {
    let Some(page) = &typed.chosen.page else {
        let what = "a single HTML file has one page: name it with --page URL";
        return Err(VerbFailure::usage(what));
    };
    let owner = typed.chosen.owner.as_ref();
    let entry = page_entry(page, owner, reader)?;
    let page = SinglePage { entry: &entry, owner: owner.map(ToString::to_string), decode: decoded };
    let done = to_single_page(reader, page, &typed.file);
    let done = done.map_err(|error| VerbFailure::failed("the export failed", &error))?;
    let Some(SinglePageReport { embedded, missing, left_out }) = done else {
        let url = shown::line(entry.url());
        return Err(VerbFailure::plain(format_args!("{url} is not a page, but another file")));
    };
    if typed.json {
        let summary = json!({
            "entries": 1,
            "sub_resources": embedded,
            "missing": missing,
            "left_out": left_out,
        });
        print_json(&summary, terminal.stdout)?;
        return Ok(ExitStatus::Done);
    }
    let name = typed.file.to_string_lossy();
    let out = &mut *terminal.stdout;
    writeln!(out, "{}: a page with {embedded} sub-resources", shown::line(&name))?;
    if missing > 0 {
        writeln!(
            out,
            "  {missing} more are not stored: `wwwoffle get --refresh URL` fetches them"
        )?;
    }
    if left_out > 0 {
        writeln!(out, "  {left_out} left out: damaged, too large, or too deep in frames")?;
    }
    Ok(ExitStatus::Done)
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
    ExportOptions { software, now: timestamp(clock::now()), versions, collection: None }
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
