//! An entry, as it was read.

use std::fmt;
use std::io;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::blocks::Blocks;
use crate::error::{Error, Result};
use crate::fs::DiskFile;
use crate::gzip;
use crate::layout::{First, State, TailRanges, narrow, wide};
use crate::overlay::Overlay;
use crate::partial::part::Part;
use crate::place::Place;
use crate::verified::Verified;
use crate::warc::Reason;
use wwwoffle_url::Key;

/// What looking for an entry came to.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "made and taken apart once; a box costs more")]
pub enum Lookup {
    /// The entry.
    Found(Entry),
    /// There is none.
    Missing,
    /// What was there was not whole, or not what belongs there. It is no longer in the way, and will
    /// not be found again.
    SetAside(Damage),
}

impl Lookup {
    /// The entry, if there is one.
    #[must_use]
    pub fn found(self) -> Option<Entry> {
        match self {
            Lookup::Found(entry) => Some(entry),
            Lookup::Missing | Lookup::SetAside(_) => None,
        }
    }
}

/// All that is kept under one key: see [`crate::Spool::entries`].
#[derive(Debug, Default)]
pub struct Entries {
    /// The entries, the one stored last first. Their variants differ.
    pub found: Vec<Entry>,
    /// What was there and was not whole, or not what belongs there.
    pub set_aside: Vec<Damage>,
}

impl From<Entries> for Lookup {
    fn from(mut entries: Entries) -> Lookup {
        if !entries.found.is_empty() {
            return Lookup::Found(entries.found.swap_remove(0));
        }
        entries.set_aside.pop().map_or(Lookup::Missing, Lookup::SetAside)
    }
}

/// A file that was not served, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Where it was.
    pub path: PathBuf,
    /// Where it is now, if it was moved.
    pub moved_to: Option<PathBuf>,
    /// What is wrong with it, in a few words.
    pub reason: String,
}

#[expect(clippy::unnecessary_debug_formatting, reason = "quoted: a path may hold control bytes")]
impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is damaged or foreign: {}", self.path, self.reason)?;
        match &self.moved_to {
            Some(path) => write!(f, "; moved to {path:?}"),
            None => Ok(()),
        }
    }
}

/// One stored exchange. Everything but a [`Body::File`] has been verified. Cloning it shares what was read.
#[derive(Clone)]
pub struct Entry {
    /// The whole file, or its beginning and its tail.
    pub(crate) bytes: Shared,
    pub(crate) tail: Shared,
    pub(crate) first: First,
    pub(crate) body: Body,
    pub(crate) after: TailRanges,
    pub(crate) status: u16,
    /// Of a segment: what it is a part of.
    pub(crate) part: Option<Part>,
    /// What was learnt of a large one since, and lies beside it.
    pub(crate) overlay: Option<Overlay>,
    /// The length of its file as it lies on the disk.
    pub(crate) disk_len: u64,
    /// That file is compressed.
    pub(crate) is_compressed: bool,
}

pub(crate) type Shared = Arc<Vec<u8>>;

/// The body of an entry, as it was received less its transfer coding.
#[derive(Debug, Clone)]
pub enum Body {
    /// In memory, and verified.
    Whole(Whole),
    /// On disk: its length is verified, its content not yet. See [`BodyFile::verifier`].
    File(BodyFile),
}

/// A body in memory. Cloning shares it; as it is `AsRef<[u8]>`, a buffer type can own it uncopied.
#[derive(Clone)]
pub struct Whole {
    pub(crate) bytes: Shared,
    pub(crate) range: Range<usize>,
}

/// A body on disk, open: it stays readable when the entry is replaced or removed.
#[derive(Debug, Clone)]
pub struct BodyFile {
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) path: Arc<Path>,
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) digest: [u8; 32],
    /// The checksums of its blocks, from the file, or made when they were first needed.
    pub(crate) blocks: Arc<OnceLock<Blocks>>,
    /// Whether all of it was read since it was opened, and agreed with its digest.
    pub(crate) verified: Arc<AtomicBool>,
}

/// Checks a body that is read in order against the digest it was stored with.
///
/// Whoever sends a [`BodyFile`] feeds it, and sends the last piece only after [`Verifier::finish`]:
/// then a damaged body never looks whole to who receives it.
#[derive(Debug)]
pub struct Verifier {
    hasher: Sha256,
    left: u64,
    digest: [u8; 32],
    verified: Arc<AtomicBool>,
}

impl Entry {
    /// The canonical URL, without credentials.
    #[must_use]
    pub fn url(&self) -> &str {
        self.first.place.url()
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> Key {
        self.first.place.key()
    }

    /// The place it belongs to.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.first.place
    }

    /// When the response came that brought the body, as its writer said.
    #[must_use]
    pub fn when(&self) -> Timestamp {
        self.first.when
    }

    /// When the request was sent whose answer came at [`Entry::responded`] (`request_time` of RFC 9111
    /// §4.2.3). Of an entry kept before this was recorded, when the response came.
    #[must_use]
    pub fn asked(&self) -> Timestamp {
        self.state().asked
    }

    /// When the head came that [`Entry::head`] is of, or that confirmed it last (`response_time`).
    #[must_use]
    pub fn responded(&self) -> Timestamp {
        self.state().responded.unwrap_or(self.first.when)
    }

    /// When the origin confirmed last that this is its answer: [`Entry::when`] at first, later the time
    /// of the last [`Update::Confirmed`](crate::Update::Confirmed).
    #[must_use]
    pub fn checked(&self) -> Timestamp {
        self.responded()
    }

    /// Since when it may no longer be what its origin would answer, if something was sent there that
    /// changes it (RFC 9111 §4.4). Until the origin has confirmed it, it is not fresh.
    #[must_use]
    pub fn invalid_since(&self) -> Option<Timestamp> {
        self.state().invalid
    }

    /// When the entry was finished. An update does not change it.
    #[must_use]
    pub fn stored(&self) -> Timestamp {
        self.first.stored
    }

    /// The status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The head of the response, as it was updated last: status line, fields and empty line.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        if let Some(overlay) = &self.overlay {
            return &overlay.head;
        }
        self.bytes.get(self.first.head.clone()).unwrap_or_default()
    }

    /// The length of the body in bytes.
    #[must_use]
    pub fn body_len(&self) -> u64 {
        self.first.body_len
    }

    /// The SHA-256 of the body.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        &self.first.digest
    }

    /// The body. Cloning it is cheap.
    #[must_use]
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// Reads any part of the body, and gives nothing out that has not been verified.
    #[must_use]
    pub fn verified(&self) -> Verified {
        Verified::of(&self.body)
    }

    /// The request: head and body, without secrets.
    #[must_use]
    pub fn request(&self) -> &[u8] {
        self.tail.get(self.after.request.clone()).unwrap_or_default()
    }

    /// The trailer section, if there was one.
    #[must_use]
    pub fn trailers(&self) -> Option<&[u8]> {
        self.tail.get(self.after.trailers.clone()?)
    }

    /// The account of the connection it came over, if there is one.
    #[must_use]
    pub fn connection(&self) -> Option<&[u8]> {
        self.tail.get(self.after.connection.clone()?)
    }

    /// How many bytes of memory it takes, without its body if that is on disk.
    #[must_use]
    pub fn held(&self) -> usize {
        let tail = if Arc::ptr_eq(&self.bytes, &self.tail) { 0 } else { self.tail.len() };
        let overlay = self.overlay.as_ref().map_or(0, |overlay| overlay.head.len());
        let body = match &self.body {
            Body::Whole(whole) if !Arc::ptr_eq(&self.bytes, &whole.bytes) => whole.bytes.len(),
            Body::Whole(_) | Body::File(_) => 0,
        };
        size_of::<Entry>() + self.bytes.len() + tail + body + overlay + 3 * self.url().len()
    }

    /// Whether its body is kept in a file of its own, for whatever has the same.
    #[must_use]
    pub fn shares_body(&self) -> bool {
        self.first.refers.is_some()
    }

    /// The length of its file in bytes, as it lies on the disk: less than what it stands for, if that is
    /// compressed.
    #[must_use]
    pub fn file_len(&self) -> u64 {
        self.disk_len
    }

    /// The length its file would have if it were not compressed, if it is.
    #[must_use]
    pub fn plain_len(&self) -> Option<u64> {
        self.is_compressed.then_some(self.first.length)
    }

    /// Whether both were read from a file with the same content, besides what was learnt later.
    pub(crate) fn is_same_file(&self, other: &Entry) -> bool {
        let of = |entry: &Entry| {
            (entry.first.stored, entry.first.state, entry.first.digest, entry.first.length)
        };
        of(self) == of(other) && self.id() == other.id() && self.disk_len == other.disk_len
    }

    /// Whether it is a segment, and no whole answer.
    pub(crate) fn is_part(&self) -> bool {
        self.first.is_part || self.part.is_some()
    }

    pub(crate) fn part(&self) -> Option<&Part> {
        self.part.as_ref()
    }

    /// What tells this entry from every other there was at its place; an update keeps it.
    pub(crate) fn id(&self) -> &str {
        &self.first.id
    }

    pub(crate) fn state(&self) -> &State {
        self.overlay.as_ref().map_or(&self.first.state, |overlay| &overlay.state)
    }

    /// Later for what is newer: of two entries of a place, and of two states of one.
    pub(crate) fn order(&self) -> (Timestamp, Option<Timestamp>) {
        (self.first.stored, self.state().updated)
    }

    /// All that follows the body, as it is in the file.
    pub(crate) fn tail(&self) -> &[u8] {
        // Of a small file the tail begins behind the body.
        let is_read_at_once = Arc::ptr_eq(&self.bytes, &self.tail);
        let start =
            if is_read_at_once { narrow(self.first.body_end()).unwrap_or(usize::MAX) } else { 0 };
        self.tail.get(start..).unwrap_or_default()
    }

    /// The open file of the body, if that is still on disk.
    pub(crate) fn file(&self) -> Option<&BodyFile> {
        match &self.body {
            Body::File(file) => Some(file),
            Body::Whole(_) => None,
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("place", &self.first.place)
            .field("status", &self.status)
            .field("body_len", &self.first.body_len)
            .finish_non_exhaustive()
    }
}

impl Deref for Whole {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(self.range.clone()).unwrap_or_default()
    }
}

impl AsRef<[u8]> for Whole {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Whole({} bytes)", self.len())
    }
}

impl BodyFile {
    /// The length of the body in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the body has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads what there is at `offset` of the body, at most the length of `buffer`; 0 at its end.
    ///
    /// # Errors
    ///
    /// When the disk fails, or the file became shorter than it was when it was opened.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let left = self.len.saturating_sub(offset);
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let Some(buffer) = buffer.get_mut(..most).filter(|buffer| !buffer.is_empty()) else {
            return Ok(0);
        };
        let read = self.file.read_at(buffer, self.start.saturating_add(offset));
        let failed = |error| match gzip::reason_of(&error) {
            Some(reason) => self.damaged(reason),
            None => Error::disk("read", &self.path, error),
        };
        match read.map_err(failed)? {
            0 => Err(Error::disk("read", &self.path, io::ErrorKind::UnexpectedEof.into())),
            read => Ok(read),
        }
    }

    /// What tells at the end whether the body was the one that was stored.
    #[must_use]
    pub fn verifier(&self) -> Verifier {
        let verified = Arc::clone(&self.verified);
        Verifier { hasher: Sha256::new(), left: self.len, digest: self.digest, verified }
    }

    /// Whether a [`Verifier`] of this body, or of a clone of it, has agreed already. It says nothing of
    /// what was done to the file since: that is for who remembers the entry to look at.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.verified.load(Ordering::Acquire)
    }

    /// The same as [`BodyFile::read_at`] where the system has the bytes in memory; `None` where they
    /// would have to be waited for, or nobody can tell.
    #[must_use]
    pub fn read_cached(&self, offset: u64, buffer: &mut [u8]) -> Option<usize> {
        let left = self.len.saturating_sub(offset);
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let buffer = buffer.get_mut(..most).filter(|buffer| !buffer.is_empty())?;
        let read = self.file.read_cached(buffer, self.start.saturating_add(offset));
        read.filter(|read| *read > 0)
    }

    pub(crate) fn identity(&self) -> io::Result<u64> {
        self.file.identity()
    }

    pub(crate) fn damaged(&self, reason: Reason) -> Error {
        let path = self.path.to_path_buf();
        Error::damaged(Damage { path, moved_to: None, reason: reason.to_owned() })
    }
}

impl Verifier {
    /// Takes the next bytes of the body.
    pub fn update(&mut self, bytes: &[u8]) {
        self.left = self.left.wrapping_sub(wide(bytes.len()));
        self.hasher.update(bytes);
    }

    /// Whether the bytes were those of the body, from the first to the last.
    #[must_use]
    pub fn finish(self) -> bool {
        let agrees = self.left == 0 && <[u8; 32]>::from(self.hasher.finalize()) == self.digest;
        if agrees {
            self.verified.store(true, Ordering::Release);
        }
        agrees
    }
}

/// The status code in a head: `HTTP/1.1 200 OK`.
pub(crate) fn status_of(head: &[u8]) -> Option<u16> {
    let rest = head.strip_prefix(b"HTTP/1.")?;
    let digits = rest.get(2..5).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    let after = rest.get(5)?;
    let separated = rest.get(1) == Some(&b' ') && matches!(after, b' ' | b'\r');
    std::str::from_utf8(digits).ok().filter(|_| separated)?.parse().ok()
}
