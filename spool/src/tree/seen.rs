//! What a lookup has seen of the disk, so that its outcome can be remembered and, later, be told from
//! what there would be now.
//!
//! A lookup that is to be remembered goes through [`RecordingDisk`], a disk that notes each name that is looked
//! at and what it was, also where it was nothing. As long as all of these are the same, another
//! lookup would find the same. Changes that the program itself makes are told at once, by place, to
//! those who [watch](crate::Spool::watch).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

use crate::entry::Entries;
use crate::entry::place::Place;
use crate::error::Result;
use crate::fs::parallel::lock;
use crate::fs::{Disk, DiskFile, Lock, Names, Opened, Stamp};
use crate::tree::Tree;
use crate::tree::shelf::{KeyLookup, VariantChoice};

/// A file that was changed less long ago than this may be changed again without its times telling so: the
/// clock of a file system ticks a hundred times a second or more.
const SETTLED_AFTER: SignedDuration = SignedDuration::from_millis(50);

/// As many may watch one spool: each change waits for all of them.
const MAX_WATCHERS: usize = 4;

/// The names that a lookup has looked at, with what they were.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen(Box<[(PathBuf, Option<Stamp>)]>);

impl Seen {
    /// How many bytes of memory it takes.
    #[must_use]
    pub fn held(&self) -> usize {
        let one = size_of::<(PathBuf, Option<Stamp>)>();
        self.0.iter().map(|(path, _)| one + path.as_os_str().len()).sum()
    }

    /// Whether all of it is still so. What cannot be looked at is not.
    pub(crate) fn holds(&self, disk: &dyn Disk) -> bool {
        self.0.iter().all(|(path, was)| disk.stamp(path).is_ok_and(|is| is == *was))
    }
}

/// Is told of changes: see [`crate::Spool::watch`].
pub trait Watcher: std::fmt::Debug + Send + Sync {
    /// What lies under the key of this place is no longer what it was. Called before the call returns that
    /// changed it, by whoever made it: it must not wait, nor call the spool.
    fn changed(&self, place: &Place);
}

/// Tells of a change when it is dropped: after all that has changed, also where some of it failed.
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
    /// Says that what lies under a key is not what it was.
    pub(crate) fn changed(&self, place: &Place) {
        let watchers = self.watchers.read().unwrap_or_else(PoisonError::into_inner);
        watchers.iter().for_each(|watcher| watcher.changed(place));
    }

    /// Has one more watcher told, if there is room.
    pub(crate) fn watch(&self, watcher: Arc<dyn Watcher>) -> bool {
        let mut watchers = self.watchers.write().unwrap_or_else(PoisonError::into_inner);
        let has_room = watchers.len() < MAX_WATCHERS;
        watchers.extend(has_room.then_some(watcher));
        has_room
    }

    /// Says so when what is returned is dropped.
    pub(crate) fn changing<'a>(&'a self, place: &'a Place) -> ChangeGuard<'a> {
        ChangeGuard { tree: self, place }
    }

    /// All that is kept under a key, and what was seen on the way, unless that is no ground for
    /// remembering it.
    pub(crate) fn entries_seen(&self, place: &Place) -> Result<(Entries, Option<Seen>)> {
        let recorder = RecordingDisk::new(&*self.root.disk);
        let pending = self.pending.variants(place.key());
        let look = KeyLookup::at(&recorder, &self.root.path, place, VariantChoice::All, &pending)?;
        if !look.bad.is_empty() || look.moved {
            return Ok((self.entries(place)?, None));
        }
        Ok((look.told(), recorder.seen(self.root.disk.now())))
    }
}

/// A disk that notes what is looked at.
#[derive(Debug)]
pub(crate) struct RecordingDisk<'a> {
    disk: &'a dyn Disk,
    notes: Mutex<RecorderNotes>,
}

#[derive(Debug, Default)]
struct RecorderNotes {
    looked: Vec<(PathBuf, Option<Stamp>)>,
    /// Something has no stamp.
    is_vague: bool,
}

impl<'a> RecordingDisk<'a> {
    pub(crate) fn new(disk: &'a dyn Disk) -> Self {
        Self { disk, notes: Mutex::default() }
    }

    fn note(&self, path: &Path, stamp: Option<Stamp>) {
        lock(&self.notes).looked.push((path.to_owned(), stamp));
    }

    fn give_up(&self) {
        lock(&self.notes).is_vague = true;
    }

    /// What was seen, if all of it has stood still for long enough.
    pub(crate) fn seen(self, now: Timestamp) -> Option<Seen> {
        let notes = self.notes.into_inner().unwrap_or_else(PoisonError::into_inner);
        let is_settled = |stamp: &Stamp| now.duration_since(stamp.changed()) >= SETTLED_AFTER;
        let all = notes.looked.iter().filter_map(|(_, stamp)| stamp.as_ref()).all(is_settled);
        (all && !notes.is_vague).then(|| Seen(notes.looked.into_boxed_slice()))
    }
}

impl Disk for RecordingDisk<'_> {
    fn open(&self, path: &Path) -> io::Result<Opened> {
        let opened = self.disk.open(path);
        match &opened {
            Ok(Opened::File(file, _)) => match file.opened_as() {
                Some(stamp) => self.note(path, Some(stamp)),
                None => self.give_up(),
            },
            Err(error) if crate::error::is_missing(error) => self.note(path, None),
            Ok(Opened::NotAFile) | Err(_) => self.give_up(),
        }
        opened
    }

    fn read_dir(&self, path: &Path) -> io::Result<Names> {
        // Before the names are read: what comes while they are changes it.
        match self.disk.stamp(path) {
            Ok(stamp) => self.note(path, stamp),
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
