//! An older version that becomes the entry again, and one that is removed.
//!
//! A version comes back as an answer that has just been finished: it is written anew, and takes the place
//! of what is there by the way of every other entry. So at each moment there is a whole one. What is
//! there gets its name as a version first, and has it on the medium, also where no versions are kept. The
//! version that came back goes last, when the entry it has become is on the medium.

use std::path::Path;
use std::sync::{Arc, MutexGuard};

use jiff::Timestamp;

use crate::entry::{Entry, Lookup};
use crate::error::{Error, Result};
use crate::layout::{Purpose, wide};
use crate::overlay::overlay_path;
use crate::place::Place;
use crate::store::{LOOKUP_TRIES, Over, Store, lock, parent};
use crate::verified::Verified;
use crate::versions::version_path;
use crate::writer::{Ended, NewEntry, Writer};
use crate::{Durability, Handle, Spool};

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

impl Spool {
    /// Makes an older version of exactly this place its entry again, with the head it was stored with. What
    /// was the entry becomes a version, whether versions are kept or not; those that are then too many go.
    /// A crash leaves one or the other as the entry, and neither is lost.
    ///
    /// # Errors
    ///
    /// When the disk fails or is full: then the entry is as it was, unless it was the last sync that
    /// failed.
    pub fn restore(&self, place: &Place, stored: Timestamp) -> Result<Restored> {
        let old = match self.version(place, stored)? {
            Lookup::Found(old) => old,
            Lookup::Missing | Lookup::SetAside(_) => return Ok(Restored::Missing),
        };
        let _spared = self.0.store.spare(place);
        for _ in 0..LOOKUP_TRIES {
            let present = self.0.store.retain(&old)?;
            if present.as_ref().is_some_and(|present| present.digest() == old.digest()) {
                return Ok(Restored::Same);
            }
            let Some(mut writer) = copy(&self.0, &old)? else {
                self.0.store.set_refuted_holder_aside(&old)?;
                self.0.store.damaged_version(place, stored);
                return Ok(Restored::Missing);
            };
            let (finished, _) = writer.complete(old.trailers(), Ended::Whole)?;
            let digest = finished.digest;
            if self.0.store.admit_over(finished, Over::found(present.as_ref()))? {
                writer.set_admitted();
                // If that fails the version is all there is.
                if self.0.store.is_settled(place, digest)? {
                    self.0.store.remove_version(place, stored)?;
                }
                return Ok(Restored::Done);
            }
        }
        Ok(Restored::Overtaken)
    }

    /// Removes an older version of exactly this place; false when there is none.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn remove_version(&self, place: &Place, stored: Timestamp) -> Result<bool> {
        self.0.store.remove_version(place, stored)
    }
}

/// Writes an entry anew, to be completed. `None`: its body is not what was stored.
fn copy(handle: &Arc<Handle>, old: &Entry) -> Result<Option<Writer>> {
    let new = NewEntry {
        asked: old.asked(),
        when: old.when(),
        head: old.head().to_vec(),
        request: old.request().to_vec(),
        connection: old.connection().map(<[u8]>::to_vec),
    };
    let mut writer = Writer::begin(Arc::clone(handle), old.place(), new, Purpose::Whole, None)?;
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
struct Spared<'a> {
    store: &'a Store,
    _one: MutexGuard<'a, ()>,
}

impl Drop for Spared<'_> {
    fn drop(&mut self) {
        *lock(&self.store.spared) = None;
    }
}

impl Store {
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
    fn spare(&self, place: &Place) -> Spared<'_> {
        let one = lock(&self.restoring);
        *lock(&self.spared) = Some((place.key(), place.variant_name()));
        Spared { store: self, _one: one }
    }

    /// Whether the entry of a place has this body, and is on the medium under its name.
    fn is_settled(&self, place: &Place, digest: [u8; 32]) -> Result<bool> {
        self.write_batch();
        let Some((path, now)) = self.settled(place)? else { return Ok(false) };
        if self.durability != Durability::None {
            self.sync_names(&[parent(&path)])?;
        }
        Ok(*now.digest() == digest)
    }

    /// Sets a version aside whose body turned out not to be what was stored.
    pub(crate) fn damaged_version(&self, place: &Place, stored: Timestamp) {
        let _commit = lock(&self.commit);
        let path = self.root.join(version_path(place, stored));
        let damage = self.move_aside(&path, "its body does not agree with its digest");
        self.pending.fail(Error::damaged(damage));
    }

    pub(crate) fn remove_version(&self, place: &Place, stored: Timestamp) -> Result<bool> {
        let _told = self.changing(place);
        let path = self.root.join(version_path(place, stored));
        let _commit = lock(&self.commit);
        let removed = self.remove_file(&path)?;
        self.drop_overlay(&path)?;
        // Were its overlay to stay it would be nobody's; a directory of variants may be empty now.
        let _ = self.disk.remove_dir(&self.root.join(place.variants_path()));
        if removed && self.durability == Durability::Each {
            self.sync_names(&[parent(&path)])?;
        }
        Ok(removed)
    }

    /// Gives the entry at `path` its name as an older version; it has the other name still. `old` is what was
    /// read there with what was learnt of it: nothing else that lies beside it goes along. `commit` is held, over
    /// a sync.
    pub(crate) fn link_version(&self, old: &Entry, path: &Path) -> Result<()> {
        let to = self.root.join(version_path(old.place(), old.stored()));
        if old.overlay.is_some() && self.is_file(&overlay_path(path))? {
            self.link_into_place(&overlay_path(path), &overlay_path(&to))?;
        }
        self.link_into_place(path, &to)?;
        if self.durability == Durability::None {
            return Ok(());
        }
        self.sync_names(&[parent(&to)])
    }
}
