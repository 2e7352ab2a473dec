//! Fetches that follow links: what the API says of them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use crate::api::aim::{Aim, Limits, PartClass};
pub use crate::api::report::{Counts, Failed, Left, LeftOut, Report};

/// `GET /api/runs`: the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunList {
    /// Those under way, and those that have lately ended.
    pub runs: Vec<RunItem>,
}

/// A page fetched with what belongs to it, and what it links to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunItem {
    /// What it is known by: 16 digits from `0` to `f`.
    pub id: String,
    /// Whose it is, if not everyone's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The page that it began at.
    pub start: String,
    /// What it is to bring.
    pub aim: Aim,
    /// When it began.
    pub begun: Timestamp,
    /// When there was nothing left to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// How many pages and parts still wait.
    pub waiting: u64,
    /// What it brought.
    pub report: Report,
}

/// The body of `POST /api/runs`. The answer is lines, as that of `POST /api/get`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The pages to begin at.
    pub urls: Vec<String>,
    /// What each is to bring.
    #[serde(default)]
    pub aim: Aim,
    /// Whether to answer with events until all is done, or at once with [`RunList`].
    #[serde(default)]
    pub wait: bool,
}

/// The body of `POST /api/runs/stop`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunToStop {
    /// Which.
    pub id: String,
}

/// The answer to `POST /api/runs/stop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStopped {
    /// How many requests have left the queue.
    pub removed: u64,
}
