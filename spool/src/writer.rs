//! An entry being written: aside, then finished or discarded.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::entry::status_of;
use crate::error::{Error, Result};
use crate::fs::DiskFile;
use crate::layout::{
    self, After, Finish, MAX_CONNECTION, MAX_HEAD, MAX_KEPT_REQUEST, MAX_URL, Start, wide,
};
use crate::place::{MAX_OWNER, MAX_VARIANT, Place};
use crate::store::{Finished, Store};
use crate::{Handle, warc};
use wwwoffle_url::Key;

/// What is gathered before it is written, in bytes.
const BUFFER: usize = 64 << 10;

/// What of an entry is known before its body.
#[derive(Debug, Clone)]
pub struct NewEntry {
    /// When the request was sent (`request_time` of RFC 9111 §4.2.3).
    pub asked: Timestamp,
    /// When the head of the response came (`response_time`).
    pub when: Timestamp,
    /// The head of the response as HTTP/1.1, from the status line to the empty line: without
    /// `Transfer-Encoding`, which the body is stored without.
    pub head: Vec<u8>,
    /// The request: its head, without `Authorization`, `Proxy-Authorization` and `Cookie`, and its
    /// body if that is small.
    pub request: Vec<u8>,
    /// What is known of the connection it came over, as lines `name: value` that each end with CR LF.
    pub connection: Option<Vec<u8>>,
}

/// An entry that is not finished. Dropping it discards it: what was there before stays.
pub struct Writer {
    handle: Arc<Handle>,
    place: Place,
    ids: [String; 2],
    when: Timestamp,
    request: Vec<u8>,
    connection: Option<Vec<u8>>,
    start: Start,
    file: Arc<dyn DiskFile>,
    path: PathBuf,
    /// What is not in the file yet.
    buffer: Vec<u8>,
    /// How much of the whole file is, in bytes.
    flushed: u64,
    /// How much of the body is.
    visible: Arc<AtomicU64>,
    /// Somebody reads along, so everything goes to the file at once.
    read_along: bool,
    hasher: Sha256,
    body_len: u64,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Writing,
    /// A write failed, so the file is not what it should be.
    Broken,
    Finished,
}

/// An entry that was finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its key.
    pub key: Key,
    /// The length of its body in bytes.
    pub body_len: u64,
    /// The SHA-256 of its body.
    pub digest: [u8; 32],
    /// The length of its file in bytes.
    pub file_len: u64,
}

/// Reads the body of an entry that is being written, as far as it is. It stays readable when the
/// writer has finished or discarded it.
#[derive(Debug, Clone)]
pub struct Tail {
    file: Arc<dyn DiskFile>,
    path: Arc<Path>,
    body_offset: u64,
    visible: Arc<AtomicU64>,
}

impl Writer {
    pub(crate) fn begin(handle: Arc<Handle>, place: &Place, new: NewEntry) -> Result<Writer> {
        check_place(place)?;
        check_head(&new.head)?;
        check_request(&new.request)?;
        let connection = new.connection.as_deref().unwrap_or_default();
        Error::unless_fits("the account of the connection", connection.len(), MAX_CONNECTION)?;
        let ids = warc::record_ids()?;
        let [response, _] = &ids;
        let mut buffer = Vec::with_capacity(new.head.len() + (4 << 10));
        let start = {
            let state = layout::State::new(new.asked);
            Start::write(&mut buffer, place, response, new.when, &state, &new.head)
        };
        let (path, file) = handle.store.create_tmp()?;
        Ok(Writer {
            handle,
            place: place.clone(),
            ids,
            when: new.when,
            request: new.request,
            connection: new.connection,
            start,
            file,
            path,
            buffer,
            flushed: 0,
            visible: Arc::default(),
            read_along: false,
            hasher: Sha256::new(),
            body_len: 0,
            state: State::Writing,
        })
    }

    /// Adds to the body.
    ///
    /// # Errors
    ///
    /// When the disk fails or is full. Then the entry cannot be finished any more.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.hasher.update(bytes);
        self.body_len += wide(bytes.len());
        self.put(bytes)
    }

    /// The length of the body so far, in bytes.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.body_len
    }

    /// The place it is for.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// A second hand on the file, which reads the body while it is written. From now on each
    /// [`Writer::write`] goes to the file at once.
    ///
    /// # Errors
    ///
    /// As those of [`Writer::write`].
    pub fn tail(&mut self) -> Result<Tail> {
        self.read_along = true;
        self.flush()?;
        Ok(Tail {
            file: Arc::clone(&self.file),
            path: self.path.as_path().into(),
            body_offset: self.start.body_offset(),
            visible: Arc::clone(&self.visible),
        })
    }

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
        let connection = self.connection.as_deref();
        let after = After { request: &self.request, connection, trailers };
        let tail = layout::tail(&self.place, &self.ids, self.when, &after)?;
        let store = Arc::clone(&self.handle.store);
        let finish = Finish {
            body_len: self.body_len,
            digest: std::mem::take(&mut self.hasher).finalize().into(),
            tail_len: wide(tail.len()),
            stored: store.stamp(),
        };
        let fixed = self.start.fixed(&finish);
        if self.flushed == 0 {
            // Nothing is on disk: one write does it all.
            let beginning = self.buffer.get_mut(..fixed.len());
            beginning.unwrap_or_default().copy_from_slice(&fixed);
            self.buffer.extend_from_slice(&tail);
            self.flush()?;
        } else {
            self.put(&tail)?;
            self.flush()?;
            self.write_at(&fixed, 0)?;
        }
        store.admit(Finished {
            place: self.place.clone(),
            path: self.path.clone(),
            file: Arc::clone(&self.file),
            stored: finish.stored,
        })?;
        self.state = State::Finished;
        let (key, body_len, digest) = (self.place.key(), finish.body_len, finish.digest);
        let file_len = self.start.body_offset() + body_len + finish.tail_len;
        Ok(Stored { key, body_len, digest, file_len })
    }

    /// Gives the entry up. What was there before stays.
    pub fn discard(self) {}

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if self.state == State::Broken {
            return Err(Error::writer_broken());
        }
        if self.buffer.len() + bytes.len() <= BUFFER && !self.read_along {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        if bytes.len() < BUFFER && !self.read_along {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.append(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        self.append(&buffer)?;
        if !self.read_along {
            buffer.clear();
            self.buffer = buffer;
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() && self.state == State::Writing {
            return Ok(());
        }
        self.write_at(bytes, self.flushed)?;
        self.flushed += wide(bytes.len());
        // What follows the body is not for who reads along, who sees the bytes before their number.
        let body = self.flushed.saturating_sub(self.start.body_offset()).min(self.body_len);
        self.visible.store(body, Ordering::Release);
        Ok(())
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        if self.state == State::Broken {
            return Err(Error::writer_broken());
        }
        self.file.write_all_at(bytes, offset).map_err(|error| {
            self.state = State::Broken;
            Error::disk("write", &self.path, error)
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.state != State::Finished {
            // What stays behind is removed when the spool is opened.
            let store: &Store = &self.handle.store;
            let _ = store.disk.remove_file(&self.path);
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("place", &self.place)
            .field("body_len", &self.body_len)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Tail {
    /// How much of the body can be read now, in bytes.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.visible.load(Ordering::Acquire)
    }

    /// Reads what there is at `offset` of the body, at most the length of `buffer`; 0 when the writer
    /// has not come so far.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let left = self.available().saturating_sub(offset);
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let Some(buffer) = buffer.get_mut(..most).filter(|buffer| !buffer.is_empty()) else {
            return Ok(0);
        };
        let read = self.file.read_at(buffer, self.body_offset.saturating_add(offset));
        read.map_err(|error| Error::disk("read", &self.path, error))
    }
}

/// What cannot be recorded, or would not be read, is refused.
pub(crate) fn check_place(place: &Place) -> Result<()> {
    Error::unless_fits("the URL", place.url().len(), MAX_URL)?;
    Error::unless_fits("the owner", place.owner().unwrap_or_default().len(), MAX_OWNER)?;
    Error::unless_fits("the variant", place.variant_text().len(), MAX_VARIANT)?;
    check_url(place.url())
}

/// A target is one line without blanks, and shows no credentials.
fn check_url(url: &str) -> Result<()> {
    let authority = crate::place::scheme_and_host(url).1;
    if url.is_empty() || url.chars().any(|character| character.is_control() || character == ' ') {
        return Err(Error::invalid("the URL", "has blanks or control characters", url.as_bytes()));
    }
    if authority.contains('@') {
        return Err(Error::invalid("the URL", "shows credentials of its host", b""));
    }
    Ok(())
}

pub(crate) fn check_head(head: &[u8]) -> Result<()> {
    let invalid = |why| Err(Error::invalid("the head of the response", why, head));
    Error::unless_fits("the head of the response", head.len(), MAX_HEAD)?;
    if status_of(head).is_none() {
        return invalid("does not begin with an HTTP/1 status line");
    }
    match empty_line(head) {
        Some(end) if end == head.len() => {}
        _ => return invalid("does not end with its first empty line"),
    }
    if has_bare_line_feed(head) {
        return invalid("has a line feed without a carriage return");
    }
    if has_field(head, &["transfer-encoding"]) {
        return invalid("has a Transfer-Encoding, which the stored body has not");
    }
    Ok(())
}

fn check_request(request: &[u8]) -> Result<()> {
    Error::unless_fits("the request", request.len(), MAX_KEPT_REQUEST)?;
    let Some(end) = empty_line(request) else {
        return Err(Error::invalid("the request", "has a head without an end", b""));
    };
    refuse_secrets(request.get(..end).unwrap_or_default())
}

/// Refuses a head with a field that only its origin may see.
pub(crate) fn refuse_secrets(head: &[u8]) -> Result<()> {
    if has_field(head, &["authorization", "proxy-authorization", "cookie"]) {
        // What is refused is just what may not be shown.
        return Err(Error::invalid("the request", "has secrets in its head", b""));
    }
    Ok(())
}

/// Where a head ends: behind its first empty line.
pub(crate) fn empty_line(head: &[u8]) -> Option<usize> {
    head.windows(4).position(|window| window == b"\r\n\r\n").map(|start| start + 4)
}

/// Others who read WARC take such a line for a line, and so could see the end of the head elsewhere.
fn has_bare_line_feed(head: &[u8]) -> bool {
    let mut lines = head.split(|&byte| byte == b'\n').rev().skip(1);
    !lines.all(|line| line.ends_with(b"\r"))
}

/// Whether a head has one of these fields, named in lower case.
fn has_field(head: &[u8], names: &[&str]) -> bool {
    head.split(|&byte| byte == b'\n').skip(1).any(|line| {
        let name = line.split(|&byte| byte == b':').next().unwrap_or_default().trim_ascii();
        names.iter().any(|wanted| name.eq_ignore_ascii_case(wanted.as_bytes()))
    })
}
