//! Checking and repairing a spool: names against URLs, lengths, checks and digests, the syntax of
//! every record, files that belong together, and permissions.
//!
//! A check changes nothing and needs no lock, so it can run while the program runs; every fault is
//! confirmed by looking at the file again. A repair needs exclusive access. A valid file gets its
//! right name, unless a newer file has it. An irreparable file goes to `damaged/` with its reason.
//! Only files that the format declares useless are deleted.
//!
//! The memory in use is: the findings of one directory, one block of a body, and less than a
//! hundred bytes for each shared body.

mod bodies;
mod file_check;
mod finding;
mod mend;
mod name;
mod walk;

use crate::durability::Root;
use crate::tree::recover;
use crate::tree::versions::Versions;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use self::file_check::FileCheck;
use self::walk::CheckWalk;
use crate::durability::{Durability, open, recent};
use crate::error::{Damage, Result};
use crate::fs::Disk;
use crate::queue::monitor::Monitors;
use crate::queue::seal::Vault;
use crate::tree::Tree;
use crate::tree::recover::Recovery;

pub use self::finding::{CheckTotals, CheckVerdict, Finding};

/// The options of a check.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CheckOptions {
    /// Whether every body is read completely and compared with its digest.
    pub is_deep: bool,
    /// Whether foreign files are reported too ([`CheckVerdict::Foreign`]). They are always counted.
    pub reports_foreign: bool,
    /// Prefixes of names in the root that belong to other parts of the program.
    pub known: Vec<String>,
}

impl CheckOptions {
    /// Returns options for a check that reads every body if `is_deep`, and reports foreign files.
    #[must_use]
    pub fn new(is_deep: bool) -> CheckOptions {
        CheckOptions { is_deep, reports_foreign: true, known: Vec::new() }
    }

    /// Adds a prefix of names in the root that belong to another part of the program.
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
    // Opening a spool would create a missing one, so the root is checked first.
    open::check_root(&*disk, root)?;
    let _lock = open::lock_root(&*disk, root)?;
    // Repairs are durable under every setting.
    let disk_root = Root::new(disk, root.to_owned(), Durability::Each);
    open::prepare(&disk_root)?;
    let tree = Arc::new(Tree::new(disk_root, versions));
    let mut sums = walk(&*tree.root.disk, root, how, Some(&tree), tell)?;
    let mut recovery = Recovery::default();
    // The monitored pages are read first: they determine how many versions are kept, including
    // those that a crash left in `tmp/`.
    Monitors::open(Arc::clone(&tree), &mut recovery)?;
    recover::recover(&tree, &mut recovery)?;
    if how.is_deep {
        // All entries have been checked, so the list of recent ones is not needed.
        tree.root.remove_file(&root.join(recent::FILE))?;
    }
    (sums.admitted, sums.unfinished) = (recovery.admitted + recovery.set_apart, 0);
    for finding in recovery_findings(&recovery, root) {
        sums.add(&finding);
        tell(&finding);
    }
    Ok(sums)
}

/// Checks every file below `root`, and repairs the files if there is a `mender`. Passes each
/// finding to `tell`.
pub(crate) fn walk(
    disk: &dyn Disk,
    root: &Path,
    how: &CheckOptions,
    mender: Option<&Tree>,
    tell: &mut dyn FnMut(&Finding),
) -> Result<CheckTotals> {
    let vault = Vault::peek(disk, root);
    let bodies = RefCell::default();
    let began = mender.is_none().then(|| disk.now());
    let check = FileCheck { disk, root, is_deep: how.is_deep, vault, bodies, began };
    let mut walk =
        CheckWalk { check, how, mender, sums: CheckTotals::default(), held: Vec::new(), tell };
    walk.run()?;
    Ok(walk.sums)
}

/// The findings of the recovery after a repair: files that it has set aside, and its failures.
fn recovery_findings(recovery: &Recovery, root: &Path) -> Vec<Finding> {
    let below = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_owned();
    let damage = |damage: &Damage| {
        let mut finding =
            Finding::new(below(&damage.path), CheckVerdict::SetAside, damage.reason.clone());
        finding.moved_to = damage.moved_to.as_deref().map(below);
        finding
    };
    let failure = |error: &crate::error::Error| {
        let source = std::error::Error::source(error).map(|it| format!(": {it}"));
        let why = format!("{error}{}", source.unwrap_or_default());
        Finding::new(crate::durability::TMP.into(), CheckVerdict::BeyondRepair, why)
    };
    let damages = recovery.damaged.iter().map(damage);
    damages.chain(recovery.failures.iter().map(failure)).collect()
}
