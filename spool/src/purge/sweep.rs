//! A plan carried out, a step at a time.

use crate::tree::session::Session;
use std::path::Path;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::candidates::{Candidates, Found};
use super::plan::Sum;
use crate::entry::place::Place;
use crate::error::Result;
use crate::fs::parallel::lock;
use crate::fs::parent;
use crate::notes::pins::PinCache;
use crate::tree::Tree;

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
    session: Arc<Session>,
    candidates: Candidates,
    pins: PinCache,
}

impl Sweep {
    pub(crate) fn new(session: Arc<Session>) -> Result<Sweep> {
        let candidates = Candidates::new(&session.tree.walk())?;
        Ok(Sweep { session, candidates, pins: PinCache::default() })
    }

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
            let tree = &self.session.tree;
            let remove = || tree.remove_stored(place, stored);
            // A pin that is set by now holds, and one that comes now waits for this one entry.
            if tree.pins.unless_pinned(&tree.root, &mut self.pins, place.url(), remove)?
                == Some(true)
            {
                step.removed.add(found.size);
            }
        }
        Ok(step)
    }
}

impl Tree {
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
        if self.root.disk.remove_dir(keys).is_ok() {
            let _ = self.root.disk.remove_dir(parent(keys));
        }
    }
}
