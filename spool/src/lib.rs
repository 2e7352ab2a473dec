//! The spool: every page kept on disk, and the requests waiting for the line to come up.
//!
//! This crate knows files, not HTTP. It stores what it is given at a [`Place`], finds it again, and
//! forgets it when told to; whether an entry is fresh is for its caller to judge.
//!
//! # On disk
//!
//! ```text
//! <root>/http/www.example.org/9f/9f86d081….warc  a response record and its request record
//!                   …/9f86d081….update.warc      what was learnt of it since, if it is large
//!                   …/9f86d081….2026….warc       an older version of it
//!                   …/9f86d081….variants/…       the entries of one key, if some of them vary
//! <root>/bodies/6a/6ae8a755….warc                a body that several entries have, kept once
//! <root>/partial/9f/9f86d081…/000….warc          parts of an answer that is not whole
//! <root>/imports/9f86d081…                       how far the import of an archive is
//! <root>/outgoing/9f86d081….warc                 a request recorded while offline
//! <root>/monitor/9f86d081….warc                  the same with a schedule, to be sent again and again
//! <root>/reserve/                                room for small files on a full disk
//! <root>/tmp/                                    entries being written; emptied on opening
//! <root>/damaged/                                what was found damaged, with the reason beside it
//! <root>/version lock state secret               format; who uses it; mode; key of stored secrets
//! <root>/recent                                  what came last; not there while the spool is closed
//! <root>/statistics                              what was done in the last days, counted
//! ```
//!
//! A name is the SHA-256 of the canonical URL, in hex ([`Place`]). The URL is also the record's target:
//! the spool can be indexed from its files alone. `docs/spool-format.md` tells every field.
//!
//! # What always holds
//!
//! 1. No file is changed in place: it is written under `tmp/`, or on a full disk in `reserve/`, synced, then
//!    renamed.
//! 2. So a reader has a whole entry, old or new, and a crash leaves rubbish only in `tmp/`.
//! 3. A missing entry is an answer, [`Lookup::Missing`]; only the disk can fail.
//! 4. A file that is short, damaged or foreign is an answer too, [`Lookup::SetAside`]; it is never served.
//!
//! Sizes are in bytes. Every call blocks.

mod aside;
mod at_once;
mod blocks;
mod bodies;
mod entry;
mod error;
pub mod fs;
mod fsck;
mod gzip;
mod imports;
mod layout;
mod list;
mod local;
mod monitor;
mod names;
mod open;
mod options;
mod outbox;
mod outgoing;
mod overlay;
mod own_pages;
mod partial;
mod pending;
mod place;
pub mod purge;
mod queue;
mod read;
mod reader;
mod recent;
mod refuse;
mod rekey;
mod removed;
mod reserve;
mod restore;
mod runs;
mod salvage;
mod schedule;
mod seal;
mod seen;
mod shelf;
mod state;
mod statistics;
mod store;
mod taken;
mod tmp;
mod trim;
mod update;
mod used;
mod verified;
mod versions;
mod walk;
mod warc;
mod wish;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

pub use jiff::Timestamp;
pub use wwwoffle_url::Key;

pub use bodies::{Bodies, Held, MIN_SHARED, Sharing};
pub use entry::{Body, BodyFile, Damage, Entries, Entry, Lookup, Verifier, Whole};
pub use error::{Error, Result};
pub use fsck::{Finding, How, Sums, Verdict};
pub use gzip::{Bounds, Rewritten};
pub use imports::MAX_IMPORT;
pub use layout::{MAX_CONNECTION, MAX_HEAD, MAX_KEPT_REQUEST, MAX_TRAILERS, MAX_URL};
pub use list::{Host, List, Summary};
pub use monitor::{MAX_MONITORS, Monitor, MonitorSummary, Monitors, Set};
pub use open::Recovery;
pub use options::{Durability, Options};
pub use outgoing::{
    AskedFrom, MAX_OPTIONS, MAX_REASON, MAX_REQUEST_BODY, MAX_REQUEST_HEAD, MAX_SECRETS, Outgoing,
    OutgoingSummary, RequestKind, RequestState, Sealed, Secrets,
};
pub use own_pages::{NotRead, OwnPages};
pub use partial::{
    MAX_SEGMENTS, MAX_VALIDATOR, NewSegment, Partial, PartialList, PartialSummary, SegmentWriter,
};
pub use pending::BATCH_INTERVAL;
pub use place::{MAX_OWNER, MAX_VARIANT, Place};
pub use queue::{
    Added, Change, Finished, MAX_QUEUE, NoPriority, Observer, Priority, Queue, RESERVED, Turn,
};
pub use reader::Reader;
pub use recent::Checked;
pub use rekey::Moved;
pub use removed::{BroughtBack, MAX_REMOVED_BYTES, NotARemoval, REMOVED_FOR, Removal, Resting};
pub use restore::Restored;
pub use runs::MAX_RUN;
pub use schedule::{BadSchedule, MAX_SCHEDULE, Schedule};
pub use seen::{Seen, Watcher};
pub use shelf::MAX_VARIANTS;
pub use state::{MAX_STATE, State};
pub use statistics::{
    Counts, HostCounts, MAX_DAYS, MAX_HOST, MAX_HOSTS, MAX_STATISTICS, Statistics, is_host,
};
pub use taken::Taken;
pub use trim::{
    MAX_DAMAGED_AGE, MAX_DAMAGED_BYTES, MAX_PARTIAL_AGE, MAX_PARTIAL_BYTES, MIN_DAMAGED_AGE,
    Trimmed,
};
pub use update::Update;
pub use used::{MAX_USED, Uses};
pub use verified::Verified;
pub use versions::{MAX_VERSIONS, Versions};
pub use walk::{HostDirectory, KeyDirectory, Walk, Walked};
pub use wish::{MAX_CLASS, MAX_WISHES, NoRunId, RunId, Wish};
pub use writer::{NewEntry, Over, Stored, Tail, Writer};

use fs::{Disk, Lock, SystemDisk};
use layout::Purpose;
use store::Store;

/// An open spool, locked against other processes. Cloning it gives the same one.
///
/// When the last clone and the last [`Writer`] are dropped, what is finished is written, and the
/// lock is given up.
#[derive(Debug, Clone)]
pub struct Spool(Arc<Handle>);

/// The one owner of an open spool.
pub(crate) struct Handle {
    pub(crate) store: Arc<Store>,
    queue: Queue,
    monitors: Monitors,
    background: Option<JoinHandle<()>>,
    /// Dropped last: nobody else writes before everything is written.
    _lock: Lock,
}

impl Spool {
    /// Opens the spool at `root`, which is made if it is missing, and tells what it found of the
    /// time before.
    ///
    /// # Errors
    ///
    /// [`Error::is_locked`] when another process has it open, [`Error::is_no_spool`] when `root` is
    /// something else, [`Error::is_denied`], [`Error::is_full`], or what else the disk says.
    pub fn open(root: &Path, options: &Options) -> Result<(Spool, Recovery)> {
        let disk: Arc<dyn Disk> = match options.shared {
            Some(shared) => Arc::new(shared),
            None => Arc::new(SystemDisk),
        };
        Spool::open_with(disk, root, options)
    }

    /// The same on another disk: how tests make one fail.
    ///
    /// # Errors
    ///
    /// Those of [`Spool::open`].
    pub fn open_with(
        disk: Arc<dyn Disk>,
        root: &Path,
        options: &Options,
    ) -> Result<(Spool, Recovery)> {
        let lock = open::lock_root(&*disk, root)?;
        let store = Arc::new(Store::new(
            disk,
            root.to_owned(),
            options.durability,
            options.versions.clone(),
        ));
        open::prepare(&store)?;
        let mut recovery = Recovery::default();
        // First: what is monitored keeps versions, also of what a crash left.
        let monitors = Monitors::open(Arc::clone(&store), &mut recovery)?;
        open::recover(&store, &mut recovery)?;
        let queue = Queue::open(Arc::clone(&store), &mut recovery)?;
        recovery.was_not_closed = store.open_recent();
        let background = match options.durability {
            Durability::Batch => Some(spawn(&store, options.batch_interval)?),
            Durability::Each | Durability::None => None,
        };
        Ok((Spool(Arc::new(Handle { store, queue, monitors, background, _lock: lock })), recovery))
    }

    /// Looks an entry up: one open and one read when it is small. A place without a variant text means
    /// the one stored last of all under its key.
    ///
    /// # Errors
    ///
    /// When the disk fails. Neither a missing entry nor a damaged one is an error.
    pub fn entry(&self, place: &Place) -> Result<Lookup> {
        self.0.store.entry(place)
    }

    /// All that is kept under the key of a place, whatever its variant: one open when that is a single
    /// entry that varies with nothing.
    ///
    /// # Errors
    ///
    /// When the disk fails. Neither a missing entry nor a damaged one is an error.
    pub fn entries(&self, place: &Place) -> Result<Entries> {
        self.0.store.entries(place)
    }

    /// The same, with what was looked at: as long as [`Spool::is_as_seen`] says so, another lookup would
    /// find the same. `None` where nobody can tell, as just after something has changed.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn entries_seen(&self, place: &Place) -> Result<(Entries, Option<Seen>)> {
        self.0.store.entries_seen(place)
    }

    /// Whether everything that a lookup has looked at is still the same: one call of the system for each
    /// name.
    #[must_use]
    pub fn is_as_seen(&self, seen: &Seen) -> bool {
        seen.holds(&*self.0.store.disk)
    }

    /// Has `watcher` told of each change of entries that this program makes, from now on. False when
    /// there are too many already.
    #[must_use]
    pub fn watch(&self, watcher: Arc<dyn Watcher>) -> bool {
        self.0.store.watch(watcher)
    }

    /// The older versions of the entry of exactly this place, the newest first; the entry itself is not
    /// among them.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn versions(&self, place: &Place) -> Result<Vec<Summary>> {
        versions::list(&*self.0.store.disk, &self.0.store.root, place)
    }

    /// The older version of the entry of exactly this place that was finished then.
    ///
    /// # Errors
    ///
    /// When the disk fails. Neither a missing version nor a damaged one is an error.
    pub fn version(&self, place: &Place, stored: Timestamp) -> Result<Lookup> {
        self.0.store.version(place, stored)
    }

    /// What the entry of exactly this place takes on the disk, with its older versions.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn taken(&self, place: &Place) -> Result<Taken> {
        taken::of(&*self.0.store.disk, &self.0.store.root, place)
    }

    /// How many older versions of what is kept at a place are kept.
    #[must_use]
    pub fn versions_kept(&self, place: &Place) -> usize {
        self.0.store.versions_kept(place)
    }

    /// Writes down what became of an entry, and gives it back as it is then. `None` when it is no
    /// longer the one at its place: another answer has come, or it was removed; then nothing is done.
    ///
    /// What a crash may take back is told by [`Durability`], as for a new entry.
    ///
    /// # Errors
    ///
    /// [`Error::is_invalid`] and [`Error::is_too_large`] for a head that cannot be stored, or one with
    /// another status than the entry; or when the disk fails or is full. Then the entry is as it was,
    /// unless it was the last sync that failed.
    pub fn update(&self, entry: &Entry, update: &Update) -> Result<Option<Entry>> {
        self.0.store.update(entry, update)
    }

    /// Begins an entry. What is at its place stays until [`Writer::finish`].
    ///
    /// # Errors
    ///
    /// [`Error::is_too_large`] and [`Error::is_invalid`] for what cannot be stored; or when the
    /// disk fails or is full.
    pub fn begin(&self, place: &Place, new: NewEntry) -> Result<Writer> {
        Writer::begin(Arc::clone(&self.0), place, new, Purpose::Whole, None)
    }

    /// Removes the entry of a place alone: others of its key, with other variants, stay. False when
    /// there was none.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn remove_variant(&self, place: &Place) -> Result<bool> {
        self.0.store.remove_variant(place)
    }

    /// The same while it is still this entry, and nothing has been learnt of it since.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn remove_seen(&self, entry: &Entry) -> Result<bool> {
        self.0.store.remove_seen(entry)
    }

    /// Removes all that is kept under the key of a place, whatever its variant. False when there was
    /// nothing.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn remove(&self, place: &Place) -> Result<bool> {
        self.0.store.remove(place)
    }

    /// Sets an entry aside whose body its [`Verifier`] refused. `None` when it is no longer the one at
    /// its place.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn set_aside(&self, entry: &Entry) -> Result<Option<Damage>> {
        self.0.store.set_aside(entry, "its body does not agree with its digest")
    }

    /// The entries of the spool, of a scheme, of a host (with its port) under all schemes, or of both.
    ///
    /// # Errors
    ///
    /// When the disk fails, here or at each step.
    pub fn list(&self, scheme: Option<&str>, host: Option<&str>) -> Result<List> {
        let store = &self.0.store;
        List::new(Arc::clone(&store.disk), &store.root, store.pending.snapshot(), scheme, host)
    }

    /// The hosts of a scheme, or of all, of which entries are kept, in order.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn hosts(&self, scheme: Option<&str>) -> Result<Vec<Host>> {
        list::hosts(&self.0.store.disk, &self.0.store.root, scheme)
    }

    /// A walk over the directories of entries.
    #[must_use]
    pub fn walk(&self) -> Walk {
        Walk::new(Arc::clone(&self.0.store.disk), self.0.store.root.clone())
    }

    /// When entries were used last, as it was written down last.
    ///
    /// # Errors
    ///
    /// When the disk fails. A file that tells nothing is no error.
    pub fn uses(&self) -> Result<Uses> {
        used::read(&self.0.store)
    }

    /// Writes down when entries were used last, durably, in place of what was written before.
    ///
    /// # Errors
    ///
    /// When the disk fails or is full; then what was written before stays.
    pub fn set_uses(&self, uses: &mut dyn Iterator<Item = (Key, Timestamp)>) -> Result<()> {
        used::write(&self.0.store, uses)
    }

    /// The requests that wait.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.0.queue
    }

    /// What is looked at on a schedule.
    #[must_use]
    pub fn monitors(&self) -> &Monitors {
        &self.0.monitors
    }

    /// What the program remembers. A file that is no state is set aside and told of, and then this is
    /// the default.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn state(&self) -> Result<(State, Option<Damage>)> {
        state::read(&self.0.store)
    }

    /// Remembers, durably.
    ///
    /// # Errors
    ///
    /// [`Error::is_too_large`], or when the disk fails or is full; then the old state stays.
    pub fn set_state(&self, state: &State) -> Result<()> {
        state::write(&self.0.store, state)
    }

    /// Waits until everything finished is on the medium under its name.
    ///
    /// # Errors
    ///
    /// Why an entry, finished since the last call, could not be kept: the first, if there are more.
    /// [`Error::is_full`] where that waits still.
    pub fn flush(&self) -> Result<()> {
        self.0.store.write_batch();
        let failure = self.failures().into_iter().next();
        failure.or_else(|| self.0.store.pending.shortage()).map_or(Ok(()), Err)
    }

    /// Why entries that were finished could not be kept, since this was last asked, and what was found
    /// damaged while something else was done. Under [`Durability::Batch`] the disk may fail after
    /// [`Writer::finish`].
    #[must_use]
    pub fn failures(&self) -> Vec<Error> {
        std::mem::take(&mut *store::lock(&self.0.store.pending.failures))
    }

    /// The directory it is in.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.0.store.root
    }

    /// Makes an empty file for another part of the program, which those may use who may use the files of the
    /// spool.
    ///
    /// # Errors
    ///
    /// When anything has that name, or the disk fails.
    pub fn make_file(&self, path: &Path) -> Result<()> {
        let made = self.0.store.disk.create(path);
        made.map(drop).map_err(|error| Error::disk("create", path, error))
    }
}

fn spawn(store: &Arc<Store>, interval: Duration) -> Result<JoinHandle<()>> {
    let own = Arc::clone(store);
    std::thread::Builder::new()
        .name("spool-batch".to_owned())
        .spawn(move || pending::run(&own, interval))
        .map_err(|error| Error::disk("start the thread that writes to", &store.root, error))
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.store.pending.stop();
        if let Some(background) = self.background.take() {
            // It panics never; were it to, what it left is written here.
            let _ = background.join();
        }
        self.store.write_batch();
        self.store.close_recent();
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").field("root", &self.store.root).finish_non_exhaustive()
    }
}
