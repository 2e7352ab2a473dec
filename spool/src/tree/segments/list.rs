//! A list of what is kept in part, for whoever removes what is old or large.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::files;
use crate::durability::PARTIAL;
use crate::entry::place::Place;
use crate::entry::read::{Content, read_part};
use crate::error::{Error, Result, is_missing};
use crate::fs::{Disk, Opened};
use crate::tree::salvage;

/// What is kept of one answer that is not whole. Its bytes have not been looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialSummary {
    /// Where it belongs: what [`crate::Spool::partial`] and [`crate::Spool::remove_partial`] take.
    pub place: Place,
    /// How many segments there are.
    pub segments: usize,
    /// The length of all their files, in bytes.
    pub file_len: u64,
    /// When the newest came.
    pub when: Timestamp,
    /// When the newest was finished.
    pub stored: Timestamp,
}

/// The answers that are kept in part, in no order.
pub struct PartialList {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    /// The directories below, each of the keys that begin with two digits.
    groups: Vec<OsString>,
    keys: Vec<PathBuf>,
}

impl PartialList {
    pub(crate) fn new(disk: Arc<dyn Disk>, root: &Path) -> Result<PartialList> {
        let directory = root.join(PARTIAL);
        let groups = read_dir(&*disk, &directory)?;
        Ok(PartialList { disk, directory, groups, keys: Vec::new() })
    }
}

impl Iterator for PartialList {
    type Item = Result<PartialSummary>;

    fn next(&mut self) -> Option<Result<PartialSummary>> {
        loop {
            let Some(directory) = self.keys.pop() else {
                let group = self.directory.join(self.groups.pop()?);
                match read_dir(&*self.disk, &group) {
                    Ok(names) => self.keys = names.iter().map(|name| group.join(name)).collect(),
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

/// All names in a directory; none when it is missing or is no directory.
fn read_dir(disk: &dyn Disk, directory: &Path) -> Result<Vec<OsString>> {
    let fail = |error| Error::disk("read", directory, error);
    match disk.read_dir(directory) {
        Ok(names) => names.map(|name| name.map_err(fail)).collect(),
        Err(error) if is_missing(&error) => Ok(Vec::new()),
        Err(error) => Err(fail(error)),
    }
}

/// What lies in the directory of a place. `None`: nothing of ours.
pub(super) fn summary(disk: &dyn Disk, directory: &Path) -> Result<Option<PartialSummary>> {
    let mut summary: Option<PartialSummary> = None;
    // The unfinished files, whose checkpoints tell the rest.
    let mut left = 0_u64;
    for name in files::names(disk, directory)? {
        let path = directory.join(name);
        let len = match disk.open(&path) {
            Ok(Opened::File(_, len)) => len,
            Ok(Opened::NotAFile) => continue,
            Err(error) if is_missing(&error) => continue,
            Err(error) => return Err(Error::disk("open", &path, error)),
        };
        let Some((place, when, stored)) = about(disk, &path)? else {
            left = left.saturating_add(len);
            continue;
        };
        let now =
            summary.get_or_insert(PartialSummary { place, segments: 0, file_len: 0, when, stored });
        now.segments += 1;
        now.file_len = now.file_len.saturating_add(len);
        now.when = now.when.max(when);
        now.stored = now.stored.max(stored);
    }
    if let Some(summary) = &mut summary {
        summary.file_len = summary.file_len.saturating_add(left);
    }
    Ok(summary)
}

/// Where a file belongs, when it came and when it was finished.
fn about(disk: &dyn Disk, path: &Path) -> Result<Option<(Place, Timestamp, Timestamp)>> {
    if salvage::is_checkpoint(path) {
        let read = salvage::CheckpointFile::from(disk, path)?;
        return Ok(read.map(|read| (read.place, read.new.when, read.new.when)));
    }
    Ok(match read_part(disk, path, None)? {
        Content::Whole(segment) => {
            Some((segment.place().clone(), segment.when(), segment.stored()))
        }
        Content::Missing | Content::Moved | Content::Bad(_) => None,
    })
}
