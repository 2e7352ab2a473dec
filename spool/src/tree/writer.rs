//! An entry being written to `tmp/`, then finished or discarded.

mod finish;
mod tail;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use crate::entry::blocks::BlockSummer;
use crate::entry::head::{check_head, check_place, check_request, status_of};
use crate::entry::layout::{MAX_CONNECTION, StartWriter, WritePurpose};
use crate::entry::part::SegmentPosition;
use crate::entry::place::Place;
use crate::entry::{Entry, layout, warc};
use crate::error::{Error, Result, SpoolFault};
use crate::fs::DiskFile;
use crate::fs::size::wide;
use crate::tree::Tree;
use crate::tree::salvage::{CheckpointHeader, Checkpoints};
use crate::tree::session::Session;
use wwwoffle_url::Key;

pub use self::finish::ReplaceOutcome;
pub use self::tail::Tail;

/// The number of bytes that are collected before a write.
const BUFFER: usize = 64 << 10;

/// The data of an entry except its body.
#[derive(Debug, Clone)]
pub struct NewEntry {
    /// When the request was sent (`request_time` of RFC 9111 §4.2.3).
    pub asked: Timestamp,
    /// When the head of the response arrived (`response_time`).
    pub when: Timestamp,
    /// The head of the response as HTTP/1.1, from the status line to the empty line, without
    /// `Transfer-Encoding`: the body is stored without its transfer coding.
    pub head: Vec<u8>,
    /// The request: its head, without `Authorization`, `Proxy-Authorization` and `Cookie`, and its
    /// body if that is small.
    pub request: Vec<u8>,
    /// Facts about the connection, as lines `name: value` that each end with CR LF.
    pub connection: Option<Vec<u8>>,
}

impl NewEntry {
    /// The data of a copy of `entry`.
    #[must_use]
    pub fn copy_of(entry: &Entry) -> NewEntry {
        NewEntry {
            asked: entry.requested(),
            when: entry.received(),
            head: entry.head().to_vec(),
            request: entry.request().to_vec(),
            connection: entry.connection().map(<[u8]>::to_vec),
        }
    }
}

/// An entry being written. Dropping the writer discards it; the present entry of its place stays.
pub struct Writer {
    session: Arc<Session>,
    place: Place,
    exchange: WrittenExchange,
    start: StartWriter,
    output: OutputFile,
    body: BodySums,
    /// The position in the complete body, for a segment, and for an entry whose transfer may break
    /// off.
    part: Option<SegmentPosition>,
    checkpoints: Option<Checkpoints>,
    /// The time at which the entry counts as stored. `None`: when it is finished.
    stored: Option<Timestamp>,
    state: WriteState,
}

/// The exchange without its body.
struct WrittenExchange {
    /// The record ids of the response and the request.
    ids: [String; 2],
    when: Timestamp,
    status: u16,
    request: Vec<u8>,
    connection: Option<Vec<u8>>,
}

/// The file being written.
struct OutputFile {
    file: Arc<dyn DiskFile>,
    path: PathBuf,
    /// Bytes that are not in the file yet.
    buffer: Vec<u8>,
    /// The number of bytes of the file that are written.
    flushed: u64,
    /// The number of bytes of the body that are written.
    visible: Arc<AtomicU64>,
    /// Whether a [`Tail`] needs each byte at once.
    read_along: bool,
}

/// Length, digest and checksums of the body so far.
struct BodySums {
    hasher: Sha256,
    summing: BlockSummer,
    len: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteState {
    Writing,
    /// A write has failed, so the file is incomplete.
    Broken,
    Finished,
}

/// The body that a finished file contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyExtent {
    /// The body of an entry.
    Whole,
    /// The body of a segment. `cut`: the transfer broke off.
    Part { cut: bool },
}

/// A finished entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEntry {
    /// The key.
    pub key: Key,
    /// The length of its body in bytes.
    pub body_len: u64,
    /// The SHA-256 of its body.
    pub digest: [u8; 32],
    /// The length of its file in bytes.
    pub file_len: u64,
}

impl Writer {
    pub(crate) fn begin(
        session: Arc<Session>,
        place: &Place,
        new: NewEntry,
        purpose: WritePurpose,
        part: Option<SegmentPosition>,
    ) -> Result<Writer> {
        let state = layout::EntryState::new(new.asked);
        Writer::begin_as(session, place, new, &state, purpose, part)
    }

    /// Begins a copy of an entry at another place, with its state and times. The copy counts as
    /// finished at `stored`. If `stored` is `None`, it counts as newer than every other entry.
    pub(crate) fn begin_copy(
        session: Arc<Session>,
        place: &Place,
        entry: &Entry,
        stored: Option<Timestamp>,
    ) -> Result<Writer> {
        let (new, state) = (NewEntry::copy_of(entry), entry.state());
        let mut writer = Writer::begin_as(session, place, new, state, WritePurpose::Whole, None)?;
        writer.stored = stored;
        Ok(writer)
    }

    fn begin_as(
        session: Arc<Session>,
        place: &Place,
        new: NewEntry,
        state: &layout::EntryState,
        purpose: WritePurpose,
        part: Option<SegmentPosition>,
    ) -> Result<Writer> {
        check_place(place)?;
        check_head(&new.head)?;
        check_request(&new.request)?;
        let connection = new.connection.as_deref().unwrap_or_default();
        Error::check_length("the record of the connection", connection.len(), MAX_CONNECTION)?;
        let ids = warc::record_ids()?;
        let [response, _] = &ids;
        let mut buffer = Vec::with_capacity(new.head.len() + (4 << 10));
        let start =
            StartWriter::write(&mut buffer, place, response, new.when, state, &new.head, purpose);
        let about = part.as_ref().map(|part| CheckpointHeader {
            body_offset: start.body_offset(),
            asked: new.asked,
            when: new.when,
            head: &new.head,
            request: &new.request,
            connection: new.connection.as_deref(),
            part,
        });
        let about = about.map(|about| about.record(place)).transpose()?;
        let (path, file) = session.tree.root.create_tmp()?;
        let checkpoints = about.map(|about| Checkpoints::new(&path, about));
        let exchange = WrittenExchange {
            ids,
            when: new.when,
            status: status_of(&new.head).unwrap_or_default(),
            request: new.request,
            connection: new.connection,
        };
        let visible = Arc::default();
        let output = OutputFile { file, path, buffer, flushed: 0, visible, read_along: false };
        let body = BodySums { hasher: Sha256::new(), summing: BlockSummer::new(), len: 0 };
        let (place, stored, state) = (place.clone(), None, WriteState::Writing);
        Ok(Writer {
            session,
            place,
            exchange,
            start,
            output,
            body,
            part,
            checkpoints,
            stored,
            state,
        })
    }

    /// Adds bytes to the body.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full. The entry then cannot be finished.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.body.hasher.update(bytes);
        self.body.summing.update(bytes);
        self.body.len += wide(bytes.len());
        self.put(bytes)?;
        let checkpoints = self.checkpoints.as_mut();
        let is_due = checkpoints.is_some_and(|checks| checks.update(bytes, self.body.len));
        if is_due { self.checkpoint() } else { Ok(()) }
    }

    /// The length of the body so far, in bytes.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.body.len
    }

    /// The place of the entry.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Sets the time at which the entry counts as stored, for example the time of its capture. It
    /// is always later than that of `replaced`, so that versions stay in order.
    pub fn set_stored(&mut self, time: Timestamp, replaced: Option<&Entry>) {
        let after = replaced.map(|entry| entry.stored() + SignedDuration::from_micros(1));
        let time = after.map_or(time, |after| time.max(after));
        // A WARC header stores whole microseconds.
        self.stored = Timestamp::from_microsecond(time.as_microsecond()).ok();
    }

    /// A reader for the body while it is written. From now on, each [`Writer::write`] writes to the
    /// file at once, until [`Writer::collect_rest`].
    ///
    /// # Errors
    ///
    /// Those of [`Writer::write`].
    pub fn tail(&mut self) -> Result<Tail> {
        self.output.read_along = true;
        // A reader has no use for the head alone.
        if self.body.len > 0 {
            self.flush()?;
        }
        Ok(Tail {
            file: Arc::clone(&self.output.file),
            path: self.output.path.as_path().into(),
            body_offset: self.start.body_offset(),
            visible: Arc::clone(&self.output.visible),
        })
    }

    /// Collects the rest of the body before it is written, although a [`Tail`] reads along. The
    /// tail sees the collected bytes at the end: a small entry is then written with one call.
    pub fn collect_rest(&mut self) {
        self.output.read_along = false;
    }

    /// The SHA-256 of the body so far.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.body.hasher.clone().finalize().into()
    }

    /// Marks the file as stored, so that dropping the writer does not remove it.
    pub(crate) fn set_admitted(&mut self) {
        self.state = WriteState::Finished;
    }

    pub(crate) fn part(&self) -> Option<&SegmentPosition> {
        self.part.as_ref()
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.session.tree
    }

    /// Discards the entry. The present entry of its place stays.
    pub fn discard(self) {}

    /// Writes a checkpoint for [`super::salvage`].
    fn checkpoint(&mut self) -> Result<()> {
        self.flush()?;
        if self.tree().root.is_synced() {
            // After a failed sync the content of the file is unknown.
            self.output.file.sync().map_err(|error| {
                self.state = WriteState::Broken;
                Error::disk("write", &self.output.path, error)
            })?;
        }
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.add_checkpoint(&self.session.tree.root, self.body.len);
        }
        Ok(())
    }

    pub(crate) fn stop_checkpoints(&mut self) {
        self.checkpoints = None;
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if self.state == WriteState::Broken {
            return Err(SpoolFault::WriterBroken.into());
        }
        if self.output.buffer.len() + bytes.len() <= BUFFER && !self.output.read_along {
            self.output.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        if bytes.len() < BUFFER && !self.output.read_along {
            self.output.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.append(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.output.buffer);
        self.append(&buffer)?;
        if !self.output.read_along {
            buffer.clear();
            self.output.buffer = buffer;
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() && self.state == WriteState::Writing {
            return Ok(());
        }
        self.write_at(bytes, self.output.flushed)?;
        self.output.flushed += wide(bytes.len());
        // A [`Tail`] must not see bytes after the body, and a byte must be written before the count
        // includes it.
        let body = self.output.flushed.saturating_sub(self.start.body_offset()).min(self.body.len);
        self.output.visible.store(body, Ordering::Release);
        Ok(())
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        if self.state == WriteState::Broken {
            return Err(SpoolFault::WriterBroken.into());
        }
        self.output.file.write_all_at(bytes, offset).map_err(|error| {
            self.state = WriteState::Broken;
            Error::disk("write", &self.output.path, error)
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.state != WriteState::Finished {
            // If the file cannot be removed now, the next opening of the spool removes it.
            self.tree().root.discard(&self.output.path);
        }
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.remove(&self.session.tree.root);
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("place", &self.place)
            .field("body_len", &self.body.len)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
