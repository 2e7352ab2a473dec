//! What becomes of an entry without a new body: the origin confirms it, or something was sent there
//! that may have changed it.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::durability::Durability;
use crate::entry::head::{check_head, status_of};
use crate::entry::layout::{EntryState, FinalFields, Purpose, StartWriter};
use crate::entry::overlay::overlay_path;
use crate::entry::{Body, Entry, holder, overlay};
use crate::error::{Error, Result};
use crate::fs::parallel::lock;
use crate::fs::size::wide;
use crate::fs::{DiskFile, parent};
use crate::tree::{FinishedFile, ReplaceCondition, Tree, UPDATES};

/// What is to be written down about an entry, besides its body: see [`crate::Spool::update`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// The origin has confirmed it, by a 304 (RFC 9111 §4.3.4) or a HEAD (§4.3.5). It is no longer
    /// invalid, if the origin was asked after what had made it so was answered.
    Confirmed {
        /// The head of the response as it is now (§3.2), in the form of
        /// [`NewEntry::head`](crate::NewEntry::head); its status is that of the entry.
        head: Vec<u8>,
        /// When the request was sent that brought this about.
        asked: Timestamp,
        /// When the head of its answer came.
        responded: Timestamp,
    },
    /// Something was sent to the origin that may have changed what it would answer (§4.4). If it was
    /// invalid before, it stays so since then.
    Invalid {
        /// When that was answered.
        since: Timestamp,
    },
}

impl Update {
    /// Refuses what could not be read again.
    pub(crate) fn check(&self, entry: &Entry) -> Result<()> {
        let Update::Confirmed { head, .. } = self else { return Ok(()) };
        check_head(head)?;
        if status_of(head) != Some(entry.status()) {
            let why = "has not the status of the entry";
            return Err(Error::invalid("the head of the update", why, head));
        }
        Ok(())
    }

    /// Head and state of an entry when this has happened to it; `stamp` is later than all before.
    pub(crate) fn applied<'a>(
        &'a self,
        entry: &'a Entry,
        stamp: Timestamp,
    ) -> (&'a [u8], EntryState) {
        let updated = Some(stamp);
        match self {
            Update::Confirmed { head, asked, responded } => {
                let invalid = entry.invalid_since().filter(|since| asked <= since);
                let (asked, responded) = (*asked, Some(*responded));
                (head, EntryState { asked, responded, updated, invalid })
            }
            Update::Invalid { since } => {
                let invalid = Some(entry.invalid_since().map_or(*since, |first| first.min(*since)));
                (entry.head(), EntryState { updated, invalid, ..*entry.state() })
            }
        }
    }
}

impl Tree {
    /// Writes an update down, and gives back the entry as it is then. `None` when it is no longer the
    /// one at its place.
    pub(crate) fn update(&self, entry: &Entry, update: &Update) -> Result<Option<Entry>> {
        update.check(entry)?;
        let place = entry.place();
        let [first, ..] = *place.key().as_bytes();
        let turn = self.updates.get(usize::from(first) % UPDATES);
        let _one = turn.map(lock);
        let is_it = |now: &Entry| now.id() == entry.id();
        let Some(now) = self.exact(place)?.filter(is_it) else { return Ok(None) };
        if let Update::Invalid { since } = update
            && now.invalid_since().is_some_and(|first| first <= *since)
        {
            return Ok(Some(now));
        }
        let (head, state) = update.applied(&now, self.root.stamp());
        let (path, file) = self.root.create_tmp()?;
        let written = match now.body() {
            // It is small, and gets its name at once: what waits refers to no holder.
            _ if now.shares_body() => holder::updated(&now, head, &state)
                .and_then(|bytes| self.write_learnt(&now, (&path, &*file), &bytes, Path::to_owned)),
            Body::Whole(body) => {
                let fail = |error| Error::disk("write", &path, error);
                file.write_all_at(&rewritten(&now, body, head, &state), 0).map_err(fail).and_then(
                    |()| {
                        let (place, path) = (place.clone(), path.clone());
                        let (stored, status) = (now.stored(), now.status());
                        let digest = *now.digest();
                        let finished = FinishedFile { place, path, file, stored, status, digest };
                        self.admit_over(finished, ReplaceCondition::Only(now.id()))
                    },
                )
            }
            Body::File(_) => overlay::encode(&now, head, &state)
                .and_then(|bytes| self.write_learnt(&now, (&path, &*file), &bytes, overlay_path)),
        };
        if !matches!(written, Ok(true)) {
            self.root.discard(&path);
        }
        if written? { Ok(self.exact(place)?.filter(is_it)) } else { Ok(None) }
    }

    /// Puts what was learnt of an entry where it belongs, by where that lies: beside a large one. False when
    /// it is no longer there.
    fn write_learnt(
        &self,
        entry: &Entry,
        (aside, file): (&Path, &dyn DiskFile),
        bytes: &[u8],
        to: impl Fn(&Path) -> PathBuf,
    ) -> Result<bool> {
        let _told = self.changing(entry.place());
        let fail = |error| Error::disk("write", aside, error);
        file.write_all_at(bytes, 0).map_err(fail)?;
        if self.root.durability != Durability::None {
            file.sync().map_err(fail)?;
        }
        if self.pending.path(entry.place()).is_some() {
            // It lies beside a name, so the entry has to have one.
            self.write_batch();
        }
        let path = {
            let _commit = lock(&self.commit);
            if self.pending.path(entry.place()).is_some() {
                return Ok(false);
            }
            let settled = self.settled(entry.place())?;
            let Some((path, _)) = settled.filter(|(_, now)| now.id() == entry.id()) else {
                return Ok(false);
            };
            let path = to(&path);
            self.root.rename_into_place(aside, &path)?;
            self.root.leaves_tmp();
            path
        };
        if self.root.durability != Durability::None {
            self.root.sync_names(&[parent(&path)])?;
        }
        Ok(true)
    }
}

/// The file of an entry with another head and state; everything else is as it was.
fn rewritten(entry: &Entry, body: &[u8], head: &[u8], state: &EntryState) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (place, tail) = (entry.place(), entry.tail());
    let (id, when) = (entry.id(), entry.when());
    let start = StartWriter::write(&mut bytes, place, id, when, state, head, Purpose::Whole);
    bytes.extend_from_slice(body);
    bytes.extend_from_slice(tail);
    let (digest, stored) = (*entry.digest(), entry.stored());
    let (body_len, tail_len) = (wide(body.len()), wide(tail.len()));
    let finish = FinalFields { body_len, digest, tail_len, stored, cut: false };
    let fixed = start.fixed(&finish);
    bytes.get_mut(..fixed.len()).unwrap_or_default().copy_from_slice(&fixed);
    bytes
}
