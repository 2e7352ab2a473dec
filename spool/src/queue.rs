//! The outgoing queue: `outgoing/<key>.warc`, one request each.
//!
//! What is in the directory is the queue; what is in memory is what a list needs of it, read once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use wwwoffle_url::Key;

use crate::Durability;
use crate::error::{Error, Result, is_missing};
use crate::fs::{Disk, Opened};
use crate::open::Recovery;
use crate::outgoing::{MAX_REQUEST_FILE, Outgoing, OutgoingSummary};
use crate::place::EXTENSION;
use crate::read::read_exactly;
use crate::seal::Vault;
use crate::store::{OUTGOING, Store, lock, parent};
use crate::warc::Reason;

/// As many requests may wait or have failed.
pub const MAX_QUEUE: usize = 20_000;

/// The outgoing queue of a spool.
///
/// A request that [`Queue::add`] has taken is on the medium, unless the spool was opened with
/// [`Durability::None`]: a crash loses none.
#[derive(Debug)]
pub struct Queue {
    store: Arc<Store>,
    vault: Vault,
    /// Held by whoever changes the queue, over all its disk calls.
    changing: Mutex<()>,
    index: Mutex<HashMap<Key, OutgoingSummary>>,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It waits now.
    New,
    /// One with its key waits already, or has failed; that one is as it was.
    Already,
}

impl Queue {
    /// Reads what waits. What is no request is set aside.
    pub(crate) fn open(store: Arc<Store>, recovery: &mut Recovery) -> Result<Queue> {
        let vault = Vault::open(&store, &mut recovery.damaged)?;
        let mut index = HashMap::new();
        for key in keys(&*store.disk, &store.root)? {
            match read(&*store.disk, &store.root, &key, None) {
                Ok(Found::Request(request)) => {
                    index.insert(key, request.summary());
                }
                Ok(Found::Missing) => {}
                Err(error) => recovery.failures.push(error),
                Ok(Found::Bad(reason)) => {
                    recovery.damaged.push(store.move_aside(&path(&store.root, &key), reason));
                }
            }
        }
        Ok(Queue { store, vault, changing: Mutex::default(), index: Mutex::new(index) })
    }

    /// Adds a request, durably.
    ///
    /// # Errors
    ///
    /// [`Error::is_queue_full`], [`Error::is_too_large`] and [`Error::is_invalid`] for what cannot be
    /// added; or when the disk fails or is full.
    pub fn add(&self, request: &Outgoing) -> Result<Added> {
        let key = request.place.key();
        let bytes = request.encode(&self.vault)?;
        let _changing = lock(&self.changing);
        {
            let index = lock(&self.index);
            if index.contains_key(&key) {
                return Ok(Added::Already);
            }
            if index.len() >= MAX_QUEUE {
                return Err(Error::queue_full(MAX_QUEUE));
            }
        }
        self.store.replace_file(&path(&self.store.root, &key), &bytes)?;
        lock(&self.index).insert(key, request.summary());
        Ok(Added::New)
    }

    /// All requests, the oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<OutgoingSummary> {
        let mut list: Vec<_> = lock(&self.index).values().cloned().collect();
        sort(&mut list);
        list
    }

    /// Shows each request to `look`, in no order, without copying them. `look` must not call the
    /// queue.
    pub fn visit(&self, look: impl FnMut(&OutgoingSummary)) {
        lock(&self.index).values().for_each(look);
    }

    /// How many requests wait as parts of the page with this URL.
    #[must_use]
    pub fn parts_of(&self, page: &str) -> usize {
        let mut count = 0;
        self.visit(|request| count += usize::from(request.page.as_deref() == Some(page)));
        count
    }

    /// What a list shows of one request.
    #[must_use]
    pub fn summary(&self, key: &Key) -> Option<OutgoingSummary> {
        lock(&self.index).get(key).cloned()
    }

    /// How many requests there are.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.index).len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads a request, with its secrets.
    ///
    /// # Errors
    ///
    /// When the disk fails. [`Error::is_damaged`]: its file was not what it should be, has been set
    /// aside, and the request is gone.
    pub fn get(&self, key: &Key) -> Result<Option<Outgoing>> {
        // A rename is one step, so a reader has the old or the new one without waiting for writers.
        match self.read(key)? {
            Found::Request(request) => return Ok(Some(request)),
            Found::Missing => return Ok(None),
            Found::Bad(_) => {}
        }
        let _changing = lock(&self.changing);
        match self.read(key)? {
            Found::Request(request) => Ok(Some(request)),
            Found::Missing => Ok(None),
            Found::Bad(reason) => {
                lock(&self.index).remove(key);
                Err(Error::damaged(self.store.move_aside(&path(&self.store.root, key), reason)))
            }
        }
    }

    /// Writes a request that has changed. False when it is no longer there: then it is not added, as
    /// somebody has deleted it.
    ///
    /// # Errors
    ///
    /// Those of [`Queue::add`].
    pub fn update(&self, request: &Outgoing) -> Result<bool> {
        let key = request.place.key();
        let bytes = request.encode(&self.vault)?;
        let _changing = lock(&self.changing);
        if !lock(&self.index).contains_key(&key) {
            return Ok(false);
        }
        self.store.replace_file(&path(&self.store.root, &key), &bytes)?;
        lock(&self.index).insert(key, request.summary());
        Ok(true)
    }

    /// Takes a request off the queue. False when it was not there.
    ///
    /// One that may not be sent twice is off the medium too when this returns.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn remove(&self, key: &Key) -> Result<bool> {
        let path = path(&self.store.root, key);
        let _changing = lock(&self.changing);
        let removed = self.store.remove_file(&path)?;
        let known = lock(&self.index).remove(key);
        let repeatable = known.is_some_and(|known| matches!(&*known.method, "GET" | "HEAD"));
        let sync = match self.store.durability {
            Durability::Each => true,
            Durability::Batch => !repeatable,
            Durability::None => false,
        };
        if removed && sync {
            self.store.sync_dir(parent(&path))?;
        }
        Ok(removed)
    }

    fn read(&self, key: &Key) -> Result<Found> {
        read(&*self.store.disk, &self.store.root, key, Some(&self.vault))
    }
}

/// All requests of a spool, read from their files, the oldest first.
pub(crate) fn list(disk: &dyn Disk, root: &Path) -> Result<Vec<OutgoingSummary>> {
    let mut list = Vec::new();
    for key in keys(disk, root)? {
        if let Found::Request(request) = read(disk, root, &key, None)? {
            list.push(request.summary());
        }
    }
    sort(&mut list);
    Ok(list)
}

fn sort(list: &mut [OutgoingSummary]) {
    list.sort_by_cached_key(|request| (request.queued, request.place.key()));
}

#[expect(clippy::large_enum_variant, reason = "made and taken apart once; a box costs more")]
enum Found {
    Request(Outgoing),
    Missing,
    Bad(Reason),
}

fn path(root: &Path, key: &Key) -> PathBuf {
    root.join(OUTGOING).join(format!("{key}{EXTENSION}"))
}

/// The keys that files of the queue are named by; other files are nobody's.
fn keys(disk: &dyn Disk, root: &Path) -> Result<Vec<Key>> {
    let directory = root.join(OUTGOING);
    let fail = |error| Error::disk("read", &directory, error);
    let mut keys = Vec::new();
    for name in disk.read_dir(&directory).map_err(fail)? {
        let name = name.map_err(fail)?;
        let key = name.to_str().and_then(|name| name.strip_suffix(EXTENSION));
        keys.extend(key.and_then(|key| key.parse::<Key>().ok()));
    }
    Ok(keys)
}

fn read(disk: &dyn Disk, root: &Path, key: &Key, vault: Option<&Vault>) -> Result<Found> {
    let path = path(root, key);
    let (file, len) = match disk.open(&path) {
        Ok(Opened::File(file, len)) => (file, len),
        Ok(Opened::NotAFile) => return Ok(Found::Bad("it is not a plain file")),
        Err(error) if is_missing(&error) => return Ok(Found::Missing),
        Err(error) => return Err(Error::disk("open", &path, error)),
    };
    let Some(len) = usize::try_from(len).ok().filter(|&len| len <= MAX_REQUEST_FILE) else {
        return Ok(Found::Bad("it is longer than any request"));
    };
    let bytes = read_exactly(&*file, len, 0).map_err(|error| Error::disk("read", &path, error))?;
    Ok(match Outgoing::decode(&bytes, vault) {
        Ok(request) if request.place.key() == *key => Found::Request(request),
        Ok(_) => Found::Bad("it belongs to another place"),
        Err(reason) => Found::Bad(reason),
    })
}
