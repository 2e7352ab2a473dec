//! Reading an entry. A small entry takes one open and one read.

use crate::fs::read_exactly;
use crate::fs::size::{narrow, wide};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

use crate::entry::blocks::Blocks;
use crate::entry::gzip::OpenLookup;
use crate::entry::head::status_of;
use crate::entry::layout::{EntryStart, EntryState, FIRST_READ, TailRanges};
use crate::entry::overlay::{Overlay, OverlayLookup};
use crate::entry::part::SegmentPosition;
use crate::entry::place::Place;
use crate::entry::warc::Reason;
use crate::entry::{Body, BodyBytes, BodyFile, Entry, SharedBytes, gzip, holder, layout, overlay};
use crate::error::{self, Error, Result};
use crate::fs::{Disk, DiskFile, OpenedFile};
use wwwoffle_url::Key;

/// The content found at a path.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "created and matched once; a box costs more")]
pub(crate) enum EntryContent {
    Whole(Entry),
    Missing,
    Bad(Reason),
    /// The entry was replaced or moved after it was opened.
    Moved,
}

/// The entry that should be at a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpectedEntry<'a> {
    /// A place with the expected key; the variant of this place is ignored.
    pub(crate) place: &'a Place,
    /// The name of the entry in the directory of variants.
    pub(crate) name: Key,
}

impl ExpectedEntry<'_> {
    fn is(self, place: &Place) -> bool {
        self.place.is_variant_of(place) && place.variant_name() == self.name
    }
}

/// Reads the entry at `path`, with its update file.
pub(crate) fn read_updated(
    disk: &dyn Disk,
    root: &Path,
    path: &Path,
    expected: ExpectedEntry<'_>,
) -> Result<EntryContent> {
    let mut entry = match read(disk, root, path, Some(expected))? {
        EntryContent::Whole(entry) => entry,
        other => return Ok(other),
    };
    // An entry that shares its body has a small file, which is rewritten with each update.
    let Some(body) = entry.file().filter(|_| !entry.shares_body()) else {
        return Ok(EntryContent::Whole(entry));
    };
    match overlay::read(disk, &overlay::overlay_path(path), &entry)? {
        OverlayLookup::Its(overlay) => entry.overlay = Some(overlay),
        // The unreadable update may have marked the entry as invalid, so the entry counts as
        // invalid.
        OverlayLookup::Bad => {
            let state = EntryState { invalid: Some(entry.stored()), ..*entry.state() };
            entry.overlay = Some(Overlay { head: entry.head().to_vec(), state });
        }
        OverlayLookup::Nothing => {
            // When an entry is removed, its update file is removed too. If the entry is gone, the
            // update may be missing for that reason.
            if !is_there(disk, path, &*body.file)? {
                return Ok(EntryContent::Moved);
            }
        }
    }
    Ok(EntryContent::Whole(entry))
}

/// Whether `file`, which was opened at `path`, is still the file at `path`.
pub(crate) fn is_there(disk: &dyn Disk, path: &Path, file: &dyn DiskFile) -> Result<bool> {
    let fail = |error| Error::disk("look at", path, error);
    match disk.open(path) {
        Ok(OpenedFile::File(now, _)) => {
            Ok(now.identity().map_err(fail)? == file.identity().map_err(fail)?)
        }
        Ok(OpenedFile::NotAFile) => Ok(false),
        Err(error) if error::is_missing(&error) => Ok(false),
        Err(error) => Err(fail(error)),
    }
}

/// Reads the entry at `path` without its update file. A segment, or another entry than the
/// `expected` one, is [`EntryContent::Bad`].
pub(crate) fn read(
    disk: &dyn Disk,
    root: &Path,
    path: &Path,
    expected: Option<ExpectedEntry<'_>>,
) -> Result<EntryContent> {
    Ok(match read_any(disk, Some(root), path, expected)? {
        EntryContent::Whole(entry) if entry.is_part() => {
            EntryContent::Bad("it is a segment, not a complete response")
        }
        other => other,
    })
}

/// Reads a segment. If `place` is given, a segment of another place is [`EntryContent::Bad`].
pub(crate) fn read_part(
    disk: &dyn Disk,
    path: &Path,
    place: Option<&Place>,
) -> Result<EntryContent> {
    let expected = place.map(|place| ExpectedEntry { place, name: place.variant_name() });
    Ok(match read_any(disk, None, path, expected)? {
        EntryContent::Whole(entry) if entry.part.is_none() => {
            EntryContent::Bad("it is not a segment")
        }
        other => other,
    })
}

/// Reads an entry or a segment. Without `root`, an entry whose body is in another file is refused.
pub(crate) fn read_any(
    disk: &dyn Disk,
    root: Option<&Path>,
    path: &Path,
    expected: Option<ExpectedEntry<'_>>,
) -> Result<EntryContent> {
    let opening = match gzip::open(disk, path, FIRST_READ)? {
        OpenLookup::File(opening) => opening,
        OpenLookup::Missing => return Ok(EntryContent::Missing),
        OpenLookup::Bad(reason) => return Ok(EntryContent::Bad(reason)),
    };
    let (bytes, len, disk_len) = (opening.beginning, opening.len, opening.disk_len);
    let (file, is_compressed) = (opening.file, opening.expanded.is_some());
    let first = match EntryStart::parse(&bytes, len) {
        Ok(first) => first,
        Err(reason) => return Ok(EntryContent::Bad(reason)),
    };
    if expected.is_some_and(|expected| !expected.is(&first.place)) {
        return Ok(EntryContent::Bad("it belongs to another place"));
    }
    let parts = if first.refers.is_some() {
        let Some(root) = root else { return Ok(EntryContent::Bad("its body is in another file")) };
        match holder::body_of(disk, root, &first)? {
            Ok(body) => with_body(Arc::new(bytes), body, &first),
            Err(_) if !is_there(disk, path, &*file)? => return Ok(EntryContent::Moved),
            Err(reason) => Err(reason),
        }
    } else if wide(bytes.len()) == len {
        small(bytes, &first)
    } else {
        let tail_len = usize::try_from(len - first.body_end()).unwrap_or(usize::MAX);
        match read_exactly(&*file, tail_len, first.body_end()) {
            Ok(tail) => split_large(bytes, tail, &first, file, path),
            Err(error) => Err(gzip::bad(error, path)?),
        }
    };
    Ok(match parts.and_then(|parts| entry(parts, first, (disk_len, is_compressed))) {
        Ok(entry) => EntryContent::Whole(entry),
        Err(reason) => EntryContent::Bad(reason),
    })
}

struct EntryParts {
    bytes: SharedBytes,
    tail: SharedBytes,
    body: Body,
    after: TailRanges,
}

/// Splits a file that was read as a whole, and compares its body with its digest.
fn small(bytes: Vec<u8>, first: &EntryStart) -> Result<EntryParts, Reason> {
    let range = first.body_offset()..narrow(first.body_end())?;
    let body = bytes.get(range.clone()).ok_or("it is shorter than its body")?;
    if <[u8; 32]>::from(Sha256::digest(body)) != first.digest {
        return Err("its body does not match its digest");
    }
    let bytes = Arc::new(bytes);
    let body = Body::Whole(BodyBytes { bytes: Arc::clone(&bytes), range });
    with_body(bytes, body, first)
}

/// Splits a file that was read as a whole. `body` is its body, which may be in another file.
fn with_body(bytes: SharedBytes, body: Body, first: &EntryStart) -> Result<EntryParts, Reason> {
    let end = narrow(first.body_end())?;
    let after = layout::parse_tail(bytes.get(end..).unwrap_or_default())?.shifted_to(end);
    Ok(EntryParts { tail: Arc::clone(&bytes), body, bytes, after })
}

/// Splits a large file, of which only the beginning and the tail were read.
fn split_large(
    mut bytes: Vec<u8>,
    tail: Vec<u8>,
    first: &EntryStart,
    file: Arc<dyn DiskFile>,
    path: &Path,
) -> Result<EntryParts, Reason> {
    let after = layout::parse_tail(&tail)?;
    // The body is read again when it is sent, so the bytes of it that were read here are dropped.
    bytes.truncate(first.body_offset());
    bytes.shrink_to_fit();
    let (start, len, digest) = (wide(first.body_offset()), first.body_len, first.digest);
    let blocks = Arc::new(OnceLock::new());
    if let Some(range) = after.blocks.clone() {
        let _ = blocks.set(Blocks::parse(tail.get(range).unwrap_or_default(), len)?);
    }
    let verified = Arc::default();
    let file = BodyFile { file, path: path.into(), start, len, digest, blocks, verified };
    let body = Body::File(file);
    Ok(EntryParts { bytes: Arc::new(bytes), tail: Arc::new(tail), body, after })
}

fn entry(
    parts: EntryParts,
    first: EntryStart,
    (disk_len, is_compressed): (u64, bool),
) -> Result<Entry, Reason> {
    let head = parts.bytes.get(first.head.clone()).unwrap_or_default();
    let status = status_of(head).ok_or("its head has no status")?;
    let EntryParts { bytes, tail, body, after } = parts;
    let part = match after.part.clone() {
        Some(range) => Some(SegmentPosition::parse(tail.get(range).unwrap_or_default())?),
        None => None,
    };
    if part.as_ref().is_some_and(|part| !part.has_room_for(first.body_len)) {
        return Err("it extends beyond the end of the complete body");
    }
    let overlay = None;
    Ok(Entry { bytes, tail, first, body, after, status, part, overlay, disk_len, is_compressed })
}
