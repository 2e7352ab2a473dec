//! Removing entries so that the removal can be undone.

use std::path::{Path, PathBuf};

use super::{Removal, RemovedKind, named};
use crate::entry::overlay::overlay_path;
use crate::entry::place::{Place, VARIANTS};
use crate::error::Result;
use crate::fs::parent;
use crate::tree::Tree;
use crate::tree::walk::texts;

impl Tree {
    /// Removes every entry of a key, or the one of a login, but keeps the files under `removal` for
    /// [`Tree::undo_removal`]. Segments are not kept. Returns false if there was nothing to remove.
    pub(crate) fn remove_for_now(&self, place: &Place, removal: &Removal) -> Result<bool> {
        let _moving = self.begin_move();
        if place.login().is_some() {
            return self.remove_variant_if(place, None, || self.link_files(place, removal));
        }
        self.remove_after(place, || self.link_files(place, removal))
    }

    /// Gives every file of a key, or of the place of a login, a second name under `removal`,
    /// durably. Returns whether there was a file. The caller holds `commit`, also during syncs.
    fn link_files(&self, place: &Place, removal: &Removal) -> Result<bool> {
        // An entry in the current batch has no path to which it could be brought back, so it is
        // renamed first.
        self.put_waiting_in_place(place)?;
        let (files, overlays) = self.files_of(place)?;
        let base = self.root.join(removal.directory());
        // An entry in `removed/` must not lack its update file, so update files are linked first.
        let mut late = Vec::new();
        for file in &overlays {
            let (from, to) = (self.root.join(file), base.join(file));
            match self.root.link_to_tmp(&from)? {
                Some(aside) => {
                    self.root.rename_into_place(&aside, &to)?;
                    let _ = self.root.disk.remove_file(&aside);
                }
                // The file can have only one name, and must stay beside its entry until the entry
                // moves.
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
        // The removals from `tmp/` are synced: if such a name came back after a crash, the next
        // opening would restore the entry.
        self.root.leaves_tmp();
        self.root.sync_tmp()?;
        Ok(!files.is_empty())
    }

    /// Renames every file of a key in the current batch into place, durably. The caller holds
    /// `commit`, also during syncs.
    pub(super) fn put_waiting_in_place(&self, place: &Place) -> Result<()> {
        for finished in self.pending.variants(place.key()) {
            self.put_in_place_now(&finished)?;
            self.pending.remove(&finished.place);
        }
        Ok(())
    }

    fn sync_resting(&self, base: &Path, files: &[PathBuf]) -> Result<()> {
        if files.is_empty() || !self.root.is_synced() {
            return Ok(());
        }
        let directories: Vec<PathBuf> = files.iter().map(|file| base.join(parent(file))).collect();
        self.root.sync_names(&directories.iter().map(PathBuf::as_path).collect::<Vec<_>>())
    }

    /// The files of a key, or of the place of a login, as paths below the root: entries and
    /// versions, and their update files.
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
        // Foreign files stay, as with any removal.
        let is_entry =
            |file: &PathBuf| matches!(named(file), Some(RemovedKind::Entry | RemovedKind::Version));
        files.retain(is_entry);
        if place.login().is_some() {
            let name = among.join(place.variant_name().to_string()).into_os_string();
            let name = name.to_string_lossy().into_owned();
            files.retain(|file| file.to_string_lossy().starts_with(&name));
        }
        let mut overlays = Vec::new();
        for overlay in files.iter().map(|file| overlay_path(file)) {
            if self.root.is_file(&self.root.join(&overlay))? {
                overlays.push(overlay);
            }
        }
        Ok((files, overlays))
    }
}
