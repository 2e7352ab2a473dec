//! How a spool is opened.

use std::sync::Arc;
use std::time::Duration;

use crate::durability::Durability;
use crate::fs::{Disk, SharedDisk, SystemDisk};
use crate::tree::pending::BATCH_INTERVAL;
use crate::tree::versions::Versions;

/// How a spool is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// What a crash may take back.
    pub durability: Durability,
    /// How long finished entries gather before they are synced, under [`Durability::Batch`].
    pub batch_interval: Duration,
    /// The permissions of new directories and files. `None`: only their owner may use them.
    pub shared: Option<SharedDisk>,
    /// How many older versions are kept. Monitored pages may keep more.
    pub versions: Versions,
}

impl Options {
    /// The disk that these options ask for.
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
