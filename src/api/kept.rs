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

/// The body of `POST /api/entries/compress`: one of `urls`, `host` and `all`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntriesToCompress {
    /// What is kept of these.
    #[serde(default)]
    pub urls: Vec<String>,
    /// What is kept of this host, with its port, for whomever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// All that is kept.
    #[serde(default)]
    pub all: bool,
    /// It is expanded.
    #[serde(default)]
    pub expand: bool,
    /// Whose answers in place of the caller's own; everyone's are compressed too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// The line that `POST /api/entries/compress` ends with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompressEvent {
    /// It is done.
    Done(CompressedUrls),
    /// It is not.
    Failed(String),
}

/// What came of it. Entries and their older versions are counted each by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompressedUrls {
    /// How many were compressed, or expanded.
    pub rewritten: u64,
    /// How many bytes these took on the disk.
    pub before: u64,
    /// How many they take now.
    pub after: u64,
    /// How many were so already.
    pub already: u64,
    /// How many would hardly become smaller, and stay as they are.
    pub not_worth: u64,
    /// How many could not be rewritten, and are as they were.
    #[serde(default)]
    pub failed: u64,
    /// Why the first of them could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<String>,
    /// The URLs of which nothing is kept.
    pub missing: Vec<String>,
}

/// The answer to `POST /api/entries/write`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenUrl {
    /// What was written, without credentials.
    pub url: String,
    /// The length of its body.
    pub bytes: u64,
}
