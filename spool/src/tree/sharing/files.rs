//! Every file that may be an entry or an older version, one directory of keys at a time.

use std::path::{Path, PathBuf};

use crate::entry::place::{self, EXTENSION};
use crate::error::{Error, Result, is_missing};
use crate::fs::{Disk, FileKind};

/// The depth of the directories of keys below the root.
const KEYS: usize = 3;

/// The number of levels to which unexpected directories are followed.
const MAX_DEPTH: usize = 8;

/// The directories of keys, read as the iterator advances: every directory inside the directories
/// of hosts, whatever its name. A directory that exists but cannot be read is an error, and so is a
/// dangling link, because the references in them are unknown.
pub(super) struct Directories<'a> {
    disk: &'a dyn Disk,
    ahead: Vec<(PathBuf, usize)>,
}

impl<'a> Directories<'a> {
    pub(super) fn new(disk: &'a dyn Disk, root: &Path) -> Result<Self> {
        let mut ahead = Vec::new();
        for name in names(disk, root)? {
            if place::scheme_of(&name).is_some() {
                ahead.push((root.join(name), 1));
            }
        }
        Ok(Self { disk, ahead })
    }
}

impl Iterator for Directories<'_> {
    type Item = Result<PathBuf>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (path, depth) = self.ahead.pop()?;
            if depth == KEYS {
                return Some(Ok(path));
            }
            match names(self.disk, &path) {
                Err(error) => return Some(Err(error)),
                Ok(names) => {
                    self.ahead.extend(names.into_iter().map(|name| (path.join(name), depth + 1)));
                }
            }
        }
    }
}

/// The files in a directory of keys, and in the directories below it.
pub(super) fn files(disk: &dyn Disk, directory: &Path) -> Result<Vec<PathBuf>> {
    let (mut files, mut ahead) = (Vec::new(), vec![(directory.to_owned(), KEYS)]);
    while let Some((path, depth)) = ahead.pop() {
        for name in names(disk, &path)? {
            let below = path.join(&name);
            if name.ends_with(EXTENSION) {
                files.push(below);
            } else if depth < MAX_DEPTH {
                ahead.push((below, depth + 1));
            }
        }
    }
    Ok(files)
}

/// The names in a directory that are UTF-8. Empty if `directory` is a file or is missing.
pub(super) fn names(disk: &dyn Disk, directory: &Path) -> Result<Vec<String>> {
    let fail = |error| Error::disk("read", directory, error);
    let names = match disk.read_dir(directory) {
        Ok(names) => names,
        Err(error) if is_missing(&error) => {
            let about = disk.about(directory).map_err(fail)?;
            let is_link = about.is_some_and(|about| about.kind == FileKind::Link);
            return if is_link { Err(fail(error)) } else { Ok(Vec::new()) };
        }
        Err(error) => return Err(fail(error)),
    };
    let mut texts = Vec::new();
    for name in names {
        texts.extend(name.map_err(fail)?.into_string().ok());
    }
    Ok(texts)
}
