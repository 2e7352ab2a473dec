//! The disk usage of an entry, with its older versions and update files.

use std::path::Path;

use crate::entry::place::{EXTENSION, Place};
use crate::error::{Result, is_missing};
use crate::fs::whole::open_if_any;
use crate::fs::{Disk, OpenedFile, parent};
use crate::tree::versions;
use crate::tree::walk::texts;

/// The block size of the file system, in bytes: each file takes whole blocks.
const BLOCK: u64 = 4_096;

/// The number of older versions of an entry, and its disk usage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskUsage {
    /// The number of older versions.
    pub versions: usize,
    /// The bytes of the entry and its versions, in whole blocks.
    pub bytes: u64,
}

/// The bytes that a file of this length takes, in whole blocks.
pub(crate) fn blocks(length: u64) -> u64 {
    length.div_ceil(BLOCK).saturating_mul(BLOCK)
}

/// The disk usage of a file; 0 if it is missing or not a file.
pub(crate) fn of_file(disk: &dyn Disk, path: &Path) -> Result<u64> {
    match open_if_any(disk, path)? {
        Some(OpenedFile::File(_, length)) => Ok(blocks(length)),
        Some(OpenedFile::NotAFile) | None => Ok(0),
    }
}

/// The disk usage of exactly this place.
pub(crate) fn of_place(disk: &dyn Disk, root: &Path, place: &Place) -> Result<DiskUsage> {
    let single = root.join(place.single_path());
    let (keys, key) = (parent(&single), place.key().to_string());
    let (directory, name) = (root.join(place.variants_path()), place.variant_name().to_string());
    if !place.variant_text().is_empty() {
        return companion_usage(disk, &directory, &name);
    }
    let mut taken = companion_usage(disk, keys, &key)?;
    if matches!(disk.open(&single), Err(error) if is_missing(&error)) {
        // The entry is among the variants, but earlier versions are in the directory where the
        // entry was before.
        taken.bytes = taken.bytes.saturating_add(companion_usage(disk, &directory, &name)?.bytes);
    }
    Ok(taken)
}

fn companion_usage(disk: &dyn Disk, directory: &Path, stem: &str) -> Result<DiskUsage> {
    let mut taken = DiskUsage::default();
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
