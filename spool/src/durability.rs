//! The root directory of a spool on its disk, and how a file gets its name there so that no crash
//! damages it.
//!
//! Nothing here knows the content of entries: [`Root`] creates files below `tmp/`, renames them,
//! syncs directories, moves damaged files to `damaged/`, and reserves room for small files on a
//! full disk.

pub(crate) mod aside;
pub(crate) mod names;
pub(crate) mod open;
pub(crate) mod outbox;
pub(crate) mod recent;
pub(crate) mod reserve;
pub(crate) mod tmp;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};

use self::recent::Recent;
use self::reserve::Reserve;
use self::tmp::Tmp;
use crate::error::Error;
use crate::fs::Disk;
use crate::fs::parallel::lock;

/// Directories of the root.
pub(crate) const TMP: &str = "tmp";
pub(crate) const DAMAGED: &str = "damaged";
pub(crate) const OUTGOING: &str = "outgoing";
pub(crate) const MONITOR: &str = "monitor";
pub(crate) const PARTIAL: &str = "partial";
pub(crate) const RUNS: &str = "runs";

/// The largest number of failures stored until [`Root::take_failures`] returns them.
const MAX_FAILURES: usize = 64;

/// The durability of finished entries: which of them a crash may undo. Under every setting but
/// [`Durability::None`], each entry is complete after a crash (old or new) or absent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// No entry can be lost: [`crate::Writer::finish`] returns only when the entry is durable.
    Each,
    /// A power failure may undo the entries stored last. A crash of the program alone undoes none.
    /// Readers find an entry at once. It becomes durable within [`crate::Options::batch_interval`]
    /// plus the time of the sync.
    #[default]
    Batch,
    /// A power failure may undo every entry that the system had not yet written to disk. Some
    /// entries may then be damaged; reading detects this.
    None,
}

/// The root directory of a spool: its disk, its durability, and the state that all of its files
/// share.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) path: PathBuf,
    pub(crate) durability: Durability,
    /// When the whole file system may be written again, after that was slow.
    next_write_out: Mutex<Option<Instant>>,
    tmp: Tmp,
    /// Held while files below `reserve/` change.
    reserve: Mutex<Reserve>,
    /// The files that were renamed into place last.
    recent: Recent,
    /// Reasons why finished entries could not be stored, and damage found during other work.
    failures: Mutex<Vec<Error>>,
    last_stamp: Mutex<Timestamp>,
    /// Directories whose names, and the names of all directories above them, are durable.
    synced: Mutex<HashSet<PathBuf>>,
}

impl Root {
    pub(crate) fn new(disk: Arc<dyn Disk>, path: PathBuf, durability: Durability) -> Root {
        Root {
            disk,
            path,
            durability,
            next_write_out: Mutex::default(),
            tmp: Tmp::default(),
            reserve: Mutex::default(),
            recent: Recent::default(),
            failures: Mutex::default(),
            last_stamp: Mutex::new(Timestamp::UNIX_EPOCH),
            synced: Mutex::default(),
        }
    }

    pub(crate) fn join(&self, below: impl AsRef<Path>) -> PathBuf {
        self.path.join(below)
    }

    /// Whether the spool syncs files at all.
    pub(crate) fn is_synced(&self) -> bool {
        self.durability != Durability::None
    }

    /// Records a failure for [`Root::take_failures`]. Above [`MAX_FAILURES`] it is dropped.
    pub(crate) fn record_failure(&self, error: Error) {
        let mut failures = lock(&self.failures);
        if failures.len() < MAX_FAILURES {
            failures.push(error);
        }
    }

    pub(crate) fn take_failures(&self) -> Vec<Error> {
        std::mem::take(&mut *lock(&self.failures))
    }

    /// Returns the current time, or the microsecond after the last result if that is later.
    pub(crate) fn stamp(&self) -> Timestamp {
        let mut last = lock(&self.last_stamp);
        let next = last.saturating_add(SignedDuration::from_micros(1)).unwrap_or(*last);
        // A WARC header stores whole microseconds.
        let now = Timestamp::from_microsecond(self.disk.now().as_microsecond()).unwrap_or(next);
        *last = now.max(next);
        *last
    }
}
