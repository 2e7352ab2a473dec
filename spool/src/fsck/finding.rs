//! The findings of a check, one by one and in total.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use serde::{Serialize, Serializer};

/// The finding for one file or directory. Valid files have none.
///
/// Another layer over the same spool, for example an index, can report its findings in the same
/// form. [`CheckTotals::add`] counts them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The path of the file below the root of the spool.
    pub path: PathBuf,
    /// The remedy that the fault allows, or that was applied.
    pub verdict: CheckVerdict,
    /// The fault, in a few words.
    pub reason: String,
    /// The new path below the root, if the file was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<PathBuf>,
}

impl Finding {
    /// A finding for the file at `path`.
    #[must_use]
    pub fn new(path: PathBuf, verdict: CheckVerdict, reason: impl Into<String>) -> Finding {
        Finding { path, verdict, reason: reason.into(), moved_to: None }
    }
}

#[expect(clippy::unnecessary_debug_formatting, reason = "quoted: a path may hold control bytes")]
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}: {}", self.verdict, self.path, self.reason)?;
        match &self.moved_to {
            Some(path) => write!(f, "; now {path:?}"),
            None => Ok(()),
        }
    }
}

/// The remedy that a fault allows, or that was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CheckVerdict {
    /// A repair can restore the file without loss.
    Mendable,
    /// A repair has restored the file.
    Repaired,
    /// The file cannot be restored. A repair sets it aside, if possible.
    BeyondRepair,
    /// The file could not be restored, and is now in `damaged/`.
    SetAside,
    /// The file is harmless and useless, for example after a crash. A repair removes it, or leaves
    /// it to the next lookup or the next opening.
    Leftover,
    /// The file was harmless and useless, and has been removed.
    Removed,
    /// The file does not belong to the spool, and stays where it is.
    Foreign,
}

impl CheckVerdict {
    /// The verdict in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            CheckVerdict::Mendable => "can be repaired",
            CheckVerdict::Repaired => "repaired",
            CheckVerdict::BeyondRepair => "beyond repair",
            CheckVerdict::SetAside => "set aside",
            CheckVerdict::Leftover => "left over",
            CheckVerdict::Removed => "removed",
            CheckVerdict::Foreign => "foreign",
        }
    }
}

impl fmt::Display for CheckVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for CheckVerdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The number of findings of each verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CheckTotals {
    /// Valid files.
    pub sound: u64,
    /// [`CheckVerdict::Mendable`].
    #[serde(rename = "can_be_repaired")]
    pub mendable: u64,
    /// [`CheckVerdict::Repaired`].
    pub repaired: u64,
    /// [`CheckVerdict::BeyondRepair`].
    pub beyond_repair: u64,
    /// [`CheckVerdict::SetAside`].
    pub set_aside: u64,
    /// [`CheckVerdict::Leftover`].
    pub left_over: u64,
    /// [`CheckVerdict::Removed`].
    pub removed: u64,
    /// [`CheckVerdict::Foreign`].
    pub foreign: u64,
    /// Files below `tmp/`: being written, or left by a crash. The next opening handles them.
    pub unfinished: u64,
    /// Files below `tmp/` that a repair has completed and renamed.
    pub admitted: u64,
    /// Files in `damaged/`, without the notes.
    pub damaged: u64,
    /// The total length of the files in `damaged/`, in bytes.
    pub damaged_bytes: u64,
}

impl CheckTotals {
    /// Counts a finding.
    pub fn add(&mut self, finding: &Finding) {
        *match finding.verdict {
            CheckVerdict::Mendable => &mut self.mendable,
            CheckVerdict::Repaired => &mut self.repaired,
            CheckVerdict::BeyondRepair => &mut self.beyond_repair,
            CheckVerdict::SetAside => &mut self.set_aside,
            CheckVerdict::Leftover => &mut self.left_over,
            CheckVerdict::Removed => &mut self.removed,
            CheckVerdict::Foreign => &mut self.foreign,
        } += 1;
    }

    /// Whether the spool is now free of faults. Leftovers and foreign files are not faults.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.mendable == 0 && self.beyond_repair == 0
    }

    /// Whether at least one fault was repaired or set aside.
    #[must_use]
    pub fn was_repaired(&self) -> bool {
        self.repaired > 0 || self.set_aside > 0
    }
}

/// A fault and its remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileFault {
    pub(super) reason: Cow<'static, str>,
    pub(super) remedy: Remedy,
}

/// The remedy for a fault. Paths are below the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Rename the valid file to this path. An older file there is replaced.
    Rename(PathBuf),
    /// Move the file to `damaged/`.
    SetAside,
    /// Move the entry, which prevents the variants of its key from being found, into the directory
    /// of variants.
    Unhide,
    /// Mark the entry as invalid, because its update is lost.
    Distrust,
    /// Reduce the permissions to these bits.
    Narrow(u32),
    /// Remove the useless file.
    Remove,
    /// No action: the next lookup of the segments, or the next opening, corrects the fault.
    Wait,
    /// No remedy exists.
    Nothing,
    /// The file does not belong to the spool.
    Foreign,
}

impl FileFault {
    pub(super) fn new(reason: impl Into<Cow<'static, str>>, remedy: Remedy) -> FileFault {
        FileFault { reason: reason.into(), remedy }
    }

    pub(super) fn set_aside(reason: impl Into<Cow<'static, str>>) -> FileFault {
        FileFault::new(reason, Remedy::SetAside)
    }

    /// The verdict before a repair.
    pub(super) fn verdict(&self) -> CheckVerdict {
        match self.remedy {
            Remedy::Rename(_) | Remedy::Unhide | Remedy::Distrust | Remedy::Narrow(_) => {
                CheckVerdict::Mendable
            }
            Remedy::SetAside | Remedy::Nothing => CheckVerdict::BeyondRepair,
            Remedy::Remove | Remedy::Wait => CheckVerdict::Leftover,
            Remedy::Foreign => CheckVerdict::Foreign,
        }
    }
}
