//! What could go: the directories of entries walked, each entry with all that would be free without it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bodies::{self, BODIES, Held};
use crate::error::{Error, Result, is_missing};
use crate::fs::{Disk, Opened};
use crate::list::{Summary, beginning, summary_of};
use crate::place::{self, EXTENSION, Place, VARIANTS};
use crate::versions;
use jiff::Timestamp;
use wwwoffle_url::Key;

/// What the file system takes for the name and the block that a file begins, at least, in bytes: small
/// files take a whole block.
pub(super) const BLOCK: u64 = 4_096;

/// An entry that a walk came by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What it is.
    pub summary: Summary,
    /// How many bytes it takes on the disk, with its older versions and what was learnt of it.
    pub size: u64,
    /// When its file was written, as far as the file system knows.
    pub written: Option<Timestamp>,
    /// The bodies that it or an older version shares with others.
    pub bodies: Vec<Held>,
}

/// An entry, when its file was written, and the body that it shares.
type Looked = (Summary, Option<Timestamp>, Option<Held>);

/// The entries of a spool, directory by directory. What waits for its batch has no name yet, and is too new
/// to go.
pub struct Candidates {
    disk: Arc<dyn Disk>,
    /// There are bodies that several entries share.
    has_bodies: bool,
    root: PathBuf,
    /// Directories still to be read, with the depth below the root; the last one next.
    ahead: Vec<(PathBuf, usize)>,
    /// The entries of the directory that was read last.
    found: Vec<Found>,
}

/// The depth of a scheme's directory, and of those that hold entries.
const SCHEME: usize = 1;
const KEYS: usize = 3;

impl Candidates {
    pub(crate) fn new(disk: Arc<dyn Disk>, root: &Path) -> Result<Candidates> {
        let mut ahead = Vec::new();
        for name in names(&*disk, root)? {
            if place::scheme_of(&name).is_some() {
                ahead.push((root.join(name), SCHEME));
            }
        }
        let has_bodies = !names(&*disk, &root.join(BODIES))?.is_empty();
        Ok(Candidates { disk, has_bodies, root: root.to_owned(), ahead, found: Vec::new() })
    }

    /// Reads one directory.
    fn step(&mut self, path: &Path, depth: usize) -> Result<()> {
        let names = names(&*self.disk, path)?;
        if depth == KEYS {
            self.found = self.entries(path, &names)?;
            return Ok(());
        }
        for name in names {
            let is_ours = match depth {
                SCHEME => name.starts_with('=') || place::host_of(&name).is_some(),
                _ => name.len() == 2,
            };
            if is_ours {
                self.ahead.push((path.join(name), depth + 1));
            }
        }
        Ok(())
    }

    fn entries(&self, path: &Path, names: &[String]) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        let beside = self.beside(path, names)?;
        let held = self.shared_by_versions(path, names)?;
        for stem in stems(names, EXTENSION) {
            if let Some((summary, written, own)) = self.look(path, stem)? {
                let size = beside.get(stem).copied().unwrap_or_default();
                let versions = held.get(stem).into_iter().flatten().copied();
                let bodies = own.into_iter().chain(versions).collect();
                found.push(Found { summary, size, written, bodies });
            }
        }
        for stem in stems(names, VARIANTS) {
            // What has the first name hides those in the directory.
            if found.iter().any(|one| one.summary.place.key().to_string() == stem) {
                continue;
            }
            let directory = path.join(format!("{stem}{VARIANTS}"));
            let among = self::names(&*self.disk, &directory)?;
            let sizes = self.beside(&directory, &among)?;
            let shared_among = self.shared_by_versions(&directory, &among)?;
            for variant in stems(&among, EXTENSION) {
                let looked = self.look(&directory, variant)?;
                let Some((summary, written, own)) = looked else { continue };
                // The versions of what varies with nothing stay where they were.
                let is_single = summary.place.variant_text().is_empty();
                let there = if is_single { beside.get(stem) } else { None };
                let size = sizes.get(variant).copied().unwrap_or_default();
                let size = size + there.copied().unwrap_or_default();
                let singles = held.get(stem).filter(|_| is_single);
                let versions = shared_among.get(variant).into_iter().chain(singles).flatten();
                let bodies = own.into_iter().chain(versions.copied()).collect();
                found.push(Found { summary, size, written, bodies });
            }
        }
        Ok(found)
    }

    /// How many bytes the files of each stem take: the entry, its versions, what was learnt of it.
    fn beside<'a>(&self, path: &Path, names: &'a [String]) -> Result<HashMap<&'a str, u64>> {
        let mut sizes = HashMap::new();
        for name in names.iter().filter(|name| name.ends_with(EXTENSION)) {
            let stem = name.split('.').next().unwrap_or_default();
            let file = path.join(name);
            let length = match self.disk.open(&file) {
                Ok(Opened::File(_, length)) => length,
                Ok(Opened::NotAFile) => continue,
                Err(error) if is_missing(&error) => continue,
                Err(error) => return Err(Error::disk("open", &file, error)),
            };
            *sizes.entry(stem).or_default() += length.div_ceil(BLOCK).saturating_mul(BLOCK);
        }
        Ok(sizes)
    }

    /// The bodies that the older versions of each stem share with others.
    fn shared_by_versions<'a>(
        &self,
        path: &Path,
        names: &'a [String],
    ) -> Result<HashMap<&'a str, Vec<Held>>> {
        let mut shared: HashMap<_, Vec<_>> = HashMap::new();
        for name in names.iter().filter(|_| self.has_bodies) {
            let stem = name.split('.').next().unwrap_or_default();
            if versions::time_of(name, stem).is_none() {
                continue;
            }
            if let Some(held) = bodies::held_by(&*self.disk, &self.root, &path.join(name))? {
                shared.entry(stem).or_default().push(held);
            }
        }
        Ok(shared)
    }

    /// The entry of this name; `None` when there is none that belongs there.
    fn look(&self, directory: &Path, stem: &str) -> Result<Option<Looked>> {
        let path = directory.join(format!("{stem}{EXTENSION}"));
        let Some((first, opening)) = beginning(&*self.disk, &path)? else { return Ok(None) };
        let held = bodies::held_of(&*self.disk, &self.root, &first)?;
        let Some((summary, stamp)) = summary_of(first, &opening) else { return Ok(None) };
        let place: &Place = &summary.place;
        let single = place.variant_text().is_empty() && self.root.join(place.single_path()) == path;
        let belongs = single || self.root.join(place.variant_path()) == path;
        let written = stamp.map(|stamp| stamp.modified());
        Ok(belongs.then_some((summary, written, held)))
    }
}

impl Iterator for Candidates {
    type Item = Result<Found>;

    fn next(&mut self) -> Option<Result<Found>> {
        loop {
            if let Some(found) = self.found.pop() {
                return Some(Ok(found));
            }
            let (path, depth) = self.ahead.pop()?;
            if let Err(error) = self.step(&path, depth) {
                return Some(Err(error));
            }
        }
    }
}

impl std::fmt::Debug for Candidates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Candidates").field("root", &self.root).finish_non_exhaustive()
    }
}

/// The keys that have a name with this end, and nothing before it.
fn stems<'a>(names: &'a [String], end: &'a str) -> impl Iterator<Item = &'a str> {
    let stem = move |name: &'a String| name.strip_suffix(end);
    names.iter().filter_map(stem).filter(|stem| stem.parse::<Key>().is_ok())
}

/// The names in a directory that are text; none when it is no directory.
fn names(disk: &dyn Disk, directory: &Path) -> Result<Vec<String>> {
    let fail = |error| Error::disk("read", directory, error);
    let names = match disk.read_dir(directory) {
        Ok(names) => names,
        Err(error) if is_missing(&error) => return Ok(Vec::new()),
        Err(error) => return Err(fail(error)),
    };
    let mut texts = Vec::new();
    for name in names {
        texts.extend(name.map_err(fail)?.into_string().ok());
    }
    Ok(texts)
}
