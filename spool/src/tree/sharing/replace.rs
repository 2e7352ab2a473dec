//! Comparing two bodies, making a holder (the file of a shared body), and replacing an entry's file
//! by a file with a reference. Each step is durable before the next begins.

use std::borrow::Cow;
use std::path::Path;

use crate::entry::overlay::overlay_path;
use crate::entry::place::Place;
use crate::entry::read::{EntryContent, ExpectedEntry};
use crate::entry::summary::read_start;
use crate::entry::verified::read_piece;
use crate::entry::{Body, BodyFile, Entry, Verifier, read};
use crate::error::{Error, Result};
use crate::fs::parallel::lock;
use crate::fs::size::{narrow, wide};
use crate::fs::{OpenedFile, parent};
use crate::tree::{Tree, UPDATES};

/// The number of bytes read, compared and copied at once.
const PIECE: usize = 128 << 10;

impl Tree {
    /// Reads the entry or version of a place from `path`.
    pub(crate) fn read_at(&self, path: &Path, place: &Place) -> Result<EntryContent> {
        let expected = ExpectedEntry { place, name: place.variant_name() };
        read::read_updated(&*self.root.disk, &self.root.path, path, expected)
    }

    /// Whether `path` still has the same entry in the same state, and no newer entry waits for this
    /// name. The caller holds `commit`.
    fn is_still(&self, path: &Path, entry: &Entry) -> Result<bool> {
        let place = entry.place();
        if self.pending.path(place).is_some() {
            return Ok(false);
        }
        let EntryContent::Whole(now) = self.read_at(path, place)? else { return Ok(false) };
        let is_same_file = match (now.file(), entry.file()) {
            (Some(now), Some(then)) => {
                let fail = |error| Error::disk("look at", path, error);
                now.identity().map_err(fail)? == then.identity().map_err(fail)?
            }
            (now, then) => now.is_none() && then.is_none(),
        };
        let about = |entry: &Entry| (entry.order(), *entry.digest(), entry.shares_body());
        Ok(is_same_file && now.id() == entry.id() && about(&now) == about(entry))
    }

    /// Makes a holder from the file of an entry, durably. Returns false if the entry has changed.
    pub(super) fn make_holder(&self, path: &Path, entry: &Entry, to: &Path) -> Result<bool> {
        let linked = {
            let _commit = lock(&self.commit);
            if !self.is_still(path, entry)? {
                return Ok(false);
            }
            let aside = self.root.link_to_tmp(path)?;
            if let Some(aside) = &aside {
                let renamed = self.root.rename_into_place(aside, to);
                self.root.leaves_tmp();
                let _ = self.root.disk.remove_file(aside);
                renamed?;
            }
            aside.is_some()
        };
        if !linked && !self.copy_file(path, entry, to)? {
            return Ok(false);
        }
        if let OpenedFile::File(file, _) = self.open_file(to)? {
            file.sync().map_err(|error| Error::disk("write", to, error))?;
        }
        self.root.sync_names(&[parent(to)])?;
        Ok(true)
    }

    fn open_file(&self, path: &Path) -> Result<OpenedFile> {
        self.root.disk.open(path).map_err(|error| Error::disk("open", path, error))
    }

    /// Copies the file of an entry, for a file system that allows only one name. Returns false if
    /// the entry has changed.
    fn copy_file(&self, from: &Path, entry: &Entry, to: &Path) -> Result<bool> {
        let OpenedFile::File(source, len) = self.open_file(from)? else { return Ok(false) };
        let (aside, file) = self.root.create_rewrite()?;
        let copied = (|| {
            let (mut piece, mut offset) = (vec![0; PIECE], 0);
            while offset < len {
                let read = source.read_at(&mut piece, offset);
                let read = read.map_err(|error| Error::disk("read", from, error))?;
                let bytes = piece.get(..read).filter(|bytes| !bytes.is_empty());
                let Some(bytes) = bytes else { return Ok(false) };
                let written = file.write_all_at(bytes, offset);
                written.map_err(|error| Error::disk("write", &aside, error))?;
                offset += wide(read);
            }
            file.sync().map_err(|error| Error::disk("write", &aside, error))?;
            let copy =
                read_start(&*self.root.disk, &aside)?.map(|(first, _)| (first.id, first.digest));
            if copy.is_none_or(|(id, digest)| id != entry.id() || digest != *entry.digest()) {
                return Ok(false);
            }
            let _commit = lock(&self.commit);
            self.root.rename_into_place(&aside, to)?;
            self.root.leaves_tmp();
            Ok(true)
        })();
        if !matches!(copied, Ok(true)) {
            self.root.discard(&aside);
        }
        copied
    }

    /// Replaces the file of an entry by a file that refers to the holder. Returns false if the
    /// entry has changed.
    pub(super) fn replace_by_reference(
        &self,
        path: &Path,
        entry: &Entry,
        bytes: &[u8],
    ) -> Result<bool> {
        let (aside, file) = self.root.create_rewrite()?;
        let written = file.write_all_at(bytes, 0).and_then(|()| file.sync());
        let written = written.map_err(|error| Error::disk("write", &aside, error));
        let replaced = written.and_then(|()| self.replace_if_still(path, entry, &aside));
        if !matches!(replaced, Ok(true)) {
            self.root.discard(&aside);
            return replaced;
        }
        self.root.sync_names(&[parent(path)])?;
        let overlay = overlay_path(path);
        if self.root.is_file(&overlay)? {
            // The new file is durable, and contains the head and state of the update file.
            let _commit = lock(&self.commit);
            if matches!(self.read_at(path, entry.place())?, EntryContent::Whole(now) if now.shares_body())
            {
                self.root.remove_file(&overlay)?;
            }
        }
        Ok(true)
    }

    fn replace_if_still(&self, path: &Path, entry: &Entry, aside: &Path) -> Result<bool> {
        let [first, ..] = *entry.place().key().as_bytes();
        let turn = self.updates.get(usize::from(first) % UPDATES);
        // Waits for updates in progress, so that no update is based on the file that is replaced
        // here.
        let _one = turn.map(lock);
        let _told = self.changing(entry.place());
        let _commit = lock(&self.commit);
        if !self.is_still(path, entry)? {
            return Ok(false);
        }
        self.root.rename_into_place(aside, path)?;
        self.root.leaves_tmp();
        Ok(true)
    }
}

/// Whether two bodies have the same bytes, and match their digest.
pub(super) fn is_same(one: &Entry, other: &Entry) -> Result<bool> {
    if one.digest() != other.digest() || one.body_len() != other.body_len() {
        return Ok(false);
    }
    let (mut verifier, mut offset) = (one.file().map(BodyFile::verifier), 0);
    while offset < one.body_len() {
        let piece = piece_at(one.body(), offset)?;
        if piece.is_empty() || piece != piece_at(other.body(), offset)? {
            return Ok(false);
        }
        if let Some(verifier) = &mut verifier {
            verifier.update(&piece);
        }
        offset += wide(piece.len());
    }
    Ok(verifier.is_none_or(Verifier::finish))
}

/// Reads [`PIECE`] bytes of a body from `offset` on, or fewer at its end.
fn piece_at(body: &Body, offset: u64) -> Result<Cow<'_, [u8]>> {
    Ok(match body {
        Body::File(file) => Cow::Owned(read_piece(file, offset, wide(PIECE))?),
        Body::Whole(whole) => {
            let from = narrow(offset).unwrap_or(usize::MAX);
            let rest = whole.get(from..).unwrap_or_default();
            Cow::Borrowed(rest.get(..PIECE).unwrap_or(rest))
        }
    })
}
