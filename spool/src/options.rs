//! How a spool is opened, and what it promises.

use std::time::Duration;

use crate::fs::SharedDisk;
use crate::pending::BATCH_INTERVAL;
use crate::versions::Versions;

/// What of a finished entry a crash may take back. Whatever the setting, after a crash each entry is
/// whole, old or new, or absent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Nothing: it is on the medium before [`crate::Writer::finish`] returns.
    Each,
    /// The entries of the last moments, if the power fails; nothing if only the program ends. They
    /// are found at once, and on the medium within [`Options::batch_interval`] and the time that takes.
    #[default]
    Batch,
    /// What the system had not written of its own accord when the power failed. Then some entries
    /// may be damaged too; they are noticed when they are read.
    None,
}

/// How a spool is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// What a crash may take back.
    pub durability: Durability,
    /// How long finished entries gather before they are synced, under [`Durability::Batch`].
    pub batch_interval: Duration,
    /// Who may use new directories and files besides their owner; `None`: nobody.
    pub shared: Option<SharedDisk>,
    /// How many older versions are kept, besides those of what is monitored.
    pub versions: Versions,
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
