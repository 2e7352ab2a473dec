//! Finds the stored body to which a record of an archive refers.

use std::io::Read as _;

use wwwoffle_spool::{Entry, Place};

use super::Import;
use super::keep::{EntryBody, PIECE};
use crate::digest::Digest;
use crate::error::{ItemFault, Result};
use crate::item::EarlierBody;
use crate::refusal::Reason;

/// The maximum number of stored responses that are compared for one reference.
const MAX_COMPARED: usize = 64;

/// The minimum budget, in bytes of stored bodies that are read and copied.
const LEAST: u64 = 1 << 30;

/// The number of bytes by which the budget grows for each byte of the archive. Real archives rarely
/// refer to earlier bodies so often that they need more.
const TIMES: u64 = 500;

/// The remaining number of bytes of referenced bodies that may be read and copied for an archive. A
/// reference has a few hundred bytes, but its body may have any length.
#[derive(Debug)]
pub(super) struct CopyBudget(u64);

impl CopyBudget {
    /// The budget for an archive of this length.
    pub(super) fn of(length: u64) -> Self {
        Self(LEAST.saturating_add(length.saturating_mul(TIMES)))
    }

    /// Subtracts `length` from the budget. If less than `length` is left, refuses and subtracts
    /// nothing.
    pub(super) fn spend(&mut self, length: u64) -> Result<(), Reason> {
        let left =
            self.0.checked_sub(length).ok_or("the archive refers to too many stored bytes")?;
        self.0 = left;
        Ok(())
    }
}

impl Import<'_> {
    /// Finds the stored response with the referenced body; `None` if there is none, or the
    /// reference has no digest. Only shared responses and responses of `owner`, the owner of the
    /// new response, are searched: a record that only names a digest must not publish a personal
    /// body. The length of the body is subtracted from the budget. Refused if the budget does not
    /// suffice.
    pub(super) fn find_body(
        &mut self,
        refers: &EarlierBody,
        owner: Option<&str>,
    ) -> Result<Option<Entry>, ItemFault> {
        let Some(digest) = &refers.digest else { return Ok(None) };
        let mut compared = 0;
        for url in &refers.urls {
            let place = Place::of(&url.without_credentials());
            let own = owner.map(|owner| place.clone().owned_by(owner));
            for place in std::iter::once(place).chain(own) {
                for entry in self.candidates(&place)? {
                    compared += 1;
                    if compared > MAX_COMPARED {
                        return Ok(None);
                    }
                    if self.matches_digest(&entry, digest)? {
                        self.budget.spend(entry.body_len())?;
                        return Ok(Some(entry));
                    }
                }
            }
        }
        Ok(None)
    }

    /// All variants and versions stored at a place.
    fn candidates(&self, place: &Place) -> Result<Vec<Entry>> {
        let mut candidates = Vec::new();
        for entry in self.spool.entries(place)?.found {
            for version in self.spool.versions(entry.place())? {
                let found = self.spool.version(entry.place(), version.stored)?;
                candidates.extend(found.found());
                if candidates.len() > MAX_COMPARED {
                    break;
                }
            }
            candidates.insert(0, entry);
        }
        Ok(candidates)
    }

    /// Whether a stored body has this digest. For a digest other than SHA-256 the body must be
    /// read, and its length is subtracted from the budget.
    fn matches_digest(&mut self, entry: &Entry, digest: &Digest) -> Result<bool, Reason> {
        if let Some(is_it) = digest.is_sha256(entry.digest()) {
            return Ok(is_it);
        }
        self.budget.spend(entry.body_len())?;
        Ok(has_digest(entry, digest))
    }
}

/// Whether a stored body has this digest; false if it cannot be read.
fn has_digest(entry: &Entry, digest: &Digest) -> bool {
    let (mut body, mut hasher) = (EntryBody::of(entry), digest.algorithm.hasher());
    let mut piece = vec![0; PIECE];
    loop {
        match body.read(&mut piece) {
            Ok(0) => return digest.is(hasher),
            Ok(read) => hasher.update(piece.get(..read).unwrap_or_default()),
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_an_archive_are_limited_by_its_length() {
        let mut budget = CopyBudget::of(2 << 20);
        // Many short records may refer to one large body.
        let copies = (0..10_000).take_while(|_| budget.spend(64 << 20).is_ok()).count();
        assert_eq!(copies, 16 + 15);
        assert!(budget.spend(1 << 20).is_ok(), "what is refused costs nothing");
        assert!(CopyBudget::of(u64::MAX).spend(u64::MAX).is_ok());
    }
}
