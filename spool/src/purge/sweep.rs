//! A plan carried out, a step at a time.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use super::candidates::{Candidates, Found};
use super::pins::Seen;
use super::plan::Sum;
use crate::Spool;
use crate::error::Result;
use crate::place::Place;
use crate::store::{Store, lock, parent};

/// Entries that a step looks at.
const AT_ONCE: usize = 256;

/// What a step has come by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Step {
    /// How many entries it has looked at; none: there are no more.
    pub looked: u64,
    /// What it has removed.
    pub removed: Sum,
}

/// Walks the entries of a spool and removes those that are said to go.
///
/// Each is judged as it is when it is come by, and removed only if it is still that one and is not pinned by
/// then. A sweep that is
/// dropped has done what it has done: every entry is there or gone, whenever the program ends.
#[derive(Debug)]
pub struct Sweep {
    spool: Spool,
    candidates: Candidates,
    pins: Seen,
}

impl Spool {
    /// The entries, each with what it takes on the disk.
    ///
    /// # Errors
    ///
    /// When the disk fails, here or at each step.
    pub fn candidates(&self) -> Result<Candidates> {
        Candidates::new(&self.walk())
    }

    /// Begins to remove entries.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn sweep(&self) -> Result<Sweep> {
        Ok(Sweep { spool: self.clone(), candidates: self.candidates()?, pins: Seen::default() })
    }
}

impl Sweep {
    /// Looks at the next entries, and removes those of which `goes` says so.
    ///
    /// # Errors
    ///
    /// When the disk fails, or what is pinned cannot be read. What was removed before stays so.
    pub fn step(&mut self, mut goes: impl FnMut(&Found) -> bool) -> Result<Step> {
        let mut step = Step::default();
        for found in self.candidates.by_ref().take(AT_ONCE) {
            let found = found?;
            step.looked += 1;
            let (place, stored) = (&found.summary.place, found.summary.stored);
            if !goes(&found) {
                continue;
            }
            let store = &self.spool.0.store;
            let remove = || store.remove_stored(place, stored);
            // A pin that is set by now holds, and one that comes now waits for this one entry.
            if store.unless_pinned(&mut self.pins, place.url(), remove)? == Some(true) {
                step.removed.count += 1;
                step.removed.bytes = step.removed.bytes.saturating_add(found.size);
            }
        }
        Ok(step)
    }
}

impl Store {
    /// Removes the entry of a place, and its versions, if it is the one that was finished then. False if it
    /// is not.
    fn remove_stored(&self, place: &Place, stored: Timestamp) -> Result<bool> {
        let is_it = || -> Result<bool> {
            if self.pending.path(place).is_some() {
                // Something newer has come.
                return Ok(false);
            }
            Ok(self.settled(place)?.is_some_and(|(_, entry)| entry.stored() == stored))
        };
        // Parts that came later are of a download that goes on.
        let after = stored.checked_add(SignedDuration::from_micros(1)).unwrap_or(Timestamp::MAX);
        let removed = self.remove_variant_if(place, Some(after), is_it)?;
        if removed {
            self.remove_empty(parent(&self.root.join(place.single_path())));
        }
        Ok(removed)
    }

    /// Removes the directory of keys and that of the host, if nothing is left in them: each takes a block.
    fn remove_empty(&self, keys: &Path) {
        // Names are given with this held, and directories made for them.
        let _commit = lock(&self.commit);
        if self.disk.remove_dir(keys).is_ok() {
            let _ = self.disk.remove_dir(parent(keys));
        }
    }
}
