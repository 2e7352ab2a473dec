//! `wwwoffle export`: what is kept, into an archive.

use std::io::{self, Write};
use std::path::Path;

use serde_json::json;
use wwwoffle_exchange::{ExportOptions, Exported, to_folder, to_wacz, to_warc, to_warc_file};
use wwwoffle_spool::{Entry, Place, Reader, Summary};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::Terminal;
use super::args::Export;
use super::bundle;
use super::failure::Failure;
use super::files::{self, print_json, reader, spool_failed};
use super::plain::Plain;
use super::settings::Settings;
use crate::clock;
use crate::exchange::title;
use crate::exit::ExitStatus;
use crate::pages::shown;
use crate::proxy::owner::Owner;
use crate::store::timestamp;

/// Writes the archive that was asked for.
pub(super) fn run(
    typed: &Export,
    settings: &Settings<'_>,
    terminal: &mut Terminal<'_>,
) -> Result<ExitStatus, Failure> {
    if typed.queue {
        return bundle::write(&typed.file, typed.json, settings, terminal);
    }
    let (reader, options) = (reader(settings)?, options());
    let mut places = places(typed, &reader)?;
    let name = typed.file.to_string_lossy().to_ascii_lowercase();
    let to_stdout = typed.file == Path::new("-");
    let done = if to_stdout {
        to_warc(&reader, &mut places, terminal.stdout, &options)
    } else if name.ends_with(".warc.gz") {
        to_warc_file(&reader, &mut places, &typed.file, &options)
    } else if Path::new(&name).extension().is_some_and(|end| end == "wacz") {
        to_wacz(&reader, &mut places, &typed.file, &options, &title)
    } else if name.ends_with('/') {
        to_folder(&reader, &mut places, &typed.file, &decoded)
    } else {
        let what = "the name says what is written: it ends with .warc.gz or .wacz, or with / for a folder, or is -";
        return Err(Failure::Said(ExitStatus::Usage, what.to_owned()));
    };
    let failed = format!("{} cannot be written", typed.file.display());
    let done = done.map_err(|error| Failure::caused(ExitStatus::Failed, failed, &error))?;
    tell(done, typed, to_stdout, terminal)?;
    Ok(if done.left_out == 0 { ExitStatus::Done } else { ExitStatus::Failed })
}

/// Writes a body with its content codings undone, where they are known.
fn decoded(entry: &Entry, out: &mut dyn Write) -> io::Result<()> {
    let (_, undone) = files::decoded(entry.head());
    let mut plain = Plain::new(&undone, out);
    let done = files::print_body(entry, &mut plain).and_then(|()| plain.finish());
    done.map_err(|failure| match failure {
        Failure::Said(_, why) => io::Error::other(why),
        Failure::NobodyReads => io::ErrorKind::BrokenPipe.into(),
    })
}

/// What archives say of who made them.
pub(super) fn options() -> ExportOptions {
    let software = concat!("wwwoffle/", env!("CARGO_PKG_VERSION")).to_owned();
    ExportOptions { software, now: timestamp(clock::now()) }
}

fn tell(
    done: Exported,
    typed: &Export,
    to_stdout: bool,
    terminal: &mut Terminal<'_>,
) -> Result<(), Failure> {
    let Exported { entries, bytes, left_out } = done;
    // What is written there is the archive.
    let out = if to_stdout { &mut *terminal.stderr } else { &mut *terminal.stdout };
    if typed.json {
        return print_json(&json!({"entries": entries, "bytes": bytes, "left_out": left_out}), out);
    }
    let name = if to_stdout { "standard output".into() } else { typed.file.to_string_lossy() };
    writeln!(out, "{}: {entries} answers, {}", shown::line(&name), shown::bytes(bytes))?;
    if left_out > 0 {
        writeln!(out, "  {left_out} left out: damaged, or gone meanwhile")?;
    }
    Ok(())
}

type Chosen<'a> = Box<dyn Iterator<Item = wwwoffle_spool::Result<Place>> + 'a>;

/// The places of what was asked for, as the directories are walked.
fn places<'a>(typed: &'a Export, reader: &'a Reader) -> Result<Chosen<'a>, Failure> {
    let mut lists = Vec::new();
    if typed.host.is_empty() {
        lists.push(reader.list(None, None).map_err(|error| spool_failed(&error))?);
    }
    for host in &typed.host {
        lists.push(reader.list(None, Some(host)).map_err(|error| spool_failed(&error))?);
    }
    let chosen = lists.into_iter().flatten().filter_map(move |summary| match summary {
        Ok(summary) => is_chosen(&summary, typed).then_some(Ok(summary.place)),
        Err(error) => Some(Err(error)),
    });
    Ok(Box::new(chosen))
}

fn is_chosen(summary: &Summary, typed: &Export) -> bool {
    let is_of_owner = match summary.place.owner() {
        None => true,
        Some(owner) => {
            typed.owner.as_ref().is_some_and(|one| owner.parse::<Owner>().as_ref() == Ok(one))
        }
    };
    is_of_owner
        && typed.since.is_none_or(|since| summary.when >= since)
        && typed.until.is_none_or(|until| summary.when < until)
        && typed.max_size.is_none_or(|most| summary.body_len <= most.bytes())
        && (typed.url_spec.is_empty() || is_named(summary.place.url(), typed))
}

fn is_named(url: &str, typed: &Export) -> bool {
    let Ok(url) = CanonicalUrl::parse(url, &LocalHost::default()) else { return false };
    typed.url_spec.iter().any(|spec| spec.matches(&url))
}
