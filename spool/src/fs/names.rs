//! The names in a directory, with the errors of the spool.

use std::ffi::OsString;
use std::path::Path;

use super::{DirectoryNames, Disk};
use crate::error::{Error, Result, is_missing};

/// Lists the names in a directory, in no order. The directory is read as the iterator advances.
pub(crate) fn names<'a>(
    disk: &dyn Disk,
    directory: &'a Path,
) -> Result<impl Iterator<Item = Result<OsString>> + use<'a>> {
    let names = disk.read_dir(directory).map_err(|error| Error::disk("read", directory, error))?;
    Ok(with_errors(Some(names), directory))
}

/// Like [`names`], but a missing directory has no names.
pub(crate) fn names_if_any<'a>(
    disk: &dyn Disk,
    directory: &'a Path,
) -> Result<impl Iterator<Item = Result<OsString>> + use<'a>> {
    match disk.read_dir(directory) {
        Ok(names) => Ok(with_errors(Some(names), directory)),
        Err(error) if is_missing(&error) => Ok(with_errors(None, directory)),
        Err(error) => Err(Error::disk("read", directory, error)),
    }
}

fn with_errors(
    names: Option<DirectoryNames>,
    directory: &Path,
) -> impl Iterator<Item = Result<OsString>> + use<'_> {
    let fail = move |error| Error::disk("read", directory, error);
    names.into_iter().flatten().map(move |name| name.map_err(fail))
}
