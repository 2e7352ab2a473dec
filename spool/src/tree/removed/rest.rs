//! Removing what is kept so that it can be had back.

use std::path::{Path, PathBuf};

use super::{Removal, RemovedKind, named};
use crate::durability::Durability;
use crate::entry::overlay::overlay_path;
use crate::entry::place::{Place, VARIANTS};
use crate::error::Result;
use crate::fs::parent;
use crate::tree::Tree;
use crate::tree::walk::texts;

impl Tree {
    /// Removes all that is kept under the key of a place, as [`Spool::remove`] does, and lays it aside under `removal`:
    /// [`Spool::bring_back`] brings it back. Parts of a download that broke off are not. False when there was
    /// nothing.
    pub(crate) fn remove_for_now(&self, place: &Place, removal: &Removal) -> Result<bool> {
        let _moving = self.moving();
        self.remove_after(place, || self.rest(place, removal))
    }

    /// Gives all files of a key a second name where they rest, on the medium. `commit` is held, over syncs. True when
    /// there were any.
    fn rest(&self, place: &Place, removal: &Removal) -> Result<bool> {
        // What waits for its batch has no name yet that it could come back to.
        self.settle_waiting(place)?;
        let (files, overlays) = self.files_of(place)?;
        let base = self.root.join(removal.directory());
        // An entry must not be there without what was learnt of it.
        let mut late = Vec::new();
        for file in &overlays {
            let (from, to) = (self.root.join(file), base.join(file));
            match self.root.link_to_tmp(&from)? {
                Some(aside) => {
                    self.root.rename_into_place(&aside, &to)?;
                    let _ = self.root.disk.remove_file(&aside);
                }
                // It can have one name only, and has to be beside its entry.
                None => late.push((from, to)),
            }
        }
        self.sync_resting(&base, &overlays)?;
        for file in &files {
            self.root.link_into_place(&self.root.join(file), &base.join(file))?;
        }
        for (from, to) in late {
            self.root.rename_into_place(&from, &to)?;
        }
        self.sync_resting(&base, &files)?;
        // A name of it that came back in `tmp/` would bring it back once it is gone from the tree.
        self.root.leaves_tmp();
        self.root.sync_tmp()?;
        Ok(!files.is_empty())
    }

    /// Gives everything of a key that waits for its batch its name, on the medium. `commit` is held, over syncs.
    pub(super) fn settle_waiting(&self, place: &Place) -> Result<()> {
        for finished in self.pending.variants(place.key()) {
            self.settle_now(&finished)?;
            self.pending.forget(&finished.place);
        }
        Ok(())
    }

    fn sync_resting(&self, base: &Path, files: &[PathBuf]) -> Result<()> {
        if files.is_empty() || self.root.durability == Durability::None {
            return Ok(());
        }
        let directories: Vec<PathBuf> = files.iter().map(|file| base.join(parent(file))).collect();
        self.root.sync_names(&directories.iter().map(PathBuf::as_path).collect::<Vec<_>>())
    }

    /// The files of a key below the root: entries and versions, and what was learnt of them.
    fn files_of(&self, place: &Place) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
        let single = place.single_path();
        let (beside, among) = (parent(&single), place.variants_path());
        let key = place.key().to_string();
        let of_key =
            |name: &String| name.strip_prefix(&key).is_some_and(|rest| rest.starts_with('.'));
        let mut names: Vec<_> =
            texts(&*self.root.disk, &self.root.join(beside))?.into_iter().filter(of_key).collect();
        names.retain(|name| !name.ends_with(VARIANTS));
        let mut files: Vec<PathBuf> = names.iter().map(|name| beside.join(name)).collect();
        for name in texts(&*self.root.disk, &self.root.join(&among))? {
            files.push(among.join(name));
        }
        // What is none of ours stays, as it does when a key is removed.
        let is_entry =
            |file: &PathBuf| matches!(named(file), Some(RemovedKind::Entry | RemovedKind::Version));
        files.retain(is_entry);
        let mut overlays = Vec::new();
        for overlay in files.iter().map(|file| overlay_path(file)) {
            if self.root.is_file(&self.root.join(&overlay))? {
                overlays.push(overlay);
            }
        }
        Ok((files, overlays))
    }
}
