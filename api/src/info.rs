//! The JSON types of `GET /api/info`: the details of one URL.

use super::EntryOwner;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::PageParts;

/// A certificate in words. Its texts have a limited length, and hidden characters in them are made
/// visible.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// The subject of the certificate.
    pub subject: String,
    /// The issuer of the certificate.
    pub issuer: String,
    /// The SHA-256 of the certificate, 64 hex digits.
    pub sha256: String,
    /// When the validity begins; `None` if that cannot be read.
    pub from: Option<Timestamp>,
    /// When the validity ends; `None` if that cannot be read.
    pub until: Option<Timestamp>,
    /// The first hosts and addresses for which the certificate is valid.
    #[serde(default)]
    pub names: Vec<String>,
    /// The number of further hosts and addresses.
    #[serde(default)]
    pub more_names: usize,
}

/// The certificates sent by an origin, its own first, in the order sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// The first certificates.
    pub certificates: Vec<Certificate>,
    /// The number of further certificates.
    #[serde(default)]
    pub left_out: usize,
}

/// The TLS version, the cipher suite and the certificates of a connection to an origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// The version of TLS, such as `TLSv1.3`.
    pub version: String,
    /// The IANA name of the cipher suite.
    pub suite: String,
    /// Whether the certificate was accepted because a person allowed its fingerprint for this
    /// origin.
    #[serde(default)]
    pub by_fingerprint: bool,
    /// The certificates of the origin.
    pub chain: Chain,
}

/// A header field. Its text is as received, with hidden characters made visible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// The name of the field.
    pub name: String,
    /// The value of the field; `None` if the value is secret.
    pub value: Option<String>,
}

/// The response to `GET /api/info`. `Words` is as in [`PageParts`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info<Words = String> {
    /// The canonical URL, without credentials.
    pub url: String,
    /// The key of the URL in the spool, 64 hex digits.
    pub key: String,
    /// The stored copy, if any.
    pub kept: Option<StoredInfo>,
    /// Whether the URL is protected from purging.
    #[serde(default)]
    pub pinned: bool,
    /// The state of the sub-resources; `None` if the URL is not stored, or if its response cannot
    /// have sub-resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<PageParts<Words>>,
}

/// The compressed file of a stored copy: heads and body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompressedFile {
    /// The length of the file in bytes.
    pub bytes: u64,
    /// The length in bytes that the file would have without compression.
    pub plain: u64,
}

/// The form in which the file of a stored copy contains the body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyOnDisk {
    /// The size of the file, if it is compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compressed: Option<CompressedFile>,
    /// Whether the body is stored only once for all entries and older versions with the same body.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// The number of entries that share the body, including this one and not counting older
    /// versions. If this entry has an owner, only entries of this owner are counted; otherwise only
    /// public entries. Only a daemon with an index reports the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<u64>,
}

/// The stored copy of a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredInfo {
    /// The owner and the login.
    #[serde(flatten)]
    pub whose: EntryOwner,
    /// The status of the response.
    pub status: u16,
    /// When the response was received.
    pub received: Timestamp,
    /// When the copy was stored.
    pub stored: Timestamp,
    /// The length of the body as received, without transfer coding.
    pub bytes: u64,
    /// The form in which the file of the entry contains the body.
    #[serde(flatten)]
    pub storage: BodyOnDisk,
    /// The SHA-256 of the body, 64 hex digits.
    pub sha256: String,
    /// The `Content-Type`.
    pub content_type: Option<String>,
    /// The fields of the response.
    pub response: Vec<Field>,
    /// The method of the request.
    pub method: String,
    /// The fields of the request. Secrets are not stored.
    pub request: Vec<Field>,
    /// The TLS parameters of the connection; `None` if it did not use TLS, or if this is unknown.
    pub connection: Option<Connection>,
}
