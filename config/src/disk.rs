//! Finds and reads files within size limits, and records which were read.

pub(crate) mod location;
pub(crate) mod lookup;
pub(crate) mod watch;

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// The largest configuration, in bytes.
pub(crate) const MAX_CONFIG: u64 = 1 << 20;

/// The largest list that a configuration names, in bytes: some 200,000 URL-SPECIFICATIONs.
pub(crate) const MAX_LIST: u64 = 16 << 20;

/// Reads a file of 2.9, in UTF-8 or Latin-1. In Latin-1 each byte is a character.
pub(crate) fn read_classic(file: &Path, limit: u64) -> Result<String, FileError> {
    let text = String::from_utf8(read_bytes(file, limit)?);
    Ok(text.unwrap_or_else(|error| error.as_bytes().iter().copied().map(char::from).collect()))
}

/// Writes a new file, readable only by its owner.
#[expect(clippy::disallowed_methods, reason = "this is the one file that makes any")]
pub(crate) fn write_new(file: &Path, text: &str) -> Result<(), FileError> {
    let made = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let mut made = made.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => FileError::Exists,
        _ => FileError::Unwritable(error),
    })?;
    let written = made.write_all(text.as_bytes()).and_then(|()| made.sync_all());
    written.map_err(|error| {
        // A truncated configuration must not remain.
        let _removed = fs::remove_file(file);
        FileError::Unwritable(error)
    })
}

/// The reason why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("there is no such file")]
    Absent,
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    #[error("not a regular file")]
    NotRegular,
    #[error("larger than the limit of {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("not UTF-8: the first invalid byte is in line {line}")]
    NotText { line: usize },
    #[error("already exists: name another file, or remove it first")]
    Exists,
    #[error("cannot be written: {0}")]
    Unwritable(io::Error),
}

impl FileError {
    /// The reason why a file could not be read.
    pub(crate) fn reading(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Absent,
            _ => Self::Unreadable(error),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one file that opens any")]
fn read_bytes(file: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    watch::note(file);
    // Checked before opening, because the opening of a named pipe waits for a writer.
    if !fs::metadata(file).map_err(FileError::reading)?.is_file() {
        return Err(FileError::NotRegular);
    }
    let mut bytes = Vec::new();
    let opened = fs::File::open(file).map_err(FileError::reading)?;
    // Reads one byte more than allowed, to detect a file that is too large or still growing.
    let length = opened.take(limit + 1).read_to_end(&mut bytes).map_err(FileError::reading)?;
    if u64::try_from(length).is_ok_and(|length| length > limit) {
        return Err(FileError::TooLarge { limit });
    }
    Ok(bytes)
}

/// Reads a text of at most `limit` bytes.
pub(crate) fn read(file: &Path, limit: u64) -> Result<String, FileError> {
    String::from_utf8(read_bytes(file, limit)?).map_err(|error| {
        let valid = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
        FileError::NotText { line: 1 + valid.filter(|byte| **byte == b'\n').count() }
    })
}
