//! A segment being written.

use std::sync::Arc;

use jiff::Timestamp;

use super::files;
use crate::entry::layout::Purpose;
use crate::entry::part::{Part, WholeBody};
use crate::entry::place::Place;
use crate::error::Result;
use crate::tree::session::Session;
use crate::tree::writer::{BodyEnd, NewEntry, Tail, Writer};

/// What of a segment is known before its body.
#[derive(Debug, Clone)]
pub struct NewSegment {
    /// As [`NewEntry::asked`].
    pub asked: Timestamp,
    /// When the response came.
    pub when: Timestamp,
    /// The head of the response, as [`NewEntry::head`]: of a 206 with one range, its `Content-Range`
    /// among the fields. Best with all fields that are known of the whole answer: of the segments of a
    /// key the head of the newest is the one that stays for certain.
    pub head: Vec<u8>,
    /// The request, as [`NewEntry::request`].
    pub request: Vec<u8>,
    /// As [`NewEntry::connection`].
    pub connection: Option<Vec<u8>>,
    /// The strong validator: entity tag, or a `Last-Modified` that is strong (RFC 9110 §8.8.2.2).
    pub validator: Vec<u8>,
    /// The length of the whole body in bytes, if it was told.
    pub complete_length: Option<u64>,
    /// Where in the whole body the segment begins.
    pub start: u64,
}

/// A segment that is not finished. Dropping it discards it: what was there before stays.
#[derive(Debug)]
pub struct SegmentWriter {
    writer: Writer,
    start: u64,
}

impl SegmentWriter {
    /// For what is on the disk already: a crash loses nothing that would need checkpoints.
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
        let whole = WholeBody::new(&new.validator, new.complete_length)?;
        let part = Part { start: new.start, whole };
        let NewSegment { asked, when, head, request, connection, start, .. } = new;
        let new = NewEntry { asked, when, head, request, connection };
        let writer = Writer::begin(session, place, new, Purpose::Part, Some(part))?;
        Ok(SegmentWriter { writer, start })
    }

    /// Adds to the body.
    ///
    /// # Errors
    ///
    /// When the disk fails or is full. Then the segment cannot be finished any more.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write(bytes)
    }

    /// Where in the whole body it begins.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The length of the segment so far, in bytes.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.writer.written()
    }

    /// A second hand on the file, which reads the segment while it is written. Its offsets begin with the
    /// segment, not with the whole body.
    ///
    /// # Errors
    ///
    /// As those of [`SegmentWriter::write`].
    pub fn tail(&mut self) -> Result<Tail> {
        self.writer.tail()
    }

    /// Completes the segment: it is found from now on. One without a byte is nothing, and passed over.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_invalid`] when it has more bytes than there are in the whole body; when the
    /// disk fails or is full, now or in an earlier [`SegmentWriter::write`]. Then nothing was kept.
    pub fn finish(self) -> Result<()> {
        self.end(false)
    }

    /// The same for what came of a transfer that broke off.
    ///
    /// # Errors
    ///
    /// Those of [`SegmentWriter::finish`].
    pub fn finish_short(self) -> Result<()> {
        self.end(true)
    }

    /// Gives the segment up.
    pub fn discard(self) {}

    /// Completes it in place of others, which were finished at these times.
    pub(super) fn finish_instead(self, instead: &[Timestamp]) -> Result<()> {
        self.admit(false, instead)
    }

    fn end(self, cut: bool) -> Result<()> {
        if self.writer.written() == 0 {
            return Ok(());
        }
        let (session, place) = (Arc::clone(self.writer.session()), self.writer.place().clone());
        self.admit(cut, &[])?;
        // It is kept. That there are too many is no failure of this one.
        let _ = super::reduce(&session, &place);
        Ok(())
    }

    fn admit(mut self, cut: bool, instead: &[Timestamp]) -> Result<()> {
        let (finished, _) = self.writer.complete(None, BodyEnd::Part { cut })?;
        files::admit(self.writer.tree(), &finished, instead)?;
        self.writer.set_admitted();
        Ok(())
    }
}
