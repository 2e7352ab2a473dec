//! The body of an answer that an archive only refers to: found among what is kept.

use std::io::Read as _;

use wwwoffle_spool::{Entry, Place};

use super::Import;
use super::keep::{EntryBody, PIECE};
use crate::digest::Digest;
use crate::error::Result;
use crate::item::Refers;
use crate::refusal::Reason;

/// So many answers are compared with what refers to one of them.
const MAX_COMPARED: usize = 64;

/// Bytes of kept bodies that an archive of any length may have read and copied.
const LEAST: u64 = 1 << 30;

/// So many more for each of its own bytes. A page of an archive is seldom referred to more often.
const TIMES: u64 = 500;

/// What an archive may still have read and copied of what it refers to, in bytes: a reference is some hundred
/// bytes, and what it refers to as long as a body may be.
#[derive(Debug)]
pub(super) struct Budget(u64);

impl Budget {
    /// That of an archive of so many bytes.
    pub(super) fn of(length: u64) -> Self {
        Self(LEAST.saturating_add(length.saturating_mul(TIMES)))
    }

    /// Takes so many bytes off, or refuses.
    pub(super) fn spend(&mut self, length: u64) -> Result<(), Reason> {
        let left = self.0.checked_sub(length).ok_or("the archive refers to too much")?;
        self.0 = left;
        Ok(())
    }
}

impl Import<'_> {
    /// The kept answer whose body is meant, among everyone's and those of whom the new one is for: a record
    /// that only names a digest makes nothing public that is one person's. It is paid for.
    pub(super) fn find(
        &mut self,
        refers: &Refers,
        owner: Option<&str>,
    ) -> Result<Result<Option<Entry>, Reason>> {
        let Some(digest) = &refers.digest else { return Ok(Ok(None)) };
        let mut compared = 0;
        for url in &refers.urls {
            let place = Place::of(url);
            let own = owner.map(|owner| place.clone().owned_by(owner));
            for place in std::iter::once(place).chain(own) {
                for entry in self.candidates(&place)? {
                    compared += 1;
                    if compared > MAX_COMPARED {
                        return Ok(Ok(None));
                    }
                    match self.is_meant(&entry, digest) {
                        Ok(true) => {
                            let paid = self.budget.spend(entry.body_len());
                            return Ok(paid.map(|()| Some(entry)));
                        }
                        Ok(false) => {}
                        Err(reason) => return Ok(Err(reason)),
                    }
                }
            }
        }
        Ok(Ok(None))
    }

    /// What is kept at a place, in all its variants and versions.
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

    /// Whether a kept body has a digest.
    fn is_meant(&mut self, entry: &Entry, digest: &Digest) -> Result<bool, Reason> {
        if let Some(is_it) = digest.is_sha256(entry.digest()) {
            return Ok(is_it);
        }
        self.budget.spend(entry.body_len())?;
        Ok(has_digest(entry, digest))
    }
}

/// Whether a kept body has a digest. One that cannot be read has none.
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
    fn what_an_archive_refers_to_is_bounded_by_its_length() {
        let mut budget = Budget::of(2 << 20);
        // A large body, referred to by each of many short records.
        let copies = (0..10_000).take_while(|_| budget.spend(64 << 20).is_ok()).count();
        assert_eq!(copies, 16 + 15);
        assert!(budget.spend(1 << 20).is_ok(), "what is refused costs nothing");
        assert!(Budget::of(u64::MAX).spend(u64::MAX).is_ok());
    }
}
