//! The shapes of what is kept of one URL over time.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// `GET /api/history`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The canonical URL, without credentials.
    pub url: String,
    /// For whom it is kept, as `local`, `user:ada` or `client:192.0.2.1`; not there for everyone's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What is kept, and what was before it, the newest first; empty if nothing is kept.
    pub versions: Vec<Version>,
}

/// One state of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// When it was stored, which is its name among the others.
    pub stored: Timestamp,
    /// When the answer came.
    pub received: Timestamp,
    /// It is what is kept now; all others are older versions.
    pub present: bool,
    /// The status of the answer.
    pub status: u16,
    /// The length of the body, as it was received less its transfer coding.
    pub bytes: u64,
    /// The `Content-Type`.
    pub content_type: Option<String>,
}

/// The body of `POST /api/history/restore` and `POST /api/history/delete`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionRequest {
    /// The page.
    pub url: String,
    /// When the version was stored.
    pub stored: Timestamp,
    /// Whose, where it is not the caller's own or everyone's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}
