//! The disk usage of files.

use std::path::Path;

use crate::error::Result;
use crate::fs::whole::open_if_any;
use crate::fs::{Disk, OpenedFile};

/// The block size of the file system, in bytes: each file takes whole blocks.
const BLOCK: u64 = 4_096;

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
