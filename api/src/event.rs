//! The lines of the responses to `POST /api/get`, `/api/fetch` and `/api/runs`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::hold::Hold;
use super::progress::TotalProgress;
use super::runs::RunItem;

/// One line of the response to `POST /api/get`, `/api/fetch` or `/api/runs`.
///
/// The last line is [`Event::End`]; a stream without this line is truncated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// A request was sent.
    Start {
        /// The URL.
        url: String,
    },
    /// More of the body was received.
    Progress {
        /// The URL.
        url: String,
        /// Bytes received so far.
        bytes: u64,
        /// The length announced by the origin, in bytes; `None` if it did not announce one.
        #[serde(default)]
        total: Option<u64>,
        /// Recent bytes per second; absent while unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate: Option<u64>,
        /// The estimated time for the rest, in seconds; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds_left: Option<u64>,
    },
    /// The progress of all requests together.
    Whole(TotalProgress),
    /// The response is stored.
    Done {
        /// The URL.
        url: String,
        /// The status of the response.
        status: u16,
        /// The length of the body in bytes.
        bytes: u64,
    },
    /// The request failed permanently.
    Failed {
        /// The URL.
        url: String,
        /// The status, if the origin responded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// The reason.
        error: String,
    },
    /// The page is stored, but could not be opened in a browser.
    Browser {
        /// The URL.
        url: String,
        /// The reason.
        error: String,
    },
    /// The request failed temporarily and will be retried.
    Retry {
        /// The URL.
        url: String,
        /// Why the request failed.
        error: String,
        /// When the request is retried.
        next: Timestamp,
    },
    /// The request is in the queue until the mode allows it.
    Queued {
        /// The URL.
        url: String,
    },
    /// Some requests are held back, and the stream does not wait for them.
    Held {
        /// The reason.
        held: Hold,
        /// The number of requests.
        count: u64,
    },
    /// The origin responded with a redirect, which is followed.
    Redirect {
        /// The requested URL.
        url: String,
        /// The status of the redirect.
        status: u16,
        /// The target of the redirect, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        location: Option<String>,
    },
    /// The progress or the result of a recursive fetch.
    Run {
        /// The fetch.
        run: Box<RunItem>,
    },
    /// The end of the stream: each request is done, has failed, or waits in the queue.
    End {
        /// The number of responses that are stored now, including fresh ones that were stored
        /// before.
        fetched: u64,
        /// The number of requests that failed permanently, not counting dead links.
        failed: u64,
        /// The number of dead links in the pages of recursive fetches.
        #[serde(default)]
        dead: u64,
        /// The number of requests that wait in the queue.
        waiting: u64,
    },
    /// An event of a newer daemon.
    #[serde(other)]
    Unknown,
}
