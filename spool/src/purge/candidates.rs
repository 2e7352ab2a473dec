//! The candidates for purging: every entry, with the bytes that removing it would free.

use jiff::Timestamp;

use crate::entry::holder::SharedBody;
use crate::entry::summary::Summary;
use crate::error::Result;
use crate::tree::walk::{HostDirectory, KeyDirectory, SpoolWalk, WalkedEntry};

/// An entry found by a walk, with its disk usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizedEntry {
    /// The summary of the entry.
    pub summary: Summary,
    /// The bytes on the disk of the entry, its older versions and its update files.
    pub size: u64,
    /// When its file was written, if the file system knows.
    pub written: Option<Timestamp>,
    /// The shared bodies that the entry or one of its older versions refers to.
    pub bodies: Vec<SharedBody>,
}

/// The entries of a spool, directory by directory. Entries in the current batch are not included,
/// because they are too new to be purged. After the error of a directory the next ones follow.
pub struct Candidates {
    /// Whether any body of the spool is shared.
    has_bodies: bool,
    hosts: Box<dyn Iterator<Item = Result<HostDirectory>> + Send>,
    /// The directories of the present host that are still to be read, in reverse order.
    ahead: Vec<KeyDirectory>,
    /// The entries of the present directory.
    found: Vec<WalkedEntry>,
}

impl Candidates {
    pub(crate) fn new(walk: &SpoolWalk) -> Result<Candidates> {
        let hosts = Box::new(walk.hosts()?);
        let has_bodies = walk.has_bodies()?;
        Ok(Candidates { has_bodies, hosts, ahead: Vec::new(), found: Vec::new() })
    }

    /// Reads one directory. Returns false at the end.
    fn step(&mut self) -> Result<bool> {
        if let Some(directory) = self.ahead.pop() {
            self.found = directory.walked(self.has_bodies)?;
            return Ok(true);
        }
        let Some(host) = self.hosts.next() else { return Ok(false) };
        self.ahead = host?.keys()?;
        Ok(true)
    }
}

impl Iterator for Candidates {
    type Item = Result<SizedEntry>;

    fn next(&mut self) -> Option<Result<SizedEntry>> {
        loop {
            if let Some(WalkedEntry { summary, size, written, bodies, .. }) = self.found.pop() {
                return Some(Ok(SizedEntry { summary, size, written, bodies }));
            }
            match self.step() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl std::fmt::Debug for Candidates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Candidates").field("ahead", &self.ahead.len()).finish_non_exhaustive()
    }
}
