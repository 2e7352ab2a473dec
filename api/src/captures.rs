//! The JSON types of captures in web archives.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The body of `POST /api/captures` and of `POST /api/captures/store`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureRequest {
    /// The URL of the page.
    pub url: String,
    /// The time to which the capture should be close; absent for the latest capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The address of the TimeGate to ask, one of `time-gates`; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
}

/// The response to `POST /api/captures`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureList {
    /// The canonical URL.
    pub url: String,
    /// The result of each TimeGate.
    pub gates: Vec<GateResult>,
}

/// The result of a TimeGate: a capture, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateResult {
    /// The address of the TimeGate.
    pub gate: String,
    /// The capture, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
    /// The reason, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A capture in a web archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// Its URL in the archive.
    pub memento: String,
    /// When the page was captured.
    pub captured: Timestamp,
}

/// The response to `POST /api/captures/store`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CaptureOutcome {
    /// The capture is stored.
    Stored(StoredCapture),
    /// The mode is offline: the capture of this URL is fetched when it is online.
    Queued {
        /// The canonical URL of the page.
        queued: String,
    },
}

/// A capture that was stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCapture {
    /// The canonical URL of the page.
    pub url: String,
    /// The capture.
    #[serde(flatten)]
    pub capture: Capture,
    /// When the version was stored, as `at` of `/api/history` names it.
    pub stored: Timestamp,
    /// The length of the body, in bytes.
    pub bytes: u64,
    /// The number of sub-resources that were stored with it.
    pub parts: usize,
    /// The number of sub-resources that the archive does not have.
    pub missing: usize,
}
