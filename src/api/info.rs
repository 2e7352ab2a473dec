//! What is known of one URL: `GET /api/info`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Parts;

/// A certificate in words. Its texts are foreign: of bounded length, hidden characters visible.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// Whom it is for, as it says.
    pub subject: String,
    /// Who signed it, as it says.
    pub issuer: String,
    /// The SHA-256 of it, 64 hex digits.
    pub sha256: String,
    /// When its time begins; none when it cannot be read.
    pub from: Option<Timestamp>,
    /// When its time ends.
    pub until: Option<Timestamp>,
    /// The first hosts and addresses it is for.
    #[serde(default)]
    pub names: Vec<String>,
    /// How many more there are.
    #[serde(default)]
    pub more_names: usize,
}

/// The certificates an origin showed, its own first, in the order sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// The first of them.
    pub certificates: Vec<Certificate>,
    /// How many more there were.
    #[serde(default)]
    pub left_out: usize,
}

/// How a connection to an origin was secured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// The version of TLS, `TLSv1.3`.
    pub version: String,
    /// The cipher suite, under its name at IANA.
    pub suite: String,
    /// The certificate was allowed at this origin by its fingerprint.
    #[serde(default)]
    pub by_fingerprint: bool,
    /// What the origin showed.
    pub chain: Chain,
}

/// One field of a head. Text as it came, hidden characters visible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its value; none when it is a secret, which is not told.
    pub value: Option<String>,
}

/// The answer to `GET /api/info`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info {
    /// The canonical URL, without credentials.
    pub url: String,
    /// The key it is kept under, 64 hex digits.
    pub key: String,
    /// What is kept of it; none if nothing is.
    pub kept: Option<KeptInfo>,
    /// It stays whatever its age.
    #[serde(default)]
    pub pinned: bool,
    /// How much is kept of what belongs to it; none if nothing of it is kept, or it is nothing that has
    /// parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
}

/// The file of what is kept compressed: heads and body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompressedFile {
    /// Its length in bytes.
    pub bytes: u64,
    /// The length it would have if it were not compressed.
    pub plain: u64,
}

/// What is kept of a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptInfo {
    /// For whom it is kept, as `local`, `user:ada` or `client:192.0.2.1`; not there for everyone's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The status of the answer.
    pub status: u16,
    /// When the answer came.
    pub received: Timestamp,
    /// When it was stored.
    pub stored: Timestamp,
    /// The length of the body, as it was received less its transfer coding.
    pub bytes: u64,
    /// What its file takes, if that is compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compressed: Option<CompressedFile>,
    /// Whether the body is kept once for all entries and older versions that have it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// How many entries that is for, itself among them and older versions not; only of those that are kept for the
    /// same person or for everyone, as this is. Told by a daemon whose index knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<u64>,
    /// The SHA-256 of the body, 64 hex digits.
    pub sha256: String,
    /// The `Content-Type`.
    pub content_type: Option<String>,
    /// The fields of the answer.
    pub response: Vec<Field>,
    /// The method and the fields of the request. Secrets are not stored.
    pub method: String,
    /// The fields of the request.
    pub request: Vec<Field>,
    /// How the connection was secured; none if it was not, or if that is not known.
    pub connection: Option<Connection>,
}
