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
//! <root>/partial/9f/9f86d081…/000….warc          parts of an answer that is not whole
//! <root>/outgoing/9f86d081….warc                 a request recorded while offline
//! <root>/monitor/9f86d081….warc                  the same with a schedule, to be sent again and again
//! <root>/tmp/                                    entries being written; emptied on opening
//! <root>/damaged/                                what was found damaged, with the reason beside it
//! <root>/version lock state secret               format; who uses it; mode; key of stored secrets
//! ```
//!
//! A name is the SHA-256 of the canonical URL, in hex ([`Place`]). The URL is also the record's target:
//! the spool can be indexed from its files alone. `docs/spool-format.md` tells every field.
//!
//! # What always holds
//!
//! 1. No file is changed in place: it is written under `tmp/`, synced, then renamed.
//! 2. So a reader has a whole entry, old or new, and a crash leaves rubbish only in `tmp/`.
//! 3. A missing entry is an answer, [`Lookup::Missing`]; only the disk can fail.
//! 4. A file that is short, damaged or foreign is an answer too, [`Lookup::SetAside`]; it is never served.
//!
//! Sizes are in bytes. Every call blocks.

mod at_once;
mod blocks;
mod entry;
mod error;
pub mod fs;
mod layout;
mod list;
mod monitor;
mod names;
mod open;
mod outbox;
mod outgoing;
mod overlay;
mod partial;
mod pending;
mod place;
mod queue;
mod read;
mod reader;
mod refuse;
mod runs;
mod salvage;
mod schedule;
mod seal;
mod seen;
mod shelf;
mod state;
mod store;
mod tmp;
mod update;
mod verified;
mod versions;
mod warc;
mod wish;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

pub use jiff::Timestamp;
pub use wwwoffle_url::Key;

pub use entry::{Body, BodyFile, Damage, Entries, Entry, Lookup, Verifier, Whole};
pub use error::{Error, Result};
pub use layout::{MAX_CONNECTION, MAX_HEAD, MAX_KEPT_REQUEST, MAX_TRAILERS, MAX_URL};
pub use list::{Host, List, Summary};
pub use monitor::{MAX_MONITORS, Monitor, MonitorSummary, Monitors, Set};
pub use open::Recovery;
pub use outgoing::{
    AskedFrom, MAX_OPTIONS, MAX_REASON, MAX_REQUEST_BODY, MAX_REQUEST_HEAD, MAX_SECRETS, Outgoing,
    OutgoingSummary, RequestKind, RequestState, Sealed, Secrets,
};
pub use partial::{
    MAX_SEGMENTS, MAX_VALIDATOR, NewSegment, Partial, PartialList, PartialSummary, SegmentWriter,
};
pub use pending::BATCH_INTERVAL;
pub use place::{MAX_OWNER, MAX_VARIANT, Place};
pub use queue::{Added, Change, Finished, MAX_QUEUE, Observer, Queue, RESERVED};
pub use reader::Reader;
pub use runs::MAX_RUN;
pub use schedule::{BadSchedule, MAX_SCHEDULE, Schedule};
pub use seen::{Seen, Watcher};
pub use shelf::MAX_VARIANTS;
pub use state::{MAX_STATE, State};
pub use update::Update;
pub use verified::Verified;
pub use versions::{MAX_VERSIONS, Versions};
pub use wish::{MAX_CLASS, MAX_WISHES, NoRunId, RunId, Wish};
pub use writer::{NewEntry, Stored, Tail, Writer};

use fs::{Disk, Lock, SharedDisk, SystemDisk};
use layout::Purpose;
use store::Store;

/// What of a finished entry a crash may take back. Whatever the setting, after a crash each entry is
/// whole, old or new, or absent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Nothing: it is on the medium before [`Writer::finish`] returns.
    Each,
    /// The entries of the last moments, if the power fails; nothing if only the program ends. They
    /// are found at once, and on the medium within [`Options::batch_interval`] and the time that takes.
    #[default]
    Batch,
    /// What the system had not written of its own accord when the power failed. Then some entries
    /// may be damaged too; they are noticed when they are read.
    None,
}

/// How a spool is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// What a crash may take back.
    pub durability: Durability,
    /// How long finished entries gather before they are synced, under [`Durability::Batch`].
    pub batch_interval: Duration,
    /// Who may use new directories and files besides their owner; `None`: nobody.
    pub shared: Option<SharedDisk>,
    /// How many older versions are kept, besides those of what is monitored.
    pub versions: Versions,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            durability: Durability::default(),
            batch_interval: BATCH_INTERVAL,
            shared: None,
            versions: Versions::default(),
        }
    }
}

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

    /// Has `watcher` told of each change of entries that this program makes. There is one at most;
    /// false when there is one already.
    #[must_use]
    pub fn watch(&self, watcher: Arc<dyn Watcher>) -> bool {
        self.0.store.watcher.set(watcher).is_ok()
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

    /// The requests that wait.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.0.queue
    }

    /// The recursive fetches that have a text here, in no order.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn runs(&self) -> Result<Vec<RunId>> {
        runs::list(&self.0.store)
    }

    /// The text of a recursive fetch; `None` for none.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn run(&self, id: RunId) -> Result<Option<String>> {
        runs::read(&self.0.store, id)
    }

    /// Writes the text of a recursive fetch, durably, in place of the one before.
    ///
    /// # Errors
    ///
    /// [`Error::is_too_large`] above [`MAX_RUN`] bytes; or when the disk fails or is full.
    pub fn set_run(&self, id: RunId, text: &str) -> Result<()> {
        runs::write(&self.0.store, id, text)
    }

    /// Removes the text of a recursive fetch; false when there was none.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn remove_run(&self, id: RunId) -> Result<bool> {
        runs::remove(&self.0.store, id)
    }

    /// Sets the text of a recursive fetch aside, for a `reason` that a person reads.
    #[must_use]
    pub fn set_run_aside(&self, id: RunId, reason: &str) -> entry::Damage {
        runs::set_aside(&self.0.store, id, reason)
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
    pub fn flush(&self) -> Result<()> {
        self.0.store.write_batch();
        self.failures().into_iter().next().map_or(Ok(()), Err)
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
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").field("root", &self.store.root).finish_non_exhaustive()
    }
}
