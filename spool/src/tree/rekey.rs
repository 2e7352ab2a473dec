//! Another name for what is kept: its files are written anew with the URL, owner and key of another place;
//! bodies, times and what was learnt since stay.

use crate::tree::Tree;
use crate::tree::session::Session;
use std::sync::Arc;

use crate::entry::place::Place;
use crate::entry::{Entry, Lookup};
use crate::error::{Error, Result};
use crate::fs::parallel::lock;
use crate::tree::writer::{BodyEnd, Writer};
use crate::tree::{ReplaceCondition, versions};

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

/// Moves every entry of a key, with its older versions, to another place.
pub(crate) fn move_to(
    session: &Arc<Session>,
    from: &Place,
    to: &Place,
    is_forced: bool,
) -> Result<Moved> {
    if from.key() == to.key() {
        return Err(Error::invalid("the new URL", "is the old one", to.url().as_bytes()));
    }
    let tree = &session.tree;
    let found = tree.entries(from)?.found;
    if found.is_empty() {
        return Ok(Moved::Nothing);
    }
    let there = tree.entries(to)?.found;
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
        if !copy(session, entry, &to, same, is_forced)? {
            take_back(tree, &copied)?;
            return Ok(Moved::Taken);
        }
        copied.push((entry, to));
    }
    // Before the older versions come, of which an opening would make the newest.
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
                .unwrap_or_else(Error::writer_broken));
        }
        copy_versions(session, entry.place(), &to)?;
        // Unless another answer has come meanwhile.
        tree.remove_entry(entry.place(), entry.id())?;
    }
    Ok(Moved::Yes)
}

/// Copies an entry to a place where `there` was found. False: another answer came there meanwhile.
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
    // What takes the place of something is newer than that.
    let mut writer = Writer::begin_copy(Arc::clone(session), to, entry, None)?;
    writer.finish_copy(entry, ReplaceCondition::Anything)
}

/// Removes what was copied, unless something else has its place by now.
fn take_back(tree: &Tree, copied: &[(&Entry, Place)]) -> Result<()> {
    for (entry, to) in copied {
        // They would go with it, and are not of this.
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
    // The oldest first: what is there when it stops has no gaps behind it.
    for stored in versions::times(&*tree.root.disk, &tree.root.path, from)?.into_iter().rev() {
        let entry = match tree.version(from, stored)? {
            Lookup::Found(entry) => entry,
            // It would go with the entry.
            Lookup::Missing
                if versions::times(&*tree.root.disk, &tree.root.path, from)?.contains(&stored) =>
            {
                let path = tree.root.join(versions::version_path(from, stored));
                let why = std::io::Error::other("it is there and cannot be opened");
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
            // It is not lost with those that went.
            Err(error) if error.is_damaged() => {
                tree.set_refuted_holder_aside(&entry)?;
                tree.damaged_version(from, stored);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
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
        offset += crate::fs::size::wide(read);
    }
}

impl Writer {
    /// Copies the body of an entry and completes it in its place. False: that is not what it may replace.
    fn finish_copy(&mut self, entry: &Entry, over: ReplaceCondition<'_>) -> Result<bool> {
        write_body(entry, self)?;
        let (finished, _) = self.complete(entry.trailers(), BodyEnd::Whole)?;
        let is_there = self.tree().admit_over(finished, over)?;
        if is_there {
            self.set_admitted();
        }
        Ok(is_there)
    }

    /// Completes it as an older version of its place, unless that has it.
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
