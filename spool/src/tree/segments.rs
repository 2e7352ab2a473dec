//! Incomplete bodies: ranges, and downloads that broke off.
//!
//! ```text
//! <root>/partial/9f/9f86d081…/00000000000001048576.warc   a segment, named after its offset in the complete body
//! <root>/partial/9f/9f86d081….5d0b9d1e…/…                 the same for a response that varies
//! ```
//!
//! A segment is an immutable file like that of an entry. It cannot be mistaken for a complete
//! response, because it is in another directory and is marked as a segment. All segments of a place
//! belong to one body: they have the same strong validator and, as far as known, the same complete
//! length. Segments that disagree with a newer one are removed. Segments may overlap.
//!
//! Segments only save transfers. Surplus segments are joined or removed. When a complete entry is
//! stored, the segments of its place are removed.

mod calls;
pub(crate) mod files;
mod list;
mod reduce;
mod segment;

use crate::entry::layout::WritePurpose;
use crate::fs::parallel::lock;
use crate::tree::writer::Writer;
use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::atomic::AtomicBool;

use crate::entry::Entry;
use crate::entry::part::SegmentedBody;
use crate::entry::place::Place;
use crate::entry::verified::{VerifiedReader, span};
use crate::error::Result;
use crate::tree::salvage;
use crate::tree::session::Session;
use crate::tree::writer::{NewEntry, StoredEntry};

pub use files::MAX_SEGMENTS;
pub use list::{PartialList, PartialSummary};
pub(crate) use reduce::reduce;
pub use segment::{NewSegment, SegmentWriter};

/// The locks of segments.
#[derive(Debug, Default)]
pub(crate) struct SegmentLocks {
    /// Held while names below `partial/` change.
    names: Mutex<()>,
    /// Held while segments are made from interrupted downloads. Contains the files that could not
    /// be converted.
    pub(crate) salvaging: Mutex<HashSet<PathBuf>>,
    /// Whether some checkpoints are still below `tmp/`, although their data is below `partial/`,
    /// because the disk failed.
    pub(crate) has_strays: AtomicBool,
}

impl SegmentLocks {
    /// Locks the names below `partial/`, to change them. The lock is not held during a sync or a
    /// copy.
    pub(crate) fn lock_names(&self) -> MutexGuard<'_, ()> {
        lock(&self.names)
    }
}

/// The segments of one place. They stay readable when they are replaced or removed.
#[derive(Debug, Clone)]
pub struct Partial {
    place: Place,
    whole: SegmentedBody,
    /// The segments, the oldest first; never empty.
    segments: Arc<[Entry]>,
    ranges: Vec<Range<u64>>,
}

impl Partial {
    /// Combines segments of one body. `None` if there are none.
    fn new(place: &Place, mut segments: Vec<Entry>) -> Option<Partial> {
        segments.sort_by_key(|segment| (segment.received(), segment.stored()));
        let parts = || segments.iter().filter_map(Entry::part);
        let validator = parts().next_back()?.whole.validator.clone();
        let complete_length = parts().rev().find_map(|part| part.whole.complete_length);
        let whole = SegmentedBody { validator, complete_length };
        let ranges = merged(segments.iter().filter_map(span));
        Some(Partial { place: place.clone(), whole, segments: segments.into(), ranges })
    }

    /// The place of the segments.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The strong validator of the body, as given to [`crate::Spool::begin_segment`].
    #[must_use]
    pub fn validator(&self) -> &[u8] {
        &self.whole.validator
    }

    /// The length of the complete body in bytes, if known.
    #[must_use]
    pub fn complete_length(&self) -> Option<u64> {
        self.whole.complete_length
    }

    /// The stored ranges of the body, in order; no two touch.
    #[must_use]
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// Whether every byte of a range is stored.
    #[must_use]
    pub fn contains(&self, range: &Range<u64>) -> bool {
        let within = |kept: &Range<u64>| kept.start <= range.start && range.end <= kept.end;
        range.is_empty() || self.ranges.iter().any(within)
    }

    /// The missing parts of a range, in order.
    #[must_use]
    pub fn missing(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let (mut missing, mut from) = (Vec::new(), range.start);
        for kept in self.ranges.iter().filter(|kept| kept.end > range.start) {
            let to = kept.start.min(range.end);
            if from < to {
                missing.push(from..to);
            }
            from = from.max(kept.end);
        }
        if from < range.end {
            missing.push(from..range.end);
        }
        missing
    }

    /// The number of bytes that are stored from the beginning of the body without a gap.
    #[must_use]
    pub fn prefix(&self) -> u64 {
        self.ranges.first().filter(|range| range.start == 0).map_or(0, |range| range.end)
    }

    /// Whether the complete body is stored. [`crate::Spool::complete`] can then make an entry of
    /// it.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.whole.complete_length.is_some_and(|length| self.contains(&(0..length)))
    }

    /// The status of the newest segment: 206, or the status of the complete response that was
    /// interrupted.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.newest().map_or(0, Entry::status)
    }

    /// The head of the newest segment.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        self.newest().map_or(&[], Entry::head)
    }

    /// The heads of all segments, the oldest first. A 206 in reply to `If-Range` may omit fields
    /// that an older head has (RFC 9110 §15.3.7).
    pub fn heads(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.segments.iter().map(Entry::head)
    }

    /// The request of the newest segment, without secrets.
    #[must_use]
    pub fn request(&self) -> &[u8] {
        self.newest().map_or(&[], Entry::request)
    }

    /// The connection record of the newest segment, if there is one.
    #[must_use]
    pub fn connection(&self) -> Option<&[u8]> {
        self.newest()?.connection()
    }

    /// A reader for the stored ranges, which returns only verified bytes. Offsets are those in the
    /// complete body.
    #[must_use]
    pub fn verified(&self) -> VerifiedReader {
        VerifiedReader::of_segments(Arc::clone(&self.segments))
    }

    /// The newest segment, as an entry with an incomplete body. There is always one.
    #[must_use]
    pub fn newest(&self) -> Option<&Entry> {
        self.segments.last()
    }
}

/// Reads the segments of every variant of a key.
pub(crate) fn read_all(session: &Arc<Session>, place: &Place) -> Result<Vec<Partial>> {
    let places = files::places(&session.tree, place)?;
    places.iter().filter_map(|place| read(session, place).transpose()).collect()
}

/// Reads the segments of a place. Makes segments from its interrupted downloads first.
pub(crate) fn read(session: &Arc<Session>, place: &Place) -> Result<Option<Partial>> {
    let tree = &session.tree;
    let mut names = files::names(&*tree.root.disk, &files::directory(&tree.root.path, place))?;
    if names.is_empty() {
        return Ok(None);
    }
    names.retain(|name| salvage::is_left(name));
    if !names.is_empty() {
        salvage::make_segments(session, place, &names)?;
    }
    files::read(tree, place)
}

/// Joins segments into an entry with a new head. `None` if some bytes are missing or damaged, or if
/// the stored segments now belong to another body.
pub(crate) fn complete(
    session: &Arc<Session>,
    partial: &Partial,
    head: Vec<u8>,
) -> Result<Option<StoredEntry>> {
    let (place, whole) = (partial.place(), &partial.whole);
    // The stored segments are read again. If they now belong to a newer body, they must neither get
    // this head nor be replaced by the entry.
    let Some(partial) = read(session, place)? else { return Ok(None) };
    if !partial.is_complete() || !partial.whole.is_compatible_with(whole) {
        return Ok(None);
    }
    let Some(newest) = partial.newest() else { return Ok(None) };
    let new = NewEntry { head, ..NewEntry::copy_of(newest) };
    let mut writer = Writer::begin(Arc::clone(session), place, new, WritePurpose::Whole, None)?;
    let end = partial.complete_length().unwrap_or(0);
    match partial.verified().copy_to(0..end, |piece| writer.write(piece)) {
        Ok(()) => writer.finish(None).map(Some),
        Err(error) if error.is_damaged() => {
            drop(writer);
            files::repair_segments(&session.tree, place)?;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Sorts ranges, and merges those that overlap or touch.
fn merged(spans: impl Iterator<Item = (u64, u64)>) -> Vec<Range<u64>> {
    let mut spans: Vec<_> = spans.filter(|(start, end)| start < end).collect();
    spans.sort_unstable();
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for (start, end) in spans {
        match ranges.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => ranges.push(start..end),
        }
    }
    ranges
}
