//! The update file beside a large entry: a later head and state.
//!
//! `9f86d081….update.warc` beside `9f86d081….warc` is one WARC `revisit` record, whose block is the
//! present head. The record names the entry that it updates, and has no effect on any other entry.
//! So the file may remain for a moment after the entry is replaced: it does not apply to the new
//! entry. Only entries too long to be read at once have an update file; shorter entries are
//! rewritten with the update.

use std::path::{Path, PathBuf};

use crate::entry::head::status_of;
use crate::entry::layout::{EntryState, MAX_HEAD, MAX_URL};
use crate::entry::place::{MAX_OWNER, MAX_VARIANT};
use crate::entry::warc::{RESPONSE, Reason, Record, parse_record, time_text};
use crate::entry::{Entry, layout, place, warc};
use crate::error::{Error, Result};
use crate::fs::whole::open_if_any;
use crate::fs::{Disk, OpenedFile, read_exactly};

/// The ending of update files, in place of the ending of the entry.
const EXTENSION: &str = "update.warc";

/// The profile of a record that updates a response (WARC 1.1 §6.7.3).
const PROFILE: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// The field with the time when the entry to which the update applies was stored.
const REFERS_TO_STORED: &str = "Wwwoffle-Refers-To-Stored";

/// The largest update file in bytes: the URL twice, owner and variant with every byte escaped,
/// other fields, and a head.
const MAX_OVERLAY: usize = 2 * MAX_URL + 3 * (MAX_OWNER + MAX_VARIANT) + (4 << 10) + MAX_HEAD;

/// A head and state that replace those in the entry's own file.
#[derive(Debug, Clone)]
pub(crate) struct Overlay {
    pub(crate) head: Vec<u8>,
    pub(crate) state: EntryState,
}

/// The result of reading an update file.
#[derive(Debug)]
pub(crate) enum OverlayLookup {
    /// The update of this entry.
    Its(Overlay),
    /// The file is missing, or updates another entry.
    Nothing,
    /// The update file is damaged, or is not a plain file.
    Bad,
}

/// Whether `rest`, a name without its stem, is the ending of an update file.
pub(crate) fn is_name(rest: &str) -> bool {
    rest.strip_prefix('.') == Some(EXTENSION)
}

/// The path of the update file of the entry at `path`.
pub(crate) fn overlay_path(path: &Path) -> PathBuf {
    path.with_extension(EXTENSION)
}

/// The path of the entry that an update file belongs to.
pub(crate) fn entry_path(overlay: &Path) -> PathBuf {
    // `9f86d081….update.warc` has two endings; the first is removed.
    overlay.with_extension("").with_extension(place::EXTENSION.trim_start_matches('.'))
}

/// Builds the update file of an entry.
pub(crate) fn encode(entry: &Entry, head: &[u8], state: &EntryState) -> Result<Vec<u8>> {
    let [id, _] = warc::record_ids()?;
    let mut record = Record::new("revisit");
    record.field("WARC-Record-ID", &id);
    record.field("WARC-Date", &time_text(state.responded.unwrap_or(entry.received())));
    record.field("WARC-Target-URI", entry.url());
    record.field("WARC-Profile", PROFILE);
    record.field("WARC-Refers-To", entry.id());
    record.field("WARC-Refers-To-Target-URI", entry.url());
    record.field("WARC-Refers-To-Date", &time_text(entry.received()));
    record.field("WARC-Payload-Digest", &digest_text(entry));
    record.field("Content-Type", RESPONSE);
    record.field(REFERS_TO_STORED, &time_text(entry.stored()));
    layout::place_fields(entry.place(), |name, value| record.field(name, value));
    state.write(|name, value| record.field(name, value));
    Ok(record.finish(&[head]))
}

/// Reads the update file at `path` for `entry`.
pub(crate) fn read(disk: &dyn Disk, path: &Path, entry: &Entry) -> Result<OverlayLookup> {
    let file = match open_if_any(disk, path)? {
        Some(OpenedFile::File(file, _)) => file,
        Some(OpenedFile::NotAFile) => return Ok(OverlayLookup::Bad),
        None => return Ok(OverlayLookup::Nothing),
    };
    let bytes = read_exactly(&*file, MAX_OVERLAY, 0);
    let bytes = bytes.map_err(|error| Error::disk("read", path, error))?;
    Ok(decode(&bytes, entry).unwrap_or(OverlayLookup::Bad))
}

fn decode(bytes: &[u8], entry: &Entry) -> Result<OverlayLookup, Reason> {
    let (header, head, rest) = parse_record(bytes)?;
    if header.need("WARC-Type")? != "revisit" || !rest.is_empty() {
        return Err("it is not a single revisit record");
    }
    let stored = header.time(REFERS_TO_STORED)?;
    let is_its = header.need("WARC-Refers-To")? == entry.id()
        && stored == entry.stored()
        && header.need("WARC-Payload-Digest")? == digest_text(entry)
        && layout::place(&header)? == *entry.place();
    if !is_its {
        return Ok(OverlayLookup::Nothing);
    }
    if status_of(head) != Some(entry.status()) {
        return Err("its head has another status than its entry");
    }
    let state = EntryState::read(&header, entry.received())?;
    Ok(OverlayLookup::Its(Overlay { head: head.to_vec(), state }))
}

fn digest_text(entry: &Entry) -> String {
    format!("sha256:{}", hex::encode(entry.digest()))
}
