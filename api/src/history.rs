//! The JSON types of the versions of a URL.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The response to `GET /api/history`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The canonical URL, without credentials.
    pub url: String,
    /// The owner, as `local`, `user:ada` or `client:192.0.2.1`; absent for public entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The current copy and its older versions, newest first; empty if there are none.
    pub versions: Vec<Version>,
}

/// One version of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// When the version was stored. No other version of the URL has the same time.
    pub stored: Timestamp,
    /// When the response was received.
    pub received: Timestamp,
    /// Whether this is the current copy; all other versions are older.
    pub present: bool,
    /// The status of the response.
    pub status: u16,
    /// The length of the body as received, without transfer coding.
    pub bytes: u64,
    /// The `Content-Type`.
    pub content_type: Option<String>,
    /// The URL of the capture, if the version came from a web archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<String>,
}

/// The body of `POST /api/history/restore` and `POST /api/history/delete`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionRequest {
    /// The URL of the page.
    pub url: String,
    /// When the version was stored.
    pub stored: Timestamp,
    /// The owner of the version, if that is neither the caller nor everyone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}
