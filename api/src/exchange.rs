//! The JSON types of imports.

use serde::{Deserialize, Serialize};

/// The body of `POST /api/import`. Only the command line may call it, because the path names a file
/// on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportRequest {
    /// The absolute path of the archive, a file or a folder.
    pub path: String,
    /// Whether stored responses are replaced, even by older ones.
    pub replace: bool,
    /// Whether nothing is stored, and only the result is reported.
    pub dry_run: bool,
    /// Whether responses that may be meant for one person are stored for everyone, without cookies.
    pub everyone: bool,
    /// The owner of responses meant for one person, if they are not stored for everyone; `local` by
    /// default.
    pub owner: Option<String>,
    /// The longest body that is imported, in bytes; 4 GiB by default.
    pub max_body: Option<u64>,
    /// The scheme of the URLs of a folder of plain files; `https` by default.
    pub scheme: Option<String>,
}
