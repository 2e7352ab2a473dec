//! What could go: the directories of entries walked, each entry with all that would be free without it.

use jiff::Timestamp;

use crate::entry::holder::Held;
use crate::entry::summary::Summary;
use crate::error::Result;
use crate::tree::walk::{HostDirectory, KeyDirectory, Walk, Walked};

/// An entry that a walk came by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What it is.
    pub summary: Summary,
    /// How many bytes it takes on the disk, with its older versions and what was learnt of it.
    pub size: u64,
    /// When its file was written, as far as the file system knows.
    pub written: Option<Timestamp>,
    /// The bodies that it or an older version shares with others.
    pub bodies: Vec<Held>,
}

/// The entries of a spool, directory by directory. What waits for its batch has no name yet, and is too new
/// to go.
pub struct Candidates {
    /// There are bodies that several entries share.
    has_bodies: bool,
    hosts: Box<dyn Iterator<Item = Result<HostDirectory>> + Send>,
    /// Directories of a host still to be read, the last one next.
    ahead: Vec<KeyDirectory>,
    /// The entries of the directory that was read last.
    found: Vec<Walked>,
}

impl Candidates {
    pub(crate) fn new(walk: &Walk) -> Result<Candidates> {
        let hosts = Box::new(walk.hosts()?);
        let has_bodies = walk.has_bodies()?;
        Ok(Candidates { has_bodies, hosts, ahead: Vec::new(), found: Vec::new() })
    }

    /// Reads one directory; false when there are no more.
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
    type Item = Result<Found>;

    fn next(&mut self) -> Option<Result<Found>> {
        loop {
            if let Some(Walked { summary, size, written, bodies, .. }) = self.found.pop() {
                return Some(Ok(Found { summary, size, written, bodies }));
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
