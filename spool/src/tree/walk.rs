//! Walking the directories of entries one at a time, for data derived from the files.
//!
//! A list ([`crate::EntryList`]) returns every entry. A caller with an index walks by directory
//! instead. The stamp of a directory shows whether a name in it has changed, and each thread can
//! read a different directory.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::entry::holder::{BODIES, SharedBody};
use crate::entry::place::{EXTENSION, Place, VARIANTS};
use crate::entry::read::{EntryContent, ExpectedEntry};
use crate::entry::summary::{Summary, read_start, read_summary, summary_of};
use crate::entry::{holder, overlay, place, read};
use crate::error::{Error, Result, is_missing};
use crate::fs::names::names_if_any;
use crate::fs::{Disk, Stamp, parent};
use crate::tree::list::schemes;
use crate::tree::{FinishedFile, Tree, disk_usage, versions};
use wwwoffle_url::Key;

/// An entry found by a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkedEntry {
    /// The summary.
    pub summary: Summary,
    /// The number of its older versions.
    pub versions: usize,
    /// The bytes on the disk of the entry, its versions and its update files, without a shared
    /// body.
    pub size: u64,
    /// When its file was written, if the file system knows.
    pub(crate) written: Option<Timestamp>,
    /// The shared bodies that the entry or one of its older versions refers to, if they were
    /// requested.
    pub(crate) bodies: Vec<SharedBody>,
}

/// A walk over the directories of entries. Entries in the current batch are not included.
#[derive(Debug, Clone)]
pub struct SpoolWalk {
    disk: Arc<dyn Disk>,
    root: PathBuf,
}

/// The directory of one scheme and host.
#[derive(Debug, Clone)]
pub struct HostDirectory {
    walk: SpoolWalk,
    path: PathBuf,
    name: String,
}

/// The directory of the entries of a host whose keys begin with the same two digits.
#[derive(Debug, Clone)]
pub struct KeyDirectory {
    walk: SpoolWalk,
    path: PathBuf,
    first: u8,
}

impl SpoolWalk {
    pub(crate) fn new(disk: Arc<dyn Disk>, root: PathBuf) -> SpoolWalk {
        SpoolWalk { disk, root }
    }

    /// The directories of all hosts, read as the iterator advances.
    ///
    /// # Errors
    ///
    /// If the disk fails, here or at each step.
    pub fn hosts(&self) -> Result<impl Iterator<Item = Result<HostDirectory>> + Send + use<>> {
        let walk = self.clone();
        let schemes = schemes(&*self.disk, &self.root, None)?;
        Ok(schemes.into_iter().flat_map(move |scheme| walk.hosts_of(&scheme)))
    }

    /// The directories of the hosts of one scheme. If the directory of the scheme cannot be read,
    /// the error is the only item.
    fn hosts_of(&self, scheme: &str) -> Box<dyn Iterator<Item = Result<HostDirectory>> + Send> {
        let scheme = place::scheme_directory(scheme).into_owned();
        let directory = self.root.join(&scheme);
        let fail = |error, directory: &Path| Error::disk("read", directory, error);
        let names = match self.disk.read_dir(&directory) {
            Ok(names) => names,
            Err(error) if is_missing(&error) => return Box::new(std::iter::empty()),
            Err(error) => return Box::new(std::iter::once(Err(fail(error, &directory)))),
        };
        let walk = self.clone();
        Box::new(names.filter_map(move |name| {
            let name = match name {
                Ok(name) => name,
                Err(error) => return Some(Err(fail(error, &directory))),
            };
            let name = name.to_str()?;
            let is_ours = name.starts_with('=') || place::host_of(name).is_some();
            let (path, name) = (directory.join(name), format!("{scheme}/{name}"));
            is_ours.then(|| Ok(HostDirectory { walk: walk.clone(), path, name }))
        }))
    }

    /// Whether any body is shared.
    pub(crate) fn has_bodies(&self) -> Result<bool> {
        Ok(!texts(&*self.disk, &self.root.join(BODIES))?.is_empty())
    }

    /// Returns the stamps of the directory of a place's entry, and of its directory of variants.
    /// `None` for a missing directory.
    ///
    /// # Errors
    ///
    /// If the disk fails, or has no stamps.
    pub fn stamps(&self, place: &Place) -> Result<[Option<Stamp>; 2]> {
        let single = self.root.join(place.single_path());
        Ok([self.stamp(parent(&single))?, self.stamp(&self.root.join(place.variants_path()))?])
    }

    /// The entries with these names.
    fn named(&self, names: &NamesByKey, with_bodies: bool) -> Result<Vec<WalkedEntry>> {
        let mut found = Vec::with_capacity(names.singles.len());
        let mut hidden = HashSet::new();
        for key in &names.singles {
            let entry = self.read_entry(names, &key.to_string(), with_bodies)?;
            let is_single = |place: &Place| place.variant_text().is_empty() && place.key() == *key;
            if let Some(entry) = entry.filter(|entry| is_single(&entry.summary.place)) {
                hidden.insert(*key);
                found.push(entry);
            }
        }
        for key in names.varying.difference(&hidden) {
            let stem = key.to_string();
            let directory = names.directory.join(format!("{stem}{VARIANTS}"));
            let among = NamesByKey::read(&*self.disk, directory)?;
            for name in &among.singles {
                let entry = self.read_entry(&among, &name.to_string(), with_bodies)?;
                let is_it = |place: &Place| place.variant_name() == *name && place.key() == *key;
                if let Some(mut entry) = entry.filter(|entry| is_it(&entry.summary.place)) {
                    if *name == Place::SINGLE {
                        // Versions of an entry without variant lie in the parent directory.
                        self.add_companions(&mut entry, names, &stem, with_bodies)?;
                    }
                    found.push(entry);
                }
            }
        }
        Ok(found)
    }

    /// An entry of the current batch. `None` if its file was renamed.
    fn pending_entry(&self, finished: &FinishedFile) -> Result<Option<WalkedEntry>> {
        let Some(summary) = read_summary(&*self.disk, &finished.path)? else { return Ok(None) };
        let (directory, stem) = versions::versions_at(&summary.place);
        let names = NamesByKey::read(&*self.disk, self.root.join(directory))?;
        let mut entry = WalkedEntry::new(summary, None);
        self.add_companions(&mut entry, &names, &stem, false)?;
        Ok(Some(entry))
    }

    /// Reads the entry of this name, with its update. `None` if the file does not belong there.
    fn read_entry(
        &self,
        names: &NamesByKey,
        stem: &str,
        with_bodies: bool,
    ) -> Result<Option<WalkedEntry>> {
        let path = names.directory.join(format!("{stem}{EXTENSION}"));
        let disk = &*self.disk;
        let Some((first, opening)) = read_start(disk, &path)? else { return Ok(None) };
        let held = with_bodies.then(|| holder::shared_body_of(disk, &self.root, &first));
        let Some((mut summary, stamp)) = summary_of(first, &opening) else { return Ok(None) };
        let place = &summary.place;
        let at_home = [place.single_path(), place.variant_path()];
        if !at_home.iter().any(|home| self.root.join(home) == path) {
            return Ok(None);
        }
        let expected = ExpectedEntry { place, name: place.variant_name() };
        // If the entry is damaged or being replaced, a lookup will handle it.
        if names.updated.contains(stem)
            && let EntryContent::Whole(entry) =
                read::read_updated(disk, &self.root, &path, expected)?
        {
            summary = entry.summary();
        }
        let mut entry = WalkedEntry::new(summary, stamp);
        entry.bodies.extend(held.transpose()?.flatten());
        self.add_companions(&mut entry, names, stem, with_bodies)?;
        Ok(Some(entry))
    }

    /// Adds the files beside an entry: its older versions and update files.
    fn add_companions(
        &self,
        entry: &mut WalkedEntry,
        names: &NamesByKey,
        stem: &str,
        with_bodies: bool,
    ) -> Result<()> {
        for name in names.beside.get(stem).into_iter().flatten() {
            let path = names.directory.join(name);
            let size = disk_usage::of_file(&*self.disk, &path)?;
            entry.size = entry.size.saturating_add(size);
            let is_version = versions::time_of(name, stem).is_some();
            entry.versions += usize::from(is_version);
            if is_version && with_bodies {
                entry.bodies.extend(holder::shared_body_at(&*self.disk, &self.root, &path)?);
            }
        }
        Ok(())
    }

    fn stamp(&self, path: &Path) -> Result<Option<Stamp>> {
        self.disk.stamp(path).map_err(|error| Error::disk("look at", path, error))
    }
}

impl HostDirectory {
    /// The name of the directory, for example `http/www.example.org`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The scheme, and the host with its port. `None` if the name is hashed.
    #[must_use]
    pub fn host(&self) -> Option<(String, String)> {
        let (scheme, host) = self.name.split_once('/')?;
        Some((place::scheme_of(scheme)?, place::host_of(host)?))
    }

    /// The present stamp. `None` if the directory is gone.
    ///
    /// # Errors
    ///
    /// If the disk fails, or has no stamps.
    pub fn stamp(&self) -> Result<Option<Stamp>> {
        self.walk.stamp(&self.path)
    }

    /// The directories of keys of this host, in order; empty if the path is not a directory.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn keys(&self) -> Result<Vec<KeyDirectory>> {
        let mut keys = Vec::new();
        for name in texts(&*self.walk.disk, &self.path)? {
            let mut byte = [0];
            let is_key = name.len() == 2 && !name.bytes().any(|byte| byte.is_ascii_uppercase());
            if is_key && hex::decode_to_slice(&name, &mut byte).is_ok() {
                let [first] = byte;
                let (walk, path) = (self.walk.clone(), self.path.join(&name));
                keys.push(KeyDirectory { walk, path, first });
            }
        }
        keys.sort_unstable_by_key(|directory| directory.first);
        Ok(keys)
    }
}

impl KeyDirectory {
    /// The first byte of the keys in this directory.
    #[must_use]
    pub fn first(&self) -> u8 {
        self.first
    }

    /// The present stamp. `None` if the directory is gone.
    ///
    /// # Errors
    ///
    /// If the disk fails, or has no stamps.
    pub fn stamp(&self) -> Result<Option<Stamp>> {
        self.walk.stamp(&self.path)
    }

    /// The entries in this directory. Other files are skipped.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn entries(&self) -> Result<Vec<WalkedEntry>> {
        self.walked(false)
    }

    /// The entries, with their shared bodies if `with_bodies`.
    pub(crate) fn walked(&self, with_bodies: bool) -> Result<Vec<WalkedEntry>> {
        self.walk.named(&NamesByKey::read(&*self.walk.disk, self.path.clone())?, with_bodies)
    }
}

/// The directory that [`crate::Spool::walk_key`] listed last.
#[derive(Debug, Default)]
pub struct LastListing {
    path: PathBuf,
    names: Vec<String>,
}

impl Tree {
    /// The entries of a key, also those in the current batch.
    pub(crate) fn walk_key(&self, at: &Place, last: &mut LastListing) -> Result<Vec<WalkedEntry>> {
        let (walk, mut found) = (self.walk(), Vec::<WalkedEntry>::new());
        // These files are read first: one that is renamed now is found in its directory.
        for finished in self.pending.variants(at.key()) {
            found.extend(walk.pending_entry(&finished)?);
        }
        let path = parent(&walk.root.join(at.single_path())).to_owned();
        if last.path != path {
            *last = LastListing { names: texts(&*walk.disk, &path)?, path: path.clone() };
        }
        let stem = at.key().to_string();
        let names = last.names.iter().filter(|name| name.starts_with(&stem)).cloned();
        for entry in walk.named(&NamesByKey::of(path, names.collect()), false)? {
            if found.iter().all(|newer| newer.summary.place != entry.summary.place) {
                found.push(entry);
            }
        }
        Ok(found)
    }
}

impl WalkedEntry {
    /// An entry without the files beside it. `stamp` is that of its file.
    fn new(summary: Summary, stamp: Option<Stamp>) -> WalkedEntry {
        let (size, written) = (disk_usage::blocks(summary.file_len), stamp.map(|it| it.modified()));
        WalkedEntry { summary, versions: 0, size, written, bodies: Vec::new() }
    }
}

/// The names in a directory, sorted by their meaning.
#[derive(Debug, Default)]
struct NamesByKey {
    directory: PathBuf,
    singles: Vec<Key>,
    varying: HashSet<Key>,
    /// The stems that have an update file.
    updated: HashSet<String>,
    /// The files beside the entry of each stem.
    beside: HashMap<String, Vec<String>>,
}

impl NamesByKey {
    fn read(disk: &dyn Disk, directory: PathBuf) -> Result<NamesByKey> {
        let names = texts(disk, &directory)?;
        Ok(NamesByKey::of(directory, names))
    }

    fn of(directory: PathBuf, names: Vec<String>) -> NamesByKey {
        let mut all = NamesByKey { directory, ..NamesByKey::default() };
        for name in names {
            let stem = name.split('.').next().unwrap_or_default();
            let Ok(key) = stem.parse::<Key>() else { continue };
            let rest = name.get(stem.len()..).unwrap_or_default();
            if rest == EXTENSION {
                all.singles.push(key);
            } else if rest == VARIANTS {
                all.varying.insert(key);
            } else if rest.ends_with(EXTENSION) {
                if overlay::is_name(rest) {
                    all.updated.insert(stem.to_owned());
                }
                all.beside.entry(stem.to_owned()).or_default().push(name);
            }
        }
        all
    }
}

/// The names in a directory that are UTF-8; empty if the path is not a directory.
pub(crate) fn texts(disk: &dyn Disk, directory: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for name in names_if_any(disk, directory)? {
        found.extend(name?.into_string().ok());
    }
    Ok(found)
}
