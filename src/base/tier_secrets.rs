//! The credentials for the engines of the archive tier.

use std::fmt;

/// The credentials in the environment. Never displayed.
#[derive(Clone, Default)]
pub struct TierSecrets {
    /// `AWS_ACCESS_KEY_ID`.
    pub access_key: Option<String>,
    /// `AWS_SECRET_ACCESS_KEY`.
    pub secret_key: Option<String>,
    /// `PGPASSWORD`.
    pub catalogue_password: Option<String>,
}

impl fmt::Debug for TierSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TierSecrets(not shown)")
    }
}
