//! The tree of entries: finding one, putting one in its place, taking one away.
//!
//! Two locks order what threads do. `commit` is held while names change, so that whoever holds it
//! sees them stand still; it is never held over a sync. `pending` is held for a look into the map.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};

use crate::Durability;
use crate::entry::{self, Body, Content, Damage, Entries, Entry, Lookup};
use crate::error::{Error, Result, is_missing};
use crate::fs::{Disk, DiskFile};
use crate::layout::{self, Finish, Start};
use crate::pending::{MAX_FAILURES, MAX_PENDING, Pending};
use crate::place::Place;
use crate::update::Update;

/// How often a lookup follows an entry that is being renamed, before it makes renaming wait.
const LOOKUP_TRIES: usize = 4;

/// Directories known to be on the medium; more are asked about again.
const MAX_SYNCED: usize = 8_192;

/// Directories of the root.
pub(crate) const TMP: &str = "tmp";
pub(crate) const DAMAGED: &str = "damaged";
pub(crate) const OUTGOING: &str = "outgoing";

/// A tree of entries on a disk.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) root: PathBuf,
    pub(crate) durability: Durability,
    pub(crate) commit: Mutex<()>,
    pub(crate) pending: Pending,
    /// Held by whoever writes an update: no update may be based on a state that another replaces.
    updates: Mutex<()>,
    next_tmp: AtomicU64,
    last_stamp: Mutex<Timestamp>,
    /// Directories whose name is on the medium, as is that of each directory above.
    synced: Mutex<HashSet<PathBuf>>,
}

/// A file under `tmp/` that is complete.
#[derive(Debug, Clone)]
pub(crate) struct Finished {
    pub(crate) place: Place,
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn DiskFile>,
    /// Later for what was finished later.
    pub(crate) stored: Timestamp,
}

impl Store {
    pub(crate) fn new(disk: Arc<dyn Disk>, root: PathBuf, durability: Durability) -> Store {
        Store {
            disk,
            root,
            durability,
            commit: Mutex::default(),
            pending: Pending::default(),
            updates: Mutex::default(),
            next_tmp: AtomicU64::new(0),
            last_stamp: Mutex::new(Timestamp::UNIX_EPOCH),
            synced: Mutex::default(),
        }
    }

    /// The entry at a place. What is not whole is set aside.
    pub(crate) fn entry(&self, place: &Place) -> Result<Lookup> {
        for _ in 0..LOOKUP_TRIES {
            let pending = self.pending.path(place);
            let settled = pending.is_none();
            let path = pending.unwrap_or_else(|| self.path(place));
            match entry::read(&*self.disk, &path, Some(place))? {
                Content::Whole(entry) => return Ok(Lookup::Found(entry)),
                Content::Missing if settled => return Ok(Lookup::Missing),
                Content::Missing => {}
                Content::Bad(_) => break,
            }
        }
        // What was bad may have been replaced meanwhile; it is judged again while names stand still.
        let _commit = lock(&self.commit);
        let path = self.pending.path(place).unwrap_or_else(|| self.path(place));
        match entry::read(&*self.disk, &path, Some(place))? {
            Content::Whole(entry) => Ok(Lookup::Found(entry)),
            Content::Missing => Ok(Lookup::Missing),
            Content::Bad(reason) => {
                self.pending.forget(place);
                Ok(Lookup::SetAside(self.move_aside(&path, reason)))
            }
        }
    }

    /// Sets an entry aside whose body turned out not to be what was stored. `None` when another has
    /// taken its place already.
    pub(crate) fn set_aside(&self, entry: &Entry, reason: &str) -> Result<Option<Damage>> {
        let Some(body) = entry.file() else { return Ok(None) };
        let place = entry.place();
        let _commit = lock(&self.commit);
        let path = self.pending.path(place).unwrap_or_else(|| self.path(place));
        let Content::Whole(now) = entry::read(&*self.disk, &path, Some(place))? else {
            return Ok(None);
        };
        let identity = |body: &entry::BodyFile| {
            body.identity().map_err(|error| Error::disk("look at", &path, error))
        };
        match now.file() {
            // The entry has its file open, so no other can have its number.
            Some(file) if identity(file)? == identity(body)? => {
                self.pending.forget(place);
                Ok(Some(self.move_aside(&path, reason)))
            }
            _ => Ok(None),
        }
    }

    /// Removes the entry of a place, and leaves others of its key. False when there was none.
    pub(crate) fn remove_variant(&self, place: &Place) -> Result<bool> {
        let path = self.path(place);
        let removed = {
            let _commit = lock(&self.commit);
            let pending = match self.pending.forget(place) {
                Some(finished) => self.remove_file(&finished.path)?,
                None => false,
            };
            self.remove_file(&path)? || pending
        };
        if removed && self.durability == Durability::Each {
            // The name it had while it was written could come back too, and be taken for unfinished
            // business.
            self.sync_dir(&self.root.join(TMP))?;
            self.sync_names(&[parent(&path)])?;
        }
        Ok(removed)
    }

    /// Removes every entry of a key. False when there was none.
    pub(crate) fn remove(&self, place: &Place) -> Result<bool> {
        let mut removed = false;
        for variant in self.variants(place)? {
            removed |= self.remove_variant(&variant)?;
        }
        Ok(removed)
    }

    /// The places of a key of which something is or waits to be at its name.
    fn variants(&self, place: &Place) -> Result<Vec<Place>> {
        let _commit = lock(&self.commit);
        let mut places: Vec<Place> = vec![place.clone().with_variant("")];
        let pending = self.pending.variants(place.key()).into_iter().map(|one| one.place);
        places.extend(pending.filter(|place| !place.variant_text().is_empty()));
        let directory = self.root.join(place.variants_path());
        let names = match self.disk.read_dir(&directory) {
            Ok(names) => names,
            Err(error) if is_missing(&error) => return Ok(places),
            Err(error) => return Err(Error::disk("read", &directory, error)),
        };
        for name in names {
            let name = name.map_err(|error| Error::disk("read", &directory, error))?;
            if let Content::Whole(entry) = entry::read(&*self.disk, &directory.join(name), None)?
                && entry.place().is_variant_of(place)
                && !places.contains(entry.place())
            {
                places.push(entry.place().clone());
            }
        }
        Ok(places)
    }

    /// All that is kept under a key.
    pub(crate) fn entries(&self, place: &Place) -> Result<Entries> {
        let mut entries = Entries::default();
        for variant in self.variants(place)? {
            match self.entry(&variant)? {
                Lookup::Found(entry) => entries.found.push(entry),
                Lookup::Missing => {}
                Lookup::SetAside(damage) => entries.set_aside.push(damage),
            }
        }
        entries.found.sort_by_key(|entry| std::cmp::Reverse(entry.stored()));
        Ok(entries)
    }

    /// Writes an update down: the entry anew, with the body it has.
    pub(crate) fn update(&self, entry: &Entry, update: &Update) -> Result<Option<Entry>> {
        update.check(entry)?;
        let _one = lock(&self.updates);
        let place = entry.place();
        let Some(now) = self.entry(place)?.found().filter(|now| now.id() == entry.id()) else {
            return Ok(None);
        };
        let (head, state) = update.applied(&now, self.stamp());
        let mut bytes = Vec::new();
        let start = Start::write(&mut bytes, place, now.id(), now.when(), &state, head);
        let finish = Finish {
            body_len: now.body_len(),
            digest: *now.digest(),
            tail_len: layout::wide(now.tail().len()),
            stored: now.stored(),
        };
        let fixed = start.fixed(&finish);
        bytes.get_mut(..fixed.len()).unwrap_or_default().copy_from_slice(&fixed);
        let (path, file) = self.create_tmp()?;
        let fail = |error| Error::disk("write", &path, error);
        file.write_all_at(&bytes, 0).map_err(fail)?;
        let mut end = start.body_offset();
        let mut put = |bytes: &[u8]| {
            let at = end;
            end += layout::wide(bytes.len());
            file.write_all_at(bytes, at).map_err(fail)
        };
        match now.body() {
            Body::Whole(whole) => put(whole)?,
            Body::File(body) => {
                let (mut piece, mut offset) = (vec![0; layout::FIRST_READ], 0);
                loop {
                    let read = body.read_at(offset, &mut piece)?;
                    if read == 0 {
                        break;
                    }
                    put(piece.get(..read).unwrap_or_default())?;
                    offset += layout::wide(read);
                }
            }
        }
        put(now.tail())?;
        let stored = now.stored();
        self.admit(Finished { place: place.clone(), path: path.clone(), file, stored })?;
        Ok(self.entry(place)?.found())
    }

    /// Makes a finished file the entry of its place, as durably as the setting says.
    pub(crate) fn admit(&self, finished: Finished) -> Result<()> {
        let sync = match self.durability {
            Durability::Batch => {
                let count = {
                    let _commit = lock(&self.commit);
                    let (replaced, count) = self.pending.add(finished);
                    if let Some(replaced) = replaced {
                        // What stays behind in tmp/ is older, and is removed when the spool is opened.
                        let _ = self.disk.remove_file(&replaced.path);
                    }
                    count
                };
                if count >= MAX_PENDING {
                    self.write_batch();
                }
                return Ok(());
            }
            Durability::Each => true,
            Durability::None => false,
        };
        if sync {
            let synced = finished.file.sync();
            synced.map_err(|error| Error::disk("write", &finished.path, error))?;
        }
        let path = self.path(&finished.place);
        {
            let _commit = lock(&self.commit);
            self.rename_into_place(&finished.path, &path)?;
        }
        if sync { self.sync_names(&[parent(&path)]) } else { Ok(()) }
    }

    /// Puts everything finished under its name, and on the medium. What cannot be is given up; why,
    /// is among the failures.
    pub(crate) fn write_batch(&self) {
        let _one = lock(&self.pending.batch);
        let (mut failures, mut changed) = (Vec::new(), Vec::new());
        let mut synced = Vec::new();
        for finished in self.pending.snapshot() {
            match finished.file.sync() {
                Ok(()) => synced.push(finished),
                Err(error) => {
                    let error = Error::disk("write", &finished.path, error);
                    failures.extend(self.give_up(&finished).then_some(error));
                }
            }
        }
        for finished in synced {
            let path = self.path(&finished.place);
            let _commit = lock(&self.commit);
            if !self.pending.holds(&finished) {
                continue;
            }
            if let Err(error) = self.rename_into_place(&finished.path, &path) {
                self.forget_and_remove(&finished);
                failures.push(error);
            } else {
                self.pending.forget(&finished.place);
                changed.push(path);
            }
        }
        let changed: Vec<_> = changed.iter().map(|path| parent(path)).collect();
        failures.extend(self.sync_names(&changed).err());
        let mut kept = lock(&self.pending.failures);
        kept.extend(failures);
        kept.truncate(MAX_FAILURES);
    }

    /// Forgets a finished file that cannot be kept. False when it was no longer wanted anyway.
    fn give_up(&self, finished: &Finished) -> bool {
        let _commit = lock(&self.commit);
        self.pending.holds(finished) && self.forget_and_remove(finished)
    }

    fn forget_and_remove(&self, finished: &Finished) -> bool {
        self.pending.forget(&finished.place);
        let _ = self.disk.remove_file(&finished.path);
        true
    }

    /// Renames a file into the tree, making the directories on its way. `commit` is held.
    pub(crate) fn rename_into_place(&self, from: &Path, to: &Path) -> Result<()> {
        match self.disk.rename(from, to) {
            Err(error) if is_missing(&error) => {}
            done => return done.map_err(|error| Error::disk("write", to, error)),
        }
        let above: Vec<&Path> =
            to.ancestors().skip(1).take_while(|path| *path != self.root).collect();
        for directory in above.into_iter().rev() {
            self.make_dir(directory)?;
        }
        self.disk.rename(from, to).map_err(|error| Error::disk("write", to, error))
    }

    pub(crate) fn make_dir(&self, directory: &Path) -> Result<()> {
        match self.disk.create_dir(directory) {
            Ok(()) => {
                lock(&self.synced).remove(directory);
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(Error::disk("make the directory", directory, error)),
        }
    }

    /// Waits until names changed in these directories are on the medium, and the directories too.
    pub(crate) fn sync_names(&self, directories: &[&Path]) -> Result<()> {
        let mut above: Vec<&Path> = Vec::new();
        {
            let known = lock(&self.synced);
            for directory in directories {
                let upward = directory.ancestors().take_while(|path| path.starts_with(&self.root));
                // Those above a known one are known too. The directory itself has changed names.
                above.push(directory);
                above.extend(
                    upward.take_while(|path| !known.contains(*path)).filter_map(Path::parent),
                );
            }
        }
        above.retain(|path| path.starts_with(&self.root));
        above.sort_unstable();
        above.dedup();
        let mut failed = None;
        for directory in &above {
            match self.sync_dir(directory) {
                // Somebody has deleted it, and with it what was stored there.
                Err(error) if error.is_missing() => {}
                done => failed = failed.or(done.err()),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        let mut known = lock(&self.synced);
        if known.len() > MAX_SYNCED {
            known.clear();
        }
        let all = directories.iter().flat_map(|path| path.ancestors());
        known.extend(all.filter(|path| path.starts_with(&self.root)).map(Path::to_owned));
        Ok(())
    }

    pub(crate) fn sync_dir(&self, directory: &Path) -> Result<()> {
        self.disk.sync_dir(directory).map_err(|error| Error::disk("write", directory, error))
    }

    /// Removes a file; false when there is none.
    pub(crate) fn remove_file(&self, path: &Path) -> Result<bool> {
        match self.disk.remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(Error::disk("remove", path, error)),
        }
    }

    /// Makes a new file under `tmp/`.
    pub(crate) fn create_tmp(&self) -> Result<(PathBuf, Arc<dyn DiskFile>)> {
        self.create_tmp_with(|path| self.disk.create(path))
    }

    fn create_tmp_with(
        &self,
        create: impl Fn(&Path) -> io::Result<Arc<dyn DiskFile>>,
    ) -> Result<(PathBuf, Arc<dyn DiskFile>)> {
        loop {
            let number = self.next_tmp.fetch_add(1, Ordering::Relaxed);
            let path = self.root.join(TMP).join(format!("{number:08}.warc"));
            match create(&path) {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::disk("write", &path, error)),
            }
        }
    }

    /// Writes a small file whole: aside, synced unless nothing is, then renamed.
    pub(crate) fn replace_file(&self, to: &Path, bytes: &[u8]) -> Result<()> {
        self.put_file(to, bytes, self.create_tmp()?)
    }

    /// The same for what is its owner's alone.
    pub(crate) fn replace_private_file(&self, to: &Path, bytes: &[u8]) -> Result<()> {
        let created = self.create_tmp_with(|path| self.disk.create_private(path))?;
        self.put_file(to, bytes, created)
    }

    fn put_file(
        &self,
        to: &Path,
        bytes: &[u8],
        (path, file): (PathBuf, Arc<dyn DiskFile>),
    ) -> Result<()> {
        let written = (|| {
            let fail = |error| Error::disk("write", to, error);
            file.write_all_at(bytes, 0).map_err(fail)?;
            if self.durability != Durability::None {
                file.sync().map_err(fail)?;
            }
            self.rename_into_place(&path, to)
        })();
        if written.is_err() {
            let _ = self.disk.remove_file(&path);
            return written;
        }
        if self.durability == Durability::None {
            return Ok(());
        }
        self.sync_names(&[parent(to)])
    }

    /// Moves what is at `path` to `damaged/`, with a file beside it that says why.
    #[expect(
        clippy::unnecessary_debug_formatting,
        reason = "quoted: a path may hold control bytes"
    )]
    pub(crate) fn move_aside(&self, path: &Path, reason: &str) -> Damage {
        let mut damage =
            Damage { path: path.to_owned(), moved_to: None, reason: reason.to_owned() };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{}-{}", self.stamp().as_microsecond(), name);
        let to = self.root.join(DAMAGED).join(&name);
        if let Err(error) = self.rename_into_place(path, &to) {
            damage.reason = format!("{reason} (and it could not be moved: {error})");
            return damage;
        }
        // Without the note the file is as well out of the way.
        if let Ok(file) = self.disk.create(&to.with_file_name(format!("{name}.reason"))) {
            let _ = file.write_all_at(format!("{path:?}\n{reason}\n").as_bytes(), 0);
        }
        damage.moved_to = Some(to);
        damage
    }

    /// The time, always later than it was.
    pub(crate) fn stamp(&self) -> Timestamp {
        let mut last = lock(&self.last_stamp);
        let next = last.saturating_add(SignedDuration::from_micros(1)).unwrap_or(*last);
        // Whole microseconds are what a header holds.
        let now = Timestamp::from_microsecond(self.disk.now().as_microsecond()).unwrap_or(next);
        *last = now.max(next);
        *last
    }

    pub(crate) fn path(&self, place: &Place) -> PathBuf {
        self.root.join(place.relative_path())
    }
}

/// What a path lies in. Every path of the spool lies in its root.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// A panic in another thread leaves nothing half done that these locks protect.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
