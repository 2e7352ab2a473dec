//! The JSON types of purging.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The plan or the result of a purge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeReport {
    /// The time for which the purge was planned.
    pub at: Timestamp,
    /// The entries to remove, by reason: `old`, `room`, `dont-get`, `dont-cache`.
    pub goes: Vec<PurgeSum>,
    /// The entries that stay, by reason: `young`, `recent`, `no-age`, `pinned`, `needed`,
    /// `perhaps-needed`.
    pub stays: Vec<PurgeSum>,
    /// The share of their maximum age that entries may reach, in thousandths; below 1000 only if
    /// space is short.
    pub scale: u64,
    /// The bytes that should also be freed to meet the limits, but cannot be freed.
    pub missing: u64,
    /// The removed entries; `None` for a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<PurgeSum>,
    /// The entries that have reached the age for compression and were not tried yet. The bytes are
    /// their current size; compression saves only a part of it. `None` if no entry is to be
    /// compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compressible: Option<PurgeSum>,
    /// The result of compressing entries; `None` for a plan, or if no entries are to be compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compressed: Option<PurgeCompressed>,
    /// The result of sharing identical bodies; `None` for a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<PurgeShared>,
    /// The free bytes of the disk, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<u64>,
}

/// The result of compressing entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeCompressed {
    /// The number of compressed entries. An entry and its older versions count as one.
    pub entries: u64,
    /// The bytes that the compressed entries occupied on the disk before.
    pub before: u64,
    /// The bytes that the compressed entries occupy now.
    pub after: u64,
    /// The number of entries that could not be compressed.
    #[serde(default)]
    pub failed: u64,
    /// The reason of the first failure, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<String>,
    /// Why compressing ended early; absent if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The time of this compression and its rules, which are stored for the next purge. `None` if
    /// compressing ended early.
    #[serde(skip)]
    pub tried: Option<String>,
}

/// Identical bodies that are stored once for several entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeShared {
    /// The number of entries and older versions that newly share their body.
    pub entries: u64,
    /// The bytes that the sharing of the bodies of these `entries` saves.
    pub saved: u64,
    /// The number of shared bodies removed because no entry uses them.
    pub removed: u64,
    /// The bytes that the removed bodies occupied.
    pub removed_bytes: u64,
    /// The number of shared bodies.
    pub bodies: u64,
    /// The bytes that the shared bodies occupy.
    pub bodies_bytes: u64,
    /// The number of entries and older versions that use shared bodies.
    pub all_entries: u64,
    /// The bytes that the sharing of all bodies saves.
    pub all_saved: u64,
    /// The disk failure that ended the work early, if any. The work done before it remains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The entries with one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeSum {
    /// The reason.
    pub why: String,
    /// The number of entries. An entry and its older versions count as one.
    pub entries: u64,
    /// The bytes that the entries occupy on the disk.
    pub bytes: u64,
}

/// The response to `GET /api/purge`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeStatus {
    /// Whether a purge is running.
    pub running: bool,
    /// The number of entries examined so far.
    pub looked: u64,
    /// The last plan, if nothing was purged since.
    pub plan: Option<PurgeReport>,
    /// The result of the last purge; `None` if there was none.
    pub last: Option<PurgeReport>,
    /// Why the last purge failed, if it did.
    pub failure: Option<String>,
}

/// The body of `POST /api/purge`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PurgeRequest {
    /// Whether only a plan is made.
    #[serde(default)]
    pub dry_run: bool,
}

/// The last line of the response to `POST /api/purge`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PurgeEvent {
    /// The purge is complete.
    Done(Box<PurgeReport>),
    /// The purge failed, for this reason.
    Failed(String),
}

/// The response to `GET /api/pins` and to calls that change pins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pins {
    /// The URLs that are protected from purging, without credentials.
    pub pins: Vec<String>,
}

/// The body of `POST /api/pins`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinRequest {
    /// The URLs.
    pub urls: Vec<String>,
    /// Whether to pin the URLs. If not, they are unpinned.
    pub pinned: bool,
}
