//! Finishing an entry: as the entry of its place, as an older version, or as a segment.

use std::sync::Arc;

use jiff::Timestamp;
use sha2::Digest as _;

use super::{BodyExtent, StoredEntry, WriteState, Writer};
use crate::durability::Durability;
use crate::entry::blocks::BlockSummer;
use crate::entry::layout::{FinalFields, TailContent};
use crate::entry::{Entry, layout};
use crate::error::{Error, Result};
use crate::fs::parallel::lock;
use crate::fs::size::wide;
use crate::tree::{self, FinishedFile, segments};

/// The result of [`Writer::finish_over`].
#[derive(Debug)]
pub enum ReplaceOutcome {
    /// The new entry is now the entry of its place.
    Stored(StoredEntry),
    /// The place has another entry now. The writer is returned.
    Overtaken(Box<Writer>),
}

impl Writer {
    /// Finishes the entry and makes it the entry of its place. `trailers` is its trailer section,
    /// if any, as lines `Name: value` that each end with CR LF.
    ///
    /// Lookups find it from now on. [`crate::Durability`] says what a crash may undo.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full, now or in an earlier [`Writer::write`]; or if the trailers are
    /// too long. Nothing is then stored, unless only the last sync failed.
    pub fn finish(mut self, trailers: Option<&[u8]>) -> Result<StoredEntry> {
        let (finished, stored) = self.complete(trailers, BodyExtent::Whole)?;
        self.tree().admit(finished)?;
        self.state = WriteState::Finished;
        Ok(stored)
    }

    /// Finishes the entry if the entry of its place is still `found`, and was not confirmed since
    /// `found` was read. If `found` is `None`, the place must still have no entry. Otherwise stores
    /// nothing and returns the writer, because the caller may prefer the other entry.
    ///
    /// # Errors
    ///
    /// Those of [`Writer::finish`].
    pub fn finish_over(mut self, found: Option<&Entry>) -> Result<ReplaceOutcome> {
        let session = Arc::clone(&self.session);
        let place = self.place.clone();
        let is_synced = session.tree.root.durability == Durability::Each;
        if is_synced {
            // Writes everything except the end now, so that `commit` is held for a shorter time.
            self.flush()?;
            self.output
                .file
                .sync()
                .map_err(|error| Error::disk("write", &self.output.path, error))?;
        }
        let mut stored = None;
        let over = found.map_or(tree::ReplaceCondition::Nothing, tree::ReplaceCondition::Seen);
        let is_there = session.tree.make_and_admit(&place, over, || {
            let (finished, entry) = self.complete(None, BodyExtent::Whole)?;
            stored = Some(entry);
            if is_synced {
                finished.sync()?;
            }
            Ok(finished)
        })?;
        match stored.filter(|_| is_there) {
            Some(stored) => {
                self.state = WriteState::Finished;
                Ok(ReplaceOutcome::Stored(stored))
            }
            None => Ok(ReplaceOutcome::Overtaken(Box::new(self))),
        }
    }

    /// Finishes the entry as an older version of the present entry, with the time `stored` or the
    /// next free time. Returns `None` and stores nothing if versions are not kept, if the body is too
    /// long for one, if this version would be removed first, or if the present entry is not newer.
    ///
    /// # Errors
    ///
    /// Those of [`Writer::finish`].
    pub fn finish_older(mut self, stored: Timestamp) -> Result<Option<StoredEntry>> {
        let session = Arc::clone(&self.session);
        let tree = &session.tree;
        let place = self.place.clone();
        if !tree.becomes_version(&place, self.body.len) {
            return Ok(None);
        }
        let _told = tree.changing(&place);
        let _commit = lock(&tree.commit);
        let Some(stored) = tree.time_for_version(&place, stored)? else { return Ok(None) };
        let (finished, stored) = self.complete_as_of(stored, None)?;
        tree.make_version(&finished)?;
        tree.drop_surplus(&place);
        self.state = WriteState::Finished;
        Ok(Some(stored))
    }

    /// Completes an entry that counts as finished at `stored`.
    pub(crate) fn complete_as_of(
        &mut self,
        stored: Timestamp,
        trailers: Option<&[u8]>,
    ) -> Result<(FinishedFile, StoredEntry)> {
        self.stored = Some(stored);
        self.complete(trailers, BodyExtent::Whole)
    }

    /// Stores the received part of an interrupted transfer as a segment for
    /// [`crate::Spool::partial`], without copying it. Returns false if nothing was stored: the
    /// entry was not begun with [`crate::Spool::begin_resumable`], or its body is empty.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full, now or in an earlier [`Writer::write`]. Nothing is then
    /// stored, unless only the last sync failed.
    pub fn finish_short(mut self) -> Result<bool> {
        if self.part.is_none() || self.body.len == 0 {
            return Ok(false);
        }
        let (finished, _) = self.complete(None, BodyExtent::Part { cut: true })?;
        segments::files::admit(self.tree(), &finished, &[])?;
        self.state = WriteState::Finished;
        // If surplus segments cannot be joined or removed, the new segment stays stored.
        let _ = segments::reduce(&self.session, &self.place);
        Ok(true)
    }

    /// Writes the tail and the fixed fields. The complete file stays under `tmp/` for now.
    pub(crate) fn complete(
        &mut self,
        trailers: Option<&[u8]>,
        ended: BodyExtent,
    ) -> Result<(FinishedFile, StoredEntry)> {
        let connection = self.exchange.connection.as_deref();
        let part = self.part.as_ref().filter(|_| ended != BodyExtent::Whole);
        if part.is_some_and(|part| !part.has_room_for(self.body.len)) {
            return Err(Error::invalid(
                "the body",
                "extends beyond the end of the complete body",
                b"",
            ));
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
            cut: ended == BodyExtent::Part { cut: true },
        };
        let fixed = self.start.fixed(&finish);
        if self.output.flushed == 0 && self.state == WriteState::Writing {
            // Nothing was written to the file yet, so one write is enough.
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
            body_len: finish.body_len,
        };
        let (key, body_len, digest) = (self.place.key(), finish.body_len, finish.digest);
        let file_len = body_end + finish.tail_len;
        Ok((finished, StoredEntry { key, body_len, digest, file_len }))
    }
}
