//! The user's own files, in `local/`. The program reads them and never writes them.

use std::ffi::OsStr;
use std::path::Path;

use crate::error::{Error, Result};
use crate::fs::{PathTarget, open_beneath};

/// The directory of the files.
pub(crate) const DIRECTORY: &str = "local";

/// Opens a file below `local/`. `path` yields the names that lead to it.
pub(crate) fn open<'a>(root: &Path, path: impl Iterator<Item = &'a OsStr>) -> Result<PathTarget> {
    let root = root.join(DIRECTORY);
    open_beneath(&root, path).map_err(|error| Error::disk("open", &root, error))
}
