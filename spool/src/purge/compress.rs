//! Compressing what has not been used for long, a step at a time.

use super::candidates::{Candidates, Found};
use crate::entry::gzip::{Bounds, Rewritten};
use crate::entry::place::Place;
use crate::error::{Error, Result};
use crate::tree::Tree;
use crate::tree::session::Session;
use crate::tree::taken::blocks;
use crate::tree::versions;
use std::sync::Arc;

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
    /// How many entries could not be compressed, or older versions of theirs.
    pub failed: u64,
    /// Whether it is not to go on.
    pub is_stopped: bool,
    /// Whether there is room for nothing more.
    pub is_short: bool,
}

impl Packed {
    /// Adds what another step has come by.
    pub fn add(&mut self, more: &Packed) {
        self.looked += more.looked;
        self.entries += more.entries;
        self.before = self.before.saturating_add(more.before);
        self.after = self.after.saturating_add(more.after);
        self.failed += more.failed;
        self.is_stopped |= more.is_stopped;
        self.is_short |= more.is_short;
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
    session: Arc<Session>,
    candidates: Candidates,
    failure: Option<NotPacked>,
}

/// Why an entry was not compressed.
#[derive(Debug)]
pub enum NotPacked {
    /// There is too little room for it on the disk.
    NoRoom,
    /// It cannot be read, or written.
    Failed(Error),
}

impl Packing {
    pub(crate) fn new(session: Arc<Session>) -> Result<Packing> {
        let candidates = Candidates::new(&session.tree.walk())?;
        Ok(Packing { session, candidates, failure: None })
    }

    /// Looks at the next entries, and compresses those of which `is_meant` says so. One that cannot be
    /// compressed keeps none of the others from it.
    ///
    /// # Errors
    ///
    /// When the disk is full, or the spool cannot be walked. What was compressed before stays so.
    pub fn step(
        &mut self,
        mut is_meant: impl FnMut(&Found) -> bool,
        bounds: &Bounds<'_>,
    ) -> Result<Packed> {
        let mut step = Packed::default();
        for found in self.candidates.by_ref().take(AT_ONCE) {
            let found = found?;
            step.looked += 1;
            if !is_meant(&found) {
                continue;
            }
            step.is_short = bounds.is_short();
            if step.is_short {
                break;
            }
            let failure = match pack(&self.session.tree, &found.summary.place, &mut step, bounds) {
                Ok(true) => continue,
                Ok(false) => NotPacked::NoRoom,
                Err(error) if error.is_full() => return Err(error),
                Err(error) => NotPacked::Failed(error),
            };
            step.is_short = bounds.is_short();
            if step.is_stopped || step.is_short {
                break;
            }
            step.failed += 1;
            self.failure.get_or_insert(failure);
        }
        Ok(step)
    }

    /// Why the first of those was not compressed that were not, if it was not told yet.
    pub fn failure(&mut self) -> Option<NotPacked> {
        self.failure.take()
    }
}

/// Compresses an entry and its older versions. False: there was no room for one of them, or it is not to go on.
fn pack(tree: &Tree, place: &Place, step: &mut Packed, bounds: &Bounds<'_>) -> Result<bool> {
    let versions = versions::list(&*tree.root.disk, &tree.root.path, place)?;
    let plain = versions.iter().filter(|version| version.plain_len.is_none());
    let all = std::iter::once(None).chain(plain.map(|version| Some(version.stored)));
    let (mut is_any, mut is_all, mut failure) = (false, true, None);
    for version in all {
        match tree.compress(place, version, bounds) {
            Ok(Rewritten::Stopped) => {
                step.is_stopped = true;
                is_all = false;
                break;
            }
            Ok(Rewritten::NoRoom) => is_all = false,
            Ok(done) => is_any |= step.note(done),
            Err(error) => {
                let is_full = error.is_full();
                failure.get_or_insert(error);
                if is_full {
                    break;
                }
            }
        }
    }
    step.entries += u64::from(is_any);
    failure.map_or(Ok(is_all), Err)
}
