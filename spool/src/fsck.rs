//! Checking a spool, and mending it: names against URLs, lengths, checks and digests, the grammar of every
//! record, what belongs together, and who may use it.
//!
//! Looking changes nothing and needs no lock, so it can be done beside a running program: what it finds it
//! looks at twice. Mending has the spool for itself. What is whole gets its right name, but never one that
//! something newer has; what is beyond repair goes to `damaged/`, with its reason; nothing is deleted but what
//! is of no use by the format.
//!
//! It holds the findings of one directory in memory at most, of a body one block, and eight bytes for each body
//! that several entries have.

mod bodies;
mod finding;
mod judge;
mod mend;
mod name;
mod walk;

use crate::durability::Root;
use crate::tree::recover;
use crate::tree::versions::Versions;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use self::judge::Judge;
use self::walk::CheckWalk;
use crate::durability::{Durability, open, recent};
use crate::error::{Damage, Result};
use crate::fs::Disk;
use crate::queue::monitor::Monitors;
use crate::queue::seal::Vault;
use crate::tree::Tree;
use crate::tree::recover::Recovery;

pub use self::finding::{CheckTotals, Finding, Verdict};

/// How a spool is checked.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CheckOptions {
    /// Each body is read to its end, and compared with its digest.
    pub is_deep: bool,
    /// Things are told too that are none of the spool's: [`Verdict::Foreign`]. They are counted anyway.
    pub tells_foreign: bool,
    /// What names in the root begin with that another part of the program keeps there.
    pub known: Vec<String>,
}

impl CheckOptions {
    /// A check that also reads each body, or not.
    #[must_use]
    pub fn new(is_deep: bool) -> CheckOptions {
        CheckOptions { is_deep, tells_foreign: true, known: Vec::new() }
    }

    /// The same, where another part of the program keeps what has a name in the root that begins so.
    #[must_use]
    pub fn with_known(mut self, prefix: &str) -> CheckOptions {
        self.known.push(prefix.to_owned());
        self
    }

    fn is_known(&self, name: &str) -> bool {
        self.known.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }
}

/// Checks the spool at `root` and repairs it.
pub(crate) fn repair(
    disk: Arc<dyn Disk>,
    root: &Path,
    versions: Versions,
    how: &CheckOptions,
    tell: &mut dyn FnMut(&Finding),
) -> Result<CheckTotals> {
    // An opening makes what is not there.
    open::check_root(&*disk, root)?;
    let _lock = open::lock_root(&*disk, root)?;
    // Whatever is promised otherwise: what was mended stays so.
    let disk_root = Root::new(disk, root.to_owned(), Durability::Each);
    open::prepare(&disk_root)?;
    let tree = Arc::new(Tree::new(disk_root, versions));
    let mut sums = walk(&*tree.root.disk, root, how, Some(&tree), tell)?;
    let mut recovery = Recovery::default();
    // First: what is monitored keeps versions, also of what a crash left.
    Monitors::open(Arc::clone(&tree), &mut recovery)?;
    recover::recover(&tree, &mut recovery)?;
    if how.is_deep {
        // What came last has been looked at, like everything.
        tree.root.remove_file(&root.join(recent::FILE))?;
    }
    (sums.admitted, sums.unfinished) = (recovery.admitted + recovery.set_apart, 0);
    for finding in told(&recovery, root) {
        sums.add(&finding);
        tell(&finding);
    }
    Ok(sums)
}

/// Checks every file; with `mender`, repairs what it can.
pub(crate) fn walk(
    disk: &dyn Disk,
    root: &Path,
    how: &CheckOptions,
    mender: Option<&Tree>,
    tell: &mut dyn FnMut(&Finding),
) -> Result<CheckTotals> {
    let vault = Vault::look(disk, root);
    let bodies = RefCell::default();
    let began = mender.is_none().then(|| disk.now());
    let judge = Judge { disk, root, is_deep: how.is_deep, vault, bodies, began };
    let mut walk =
        CheckWalk { judge, how, mender, sums: CheckTotals::default(), held: Vec::new(), tell };
    walk.run()?;
    Ok(walk.sums)
}

/// What emptying `tmp/` has found.
fn told(recovery: &Recovery, root: &Path) -> Vec<Finding> {
    let below = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_owned();
    let damage = |damage: &Damage| {
        let mut finding =
            Finding::new(below(&damage.path), Verdict::SetAside, damage.reason.clone());
        finding.moved_to = damage.moved_to.as_deref().map(below);
        finding
    };
    let failure = |error: &crate::error::Error| {
        let source = std::error::Error::source(error).map(|it| format!(": {it}"));
        let why = format!("{error}{}", source.unwrap_or_default());
        Finding::new(crate::durability::TMP.into(), Verdict::BeyondRepair, why)
    };
    let damages = recovery.damaged.iter().map(damage);
    damages.chain(recovery.failures.iter().map(failure)).collect()
}
