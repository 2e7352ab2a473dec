//! Recursive fetches: `runs/<id>`, a text each, in a form that is their caller's affair.

use std::path::PathBuf;

use crate::Spool;
use crate::entry::Damage;
use crate::error::{Error, Result, is_missing};
use crate::fs::Opened;
use crate::read::read_exactly;
use crate::store::Store;
use crate::wish::RunId;

/// The directory of the texts.
pub(crate) const RUNS: &str = "runs";

/// The longest text of a run, in bytes.
pub const MAX_RUN: usize = 64 << 20;

impl Spool {
    /// The recursive fetches that have a text here, in no order.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn runs(&self) -> Result<Vec<RunId>> {
        list(&self.0.store)
    }

    /// The text of a recursive fetch; `None` for none.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn run(&self, id: RunId) -> Result<Option<String>> {
        read(&self.0.store, id)
    }

    /// Writes the text of a recursive fetch, durably, in place of the one before.
    ///
    /// # Errors
    ///
    /// [`Error::is_too_large`] above [`MAX_RUN`] bytes; or when the disk fails or is full.
    pub fn set_run(&self, id: RunId, text: &str) -> Result<()> {
        write(&self.0.store, id, text)
    }

    /// Removes the text of a recursive fetch; false when there was none.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn remove_run(&self, id: RunId) -> Result<bool> {
        remove(&self.0.store, id)
    }

    /// Sets the text of a recursive fetch aside, for a `reason` that a person reads.
    #[must_use]
    pub fn set_run_aside(&self, id: RunId, reason: &str) -> Damage {
        set_aside(&self.0.store, id, reason)
    }
}

/// The text of a run; `None` for none, or for one that was no text and was set aside.
fn read(store: &Store, id: RunId) -> Result<Option<String>> {
    let path = path(store, id);
    let bytes = match store.disk.open(&path) {
        Ok(Opened::File(file, _)) => read_exactly(&*file, MAX_RUN + 1, 0)
            .map_err(|error| Error::disk("read", &path, error))?,
        Ok(Opened::NotAFile) => Vec::new(),
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(Error::disk("open", &path, error)),
    };
    match String::from_utf8(bytes) {
        Ok(text) if text.len() <= MAX_RUN => Ok(Some(text)),
        _ => {
            store.move_aside(&path, "it is no text of a run");
            Ok(None)
        }
    }
}

/// All that have a text, in no order. What has another name is passed over.
fn list(store: &Store) -> Result<Vec<RunId>> {
    let directory = store.root.join(RUNS);
    let fail = |error| Error::disk("read", &directory, error);
    let mut ids = Vec::new();
    for name in store.disk.read_dir(&directory).map_err(fail)? {
        let name = name.map_err(fail)?;
        ids.extend(name.to_str().and_then(|name| name.parse::<RunId>().ok()));
    }
    Ok(ids)
}

/// Writes the text of a run, durably.
fn write(store: &Store, id: RunId, text: &str) -> Result<()> {
    Error::unless_fits("the text of the run", text.len(), MAX_RUN)?;
    store.replace_file(&path(store, id), text.as_bytes())
}

/// Removes the text of a run; false when there was none.
fn remove(store: &Store, id: RunId) -> Result<bool> {
    let path = path(store, id);
    match store.disk.remove_file(&path) {
        Ok(()) => Ok(true),
        Err(error) if is_missing(&error) => Ok(false),
        Err(error) => Err(Error::disk("remove", &path, error)),
    }
}

/// Sets the text of a run aside.
fn set_aside(store: &Store, id: RunId, reason: &str) -> Damage {
    store.move_aside(&path(store, id), reason)
}

fn path(store: &Store, id: RunId) -> PathBuf {
    store.root.join(RUNS).join(id.to_string())
}
