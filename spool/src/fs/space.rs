//! The space of a disk.

use std::io;
use std::path::Path;

use rustix::fs::StatVfsMountFlags;

use crate::error::{Error, Result};

/// The space of the disk of a spool, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// The total space.
    pub total: u64,
    /// The space available to this user.
    pub free: u64,
}

/// Returns the total and free space of the disk at `root`.
///
/// # Errors
///
/// If the system does not report it: some file systems report no blocks at all.
pub fn space(root: &Path) -> Result<Space> {
    let stat = rustix::fs::statvfs(root);
    let stat = stat.map_err(|error| Error::disk("look at", root, error.into()))?;
    let nothing = || io::Error::new(io::ErrorKind::Unsupported, "the system reports no size");
    of(stat.f_blocks, stat.f_bavail, stat.f_frsize)
        .ok_or_else(|| Error::disk("look at", root, nothing()))
}

/// Whether `path` is on a read-only file system. False if it does not exist.
#[must_use]
pub fn is_read_only(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|about| about.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Converts numbers of blocks of `size` bytes to bytes. `None` if the system reports no blocks, as
/// for FUSE and some network file systems.
fn of(blocks: u64, available: u64, size: u64) -> Option<Space> {
    let bytes = |blocks: u64| blocks.saturating_mul(size);
    Some(Space { total: bytes(blocks), free: bytes(available) }).filter(|space| space.total > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_blocks_has_no_space_figures() {
        assert_eq!(of(0, 0, 4_096), None);
        assert_eq!(of(10, 0, 0), None);
        assert_eq!(of(10, 0, 4_096), Some(Space { total: 40_960, free: 0 }));
        assert_eq!(of(10, 4, 512), Some(Space { total: 5_120, free: 2_048 }));
    }
}
