//! Files of the user's own, in `local/`. They are read and never written.

use std::ffi::OsStr;

use crate::Spool;
use crate::error::{Error, Result};
use crate::fs::{Beneath, open_beneath};

/// The directory they are in.
pub(crate) const DIRECTORY: &str = "local";

impl Spool {
    /// Opens what these names lead to below `local/`, one below the other; see [`open_beneath`].
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn local<'a>(&self, path: impl Iterator<Item = &'a OsStr>) -> Result<Beneath> {
        let root = self.root().join(DIRECTORY);
        open_beneath(&root, path).map_err(|error| Error::disk("open", &root, error))
    }
}
