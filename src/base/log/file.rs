//! A log file.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, Stat, fstat, open, stat};
use rustix::process::geteuid;

/// A log writer that appends to a file. If the file was renamed or removed, as by `logrotate`, the
/// next event starts a new one.
#[derive(Debug)]
pub(super) struct LogFile {
    at: PathBuf,
    file: File,
    /// The device and inode of `file`.
    identity: (u64, u64),
    /// Whether the last line is incomplete.
    is_torn: bool,
    /// The result of the last attempt to replace a file that was renamed or removed.
    replacement: LogReplacement,
}

/// The state of a file that was renamed or removed.
#[derive(Debug)]
enum LogReplacement {
    /// It was replaced, or it is in its place.
    Done,
    /// It cannot be replaced, and this was not reported.
    Failed(io::Error),
    /// It cannot be replaced, and this was reported.
    Reported,
}

impl LogFile {
    /// Opens or creates the file at `at`.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub(super) fn open(at: &Path) -> io::Result<Self> {
        // Without a reader, a pipe cannot be opened: the start fails instead of waiting for one.
        let mut flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC;
        let folder = at.parent().map(stat);
        if geteuid().is_root() && folder.is_some_and(|one| one.is_ok_and(|one| one.st_uid != 0)) {
            // The owner of the directory could make a link to any file of root.
            flags |= OFlags::NOFOLLOW;
        }
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP;
        let file = open(at, flags | OFlags::NONBLOCK, mode)?;
        let identity = identity(&fstat(&file)?);
        let replacement = LogReplacement::Done;
        Ok(Self { at: at.to_owned(), file: file.into(), identity, is_torn: false, replacement })
    }

    /// Appends a line with one call, so that a reader never sees half a line. After an incomplete
    /// line, it begins with a line feed.
    ///
    /// # Errors
    ///
    /// Those of the system. A part of the line may be written.
    pub(super) fn append_line(&mut self, line: &str) -> io::Result<()> {
        self.replace_renamed();
        let text = format!("{}{line}\n", if self.is_torn { "\n" } else { "" });
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let written = match self.file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let (last, left) = rest.split_at_checked(written).unwrap_or((rest, b""));
            self.is_torn = !last.ends_with(b"\n");
            rest = left;
        }
        Ok(())
    }

    /// Returns the reason why a file that was renamed or removed cannot be replaced, once.
    pub(super) fn take_failed_replacement(&mut self) -> Option<io::Error> {
        match std::mem::replace(&mut self.replacement, LogReplacement::Reported) {
            LogReplacement::Failed(error) => Some(error),
            LogReplacement::Reported => None,
            LogReplacement::Done => {
                self.replacement = LogReplacement::Done;
                None
            }
        }
    }

    /// Opens a new file if the present one was renamed or removed. If no new file can be created,
    /// the old one is used on.
    fn replace_renamed(&mut self) {
        if self.is_in_place() {
            self.replacement = LogReplacement::Done;
            return;
        }
        match Self::open(&self.at) {
            Ok(new) => *self = new,
            Err(error) if matches!(self.replacement, LogReplacement::Done) => {
                self.replacement = LogReplacement::Failed(error);
            }
            Err(_) => {}
        }
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
        self.replace_renamed();
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

    use rustix::fs::{CWD, FileType};

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
        assert!(log.take_failed_replacement().is_some(), "the failure is reported");
        log.append_line("two").unwrap();
        assert!(log.take_failed_replacement().is_none(), "it is reported once");
        assert_eq!(read_to_string(moved.join("log")).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn the_line_after_an_incomplete_one_begins_with_a_line_feed() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().join("pipe");
        rustix::fs::mknodat(CWD, &at, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let reader = open(&at, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
        let mut log = LogFile::open(&at).unwrap();
        log.append_line("one").unwrap();
        let mut bytes = vec![0; 1 << 21];
        let mut read = || {
            let length = rustix::io::read(&reader, &mut bytes).unwrap();
            String::from_utf8(bytes[..length].to_vec()).unwrap()
        };
        assert_eq!(read(), "one\n");
        assert!(log.append_line(&"x".repeat(1 << 20)).is_err(), "the pipe is full");
        assert!(log.append_line("lost").is_err(), "the pipe is still full");
        assert!(read().ends_with('x'));
        log.append_line("two").unwrap();
        log.append_line("three").unwrap();
        assert_eq!(read(), "\ntwo\nthree\n");
    }
}
