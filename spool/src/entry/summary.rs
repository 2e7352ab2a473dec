//! An entry as a list shows it, from the beginning of its file.

use std::path::Path;

use jiff::Timestamp;

use super::Entry;
use super::gzip::{self, OpenEntry, OpenLookup};
use super::head::status_of;
use super::layout::{EntryStart, FIRST_READ};
use super::place::Place;
use crate::error::Result;
use crate::fs::{Disk, Stamp};

/// Most beginnings and heads fit in this many bytes; for others there is a second read.
const GLANCE: usize = 8 << 10;

/// An entry as a list shows it. Its body has not been looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Where it is: [`Place::url`], [`Place::key`], and what [`crate::Spool::remove`] takes.
    pub place: Place,
    /// The status code.
    pub status: u16,
    /// The value of `Content-Type`, as it came.
    pub content_type: Option<Vec<u8>>,
    /// The length of its body in bytes.
    pub body_len: u64,
    /// When the response came.
    pub when: Timestamp,
    /// When it was finished.
    pub stored: Timestamp,
    /// When its origin confirmed it last, as far as its own file tells: of a large one more may be known.
    pub checked: Timestamp,
    /// The SHA-256 of its body.
    pub digest: [u8; 32],
    /// The length of its file in bytes, as it lies on the disk.
    pub file_len: u64,
    /// The length the file would have if it were not compressed, if it is.
    pub plain_len: Option<u64>,
}

/// Reads the beginning of an entry. `None` when it is none.
pub(crate) fn glance(disk: &dyn Disk, path: &Path) -> Result<Option<Summary>> {
    let found = beginning(disk, path)?.and_then(|(first, opening)| summary_of(first, &opening));
    Ok(found.map(|(summary, _)| summary))
}

/// What an entry is of which this is the beginning, with what its file was when it was opened, if that is
/// known; `None` when it is none.
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

/// Reads what a file begins with, up to the body; `None` when that is not of an answer, or a part of one.
pub(crate) fn beginning(disk: &dyn Disk, path: &Path) -> Result<Option<(EntryStart, OpenEntry)>> {
    let OpenLookup::File(mut opening) = gzip::open(disk, path, GLANCE)? else { return Ok(None) };
    for most in [GLANCE, FIRST_READ] {
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
    /// It as a list shows it, with what was learnt of it since it was stored.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary {
            place: self.place().clone(),
            status: self.status(),
            content_type: content_type(self.head()),
            body_len: self.body_len(),
            when: self.when(),
            stored: self.stored(),
            checked: self.checked(),
            digest: *self.digest(),
            file_len: self.file_len(),
            plain_len: self.plain_len(),
        }
    }
}

fn content_type(head: &[u8]) -> Option<Vec<u8>> {
    head.split(|&byte| byte == b'\n').find_map(|line| {
        let (name, value) = line.split_at_checked("content-type".len())?;
        let value = value.strip_prefix(b":")?.trim_ascii();
        name.eq_ignore_ascii_case(b"content-type").then(|| value.to_vec())
    })
}
