//! The outgoing queue: one file for each request, `outgoing/<key>.warc`.
//!
//! The directory is authoritative. A summary of each request is read when the spool is opened, and
//! stays in memory for lists.

pub(crate) mod files;
mod index;
mod meant;
pub(crate) mod membership;
pub(crate) mod monitor;
mod order;
pub(crate) mod outgoing;
pub(crate) mod runs;
pub(crate) mod schedule;
pub(crate) mod seal;
mod share;
pub(crate) mod spellings;

use crate::durability::outbox::request_path;
use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use wwwoffle_url::Key;

use self::files::{RequestFile, read_request, sort_by_age};
use self::index::QueueIndex;
use crate::durability::{Durability, OUTGOING};
use crate::entry::place::share_name;
use crate::error::{Result, SpoolFault};
use crate::fs::names::names;
use crate::fs::parallel::lock;
use crate::fs::parent;
use crate::queue::outgoing::{AttemptState, Outgoing, OutgoingSummary};
use crate::queue::seal::Vault;
use crate::tree::Tree;
use crate::tree::recover::Recovery;

pub use order::{ParsePriorityError, Priority, QueuePosition};

/// The largest number of requests, both waiting and failed.
pub const MAX_QUEUE: usize = 120_000;

/// The number of requests in the queue that are reserved for people. Runs and monitors cannot use
/// them. Requests of other machines without a login leave twice this number free.
pub const RESERVED: usize = 20_000;

/// The outgoing queue of a spool.
///
/// When [`Queue::add`] has returned, the request is durable and no crash loses it, unless the
/// spool was opened with [`Durability::None`].
#[derive(Debug)]
pub struct Queue {
    tree: Arc<Tree>,
    pub(crate) vault: Vault,
    index: Mutex<QueueIndex>,
    /// The largest number of requests of one owner.
    share: AtomicUsize,
    meter: OnceLock<Arc<dyn QueueMeter>>,
}

/// Counts the requests that each owner adds to the queue. It must not call the queue.
pub trait QueueMeter: fmt::Debug + Send + Sync {
    /// Counts a request that is about to be added. Returns false if the owner may not add it.
    fn count_added(&self, owner: Option<&str>) -> bool;

    /// Takes back the count of a request that could not be added.
    fn uncount(&self, owner: Option<&str>);
}

/// The receiver of every change of the queue, in order. It must not call the queue.
pub type QueueObserver = Box<dyn Fn(QueueChange<'_>) + Send + Sync>;

/// A change of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueChange<'a> {
    /// This request was added or changed.
    Is(&'a OutgoingSummary),
    /// This request has left the queue.
    Gone(&'a Key),
}

/// The result of adding a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddOutcome {
    /// The request was added.
    New,
    /// The queue already has a request with the same key, waiting or failed, which stays unchanged.
    Already,
    /// The queue has a request with the same key, waiting or failed. The new request was combined
    /// with it.
    Stronger,
}

/// The result of finishing a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "created and matched once; a box costs more")]
pub enum FinishOutcome {
    /// The request has left the queue.
    Gone,
    /// More was requested in the meantime, so the request stays in the queue, in this form.
    Wanted(Outgoing),
}

impl Queue {
    /// Reads the queue. Invalid files are set aside.
    pub(crate) fn open(tree: Arc<Tree>, recovery: &mut Recovery) -> Result<Queue> {
        let vault = Vault::open(&tree.root, &mut recovery.damaged)?;
        let mut index = QueueIndex::default();
        for key in
            files::keys(names(&*tree.root.disk, &tree.root.path.join(OUTGOING))?, usize::MAX)?
        {
            let path = request_path(&tree.root.path, &key);
            match read_request(&*tree.root.disk, &path, &key, None) {
                Ok(RequestFile::Valid(request)) => index.insert(key, request.summary),
                Ok(RequestFile::Missing) => {}
                Err(error) => recovery.failures.push(error),
                Ok(RequestFile::Invalid(reason)) => {
                    recovery.damaged.push(tree.root.move_aside(&path, reason));
                }
            }
        }
        let (index, share) = (Mutex::new(index), AtomicUsize::new(MAX_QUEUE));
        Ok(Queue { tree, vault, index, share, meter: OnceLock::new() })
    }

    /// Passes every request of the queue, and then every later change, to `observer`, which
    /// replaces the previous observer.
    pub fn observe(&self, observer: QueueObserver) {
        let mut index = lock(&self.index);
        index.requests.values().for_each(|request| observer(QueueChange::Is(request)));
        index.observer = Some(observer);
    }

    /// Sets the largest number of requests of one owner. Requests without an owner are not limited.
    pub fn set_share(&self, share: usize) {
        self.share.store(share, Ordering::Relaxed);
    }

    /// Lets `meter` count every request that is added from now on. Only the first call has an
    /// effect.
    pub fn set_meter(&self, meter: Arc<dyn QueueMeter>) {
        let _is_first = self.meter.set(meter);
    }

    /// Adds a request, durably. If the queue has a request with the same key, the two are combined.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_queue_full`], [`crate::Error::is_share_used_up`],
    /// [`crate::Error::is_quota_reached`], [`crate::Error::is_spelling_refused`], [`crate::Error::is_too_large`] and
    /// [`crate::Error::is_invalid`] for a request that cannot be added; or if the disk fails or is
    /// full.
    pub fn add(&self, request: &Outgoing) -> Result<AddOutcome> {
        self.put(request, Durability::Each)
    }

    /// Adds a request that follows from one in the queue. Under [`Durability::Batch`] the added
    /// request becomes durable with the next batch, before the file of the other request is
    /// removed; see [`Queue::finish`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::add`].
    pub fn add_next(&self, request: &Outgoing) -> Result<AddOutcome> {
        self.put(request, self.tree.root.durability)
    }

    fn put(&self, request: &Outgoing, durability: Durability) -> Result<AddOutcome> {
        let key = request.summary.place.key();
        let bytes = request.encode(&self.vault)?;
        let is_time = {
            let _changing = lock(&self.tree.outbox.changing);
            if let Some(known) = self.summary(&key) {
                return self.combine_requests(&known, request);
            }
            let owner = request.summary.place.owner();
            let largest = share::largest_queue(owner, request.summary.kind);
            if self.len() >= largest {
                return Err(SpoolFault::QueueFull { limit: largest }.into());
            }
            self.check_share(owner)?;
            let meter = self.meter.get();
            if meter.is_some_and(|meter| !meter.count_added(owner)) {
                return Err(SpoolFault::QuotaReached.into());
            }
            let added = self.put_new(key, &bytes, durability);
            let is_time = added.inspect_err(|_| {
                if let Some(meter) = meter {
                    meter.uncount(owner);
                }
            })?;
            lock(&self.index).insert(key, request.summary.clone());
            is_time
        };
        self.batch(is_time);
        Ok(AddOutcome::New)
    }

    /// Writes a new request. Returns whether a batch must be written now.
    fn put_new(&self, key: Key, bytes: &[u8], durability: Durability) -> Result<bool> {
        if durability == Durability::Batch {
            return self.tree.outbox.add(&self.tree.root, key, bytes);
        }
        self.tree.root.replace_file(&request_path(&self.tree.root.path, &key), bytes)?;
        self.tree.outbox.cancel(&self.tree.root, &key);
        Ok(false)
    }

    /// Refuses a request of an owner whose share is used up.
    fn check_share(&self, owner: Option<&str>) -> Result<()> {
        let Some(owner) = owner else { return Ok(()) };
        let share = self.share.load(Ordering::Relaxed);
        if lock(&self.index).shares.of(&share_name(owner)) < share {
            Ok(())
        } else {
            Err(SpoolFault::ShareUsedUp { limit: share }.into())
        }
    }

    /// Writes the batch now if `is_time`, or else schedules it. The caller does not hold
    /// `changing`.
    fn batch(&self, is_time: bool) {
        if is_time {
            self.tree.write_batch();
        } else if self.tree.root.durability == Durability::Batch {
            self.tree.pending.schedule_batch();
        }
    }

    /// Combines a known request with `new`. The caller holds `changing`.
    fn combine_requests(&self, known: &OutgoingSummary, new: &Outgoing) -> Result<AddOutcome> {
        if let Some(why) = spellings::refusal(&new.summary, known) {
            return Err(SpoolFault::SpellingRefused { why }.into());
        }
        let priority = order::raised_priority(known.priority, new.summary.priority);
        let requests_more = membership::requests_more(&new.summary, known);
        let may_correct = membership::may_correct_login(&new.summary, known);
        if !requests_more && !may_correct && priority == known.priority {
            return Ok(AddOutcome::Already);
        }
        let RequestFile::Valid(mut known) = self.read(&new.summary.place.key())? else {
            // The file is unreadable. The fetch detects that and sets it aside.
            return Ok(AddOutcome::Already);
        };
        let is_corrected = may_correct && known.secrets != new.secrets;
        if !requests_more && !is_corrected && priority == known.summary.priority {
            return Ok(AddOutcome::Already);
        }
        membership::merge(&mut known, new);
        if is_corrected {
            known.secrets = new.secrets.clone();
            known.summary.fetching = AttemptState::default();
        }
        known.summary.priority = priority;
        self.write(&known)?;
        Ok(AddOutcome::Stronger)
    }

    /// Writes a changed request, durably. The caller holds `changing`.
    fn write(&self, request: &Outgoing) -> Result<()> {
        let key = request.summary.place.key();
        let bytes = request.encode(&self.vault)?;
        self.tree.root.replace_file(&request_path(&self.tree.root.path, &key), &bytes)?;
        self.tree.outbox.cancel(&self.tree.root, &key);
        lock(&self.index).insert(key, request.summary.clone());
        Ok(())
    }

    /// Every request, the oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<OutgoingSummary> {
        let mut list: Vec<_> = lock(&self.index).requests.values().cloned().collect();
        sort_by_age(&mut list);
        list
    }

    /// Passes each request to `look`, in no order, without copying it. `look` must not call the
    /// queue.
    pub fn visit(&self, look: impl FnMut(&OutgoingSummary)) {
        lock(&self.index).requests.values().for_each(look);
    }

    /// The number of requests that belong to the page with this URL, waiting or failed; see
    /// [`OutgoingSummary::page`].
    #[must_use]
    pub fn parts_of(&self, page: &str) -> usize {
        lock(&self.index).parts.of(page)
    }

    /// The summary of one request.
    #[must_use]
    pub fn summary(&self, key: &Key) -> Option<OutgoingSummary> {
        lock(&self.index).requests.get(key).cloned()
    }

    /// The number of requests.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.index).requests.len()
    }

    /// Whether the queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads a request, with its secrets. `None` if it is not in the queue.
    ///
    /// # Errors
    ///
    /// If the disk fails. [`crate::Error::is_damaged`]: its file was invalid, has been set aside,
    /// and the request is gone.
    pub fn get(&self, key: &Key) -> Result<Option<Outgoing>> {
        // The file of a finished request may still exist.
        if !lock(&self.index).requests.contains_key(key) {
            return Ok(None);
        }
        // A rename is atomic, so the file is either the old or the new one. Reading it needs no
        // lock.
        match self.read(key)? {
            RequestFile::Valid(request) => return Ok(Some(request)),
            RequestFile::Missing => return Ok(None),
            RequestFile::Invalid(_) => {}
        }
        let _changing = lock(&self.tree.outbox.changing);
        match self.read(key)? {
            RequestFile::Valid(request) => Ok(Some(request)),
            RequestFile::Missing => Ok(None),
            RequestFile::Invalid(reason) => Err(self.set_aside(key, reason)),
        }
    }

    /// Writes a changed request. Returns false if the request is no longer queued; it is then not
    /// added again. Runs and spellings that were added after the request was read are kept.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_too_large`] and [`crate::Error::is_invalid`] for a request that cannot be
    /// stored; or if the disk fails or is full.
    pub fn update(&self, request: &Outgoing) -> Result<bool> {
        let key = request.summary.place.key();
        let _changing = lock(&self.tree.outbox.changing);
        let Some(known) = self.summary(&key) else { return Ok(false) };
        // The priority may have been changed since `request` was read, so the present one stays.
        let mut request = Cow::Borrowed(request);
        if request.summary.priority != known.priority {
            request.to_mut().summary.priority = known.priority;
        }
        if membership::requests_more(&known, &request.summary)
            && let RequestFile::Valid(now) = self.read(&key)?
        {
            membership::merge(request.to_mut(), &now);
        }
        self.write(&request)?;
        Ok(true)
    }

    /// Removes a request. Returns false if it was not in the queue.
    ///
    /// When this returns, the removal of a request that must not be sent twice is durable, unless
    /// the spool was opened with [`Durability::None`].
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn remove(&self, key: &Key) -> Result<bool> {
        let _changing = lock(&self.tree.outbox.changing);
        self.remove_file(key)
    }

    /// Removes a request and its file. The caller holds `changing`.
    fn remove_file(&self, key: &Key) -> Result<bool> {
        let path = request_path(&self.tree.root.path, key);
        let removed = self.tree.root.remove_file(&path)?;
        self.tree.outbox.cancel(&self.tree.root, key);
        let known = lock(&self.index).remove(key);
        let sync = match self.tree.root.durability {
            Durability::Each => true,
            Durability::Batch => !known.as_ref().is_some_and(is_repeatable),
            Durability::None => false,
        };
        if removed && sync {
            self.tree.root.sync_dir(parent(&path))?;
        }
        Ok(known.is_some())
    }

    /// Removes a finished request, unless more was requested in the meantime. `seen` is the request
    /// in the form in which it was fetched.
    ///
    /// Under [`Durability::Batch`] the file of a `GET` or `HEAD` request is removed when its
    /// response, and the requests [that follow from it](Queue::add_next), are durable. After a
    /// crash the request may be back; the fetch then finds its response. The file of any other
    /// request is removed at once, because such a request must not be sent twice.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn finish(&self, seen: &Outgoing) -> Result<FinishOutcome> {
        let key = seen.summary.place.key();
        let is_time = {
            let _changing = lock(&self.tree.outbox.changing);
            let Some(known) = self.summary(&key) else { return Ok(FinishOutcome::Gone) };
            if membership::requests_more(&known, &seen.summary)
                && let RequestFile::Valid(now) = self.read(&key)?
            {
                return Ok(FinishOutcome::Wanted(now));
            }
            if self.tree.root.durability != Durability::Batch || !is_repeatable(&known) {
                self.remove_file(&key)?;
                return Ok(FinishOutcome::Gone);
            }
            lock(&self.index).remove(&key);
            self.tree.outbox.remove(key)
        };
        self.batch(is_time);
        Ok(FinishOutcome::Gone)
    }

    fn read(&self, key: &Key) -> Result<RequestFile<Outgoing>> {
        let (disk, vault) = (&*self.tree.root.disk, Some(&self.vault));
        let named = request_path(&self.tree.root.path, key);
        // A file that waits for the next batch is newer than the file with the right name. The
        // waiting file may be renamed in the meantime.
        if let Some(waiting) = self.tree.outbox.path(key) {
            match read_request(disk, &waiting, key, vault)? {
                RequestFile::Missing => {}
                found => return Ok(found),
            }
        }
        read_request(disk, &named, key, vault)
    }
}

/// Whether the request may be sent twice.
fn is_repeatable(request: &OutgoingSummary) -> bool {
    matches!(&*request.line.method, "GET" | "HEAD")
}
