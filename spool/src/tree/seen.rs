//! The trace of a lookup: the files that it read, so that its result can be cached and checked for
//! changes.
//!
//! A lookup whose result may be cached uses [`RecordingDisk`]. This disk records each name that the
//! lookup reads, with its stamp, including missing names. While all of these are unchanged, another
//! lookup returns the same. Changes by this process are reported at once, by place, to every
//! [listener](crate::Spool::watch).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

use crate::entry::Entries;
use crate::entry::place::Place;
use crate::error::Result;
use crate::fs::parallel::lock;
use crate::fs::{DirectoryNames, Disk, DiskFile, Lock, OpenedFile, Stamp};
use crate::tree::variants::{KeyLookup, VariantChoice};
use crate::tree::{Tree, segments};

/// A file that was changed more recently than this may change again without a new time stamp: the
/// clock of a file system ticks only about a hundred times a second.
const SETTLED_AFTER: SignedDuration = SignedDuration::from_millis(50);

/// The largest number of listeners of one spool. Each change waits for all of them.
const MAX_LISTENERS: usize = 4;

/// The names that a lookup read, with their stamps. A lookup without a result also reads the name
/// of the segments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LookupTrace(Box<[(PathBuf, Option<Stamp>)]>);

impl LookupTrace {
    /// The memory that the trace takes, in bytes.
    #[must_use]
    pub fn memory_size(&self) -> usize {
        let one = size_of::<(PathBuf, Option<Stamp>)>();
        self.0.iter().map(|(path, _)| one + path.as_os_str().len()).sum()
    }

    /// Whether the place had neither an entry nor a segment: no name existed.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.0.iter().all(|(_, stamp)| stamp.is_none())
    }

    /// Whether all stamps are unchanged. A stamp that cannot be read counts as changed.
    pub(crate) fn is_current(&self, disk: &dyn Disk) -> bool {
        self.0.iter().all(|(path, was)| disk.stamp(path).is_ok_and(|is| is == *was))
    }
}

/// The receiver of changes; see [`crate::Spool::watch`].
pub trait ChangeListener: std::fmt::Debug + Send + Sync {
    /// The entries of this place's key have changed, or a segment was added. Called by the thread
    /// that made the change, before its call returns. An implementation must neither wait nor call
    /// the spool.
    fn changed(&self, place: &Place);
}

/// A guard that reports a change when it is dropped: after all changes were made, even if some
/// failed.
pub(crate) struct ChangeGuard<'a> {
    tree: &'a Tree,
    place: &'a Place,
}

impl Drop for ChangeGuard<'_> {
    fn drop(&mut self) {
        self.tree.changed(self.place);
    }
}

impl Tree {
    /// Reports a change to every listener.
    pub(crate) fn changed(&self, place: &Place) {
        let listeners = self.listeners.read().unwrap_or_else(PoisonError::into_inner);
        listeners.iter().for_each(|listener| listener.changed(place));
    }

    /// Adds a listener. Returns false if the number of listeners has reached its limit.
    pub(crate) fn watch(&self, listener: Arc<dyn ChangeListener>) -> bool {
        let mut listeners = self.listeners.write().unwrap_or_else(PoisonError::into_inner);
        let has_room = listeners.len() < MAX_LISTENERS;
        listeners.extend(has_room.then_some(listener));
        has_room
    }

    /// Returns a guard that reports a change when it is dropped.
    pub(crate) fn changing<'a>(&'a self, place: &'a Place) -> ChangeGuard<'a> {
        ChangeGuard { tree: self, place }
    }

    /// Looks up every entry of a key, and returns the trace of the lookup. The trace is `None` if
    /// the result must not be cached.
    pub(crate) fn entries_seen(&self, place: &Place) -> Result<(Entries, Option<LookupTrace>)> {
        let recorder = RecordingDisk::new(&*self.root.disk);
        let pending = self.pending.variants(place.key());
        let look = KeyLookup::at(&recorder, &self.root.path, place, VariantChoice::All, &pending)?;
        if !look.bad.is_empty() || look.moved {
            return Ok((self.entries(place)?, None));
        }
        if look.found.is_empty() {
            // Only the stamp is needed, for `LookupTrace::is_nothing`.
            let _names = recorder.read_dir(&segments::files::directory(&self.root.path, place));
        }
        Ok((look.into_entries(), recorder.into_trace(self.root.disk.now())))
    }
}

/// A disk that records every name that is read.
#[derive(Debug)]
pub(crate) struct RecordingDisk<'a> {
    disk: &'a dyn Disk,
    notes: Mutex<RecorderNotes>,
}

#[derive(Debug, Default)]
struct RecorderNotes {
    looked: Vec<(PathBuf, Option<Stamp>)>,
    /// Whether a name without a stamp was read.
    is_vague: bool,
}

impl<'a> RecordingDisk<'a> {
    pub(crate) fn new(disk: &'a dyn Disk) -> Self {
        Self { disk, notes: Mutex::default() }
    }

    fn record(&self, path: &Path, stamp: Option<Stamp>) {
        lock(&self.notes).looked.push((path.to_owned(), stamp));
    }

    fn give_up(&self) {
        lock(&self.notes).is_vague = true;
    }

    /// Returns the trace. `None` if a stamp is too recent, or if a name without a stamp was read.
    pub(crate) fn into_trace(self, now: Timestamp) -> Option<LookupTrace> {
        let notes = self.notes.into_inner().unwrap_or_else(PoisonError::into_inner);
        let is_on_medium = |stamp: &Stamp| now.duration_since(stamp.changed()) >= SETTLED_AFTER;
        let all = notes.looked.iter().filter_map(|(_, stamp)| stamp.as_ref()).all(is_on_medium);
        (all && !notes.is_vague).then(|| LookupTrace(notes.looked.into_boxed_slice()))
    }
}

impl Disk for RecordingDisk<'_> {
    fn open(&self, path: &Path) -> io::Result<OpenedFile> {
        let opened = self.disk.open(path);
        match &opened {
            Ok(OpenedFile::File(file, _)) => match file.opened_as() {
                Some(stamp) => self.record(path, Some(stamp)),
                None => self.give_up(),
            },
            Err(error) if crate::error::is_missing(error) => self.record(path, None),
            Ok(OpenedFile::NotAFile) | Err(_) => self.give_up(),
        }
        opened
    }

    fn read_dir(&self, path: &Path) -> io::Result<DirectoryNames> {
        // The stamp is taken before the names are read, so that a name added during the read
        // changes the stamp.
        match self.disk.stamp(path) {
            Ok(Some(stamp)) => self.record(path, Some(stamp)),
            Ok(None) => {
                self.record(path, None);
                return Err(io::ErrorKind::NotFound.into());
            }
            Err(_) => self.give_up(),
        }
        self.disk.read_dir(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.create_dir(path)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.create(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.link(from, to)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_dir(path)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_file(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_dir(path)
    }

    fn waits_at_once(&self) -> usize {
        self.disk.waits_at_once()
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        self.disk.lock(path)
    }

    fn now(&self) -> Timestamp {
        self.disk.now()
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        self.disk.stamp(path)
    }
}
