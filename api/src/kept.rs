//! The JSON types for moving, compressing and writing entries.

use serde::{Deserialize, Serialize};

/// The body of `POST /api/entries/move`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntriesToMove {
    /// The current URL.
    pub from: String,
    /// The new URL.
    pub to: String,
    /// Whether everything below `from` is moved.
    #[serde(default)]
    pub below: bool,
    /// Whether entries stored under the new URL are replaced.
    #[serde(default)]
    pub force: bool,
    /// The owner whose entries are moved. If absent, the caller's own entries are moved. Public
    /// entries are moved in both cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// The response to `POST /api/entries/move`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedUrls {
    /// The moved URLs.
    pub moved: Vec<MovedUrl>,
    /// The new URLs that already have an entry. The entries that should move to these URLs keep
    /// their old URLs.
    pub taken: Vec<String>,
    /// The URLs that could not be moved, with the reasons.
    pub failed: Vec<NotMoved>,
    /// Whether there were more entries than one call moves. If so, repeating the call moves further
    /// entries.
    pub more: bool,
}

/// A moved URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedUrl {
    /// The old URL.
    pub from: String,
    /// The new URL.
    pub to: String,
}

/// A URL whose entries could not be moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotMoved {
    /// The URL.
    pub url: String,
    /// The reason.
    pub error: String,
}

/// The body of `POST /api/entries/compress`: one of `urls`, `host` and `all`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntriesToCompress {
    /// The URLs whose entries are compressed.
    #[serde(default)]
    pub urls: Vec<String>,
    /// The host whose entries are compressed, with its port, for all owners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Whether all entries are compressed.
    #[serde(default)]
    pub all: bool,
    /// Whether the entries are decompressed instead.
    #[serde(default)]
    pub expand: bool,
    /// The owner whose entries are compressed. If absent, the caller's own entries are compressed.
    /// Public entries are compressed in both cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// The last line of the response to `POST /api/entries/compress`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompressEvent {
    /// All entries were handled.
    Done(CompressedUrls),
    /// Compressing failed, for this reason.
    Failed(String),
}

/// The result of compressing. Entries and their older versions are counted separately.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompressedUrls {
    /// The number of entries compressed or decompressed.
    pub rewritten: u64,
    /// The bytes that the rewritten entries occupied on the disk before.
    pub before: u64,
    /// The bytes that the rewritten entries occupy now.
    pub after: u64,
    /// The number of entries that already had the wanted form.
    pub already: u64,
    /// The number of entries left unchanged because compressing would save too little.
    pub not_worth: u64,
    /// The number of entries that could not be rewritten and are unchanged.
    #[serde(default)]
    pub failed: u64,
    /// The reason of the first failure, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<String>,
    /// The URLs without a stored copy.
    pub missing: Vec<String>,
}

/// The response to `POST /api/entries/write`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenUrl {
    /// The URL, without credentials.
    pub url: String,
    /// The length of the body in bytes.
    pub bytes: u64,
}
