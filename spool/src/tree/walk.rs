//! Walking the directories of entries, one at a time: for what is derived from the files.
//!
//! A list ([`crate::List`]) comes by every entry. Whoever remembers what there was walks by directory
//! instead: each tells by its times whether a name in it was added, taken away or replaced since, and what
//! lies in it can be read by several threads, each at another one.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::entry::holder::{BODIES, Held};
use crate::entry::place::{EXTENSION, Place, VARIANTS};
use crate::entry::read::{Content, ExpectedEntry};
use crate::entry::summary::{Summary, beginning, summary_of};
use crate::entry::{holder, overlay, place, read};
use crate::error::{Error, Result, is_missing};
use crate::fs::{Disk, Stamp};
use crate::tree::list::schemes;
use crate::tree::{taken, versions};
use wwwoffle_url::Key;

/// An entry that a walk came by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walked {
    /// What it is.
    pub summary: Summary,
    /// How many older versions of it lie beside it.
    pub versions: usize,
    /// How many bytes it takes on the disk, with these and with what was learnt of it; without a body that
    /// it shares.
    pub size: u64,
    /// When its file was written, as far as the file system knows.
    pub(crate) written: Option<Timestamp>,
    /// The bodies that it or an older version shares with others, if they were asked for.
    pub(crate) bodies: Vec<Held>,
}

/// A walk over the directories of entries. What still waits for its batch has no name yet, and is not there.
#[derive(Debug, Clone)]
pub struct Walk {
    disk: Arc<dyn Disk>,
    root: PathBuf,
}

/// The directory of the entries of one scheme and host.
#[derive(Debug, Clone)]
pub struct HostDirectory {
    walk: Walk,
    path: PathBuf,
    name: String,
}

/// The directory of those entries of a host whose keys begin with the same two digits.
#[derive(Debug, Clone)]
pub struct KeyDirectory {
    walk: Walk,
    path: PathBuf,
    first: u8,
}

impl Walk {
    pub(crate) fn new(disk: Arc<dyn Disk>, root: PathBuf) -> Walk {
        Walk { disk, root }
    }

    /// The directories of all hosts, read as the iterator is asked.
    ///
    /// # Errors
    ///
    /// When the disk fails, here or at each step.
    pub fn hosts(&self) -> Result<impl Iterator<Item = Result<HostDirectory>> + Send + use<>> {
        let walk = self.clone();
        let schemes = schemes(&*self.disk, &self.root, None)?;
        Ok(schemes.into_iter().flat_map(move |scheme| walk.hosts_of(&scheme)))
    }

    /// Those of one scheme. An error is what the iterator has then.
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

    /// Whether there are bodies that several entries share.
    pub(crate) fn has_bodies(&self) -> Result<bool> {
        Ok(!texts(&*self.disk, &self.root.join(BODIES))?.is_empty())
    }

    /// The directory in which the entry of a place lies, if any does, and that of its variants.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn stamps(&self, place: &Place) -> Result<[Option<Stamp>; 2]> {
        let single = self.root.join(place.single_path());
        let directory = crate::fs::parent(&single);
        Ok([self.stamp(directory)?, self.stamp(&self.root.join(place.variants_path()))?])
    }

    fn stamp(&self, path: &Path) -> Result<Option<Stamp>> {
        self.disk.stamp(path).map_err(|error| Error::disk("look at", path, error))
    }
}

impl HostDirectory {
    /// `http/www.example.org`, as the directories are called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The scheme and the host with its port; `None` where the name does not tell, for it is hashed.
    #[must_use]
    pub fn host(&self) -> Option<(String, String)> {
        let (scheme, host) = self.name.split_once('/')?;
        Some((place::scheme_of(scheme)?, place::host_of(host)?))
    }

    /// What it is now; `None` when it is gone.
    ///
    /// # Errors
    ///
    /// When the disk fails, or cannot tell.
    pub fn stamp(&self) -> Result<Option<Stamp>> {
        self.walk.stamp(&self.path)
    }

    /// The directories in it, in order; none when it is no directory.
    ///
    /// # Errors
    ///
    /// When the disk fails.
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
    /// What the keys in it begin with.
    #[must_use]
    pub fn first(&self) -> u8 {
        self.first
    }

    /// What it is now; `None` when it is gone.
    ///
    /// # Errors
    ///
    /// When the disk fails, or cannot tell.
    pub fn stamp(&self) -> Result<Option<Stamp>> {
        self.walk.stamp(&self.path)
    }

    /// The entries in it. What is none is passed over.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn entries(&self) -> Result<Vec<Walked>> {
        self.walked(false)
    }

    /// The same, with the bodies that they share if `with_bodies`.
    pub(crate) fn walked(&self, with_bodies: bool) -> Result<Vec<Walked>> {
        let disk = &*self.walk.disk;
        let names = NamesByKey::of(&texts(disk, &self.path)?);
        let mut found = Vec::with_capacity(names.singles.len());
        let mut hidden = HashSet::new();
        for key in &names.singles {
            let stem = key.to_string();
            let Some(looked) = self.look(&self.path, &stem, &names)? else { continue };
            let place = &looked.summary.place;
            if !place.variant_text().is_empty() || place.key() != *key {
                continue;
            }
            hidden.insert(*key);
            let beside = names.beside(disk, &self.path, &stem)?;
            let shared = with_bodies.then(|| self.held(&self.path, &names, &stem)).transpose()?;
            found.push(looked.walked(names.versions(&stem), beside, shared));
        }
        for key in names.shelves.difference(&hidden) {
            let stem = key.to_string();
            let directory = self.path.join(format!("{stem}{VARIANTS}"));
            let among = NamesByKey::of(&texts(disk, &directory)?);
            for name in &among.singles {
                let variant = name.to_string();
                let Some(looked) = self.look(&directory, &variant, &among)? else { continue };
                let place = &looked.summary.place;
                if place.variant_name() != *name || place.key() != *key {
                    continue;
                }
                let mut beside = among.beside(disk, &directory, &variant)?;
                let mut versions = among.versions(&variant);
                let held = |path, names, stem| self.held(path, names, stem);
                let mut shared =
                    with_bodies.then(|| held(&directory, &among, &variant)).transpose()?;
                if *name == Place::SINGLE {
                    // The versions of what varies with nothing stay where they were.
                    versions = names.versions(&stem);
                    beside = beside.saturating_add(names.beside(disk, &self.path, &stem)?);
                    if let Some(shared) = &mut shared {
                        shared.extend(held(&self.path, &names, &stem)?);
                    }
                }
                found.push(looked.walked(versions, beside, shared));
            }
        }
        Ok(found)
    }

    /// The entry of this name, with what was learnt of it since; `None` when there is none that
    /// belongs there.
    fn look(&self, directory: &Path, stem: &str, names: &NamesByKey) -> Result<Option<WalkedFile>> {
        let path = directory.join(format!("{stem}{EXTENSION}"));
        let disk = &*self.walk.disk;
        let Some((first, opening)) = beginning(disk, &path)? else { return Ok(None) };
        let held = holder::held_of(disk, &self.walk.root, &first)?;
        let Some((summary, stamp)) = summary_of(first, &opening) else { return Ok(None) };
        let (written, file_len) = (stamp.map(|stamp| stamp.modified()), summary.file_len);
        let place = &summary.place;
        let at_home = [place.single_path(), place.variant_path()];
        if !at_home.iter().any(|home| self.walk.root.join(home) == path) {
            return Ok(None);
        }
        let summary = if names.updated.contains(stem) {
            let expected = ExpectedEntry { place, name: place.variant_name() };
            match read::read_updated(disk, &self.walk.root, &path, expected)? {
                Content::Whole(entry) => entry.summary(),
                // It is judged when somebody asks for it.
                _ => summary,
            }
        } else {
            summary
        };
        Ok(Some(WalkedFile { summary, file_len, written, held }))
    }

    /// The bodies that the older versions of a stem share with others.
    fn held(&self, directory: &Path, names: &NamesByKey, stem: &str) -> Result<Vec<Held>> {
        let versions = names.beside.get(stem).into_iter().flatten();
        let versions = versions.filter(|name| versions::time_of(name, stem).is_some());
        let (disk, root) = (&*self.walk.disk, &self.walk.root);
        let held = versions.map(|name| holder::held_by(disk, root, &directory.join(name)));
        held.filter_map(Result::transpose).collect()
    }
}

/// An entry, and what its file tells besides.
struct WalkedFile {
    summary: Summary,
    /// The length of the file on the disk.
    file_len: u64,
    written: Option<Timestamp>,
    held: Option<Held>,
}

impl WalkedFile {
    /// It with what lies beside it; `shared` are the bodies of its versions, if all are asked for.
    fn walked(self, versions: usize, beside: u64, shared: Option<Vec<Held>>) -> Walked {
        let WalkedFile { summary, file_len, written, held } = self;
        let size = taken::blocks(file_len).saturating_add(beside);
        let bodies = shared.map(|shared| held.into_iter().chain(shared).collect());
        Walked { summary, versions, size, written, bodies: bodies.unwrap_or_default() }
    }
}

/// What the names in a directory are of.
#[derive(Debug, Default)]
struct NamesByKey {
    singles: Vec<Key>,
    shelves: HashSet<Key>,
    /// The stems of which something was learnt later.
    updated: HashSet<String>,
    versions: HashMap<String, usize>,
    /// What lies beside the entry of a stem.
    beside: HashMap<String, Vec<String>>,
}

impl NamesByKey {
    fn of(names: &[String]) -> NamesByKey {
        let mut all = NamesByKey::default();
        for name in names {
            let stem = name.split('.').next().unwrap_or_default();
            let Ok(key) = stem.parse::<Key>() else { continue };
            let rest = name.get(stem.len()..).unwrap_or_default();
            if rest != EXTENSION && rest.ends_with(EXTENSION) {
                all.beside.entry(stem.to_owned()).or_default().push(name.clone());
            }
            if rest == EXTENSION {
                all.singles.push(key);
            } else if rest == VARIANTS {
                all.shelves.insert(key);
            } else if overlay::is_name(rest) {
                all.updated.insert(stem.to_owned());
            } else if versions::time_of(name, stem).is_some() {
                *all.versions.entry(stem.to_owned()).or_default() += 1;
            }
        }
        all
    }

    fn versions(&self, stem: &str) -> usize {
        self.versions.get(stem).copied().unwrap_or_default()
    }

    /// How many bytes all takes that lies beside the entry of a stem.
    fn beside(&self, disk: &dyn Disk, directory: &Path, stem: &str) -> Result<u64> {
        let names = self.beside.get(stem).into_iter().flatten();
        let sizes = names.map(|name| taken::of_file(disk, &directory.join(name)));
        sizes.sum()
    }
}

/// The names in a directory that are text; none when it is no directory.
pub(crate) fn texts(disk: &dyn Disk, directory: &Path) -> Result<Vec<String>> {
    let fail = |error| Error::disk("read", directory, error);
    let names = match disk.read_dir(directory) {
        Ok(names) => names,
        Err(error) if is_missing(&error) => return Ok(Vec::new()),
        Err(error) => return Err(fail(error)),
    };
    let mut found = Vec::new();
    for name in names {
        found.extend(name.map_err(fail)?.into_string().ok());
    }
    Ok(found)
}
