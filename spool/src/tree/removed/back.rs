//! Undoing a removal.
//!
//! If the place has a newer entry, that entry stays, and the removed entry becomes its older
//! version. If the present entry is older, for example because it was brought back before, it
//! becomes the version. So the newest response is the entry, in whatever order removals are undone.

use std::path::{Path, PathBuf};

use super::{Removal, RemovedKind, named};
use crate::entry::overlay::{entry_path, overlay_path};
use crate::entry::place::Place;
use crate::entry::read::EntryContent;
use crate::entry::{Entry, overlay, read};
use crate::error::{Error, Result};
use crate::fs::parallel::lock;
use crate::tree::variants::MAX_VARIANTS;
use crate::tree::versions::version_path;
use crate::tree::{Tree, variants};

/// The result of undoing a removal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BringBackReport {
    /// The number of entries that were brought back.
    pub entries: u64,
    /// The number of entries that were brought back as older versions, because their places have
    /// newer entries.
    pub overtaken: u64,
    /// The number of entries whose place already has an entry with the same head and body.
    pub there: u64,
    /// The number of files that were not brought back: damaged files, which were set aside, files
    /// with a wrong path, and entries for which there is no room among the variants of their URL.
    pub left: u64,
}

/// The target of a removed file.
enum BackTarget {
    /// The file goes to this path.
    Path(PathBuf),
    /// No target: the place has the same entry already.
    There,
    /// No target: the file cannot be brought back.
    Nowhere,
}

impl Tree {
    /// Undoes a removal. If the place has a newer entry, the removed entry becomes its older
    /// version. `came` receives the place of each file that was brought back. `None` if the removal
    /// does not exist, or can no longer be undone.
    pub(crate) fn undo_removal(
        &self,
        removal: &Removal,
        came: &mut dyn FnMut(&Place),
    ) -> Result<Option<BringBackReport>> {
        if removal.is_over(self.root.disk.now()) {
            return Ok(None);
        }
        let _one = lock(&self.removals.resting);
        let base = self.root.join(removal.directory());
        let below = self.files_below(&base)?;
        let _moving = self.begin_move();
        let mut done = BringBackReport::default();
        let mut is_any = false;
        // Entries come before versions, so that lookups find the newest at each moment.
        for wanted in [RemovedKind::Entry, RemovedKind::Version] {
            for path in below.files.iter().filter(|path| named(path) == Some(wanted)) {
                is_any = true;
                if let Some(place) = self.restore_file(&base, path, &mut done)? {
                    came(&place);
                }
            }
        }
        for overlay in below.files.iter().filter(|path| named(path) == Some(RemovedKind::Overlay)) {
            // An update file without its entry, left by an interrupted call.
            if !self.root.is_file(&entry_path(overlay))? {
                self.root.remove_file(overlay)?;
            }
        }
        self.remove_directories(&below.directories);
        Ok(is_any.then_some(done))
    }

    /// Brings back an entry or version with its update file, and returns its place. `None` if the
    /// file stays removed, is damaged and was set aside, or is gone.
    fn restore_file(
        &self,
        base: &Path,
        path: &Path,
        done: &mut BringBackReport,
    ) -> Result<Option<Place>> {
        let overlay = overlay_path(path);
        let entry = match read::read(&*self.root.disk, &self.root.path, path, None)? {
            EntryContent::Whole(entry) => entry,
            EntryContent::Missing | EntryContent::Moved => return Ok(None),
            EntryContent::Bad(reason) => {
                done.left += 1;
                self.root.record_failure(Error::damaged(self.root.move_aside(path, reason)));
                return Ok(None);
            }
        };
        let place = entry.place();
        let _told = self.changing(place);
        let to = {
            let _commit = lock(&self.commit);
            let to = self.place_for(base, path, &entry)?;
            if let BackTarget::Path(to) = &to {
                self.put_back(path, &entry, to)?;
            }
            to
        };
        match to {
            BackTarget::Nowhere => {
                done.left += 1;
                return Ok(None);
            }
            BackTarget::There => done.there += u64::from(named(path) == Some(RemovedKind::Entry)),
            BackTarget::Path(to) => {
                self.root.sync_name(&to)?;
                if named(path) == Some(RemovedKind::Entry) {
                    let is_entry = to != self.root.join(version_path(place, entry.stored()));
                    done.entries += u64::from(is_entry);
                    done.overtaken += u64::from(!is_entry);
                }
            }
        }
        self.root.remove_file(path)?;
        self.root.remove_file(&overlay)?;
        Ok(Some(place.clone()))
    }

    /// Gives a removed file the second name `to`. Its update file gets a second name first. The
    /// caller holds `commit`, also during syncs.
    fn put_back(&self, path: &Path, entry: &Entry, to: &Path) -> Result<()> {
        let (aside, beside) = (overlay_path(path), overlay_path(to));
        if self.root.is_file(&aside)? {
            self.root.link_into_place(&aside, &beside)?;
            // The entry must never exist without its update file.
            self.root.sync_name(to)?;
        }
        // If the file system allows only one name, the entry is moved last, so that it is never
        // found without its update file.
        self.root.link_into_place(path, to)?;
        self.root.leaves_tmp();
        if matches!(
            overlay::read(&*self.root.disk, &beside, entry)?,
            overlay::OverlayLookup::Nothing
        ) {
            // If there is an update file, it belongs to the previous entry.
            self.drop_overlay(to)?;
        }
        Ok(())
    }

    /// Decides the target of the file at `path`, and makes room for it. The caller holds `commit`.
    fn place_for(&self, base: &Path, path: &Path, entry: &Entry) -> Result<BackTarget> {
        let (place, below) = (entry.place(), path.strip_prefix(base).unwrap_or(path));
        let version = version_path(place, entry.stored());
        let is_entry = [place.single_path(), place.variant_path()].iter().any(|home| below == home);
        if !is_entry && below != version {
            // No lookup would find the file at its previous path.
            return Ok(BackTarget::Nowhere);
        }
        if is_entry {
            // A pending entry is synced and renamed first, so that it counts as the present entry.
            self.put_waiting_in_place(place)?;
            let Some((at, there)) = self.newest_in_tree(place)? else {
                return self.free_name(place);
            };
            if is_same(&there, entry) {
                self.root.sync_name(&at)?;
                return Ok(BackTarget::There);
            }
            if let Some(to) = self.replace_older(path, entry, &there)? {
                return Ok(BackTarget::Path(to));
            }
        }
        let version = self.root.join(version);
        // Two versions with the same name are the same file.
        Ok(if self.root.is_file(&version)? { BackTarget::There } else { BackTarget::Path(version) })
    }

    /// If the file at `path` is newer than the present entry, makes the present entry a version,
    /// and returns the path that this frees. `None` if it is not newer, or if the present entry has
    /// changed. The caller holds `commit`, also during syncs.
    fn replace_older(&self, path: &Path, newer: &Entry, there: &Entry) -> Result<Option<PathBuf>> {
        if there.order() >= newer.order() {
            return Ok(None);
        }
        let to = self.name_for(newer.place())?;
        let older = match self.newest_in_tree(newer.place())? {
            Some((at, older)) if at == to && older.id() == there.id() => older,
            _ => return Ok(None),
        };
        self.link_version(&older, &to)?;
        if self.root.is_file(&overlay_path(path))? {
            // The update files of both entries need the same path, and neither entry may exist
            // without its update file. So for a moment the place has no entry, but the removed one
            // can still be brought back.
            self.root.remove_file(&to)?;
            self.root.sync_name(&to)?;
        }
        Ok(Some(to))
    }

    /// The path for an entry of an empty place. No target if another variant would have to be
    /// removed.
    fn free_name(&self, place: &Place) -> Result<BackTarget> {
        let directory = self.root.join(place.variants_path());
        let others = variants::names(&*self.root.disk, &directory)?;
        if others.len() >= MAX_VARIANTS && !others.contains(&place.variant_name()) {
            return Ok(BackTarget::Nowhere);
        }
        self.name_for(place).map(BackTarget::Path)
    }
}

/// Whether both entries are the same response. Equal bodies are not enough: most redirects have an
/// empty body, and many errors have the same body.
fn is_same(there: &Entry, entry: &Entry) -> bool {
    let is_alike = there.digest() == entry.digest() && there.head() == entry.head();
    there.id() == entry.id() || is_alike
}
