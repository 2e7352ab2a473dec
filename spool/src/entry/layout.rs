//! The bytes of an entry's file, which [`crate::tree::writer`] writes and [`super::read`] reads.
//!
//! ```text
//! fixed     WARC/1.1, and fields of fixed width that are known at the end: filled in by one write
//! rest      the other fields of the response record, and the empty line
//! head      the head of the response, as HTTP
//! body      to the end of record 1
//! tail      record 2, the request; then, if there are any, the records of the connection, the trailers,
//!           the position of a segment in its body, and the checksums of a large body
//! ```
//!
//! A file that may end as a segment has one more fixed field, which says whether it did.
//!
//! Until the entry is finished, its first line is [`UNFINISHED`], which is not WARC.

mod state;

use crate::fs::size::{narrow, wide};
use std::ops::Range;

use jiff::Timestamp;

use crate::entry::blocks::{Blocks, MAX_BLOCKS_TEXT};
use crate::entry::holder::BodyReference;
use crate::entry::part::{MAX_PART_TEXT, SegmentPosition};
use crate::entry::place::{KeyOrigin, MAX_OWNER, MAX_VARIANT, Place};
use crate::entry::warc::{
    BLOCK_END, FIELDS, Header, LINE_END, REQUEST, RESPONSE, Reason, Record, VERSION_LINE, escape,
    parse_record, push_field, time_text, unescape,
};
use crate::entry::{holder, warc};
use crate::error::{Error, Result};

pub(crate) use state::{ASKED, EntryState};

/// The first bytes of an unfinished file, as wide as the line that replaces them.
pub(crate) const UNFINISHED: &str = "unfinished";

/// The longest stored canonical URL, in bytes.
pub const MAX_URL: usize = 32 << 10;

/// The longest head of a response, in bytes, with its status line and empty line.
pub const MAX_HEAD: usize = 64 << 10;

/// The longest request stored with a response, in bytes, with its body.
pub const MAX_KEPT_REQUEST: usize = 128 << 10;

/// The longest trailer section, in bytes.
pub const MAX_TRAILERS: usize = 64 << 10;

/// The longest record of a connection, in bytes.
pub const MAX_CONNECTION: usize = 32 << 10;

/// The number of bytes of a file that are read at once. A file up to this length is read and
/// verified as a whole.
pub(crate) const FIRST_READ: usize = 128 << 10;

/// The length of the fixed-width fields. Numbers have 20 digits, enough for any `u64`.
const FIXED: usize = VERSION_LINE.len()
    + "Content-Length: 00000000000000000000\r\n".len()
    + "WARC-Payload-Digest: sha256:\r\n".len()
    + 64
    + "Wwwoffle-Length: 00000000000000000000\r\n".len()
    + "Wwwoffle-Stored: 2026-11-20T13:13:26.123456Z\r\n".len()
    + "Wwwoffle-Check: 01234567\r\n".len();

/// An upper bound for the fields of record 1 except URL, owner, variant and head.
const OTHER_FIELDS: usize = 1 << 10;

/// The length of owner and variant if every byte of them is escaped.
pub(crate) const PLACE_FIELDS: usize = 3 * (MAX_OWNER + MAX_VARIANT);

/// An upper bound for the records after the first: their fields, the URL in each, and their blocks.
pub(crate) const MAX_TAIL: usize = 5 * (MAX_URL + OTHER_FIELDS)
    + MAX_KEPT_REQUEST
    + MAX_CONNECTION
    + MAX_TRAILERS
    + MAX_BLOCKS_TEXT
    + MAX_PART_TEXT;

/// The field whose values distinguish the records after the request. The record of the trailers has
/// no such field.
const ABOUT: &str = "Wwwoffle-About";
const CONNECTION: &str = "connection";
const BLOCKS: &str = "blocks";
const PART: &str = "part";

/// The fixed field of a file that may end as a segment. It is one of two lines of the same width:
/// the body is complete, or the connection was lost (WARC 1.1 §5.13).
const ENDED: &str = "Wwwoffle-Ended: completely\r\n";
const CUT: &str = "WARC-Truncated: disconnect\r\n";
const _: () = assert!(ENDED.len() == CUT.len());

/// The field of a file that was begun as a segment, and so never contains a complete response.
const IS_PART: &str = "Wwwoffle-Part";

/// The fields of owner and variant.
const OWNER: &str = "Wwwoffle-Owner";
const VARIANT: &str = "Wwwoffle-Variant";

// One read must always include the beginning of the body.
const _: () =
    assert!(FIXED + ENDED.len() + OTHER_FIELDS + PLACE_FIELDS + MAX_URL + MAX_HEAD < FIRST_READ);

/// The possible results of a file being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WritePurpose {
    /// An entry.
    Whole,
    /// An entry, or a segment if the transfer breaks off.
    WholeOrPart,
    /// A segment.
    Part,
}

/// The lengths and the checksum of the written beginning of an entry, up to its body.
/// [`StartWriter::fixed`] uses them to build the fixed fields.
#[derive(Debug)]
pub(crate) struct StartWriter {
    /// The length of the fixed fields.
    fixed: usize,
    /// The checksum of everything after the fixed fields, up to the body.
    check: crc32fast::Hasher,
    /// The length of everything that `check` covers.
    after_fixed: u64,
    /// The length of the head of the response.
    head: u64,
}

/// The values of the fields that are filled in when the entry is complete.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FinalFields {
    pub(crate) body_len: u64,
    pub(crate) digest: [u8; 32],
    pub(crate) tail_len: u64,
    pub(crate) stored: Timestamp,
    /// Whether the transfer broke off.
    pub(crate) cut: bool,
}

impl StartWriter {
    /// Appends the beginning of an unfinished entry to `out`.
    pub(crate) fn write(
        out: &mut Vec<u8>,
        place: &Place,
        id: &str,
        when: Timestamp,
        state: &EntryState,
        head: &[u8],
        purpose: WritePurpose,
    ) -> StartWriter {
        StartWriter::write_with(out, place, when, state, head, purpose, |out| {
            push_field(out, "WARC-Type", "response");
            push_field(out, "WARC-Record-ID", id);
        })
    }

    /// Appends the beginning of an unfinished entry to `out`. `fields` receives the record, to add
    /// the fields that tell its type.
    pub(crate) fn write_with(
        out: &mut Vec<u8>,
        place: &Place,
        when: Timestamp,
        state: &EntryState,
        head: &[u8],
        purpose: WritePurpose,
        fields: impl FnOnce(&mut Vec<u8>),
    ) -> StartWriter {
        let fixed = FIXED + if purpose == WritePurpose::Whole { 0 } else { ENDED.len() };
        // The first line of an unfinished file, and space for the fixed fields.
        out.extend_from_slice(UNFINISHED.as_bytes());
        out.resize(fixed, b'\n');
        fields(out);
        push_field(out, "WARC-Date", &time_text(when));
        push_field(out, "WARC-Target-URI", place.url());
        push_field(out, "Content-Type", RESPONSE);
        place_fields(place, |name, value| push_field(out, name, value));
        state.write(|name, value| push_field(out, name, value));
        push_field(out, "Wwwoffle-Head", &head.len().to_string());
        if purpose == WritePurpose::Part {
            push_field(out, IS_PART, "yes");
        }
        out.extend_from_slice(LINE_END.as_bytes());
        out.extend_from_slice(head);
        let after = out.get(fixed..).unwrap_or_default();
        let mut check = crc32fast::Hasher::new();
        check.update(after);
        StartWriter { fixed, check, after_fixed: wide(after.len()), head: wide(head.len()) }
    }

    /// The offset of the body in the file.
    pub(crate) fn body_offset(&self) -> u64 {
        wide(self.fixed) + self.after_fixed
    }

    /// Returns the bytes that replace the beginning of the file when everything else is written.
    pub(crate) fn fixed(&self, finish: &FinalFields) -> Vec<u8> {
        let block_end = self.body_offset() + finish.body_len;
        let mut fixed = Vec::with_capacity(self.fixed);
        fixed.extend_from_slice(VERSION_LINE.as_bytes());
        let number = |number: u64| format!("{number:020}");
        push_field(&mut fixed, "Content-Length", &number(self.head + finish.body_len));
        let digest = format!("sha256:{}", hex::encode(finish.digest));
        push_field(&mut fixed, "WARC-Payload-Digest", &digest);
        push_field(&mut fixed, "Wwwoffle-Length", &number(block_end + finish.tail_len));
        push_field(&mut fixed, "Wwwoffle-Stored", &time_text(finish.stored));
        if self.fixed > FIXED {
            fixed.extend_from_slice(if finish.cut { CUT } else { ENDED }.as_bytes());
        }
        fixed.extend_from_slice(b"Wwwoffle-Check: ");
        let mut check = crc32fast::Hasher::new();
        check.update(&fixed);
        check.update(LINE_END.as_bytes());
        check.combine(&self.check);
        fixed.extend_from_slice(format!("{:08x}{LINE_END}", check.finalize()).as_bytes());
        debug_assert_eq!(fixed.len(), self.fixed);
        fixed
    }
}

/// The records behind the body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TailContent<'a> {
    pub(crate) request: &'a [u8],
    pub(crate) connection: Option<&'a [u8]>,
    pub(crate) trailers: Option<&'a [u8]>,
    pub(crate) part: Option<&'a SegmentPosition>,
    /// The checksums of the blocks of the body. They are written only if the file is too long to be
    /// read at once.
    pub(crate) blocks: Option<&'a Blocks>,
}

/// Builds everything behind the body: the end of record 1, and the other records. The body ends at
/// offset `body_end`.
pub(crate) fn tail(
    place: &Place,
    ids: &[String; 2],
    when: Timestamp,
    after: &TailContent<'_>,
    body_end: u64,
) -> Result<Vec<u8>> {
    let [response, request_id] = ids;
    let begin = |kind: &str, id: &str, content_type: &str| {
        let mut record = Record::new(kind);
        record.field("WARC-Record-ID", id);
        record.field("WARC-Date", &time_text(when));
        record.field("WARC-Target-URI", place.url());
        record.field("WARC-Concurrent-To", response);
        record.field("Content-Type", content_type);
        record
    };
    let mut tail = BLOCK_END.as_bytes().to_vec();
    tail.extend(begin("request", request_id, REQUEST).finish(&[after.request]));
    let add = |tail: &mut Vec<u8>, about: Option<&str>, block: &[u8]| -> Result<()> {
        let [id, _] = warc::record_ids()?;
        let mut record = begin("metadata", &id, FIELDS);
        record.field_if(ABOUT, about);
        tail.extend(record.finish(&[block]));
        Ok(())
    };
    if let Some(connection) = after.connection {
        add(&mut tail, Some(CONNECTION), connection)?;
    }
    if let Some(trailers) = after.trailers {
        Error::check_length("the trailer section", trailers.len(), MAX_TRAILERS)?;
        add(&mut tail, None, trailers)?;
    }
    if let Some(part) = after.part {
        add(&mut tail, Some(PART), &part.text())?;
    }
    let is_large = body_end.saturating_add(wide(tail.len())) > wide(FIRST_READ);
    if let Some(blocks) = after.blocks.filter(|_| is_large) {
        add(&mut tail, Some(BLOCKS), &blocks.text())?;
    }
    Ok(tail)
}

/// The parsed beginning of an entry. Ranges are offsets in the bytes that were read.
#[derive(Debug, Clone)]
pub(crate) struct EntryStart {
    pub(crate) place: Place,
    /// The id of the record that the entry was first stored with. Updates keep it.
    pub(crate) id: String,
    pub(crate) when: Timestamp,
    pub(crate) state: EntryState,
    pub(crate) stored: Timestamp,
    pub(crate) digest: [u8; 32],
    pub(crate) head: Range<usize>,
    pub(crate) body_len: u64,
    /// The length of the uncompressed file in bytes.
    pub(crate) length: u64,
    /// Whether the body is incomplete, or the file was begun as a segment.
    pub(crate) is_part: bool,
    /// The reference, if the body is in another file.
    pub(crate) refers: Option<BodyReference>,
}

impl EntryStart {
    /// Parses the beginning of a file of `file_len` bytes. Verifies everything up to the body.
    pub(crate) fn parse(bytes: &[u8], file_len: u64) -> Result<EntryStart, Reason> {
        if bytes.starts_with(UNFINISHED.as_bytes()) {
            return Err("it was never finished");
        }
        let header = Header::parse(bytes)?;
        let refers = holder::parse_reference(&header)?;
        if header.need("Content-Type")? != RESPONSE {
            return Err("its first record is not a response");
        }
        let head_len = narrow(header.number("Wwwoffle-Head")?)?;
        let head = header.len..header.len.checked_add(head_len).ok_or("a length is too large")?;
        header.verify(bytes.get(..head.end).ok_or("it is shorter than its head")?)?;
        let length = header.number("Wwwoffle-Length")?;
        if length != file_len {
            return Err("its length differs from that of the file as stored");
        }
        let block_len = header.number("Content-Length")?;
        let in_file = block_len.checked_sub(wide(head_len)).ok_or("its lengths disagree")?;
        let body_len = match refers {
            Some(_) if in_file > 0 || length > wide(FIRST_READ) => {
                return Err("its lengths disagree");
            }
            Some(_) => header.number(holder::BODY_LENGTH)?,
            None => in_file,
        };
        let id = if refers.is_some() { holder::RECORD } else { "WARC-Record-ID" };
        let when = header.time("WARC-Date")?;
        let first = EntryStart {
            place: place(&header)?,
            id: header.need(id)?.to_owned(),
            when,
            state: EntryState::read(&header, when)?,
            stored: header.time("Wwwoffle-Stored")?,
            digest: header.digest("WARC-Payload-Digest")?,
            head,
            body_len,
            length,
            is_part: header.get(IS_PART).or(header.get("WARC-Truncated")).is_some(),
            refers,
        };
        match first.tail_len() {
            Some(tail) if tail <= wide(MAX_TAIL) => Ok(first),
            _ => Err("its lengths disagree"),
        }
    }

    /// The offset of the body in this file.
    pub(crate) fn body_offset(&self) -> usize {
        self.head.end
    }

    /// The offset of the end of the body in this file.
    pub(crate) fn body_end(&self) -> u64 {
        let in_file = if self.refers.is_some() { 0 } else { self.body_len };
        wide(self.head.end).saturating_add(in_file)
    }

    fn tail_len(&self) -> Option<u64> {
        self.length.checked_sub(self.body_end())
    }
}

/// The ranges of the records behind the body.
#[derive(Debug, Clone)]
pub(crate) struct TailRanges {
    pub(crate) request: Range<usize>,
    pub(crate) connection: Option<Range<usize>>,
    pub(crate) trailers: Option<Range<usize>>,
    pub(crate) part: Option<Range<usize>>,
    pub(crate) blocks: Option<Range<usize>>,
}

impl TailRanges {
    /// Returns the same ranges in a buffer in which the tail begins at `start`.
    pub(crate) fn shifted_to(self, start: usize) -> Self {
        let moved = |range: Range<usize>| range.start + start..range.end + start;
        Self {
            request: moved(self.request),
            connection: self.connection.map(moved),
            trailers: self.trailers.map(moved),
            part: self.part.map(moved),
            blocks: self.blocks.map(moved),
        }
    }
}

/// Parses the records behind the body, and verifies all of them.
pub(crate) fn parse_tail(tail: &[u8]) -> Result<TailRanges, Reason> {
    let rest =
        tail.strip_prefix(BLOCK_END.as_bytes()).ok_or("its body is longer than its header says")?;
    let before = |rest: &[u8], block: &[u8]| {
        let end = tail.len() - rest.len() - BLOCK_END.len();
        end - block.len()..end
    };
    let (header, block, rest) = parse_record(rest)?;
    if header.need("WARC-Type")? != "request" {
        return Err("its second record is not a request");
    }
    let request = before(rest, block);
    let mut ranges =
        TailRanges { request, connection: None, trailers: None, part: None, blocks: None };
    let mut left = rest;
    while !left.is_empty() {
        let (header, block, rest) = parse_record(left)?;
        left = rest;
        let part = match header.get(ABOUT) {
            None => &mut ranges.trailers,
            Some(CONNECTION) => &mut ranges.connection,
            Some(PART) => &mut ranges.part,
            Some(BLOCKS) => &mut ranges.blocks,
            // A later version of the program has written this record.
            Some(_) => continue,
        };
        if header.need("WARC-Type")? != "metadata" || part.is_some() {
            return Err("it has records that no entry has");
        }
        *part = Some(before(rest, block));
    }
    Ok(ranges)
}

/// Passes the fields that identify the place of a record, except its target URL, to `field`.
pub(crate) fn place_fields(place: &Place, mut field: impl FnMut(&str, &str)) {
    let origin = match place.origin() {
        KeyOrigin::Url => "url",
        KeyOrigin::Variant => "variant",
    };
    field("Wwwoffle-Key", &format!("{origin} {}", place.key()));
    if let Some(owner) = place.owner() {
        field(OWNER, &escape(owner, MAX_OWNER));
    }
    if !place.variant_text().is_empty() {
        field(VARIANT, &escape(place.variant_text(), MAX_VARIANT));
    }
}

/// Parses the place of a record.
pub(crate) fn place(header: &Header<'_>) -> Result<Place, Reason> {
    let (origin, key) = header.need("Wwwoffle-Key")?.split_once(' ').unwrap_or_default();
    let key = key.parse().map_err(|_| "a key in a header is invalid")?;
    let origin = match origin {
        "url" => KeyOrigin::Url,
        "variant" => KeyOrigin::Variant,
        _ => return Err("a key in a header is invalid"),
    };
    let text = |name, most| {
        let text = header.get(name).map(unescape).unwrap_or_default();
        if text.len() > most { Err("a field in a header is too long") } else { Ok(text) }
    };
    let (owner, variant) = (text(OWNER, MAX_OWNER)?, text(VARIANT, MAX_VARIANT)?);
    let place = Place::recorded(header.need("WARC-Target-URI")?, &owner, key, origin);
    Ok(place.ok_or("its key does not match its URL and owner")?.with_variant(&variant))
}
