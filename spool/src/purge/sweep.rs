//! Carrying out a plan, step by step.

use crate::tree::session::Session;
use std::path::Path;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::candidates::{Candidates, SizedEntry};
use super::plan::Sum;
use crate::entry::place::Place;
use crate::error::{Error, Result};
use crate::fs::parallel::lock;
use crate::fs::parent;
use crate::notes::pins::PinCache;
use crate::tree::Tree;

/// The number of entries visited in one step.
const AT_ONCE: usize = 256;

/// The result of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepStep {
    /// The number of entries and unreadable directories visited; 0 at the end.
    pub looked: u64,
    /// The number and size of the removed entries.
    pub removed: Sum,
    /// The number of directories that could not be read, and of entries that could not be removed.
    pub failed: u64,
}

/// A walk through the entries of a spool that removes the chosen ones.
///
/// Each entry is judged in its present state, and removed only if it was not replaced in the
/// meantime and is not pinned. If the sweep is dropped, earlier removals stay done: whenever the
/// program stops, each entry either exists or is removed.
#[derive(Debug)]
pub struct Sweep {
    session: Arc<Session>,
    candidates: Candidates,
    pins: PinCache,
    failure: Option<Error>,
}

impl Sweep {
    pub(crate) fn new(session: Arc<Session>) -> Result<Sweep> {
        let candidates = Candidates::new(&session.tree.walk())?;
        Ok(Sweep { session, candidates, pins: PinCache::default(), failure: None })
    }

    /// Visits the next entries and removes those for which `goes` is true. After a failure the other
    /// entries are still visited.
    ///
    /// # Errors
    ///
    /// If the pins cannot be read. Earlier removals stay done.
    pub fn step(&mut self, mut goes: impl FnMut(&SizedEntry) -> bool) -> Result<SweepStep> {
        let mut step = SweepStep::default();
        for found in self.candidates.by_ref().take(AT_ONCE) {
            step.looked += 1;
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    step.failed += 1;
                    self.failure.get_or_insert(error);
                    continue;
                }
            };
            let (place, stored) = (&found.summary.place, found.summary.stored);
            if !goes(&found) {
                continue;
            }
            let tree = &self.session.tree;
            let failure = &mut self.failure;
            let remove = || {
                Ok(tree.remove_stored(place, stored).unwrap_or_else(|error| {
                    step.failed += 1;
                    failure.get_or_insert(error);
                    false
                }))
            };
            // The pins are read now, and cannot change while this entry is removed.
            if tree.pins.unless_pinned(&tree.root, &mut self.pins, place.url(), remove)? {
                step.removed.add(found.size);
            }
        }
        Ok(step)
    }

    /// Returns the first failure since the last call.
    pub fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }
}

impl Tree {
    /// Removes the entry of a place and its versions if the entry was stored at the time `stored`.
    /// Returns false otherwise.
    fn remove_stored(&self, place: &Place, stored: Timestamp) -> Result<bool> {
        let is_it = || -> Result<bool> {
            if self.pending.path(place).is_some() || self.pending.has_left(place) {
                // A newer entry waits for the next batch, or for the next opening.
                return Ok(false);
            }
            Ok(self.newest_in_tree(place)?.is_some_and(|(_, entry)| entry.stored() == stored))
        };
        // Segments stored later belong to a download in progress, and stay.
        let after = stored.checked_add(SignedDuration::from_micros(1)).unwrap_or(Timestamp::MAX);
        let removed = self.remove_variant_if(place, Some(after), is_it)?;
        if removed {
            self.remove_empty(parent(&self.root.join(place.single_path())));
        }
        Ok(removed)
    }

    /// Removes the directories of a key and a host if they are empty, because each takes a block.
    fn remove_empty(&self, keys: &Path) {
        // Files get their names, and directories are created, only under this lock.
        let _commit = lock(&self.commit);
        if self.root.disk.remove_dir(keys).is_ok() {
            let _ = self.root.disk.remove_dir(parent(keys));
        }
    }
}
