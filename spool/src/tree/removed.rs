//! Removals that can be undone for a while.
//!
//! ```text
//! removed/1700000000000000-6ae8a755…/http/www.example.org/9f/9f86d081….warc
//! ```
//!
//! Files that are removed together are in one directory, under their previous paths. The name of
//! the directory is the time of removal, in microseconds since 1970, and a hash of the person. Only
//! this person can undo the removal ([`back`]). Lookups do not read this directory, so readers stop
//! finding the entries at once.
//!
//! The new name of each file is made durable before the old name is removed ([`rest`]), also when
//! the file is brought back. So after a crash every file has at least one of the two names. A
//! removed file may still need a shared body. So the walk that finds unneeded bodies also reads
//! this directory, and removes nothing while files move ([`MoveGuard`]).

mod back;
mod rest;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Mutex;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use crate::entry::place::{EXTENSION, Place};
use crate::error::{Error, Result};
use crate::fs::parallel::lock;
use crate::fs::{FileKind, parent};
use crate::tree::Tree;
use crate::tree::walk::texts;
use wwwoffle_url::Key;

pub use self::back::BringBackReport;

/// The directory of removed files.
pub(crate) const REMOVED: &str = "removed";

/// The time during which a removal can be undone.
pub const REMOVED_FOR: SignedDuration = SignedDuration::from_hours(1);

/// The largest size of `removed/`, in bytes.
pub const MAX_REMOVED_BYTES: u64 = 16 << 30;

/// The ending of update files.
const OVERLAY: &str = ".update.warc";

/// An upper bound for the levels of directories: scheme, host, two digits of the key, variants.
const MAX_DEPTH: usize = 5;

/// The length of the hash of the person, in bytes.
const OWNER_LEN: usize = 16;

/// The name of one removal, which can be undone as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Removal {
    at: Timestamp,
    by: [u8; OWNER_LEN],
}

/// A removal that can be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemovalSummary {
    /// The name of the removal.
    pub removal: Removal,
    /// The number of entries, without their older versions.
    pub entries: u64,
    /// The length of all files, in bytes.
    pub bytes: u64,
}

/// A text that is not the name of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the name of a removal, as 1700000000000000-… with 32 hex digits")]
pub struct ParseRemovalError;

impl Removal {
    pub(crate) fn new(at: Timestamp, who: &str) -> Removal {
        Removal { at, by: hashed(who) }
    }

    /// The time of the removal.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Whether this person removed the entries.
    #[must_use]
    pub fn is_by(&self, who: &str) -> bool {
        self.by == hashed(who)
    }

    /// Whether the removal can no longer be undone. A time in the future counts like a time in the
    /// past that is equally far away: otherwise a removal would last for ever after a clock was set
    /// back.
    fn is_over(&self, now: Timestamp) -> bool {
        now.duration_since(self.at).abs() > REMOVED_FOR
    }

    /// The path of its directory below the root.
    fn directory(&self) -> PathBuf {
        Path::new(REMOVED).join(self.to_string())
    }
}

fn hashed(who: &str) -> [u8; OWNER_LEN] {
    let digest: [u8; 32] = Sha256::digest(who).into();
    digest.first_chunk().copied().unwrap_or_default()
}

impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016}-{}", self.at.as_microsecond(), hex::encode(self.by))
    }
}

impl FromStr for Removal {
    type Err = ParseRemovalError;

    fn from_str(text: &str) -> Result<Removal, ParseRemovalError> {
        let (at, by) = text.split_once('-').ok_or(ParseRemovalError)?;
        let at = at.parse().ok().and_then(|at| Timestamp::from_microsecond(at).ok());
        let mut removal = Removal { at: at.ok_or(ParseRemovalError)?, by: [0; OWNER_LEN] };
        hex::decode_to_slice(by, &mut removal.by).map_err(|_| ParseRemovalError)?;
        // Each removal has only one valid spelling.
        if removal.to_string() == text { Ok(removal) } else { Err(ParseRemovalError) }
    }
}

/// The type of a removed file, derived from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RemovedKind {
    Entry,
    Version,
    Overlay,
}

fn named(path: &Path) -> Option<RemovedKind> {
    let name = path.file_name()?.to_str()?;
    if name.ends_with(OVERLAY) {
        return Some(RemovedKind::Overlay);
    }
    let stem = name.strip_suffix(EXTENSION)?;
    Some(if stem.parse::<Key>().is_ok() { RemovedKind::Entry } else { RemovedKind::Version })
}

/// The count of the moves between the tree and `removed/`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MoveCount {
    under_way: u32,
    begun: u64,
}

impl MoveCount {
    /// Whether nothing has moved since `before`, and no move was in progress at that time.
    pub(crate) fn is_unchanged_since(self, before: MoveCount) -> bool {
        before.under_way == 0 && self.begun == before.begun
    }
}

/// The locks of removals.
#[derive(Debug, Default)]
pub(crate) struct RemovalLocks {
    /// The count of moves to `removed/` and back.
    pub(crate) moves: Mutex<MoveCount>,
    /// Held while files leave `removed/`.
    resting: Mutex<()>,
}

/// A guard: while it exists, files count as moving.
pub(crate) struct MoveGuard<'a>(&'a Tree);

impl Drop for MoveGuard<'_> {
    fn drop(&mut self) {
        lock(&self.0.removals.moves).under_way -= 1;
    }
}

impl Tree {
    /// The removals of `who` that can be undone, the newest first.
    pub(crate) fn list_removals(&self, who: &str) -> Result<Vec<RemovalSummary>> {
        let now = self.root.disk.now();
        let mut all = self.removals()?;
        all.retain(|removal| removal.is_by(who) && !removal.is_over(now));
        all.iter().rev().map(|removal| self.summarize(removal)).collect()
    }

    /// Deletes removals older than [`REMOVED_FOR`]. Then deletes the oldest removals until the rest
    /// has at most `most` bytes, and at most [`MAX_REMOVED_BYTES`]. Returns the number of deleted
    /// bytes.
    pub(crate) fn forget_removed(&self, most: u64) -> Result<u64> {
        let (now, most, mut gone) = (self.root.disk.now(), most.min(MAX_REMOVED_BYTES), 0_u64);
        let mut all = Vec::new();
        for removal in self.removals()? {
            all.push(self.summarize(&removal)?);
        }
        let mut total = all.iter().fold(0_u64, |sum, one| sum.saturating_add(one.bytes));
        for RemovalSummary { removal, bytes, .. } in all {
            if removal.is_over(now) || total > most {
                self.delete_files(&removal)?;
                total = total.saturating_sub(bytes);
                gone = gone.saturating_add(bytes);
            }
        }
        Ok(gone)
    }

    pub(crate) fn begin_move(&self) -> MoveGuard<'_> {
        let mut moves = lock(&self.removals.moves);
        moves.under_way += 1;
        moves.begun += 1;
        MoveGuard(self)
    }

    /// Every removal, the oldest first. Other names in the directory are ignored.
    pub(crate) fn removals(&self) -> Result<Vec<Removal>> {
        let names = texts(&*self.root.disk, &self.root.join(REMOVED))?;
        let mut all: Vec<Removal> = names.iter().filter_map(|name| name.parse().ok()).collect();
        all.sort_unstable();
        Ok(all)
    }

    /// The directories of all removals.
    pub(crate) fn removal_roots(&self) -> Result<Vec<PathBuf>> {
        let all = self.removals()?;
        Ok(all.iter().map(|removal| self.root.join(removal.directory())).collect())
    }

    /// Whether a removal has a file of the key of this place.
    pub(crate) fn removal_has(&self, removal: &Removal, place: &Place) -> Result<bool> {
        let key = place.key().to_string();
        let directory = self.root.join(removal.directory()).join(parent(&place.single_path()));
        Ok(texts(&*self.root.disk, &directory)?.iter().any(|name| name.starts_with(&key)))
    }

    fn summarize(&self, removal: &Removal) -> Result<RemovalSummary> {
        let mut resting = RemovalSummary { removal: *removal, entries: 0, bytes: 0 };
        let base = self.root.join(removal.directory());
        for path in self.files_below(&base)?.files {
            let about = self.root.disk.about(&path);
            let about = about.map_err(|error| Error::disk("look at", &path, error))?;
            let bytes = about.map_or(0, |about| about.len);
            resting.bytes = resting.bytes.saturating_add(bytes);
            resting.entries += u64::from(named(&path) == Some(RemovedKind::Entry));
        }
        Ok(resting)
    }

    /// Deletes the files of a removal.
    fn delete_files(&self, removal: &Removal) -> Result<()> {
        let _one = lock(&self.removals.resting);
        let base = self.root.join(removal.directory());
        let below = self.files_below(&base)?;
        for path in &below.files {
            self.root.remove_file(path)?;
        }
        self.remove_directories(&below.directories);
        Ok(())
    }

    /// Removes empty directories, the innermost first.
    fn remove_directories(&self, directories: &[PathBuf]) {
        for directory in directories.iter().rev() {
            let _ = self.root.disk.remove_dir(directory);
        }
    }

    /// Lists the files and directories below a directory. Each directory comes before its content.
    fn files_below(&self, base: &Path) -> Result<FilesBelow> {
        let mut below = FilesBelow::default();
        let mut ahead = vec![(base.to_owned(), 0)];
        while let Some((directory, depth)) = ahead.pop() {
            for name in texts(&*self.root.disk, &directory)? {
                let path = directory.join(name);
                let about = self.root.disk.about(&path);
                let about = about.map_err(|error| Error::disk("look at", &path, error))?;
                match about.map(|about| about.kind) {
                    Some(FileKind::Directory) if depth < MAX_DEPTH => ahead.push((path, depth + 1)),
                    Some(FileKind::File) => below.files.push(path),
                    _ => {}
                }
            }
            below.directories.push(directory);
        }
        Ok(below)
    }
}

/// The files and directories below a directory.
#[derive(Debug, Default)]
struct FilesBelow {
    files: Vec<PathBuf>,
    directories: Vec<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_name_round_trips_and_others_are_refused() {
        let at = Timestamp::from_microsecond(1_700_000_000_000_000).unwrap();
        let removal = Removal { at, by: hashed("ada") };
        assert_eq!(removal.to_string().parse(), Ok(removal));
        assert!(removal.is_by("ada") && !removal.is_by("bob") && !removal.is_by(""));
        let digits = hex::encode(removal.by);
        for text in [
            String::new(),
            "1700000000000000".to_owned(),
            format!("1700000000000000-{}", &digits[1..]),
            format!("1700000000000000-{}", digits.to_uppercase()),
            format!("+1700000000000000-{digits}"),
            format!("01700000000000000-{digits}"),
            format!("../1700000000000000-{digits}"),
            format!("1700000000000000-{digits}/.."),
        ] {
            assert_eq!(text.parse::<Removal>(), Err(ParseRemovalError), "{text}");
        }
    }

    #[test]
    fn removal_expires_after_an_hour_or_a_clock_change() {
        let at = |minute: i64| Timestamp::from_second(1_700_000_000 + 60 * minute).unwrap();
        let removal = Removal { at: at(0), by: [0; OWNER_LEN] };
        for (minute, want) in [(0, false), (60, false), (61, true), (-60, false), (-61, true)] {
            assert_eq!(removal.is_over(at(minute)), want, "{minute}");
        }
    }
}
