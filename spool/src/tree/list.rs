//! Lists of entries. Directories are read as the caller advances.
//!
//! A list holds one open directory for each level, whatever the size of the spool. An entry that is
//! stored or removed while the list is read may or may not be in it. Files that are not entries are
//! skipped; a lookup sets them aside.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wwwoffle_url::Key;

use crate::entry::place::{self, EXTENSION, SCHEMES, VARIANTS};
use crate::entry::summary::{Summary, read_summary};
use crate::error::{Error, Result, is_missing};
use crate::fs::names::{names, names_if_any};
use crate::fs::{DirectoryNames, Disk};
use crate::tree::FinishedFile;

/// A host that has a directory of entries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpoolHost {
    /// The scheme, for example `http`.
    pub scheme: String,
    /// The name of the host, with its port unless that is the default.
    pub host: String,
}

/// The entries of a spool, a scheme or a host, in no order.
pub struct EntryList {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    /// Finished entries that are not renamed yet. The list returns them first.
    pending: Vec<FinishedFile>,
    /// The pending entries already listed, by key and variant.
    listed: HashSet<(Key, Key)>,
    /// The directories still to be read, with their depth below the root.
    starts: Vec<(PathBuf, usize)>,
    /// The directories being read. Each is inside the previous one.
    levels: Vec<DirectoryLevel>,
}

struct DirectoryLevel {
    path: PathBuf,
    /// The level of the directory. 1: of a scheme; 2: of a host; 3: of keys; 4: of variants.
    depth: usize,
    names: DirectoryNames,
}

/// The depth of the directories of keys, which contain entries.
const KEYS: usize = 3;

impl EntryList {
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        root: &Path,
        mut pending: Vec<FinishedFile>,
        scheme: Option<&str>,
        host: Option<&str>,
    ) -> Result<EntryList> {
        pending.retain(|finished| {
            let (its_scheme, its_host) = place::scheme_and_host(finished.place.url());
            scheme.is_none_or(|scheme| scheme == its_scheme)
                && host.is_none_or(|host| host == its_host)
        });
        let schemes = schemes(&*disk, root, scheme)?;
        let start = |scheme: String| {
            let directory = root.join(&*place::scheme_directory(&scheme));
            match host {
                Some(host) => (directory.join(&*place::host_directory(host)), 2),
                None => (directory, 1),
            }
        };
        let starts = schemes.into_iter().map(start).collect();
        let (root, listed) = (root.to_owned(), HashSet::new());
        Ok(EntryList { disk, root, pending, listed, starts, levels: Vec::new() })
    }

    /// The entry at a path. `None` if the file does not belong there.
    fn entry(&self, path: &Path) -> Result<Option<Summary>> {
        let Some(summary) = read_summary(&*self.disk, path)? else { return Ok(None) };
        let place = &summary.place;
        let single = place.variant_text().is_empty() && self.root.join(place.single_path()) == path;
        let belongs = single || self.root.join(place.variant_path()) == path;
        Ok(Some(summary).filter(|_| belongs))
    }

    fn next_pending(&mut self) -> Option<Result<Summary>> {
        while let Some(finished) = self.pending.pop() {
            match read_summary(&*self.disk, &finished.path) {
                Ok(Some(summary)) => {
                    self.listed.insert((summary.place.key(), summary.place.variant_name()));
                    return Some(Ok(summary));
                }
                // The file was renamed in the meantime, so the list will find it under its name.
                Ok(None) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        None
    }

    /// Opens a directory. Does nothing if the path is not a directory.
    fn enter(&mut self, path: PathBuf, depth: usize) -> Result<()> {
        match self.disk.read_dir(&path) {
            Ok(names) => self.levels.push(DirectoryLevel { path, depth, names }),
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(Error::disk("read", &path, error)),
        }
        Ok(())
    }

    fn step(&mut self, name: &OsStr) -> Result<Option<Summary>> {
        let Some(level) = self.levels.last() else { return Ok(None) };
        let (path, depth) = (level.path.join(name), level.depth);
        let Some(name) = name.to_str().filter(|name| is_ours(name, depth)) else { return Ok(None) };
        if depth < KEYS {
            return self.enter(path, depth + 1).map(|()| None);
        }
        if depth == KEYS && name.ends_with(VARIANTS) {
            // A valid entry at the path without variants takes precedence over the directory of
            // variants.
            let single = path.with_extension(EXTENSION.trim_start_matches('.'));
            let hidden = read_summary(&*self.disk, &single)?.is_some();
            return if hidden { Ok(None) } else { self.enter(path, depth + 1).map(|()| None) };
        }
        if name.strip_suffix(EXTENSION).and_then(|key| key.parse::<Key>().ok()).is_none() {
            return Ok(None);
        }
        let summary = self.entry(&path)?;
        Ok(summary.filter(|summary| {
            !self.listed.contains(&(summary.place.key(), summary.place.variant_name()))
        }))
    }
}

impl Iterator for EntryList {
    type Item = Result<Summary>;

    fn next(&mut self) -> Option<Result<Summary>> {
        if let Some(summary) = self.next_pending() {
            return Some(summary);
        }
        loop {
            let Some(level) = self.levels.last_mut() else {
                let (path, depth) = self.starts.pop()?;
                if let Err(error) = self.enter(path, depth) {
                    return Some(Err(error));
                }
                continue;
            };
            let done = match level.names.next() {
                Some(Ok(name)) => self.step(&name),
                Some(Err(error)) => {
                    let error = Error::disk("read", &level.path, error);
                    // The rest of the directory cannot be read.
                    self.levels.pop();
                    Err(error)
                }
                None => {
                    self.levels.pop();
                    Ok(None)
                }
            };
            if let Some(summary) = done.transpose() {
                return Some(summary);
            }
        }
    }
}

impl std::fmt::Debug for EntryList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("List").field("root", &self.root).finish_non_exhaustive()
    }
}

/// The hosts that have a directory, of one scheme or all.
pub(crate) fn hosts(
    disk: &Arc<dyn Disk>,
    root: &Path,
    scheme: Option<&str>,
) -> Result<Vec<SpoolHost>> {
    let mut hosts = Vec::new();
    for scheme in schemes(&**disk, root, scheme)? {
        let directory = root.join(&*place::scheme_directory(&scheme));
        for name in names_if_any(&**disk, &directory)? {
            let name = name?;
            let Some(name) = name.to_str() else { continue };
            let host = match place::host_of(name) {
                Some(host) => Some(host),
                None if name.starts_with('=') => hashed_host(disk, root, directory.join(name)),
                None => None,
            };
            hosts.extend(host.map(|host| SpoolHost { scheme: scheme.clone(), host }));
        }
    }
    hosts.sort_unstable();
    Ok(hosts)
}

/// The host of a directory with a hashed name, read from any entry in it.
fn hashed_host(disk: &Arc<dyn Disk>, root: &Path, directory: PathBuf) -> Option<String> {
    let mut list = EntryList {
        disk: Arc::clone(disk),
        root: root.to_owned(),
        pending: Vec::new(),
        listed: HashSet::new(),
        starts: vec![(directory, 2)],
        levels: Vec::new(),
    };
    let entry = list.find_map(Result::ok)?;
    Some(place::scheme_and_host(entry.place.url()).1.to_owned())
}

/// The supported schemes, and the other schemes that have a directory. Only `wanted`, if it is
/// given.
pub(crate) fn schemes(disk: &dyn Disk, root: &Path, wanted: Option<&str>) -> Result<Vec<String>> {
    if let Some(scheme) = wanted {
        return Ok(vec![scheme.to_owned()]);
    }
    let mut schemes: Vec<String> = SCHEMES.map(str::to_owned).to_vec();
    for name in names(disk, root)? {
        let name = name?;
        let scheme = name.to_str().and_then(place::scheme_of);
        schemes.extend(scheme.filter(|scheme| !SCHEMES.contains(&scheme.as_str())));
    }
    Ok(schemes)
}

/// Whether a name at this depth may belong to the spool.
fn is_ours(name: &str, depth: usize) -> bool {
    match depth {
        1 => name.starts_with('=') || place::host_of(name).is_some(),
        2 => name.len() == 2,
        KEYS => name.ends_with(EXTENSION) || name.ends_with(VARIANTS),
        _ => name.ends_with(EXTENSION),
    }
}
