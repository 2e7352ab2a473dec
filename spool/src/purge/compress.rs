//! Compressing what has not been used for long, a step at a time.

use super::candidates::{Candidates, Found};
use crate::error::Result;
use crate::place::Place;
use crate::taken::blocks;
use crate::{Rewritten, Spool};

/// Entries that a step looks at.
const AT_ONCE: usize = 64;

/// What a step has come by. Bytes are those that files take on the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Packed {
    /// How many entries it has looked at; none: there are no more.
    pub looked: u64,
    /// How many of them were compressed, or older versions of them.
    pub entries: u64,
    /// What these took before.
    pub before: u64,
    /// What they take now.
    pub after: u64,
}

impl Packed {
    /// Adds what another step has come by.
    pub fn add(&mut self, more: &Packed) {
        self.looked += more.looked;
        self.entries += more.entries;
        self.before = self.before.saturating_add(more.before);
        self.after = self.after.saturating_add(more.after);
    }

    fn note(&mut self, done: Rewritten) -> bool {
        let Rewritten::Done { before, after } = done else { return false };
        self.before = self.before.saturating_add(blocks(before));
        self.after = self.after.saturating_add(blocks(after));
        true
    }
}

/// Walks the entries of a spool and compresses those that are said to be meant, with their older versions. One
/// that is dropped has done what it has done.
#[derive(Debug)]
pub struct Packing {
    spool: Spool,
    candidates: Candidates,
}

impl Spool {
    /// Begins to compress entries.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn packing(&self) -> Result<Packing> {
        Ok(Packing { spool: self.clone(), candidates: self.candidates()? })
    }
}

impl Packing {
    /// Looks at the next entries, and compresses those of which `is_meant` says so.
    ///
    /// # Errors
    ///
    /// When the disk fails or is full. What was compressed before stays so.
    pub fn step(&mut self, mut is_meant: impl FnMut(&Found) -> bool) -> Result<Packed> {
        let mut step = Packed::default();
        for found in self.candidates.by_ref().take(AT_ONCE) {
            let found = found?;
            step.looked += 1;
            if is_meant(&found) {
                pack(&self.spool, &found.summary.place, &mut step)?;
            }
        }
        Ok(step)
    }
}

/// Compresses an entry and its older versions.
fn pack(spool: &Spool, place: &Place, step: &mut Packed) -> Result<()> {
    let mut is_any = step.note(spool.compress(place)?);
    for version in spool.versions(place)? {
        if version.plain_len.is_none() {
            is_any |= step.note(spool.compress_version(place, version.stored)?);
        }
    }
    step.entries += u64::from(is_any);
    Ok(())
}
