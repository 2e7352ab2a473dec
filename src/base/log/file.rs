//! A log file.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, Stat, fstat, open, stat};

/// A log writer that appends to a file. If the file was renamed or removed, as by `logrotate`, the
/// next event starts a new one.
#[derive(Debug)]
pub(super) struct LogFile {
    at: PathBuf,
    file: File,
    /// The device and inode of `file`.
    identity: (u64, u64),
}

impl LogFile {
    /// Opens or creates the file at `at`.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub(super) fn open(at: &Path) -> io::Result<Self> {
        // Without a reader, a pipe cannot be opened: the start fails instead of waiting for one.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP;
        let file = open(at, flags | OFlags::NONBLOCK, mode)?;
        let identity = identity(&fstat(&file)?);
        Ok(Self { at: at.to_owned(), file: file.into(), identity })
    }

    fn is_in_place(&self) -> bool {
        stat(&self.at).is_ok_and(|found| identity(&found) == self.identity)
    }
}

fn identity(file: &Stat) -> (u64, u64) {
    (file.st_dev, file.st_ino)
}

impl Write for LogFile {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        if !self.is_in_place() {
            // If no new file can be created, the old one is used on.
            if let Ok(new) = Self::open(&self.at) {
                *self = new;
            }
        }
        self.file.write(event)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test renames and reads the file")]
mod tests {
    use std::fs::{read_to_string, remove_file, rename};

    use super::*;

    #[test]
    fn a_renamed_or_removed_file_is_replaced_and_an_existing_one_continued() {
        let directory = tempfile::tempdir().unwrap();
        let (at, old) = (directory.path().join("log"), directory.path().join("log.1"));
        let mut log = LogFile::open(&at).unwrap();
        log.write_all(b"one\n").unwrap();
        log.write_all(b"two\n").unwrap();
        rename(&at, &old).unwrap();
        log.write_all(b"three\n").unwrap();
        assert_eq!(read_to_string(&old).unwrap(), "one\ntwo\n");
        assert_eq!(read_to_string(&at).unwrap(), "three\n");
        LogFile::open(&at).unwrap().write_all(b"four\n").unwrap();
        assert_eq!(read_to_string(&at).unwrap(), "three\nfour\n");
        remove_file(&at).unwrap();
        log.write_all(b"five\n").unwrap();
        assert_eq!(read_to_string(&at).unwrap(), "five\n");
    }

    #[test]
    fn without_its_directory_the_old_file_is_used_on() {
        let directory = tempfile::tempdir().unwrap();
        let (at, moved) = (directory.path().join("a/log"), directory.path().join("b"));
        assert!(LogFile::open(&at).is_err(), "a directory is not created");
        std::fs::create_dir(directory.path().join("a")).unwrap();
        let mut log = LogFile::open(&at).unwrap();
        rename(directory.path().join("a"), &moved).unwrap();
        log.write_all(b"one\n").unwrap();
        assert_eq!(read_to_string(moved.join("log")).unwrap(), "one\n");
    }
}
