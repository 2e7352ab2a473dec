//! The types of the JSON API. The daemon sends them; the command line and the pages read them.

mod captures;
mod collections;
mod config;
mod event;
mod exchange;
pub mod fetch_spec;
mod history;
mod hold;
mod index;
mod info;
mod kept;
mod listing;
mod mode;
mod monitor;
mod parts;
pub mod plan;
mod progress;
mod purge;
mod queue;
pub mod report;
pub mod runs;
pub mod scope;
mod statistics;
mod types;
mod usage;

pub use captures::{
    Capture, CaptureList, CaptureOutcome, CaptureRequest, GateResult, StoredCapture,
};
pub use collections::{
    Collection, CollectionChoice, CollectionDefinition, CollectionFetch, CollectionList,
    CollectionRemoval, CollectionRequest, CollectionSchedule, Colour, Member, MemberItem,
    MembersRequest, SavedSearch,
};
pub use config::{
    ConfigChange, ConfigEdit, ConfigError, ConfigFault, ConfigOption, ConfigRule, ConfigState,
    ConfigUndo, ConfigVersion, ConfigVersions,
};
pub use event::Event;
pub use exchange::ImportRequest;
pub use history::{History, Version, VersionRequest};
pub use hold::{BudgetOf, Hold};
pub use index::{
    IndexContent, IndexItem, IndexMarks, IndexPage, ListItems, ReindexEvent, ReindexRequest,
    SearchHit, SearchPage, SessionItem, ShownSnippet,
};
pub use info::{
    BodyOnDisk, Certificate, Chain, CompressedFile, Connection, Field, Info, StoredInfo,
};
use jiff::Timestamp;
pub use kept::{
    CompressEvent, CompressedUrls, EntriesToCompress, EntriesToMove, MovedUrl, MovedUrls, NotMoved,
    WrittenUrl,
};
pub use listing::{ListKind, UnknownWhat};
pub use mode::{Mode, ModeSetting, NotAMode};
pub use monitor::{
    ChangeReport, MonitorItem, MonitorList, MonitorRequest, MonitorsToDelete, VersionDiff,
};
pub use parts::{PageParts, PartCounts, PartItem, PartState};
pub use progress::{DownloadEnded, DownloadToEnd, ProgressStep, RunStep, TotalProgress};
pub use purge::{
    PinRequest, Pins, PurgeCompressed, PurgeEvent, PurgeReport, PurgeRequest, PurgeShared,
    PurgeStatus, PurgeSum,
};
pub use queue::{Prioritized, PriorityRequest};
pub use statistics::{DayCounts, HostCounts, StatisticsReport, Sums};
pub use types::{
    ApiError, DaemonActivity, DaemonProcess, DeleteResponse, DeletedUrls, DownloadItem,
    DownloadWaiting, EntriesToDelete, EntryItem, EntryOwner, FailingParentItem, FetchAttempts,
    FetchRequest, FetchResponse, FlushResponse, FormMethod, FormToSend, GetRequest, ItemState,
    LinkStatus, ModeChange, ModeRequest, OutgoingTrouble, Queue, QueueCounts, QueueItem,
    QueueTarget, RejectionItem, RetryResponse, Status, StopResponse, TierStatus,
};
pub use usage::{DayUsage, QuotaItem, UsageReport};
pub use wwwoffle_index::{HostItem, ItemTimes, SiteItem};
pub use wwwoffle_spool::{Priority, RequestKind};
