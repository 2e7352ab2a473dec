//! The record of what `setup` has changed, with the former values.
//!
//! A change is recorded before it is made, so that an interrupted set-up can be continued or taken
//! back. Only the owner of the record can read it: a former configuration may contain hashes of
//! passwords. The record of root is in a directory that only root can change.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};
use serde::{Deserialize, Serialize};

use super::change::MachineChange;
use super::disk::{self, FileCopy};
use crate::base::small_file;
use crate::cli::failure::{VerbFailure, VerbResult};
use crate::cli::settings::Settings;

/// The version of the notation.
const FORMAT: u32 = 1;

/// The directory of root's record, below the root of the system.
const SYSTEM_DIRECTORY: &str = "var/lib/wwwoffle-setup";

/// The name of the file.
const FILE: &str = "setup.json";

/// The largest record that is read, in bytes.
const MAX_RECORD: u64 = 16 * 1024 * 1024;

/// What was changed, in this order.
#[derive(Debug, Default, Serialize, Deserialize)]
struct RecordText {
    format: u32,
    /// The directories that were created for the record.
    directories: Vec<PathBuf>,
    changes: Vec<RecordedChange>,
}

/// A change, and whether it was completed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RecordedChange {
    pub(super) change: MachineChange,
    is_done: bool,
}

/// The record on the disk.
#[derive(Debug)]
pub(super) struct SetupRecord {
    path: PathBuf,
    text: RecordText,
    /// Held while the record is in use, so that two commands do not change the machine at once.
    lock: Option<DirectoryLock>,
}

impl SetupRecord {
    /// Reads the record of the machine or of this user.
    pub(super) fn read(is_user: bool, root: &Path, settings: &Settings<'_>) -> VerbResult<Self> {
        let directory = if is_user {
            settings.environment.state_directory().ok_or_else(|| {
                VerbFailure::plain("the home directory is unknown: set HOME to an absolute path")
            })?
        } else {
            root.join(SYSTEM_DIRECTORY)
        };
        let path = disk::real(&directory.join(FILE)).map_err(VerbFailure::plain)?;
        let mut record = Self { path, text: RecordText::default(), lock: None };
        record.lock()?;
        disk::remove_aside(&record.path);
        let shown = record.path.display();
        let cannot = |why: String| {
            VerbFailure::plain(format_args!(
                "the record of earlier changes, {shown}, cannot be read: {why}"
            ))
        };
        match small_file::read_at_most(&record.path, MAX_RECORD) {
            Ok(None) => {}
            Ok(Some(bytes)) => {
                let text: RecordText =
                    serde_json::from_slice(&bytes).map_err(|error| cannot(error.to_string()))?;
                if text.format != FORMAT {
                    return Err(cannot("another version of wwwoffle wrote it".to_owned()));
                }
                record.text = text;
            }
            Err(error) => return Err(cannot(error.to_string())),
        }
        Ok(record)
    }

    /// Returns whether anything is recorded.
    pub(super) fn is_empty(&self) -> bool {
        self.text.changes.is_empty()
    }

    /// Returns the recorded changes in the order in which they were made.
    pub(super) fn changes(&self) -> &[RecordedChange] {
        &self.text.changes
    }

    /// Whether a change of the same object was begun and not completed.
    pub(super) fn is_interrupted(&self, change: &MachineChange) -> bool {
        self.find(change).is_some_and(|recorded| !recorded.is_done)
    }

    fn find(&self, change: &MachineChange) -> Option<&RecordedChange> {
        self.text.changes.iter().find(|recorded| recorded.change.is_same(change))
    }

    /// Records a change that begins.
    pub(super) fn begin(&mut self, change: &MachineChange) -> Result<(), String> {
        let mut change = change.clone();
        let changes = &mut self.text.changes;
        if let Some(recorded) = changes.iter_mut().find(|one| one.change.is_same(&change)) {
            change = change.after(&recorded.change);
            *recorded = RecordedChange { change, is_done: false };
        } else {
            changes.push(RecordedChange { change, is_done: false });
        }
        self.write()
    }

    /// Records that a change is completed.
    pub(super) fn complete(&mut self, change: &MachineChange) -> Result<(), String> {
        for recorded in &mut self.text.changes {
            if recorded.change.is_same(change) {
                recorded.is_done = true;
            }
        }
        self.write()
    }

    /// Replaces the recorded changes by those that could not be taken back. If there are none,
    /// removes the record.
    pub(super) fn retain(&mut self, changes: Vec<RecordedChange>) -> Result<(), String> {
        self.text.changes = changes;
        if !self.is_empty() {
            return self.write();
        }
        disk::remove(&self.path)?;
        disk::remove_directories(&self.text.directories);
        Ok(())
    }

    fn write(&mut self) -> Result<(), String> {
        self.text.format = FORMAT;
        if self.text.directories.is_empty() {
            self.text.directories = disk::missing_directories(&self.path);
        }
        disk::create_directories(&self.text.directories, 0o700)?;
        if self.lock.is_none() {
            self.lock().map_err(super::said)?;
            if rustix::fs::lstat(&self.path).is_ok() {
                return Err("another `wwwoffle setup` has made changes: run it again".to_owned());
            }
        }
        let text = serde_json::to_vec_pretty(&self.text).map_err(|error| error.to_string())?;
        if u64::try_from(text.len()).is_ok_and(|length| length > MAX_RECORD) {
            return Err(format!("the record would be larger than {} MiB", MAX_RECORD >> 20));
        }
        disk::write(&self.path, &FileCopy::new(text, 0o600)).inspect_err(|_why| {
            // Those of the first write are empty.
            disk::remove_directories(&self.text.directories);
        })
    }

    /// Locks the directory of the record, if it exists.
    fn lock(&mut self) -> VerbResult<()> {
        let Some(directory) = self.path.parent().filter(|_| self.lock.is_none()) else {
            return Ok(());
        };
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(opened) = openat(CWD, directory, flags, Mode::empty()) else { return Ok(()) };
        let opened = File::from(opened);
        // Some file systems have no locks.
        if flock(&opened, FlockOperation::NonBlockingLockExclusive)
            == Err(rustix::io::Errno::WOULDBLOCK)
        {
            return Err(VerbFailure::plain(
                "another `wwwoffle setup` is running: wait for its end",
            ));
        }
        self.lock = Some(DirectoryLock(opened));
        Ok(())
    }
}

/// A locked directory. A process that another thread is just starting holds a copy of the file, so
/// that closing it would not be enough.
#[derive(Debug)]
struct DirectoryLock(File);

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // If this fails, the lock ends with the last copy of the file.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::{FileChange, FileReaders};
    use super::*;

    #[test]
    fn a_second_setup_that_has_read_no_record_does_not_replace_the_first_one() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state/setup.json");
        let record = || SetupRecord { path: path.clone(), text: RecordText::default(), lock: None };
        let file = scratch.path().join("a");
        let change = FileChange::plan(&file, b"new".to_vec(), FileReaders::Owner).unwrap();
        let change = MachineChange::File(change);
        // Both have shown their plan when no record existed.
        let (mut first, mut second) = (record(), record());
        first.begin(&change).unwrap();
        let written = small_file::read(&path).unwrap().unwrap();
        assert!(second.begin(&change).unwrap_err().contains("wait for its end"));
        drop((first, second));
        let mut second = record();
        assert!(second.begin(&change).unwrap_err().contains("has made changes: run it again"));
        assert_eq!(small_file::read(&path).unwrap().unwrap(), written);
    }
}
