//! What of the queue waits for the next batch: requests that have come and lie below `tmp/` still, and
//! those that are answered, whose files go only when their answers are on the medium.
//!
//! So no crash loses a request: when its file is gone for good, its answer and what it has led to are
//! there for good.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use wwwoffle_url::Key;

use crate::durability::{OUTGOING, Root};
use crate::entry::place::EXTENSION;
use crate::error::{Error, Result};
use crate::fs::parallel::lock;
use crate::fs::{DiskFile, parallel};

/// So many changes make a batch at once, and whoever made the last one writes it. Each new file is held
/// open.
const MAX_DUE: usize = 256;

/// The changes of the queue that wait for the next batch.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Held by whoever changes the queue, over all its disk calls.
    pub(crate) changing: Mutex<()>,
    due: Mutex<DueChanges>,
}

#[derive(Debug, Default)]
struct DueChanges {
    come: HashMap<Key, NewRequest>,
    /// With the number of the change: a request may come again, and go again, meanwhile.
    gone: HashMap<Key, u64>,
    changes: u64,
}

/// A request whose file waits for its name.
#[derive(Debug, Clone)]
struct NewRequest {
    path: PathBuf,
    file: Arc<dyn DiskFile>,
}

/// What was due when a batch began.
#[derive(Debug, Default)]
pub(crate) struct DueBatch {
    come: Vec<(Key, NewRequest)>,
    gone: Vec<(Key, u64)>,
}

impl DueChanges {
    fn is_time(&self) -> bool {
        self.come.len() + self.gone.len() >= MAX_DUE
    }
}

impl Outbox {
    /// Where the file of this request lies, if it waits for its name.
    pub(crate) fn path(&self, key: &Key) -> Option<PathBuf> {
        lock(&self.due).come.get(key).map(|come| come.path.clone())
    }

    /// Some answers could not be kept: the files of all that were to go with them stay, and the next
    /// start asks for what is missing.
    pub(crate) fn keep(&self, taken: &DueBatch) {
        let mut due = lock(&self.due);
        for (key, change) in &taken.gone {
            if due.gone.get(key) == Some(change) {
                due.gone.remove(key);
            }
        }
    }

    /// Of what is due, the requests that have come; those that were to go stay, as for [`Outbox::keep`].
    pub(crate) fn only_come(&self, taken: DueBatch) -> DueBatch {
        self.keep(&taken);
        DueBatch { come: taken.come, gone: Vec::new() }
    }

    /// What is due now. To be asked before what of the entries waits.
    pub(crate) fn take(&self) -> DueBatch {
        let due = lock(&self.due);
        DueBatch {
            come: due.come.iter().map(|(key, come)| (*key, come.clone())).collect(),
            gone: due.gone.iter().map(|(key, change)| (*key, *change)).collect(),
        }
    }
}

impl Outbox {
    /// A request comes with the next batch; one with its key that goes with it does not. Whether it is
    /// time for a batch. `changing` is held.
    pub(crate) fn add(&self, root: &Root, key: Key, bytes: &[u8]) -> Result<bool> {
        let (path, file) = root.create_tmp()?;
        if let Err(error) = file.write_all_at(bytes, 0) {
            let _ = root.disk.remove_file(&path);
            return Err(Error::disk("write", &request_path(&root.path, &key), error));
        }
        let mut due = lock(&self.due);
        due.gone.remove(&key);
        due.come.insert(key, NewRequest { path, file });
        Ok(due.is_time())
    }

    /// The file of a request goes with the next batch. Whether it is time for one. `changing` is held.
    pub(crate) fn remove(&self, root: &Root, key: Key) -> bool {
        self.forget(root, &key);
        let mut due = lock(&self.due);
        due.changes += 1;
        let change = due.changes;
        due.gone.insert(key, change);
        due.is_time()
    }

    /// Nothing of this request is due any more: its file was written or removed otherwise. `changing` is
    /// held.
    pub(crate) fn forget(&self, root: &Root, key: &Key) {
        let come = {
            let mut due = lock(&self.due);
            due.gone.remove(key);
            due.come.remove(key)
        };
        if let Some(come) = come {
            // What stays behind is removed when the spool is opened.
            let _ = root.disk.remove_file(&come.path);
        }
    }

    /// Puts the requests that have come on the medium, and takes the files of those away that are
    /// answered. Not to be called before their answers are on the medium.
    pub(crate) fn write(&self, root: &Root, taken: &DueBatch) -> Result<()> {
        let threads = root.disk.waits_at_once();
        let done = parallel::for_each(&taken.come, threads, |(_, come)| come.file.sync());
        for ((key, _), done) in taken.come.iter().zip(done) {
            done.map_err(|error| Error::disk("write", &request_path(&root.path, key), error))?;
        }
        for (key, come) in &taken.come {
            let _changing = lock(&self.changing);
            if self.path(key).as_ref() == Some(&come.path) {
                root.rename_into_place(&come.path, &request_path(&root.path, key))?;
                lock(&self.due).come.remove(key);
            }
        }
        if !taken.come.is_empty() {
            root.sync_dir(&root.join(OUTGOING))?;
        }
        for (key, change) in &taken.gone {
            let _changing = lock(&self.changing);
            if lock(&self.due).gone.get(key) == Some(change) {
                root.remove_file(&request_path(&root.path, key))?;
                lock(&self.due).gone.remove(key);
            }
        }
        Ok(())
    }
}

/// Where the file of a request lies.
pub(crate) fn request_path(root: &Path, key: &Key) -> PathBuf {
    root.join(OUTGOING).join(format!("{key}{EXTENSION}"))
}
