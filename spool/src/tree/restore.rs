//! Making an older version the entry again, and removing a version.
//!
//! A restored version is rewritten and stored like a new response, so there is a complete entry at
//! each moment. First the present entry gets a second name as a version, durably, even if no
//! versions are kept. The restored version is removed last, when the new entry is durable.

use std::path::Path;
use std::sync::{Arc, MutexGuard};

use jiff::Timestamp;

use crate::durability::Durability;
use crate::entry::layout::WritePurpose;
use crate::entry::overlay::overlay_path;
use crate::entry::place::Place;
use crate::entry::{Entry, Lookup};
use crate::error::{Error, Result};
use crate::fs::parallel::lock;
use crate::fs::parent;
use crate::tree::session::Session;
use crate::tree::versions::version_path;
use crate::tree::writer::{BodyExtent, NewEntry, Writer};
use crate::tree::{LOOKUP_TRIES, ReplaceCondition, Tree};

/// The result of [`crate::Spool::restore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreOutcome {
    /// The version is now the entry, and the previous entry is a version.
    Done,
    /// The present entry has the same body. Nothing was changed.
    Same,
    /// The version does not exist, or it was damaged and set aside.
    Missing,
    /// The entry was replaced repeatedly during the call. The call can be repeated.
    Overtaken,
}

/// Makes an older version of exactly this place its entry again.
pub(crate) fn restore(
    session: &Arc<Session>,
    place: &Place,
    stored: Timestamp,
) -> Result<RestoreOutcome> {
    let tree = &session.tree;
    let old = match tree.version(place, stored)? {
        Lookup::Found(old) => old,
        Lookup::Missing | Lookup::SetAside(_) => return Ok(RestoreOutcome::Missing),
    };
    let _spared = tree.spare(place);
    for _ in 0..LOOKUP_TRIES {
        let present = tree.link_present(&old)?;
        if present.as_ref().is_some_and(|present| present.digest() == old.digest()) {
            return Ok(RestoreOutcome::Same);
        }
        let Some(mut writer) = copy(session, &old)? else {
            tree.set_refuted_holder_aside(&old)?;
            tree.damaged_version(place, stored);
            return Ok(RestoreOutcome::Missing);
        };
        let (finished, _) = writer.complete(old.trailers(), BodyExtent::Whole)?;
        let digest = finished.digest;
        if tree.admit_if(finished, ReplaceCondition::found(present.as_ref()))? {
            writer.set_admitted();
            // Until the new entry is durable, the version is the only durable copy.
            if tree.is_on_medium(place, digest)? {
                tree.remove_version(place, stored)?;
            }
            return Ok(RestoreOutcome::Done);
        }
    }
    Ok(RestoreOutcome::Overtaken)
}

/// Begins an entry with the content of `old`, and copies the body. `None` if the body is damaged.
fn copy(session: &Arc<Session>, old: &Entry) -> Result<Option<Writer>> {
    let new = NewEntry::copy_of(old);
    let mut writer =
        Writer::begin(Arc::clone(session), old.place(), new, WritePurpose::Whole, None)?;
    match old.verified().copy_to(0..old.body_len(), |piece| writer.write(piece)) {
        Ok(()) => Ok(Some(writer)),
        Err(error) if error.is_damaged() => Ok(None),
        Err(error) => Err(error),
    }
}

/// A guard: while it exists, surplus versions of one place are not removed.
struct SpareGuard<'a> {
    tree: &'a Tree,
    _one: MutexGuard<'a, ()>,
}

impl Drop for SpareGuard<'_> {
    fn drop(&mut self) {
        *lock(&self.tree.versions.spared) = None;
    }
}

impl Tree {
    /// Gives the present entry of a place a second name as a version, durably, unless it has the
    /// body of `old`. Returns the present entry, if any.
    fn link_present(&self, old: &Entry) -> Result<Option<Entry>> {
        // An entry that waits for its batch has no name yet, so the batch is written first.
        self.write_batch();
        let _commit = lock(&self.commit);
        let Some((path, present)) = self.newest_in_tree(old.place())? else { return Ok(None) };
        if present.digest() != old.digest() {
            self.link_version(&present, &path)?;
        }
        Ok(Some(present))
    }

    /// Prevents the removal of surplus versions of a place. The restored version may be surplus,
    /// and is needed until the new entry is durable.
    fn spare(&self, place: &Place) -> SpareGuard<'_> {
        let one = lock(&self.versions.restoring);
        *lock(&self.versions.spared) = Some((place.key(), place.variant_name()));
        SpareGuard { tree: self, _one: one }
    }

    /// Whether the entry of a place has this body, and is durable under its name.
    fn is_on_medium(&self, place: &Place, digest: [u8; 32]) -> Result<bool> {
        self.write_batch();
        let Some((path, now)) = self.newest_in_tree(place)? else { return Ok(false) };
        self.root.sync_name(&path)?;
        Ok(*now.digest() == digest)
    }

    /// Sets a version with a damaged body aside.
    pub(crate) fn damaged_version(&self, place: &Place, stored: Timestamp) {
        let _commit = lock(&self.commit);
        let path = self.root.join(version_path(place, stored));
        let damage = self.root.move_aside(&path, "its body does not match its digest");
        self.root.record_failure(Error::damaged(damage));
    }

    pub(crate) fn remove_version(&self, place: &Place, stored: Timestamp) -> Result<bool> {
        let _told = self.changing(place);
        let path = self.root.join(version_path(place, stored));
        let _commit = lock(&self.commit);
        let removed = self.root.remove_file(&path)?;
        self.drop_overlay(&path)?;
        // The directory of variants is removed if it is empty now.
        let _ = self.root.disk.remove_dir(&self.root.join(place.variants_path()));
        if removed && self.root.durability == Durability::Each {
            self.root.sync_names(&[parent(&path)])?;
        }
        Ok(removed)
    }

    /// Gives the entry at `path` a second name as an older version. `old` is the entry that was
    /// read at this path, with its update file. If `old` was read without an update file, an update
    /// file that is now beside `path` is not linked. The caller holds `commit`, also during a sync.
    pub(crate) fn link_version(&self, old: &Entry, path: &Path) -> Result<()> {
        let to = self.root.join(version_path(old.place(), old.stored()));
        if old.overlay.is_some() && self.root.is_file(&overlay_path(path))? {
            self.root.link_into_place(&overlay_path(path), &overlay_path(&to))?;
        }
        self.root.link_into_place(path, &to)?;
        self.root.sync_name(&to)
    }
}
