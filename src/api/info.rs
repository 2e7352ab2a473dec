//! What is known of one URL: `GET /api/info`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

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
