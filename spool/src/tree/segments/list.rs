//! Lists of the places that have segments, to remove old or large ones.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::files;
use crate::durability::PARTIAL;
use crate::entry::place::Place;
use crate::entry::read::{EntryContent, read_part};
use crate::error::Result;
use crate::fs::names::names_if_any;
use crate::fs::whole::open_if_any;
use crate::fs::{Disk, OpenedFile};
use crate::tree::salvage;

/// The segments of one place. Their bytes were not checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialSummary {
    /// The place, for [`crate::Spool::partial`] and [`crate::Spool::remove_partial`].
    pub place: Place,
    /// The number of segments and interrupted downloads.
    pub segments: usize,
    /// The total length of their files, in bytes.
    pub file_len: u64,
    /// When the newest segment was finished.
    pub stored: Timestamp,
}

/// The places with segments, in no order.
pub struct PartialList {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    /// The directories still to be read, each for keys that begin with the same two digits.
    groups: Vec<OsString>,
    keys: Vec<PathBuf>,
}

impl PartialList {
    pub(crate) fn new(disk: Arc<dyn Disk>, root: &Path) -> Result<PartialList> {
        let directory = root.join(PARTIAL);
        let groups = names_if_any(&*disk, &directory)?.collect::<Result<_>>()?;
        Ok(PartialList { disk, directory, groups, keys: Vec::new() })
    }
}

impl Iterator for PartialList {
    type Item = Result<PartialSummary>;

    fn next(&mut self) -> Option<Result<PartialSummary>> {
        loop {
            let Some(directory) = self.keys.pop() else {
                let group = self.directory.join(self.groups.pop()?);
                let keys = names_if_any(&*self.disk, &group)
                    .and_then(|names| names.map(|name| Ok(group.join(name?))).collect());
                match keys {
                    Ok(keys) => self.keys = keys,
                    Err(error) => return Some(Err(error)),
                }
                continue;
            };
            if let Some(summary) = summary(&*self.disk, &directory).transpose() {
                return Some(summary);
            }
        }
    }
}

impl std::fmt::Debug for PartialList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartialList").field("directory", &self.directory).finish_non_exhaustive()
    }
}

/// Summarises the directory of a place. `None` if it has no segment.
pub(super) fn summary(disk: &dyn Disk, directory: &Path) -> Result<Option<PartialSummary>> {
    let mut summary: Option<PartialSummary> = None;
    // The total length of the unfinished files. Their place and time come from their checkpoints.
    let mut left = 0_u64;
    for name in files::names(disk, directory)? {
        let path = directory.join(name);
        let Some(OpenedFile::File(_, len)) = open_if_any(disk, &path)? else { continue };
        let Some((place, stored)) = about(disk, &path)? else {
            left = left.saturating_add(len);
            continue;
        };
        let now = summary.get_or_insert(PartialSummary { place, segments: 0, file_len: 0, stored });
        now.segments += 1;
        now.file_len = now.file_len.saturating_add(len);
        now.stored = now.stored.max(stored);
    }
    if let Some(summary) = &mut summary {
        summary.file_len = summary.file_len.saturating_add(left);
    }
    Ok(summary)
}

/// The place of a file, and when it was finished. `None` if the file is neither a segment nor a
/// file of checkpoints.
fn about(disk: &dyn Disk, path: &Path) -> Result<Option<(Place, Timestamp)>> {
    if salvage::is_checkpoint(path) {
        let read = salvage::CheckpointFile::from(disk, path)?;
        return Ok(read.map(|read| (read.place, read.new.entry.when)));
    }
    Ok(match read_part(disk, path, None)? {
        EntryContent::Whole(segment) => Some((segment.place().clone(), segment.stored())),
        EntryContent::Missing | EntryContent::Moved | EntryContent::Bad(_) => None,
    })
}
