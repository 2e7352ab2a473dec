//! Older versions of entries: the files that a newer response has replaced.
//!
//! ```text
//! 9f/9f86d081….20261120T131326123456Z.warc         of an entry without variant
//! 9f/9f86d081….variants/<…>.20261120T….warc        of a variant
//! ```
//!
//! The time in a name is when the version was finished, so no two versions have the same name.
//! Before the new entry is renamed into place, the version name of the old file is made durable. So
//! the old file has at least one of the two names at each moment. The update file of a large entry
//! is kept with its version.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};

use crate::entry::place::{EXTENSION, Place};
use crate::entry::read::{EntryContent, ExpectedEntry};
use crate::entry::summary::{Summary, read_summary};
use crate::entry::warc::time_text;
use crate::entry::{Entry, Lookup, read};
use crate::error::{Damage, Error, Result};
use crate::fs::names::names_if_any;
use crate::fs::parallel::lock;
use crate::fs::{Disk, parent};
use crate::tree::variants::VariantChoice;
use crate::tree::{FinishedFile, LOOKUP_TRIES, Tree};
use wwwoffle_url::Key;

/// The largest number of older versions of an entry, whatever the rule returns.
pub const MAX_VERSIONS: usize = 100;

/// The number of characters of a time in a name: `20261120T131326123456Z`.
const TIME_LEN: usize = 22;

/// The older versions that are kept of a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionLimit {
    /// The largest number of versions.
    pub number: usize,
    /// The largest length of a body that becomes a version, in bytes. `None` if any length does.
    pub max_body: Option<u64>,
}

/// The older versions that are kept, by URL. None, unless a rule is given.
#[derive(Clone, Default)]
pub struct Versions(Option<Arc<VersionRule>>);

/// A rule receives the canonical URL without credentials. It must not call the spool.
type VersionRule = dyn Fn(&str) -> VersionLimit + Send + Sync;

impl Versions {
    /// Builds the numbers from `rule`, which returns the number of versions for a canonical URL
    /// without credentials. At most [`MAX_VERSIONS`] are kept. `rule` is called for each new
    /// response, and must not call the spool.
    #[must_use]
    pub fn from_rule(rule: impl Fn(&str) -> usize + Send + Sync + 'static) -> Versions {
        Versions::from_limits(move |url| VersionLimit { number: rule(url), max_body: None })
    }

    /// Like [`Versions::from_rule`], with a limit for the length of the bodies.
    #[must_use]
    pub fn from_limits(rule: impl Fn(&str) -> VersionLimit + Send + Sync + 'static) -> Versions {
        Versions(Some(Arc::new(rule)))
    }

    fn of(&self, url: &str) -> VersionLimit {
        self.0.as_ref().map_or_else(VersionLimit::default, |rule| rule(url))
    }
}

/// The numbers of older versions that are kept, and the place whose versions are exempt from
/// removal.
#[derive(Debug)]
pub(crate) struct VersionLimits {
    rule: Versions,
    /// The number of versions that monitors require, by URL.
    monitored: Mutex<HashMap<String, u16>>,
    /// Held while an older version becomes the entry again.
    pub(crate) restoring: Mutex<()>,
    /// The key and variant of the place that is being restored. During this time none of its
    /// versions counts as surplus.
    pub(crate) spared: Mutex<Option<(Key, Key)>>,
}

impl VersionLimits {
    pub(crate) fn new(rule: Versions) -> VersionLimits {
        let (monitored, restoring, spared) = (Mutex::default(), Mutex::default(), Mutex::default());
        VersionLimits { rule, monitored, restoring, spared }
    }

    fn of(&self, url: &str) -> usize {
        self.rule.of(url).number.max(self.monitored(url)).min(MAX_VERSIONS)
    }

    /// Whether a body of this length becomes a version. A page is monitored for its changes, so its
    /// length does not matter.
    fn includes(&self, url: &str, body_len: u64) -> bool {
        let VersionLimit { number, max_body } = self.rule.of(url);
        let is_short = max_body.is_none_or(|max_body| body_len <= max_body);
        (number > 0 && is_short) || self.monitored(url) > 0
    }

    fn monitored(&self, url: &str) -> usize {
        usize::from(lock(&self.monitored).get(url).copied().unwrap_or_default())
    }

    /// Sets the number of versions that monitors require, by URL.
    pub(crate) fn set_monitored(&self, versions: HashMap<String, u16>) {
        *lock(&self.monitored) = versions;
    }
}

impl fmt::Debug for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Versions(…)" } else { "Versions" })
    }
}

impl Tree {
    pub(crate) fn versions_kept(&self, place: &Place) -> usize {
        self.versions.of(place.url())
    }

    /// Whether an entry of a place becomes an older version if its body has this length.
    pub(crate) fn becomes_version(&self, place: &Place, body_len: u64) -> bool {
        self.versions.includes(place.url(), body_len)
    }

    /// Gives the entry at `path` a second name as an older version, if versions are kept, and if
    /// `new` replaces it by an entry with another body. Returns whether there may be versions: false
    /// without an entry at `path`. The caller holds `commit`, also during a sync.
    pub(crate) fn keep_version(&self, new: &FinishedFile, path: &Path) -> Result<bool> {
        if self.versions_kept(&new.place) == 0 {
            return Ok(false);
        }
        let old = match self.read_at(path, &new.place) {
            Ok(EntryContent::Whole(old)) => old,
            Ok(EntryContent::Missing) => return Ok(false),
            // Only entries become versions, other files do not.
            Ok(_) => return Ok(true),
            // A later batch tries again.
            Err(error) if error.is_out_of_files() || error.is_full() => return Err(error),
            // The new entry replaces an unreadable file.
            Err(error) => {
                self.root.record_failure(error);
                return Ok(true);
            }
        };
        if *old.digest() != new.digest && self.becomes_version(&new.place, old.body_len()) {
            self.link_version(&old, path)?;
        }
        Ok(true)
    }

    /// Handles a finished file that was replaced before it was renamed into place. If its key and
    /// variant are `name`, its digest is not `newer`, and versions are kept, renames it into place
    /// now: it becomes a version when the newer entry is renamed. Otherwise discards it. The caller
    /// holds `commit`, also during syncs.
    pub(crate) fn keep_replaced(&self, old: &FinishedFile, name: (Key, Key), newer: [u8; 32]) {
        let is_version = (old.place.key(), old.place.variant_name()) == name && old.digest != newer;
        if !is_version || !self.becomes_version(&old.place, old.body_len) {
            self.root.discard(&old.path);
            return;
        }
        if let Err(error) = self.put_in_place_now(old) {
            self.root.record_failure(error);
            self.root.discard(&old.path);
        }
    }

    pub(crate) fn put_in_place_now(&self, finished: &FinishedFile) -> Result<()> {
        if self.root.is_synced() {
            finished.sync()?;
        }
        let path = self.put_in_place(finished)?;
        self.root.sync_name(&path)
    }

    /// Makes a file that a crash has left in `tmp/` a version of the newer entry. Returns false if
    /// the file must not become a version.
    pub(crate) fn recover_version(&self, old: &FinishedFile, newer: &Entry) -> Result<bool> {
        let is_older = old.stored < newer.stored() && old.digest != *newer.digest();
        if !is_older || !self.becomes_version(&old.place, old.body_len) {
            return Ok(false);
        }
        self.make_version(old)?;
        self.drop_surplus(&old.place);
        Ok(true)
    }

    /// The time for an added older version: `stored`, or the next free time. `None` if versions are
    /// not kept, if this version would be removed first, or if the entry is not newer. The caller
    /// holds `commit` until the version is stored, so that no other version gets the same time.
    pub(crate) fn time_for_version(
        &self,
        place: &Place,
        stored: Timestamp,
    ) -> Result<Option<Timestamp>> {
        let kept = self.versions_kept(place);
        if kept == 0 {
            return Ok(None);
        }
        let times = times(&*self.root.disk, &self.root.path, place)?;
        let mut stored = nameable(stored);
        while times.contains(&stored) {
            stored = after(stored);
        }
        let newer = times.iter().filter(|time| **time > stored).count();
        let entry = self.look_up(place, VariantChoice::Exact)?.found;
        let is_older = entry.first().is_some_and(|entry| entry.stored() > stored);
        Ok((newer < kept && is_older).then_some(stored))
    }

    /// The first free time from `stored` on for a version with this body. `None` if the body is
    /// already stored as a version with one of the times that were tried.
    pub(crate) fn free_version(
        &self,
        place: &Place,
        stored: Timestamp,
        digest: [u8; 32],
    ) -> Result<Option<Timestamp>> {
        let times = times(&*self.root.disk, &self.root.path, place)?;
        let mut stored = nameable(stored);
        while times.contains(&stored) {
            if let Lookup::Found(there) =
                find_version(&*self.root.disk, &self.root.path, place, stored)?
                && *there.digest() == digest
            {
                return Ok(None);
            }
            stored = after(stored);
        }
        Ok(Some(stored))
    }

    /// Renames a finished file to its version name. The caller holds `commit`, also during syncs.
    pub(crate) fn make_version(&self, old: &FinishedFile) -> Result<()> {
        let to = self.root.join(version_path(&old.place, old.stored));
        if self.root.is_synced() {
            old.file.sync().map_err(|error| Error::disk("write", &to, error))?;
        }
        let renamed = self.root.rename_into_place(&old.path, &to);
        self.root.leaves_tmp();
        renamed?;
        // The old name still exists if both names referred to the same file.
        let _ = self.root.disk.remove_file(&old.path);
        self.root.sync_name(&to)
    }

    /// Removes the oldest surplus versions of a place. Failures are ignored, because a surplus
    /// version is harmless. The caller holds `commit`.
    pub(crate) fn drop_surplus(&self, place: &Place) {
        let kept = self.versions_kept(place);
        let is_spared = *lock(&self.versions.spared) == Some((place.key(), place.variant_name()));
        if kept == 0 || is_spared {
            return;
        }
        let Ok(times) = times(&*self.root.disk, &self.root.path, place) else { return };
        if times.len() <= kept {
            return;
        }
        // After a crash the present entry may have a version name too. The name does not count as a
        // version.
        let present = self.newest_in_tree(place).ok().flatten().map(|(_, entry)| entry.stored());
        let surplus = times.into_iter().filter(|time| Some(*time) != present).skip(kept);
        for time in surplus {
            let path = self.root.join(version_path(place, time));
            if self.root.remove_file(&path).is_ok() {
                let _ = self.drop_overlay(&path);
            }
        }
    }

    /// Removes every version of the entry with the name `stem` in `directory`. The caller holds
    /// `commit`.
    pub(crate) fn remove_versions(&self, directory: &Path, stem: &str) -> Result<bool> {
        let mut removed = false;
        for time in times_in(&*self.root.disk, directory, stem)? {
            let path = directory.join(name(stem, time));
            removed |= self.root.remove_file(&path)?;
            self.drop_overlay(&path)?;
        }
        Ok(removed)
    }

    /// Removes the versions of every entry in a directory of variants. The caller holds `commit`.
    pub(crate) fn remove_all_versions(&self, directory: &Path) -> Result<bool> {
        let mut removed = false;
        for stem in stems(&*self.root.disk, directory)? {
            removed |= self.remove_versions(directory, &stem)?;
        }
        Ok(removed)
    }

    /// Removes every version of a place. The caller holds `commit`.
    pub(crate) fn remove_versions_of(&self, place: &Place) -> Result<bool> {
        let (directory, stem) = versions_at(place);
        self.remove_versions(&self.root.join(directory), &stem)
    }

    /// Reads a version. A damaged one is set aside.
    pub(crate) fn version(&self, place: &Place, stored: Timestamp) -> Result<Lookup> {
        let path = self.root.join(version_path(place, stored));
        match read_version(&*self.root.disk, &self.root.path, &path, place)? {
            EntryContent::Bad(_) | EntryContent::Moved => {}
            other => return Ok(lookup_of(other, &path)),
        }
        // Names cannot change now, so a version that is missing or damaged is not being renamed.
        let _commit = lock(&self.commit);
        Ok(match read_version(&*self.root.disk, &self.root.path, &path, place)? {
            EntryContent::Bad(reason) => Lookup::SetAside(self.root.move_aside(&path, reason)),
            other => lookup_of(other, &path),
        })
    }
}

/// Rounds a time to a time that a name can hold: microseconds, from 1970 on.
fn nameable(stored: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(stored.as_microsecond().max(0)).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn after(stored: Timestamp) -> Timestamp {
    stored.saturating_add(SignedDuration::from_micros(1)).unwrap_or(stored)
}

/// The path of a version below the root.
pub(crate) fn version_path(place: &Place, stored: Timestamp) -> PathBuf {
    let (directory, stem) = versions_at(place);
    directory.join(name(&stem, stored))
}

/// The directory of the versions of a place, and the stem of their names.
pub(crate) fn versions_at(place: &Place) -> (PathBuf, String) {
    if place.variant_text().is_empty() {
        // The versions are there even if the entry itself is among the variants of its key.
        (parent(&place.single_path()).to_owned(), place.key().to_string())
    } else {
        (place.variants_path(), place.variant_name().to_string())
    }
}

fn name(stem: &str, stored: Timestamp) -> String {
    let mut time = time_text(stored);
    time.retain(|character| character.is_ascii_alphanumeric());
    format!("{stem}.{time}{EXTENSION}")
}

/// The time in the name of a version of `stem`.
pub(crate) fn time_of(name: &str, stem: &str) -> Option<Timestamp> {
    let time = name.strip_prefix(stem)?.strip_prefix('.')?.strip_suffix(EXTENSION)?;
    if time.len() != TIME_LEN || !time.is_ascii() {
        return None;
    }
    let part = |from: usize, to: usize| time.get(from..to).unwrap_or_default();
    let (year, month, day) = (part(0, 4), part(4, 6), part(6, 8));
    let (hour, minute, second, rest) = (part(9, 11), part(11, 13), part(13, 15), part(15, 22));
    let text = format!("{year}-{month}-{day}T{hour}:{minute}:{second}.{rest}");
    let stored: Timestamp = text.parse().ok()?;
    (self::name(stem, stored) == name).then_some(stored)
}

/// The times of the versions of a place, the newest first.
pub(crate) fn times(disk: &dyn Disk, root: &Path, place: &Place) -> Result<Vec<Timestamp>> {
    let (directory, stem) = versions_at(place);
    times_in(disk, &root.join(directory), &stem)
}

fn times_in(disk: &dyn Disk, directory: &Path, stem: &str) -> Result<Vec<Timestamp>> {
    let mut times = Vec::new();
    for name in names_if_any(disk, directory)? {
        let name = name?;
        times.extend(name.to_str().and_then(|name| time_of(name, stem)));
    }
    times.sort_unstable_by(|one, other| other.cmp(one));
    Ok(times)
}

/// The stems of the versions in a directory.
fn stems(disk: &dyn Disk, directory: &Path) -> Result<BTreeSet<String>> {
    let mut stems = BTreeSet::new();
    for name in names_if_any(disk, directory)? {
        let name = name?;
        let stem = name.to_str().and_then(|name| {
            let stem = name.split('.').next()?;
            time_of(name, stem).map(|_| stem.to_owned())
        });
        stems.extend(stem);
    }
    Ok(stems)
}

/// Lists the older versions of a place, the newest first.
pub(crate) fn list(disk: &dyn Disk, root: &Path, place: &Place) -> Result<Vec<Summary>> {
    let mut list = Vec::new();
    for time in times(disk, root, place)?.into_iter().take(MAX_VERSIONS) {
        let found = read_summary(disk, &root.join(version_path(place, time)))?;
        list.extend(found.filter(|found| found.place == *place && found.stored == time));
    }
    Ok(list)
}

/// Reads a version without moving anything.
pub(crate) fn find_version(
    disk: &dyn Disk,
    root: &Path,
    place: &Place,
    stored: Timestamp,
) -> Result<Lookup> {
    let path = root.join(version_path(place, stored));
    let mut content = read_version(disk, root, &path, place)?;
    for _ in 1..LOOKUP_TRIES {
        if !matches!(content, EntryContent::Moved) {
            break;
        }
        content = read_version(disk, root, &path, place)?;
    }
    Ok(lookup_of(content, &path))
}

fn read_version(disk: &dyn Disk, root: &Path, path: &Path, place: &Place) -> Result<EntryContent> {
    read::read_updated(disk, root, path, ExpectedEntry { place, name: place.variant_name() })
}

fn lookup_of(content: EntryContent, path: &Path) -> Lookup {
    match content {
        EntryContent::Whole(entry) => Lookup::Found(entry),
        EntryContent::Missing | EntryContent::Moved => Lookup::Missing,
        EntryContent::Bad(reason) => Lookup::SetAside(Damage::new(path.to_owned(), reason)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_version_names_have_a_time() {
        for text in ["2026-11-20T13:13:26.123456Z", "1970-01-01T00:00:00Z"] {
            let time: Timestamp = text.parse().unwrap();
            let version = name("9f86", time);
            assert_eq!(time_of(&version, "9f86"), Some(time));
            assert_eq!(time_of(&version, "9f8"), None);
        }
        assert_eq!(
            name("9f86", "2026-11-20T13:13:26.123456Z".parse().unwrap()),
            "9f86.20261120T131326123456Z.warc"
        );
        for name in [
            "9f86.warc",
            "9f86.update.warc",
            "9f86.20261120T131326123456Z.update.warc",
            "9f86.20261320T131326123456Z.warc",
            "9f86.20261120 131326123456Z.warc",
            "9f86.20261120T131326123456Zé.warc",
            "9f86.é0261120T13132612345Z.warc",
        ] {
            assert_eq!(time_of(name, "9f86"), None, "{name}");
        }
    }
}
