//! How the writing of an entry ends: as the answer of its place, as an older version of it, or as a part.

use std::sync::Arc;

use jiff::Timestamp;
use sha2::Digest as _;

use super::{BodyEnd, Stored, WriteState, Writer};
use crate::durability::Durability;
use crate::entry::blocks::BlockSummer;
use crate::entry::layout::{FinalFields, TailContent};
use crate::entry::{Entry, layout};
use crate::error::{Error, Result};
use crate::fs::parallel::lock;
use crate::fs::size::wide;
use crate::tree;
use crate::tree::{FinishedFile, segments};

/// What came of [`Writer::finish_over`].
#[derive(Debug)]
pub enum Over {
    /// It is the entry.
    Stored(Stored),
    /// Something else has come to its place.
    Overtaken(Box<Writer>),
}

impl Writer {
    /// Completes the entry and puts it in its place, with its trailer section, if there was one, as
    /// lines `Name: value` that each end with CR LF.
    ///
    /// It is found from now on. What a crash may take back is told by [`crate::Durability`].
    ///
    /// # Errors
    ///
    /// When the disk fails or is full, now or in an earlier [`Writer::write`]; when the trailers are
    /// too long. Then nothing was stored, unless it was the last sync that failed.
    pub fn finish(mut self, trailers: Option<&[u8]>) -> Result<Stored> {
        let (finished, stored) = self.complete(trailers, BodyEnd::Whole)?;
        self.tree().admit(finished)?;
        self.state = WriteState::Finished;
        Ok(stored)
    }

    /// Completes the entry and puts it in its place, if what is there is still what was `found` there before,
    /// and nothing has been learnt of that since. Else the writer comes back as it was: it may be that what
    /// has come meanwhile is the better one.
    ///
    /// # Errors
    ///
    /// Those of [`Writer::finish`].
    pub fn finish_over(mut self, found: Option<&Entry>) -> Result<Over> {
        let session = Arc::clone(&self.session);
        let place = self.place.clone();
        let is_synced = session.tree.root.durability == Durability::Each;
        if is_synced {
            // All but the end, so that others wait for little.
            self.flush()?;
            self.output
                .file
                .sync()
                .map_err(|error| Error::disk("write", &self.output.path, error))?;
        }
        let mut stored = None;
        let over = found.map_or(tree::ReplaceCondition::Nothing, tree::ReplaceCondition::Seen);
        let is_there = session.tree.admit_made(&place, over, || {
            let (finished, told) = self.complete(None, BodyEnd::Whole)?;
            stored = Some(told);
            if is_synced {
                finished.sync()?;
            }
            Ok(finished)
        })?;
        match stored.filter(|_| is_there) {
            Some(stored) => {
                self.state = WriteState::Finished;
                Ok(Over::Stored(stored))
            }
            None => Ok(Over::Overtaken(Box::new(self))),
        }
    }

    /// Completes the entry as an older version of the one at its place, which counts as finished at
    /// `stored`, or the next moment that no version has. `None`, and nothing is stored, where no versions
    /// are kept, where it would be the first to go, or where what is at its place is not newer.
    ///
    /// # Errors
    ///
    /// Those of [`Writer::finish`].
    pub fn finish_older(mut self, stored: Timestamp) -> Result<Option<Stored>> {
        let session = Arc::clone(&self.session);
        let tree = &session.tree;
        let place = self.place.clone();
        let _told = tree.changing(&place);
        let _commit = lock(&tree.commit);
        let Some(stored) = tree.time_for_version(&place, stored)? else { return Ok(None) };
        let (finished, stored) = self.complete_as_of(stored, None)?;
        tree.make_version(&finished)?;
        tree.drop_surplus(&place);
        self.state = WriteState::Finished;
        Ok(Some(stored))
    }

    /// The same as [`Writer::complete`] of what counts as finished at `stored`.
    pub(crate) fn complete_as_of(
        &mut self,
        stored: Timestamp,
        trailers: Option<&[u8]>,
    ) -> Result<(FinishedFile, Stored)> {
        self.stored = Some(stored);
        self.complete(trailers, BodyEnd::Whole)
    }

    /// Keeps what came of a transfer that broke off as a segment, which [`crate::Spool::partial`] finds;
    /// nothing of it is copied. False when there is nothing to keep: the entry was not begun with
    /// [`crate::Spool::begin_resumable`], or no byte of its body came.
    ///
    /// # Errors
    ///
    /// When the disk fails or is full, now or in an earlier [`Writer::write`]. Then nothing was kept.
    pub fn finish_short(mut self) -> Result<bool> {
        if self.part.is_none() || self.body.len == 0 {
            return Ok(false);
        }
        let (finished, _) = self.complete(None, BodyEnd::Part { cut: true })?;
        segments::files::admit(self.tree(), &finished, &[])?;
        self.state = WriteState::Finished;
        // It is kept. That there are too many is no failure of this one.
        let _ = segments::reduce(&self.session, &self.place);
        Ok(true)
    }

    /// Writes what follows the body, and makes the file a whole one. It is under `tmp/` still.
    pub(crate) fn complete(
        &mut self,
        trailers: Option<&[u8]>,
        ended: BodyEnd,
    ) -> Result<(FinishedFile, Stored)> {
        let connection = self.exchange.connection.as_deref();
        let part = self.part.as_ref().filter(|_| ended != BodyEnd::Whole);
        if part.is_some_and(|part| !part.has_room_for(self.body.len)) {
            return Err(Error::invalid("the body", "is longer than what it is a part of", b""));
        }
        let blocks = std::mem::replace(&mut self.body.summing, BlockSummer::new()).finish();
        let after = TailContent {
            request: &self.exchange.request,
            connection,
            trailers,
            part,
            blocks: Some(&blocks),
        };
        let body_end = self.start.body_offset() + self.body.len;
        let tail =
            layout::tail(&self.place, &self.exchange.ids, self.exchange.when, &after, body_end)?;
        let finish = FinalFields {
            body_len: self.body.len,
            digest: std::mem::take(&mut self.body.hasher).finalize().into(),
            tail_len: wide(tail.len()),
            stored: self.stored.unwrap_or_else(|| self.tree().root.stamp()),
            cut: ended == BodyEnd::Part { cut: true },
        };
        let fixed = self.start.fixed(&finish);
        if self.output.flushed == 0 {
            // Nothing is on disk: one write does it all.
            let beginning = self.output.buffer.get_mut(..fixed.len());
            beginning.unwrap_or_default().copy_from_slice(&fixed);
            self.output.buffer.extend_from_slice(&tail);
            self.flush()?;
        } else {
            self.put(&tail)?;
            self.flush()?;
            self.write_at(&fixed, 0)?;
        }
        let finished = FinishedFile {
            place: self.place.clone(),
            path: self.output.path.clone(),
            file: Arc::clone(&self.output.file),
            stored: finish.stored,
            status: self.exchange.status,
            digest: finish.digest,
        };
        let (key, body_len, digest) = (self.place.key(), finish.body_len, finish.digest);
        let file_len = body_end + finish.tail_len;
        Ok((finished, Stored { key, body_len, digest, file_len }))
    }
}
