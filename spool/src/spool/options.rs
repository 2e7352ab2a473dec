//! The options for opening a spool.

use std::time::Duration;

use crate::durability::Durability;
use crate::fs::{SYSTEM_DISK, SystemDisk};
use crate::notes::shared::RemovalRule;
use crate::tree::pending::BATCH_INTERVAL;
use crate::tree::versions::Versions;

/// The options for opening a spool.
#[derive(Debug, Clone)]
pub struct Options {
    /// The setting for what a crash may undo.
    pub durability: Durability,
    /// The longest time for which finished entries are collected before they are synced, under
    /// [`Durability::Batch`].
    pub batch_interval: Duration,
    /// The disk, with the permissions of new directories and files.
    pub disk: SystemDisk,
    /// The numbers of older versions that are kept. Monitored pages may keep more.
    pub versions: Versions,
    /// The removals that are recorded for the archive tier.
    pub removals: RemovalRule,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            durability: Durability::default(),
            batch_interval: BATCH_INTERVAL,
            disk: SYSTEM_DISK,
            versions: Versions::default(),
            removals: RemovalRule::default(),
        }
    }
}
