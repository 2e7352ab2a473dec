//! The JSON API, seen from both ends: the daemon answers with these types, the command line and
//! the pages read them.

mod config;
mod held;
mod info;
mod listing;
mod monitor;
mod parts;
pub mod plan;
mod progress;
pub mod runs;
mod types;

pub use config::{
    ConfigChange, ConfigEdit, ConfigError, ConfigFault, ConfigOption, ConfigRule, ConfigState,
    ConfigUndo, ConfigVersion, ConfigVersions,
};
pub use held::{BudgetOf, Held};
pub use info::{Certificate, Chain, Connection, Field, Info, KeptInfo};
use jiff::Timestamp;
pub use listing::{UnknownWhat, What};
pub use monitor::{MonitorItem, MonitorList, MonitorRequest, MonitorsToDelete, VersionDiff};
pub use parts::{PartCounts, PartItem, PartState, Parts};
pub use progress::{ProgressStep, RunStep, Whole};
pub use types::{
    ApiError, Choice, Deleted, DeletedUrls, Download, DownloadWaiting, EntriesToDelete, EntryItem,
    Event, FetchRequest, Flushed, GetRequest, ItemKind, ItemState, LinkStatus, Mode, ModeChange,
    ModeRequest, Queue, QueueCounts, QueueItem, QueueTarget, Rejection, Retried, Started, Status,
    Stopping,
};
