//! How far the fetching has come: the steps of `GET /api/events`, and what the lines of other answers have
//! in common with them.

use serde::{Deserialize, Serialize};

use super::runs::RunItem;
use super::types::{Download, Mode, QueueCounts};

/// How far several requests have come together: all of the queue since it was last begun to be worked off,
/// what one call has asked for, or a fetch along links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whole {
    /// Requests that are answered.
    pub done: u64,
    /// Requests that were given up.
    pub failed: u64,
    /// Requests that wait or are on their way, as far as is known: pages may lead to more.
    pub left: u64,
    /// Bytes of bodies that have come.
    pub bytes: u64,
    /// Bytes in a second, of late; absent while nothing can be said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// How long it takes, if what is left falls as it has of late; absent where it does not, or where some of
    /// it is held back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<u64>,
}

impl Whole {
    /// What a fetch along links has brought, without its pace.
    #[must_use]
    pub fn of_run(run: &RunItem) -> Self {
        let counts = &run.report.counts;
        Self {
            done: counts.fetched.saturating_add(counts.unchanged).saturating_add(counts.kept),
            failed: counts.failed,
            left: run.waiting,
            bytes: counts.bytes,
            ..Self::default()
        }
    }

    /// Both together, without their pace.
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

/// One message of `GET /api/events`. Each tells all there is, so one that is missed is missed by nobody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgressStep {
    /// The mode in force.
    pub mode: Mode,
    /// The queue in numbers.
    pub queue: QueueCounts,
    /// How far the queue has come since it was last begun to be worked off.
    pub whole: Whole,
    /// What is being received now; the first hundred.
    pub downloads: Vec<Download>,
    /// How many downloads there are besides.
    pub more: u64,
    /// The fetches along links that are under way.
    pub runs: Vec<RunStep>,
}

/// The body of `POST /api/downloads/end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DownloadToEnd {
    /// Which.
    pub id: u64,
}

/// The answer to `POST /api/downloads/end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DownloadEnded {
    /// What was being received.
    pub url: String,
}

/// How far a fetch along links has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStep {
    /// What it is known by.
    pub id: String,
    /// The page that it began at.
    pub start: String,
    /// How far it is.
    pub whole: Whole,
}
