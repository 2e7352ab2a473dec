//! How much of the disk an entry takes, with its older versions and what was learnt of them.

use std::path::Path;

use crate::entry::place::{EXTENSION, Place};
use crate::error::{Error, Result, is_missing};
use crate::fs::{Disk, Opened, parent};
use crate::tree::versions;
use crate::tree::walk::texts;

/// What the file system takes for the name and the block that a file begins, at least, in bytes: small
/// files take a whole block.
const BLOCK: u64 = 4_096;

/// What lies beside an entry, and how much of the disk all of it takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// How many older versions there are.
    pub versions: usize,
    /// How many bytes the entry takes with them, each file in whole blocks.
    pub bytes: u64,
}

/// The blocks that a file of this length takes, in bytes.
pub(crate) fn blocks(length: u64) -> u64 {
    length.div_ceil(BLOCK).saturating_mul(BLOCK)
}

/// The blocks that a file takes; none when it is gone, or no file.
pub(crate) fn of_file(disk: &dyn Disk, path: &Path) -> Result<u64> {
    match disk.open(path) {
        Ok(Opened::File(_, length)) => Ok(blocks(length)),
        Ok(Opened::NotAFile) => Ok(0),
        Err(error) if is_missing(&error) => Ok(0),
        Err(error) => Err(Error::disk("open", path, error)),
    }
}

/// What the entry of a place takes.
pub(crate) fn of(disk: &dyn Disk, root: &Path, place: &Place) -> Result<Taken> {
    let single = root.join(place.single_path());
    let (keys, key) = (parent(&single), place.key().to_string());
    let (shelf, name) = (root.join(place.variants_path()), place.variant_name().to_string());
    if !place.variant_text().is_empty() {
        return beside(disk, &shelf, &name);
    }
    let mut taken = beside(disk, keys, &key)?;
    if matches!(disk.open(&single), Err(error) if is_missing(&error)) {
        // It lies among those that vary; its versions stay where they were.
        taken.bytes = taken.bytes.saturating_add(beside(disk, &shelf, &name)?.bytes);
    }
    Ok(taken)
}

fn beside(disk: &dyn Disk, directory: &Path, stem: &str) -> Result<Taken> {
    let mut taken = Taken::default();
    for name in texts(disk, directory)? {
        let is_its = name.strip_prefix(stem).is_some_and(|rest| rest.starts_with('.'));
        if is_its && name.ends_with(EXTENSION) {
            taken.versions += usize::from(versions::time_of(&name, stem).is_some());
            let bytes = of_file(disk, &directory.join(&name))?;
            taken.bytes = taken.bytes.saturating_add(bytes);
        }
    }
    Ok(taken)
}
