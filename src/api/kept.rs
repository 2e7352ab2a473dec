//! What is changed of what is kept, by hand.

use serde::{Deserialize, Serialize};

/// The body of `POST /api/entries/move`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntriesToMove {
    /// What it is kept as now.
    pub from: String,
    /// What it is to be kept as.
    pub to: String,
    /// All that is below `from`, not it alone.
    #[serde(default)]
    pub below: bool,
    /// What is kept there already is replaced.
    #[serde(default)]
    pub force: bool,
    /// Whose answers in place of the caller's own; everyone's are moved too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// The answer to `POST /api/entries/move`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedUrls {
    /// What has another URL now.
    pub moved: Vec<MovedUrl>,
    /// The new URLs under which something is kept already; what was to have them has its old ones.
    pub taken: Vec<String>,
    /// What cannot be moved, with the reason.
    pub failed: Vec<NotMoved>,
    /// There may be more than one call moves: the same call goes on.
    pub more: bool,
}

/// What has another URL now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedUrl {
    /// What it was.
    pub from: String,
    /// What it is.
    pub to: String,
}

/// What cannot be moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotMoved {
    /// What it is.
    pub url: String,
    /// Why.
    pub error: String,
}

/// The answer to `POST /api/entries/write`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenUrl {
    /// What was written, without credentials.
    pub url: String,
    /// The length of its body.
    pub bytes: u64,
}
