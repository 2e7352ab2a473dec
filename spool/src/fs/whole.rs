//! Opening a file that may be missing, and reading a small file as a whole.

use std::path::Path;

use super::{Disk, OpenedFile, read_exactly};
use crate::error::{Error, Result, is_missing};

/// Opens the file at `path`. `None` if it is missing.
pub(crate) fn open_if_any(disk: &dyn Disk, path: &Path) -> Result<Option<OpenedFile>> {
    match disk.open(path) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(Error::disk("open", path, error)),
    }
}

/// Reads the file at `path`. Returns its content, or why it is invalid: it is not a plain file, or
/// is longer than `most` bytes. `None` if it is missing.
pub(crate) fn read_whole(
    disk: &dyn Disk,
    path: &Path,
    most: usize,
) -> Result<Option<Result<Vec<u8>, &'static str>>> {
    let (file, len) = match open_if_any(disk, path)? {
        Some(OpenedFile::File(file, len)) => (file, len),
        Some(OpenedFile::NotAFile) => return Ok(Some(Err("it is not a plain file"))),
        None => return Ok(None),
    };
    let Some(len) = usize::try_from(len).ok().filter(|&len| len <= most) else {
        return Ok(Some(Err("it is too long")));
    };
    let bytes = read_exactly(&*file, len, 0).map_err(|error| Error::disk("read", path, error))?;
    Ok(Some(Ok(bytes)))
}
