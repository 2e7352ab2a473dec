//! The options for opening a spool.

use std::sync::Arc;
use std::time::Duration;

use crate::durability::Durability;
use crate::fs::{Disk, SharedDisk, SystemDisk};
use crate::tree::pending::BATCH_INTERVAL;
use crate::tree::versions::Versions;

/// The options for opening a spool.
#[derive(Debug, Clone)]
pub struct Options {
    /// The setting for what a crash may undo.
    pub durability: Durability,
    /// The time for which finished entries are collected before they are synced, under
    /// [`Durability::Batch`].
    pub batch_interval: Duration,
    /// The permissions of new directories and files. `None`: only the owner of the spool may use
    /// them.
    pub shared: Option<SharedDisk>,
    /// The numbers of older versions that are kept. Monitored pages may keep more.
    pub versions: Versions,
}

impl Options {
    /// The disk to use with these options.
    pub(crate) fn disk(&self) -> Arc<dyn Disk> {
        match self.shared {
            Some(shared) => Arc::new(shared),
            None => Arc::new(SystemDisk),
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            durability: Durability::default(),
            batch_interval: BATCH_INTERVAL,
            shared: None,
            versions: Versions::default(),
        }
    }
}
