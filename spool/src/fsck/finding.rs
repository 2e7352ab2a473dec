//! What is said of a spool: of one file or directory, and in all.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

/// What is said of one file or directory. Of what is sound nothing is said.
///
/// Another layer over the same spool, as an index, can say what it has found in the same words:
/// [`CheckTotals::add`] counts that too.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Where it is, below the root of the spool.
    pub path: PathBuf,
    /// What there is to do about it, or was done.
    pub verdict: Verdict,
    /// What is wrong with it, in a few words.
    pub reason: String,
    /// Where it is now, below the root, if it has another name.
    pub moved_to: Option<PathBuf>,
}

impl Finding {
    /// What is said of what lies at `path`.
    #[must_use]
    pub fn new(path: PathBuf, verdict: Verdict, reason: impl Into<String>) -> Finding {
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

/// What there is to do about something that is not as it should be, or was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// A repair makes it as it should be, and nothing is lost.
    Mendable,
    /// A repair has done so.
    Repaired,
    /// It cannot be made what it was. A repair puts it out of the way, where there is a way.
    BeyondRepair,
    /// It could not, and is in `damaged/` now.
    SetAside,
    /// It does no harm, and is of no use: what a crash leaves, for example. A repair removes it.
    Leftover,
    /// It was of no use, and is gone.
    Removed,
    /// It is none of ours. It stays where it is.
    Foreign,
}

impl Verdict {
    /// In words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Mendable => "can be repaired",
            Verdict::Repaired => "repaired",
            Verdict::BeyondRepair => "beyond repair",
            Verdict::SetAside => "set aside",
            Verdict::Leftover => "left over",
            Verdict::Removed => "removed",
            Verdict::Foreign => "foreign",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How many of each there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckTotals {
    /// Files that are as they should be.
    pub sound: u64,
    /// [`Verdict::Mendable`].
    pub mendable: u64,
    /// [`Verdict::Repaired`].
    pub repaired: u64,
    /// [`Verdict::BeyondRepair`].
    pub beyond_repair: u64,
    /// [`Verdict::SetAside`].
    pub set_aside: u64,
    /// [`Verdict::Leftover`].
    pub left_over: u64,
    /// [`Verdict::Removed`].
    pub removed: u64,
    /// [`Verdict::Foreign`].
    pub foreign: u64,
    /// Files below `tmp/`: what is being written, or what a stop has left. An opening sees to them.
    pub unfinished: u64,
    /// Of those, what has got its name by a repair.
    pub admitted: u64,
    /// Files that were set aside at any time, without the notes that tell why.
    pub damaged: u64,
    /// Their length, in bytes.
    pub damaged_bytes: u64,
}

impl CheckTotals {
    /// Counts what was said.
    pub fn add(&mut self, finding: &Finding) {
        *match finding.verdict {
            Verdict::Mendable => &mut self.mendable,
            Verdict::Repaired => &mut self.repaired,
            Verdict::BeyondRepair => &mut self.beyond_repair,
            Verdict::SetAside => &mut self.set_aside,
            Verdict::Leftover => &mut self.left_over,
            Verdict::Removed => &mut self.removed,
            Verdict::Foreign => &mut self.foreign,
        } += 1;
    }

    /// Whether all is as it should be now.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.mendable == 0 && self.beyond_repair == 0
    }

    /// Whether it was not so before the repair.
    #[must_use]
    pub fn was_mended(&self) -> bool {
        self.repaired > 0 || self.set_aside > 0
    }
}

/// What is wrong with something, and what is to be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) reason: Cow<'static, str>,
    pub(super) remedy: Remedy,
}

/// What is to be done about a fault. Paths are below the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Remedy {
    /// It is whole, and this is its name. What may have that is older.
    Rename(PathBuf),
    /// To `damaged/` with it.
    SetAside,
    /// It hides the entries of its key that vary: it goes among them.
    Unhide,
    /// What was learnt of an entry is lost, so that may not be what its origin would answer.
    Distrust,
    /// More than are said may use it: these bits are left.
    Narrow(u32),
    /// It is of no use.
    Remove,
    /// It is of no use; who asks for what is beside it, or an opening, sees to it.
    Wait,
    /// There is nothing that could be done.
    Nothing,
    /// It is none of ours.
    Foreign,
}

impl Fault {
    pub(super) fn new(reason: impl Into<Cow<'static, str>>, remedy: Remedy) -> Fault {
        Fault { reason: reason.into(), remedy }
    }

    pub(super) fn set_aside(reason: impl Into<Cow<'static, str>>) -> Fault {
        Fault::new(reason, Remedy::SetAside)
    }

    /// Before anything is done about it.
    pub(super) fn verdict(&self) -> Verdict {
        match self.remedy {
            Remedy::Rename(_) | Remedy::Unhide | Remedy::Distrust | Remedy::Narrow(_) => {
                Verdict::Mendable
            }
            Remedy::SetAside | Remedy::Nothing => Verdict::BeyondRepair,
            Remedy::Remove | Remedy::Wait => Verdict::Leftover,
            Remedy::Foreign => Verdict::Foreign,
        }
    }
}
