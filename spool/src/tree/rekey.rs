//! Moving entries to another place. The files are rewritten with the URL, owner and key of the new
//! place. Bodies and updates stay the same. Times stay the same too, unless a copy replaces an
//! entry: then the copy is stored as the newer one.

use crate::tree::Tree;
use crate::tree::session::Session;
use std::sync::Arc;

use crate::entry::place::Place;
use crate::entry::{Entry, Lookup};
use crate::error::{Error, Result, SpoolFault};
use crate::fs::parallel::lock;
use crate::tree::writer::{BodyExtent, Writer};
use crate::tree::{ReplaceCondition, versions};

/// The result of [`crate::Spool::move_to`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveOutcome {
    /// Every entry was moved.
    Yes,
    /// There was no entry.
    Nothing,
    /// The new place has an entry, or got one during the move. Nothing was moved.
    Taken,
}

/// Moves every entry of a key, with its older versions, to another place.
pub(crate) fn move_to(
    session: &Arc<Session>,
    from: &Place,
    to: &Place,
    is_forced: bool,
) -> Result<MoveOutcome> {
    if from.key() == to.key() {
        return Err(Error::invalid(
            "the new URL",
            "is the same as the old one",
            to.url().as_bytes(),
        ));
    }
    let tree = &session.tree;
    let found = tree.entries(from)?.found;
    if found.is_empty() {
        return Ok(MoveOutcome::Nothing);
    }
    let there = tree.entries(to)?.found;
    // Copies that an earlier, interrupted call has made do not count as other entries.
    let is_other = |there: &Entry, entry: &Entry| {
        there.place().variant_text() == entry.place().variant_text() && !is_copy(there, entry)
    };
    if !is_forced && there.iter().any(|there| found.iter().any(|it| is_other(there, it))) {
        return Ok(MoveOutcome::Taken);
    }
    let place_of = |entry: &Entry| to.clone().with_variant(entry.place().variant_text());
    let mut copied = Vec::new();
    for entry in &found {
        let to = place_of(entry);
        let same = there.iter().find(|there| *there.place() == to);
        if same.is_some_and(|there| is_copy(there, entry)) {
            continue;
        }
        if !copy(session, entry, &to, same, is_forced)? {
            remove_copies(tree, &copied)?;
            return Ok(MoveOutcome::Taken);
        }
        copied.push((entry, to));
    }
    // The batch is written before the older versions are copied. Otherwise, after a crash, the next
    // opening would make the newest version the entry.
    tree.write_batch();
    for entry in &found {
        let to = place_of(entry);
        let is_there = tree.exact(&to)?.is_some_and(|it| it.digest() == entry.digest());
        if !is_there || tree.pending.path(&to).is_some() {
            return Err(tree
                .root
                .take_failures()
                .into_iter()
                .next()
                .or_else(|| tree.pending.shortage())
                .unwrap_or_else(|| SpoolFault::WriterBroken.into()));
        }
        copy_versions(session, entry.place(), &to)?;
        // Does nothing if the entry was replaced in the meantime.
        tree.remove_entry(entry.place(), entry.id())?;
    }
    Ok(MoveOutcome::Yes)
}

/// Copies an entry to the place `to`, where the entry `there` was found. If the place has an entry,
/// replaces it if `is_forced`, and otherwise returns false.
fn copy(
    session: &Arc<Session>,
    entry: &Entry,
    to: &Place,
    there: Option<&Entry>,
    is_forced: bool,
) -> Result<bool> {
    if there.is_none() {
        let mut writer = Writer::begin_copy(Arc::clone(session), to, entry, Some(entry.stored()))?;
        if writer.finish_copy(entry, ReplaceCondition::Nothing)? {
            return Ok(true);
        }
    }
    if !is_forced {
        return Ok(false);
    }
    // If the copy replaces an entry, it must count as newer than that entry.
    let mut writer = Writer::begin_copy(Arc::clone(session), to, entry, None)?;
    writer.finish_copy(entry, ReplaceCondition::Anything)
}

/// Removes the copies, except where the place got another entry.
fn remove_copies(tree: &Tree, copied: &[(&Entry, Place)]) -> Result<()> {
    for (entry, to) in copied {
        // Removing this copy would also remove the versions of the place.
        if !versions::times(&*tree.root.disk, &tree.root.path, to)?.is_empty() {
            continue;
        }
        if let Some(there) = tree.exact(to)?.filter(|there| is_copy(there, entry)) {
            tree.remove_entry(to, there.id())?;
        }
    }
    Ok(())
}

fn copy_versions(session: &Arc<Session>, from: &Place, to: &Place) -> Result<()> {
    let tree = &session.tree;
    // The oldest version is copied first, so an interrupted move leaves no gaps.
    for stored in versions::times(&*tree.root.disk, &tree.root.path, from)?.into_iter().rev() {
        let entry = match tree.version(from, stored)? {
            Lookup::Found(entry) => entry,
            // The version still exists but was not found. Removing the entry would lose the
            // version.
            Lookup::Missing
                if versions::times(&*tree.root.disk, &tree.root.path, from)?.contains(&stored) =>
            {
                let path = tree.root.join(versions::version_path(from, stored));
                let why = std::io::Error::other("it exists but cannot be opened");
                return Err(Error::disk("read", &path, why));
            }
            Lookup::Missing | Lookup::SetAside(_) => continue,
        };
        if tree.free_version(to, entry.stored(), *entry.digest())?.is_none() {
            continue;
        }
        let mut writer = Writer::begin_copy(Arc::clone(session), to, &entry, Some(entry.stored()))?;
        match write_body(&entry, &mut writer) {
            Ok(()) => writer.finish_version(&entry)?,
            // The damaged version is set aside, so that it is not removed with the other versions.
            Err(error) if error.is_damaged() => {
                tree.set_refuted_holder_aside(&entry)?;
                tree.damaged_version(from, stored);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether `one` is `other`, rewritten for another place.
fn is_copy(one: &Entry, other: &Entry) -> bool {
    let about =
        |entry: &Entry| (entry.stored(), *entry.digest(), entry.place().variant_text().to_owned());
    about(one) == about(other)
}

/// Copies a body. Fails before a damaged byte is written.
fn write_body(entry: &Entry, writer: &mut Writer) -> Result<()> {
    entry.verified().copy_to(0..entry.body_len(), |piece| writer.write(piece))
}

impl Writer {
    /// Copies the body of an entry and stores the result. Returns false if the place is not in the
    /// expected state.
    fn finish_copy(&mut self, entry: &Entry, over: ReplaceCondition<'_>) -> Result<bool> {
        write_body(entry, self)?;
        let (finished, _) = self.complete(entry.trailers(), BodyExtent::Whole)?;
        let is_there = self.tree().admit_if(finished, over)?;
        if is_there {
            self.set_admitted();
        }
        Ok(is_there)
    }

    /// Stores the copy as an older version of its place, unless the place has that version already.
    fn finish_version(mut self, entry: &Entry) -> Result<()> {
        let session = Arc::clone(self.session());
        let tree = &session.tree;
        let place = self.place().clone();
        let _told = tree.changing(&place);
        let _commit = lock(&tree.commit);
        let free = tree.free_version(&place, entry.stored(), *entry.digest())?;
        let Some(stored) = free else { return Ok(()) };
        let (finished, _) = self.complete_as_of(stored, entry.trailers())?;
        tree.make_version(&finished)?;
        self.set_admitted();
        Ok(())
    }
}
