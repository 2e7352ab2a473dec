//! The JSON types of recursive fetches.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use crate::fetch_spec::{FetchSpec, Limits, PartClass};
pub use crate::report::{FailedUrl, FetchCounts, LeftOut, LeftOutLinks, Report};

/// The response to `GET /api/runs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunList {
    /// The fetches in progress, and those that ended recently; the newest first.
    pub runs: Vec<RunItem>,
}

/// A recursive fetch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunItem {
    /// The identifier of the fetch: 16 hex digits.
    pub id: String,
    /// The owner, if not everyone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The start page.
    pub start: String,
    /// The extent of the fetch.
    #[serde(rename = "aim")]
    pub spec: FetchSpec,
    /// When the fetch began.
    pub begun: Timestamp,
    /// When the fetch ended; absent while it is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// The number of pages and sub-resources that still wait.
    pub waiting: u64,
    /// The result, so far or at the end.
    pub report: Report,
}

/// The body of `POST /api/runs`. The response consists of lines, like that of `POST /api/get`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The start pages.
    pub urls: Vec<String>,
    /// The extent of each fetch.
    #[serde(default, rename = "aim")]
    pub spec: FetchSpec,
    /// Whether the response consists of events until all fetches have ended. Otherwise it is a
    /// [`RunList`], sent at once.
    #[serde(default)]
    pub wait: bool,
}

/// The body of `POST /api/runs/stop`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunToStop {
    /// The identifier of the fetch.
    pub id: String,
}

/// The response to `POST /api/runs/stop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStopped {
    /// The number of requests removed from the queue.
    pub removed: u64,
}
