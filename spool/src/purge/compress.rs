//! Compressing entries that were not used for a long time, step by step.

use super::candidates::{Candidates, SizedEntry};
use crate::entry::gzip::{RewriteBounds, RewriteOutcome};
use crate::entry::place::Place;
use crate::error::{Error, Result};
use crate::tree::Tree;
use crate::tree::disk_usage::blocks;
use crate::tree::rewrite::FileForm;
use crate::tree::session::Session;
use crate::tree::versions;
use std::sync::Arc;

/// The number of entries visited in one step.
const AT_ONCE: usize = 64;

/// The result of one step. Bytes are disk usage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompressStep {
    /// The number of entries and unreadable directories visited; 0 at the end.
    pub looked: u64,
    /// The number of entries that were compressed, or of which an older version was.
    pub entries: u64,
    /// The disk usage of the compressed files before compression.
    pub before: u64,
    /// The disk usage of these files now.
    pub after: u64,
    /// The number of entries that could not be compressed, or of which an older version could not,
    /// and of directories that could not be read.
    pub failed: u64,
    /// Whether `go_on` of the [`RewriteBounds`] has stopped the work.
    pub is_stopped: bool,
    /// Whether the disk has too little free space.
    pub is_short: bool,
}

impl CompressStep {
    /// Adds the result of another step.
    pub fn add(&mut self, more: &CompressStep) {
        self.looked += more.looked;
        self.entries += more.entries;
        self.before = self.before.saturating_add(more.before);
        self.after = self.after.saturating_add(more.after);
        self.failed += more.failed;
        self.is_stopped |= more.is_stopped;
        self.is_short |= more.is_short;
    }

    fn note(&mut self, done: RewriteOutcome) -> bool {
        let RewriteOutcome::Done { before, after } = done else { return false };
        self.before = self.before.saturating_add(blocks(before));
        self.after = self.after.saturating_add(blocks(after));
        true
    }
}

/// A walk through the entries of a spool that compresses the chosen entries and their older
/// versions. If it is dropped before the end, the entries compressed so far stay compressed.
#[derive(Debug)]
pub struct CompressionPass {
    session: Arc<Session>,
    candidates: Candidates,
    failure: Option<CompressFailure>,
}

/// The reason why an entry was not compressed.
#[derive(Debug)]
pub enum CompressFailure {
    /// The disk has too little free space for the compressed file.
    NoRoom,
    /// The entry cannot be read or written.
    Failed(Error),
}

impl CompressionPass {
    pub(crate) fn new(session: Arc<Session>) -> Result<CompressionPass> {
        let candidates = Candidates::new(&session.tree.walk())?;
        Ok(CompressionPass { session, candidates, failure: None })
    }

    /// Visits the next entries, and compresses those for which `is_meant` is true. After a failure
    /// the other entries are still compressed.
    ///
    /// # Errors
    ///
    /// If the disk is full. Earlier work stays done.
    pub fn step(
        &mut self,
        mut is_meant: impl FnMut(&SizedEntry) -> bool,
        bounds: &RewriteBounds<'_>,
    ) -> Result<CompressStep> {
        let mut step = CompressStep::default();
        for found in self.candidates.by_ref().take(AT_ONCE) {
            step.looked += 1;
            let found = match found {
                Ok(found) => found,
                Err(error) if error.is_full() => return Err(error),
                Err(error) => {
                    step.failed += 1;
                    self.failure.get_or_insert(CompressFailure::Failed(error));
                    continue;
                }
            };
            if !is_meant(&found) {
                continue;
            }
            step.is_short = bounds.is_short();
            if step.is_short {
                break;
            }
            let failure = match pack(&self.session.tree, &found.summary.place, &mut step, bounds) {
                Ok(true) => continue,
                Ok(false) => CompressFailure::NoRoom,
                Err(error) if error.is_full() => return Err(error),
                Err(error) => CompressFailure::Failed(error),
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

    /// Returns the first failure since the last call.
    pub fn failure(&mut self) -> Option<CompressFailure> {
        self.failure.take()
    }
}

/// Compresses an entry and its older versions. Returns false if the disk had no space for one of
/// them, or if the work was stopped.
fn pack(
    tree: &Tree,
    place: &Place,
    step: &mut CompressStep,
    bounds: &RewriteBounds<'_>,
) -> Result<bool> {
    let versions = versions::list(&*tree.root.disk, &tree.root.path, place)?;
    let plain = versions.iter().filter(|version| version.plain_len.is_none());
    let all = std::iter::once(None).chain(plain.map(|version| Some(version.stored)));
    let (mut is_any, mut is_all, mut failure) = (false, true, None);
    for version in all {
        match tree.rewrite(place, version, FileForm::Compressed, bounds) {
            Ok(RewriteOutcome::Stopped) => {
                step.is_stopped = true;
                is_all = false;
                break;
            }
            Ok(RewriteOutcome::NoRoom) => is_all = false,
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
