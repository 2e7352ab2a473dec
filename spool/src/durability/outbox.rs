//! Changes of the outgoing queue that wait for the next batch: new requests, whose files are still
//! below `tmp/`, and fetched requests, whose files are removed only when their responses are
//! durable.
//!
//! So no crash loses a fetched request: before the removal of its file becomes durable, its
//! response is durable, and so are the requests that follow from the response. A finished request
//! that must not be sent twice does not wait: [`crate::Queue::finish`] removes its file at once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use wwwoffle_url::Key;

use crate::durability::{OUTGOING, Root};
use crate::entry::place::EXTENSION;
use crate::error::{Error, Result};
use crate::fs::parallel::lock;
use crate::fs::{DiskFile, parallel};

/// The number of waiting changes at which the caller that adds a change writes the batch itself.
/// Each waiting new request holds a file open.
const MAX_DUE: usize = 256;

/// The changes of the queue that wait for the next batch.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Held while the queue changes, including all disk calls.
    pub(crate) changing: Mutex<()>,
    due: Mutex<DueChanges>,
}

#[derive(Debug, Default)]
struct DueChanges {
    added: HashMap<Key, NewRequest>,
    /// For each key, the number of its removal, counted by `changes`. A batch removes the file only
    /// if the number is still the same, because the request may have been added and removed again
    /// since the batch began.
    removed: HashMap<Key, u64>,
    changes: u64,
}

/// A new request, whose file is still below `tmp/`.
#[derive(Debug, Clone)]
struct NewRequest {
    path: PathBuf,
    file: Arc<dyn DiskFile>,
}

/// The changes that were waiting when a batch began.
#[derive(Debug, Default)]
pub(crate) struct DueBatch {
    added: Vec<(Key, NewRequest)>,
    removed: Vec<(Key, u64)>,
}

impl DueChanges {
    fn is_time(&self) -> bool {
        self.added.len() + self.removed.len() >= MAX_DUE
    }
}

impl Outbox {
    /// Returns the path of the file of the request with this key, if the file is still below
    /// `tmp/`. Otherwise `None`.
    pub(crate) fn path(&self, key: &Key) -> Option<PathBuf> {
        lock(&self.due).added.get(key).map(|added| added.path.clone())
    }

    /// Drops the removals of a batch, because the responses could not be stored. The files of the
    /// requests stay, so the missing responses are fetched after the next start of the program.
    pub(crate) fn cancel_removals(&self, taken: &DueBatch) {
        let mut due = lock(&self.due);
        for (key, change) in &taken.removed {
            if due.removed.get(key) == Some(change) {
                due.removed.remove(key);
            }
        }
    }

    /// Drops the removals of a batch, because its responses could not be stored, and returns its
    /// new requests.
    pub(crate) fn without_removals(&self, taken: DueBatch) -> DueBatch {
        self.cancel_removals(&taken);
        DueBatch { added: taken.added, removed: Vec::new() }
    }

    /// Returns the changes that are waiting now. Must be called before the entries of the batch are
    /// listed, so that the responses to the removed requests are in the batch or already durable.
    pub(crate) fn due_batch(&self) -> DueBatch {
        let due = lock(&self.due);
        DueBatch {
            added: due.added.iter().map(|(key, added)| (*key, added.clone())).collect(),
            removed: due.removed.iter().map(|(key, change)| (*key, *change)).collect(),
        }
    }

    /// Adds a request to the next batch, and cancels its removal and an earlier addition. Returns
    /// whether the batch is due. The caller holds `changing`.
    pub(crate) fn add(&self, root: &Root, key: Key, bytes: &[u8]) -> Result<bool> {
        let (path, file) = root.create_tmp()?;
        if let Err(error) = file.write_all_at(bytes, 0) {
            let _ = root.disk.remove_file(&path);
            return Err(Error::disk("write", &request_path(&root.path, &key), error));
        }
        self.cancel(root, &key);
        let mut due = lock(&self.due);
        due.added.insert(key, NewRequest { path, file });
        Ok(due.is_time())
    }

    /// Adds the removal of a request to the next batch. Returns whether the batch is due. The caller
    /// holds `changing`.
    ///
    /// A waiting addition is not cancelled. A batch that is being written may need it: if that batch
    /// removes the request from which this one follows, this one must be durable until its response
    /// is.
    pub(crate) fn remove(&self, key: Key) -> bool {
        let mut due = lock(&self.due);
        due.changes += 1;
        let change = due.changes;
        due.removed.insert(key, change);
        due.is_time()
    }

    /// Cancels every waiting change of a request, because its file was written or removed directly.
    /// The caller holds `changing`.
    pub(crate) fn cancel(&self, root: &Root, key: &Key) {
        let added = {
            let mut due = lock(&self.due);
            due.removed.remove(key);
            due.added.remove(key)
        };
        if let Some(added) = added {
            // If this fails, the next opening of the spool removes the file.
            let _ = root.disk.remove_file(&added.path);
        }
    }

    /// Writes the new requests to disk. If `is_durable`, also removes the files of fetched ones:
    /// their responses must be durable. Otherwise the removals wait for the next batch.
    pub(crate) fn write(&self, root: &Root, taken: &DueBatch, is_durable: bool) -> Result<()> {
        let removed: HashMap<Key, u64> =
            taken.removed.iter().filter(|_| is_durable).copied().collect();
        // A request that was added and fetched since the last batch needs no file.
        let (fetched, added): (Vec<_>, Vec<_>) =
            taken.added.iter().partition(|(key, _)| removed.contains_key(key));
        let threads = root.disk.waits_at_once();
        let done = parallel::for_each(&added, threads, |(_, added)| added.file.sync());
        for ((key, _), done) in added.iter().zip(done) {
            done.map_err(|error| Error::disk("write", &request_path(&root.path, key), error))?;
        }
        // Whether a request was fetched and added again in the meantime. Neither form is durable.
        let mut is_readded = false;
        for (key, added) in &added {
            let _changing = lock(&self.changing);
            match self.path(key) {
                Some(path) if path == added.path => {
                    root.rename_into_place(&added.path, &request_path(&root.path, key))?;
                    lock(&self.due).added.remove(key);
                }
                now => is_readded |= now.is_some(),
            }
        }
        if !added.is_empty() {
            root.sync_dir(&root.join(OUTGOING))?;
        }
        for (key, added) in fetched {
            let _changing = lock(&self.changing);
            if self.path(key).as_ref() == Some(&added.path) {
                root.remove_file(&added.path)?;
                lock(&self.due).added.remove(key);
            }
        }
        for (key, change) in removed.iter().filter(|_| !is_readded) {
            let _changing = lock(&self.changing);
            if lock(&self.due).removed.get(key) == Some(change) {
                root.remove_file(&request_path(&root.path, key))?;
                lock(&self.due).removed.remove(key);
            }
        }
        Ok(())
    }
}

pub(crate) fn request_path(root: &Path, key: &Key) -> PathBuf {
    root.join(OUTGOING).join(format!("{key}{EXTENSION}"))
}
