//! Another name for what is kept: its files are written anew with the URL, owner and key of another place;
//! bodies, times and what was learnt since stay.

use std::sync::Arc;

use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::place::Place;
use crate::store::{Over, lock};
use crate::versions;
use crate::writer::{Ended, Writer};
use crate::{Lookup, Spool};

/// What is copied of a body at once, in bytes.
const PIECE: usize = 1 << 20;

/// What became of something that was to have another place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// It has it.
    Yes,
    /// There was nothing.
    Nothing,
    /// Something is kept there already, or came while it was copied; nothing was done.
    Taken,
}

impl Spool {
    /// Gives what is kept under the key of a place, whatever its variant, the place `to`, with its older
    /// versions. What is kept there of the same variant is replaced only if that `is_forced`. What is damaged stays behind, set
    /// aside; parts of answers stay too.
    ///
    /// Nothing goes before it is as durable under its new name as the setting says. After a crash it may
    /// have both names; the same call then goes on.
    ///
    /// # Errors
    ///
    /// [`Error::is_too_large`] and [`Error::is_invalid`] for a place that cannot be written down, and for
    /// the same place; [`Error::is_damaged`] when a body is not what was stored; or when the disk fails or is
    /// full. Then all is there still.
    pub fn move_to(&self, from: &Place, to: &Place, is_forced: bool) -> Result<Moved> {
        if from.key() == to.key() {
            return Err(Error::invalid("the new URL", "is the old one", to.url().as_bytes()));
        }
        let (store, found) = (&self.0.store, self.entries(from)?.found);
        if found.is_empty() {
            return Ok(Moved::Nothing);
        }
        let there = self.entries(to)?.found;
        // Not what a crash has left of an earlier call.
        let is_other = |there: &Entry, entry: &Entry| {
            there.place().variant_text() == entry.place().variant_text() && !is_copy(there, entry)
        };
        if !is_forced && there.iter().any(|there| found.iter().any(|it| is_other(there, it))) {
            return Ok(Moved::Taken);
        }
        let place_of = |entry: &Entry| to.clone().with_variant(entry.place().variant_text());
        let mut copied = Vec::new();
        for entry in &found {
            let to = place_of(entry);
            let same = there.iter().find(|there| *there.place() == to);
            if same.is_some_and(|there| is_copy(there, entry)) {
                continue;
            }
            if !self.copy(entry, &to, same, is_forced)? {
                self.take_back(&copied)?;
                return Ok(Moved::Taken);
            }
            copied.push((entry, to));
        }
        // Before the older versions come, of which an opening would make the newest.
        store.write_batch();
        for entry in &found {
            let to = place_of(entry);
            let is_there = store.exact(&to)?.is_some_and(|it| it.digest() == entry.digest());
            if !is_there || store.pending.path(&to).is_some() {
                return Err(self
                    .failures()
                    .into_iter()
                    .next()
                    .or_else(|| store.pending.shortage())
                    .unwrap_or_else(Error::writer_broken));
            }
            self.copy_versions(entry.place(), &to)?;
            // Unless another answer has come meanwhile.
            store.remove_entry(entry.place(), entry.id())?;
        }
        Ok(Moved::Yes)
    }

    /// Copies an entry to a place where `there` was found. False: another answer came there meanwhile.
    fn copy(
        &self,
        entry: &Entry,
        to: &Place,
        there: Option<&Entry>,
        is_forced: bool,
    ) -> Result<bool> {
        if there.is_none() {
            let mut writer =
                Writer::begin_copy(Arc::clone(&self.0), to, entry, Some(entry.stored()))?;
            if writer.finish_copy(entry, Over::Nothing)? {
                return Ok(true);
            }
        }
        if !is_forced {
            return Ok(false);
        }
        // What takes the place of something is newer than that.
        let mut writer = Writer::begin_copy(Arc::clone(&self.0), to, entry, None)?;
        writer.finish_copy(entry, Over::Anything)
    }

    /// Removes what was copied, unless something else has its place by now.
    fn take_back(&self, copied: &[(&Entry, Place)]) -> Result<()> {
        let store = &self.0.store;
        for (entry, to) in copied {
            // They would go with it, and are not of this.
            if !versions::times(&*store.disk, &store.root, to)?.is_empty() {
                continue;
            }
            if let Some(there) = store.exact(to)?.filter(|there| is_copy(there, entry)) {
                store.remove_entry(to, there.id())?;
            }
        }
        Ok(())
    }

    fn copy_versions(&self, from: &Place, to: &Place) -> Result<()> {
        let store = &self.0.store;
        // The oldest first: what is there when it stops has no gaps behind it.
        for stored in versions::times(&*store.disk, &store.root, from)?.into_iter().rev() {
            let entry = match self.version(from, stored)? {
                Lookup::Found(entry) => entry,
                // It would go with the entry.
                Lookup::Missing
                    if versions::times(&*store.disk, &store.root, from)?.contains(&stored) =>
                {
                    let path = store.root.join(versions::version_path(from, stored));
                    let why = std::io::Error::other("it is there and cannot be opened");
                    return Err(Error::disk("read", &path, why));
                }
                Lookup::Missing | Lookup::SetAside(_) => continue,
            };
            if store.free_version(to, entry.stored(), *entry.digest())?.is_none() {
                continue;
            }
            let mut writer =
                Writer::begin_copy(Arc::clone(&self.0), to, &entry, Some(entry.stored()))?;
            match write_body(&entry, &mut writer) {
                Ok(()) => writer.finish_version(&entry)?,
                // It is not lost with those that went.
                Err(error) if error.is_damaged() => {
                    store.set_refuted_holder_aside(&entry)?;
                    store.damaged_version(from, stored);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whether one is what the other was written anew as.
fn is_copy(one: &Entry, other: &Entry) -> bool {
    let about =
        |entry: &Entry| (entry.stored(), *entry.digest(), entry.place().variant_text().to_owned());
    about(one) == about(other)
}

/// Copies a body; no byte of it that is not what was stored.
fn write_body(entry: &Entry, writer: &mut Writer) -> Result<()> {
    let (mut body, mut piece, mut offset) = (entry.verified(), vec![0; PIECE], 0);
    loop {
        let read = body.read_at(offset, &mut piece)?;
        if read == 0 {
            return Ok(());
        }
        writer.write(piece.get(..read).unwrap_or_default())?;
        offset += crate::layout::wide(read);
    }
}

impl Writer {
    /// Copies the body of an entry and completes it in its place. False: that is not what it may replace.
    fn finish_copy(&mut self, entry: &Entry, over: Over<'_>) -> Result<bool> {
        write_body(entry, self)?;
        let (finished, _) = self.complete(entry.trailers(), Ended::Whole)?;
        let is_there = self.store().admit_over(finished, over)?;
        if is_there {
            self.set_admitted();
        }
        Ok(is_there)
    }

    /// Completes it as an older version of its place, unless that has it.
    fn finish_version(mut self, entry: &Entry) -> Result<()> {
        let handle = Arc::clone(self.handle());
        let store = &handle.store;
        let place = self.place().clone();
        let _told = store.changing(&place);
        let _commit = lock(&store.commit);
        let free = store.free_version(&place, entry.stored(), *entry.digest())?;
        let Some(stored) = free else { return Ok(()) };
        let (finished, _) = self.complete_as_of(stored, entry.trailers())?;
        store.make_version(&finished)?;
        self.set_admitted();
        Ok(())
    }
}
