//! A file that is created or replaced as a whole.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wwwoffle_config::edit::without_secrets;

use super::change::Undone;
use super::disk::{self, FileCopy};
use crate::base::shown;
use crate::storage::versions::diff::Diff;
use crate::storage::versions::text::VersionText;

/// The permissions of a new directory, by who may read the file in it.
const PRIVATE: (u32, u32) = (0o600, 0o700);
const PUBLIC: (u32, u32) = (0o644, 0o755);

/// A file and its content before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileChange {
    pub(super) path: PathBuf,
    /// The former file. `None` if there was none.
    before: Option<FileCopy>,
    after: FileCopy,
    /// The directories to create.
    directories: Vec<PathBuf>,
    directory_mode: u32,
    /// Whether each line stands alone, so that only ours are removed if the file was changed since.
    #[serde(default)]
    has_lines: bool,
}

/// Who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileReaders {
    /// Only its owner.
    Owner,
    Everyone,
}

impl FileChange {
    /// Plans to write `content`. An existing file keeps its permissions and its owner.
    pub(super) fn plan(
        path: &Path,
        content: Vec<u8>,
        readers: FileReaders,
    ) -> Result<Self, String> {
        let path = disk::real(path)?;
        let before = disk::read(&path)?;
        let (mode, directory_mode) = match readers {
            FileReaders::Owner => PRIVATE,
            FileReaders::Everyone => PUBLIC,
        };
        let after = match &before {
            Some(before) => before.with(content),
            None => FileCopy::new(content, mode),
        };
        let directories = disk::missing_directories(&path);
        Ok(Self { path, before, after, directories, directory_mode, has_lines: false })
    }

    /// Plans to write lines of which each stands alone.
    pub(super) fn plan_lines(path: &Path, text: &str) -> Result<Self, String> {
        let planned = Self::plan(path, text.as_bytes().to_vec(), FileReaders::Everyone)?;
        Ok(Self { has_lines: true, ..planned })
    }

    /// Lets only the owner and this group read the file.
    pub(super) fn close_to_others(&mut self, group: Option<u32>) {
        self.after.mode = PRIVATE.0;
        if let Some(group) = group {
            self.after.mode = 0o640;
            self.after.group = group;
        }
    }

    /// Returns the former permissions and owner for a file with a new content.
    pub(super) fn as_before(&self, now: &FileCopy) -> FileCopy {
        match &self.before {
            Some(before) => before.with(now.content.0.clone()),
            None => now.clone(),
        }
    }

    /// Whether the file has the wanted content already.
    pub(super) fn is_done(&self) -> bool {
        self.before.as_ref().is_some_and(|before| before.content == self.after.content)
    }

    /// Returns the changed lines, without secrets.
    pub(super) fn lines(&self) -> Vec<String> {
        let text = |file: &FileCopy| {
            let text = String::from_utf8_lossy(&file.content.0).into_owned();
            // Empty for a text that is not a configuration.
            Some(without_secrets(&text)).filter(|shown| !shown.is_empty()).unwrap_or(text)
        };
        let new = text(&self.after);
        let Some(before) = &self.before else {
            let new = new.lines().map(|line| format!("+ {}", shown::line(line)));
            return ["new file".to_owned()].into_iter().chain(new).collect();
        };
        let lines = |text: &str| VersionText {
            lines: text.lines().map(str::to_owned).collect(),
            ..VersionText::default()
        };
        let changed = Diff::of(&lines(&text(before)), &lines(&new)).plain();
        changed.lines().filter(|line| !line.is_empty()).map(shown::line).collect()
    }

    /// Writes the file.
    pub(super) fn apply(&self) -> Result<(), String> {
        if disk::read(&self.path)? != self.before {
            return Err(format!(
                "{} was changed while the plan was shown: run setup again",
                self.path.display()
            ));
        }
        disk::create_directories(&self.directories, self.directory_mode)?;
        disk::write(&self.path, &self.after)
    }

    /// Restores the former file, unless its content was changed since.
    pub(super) fn undo(&self) -> Result<Undone, String> {
        disk::remove_aside(&self.path);
        let now = disk::read(&self.path)?;
        let content = |file: &Option<FileCopy>| file.as_ref().map(|file| file.content.clone());
        let undone = if content(&now) == content(&self.before) {
            Undone::Already
        } else if now.as_ref().is_some_and(|now| now.content == self.after.content) {
            match &self.before {
                Some(before) => disk::write(&self.path, before)?,
                None => disk::remove(&self.path)?,
            }
            Undone::Restored
        } else if now.is_none() {
            Undone::Kept("it was removed since".to_owned())
        } else if let Some(now) = now.as_ref().filter(|_| self.has_lines) {
            let restored = self.restored_lines(&now.content.0);
            if restored.is_empty() && self.before.is_none() {
                disk::remove(&self.path)?;
            } else {
                disk::write(&self.path, &now.with(restored))?;
            }
            Undone::Restored
        } else {
            Undone::Kept("it was changed since".to_owned())
        };
        disk::remove_directories(&self.directories);
        Ok(undone)
    }

    /// Returns the content `now` with the former lines in place of ours.
    fn restored_lines(&self, now: &[u8]) -> Vec<u8> {
        let lines = |bytes: &[u8]| -> Vec<Vec<u8>> {
            bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
        };
        let (former, ours) = (lines(self.former().unwrap_or_default()), lines(self.wanted()));
        let mut restored = former.concat();
        for line in lines(now) {
            if !ours.contains(&line) && !former.contains(&line) {
                if !restored.is_empty() && !restored.ends_with(b"\n") {
                    restored.push(b'\n');
                }
                restored.extend(line);
            }
        }
        restored
    }

    /// Combines this change with the recorded one, which came before: an undo restores what was
    /// there before both.
    pub(super) fn after(mut self, recorded: &Self) -> Self {
        let now = self.before.as_ref().map(|file| &file.content);
        if now == Some(&recorded.after.content) {
            self.before.clone_from(&recorded.before);
        }
        for directory in recorded.directories.iter().rev() {
            if !self.directories.contains(directory) {
                self.directories.insert(0, directory.clone());
            }
        }
        self
    }

    /// Returns the content of the former file.
    pub(super) fn former(&self) -> Option<&[u8]> {
        self.before.as_ref().map(|file| file.content.0.as_slice())
    }

    /// Returns the new content.
    pub(super) fn wanted(&self) -> &[u8] {
        &self.after.content.0
    }

    /// Replaces the new content.
    pub(super) fn set_wanted(&mut self, content: Vec<u8>) {
        self.after.content.0 = content;
    }

    /// Removes the created directories that are empty.
    pub(super) fn remove_directories(&self) {
        disk::remove_directories(&self.directories);
    }
}
