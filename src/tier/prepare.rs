//! Entries that are about to be pushed: each is read once, to name its object.

use sha2::{Digest, Sha256};
use wwwoffle_spool::Entry;

use super::catalogue::{RowKey, UnusedObject};
use super::object::ObjectFrame;
use super::outbox::UnpushedPlace;
use super::upload;
use crate::base::blocking::blocking;

/// A place whose objects are named.
pub(super) struct PreparedPlace {
    pub(super) waiting: UnpushedPlace,
    pub(super) objects: Vec<PreparedObject>,
}

/// An entry with the frame and the digest of its object.
pub(super) struct PreparedObject {
    pub(super) entry: Entry,
    pub(super) frame: ObjectFrame,
    pub(super) object: [u8; 32],
}

impl PreparedObject {
    pub(super) fn unused(&self) -> UnusedObject {
        UnusedObject { object: self.object, row: RowKey::of(self.entry.place()) }
    }
}

/// What was prepared.
pub(super) enum PrepareResult {
    Object(Box<PreparedObject>),
    /// The entry is damaged or cannot be shared.
    Unusable,
}

/// Reads an entry, and names its object.
///
/// # Errors
///
/// If the disk fails: the entry may be readable later.
pub(super) async fn prepare(entry: Entry) -> Result<PrepareResult, wwwoffle_spool::Error> {
    blocking(move || {
        let Some(frame) = ObjectFrame::of(&entry) else {
            return Ok(PrepareResult::Unusable);
        };
        let mut hasher = Sha256::new_with_prefix(&frame.start);
        let (mut reader, mut offset) = (entry.verified(), 0);
        let mut piece = vec![0; upload::PIECE];
        while offset < frame.body_len {
            let read = match reader.read_at(offset, &mut piece) {
                Ok(0) => return Ok(PrepareResult::Unusable),
                Ok(read) => read,
                Err(error) if error.is_damaged() => return Ok(PrepareResult::Unusable),
                Err(error) => return Err(error),
            };
            hasher.update(piece.get(..read).unwrap_or_default());
            offset += u64::try_from(read).unwrap_or(u64::MAX);
        }
        hasher.update(frame.end);
        let object = hasher.finalize().into();
        drop(reader);
        Ok(PrepareResult::Object(Box::new(PreparedObject { entry, frame, object })))
    })
    .await
}
