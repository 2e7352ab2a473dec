//! A body that several entries share: the reference to it, and the holder, which is the file that
//! contains it.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::Entry;
use super::body::Body;
use super::layout::{
    self, EntryStart, EntryState, FIRST_READ, FinalFields, MAX_HEAD, StartWriter, TailContent,
    WritePurpose,
};
use super::place::{EXTENSION, Place};
use super::read::{self, EntryContent};
use super::summary::read_start;
use super::warc::{Header, Reason, push_field, record_ids, time_text};
use crate::error::{Error, Result};
use crate::fs::Disk;
use crate::fs::size::wide;
use wwwoffle_url::Key;

/// The directory of the holders.
pub(crate) const BODIES: &str = "bodies";

/// The profile of a record that refers to a shared body (WARC 1.1 §6.7.2).
const PROFILE: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// The field for the length of the shared body. [`RECORD`] is the field for the id of the record
/// with which the entry was first stored.
pub(crate) const BODY_LENGTH: &str = "Wwwoffle-Body-Length";
pub(crate) const RECORD: &str = "Wwwoffle-Record";

/// The number of bytes that an update may add to the file, in addition to a longer head: three
/// fields with a time each.
const UPDATED: usize = 256;

/// A reference to the record that contains the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BodyReference {
    id: String,
    url: String,
    when: Timestamp,
}

impl BodyReference {
    pub(crate) fn to(holder: &Entry) -> BodyReference {
        BodyReference {
            id: holder.id().to_owned(),
            url: holder.url().to_owned(),
            when: holder.received(),
        }
    }
}

/// A shared body that an entry refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedBody {
    /// The short form of the name of its holder (see [`short`]), which identifies the body.
    pub(crate) name: u64,
    /// The length of its holder in bytes.
    pub(crate) size: u64,
}

/// Returns the shared body of the entry at a path. `None` if the entry has its own body, or if the
/// entry or the holder is missing.
pub(crate) fn shared_body_at(
    disk: &dyn Disk,
    root: &Path,
    path: &Path,
) -> Result<Option<SharedBody>> {
    let first = read_start(disk, path)?.map(|(first, _)| first);
    first.map_or(Ok(None), |first| shared_body_of(disk, root, &first))
}

/// Returns the shared body of an entry, given the beginning of its file. `None` if the entry has
/// its own body, or if the holder is missing.
pub(crate) fn shared_body_of(
    disk: &dyn Disk,
    root: &Path,
    first: &EntryStart,
) -> Result<Option<SharedBody>> {
    if first.refers.is_none() {
        return Ok(None);
    }
    let name = name_of(first.digest, first.place.owner());
    let holder = root.join(path_of(name));
    let about = disk.about(&holder).map_err(|error| Error::disk("look at", &holder, error))?;
    Ok(about.map(|about| SharedBody { name: short(name), size: about.len }))
}

/// Parses the reference in the first record of an entry. `None` for a response that contains its
/// body.
pub(crate) fn parse_reference(header: &Header<'_>) -> Result<Option<BodyReference>, Reason> {
    match header.need("WARC-Type")? {
        "response" => Ok(None),
        "revisit" if header.get("WARC-Profile") == Some(PROFILE) => Ok(Some(BodyReference {
            id: header.need("WARC-Refers-To")?.to_owned(),
            url: header.need("WARC-Refers-To-Target-URI")?.to_owned(),
            when: header.time("WARC-Refers-To-Date")?,
        })),
        _ => Err("its first record is not a response"),
    }
}

/// The name of the holder of a body with this digest, for entries of this owner.
pub(crate) fn name_of(digest: [u8; 32], owner: Option<&str>) -> Key {
    let digest = Key::from_bytes(digest);
    owner.map_or(digest, |owner| digest.variant(owner))
}

/// The path of the holder with this name, below the root.
pub(crate) fn path_of(name: Key) -> PathBuf {
    let name = name.to_string();
    let group = name.get(..2).unwrap_or_default();
    PathBuf::from(format!("{BODIES}/{group}/{name}{EXTENSION}"))
}

/// Reads the shared body of an entry.
pub(crate) fn body_of(
    disk: &dyn Disk,
    root: &Path,
    first: &EntryStart,
) -> Result<Result<Body, Reason>> {
    let held = holder(disk, root, first.digest, &first.place)?;
    Ok(match held {
        EntryContent::Whole(holder) if holder.body_len() == first.body_len => Ok(holder.body),
        EntryContent::Whole(_) => Err("its shared body has another length"),
        EntryContent::Missing | EntryContent::Moved => Err("its shared body is missing"),
        EntryContent::Bad(_) => Err("its shared body is damaged"),
    })
}

/// Reads the holder of a body for the owner of a place. A file that is not a valid holder is
/// [`EntryContent::Bad`].
pub(crate) fn holder(
    disk: &dyn Disk,
    root: &Path,
    digest: [u8; 32],
    place: &Place,
) -> Result<EntryContent> {
    let path = root.join(path_of(name_of(digest, place.owner())));
    Ok(match read::read_any(disk, None, &path, None)? {
        EntryContent::Whole(holder) if holder.is_part() => {
            EntryContent::Bad("it is a segment, not a complete response")
        }
        EntryContent::Whole(holder)
            if *holder.digest() != digest || holder.place().owner() != place.owner() =>
        {
            EntryContent::Bad("its body is not the one in its name")
        }
        other => other,
    })
}

/// Builds the file of an entry with this head and state, and a reference in place of its body.
/// `None` if the file is too long to be read at once. An entry that does not share its body yet
/// must also leave room for later updates.
pub(crate) fn file_of(
    entry: &Entry,
    (head, state): (&[u8], &EntryState),
    refers: &BodyReference,
) -> Result<Option<Vec<u8>>> {
    let (place, when) = (entry.place(), entry.received());
    let ids = record_ids()?;
    let [id, _] = &ids;
    let mut bytes = Vec::new();
    let purpose = WritePurpose::Whole;
    let start = StartWriter::write_with(&mut bytes, place, when, state, head, purpose, |out| {
        push_field(out, "WARC-Type", "revisit");
        push_field(out, "WARC-Record-ID", id);
        push_field(out, "WARC-Profile", PROFILE);
        push_field(out, "WARC-Refers-To", &refers.id);
        push_field(out, "WARC-Refers-To-Target-URI", &refers.url);
        push_field(out, "WARC-Refers-To-Date", &time_text(refers.when));
        push_field(out, RECORD, entry.id());
        push_field(out, BODY_LENGTH, &entry.body_len().to_string());
    });
    let (request, connection) = (entry.request(), entry.connection());
    let (trailers, part, blocks) = (entry.trailers(), None, None);
    let after = TailContent { request, connection, trailers, part, blocks };
    let tail = layout::tail(place, &ids, when, &after, start.body_offset())?;
    bytes.extend_from_slice(&tail);
    let finish = FinalFields {
        body_len: 0,
        digest: *entry.digest(),
        tail_len: wide(tail.len()),
        stored: entry.stored(),
        cut: false,
    };
    let fixed = start.fixed(&finish);
    bytes.get_mut(..fixed.len()).unwrap_or_default().copy_from_slice(&fixed);
    let longest = bytes.len().saturating_sub(head.len()) + MAX_HEAD + UPDATED;
    let most = if entry.shares_body() { bytes.len() } else { longest };
    Ok((most <= FIRST_READ).then_some(bytes))
}

/// Builds the file of an entry that shares its body, after an update.
pub(crate) fn updated(entry: &Entry, head: &[u8], state: &EntryState) -> Result<Vec<u8>> {
    let bytes = match &entry.first.refers {
        Some(refers) => file_of(entry, (head, state), refers)?,
        None => None,
    };
    bytes.ok_or_else(|| Error::invalid("the head of the update", "is too long", b""))
}

/// The short form of a name. Two bodies with the same short form count as one: neither is removed
/// while an entry needs one of them.
pub(crate) fn short(name: Key) -> u64 {
    let bytes = name.as_bytes().first_chunk().copied().unwrap_or_default();
    u64::from_be_bytes(bytes)
}
