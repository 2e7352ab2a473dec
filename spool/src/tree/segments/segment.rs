//! A segment being written.

use std::sync::Arc;

use jiff::Timestamp;

use super::files;
use crate::entry::layout::WritePurpose;
use crate::entry::part::{SegmentPosition, SegmentedBody};
use crate::entry::place::Place;
use crate::error::Result;
use crate::tree::session::Session;
use crate::tree::writer::{BodyExtent, NewEntry, Tail, Writer};

/// The data of a segment except its body.
#[derive(Debug, Clone)]
pub struct NewSegment {
    /// The exchange. The head of a 206 with one range includes `Content-Range`. It should have every
    /// known field of the complete response, because only the head of the newest segment is certain
    /// to be kept.
    pub entry: NewEntry,
    /// The strong validator: an entity tag, or a strong `Last-Modified` (RFC 9110 §8.8.2.2).
    pub validator: Vec<u8>,
    /// The length of the complete body in bytes, if known.
    pub complete_length: Option<u64>,
    /// The offset of the segment in the complete body.
    pub start: u64,
}

/// A segment being written. Dropping it discards it; existing segments stay.
#[derive(Debug)]
pub struct SegmentWriter {
    writer: Writer,
}

impl SegmentWriter {
    /// Begins a segment without checkpoints, because its bytes are stored already.
    pub(crate) fn begin_copy(
        session: &Arc<Session>,
        place: &Place,
        new: NewSegment,
    ) -> Result<Self> {
        let mut begun = SegmentWriter::begin(Arc::clone(session), place, new)?;
        begun.writer.stop_checkpoints();
        Ok(begun)
    }

    pub(crate) fn begin(session: Arc<Session>, place: &Place, new: NewSegment) -> Result<Self> {
        let whole = SegmentedBody::new(&new.validator, new.complete_length)?;
        let part = SegmentPosition { start: new.start, whole };
        let writer = Writer::begin(session, place, new.entry, WritePurpose::Part, Some(part))?;
        Ok(SegmentWriter { writer })
    }

    /// Adds bytes to the segment.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full. The segment then cannot be finished.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write(bytes)
    }

    /// The length of the segment so far, in bytes.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.writer.written()
    }

    /// A reader for the segment while it is written. Offset 0 is the beginning of the segment, not
    /// of the body.
    ///
    /// # Errors
    ///
    /// Those of [`SegmentWriter::write`].
    pub fn tail(&mut self) -> Result<Tail> {
        self.writer.tail()
    }

    /// Finishes the segment. Lookups find it from now on. An empty segment is ignored.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_invalid`] if it ends after the complete length; or if the disk fails or
    /// is full, now or in an earlier [`SegmentWriter::write`]. Nothing is then stored, unless only
    /// the last sync failed.
    pub fn finish(self) -> Result<()> {
        self.end(false)
    }

    /// Finishes a segment whose transfer broke off.
    ///
    /// # Errors
    ///
    /// Those of [`SegmentWriter::finish`].
    pub fn finish_short(self) -> Result<()> {
        self.end(true)
    }

    /// Discards the segment.
    pub fn discard(self) {}

    fn end(self, cut: bool) -> Result<()> {
        if self.writer.written() == 0 {
            return Ok(());
        }
        let (session, place) = (Arc::clone(self.writer.session()), self.writer.place().clone());
        self.admit(cut, &[])?;
        // If surplus segments cannot be joined or removed, the new segment stays stored.
        let _ = super::reduce(&session, &place);
        Ok(())
    }

    /// Finishes the segment and replaces the segments that were finished at the times `instead`.
    pub(super) fn admit(mut self, cut: bool, instead: &[Timestamp]) -> Result<()> {
        let (finished, _) = self.writer.complete(None, BodyExtent::Part { cut })?;
        files::admit(self.writer.tree(), &finished, instead)?;
        self.writer.set_admitted();
        Ok(())
    }
}
