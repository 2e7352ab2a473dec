//! Taking archives in.

use serde::{Deserialize, Serialize};
use wwwoffle_archive::Report;

/// `POST /api/import`: what to take in, and how. Only the command line may ask: the path is one of the
/// machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportRequest {
    /// Where the archive is: a file or a folder, from the root.
    pub path: String,
    /// What is kept gives way to it, however old it is.
    pub replace: bool,
    /// Nothing is kept; it is only told what would be.
    pub dry_run: bool,
    /// What may be meant for one person is kept for everyone, without cookies.
    pub everyone: bool,
    /// For whom it is kept else; `local` if nobody is named.
    pub owner: Option<String>,
    /// The longest body that is taken, in bytes.
    pub max_body: Option<u64>,
    /// The scheme of the URLs of a folder of plain files; `https` if none is named.
    pub scheme: Option<String>,
}

/// A line of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum ImportEvent {
    /// How far it is.
    Progress(Report),
    /// It is at its end.
    End(Report),
    /// It could not go on.
    Failed {
        /// Why.
        error: String,
    },
}
