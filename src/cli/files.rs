//! The verbs that read the spool directly, whether a daemon has it open or not.

use std::fmt::Display;
use std::io::Write;

use serde::Serialize;
use wwwoffle_spool::{Body, BodyFile, Entry, Place, Reader};
use wwwoffle_url::{CanonicalUrl, LocalHost, ParseError};

use super::control::Control;
use super::failure::{VerbFailure, VerbResult};
use super::plain::Plain;
use super::settings::Settings;
use super::verbs::{EventFormat, follow};
use super::{Terminal, VerbContext, history, offline};
use crate::base::exit::ExitStatus;
use crate::base::owner::{Owner, Places};
use crate::base::shown;
use crate::storage::versions::entered_time::EnteredTime;
use wwwoffle_api::{FlushResponse, GetRequest};
use wwwoffle_http::{
    caching::coding::{CodingTerms, Delivery},
    decoding::Coding,
    head::{read_response, write_response},
};

/// The number of bytes of a large body that are read at once.
const PIECE: usize = 64 * 1024;

/// Prints the key of each URL, and its path in the spool.
pub(crate) fn hash(urls: &[String], context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let (local, mut status) = (settings.local_host()?, ExitStatus::Done);
    for url in urls {
        match CanonicalUrl::parse(url, &local).map(|url| Place::of(&url.without_credentials())) {
            Ok(place) => {
                writeln!(terminal.stdout, "{} {}", place.key(), place.relative_path().display())?;
            }
            // A bad URL does not stop the others.
            Err(error) => {
                let url = shown::text(url);
                writeln!(terminal.stderr, "wwwoffle: invalid URL {url}: {error}")?;
                status = ExitStatus::Failed;
            }
        }
    }
    Ok(status)
}

/// How a body is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyForm {
    /// With its known content codings decoded.
    Plain,
    /// Byte for byte as it was received.
    Raw,
}

/// The stored response to print.
#[derive(Debug)]
pub(crate) struct CopySelector {
    pub(crate) url: String,
    pub(crate) owner: Owner,
    /// The time for which to print the copy that was current then; `None` for the current copy.
    pub(crate) at: Option<EnteredTime>,
    /// Whether a missing copy is fetched, or queued while offline.
    pub(crate) fetch: bool,
}

/// Prints the stored copy of a URL. With `headers`, also prints the head, which describes the body
/// as printed.
pub(crate) fn cat(
    asked: &CopySelector,
    what: BodyForm,
    headers: bool,
    context: &mut VerbContext<'_>,
) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let CopySelector { url, owner, at, fetch } = asked;
    let places = places(url, owner, &settings.local_host()?)?;
    let mut entry = match at {
        Some(at) => history::find_at(&reader(settings)?, &places, *at)?,
        None => find(&reader(settings)?, &places)?,
    };
    if entry.is_none() && *fetch {
        match fetch_missing(url, &settings.control()?, terminal)? {
            ExitStatus::Done => entry = find(&reader(settings)?, &places)?,
            queued => return Ok(queued),
        }
    }
    let Some(entry) = entry else {
        return Err(VerbFailure::plain(format_args!(
            "not in the spool: {}: `wwwoffle get URL` fetches it",
            shown::line(places.public.url())
        )));
    };
    let (head, undone) = match what {
        BodyForm::Raw => (entry.head().to_vec(), Vec::new()),
        BodyForm::Plain => decoded(entry.head()),
    };
    if headers {
        terminal.stdout.write_all(&head)?;
    }
    let mut out = Plain::new(&undone, terminal.stdout);
    print_body(&entry, &mut out)?;
    out.finish()?;
    Ok(ExitStatus::Done)
}

/// Fetches a URL, or queues it while offline. The progress is shown on standard error, because
/// standard output is for the page.
fn fetch_missing(url: &str, control: &Control, terminal: &mut Terminal<'_>) -> VerbResult {
    let wanted = GetRequest { urls: vec![url.to_owned()], refresh: false, form: None };
    let mut aside = Terminal {
        stdin: terminal.stdin,
        stdout: terminal.stderr,
        stderr: &mut std::io::sink(),
        live: false,
        typed: false,
    };
    follow(control, "/api/get", &wanted, EventFormat::Words, &mut aside)
}

/// Removes the known content codings from a response head. Returns the new head and those codings,
/// in the order in which they are decoded. Unknown codings remain in the head.
pub(super) fn decoded(head: &[u8]) -> (Vec<u8>, Vec<Coding>) {
    let as_it_is = || (head.to_vec(), Vec::new());
    let Ok((status, mut fields)) = read_response(head) else { return as_it_is() };
    let delivery = CodingTerms::of_a_reader().deliver(status, &fields);
    delivery.amend(&mut fields);
    match delivery {
        Delivery::Decoded { undone, .. } => (write_response(status, &fields), undone),
        _ => as_it_is(),
    }
}

pub(super) fn print_body(entry: &Entry, out: &mut Plain<'_>) -> VerbResult<()> {
    match entry.body() {
        Body::Whole(bytes) => out.write(bytes),
        Body::File(file) => print_file(file, out),
    }
}

/// Prints a large body piece by piece. The last piece is printed only after the whole body is
/// verified, so that a damaged body never looks complete.
fn print_file(file: &BodyFile, out: &mut Plain<'_>) -> VerbResult<()> {
    let (mut verifier, mut offset) = (file.verifier(), 0_u64);
    let (mut held, mut buffer) = (Vec::new(), vec![0; PIECE]);
    loop {
        let length = match file.read_at(offset, &mut buffer) {
            Ok(length) => length,
            Err(error) if error.is_damaged() => return Err(damaged_body()),
            Err(error) => return Err(error.into()),
        };
        let piece = buffer.get(..length).unwrap_or_default();
        if piece.is_empty() {
            break;
        }
        verifier.update(piece);
        out.write(&held)?;
        held.clear();
        held.extend_from_slice(piece);
        offset = offset.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
    }
    if verifier.finish() { out.write(&held) } else { Err(damaged_body()) }
}

fn damaged_body() -> VerbFailure {
    VerbFailure::plain("the body is damaged: `wwwoffle get --refresh URL` fetches it again")
}

/// Opens the spool for reading.
pub(super) fn reader(settings: &Settings<'_>) -> VerbResult<Reader> {
    let spool = settings.spool()?;
    // A daemon adds the names of pages to the spool with a short delay, so it is asked to flush
    // them. Without a daemon, or if that fails, the files are read as they are.
    let _flushed_or_not: VerbResult<FlushResponse> =
        Control::new(&spool).post("/api/flush", &serde_json::Value::Null);
    Reader::open(&spool).map_err(|error| {
        if error.is_absent() {
            return offline::absent(&spool);
        }
        let what = format!("the spool {} cannot be read", spool.display());
        VerbFailure::caused(ExitStatus::BadSpool, what, &error)
    })
}

/// Finds an entry of the owner, or else one of everyone. Prefers an entry for the requested
/// spelling of the URL, then one for the canonical spelling, then the newest one.
pub(super) fn find(reader: &Reader, places: &Places) -> VerbResult<Option<Entry>> {
    for place in [&places.own, &places.public] {
        let entries = reader.entries(place)?;
        let found = entries.found.into_iter();
        let ranked = found.filter_map(|entry| Some((places.preference(entry.place())?, entry)));
        match (ranked.min_by_key(|(rank, _)| *rank), entries.set_aside.first()) {
            (Some((_, found)), _) => return Ok(Some(found)),
            (None, Some(damage)) => {
                return Err(VerbFailure::plain(format_args!(
                    "{damage}: `wwwoffle get --refresh URL` fetches it again"
                )));
            }
            (None, None) => {}
        }
    }
    Ok(None)
}

/// Returns the places where the response to a request of `owner` for `url` may be stored.
pub(super) fn places(url: &str, owner: &Owner, local: &LocalHost) -> VerbResult<Places> {
    let read = Places::of_text(url, local, owner).map_err(|error| invalid_url(url, &error))?;
    Ok(read.1)
}

/// Returns the failure for a text that is not a URL.
pub(super) fn invalid_url(text: &str, error: &ParseError) -> VerbFailure {
    VerbFailure::plain(format_args!("invalid URL {}: {error}", shown::text(text)))
}

/// Prints one JSON value as the whole output of a verb.
pub(super) fn print_only_json(value: &impl Serialize, out: &mut dyn Write) -> VerbResult {
    print_json(value, out)?;
    Ok(ExitStatus::Done)
}

/// Prints one JSON value, or the lines that describe it, as the whole output of a verb.
pub(super) fn print_lines(
    value: &impl Serialize,
    json: bool,
    out: &mut dyn Write,
    lines: impl IntoIterator<Item = impl Display>,
) -> VerbResult {
    if json {
        return print_only_json(value, out);
    }
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(ExitStatus::Done)
}

/// Prints an item as JSON, or in words as `line` formats it.
pub(super) fn print_item<T: Serialize>(
    item: &T,
    json: bool,
    out: &mut dyn Write,
    line: impl FnOnce(&T) -> String,
) -> VerbResult<()> {
    if json { print_json(item, out) } else { Ok(writeln!(out, "{}", line(item))?) }
}

/// Prints one JSON value on a line, as the API sends it.
pub(super) fn print_json(value: &impl Serialize, out: &mut dyn Write) -> VerbResult<()> {
    let text = serde_json::to_string(value)
        .map_err(|error| VerbFailure::failed("cannot be written", &error))?;
    Ok(writeln!(out, "{text}")?)
}

#[cfg(test)]
mod tests;
