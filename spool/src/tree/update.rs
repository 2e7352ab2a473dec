//! Updates of an entry without a new body: the origin confirms the entry, or a request may have
//! changed the resource.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::entry::head::{check_head, status_of};
use crate::entry::layout::{EntryState, FinalFields, StartWriter, WritePurpose};
use crate::entry::overlay::overlay_path;
use crate::entry::{Body, Entry, holder, overlay};
use crate::error::{Error, Result};
use crate::fs::DiskFile;
use crate::fs::parallel::lock;
use crate::fs::size::wide;
use crate::tree::{FinishedFile, ReplaceCondition, Tree, UPDATES};

/// An update of an entry; see [`crate::Spool::update`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// The origin has confirmed the entry, by a 304 (RFC 9111 §4.3.4) or a HEAD (§4.3.5). An
    /// invalid entry is valid again if the request was sent after the response to the request that
    /// made it invalid.
    Confirmed {
        /// The new head of the response (§3.2), in the form of
        /// [`NewEntry::head`](crate::NewEntry::head), with the same status as the entry.
        head: Vec<u8>,
        /// When the confirming request was sent.
        asked: Timestamp,
        /// When the head of the confirming response arrived.
        responded: Timestamp,
    },
    /// A request may have changed the resource (§4.4). If the entry is invalid already, the earlier
    /// time stays.
    Invalid {
        /// When the response arrived that makes the entry invalid.
        since: Timestamp,
    },
}

impl Update {
    /// Refuses an update that could not be read back.
    pub(crate) fn check(&self, entry: &Entry) -> Result<()> {
        let Update::Confirmed { head, .. } = self else { return Ok(()) };
        check_head(head)?;
        if status_of(head) != Some(entry.status()) {
            let why = "has another status than the entry";
            return Err(Error::invalid("the head of the update", why, head));
        }
        Ok(())
    }

    /// The head and state after the update. `stamp` is later than every earlier stamp.
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
    /// Writes an update, and returns the updated entry. `None` if `entry` is no longer the entry of
    /// its place.
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
            // The small file is renamed at once, because files below `tmp/` must not refer to a
            // holder.
            _ if now.shares_body() => holder::updated(&now, head, &state)
                .and_then(|bytes| self.write_learnt(&now, (&path, &*file), &bytes, Path::to_owned)),
            Body::Whole(body) => {
                let fail = |error| Error::disk("write", &path, error);
                file.write_all_at(&rewritten(&now, body, head, &state), 0).map_err(fail).and_then(
                    |()| {
                        let (place, path) = (place.clone(), path.clone());
                        let (stored, status) = (now.stored(), now.status());
                        let (digest, body_len) = (*now.digest(), now.body_len());
                        let finished =
                            FinishedFile { place, path, file, stored, status, digest, body_len };
                        self.admit_if(finished, ReplaceCondition::Only(now.id()))
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

    /// Renames an update into place: over the entry, or beside a large entry. Returns false if the
    /// entry is gone.
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
        if self.root.is_synced() {
            file.sync().map_err(fail)?;
        }
        if self.pending.path(entry.place()).is_some() {
            // The update file is stored beside the entry, so the entry needs its final name first.
            self.write_batch();
        }
        let path = {
            let _commit = lock(&self.commit);
            if self.pending.path(entry.place()).is_some() {
                return Ok(false);
            }
            let settled = self.newest_in_tree(entry.place())?;
            let Some((path, _)) = settled.filter(|(_, now)| now.id() == entry.id()) else {
                return Ok(false);
            };
            let path = to(&path);
            self.root.rename_into_place(aside, &path)?;
            self.root.leaves_tmp();
            path
        };
        self.root.sync_name(&path)?;
        Ok(true)
    }
}

/// Builds the file of an entry with another head and state.
fn rewritten(entry: &Entry, body: &[u8], head: &[u8], state: &EntryState) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (place, tail) = (entry.place(), entry.tail());
    let (id, when) = (entry.id(), entry.received());
    let start = StartWriter::write(&mut bytes, place, id, when, state, head, WritePurpose::Whole);
    bytes.extend_from_slice(body);
    bytes.extend_from_slice(tail);
    let (digest, stored) = (*entry.digest(), entry.stored());
    let (body_len, tail_len) = (wide(body.len()), wide(tail.len()));
    let finish = FinalFields { body_len, digest, tail_len, stored, cut: false };
    let fixed = start.fixed(&finish);
    bytes.get_mut(..fixed.len()).unwrap_or_default().copy_from_slice(&fixed);
    bytes
}
