//! Checking the entries stored last, if the spool was not closed properly.

use std::path::Path;

use jiff::SignedDuration;

use crate::entry::body::is_whole;
use crate::entry::overlay::overlay_path;
use crate::entry::read::{self, EntryContent};
use crate::error::{Damage, Error, Result};
use crate::fs::parallel::lock;
use crate::tree::Tree;

/// The largest number of failures that are returned. Further failures are only counted.
const MAX_FAILURES: usize = 16;

/// Entries stored at most this long before the last one are checked.
const LATELY: SignedDuration = SignedDuration::from_mins(10);

/// The result of [`crate::Spool::check_recent`].
#[derive(Debug, Default)]
pub struct RecentCheck {
    /// The number of entries checked.
    pub files: u64,
    /// The damaged entries, which were set aside.
    pub damaged: Vec<Damage>,
    /// The number of entries that could not be read because the disk failed. They are not checked
    /// again.
    pub failed: u64,
    /// The first of these failures, at most 16.
    pub failures: Vec<Error>,
}

impl RecentCheck {
    fn record_failure(&mut self, error: Error) {
        self.failed += 1;
        if self.failures.len() < MAX_FAILURES {
            self.failures.push(error);
        }
    }
}

impl Tree {
    pub(crate) fn check_recent(&self, goes_on: &dyn Fn() -> bool) -> RecentCheck {
        let (mut checked, mut since) = (RecentCheck::default(), None);
        loop {
            let Some(noted) = self.root.last_unchecked() else { return checked };
            if !goes_on() {
                return checked;
            }
            // Lines without a time are always checked.
            if noted.at.is_some() && noted.at < since {
                // Lines are in chronological order, so all remaining ones are older.
                self.root.drop_unchecked();
                return checked;
            }
            since = since.or(noted.at.and_then(|at| at.checked_sub(LATELY).ok()));
            if let Err(error) = self.check_one(&self.root.join(&noted.path), &mut checked) {
                checked.record_failure(error);
            }
            // The line is removed even after a failure: an unreadable entry would otherwise stop
            // every later check.
            self.root.pop_unchecked();
        }
    }

    /// Checks one file.
    fn check_one(&self, path: &Path, checked: &mut RecentCheck) -> Result<()> {
        let entry = match read::read(&*self.root.disk, &self.root.path, path, None)? {
            EntryContent::Whole(entry) => entry,
            EntryContent::Missing | EntryContent::Moved => return Ok(()),
            EntryContent::Bad(_) => {
                checked.files += 1;
                checked.damaged.extend(self.set_path_aside(path)?);
                return Ok(());
            }
        };
        checked.files += 1;
        if !is_whole(&entry)? {
            let damage = self.set_aside(&entry, "its body does not match its digest")?;
            checked.damaged.extend(damage);
        }
        Ok(())
    }

    /// Sets the file at a path aside, unless it is a valid entry by now.
    fn set_path_aside(&self, path: &Path) -> Result<Option<Damage>> {
        let _commit = lock(&self.commit);
        let read = read::read(&*self.root.disk, &self.root.path, path, None)?;
        let EntryContent::Bad(reason) = read else { return Ok(None) };
        let damage = self.root.move_aside(path, reason);
        if self.root.is_file(&overlay_path(path))? {
            self.drop_overlay(path)?;
        }
        Ok(Some(damage))
    }
}
