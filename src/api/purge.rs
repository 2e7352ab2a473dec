//! The shapes of purging.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What goes and what stays, and what went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeReport {
    /// For which moment it was planned.
    pub at: Timestamp,
    /// What goes, by reason: `old`, `room`, `dont-get`, `dont-cache`.
    pub goes: Vec<PurgeSum>,
    /// What stays, by reason: `young`, `recent`, `no-age`, `pinned`, `needed`, `perhaps-needed`.
    pub stays: Vec<PurgeSum>,
    /// What part of their age entries may reach, in thousandths; 1000 unless there is too little room.
    pub scale: u64,
    /// How many bytes should go besides, and may not.
    pub missing: u64,
    /// What was removed; none for a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<PurgeSum>,
    /// What has reached the age at which it is compressed, and was not tried yet: the bytes are those that it
    /// takes now, of which only some can be saved. None where nothing is to be compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compressible: Option<PurgeSum>,
    /// What was compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compressed: Option<PurgeCompressed>,
    /// What became of bodies that are the same; none for a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<PurgeShared>,
    /// How many bytes of the disk are free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<u64>,
}

/// What was compressed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeCompressed {
    /// How many entries, each with its older versions.
    pub entries: u64,
    /// How many bytes these took on the disk.
    pub before: u64,
    /// How many they take now.
    pub after: u64,
    /// How many could not be compressed.
    #[serde(default)]
    pub failed: u64,
    /// Why the first of them could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<String>,
    /// Why it ended before its end, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What is to be remembered of it.
    #[serde(skip)]
    pub tried: Option<String>,
}

/// Bodies that are kept once for several entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeShared {
    /// How many entries and older versions share their body since.
    pub entries: u64,
    /// How many bytes of bodies are not kept a second time since.
    pub saved: u64,
    /// How many bodies were removed, since nothing needed them any more.
    pub removed: u64,
    /// How many bytes these took.
    pub removed_bytes: u64,
    /// How many bodies are kept once.
    pub bodies: u64,
    /// How many bytes these take.
    pub bodies_bytes: u64,
    /// How many entries and older versions share one of them.
    pub all_entries: u64,
    /// How many bytes that saves in all.
    pub all_saved: u64,
    /// Why it came to no end, if the disk failed; what was done stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// So many entries, for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeSum {
    /// The reason.
    pub why: String,
    /// How many entries, each with its older versions.
    pub entries: u64,
    /// How many bytes they take on the disk.
    pub bytes: u64,
}

/// `GET /api/purge`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purging {
    /// One is under way.
    pub running: bool,
    /// How many entries it has looked at.
    pub looked: u64,
    /// The last plan, if nothing was purged since.
    pub plan: Option<PurgeReport>,
    /// What the last purge did.
    pub last: Option<PurgeReport>,
    /// Why the last one came to nothing, if it did.
    pub failure: Option<String>,
}

/// The body of `POST /api/purge`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PurgeRequest {
    /// The plan alone.
    #[serde(default)]
    pub dry_run: bool,
}

/// The line that `POST /api/purge` ends with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PurgeEvent {
    /// It is done.
    Done(Box<PurgeReport>),
    /// It is not.
    Failed(String),
}

/// `GET /api/pins`, and what calls that change them answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pins {
    /// The URLs that stay whatever their age, without credentials.
    pub pins: Vec<String>,
}

/// The body of `POST /api/pins`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinRequest {
    /// Which URLs.
    pub urls: Vec<String>,
    /// Whether they are to stay.
    pub pinned: bool,
}
