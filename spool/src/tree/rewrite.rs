//! Compressing and expanding stored files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::entry::gzip::{
    DISK_BLOCK, RewriteBounds, RewriteOutcome, RewriteStop, may_shrink, pack, read_back,
};
use crate::entry::place::Place;
use crate::entry::read::{EntryContent, ExpectedEntry};
use crate::entry::verified::VerifiedReader;
use crate::entry::{Entry, read};
use crate::error::{Error, Result};
use crate::fs::DiskFile;
use crate::fs::parallel::lock;
use crate::fs::size::wide;
use crate::tree::Tree;
use crate::tree::versions::version_path;

/// The number of bytes copied at once.
const PIECE: usize = 128 << 10;

/// The form that a file should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileForm {
    Compressed,
    Plain,
}

impl Tree {
    /// Rewrites the entry of a place, or its older version that was stored at the time `version`.
    pub(crate) fn rewrite(
        &self,
        place: &Place,
        version: Option<Timestamp>,
        form: FileForm,
        bounds: &RewriteBounds<'_>,
    ) -> Result<RewriteOutcome> {
        if version.is_none() && self.pending.path(place).is_some() {
            // The entry waits for its batch. It needs its final name first, because the rewritten
            // file replaces the file of that name.
            self.write_batch();
        }
        let Some((path, entry)) = self.file_of(place, version)? else {
            return Ok(RewriteOutcome::Missing);
        };
        if entry.is_compressed == (form == FileForm::Compressed) {
            return Ok(RewriteOutcome::Already);
        }
        if form == FileForm::Compressed && !may_shrink(&entry)? {
            return Ok(RewriteOutcome::NotWorth);
        }
        let most = if form == FileForm::Plain { entry.first.length } else { entry.file_len() };
        if let Some(refused) = bounds.refuse(most) {
            return Ok(refused);
        }
        let (aside, file) = self.root.create_rewrite()?;
        let done = self.rewrite_to((&aside, file), (&path, version), &entry, (form, bounds));
        if !matches!(done, Ok(RewriteOutcome::Done { .. })) {
            self.root.discard(&aside);
        }
        done
    }

    /// Returns the file to rewrite. `None` if there is no such entry or version.
    fn file_of(
        &self,
        place: &Place,
        version: Option<Timestamp>,
    ) -> Result<Option<(PathBuf, Entry)>> {
        let found = match version {
            None => self.newest_in_tree(place)?,
            Some(stored) => {
                let path = self.root.join(version_path(place, stored));
                let found = self.stored_at(&path, place)?;
                found.filter(|version| version.stored() == stored).map(|found| (path, found))
            }
        };
        match found {
            // An entry without a body of its own has a small file. The holder of its body is
            // rewritten instead.
            Some((_, entry)) if entry.shares_body() => self.holder_of(&entry),
            found => Ok(found),
        }
    }

    /// Reads the entry at a path without its update file.
    fn stored_at(&self, path: &Path, place: &Place) -> Result<Option<Entry>> {
        let expected = ExpectedEntry { place, name: place.variant_name() };
        match read::read(&*self.root.disk, &self.root.path, path, Some(expected))? {
            EntryContent::Whole(entry) => Ok(Some(entry)),
            _ => Ok(None),
        }
    }

    /// Writes the new file, and renames it if the entry is unchanged.
    fn rewrite_to(
        &self,
        (aside, file): (&Path, Arc<dyn DiskFile>),
        (path, version): (&Path, Option<Timestamp>),
        entry: &Entry,
        (form, bounds): (FileForm, &RewriteBounds<'_>),
    ) -> Result<RewriteOutcome> {
        let written = match form {
            FileForm::Compressed => compress((aside, &file), entry, bounds)?,
            FileForm::Plain => expand((aside, &*file), entry, bounds)?,
        };
        let after = match written {
            Ok(len) => len,
            Err(RewriteStop::Refused(why)) => return Ok(why),
            Err(RewriteStop::Damaged) => {
                self.set_damaged_aside(entry, version)?;
                return Ok(RewriteOutcome::Missing);
            }
        };
        // Synced under every setting, because the file that it replaces may be durable.
        file.sync().map_err(|error| Error::disk("write", aside, error))?;
        let place = entry.place();
        let _told = self.changing(place);
        let _commit = lock(&self.commit);
        let is_pending = version.is_none() && self.pending.path(place).is_some();
        let now = self.stored_at(path, place)?;
        if is_pending || !now.is_some_and(|now| now.is_same_file(entry)) {
            return Ok(RewriteOutcome::Overtaken);
        }
        self.root.rename_into_place(aside, path)?;
        Ok(RewriteOutcome::Done { before: entry.file_len(), after })
    }

    /// Sets an entry or version with a damaged body aside.
    fn set_damaged_aside(&self, entry: &Entry, version: Option<Timestamp>) -> Result<()> {
        if let Some(stored) = version {
            self.damaged_version(entry.place(), stored);
        } else if let Some(damage) = self.set_aside(entry, "its body does not match its digest")? {
            self.root.record_failure(Error::damaged(damage));
        }
        Ok(())
    }
}

/// Compresses an entry, and verifies the result. Returns the length of the new file in bytes.
fn compress(
    (path, file): (&Path, &Arc<dyn DiskFile>),
    entry: &Entry,
    bounds: &RewriteBounds<'_>,
) -> Result<Result<u64, RewriteStop>> {
    let most = entry.file_len() - entry.file_len() / 10;
    let (len, digest) = match pack(entry, (path, &**file), (most, bounds))? {
        Ok(packed) => packed,
        Err(stop) => return Ok(Err(stop)),
    };
    if !is_worth(entry.file_len(), len) {
        return Ok(Err(RewriteStop::Refused(RewriteOutcome::NotWorth)));
    }
    if let Some(refused) = bounds.refuse(0) {
        return Ok(Err(RewriteStop::Refused(refused)));
    }
    let back = read_back(Arc::clone(file), len);
    if back.map_err(|error| Error::disk("read", path, error))? != Some(digest) {
        let why = "the compressed file does not expand to the original";
        return Err(Error::disk("write", path, std::io::Error::other(why)));
    }
    Ok(Ok(len))
}

/// Whether the rewrite saves at least one block of the disk, and a tenth of the file.
fn is_worth(before: u64, after: u64) -> bool {
    let blocks = |len: u64| len.div_ceil(DISK_BLOCK);
    blocks(after) < blocks(before) && after <= before - before / 10
}

/// Writes an entry without compression. Returns the length of the new file in bytes.
fn expand(
    (path, file): (&Path, &dyn DiskFile),
    entry: &Entry,
    bounds: &RewriteBounds<'_>,
) -> Result<Result<u64, RewriteStop>> {
    let fail = |error| Error::disk("write", path, error);
    let begin = entry.bytes.get(..entry.first.body_offset()).unwrap_or_default();
    file.write_all_at(begin, 0).map_err(fail)?;
    let (mut body, mut buffer, mut at) = (VerifiedReader::of(entry.body()), vec![0; PIECE], 0);
    while at < entry.body_len() {
        let read = match body.read_at(at, &mut buffer) {
            Ok(0) => return Ok(Err(RewriteStop::Damaged)),
            Ok(read) => read,
            Err(error) if error.is_damaged() => return Ok(Err(RewriteStop::Damaged)),
            Err(error) => return Err(error),
        };
        if let Some(refused) = bounds.refuse(0) {
            return Ok(Err(RewriteStop::Refused(refused)));
        }
        let piece = buffer.get(..read).unwrap_or_default();
        file.write_all_at(piece, wide(begin.len()) + at).map_err(fail)?;
        at += wide(read);
    }
    file.write_all_at(entry.tail(), entry.first.body_end()).map_err(fail)?;
    Ok(Ok(entry.first.length))
}

#[cfg(test)]
mod tests {
    use super::is_worth;

    #[test]
    fn a_rewrite_must_save_a_block_and_a_tenth() {
        for (before, after, want) in [
            (4_096, 100, false),
            (4_097, 4_096, false),
            (5_000, 4_000, true),
            (5_000, 4_500, false),
            (8_192, 4_097, false),
            (8_192, 4_096, true),
            (100_000, 90_000, true),
            (100_000, 90_001, false),
            (1 << 40, 1, true),
        ] {
            assert_eq!(is_worth(before, after), want, "{before} {after}");
        }
    }
}
