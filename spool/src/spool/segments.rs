//! Incomplete bodies: segments, and downloads that can be resumed.

use std::sync::Arc;

use super::{Reader, Spool};
use crate::entry::layout::WritePurpose;
use crate::entry::part::{SegmentPosition, SegmentedBody};
use crate::entry::place::Place;
use crate::error::{Damage, Result};
use crate::tree::segments::{self, NewSegment, Partial, PartialList, SegmentWriter, files};
use crate::tree::writer::{NewEntry, StoredEntry, Writer};

impl Spool {
    /// Begins an entry like [`Spool::begin`], for a response with a strong validator. If the
    /// transfer breaks off, [`Writer::finish_short`] stores the received part as a segment.
    /// `complete_length` is the length of the complete body in bytes, if known.
    ///
    /// # Errors
    ///
    /// Those of [`Spool::begin`]; [`crate::Error::is_too_large`] for a validator above
    /// [`crate::MAX_VALIDATOR`], and [`crate::Error::is_invalid`] for an empty one.
    pub fn begin_resumable(
        &self,
        place: &Place,
        new: NewEntry,
        validator: &[u8],
        complete_length: Option<u64>,
    ) -> Result<Writer> {
        let part =
            SegmentPosition { start: 0, whole: SegmentedBody::new(validator, complete_length)? };
        let session = Arc::clone(self.session());
        Writer::begin(session, place, new, WritePurpose::WholeOrPart, Some(part))
    }

    /// Returns the segments of exactly this place, or `None` if it has no valid segment. First
    /// makes segments from interrupted downloads that a crash has left. Damaged and foreign files
    /// are set aside.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full.
    pub fn partial(&self, place: &Place) -> Result<Option<Partial>> {
        segments::read(self.session(), place)
    }

    /// Returns the segments of every variant of a key, in no order, like [`Spool::partial`]. The
    /// caller decides which of them a request selects.
    ///
    /// # Errors
    ///
    /// Those of [`Spool::partial`].
    pub fn partials_of(&self, place: &Place) -> Result<Vec<Partial>> {
        segments::read_all(self.session(), place)
    }

    /// Begins a segment. Finishing it removes the segments at the same place that belong to another
    /// body, because their validator or complete length differs.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_too_large`] and [`crate::Error::is_invalid`] for a segment that cannot be
    /// stored; or if the disk fails or is full.
    pub fn begin_segment(&self, place: &Place, new: NewSegment) -> Result<SegmentWriter> {
        SegmentWriter::begin(Arc::clone(self.session()), place, new)
    }

    /// Joins segments into an entry. `head` is that of a complete response: status 200, the
    /// complete length, and no `Content-Range`. `None` if some bytes are missing or damaged, or if
    /// the stored segments now belong to another body. Damaged segments are set aside.
    ///
    /// # Errors
    ///
    /// Those of [`Spool::begin`] and [`Writer::finish`].
    pub fn complete(&self, partial: &Partial, head: Vec<u8>) -> Result<Option<StoredEntry>> {
        segments::complete(self.session(), partial, head)
    }

    /// Removes the segments of exactly this place. Returns false if there were none.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn remove_partial(&self, place: &Place) -> Result<bool> {
        files::remove(self.tree(), place, None)
    }

    /// Reads every segment of a place completely, sets the damaged ones aside, and returns them.
    /// Call this after a [`crate::VerifiedReader`] has reported damage.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn repair_partial(&self, place: &Place) -> Result<Vec<Damage>> {
        files::repair_segments(self.tree(), place)
    }

    /// Lists the places that have segments.
    ///
    /// # Errors
    ///
    /// If the disk fails, here or at each step.
    pub fn partials(&self) -> Result<PartialList> {
        PartialList::new(Arc::clone(&self.disk_root().disk), self.root())
    }
}

impl Reader {
    /// Returns the segments of exactly this place, or `None` if it has no valid segment. Nothing is
    /// moved.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn partial(&self, place: &Place) -> Result<Option<Partial>> {
        files::read_only(&*self.disk, &self.root, place)
    }
}
