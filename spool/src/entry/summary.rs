//! The summary of an entry for lists, read from the beginning of its file.

use std::path::Path;

use jiff::Timestamp;

use super::Entry;
use super::gzip::{self, OpenEntry, OpenLookup};
use super::head::{field_values, status_of};
use super::layout::{EntryStart, FIRST_READ};
use super::place::Place;
use crate::error::Result;
use crate::fs::{Disk, Stamp};

/// The number of bytes in which most beginnings and heads fit. Others take a second read.
const SUMMARY_READ: usize = 8 << 10;

/// The summary of an entry for lists. The body was not checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The place, for [`Place::url`], [`Place::key`] and [`crate::Spool::remove`].
    pub place: Place,
    /// The status code.
    pub status: u16,
    /// The value of `Content-Type` as received.
    pub content_type: Option<Vec<u8>>,
    /// The length of the body in bytes.
    pub body_len: u64,
    /// When the response arrived.
    pub when: Timestamp,
    /// When the entry was finished.
    pub stored: Timestamp,
    /// When the origin last confirmed the entry. Lists read this time from the entry's own file.
    /// The update file of a large entry may have a newer time.
    pub checked: Timestamp,
    /// The SHA-256 of the body.
    pub digest: [u8; 32],
    /// The length of the entry's own file on the disk, in bytes.
    pub file_len: u64,
    /// The length of the file without compression, if the file is compressed.
    pub plain_len: Option<u64>,
}

/// Reads the summary of the entry at `path`. `None` if the file is missing or is not an entry.
pub(crate) fn read_summary(disk: &dyn Disk, path: &Path) -> Result<Option<Summary>> {
    let found = read_start(disk, path)?.and_then(|(first, opening)| summary_of(first, &opening));
    Ok(found.map(|(summary, _)| summary))
}

/// The summary of an entry with this beginning, and the stamp of its file when it was opened.
/// `None` if the file is not an entry.
pub(crate) fn summary_of(
    first: EntryStart,
    opening: &OpenEntry,
) -> Option<(Summary, Option<Stamp>)> {
    if first.is_part {
        return None;
    }
    let head = opening.beginning.get(first.head.clone()).unwrap_or_default();
    let content_type = content_type(head);
    let status = status_of(head)?;
    let EntryStart { place, when, stored, body_len, state, digest, .. } = first;
    let checked = state.responded.unwrap_or(when);
    let summary = Summary {
        place,
        status,
        content_type,
        body_len,
        when,
        stored,
        checked,
        digest,
        file_len: opening.disk_len,
        plain_len: opening.expanded.as_ref().map(|_| opening.len),
    };
    Some((summary, opening.file.opened_as()))
}

/// Reads a file up to its body. `None` if the file is missing, or is neither an entry nor a
/// segment.
pub(crate) fn read_start(disk: &dyn Disk, path: &Path) -> Result<Option<(EntryStart, OpenEntry)>> {
    let OpenLookup::File(mut opening) = gzip::open(disk, path, SUMMARY_READ)? else {
        return Ok(None);
    };
    for most in [SUMMARY_READ, FIRST_READ] {
        if let Err(error) = opening.read_to(most) {
            return gzip::bad(error, path).map(|_| None);
        }
        if let Ok(first) = EntryStart::parse(&opening.beginning, opening.len) {
            return Ok(Some((first, opening)));
        }
    }
    Ok(None)
}

impl Entry {
    /// The summary of the entry as last updated.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary {
            place: self.place().clone(),
            status: self.status(),
            content_type: content_type(self.head()),
            body_len: self.body_len(),
            when: self.received(),
            stored: self.stored(),
            checked: self.checked(),
            digest: *self.digest(),
            file_len: self.file_len(),
            plain_len: self.plain_len(),
        }
    }
}

fn content_type(head: &[u8]) -> Option<Vec<u8>> {
    field_values(head, "content-type").next().map(<[u8]>::to_vec)
}
