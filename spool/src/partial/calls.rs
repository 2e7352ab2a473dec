//! The calls of a spool about what is kept in part.

use std::sync::Arc;

use super::part::{OfWhole, Part};
use super::{NewSegment, Partial, PartialList, SegmentWriter, tree};
use crate::entry::Damage;
use crate::error::Result;
use crate::layout::Purpose;
use crate::place::Place;
use crate::writer::{NewEntry, Stored, Writer};
use crate::{Reader, Spool};

impl Spool {
    /// Begins an entry as [`Spool::begin`] does, for an answer with a strong validator, of which a part is
    /// of use too: see [`Writer::finish_short`]. `complete_length` is the length its body will have in
    /// bytes, if known.
    ///
    /// # Errors
    ///
    /// Those of [`Spool::begin`], and [`crate::Error::is_too_large`] for a validator above [`crate::MAX_VALIDATOR`].
    pub fn begin_resumable(
        &self,
        place: &Place,
        new: NewEntry,
        validator: &[u8],
        complete_length: Option<u64>,
    ) -> Result<Writer> {
        let part = Part { start: 0, whole: OfWhole::new(validator, complete_length)? };
        Writer::begin(Arc::clone(&self.0), place, new, Purpose::WholeOrPart, Some(part))
    }

    /// What is kept of an answer that is not whole. What of it is damaged or foreign is set aside and is
    /// not there.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn partial(&self, place: &Place) -> Result<Option<Partial>> {
        super::read(&self.0, place)
    }

    /// The same for all that is kept under the key of a place, whatever the variant, in no order. Which
    /// of them a request selects is for the caller to judge.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn partials_of(&self, place: &Place) -> Result<Vec<Partial>> {
        super::read_all(&self.0, place)
    }

    /// Begins a segment: a part of an answer. When it is finished, segments go that are of another body,
    /// which is told by the validator and the complete length.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_too_large`] and [`crate::Error::is_invalid`] for what cannot be stored; or when the
    /// disk fails or is full.
    pub fn begin_segment(&self, place: &Place, new: NewSegment) -> Result<SegmentWriter> {
        SegmentWriter::begin(Arc::clone(&self.0), place, new)
    }

    /// Makes an entry of what is kept in part, with a head made for it: that of a whole answer, with the
    /// status 200, without `Content-Range`, and with the complete length. `None` when not all of it is
    /// there, or what is there is another body by now: what is damaged is set aside.
    ///
    /// # Errors
    ///
    /// Those of [`Spool::begin`] and [`Writer::finish`].
    pub fn complete(&self, partial: &Partial, head: Vec<u8>) -> Result<Option<Stored>> {
        super::complete(self, partial, head)
    }

    /// Removes what is kept in part of a place. False when there was nothing.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn remove_partial(&self, place: &Place) -> Result<bool> {
        tree::remove(&self.0.store, place, None)
    }

    /// Reads all that is kept in part to its end, and sets aside what is not what was stored: after a
    /// [`crate::Verified`] has told of damage.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn mend_partial(&self, place: &Place) -> Result<Vec<Damage>> {
        tree::mend(&self.0.store, place)
    }

    /// What is kept in part.
    ///
    /// # Errors
    ///
    /// When the disk fails, here or at each step.
    pub fn partials(&self) -> Result<PartialList> {
        PartialList::new(Arc::clone(&self.0.store.disk), &self.0.store.root)
    }
}

impl Reader {
    /// What is kept of an answer that is not whole.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn partial(&self, place: &Place) -> Result<Option<Partial>> {
        tree::read_only(&*self.disk, &self.root, place)
    }

    /// What is kept in part.
    ///
    /// # Errors
    ///
    /// When the disk fails, here or at each step.
    pub fn partials(&self) -> Result<PartialList> {
        PartialList::new(Arc::clone(&self.disk), &self.root)
    }
}

impl Writer {
    /// Adds what is kept of the body from its first byte on, so that the rest can follow: a download that
    /// broke off and is taken up again. Gives how many bytes that is.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_invalid`] when it is of another place or body than this one, which was begun with
    /// [`Spool::begin_resumable`], or something was written already; then nothing was added.
    /// [`crate::Error::is_damaged`] when what is kept is not what was stored; those of [`Writer::write`].
    /// In either case the entry should be begun anew.
    pub fn write_prefix(&mut self, partial: &Partial) -> Result<u64> {
        let is_its = self.part().is_some_and(|part| part.whole.agrees(&partial.whole));
        if !is_its || self.place() != partial.place() || self.written() > 0 {
            let why = "is not the beginning of what is written";
            return Err(crate::Error::invalid("what is kept in part", why, partial.validator()));
        }
        let prefix = partial.prefix();
        super::copy(&mut partial.verified(), 0..prefix, |piece| self.write(piece))?;
        Ok(prefix)
    }
}
