//! Entries: the bytes of their files, and reading them.
//!
//! [`place`] names an entry, [`layout`] and [`warc`] define its bytes, [`gzip`] their compressed
//! form. [`read`] makes an [`Entry`] of a file. Nothing here writes to the disk or knows which
//! entries exist.

pub(crate) mod blocks;
pub(crate) mod body;
pub(crate) mod gzip;
pub(crate) mod head;
pub(crate) mod holder;
pub(crate) mod layout;
pub(crate) mod overlay;
pub(crate) mod part;
pub(crate) mod place;
pub(crate) mod read;
pub(crate) mod summary;
pub(crate) mod verified;
pub(crate) mod warc;

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use wwwoffle_url::Key;

use self::body::SharedBytes;
use self::layout::{EntryStart, EntryState, TailRanges};
use self::overlay::Overlay;
use self::part::SegmentPosition;
use self::place::Place;
use self::verified::VerifiedReader;
use crate::error::Damage;
use crate::fs::size::narrow;

pub use self::body::{Body, BodyBytes, BodyFile, Verifier};

/// The result of looking up an entry.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "created and matched once; a box costs more")]
pub enum Lookup {
    /// The entry was found.
    Found(Entry),
    /// There is no entry.
    Missing,
    /// The file was damaged or foreign. It was moved to `damaged/`, so the next lookup does not
    /// find it. If the move failed, [`Damage::moved_to`] is `None`.
    SetAside(Damage),
}

impl Lookup {
    /// Returns the entry, if it was found.
    #[must_use]
    pub fn found(self) -> Option<Entry> {
        match self {
            Lookup::Found(entry) => Some(entry),
            Lookup::Missing | Lookup::SetAside(_) => None,
        }
    }
}

/// Every entry of one key. See [`crate::Spool::entries`].
#[derive(Debug, Default)]
pub struct Entries {
    /// The entries, the newest first. No two have the same variant.
    pub found: Vec<Entry>,
    /// The damaged and foreign files, which were set aside.
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

/// One stored exchange. Everything except a [`Body::File`] has been verified. Clones share the
/// bytes.
#[derive(Clone)]
pub struct Entry {
    /// The beginning of the file. `tail` has the records after the body. Both are the whole file if
    /// the file was read at once.
    pub(crate) bytes: SharedBytes,
    pub(crate) tail: SharedBytes,
    pub(crate) first: EntryStart,
    pub(crate) body: Body,
    pub(crate) after: TailRanges,
    pub(crate) status: u16,
    /// For a segment: its position, and the body it belongs to.
    pub(crate) part: Option<SegmentPosition>,
    /// The later head and state from the update file of a large entry.
    pub(crate) overlay: Option<Overlay>,
    /// The length of its file on the disk.
    pub(crate) disk_len: u64,
    /// Whether the file is compressed.
    pub(crate) is_compressed: bool,
}

impl Entry {
    /// The canonical URL, without credentials.
    #[must_use]
    pub fn url(&self) -> &str {
        self.first.place.url()
    }

    /// The key of its place.
    #[must_use]
    pub fn key(&self) -> Key {
        self.first.place.key()
    }

    /// The place of the entry.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.first.place
    }

    /// When the response with the body arrived, according to the writer of the entry.
    #[must_use]
    pub fn received(&self) -> Timestamp {
        self.first.when
    }

    /// When the request was sent whose response arrived at [`Entry::responded`] (`request_time` of
    /// RFC 9111 §4.2.3). Entries of old versions of the program do not record this time: the result
    /// is then the time when the response with the body arrived.
    #[must_use]
    pub fn requested(&self) -> Timestamp {
        self.state().asked
    }

    /// When the response arrived that brought [`Entry::head`] or last confirmed it
    /// (`response_time`).
    #[must_use]
    pub fn responded(&self) -> Timestamp {
        self.state().responded.unwrap_or(self.first.when)
    }

    /// When the origin last confirmed the entry: [`Entry::received`] at first, later the time of
    /// the last [`Update::Confirmed`](crate::Update::Confirmed).
    #[must_use]
    pub fn checked(&self) -> Timestamp {
        self.responded()
    }

    /// The time since which the entry may be outdated, because a later request may have changed the
    /// resource (RFC 9111 §4.4). The entry is not fresh until the origin has confirmed it. `None`
    /// if the entry is valid.
    #[must_use]
    pub fn invalid_since(&self) -> Option<Timestamp> {
        self.state().invalid
    }

    /// When the entry was finished. Updates do not change this time.
    #[must_use]
    pub fn stored(&self) -> Timestamp {
        self.first.stored
    }

    /// The status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The head of the response as last updated: status line, fields and empty line.
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

    /// A reader for any range of the body, which returns only verified bytes.
    #[must_use]
    pub fn verified(&self) -> VerifiedReader {
        VerifiedReader::of(&self.body)
    }

    /// The request: its head and body, without secrets.
    #[must_use]
    pub fn request(&self) -> &[u8] {
        self.tail.get(self.after.request.clone()).unwrap_or_default()
    }

    /// The trailer section, if there was one.
    #[must_use]
    pub fn trailers(&self) -> Option<&[u8]> {
        self.tail.get(self.after.trailers.clone()?)
    }

    /// The record of the connection over which the response was received, if there is one.
    #[must_use]
    pub fn connection(&self) -> Option<&[u8]> {
        self.tail.get(self.after.connection.clone()?)
    }

    /// The memory in bytes that the entry uses, without a body on disk.
    #[must_use]
    pub fn memory_size(&self) -> usize {
        let tail = if Arc::ptr_eq(&self.bytes, &self.tail) { 0 } else { self.tail.len() };
        let overlay = self.overlay.as_ref().map_or(0, |overlay| overlay.head.len());
        let body = match &self.body {
            Body::Whole(whole) if !Arc::ptr_eq(&self.bytes, &whole.bytes) => whole.bytes.len(),
            Body::Whole(_) | Body::File(_) => 0,
        };
        size_of::<Entry>() + self.bytes.len() + tail + body + overlay + 3 * self.url().len()
    }

    /// Whether its body is in a separate file, which other entries share.
    #[must_use]
    pub fn shares_body(&self) -> bool {
        self.first.refers.is_some()
    }

    /// The length of its file on the disk in bytes; smaller than [`Entry::plain_len`] if the file
    /// is compressed.
    #[must_use]
    pub fn file_len(&self) -> u64 {
        self.disk_len
    }

    /// The length of the file without compression, if the file is compressed.
    #[must_use]
    pub fn plain_len(&self) -> Option<u64> {
        self.is_compressed.then_some(self.first.length)
    }

    /// Whether both entries were read from files with the same content. Their update files may
    /// differ.
    pub(crate) fn is_same_file(&self, other: &Entry) -> bool {
        let of = |entry: &Entry| {
            (entry.first.stored, entry.first.state, entry.first.digest, entry.first.length)
        };
        of(self) == of(other) && self.id() == other.id() && self.disk_len == other.disk_len
    }

    /// Whether the entry is a segment, not a complete response.
    pub(crate) fn is_part(&self) -> bool {
        self.first.is_part || self.part.is_some()
    }

    pub(crate) fn part(&self) -> Option<&SegmentPosition> {
        self.part.as_ref()
    }

    /// The record id, unique among all entries that its place ever had. Updates keep it.
    pub(crate) fn id(&self) -> &str {
        &self.first.id
    }

    pub(crate) fn state(&self) -> &EntryState {
        self.overlay.as_ref().map_or(&self.first.state, |overlay| &overlay.state)
    }

    /// The sort key of the entries of a place, and of the states of one entry: the newer is
    /// greater.
    pub(crate) fn order(&self) -> (Timestamp, Option<Timestamp>) {
        (self.first.stored, self.state().updated)
    }

    /// The bytes behind the body, as in the file.
    pub(crate) fn tail(&self) -> &[u8] {
        // If the file was read at once, `tail` is the whole file.
        let is_read_at_once = Arc::ptr_eq(&self.bytes, &self.tail);
        let start =
            if is_read_at_once { narrow(self.first.body_end()).unwrap_or(usize::MAX) } else { 0 };
        self.tail.get(start..).unwrap_or_default()
    }

    /// The open file of the body, if it is on disk.
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
