//! The result of an import.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::refusal::Reason;

/// The number of refusals that a report lists. Further ones are only counted.
pub const SHOWN: usize = 20;

/// The maximum number of requests of earlier sessions that are imported.
pub const MAX_FORMER: usize = 160_000;

/// The longest name or reason in a report, in characters.
const MAX_TEXT: usize = 500;

/// A line of the response to `POST /api/import`, which the daemon and the command line share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum ImportEvent {
    /// The progress so far.
    Progress(ImportReport),
    /// The import is complete.
    End(ImportReport),
    /// The import failed.
    Failed {
        /// The reason.
        error: String,
        /// Whether the daemon cannot read the path. The caller may still be able to.
        #[serde(default)]
        is_unreadable: bool,
    },
}

/// The result of an import so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportReport {
    /// The number of responses stored as the newest of their place.
    pub kept: u64,
    /// The number of responses stored as older versions.
    pub older: u64,
    /// The number of responses, requests and monitored pages that the spool already contained.
    pub same: u64,
    /// The number of responses that were not stored, because a newer one is stored.
    pub outdated: u64,
    /// The number of error responses that were not stored, because a page is stored.
    pub worse: u64,
    /// The queue and the monitored pages.
    #[serde(flatten)]
    pub requests: RequestReport,
    /// The number of records without a page.
    pub passed: u64,
    /// The number of items refused.
    pub refused: u64,
    /// The total length of the stored bodies, in bytes.
    pub bytes: u64,
    /// When the online sessions of the archive began, the latest first. The caller records them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<Timestamp>,
    /// The requests that waited when fetches of the archive began, at most [`MAX_FORMER`]. The caller
    /// records them.
    #[serde(skip)]
    pub former_requests: Vec<FormerRequest>,
    /// The first [`SHOWN`] refused items.
    pub refusals: Vec<RefusedItem>,
}

/// The changes of the queue and of the monitored pages by an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestReport {
    /// The number of requests added to the queue.
    pub queued: u64,
    /// The number of queued requests that now have a response and were removed.
    pub answered: u64,
    /// The number of pages that are monitored now and were not monitored before.
    pub monitored: u64,
    /// The number of requests of earlier sessions: those that the archive has, and once the caller
    /// has recorded them, those that the lists show.
    pub listed: u64,
}

/// A request that waited when WWWOFFLE 2.9 began to fetch its queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormerRequest {
    /// When the fetch began.
    pub fetch: Timestamp,
    /// The canonical URL, without credentials.
    pub url: String,
    /// When it was queued.
    pub queued: Timestamp,
}

/// A refused item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedItem {
    /// The name of the item.
    pub name: String,
    /// The reason.
    pub reason: String,
}

impl ImportReport {
    pub(crate) fn refuse(&mut self, name: &str, reason: &Reason) {
        self.refused += 1;
        if self.refusals.len() < SHOWN {
            let cut = |text: &str| text.chars().take(MAX_TEXT).collect();
            self.refusals.push(RefusedItem { name: cut(name), reason: cut(reason.as_str()) });
        }
    }

    /// Returns the report without its requests of earlier sessions, which may be many.
    #[must_use]
    pub fn without_former_requests(&self) -> Self {
        Self {
            kept: self.kept,
            older: self.older,
            same: self.same,
            outdated: self.outdated,
            worse: self.worse,
            requests: self.requests.clone(),
            passed: self.passed,
            refused: self.refused,
            bytes: self.bytes,
            sessions: self.sessions.clone(),
            former_requests: Vec::new(),
            refusals: self.refusals.clone(),
        }
    }

    /// The number of items examined so far.
    #[must_use]
    pub fn seen(&self) -> u64 {
        [
            self.kept,
            self.older,
            self.same,
            self.outdated,
            self.worse,
            self.requests.queued,
            self.requests.monitored,
            self.passed,
            self.refused,
        ]
        .iter()
        .sum()
    }
}
