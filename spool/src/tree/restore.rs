//! An older version that becomes the entry again, and one that is removed.
//!
//! A version comes back as an answer that has just been finished: it is written anew, and takes the place
//! of what is there by the way of every other entry. So at each moment there is a whole one. What is
//! there gets its name as a version first, and has it on the medium, also where no versions are kept. The
//! version that came back goes last, when the entry it has become is on the medium.

use std::path::Path;
use std::sync::{Arc, MutexGuard};

use jiff::Timestamp;

use crate::durability::Durability;
use crate::entry::layout::Purpose;
use crate::entry::overlay::overlay_path;
use crate::entry::place::Place;
use crate::entry::verified::Verified;
use crate::entry::{Entry, Lookup};
use crate::error::{Error, Result};
use crate::fs::parallel::lock;
use crate::fs::parent;
use crate::fs::size::wide;
use crate::tree::session::Session;
use crate::tree::versions::version_path;
use crate::tree::writer::{BodyEnd, NewEntry, Writer};
use crate::tree::{LOOKUP_TRIES, ReplaceCondition, Tree};

/// Bytes that are copied at once.
const PIECE: usize = 128 << 10;

/// What came of [`Spool::restore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restored {
    /// The version is the entry now, and what was the entry is a version.
    Done,
    /// What is there has the same body, so there was nothing to do.
    Same,
    /// There is no such version, or it is damaged, and then set aside.
    Missing,
    /// Other answers kept coming: try again.
    Overtaken,
}

/// Makes an older version of exactly this place its entry again.
pub(crate) fn restore(
    session: &Arc<Session>,
    place: &Place,
    stored: Timestamp,
) -> Result<Restored> {
    let tree = &session.tree;
    let old = match tree.version(place, stored)? {
        Lookup::Found(old) => old,
        Lookup::Missing | Lookup::SetAside(_) => return Ok(Restored::Missing),
    };
    let _spared = tree.spare(place);
    for _ in 0..LOOKUP_TRIES {
        let present = tree.retain(&old)?;
        if present.as_ref().is_some_and(|present| present.digest() == old.digest()) {
            return Ok(Restored::Same);
        }
        let Some(mut writer) = copy(session, &old)? else {
            tree.set_refuted_holder_aside(&old)?;
            tree.damaged_version(place, stored);
            return Ok(Restored::Missing);
        };
        let (finished, _) = writer.complete(old.trailers(), BodyEnd::Whole)?;
        let digest = finished.digest;
        if tree.admit_over(finished, ReplaceCondition::found(present.as_ref()))? {
            writer.set_admitted();
            // If that fails the version is all there is.
            if tree.is_settled(place, digest)? {
                tree.remove_version(place, stored)?;
            }
            return Ok(Restored::Done);
        }
    }
    Ok(Restored::Overtaken)
}

/// Writes an entry anew, to be completed. `None`: its body is not what was stored.
fn copy(session: &Arc<Session>, old: &Entry) -> Result<Option<Writer>> {
    let new = NewEntry {
        asked: old.asked(),
        when: old.when(),
        head: old.head().to_vec(),
        request: old.request().to_vec(),
        connection: old.connection().map(<[u8]>::to_vec),
    };
    let mut writer = Writer::begin(Arc::clone(session), old.place(), new, Purpose::Whole, None)?;
    let (mut from, mut buffer, mut at) = (Verified::of(old.body()), vec![0; PIECE], 0);
    while at < old.body_len() {
        let read = match from.read_at(at, &mut buffer) {
            Ok(0) => return Ok(None),
            Ok(read) => read,
            Err(error) if error.is_damaged() => return Ok(None),
            Err(error) => return Err(error),
        };
        writer.write(buffer.get(..read).unwrap_or_default())?;
        at += wide(read);
    }
    Ok(Some(writer))
}

/// While it lives, versions of one place are spared.
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
    /// Gives the entry at the place of `old`, unless it is the same, its name as a version besides, on the
    /// medium; what it is, if there is one.
    fn retain(&self, old: &Entry) -> Result<Option<Entry>> {
        // What waits for its batch has no name that could be linked.
        self.write_batch();
        let _commit = lock(&self.commit);
        let Some((path, present)) = self.settled(old.place())? else { return Ok(None) };
        if present.digest() != old.digest() {
            self.link_version(&present, &path)?;
        }
        Ok(Some(present))
    }

    /// Has no version of a place removed for being one too many, as long as what is returned lives: the one
    /// that comes back may be it, and is needed until the entry that it becomes is on the medium.
    fn spare(&self, place: &Place) -> SpareGuard<'_> {
        let one = lock(&self.versions.restoring);
        *lock(&self.versions.spared) = Some((place.key(), place.variant_name()));
        SpareGuard { tree: self, _one: one }
    }

    /// Whether the entry of a place has this body, and is on the medium under its name.
    fn is_settled(&self, place: &Place, digest: [u8; 32]) -> Result<bool> {
        self.write_batch();
        let Some((path, now)) = self.settled(place)? else { return Ok(false) };
        if self.root.durability != Durability::None {
            self.root.sync_names(&[parent(&path)])?;
        }
        Ok(*now.digest() == digest)
    }

    /// Sets a version aside whose body turned out not to be what was stored.
    pub(crate) fn damaged_version(&self, place: &Place, stored: Timestamp) {
        let _commit = lock(&self.commit);
        let path = self.root.join(version_path(place, stored));
        let damage = self.root.move_aside(&path, "its body does not agree with its digest");
        self.root.fail(Error::damaged(damage));
    }

    pub(crate) fn remove_version(&self, place: &Place, stored: Timestamp) -> Result<bool> {
        let _told = self.changing(place);
        let path = self.root.join(version_path(place, stored));
        let _commit = lock(&self.commit);
        let removed = self.root.remove_file(&path)?;
        self.drop_overlay(&path)?;
        // Were its overlay to stay it would be nobody's; a directory of variants may be empty now.
        let _ = self.root.disk.remove_dir(&self.root.join(place.variants_path()));
        if removed && self.root.durability == Durability::Each {
            self.root.sync_names(&[parent(&path)])?;
        }
        Ok(removed)
    }

    /// Gives the entry at `path` its name as an older version; it has the other name still. `old` is what was
    /// read there with what was learnt of it: nothing else that lies beside it goes along. `commit` is held, over
    /// a sync.
    pub(crate) fn link_version(&self, old: &Entry, path: &Path) -> Result<()> {
        let to = self.root.join(version_path(old.place(), old.stored()));
        if old.overlay.is_some() && self.root.is_file(&overlay_path(path))? {
            self.root.link_into_place(&overlay_path(path), &overlay_path(&to))?;
        }
        self.root.link_into_place(path, &to)?;
        if self.root.durability == Durability::None {
            return Ok(());
        }
        self.root.sync_names(&[parent(&to)])
    }
}
