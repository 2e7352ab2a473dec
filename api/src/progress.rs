//! The progress of fetching: the steps of `GET /api/events`, and types shared with the lines of
//! other responses.

use serde::{Deserialize, Serialize};

use super::runs::RunItem;
use super::types::{DownloadItem, QueueCounts};
use crate::Mode;

/// The progress of several requests together: the queue since its fetch began, the requests of one
/// call, or a recursive fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TotalProgress {
    /// The number of requests with a response.
    pub done: u64,
    /// The number of requests that have failed permanently.
    pub failed: u64,
    /// The number of requests that are waiting or active. Only known requests are counted: pages
    /// may lead to more.
    pub left: u64,
    /// Bytes of bodies received.
    pub bytes: u64,
    /// Recent bytes per second; absent while unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// The estimated time left in seconds, from the recent rate at which `left` decreases. Absent
    /// if `left` does not decrease or if requests are held back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<u64>,
}

impl TotalProgress {
    /// The progress of a recursive fetch, without rate.
    #[must_use]
    pub fn of_run(run: &RunItem) -> Self {
        let counts = &run.report.counts;
        Self {
            done: counts.fetched.saturating_add(counts.unchanged).saturating_add(counts.kept),
            failed: counts.failed.saturating_add(counts.dead),
            left: run.waiting,
            bytes: counts.bytes,
            ..Self::default()
        }
    }

    /// The sum of `self` and `other`, without rates.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            done: self.done.saturating_add(other.done),
            failed: self.failed.saturating_add(other.failed),
            left: self.left.saturating_add(other.left),
            bytes: self.bytes.saturating_add(other.bytes),
            ..Self::default()
        }
    }
}

/// One message of `GET /api/events`. Each message contains the full state, so that a missed message
/// does no harm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgressStep {
    /// The mode in force.
    pub mode: Mode,
    /// The counts of the queue.
    pub queue: QueueCounts,
    /// The progress of the queue since the fetch of the queue began.
    pub whole: TotalProgress,
    /// The number of responses that were stored today, for anyone.
    #[serde(default)]
    pub stored: u64,
    /// The first hundred downloads in progress.
    pub downloads: Vec<DownloadItem>,
    /// The number of further downloads.
    pub more: u64,
    /// The recursive fetches in progress.
    pub runs: Vec<RunStep>,
}

/// The body of `POST /api/downloads/end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DownloadToEnd {
    /// The identifier of the download.
    pub id: u64,
}

/// The response to `POST /api/downloads/end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DownloadEnded {
    /// The URL of the download.
    pub url: String,
}

/// The progress of a recursive fetch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStep {
    /// The identifier of the fetch.
    pub id: String,
    /// The start page.
    pub start: String,
    /// The progress of the fetch.
    pub whole: TotalProgress,
}
