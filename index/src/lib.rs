//! The index of a spool: lists of entries, and full-text search of pages.
//!
//! The index is derived from the files of the spool. Therefore `index.sqlite` in the root of the
//! spool may be deleted at any time, and requests can be served without it. This crate handles
//! files, not HTTP; a [`Describe`] extracts the content of pages.
//!
//! ```text
//! spool ── ChangeListener ─> work ─> one thread ──> index.sqlite (WAL) <─ readers ── lists, search
//!           places, uses   bounded   group commit                        a few connections
//! ```
//!
//! # Invariants
//!
//! 1. Threads that serve requests never wait for the index. Changes are recorded in bounded memory.
//!    If the memory is full, a walk over the directories is scheduled.
//! 2. A query sees one consistent state. It lags behind the changes of this program by at most the
//!    collection period, or longer while the index thread has other work.
//! 3. A missing, damaged, foreign or newer index is rebuilt in the background beside the old one.
//!    Until the new one exists, queries fail with [`Error::is_not_ready`].
//! 4. No query counts or scans without a limit.
//!
//! All functions block. Lengths are in bytes.

mod apply;
mod changed;
mod check;
mod class;
mod column;
mod completeness;
mod describe;
mod documents;
mod error;
mod facts;
mod filter;
mod fold;
mod folders;
mod hosts;
mod item;
mod list;
mod lookup;
mod name;
mod pool;
mod query;
mod read_only;
mod rebuild;
mod relevance;
mod schema;
mod search;
mod sessions;
mod snapshot;
mod snippet;
mod stored_times;
mod sub_resources;
mod work_queue;
mod worker;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use wwwoffle_spool::{ChangeListener, Key, Place, Spool, Timestamp};

pub use check::{CheckReport, check};
pub use class::{ContentClass, ParseContentClassError, essence};
pub use completeness::Completeness;
pub use describe::{Describe, Description, MAX_REFERENCES, MAX_TEXT, MAX_TITLE, Reference};
pub use error::{Error, Result};
pub use filter::{EntrySet, Filter, Viewer};
pub use folders::{Folder, FolderName};
pub use hosts::{HostItem, HostSort, SiteItem, StoredTotal};
pub use item::{Item, ItemTimes, StoredContent, WordState};
pub use list::{Cursor, ListPage, MAX_PAGE, ParseSortError, Sort};
pub use lookup::MAX_FOUND;
pub use query::{MAX_QUERY, Query};
pub use read_only::ReadOnlyIndex;
pub use search::Hits;
pub use sessions::{MAX_SESSIONS, ParseSessionsError, SessionRequest, Sessions};
pub use snapshot::{Candidate, Snapshot};
pub use snippet::{Snippet, marks, snippet};
pub use stored_times::StoredTimes;
pub use sub_resources::{MAX_SUB_RESOURCES, SubResources};
pub use work_queue::{Progress, ReindexScope};

use pool::Pool;
use work_queue::WorkQueue;
use worker::Worker;

/// The file name of the index in the root of the spool.
pub const FILE: &str = "index.sqlite";

/// The index of an open spool. All clones are the same index.
#[derive(Clone)]
pub struct Index(Arc<IndexInner>);

struct IndexInner {
    work: Arc<WorkQueue>,
    pool: Arc<Pool>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Whether the spool reports all changes to the index.
    is_told: bool,
}

impl Index {
    /// Opens the index of a spool in the background: builds it if it is missing, and finds changes.
    /// `describe` extracts the content of pages. Without `describe`, no pages are read and searches
    /// find nothing.
    ///
    /// The spool stays open until [`Index::stop`].
    ///
    /// # Errors
    ///
    /// If no thread can be started.
    pub fn open(spool: &Spool, describe: Option<Arc<dyn Describe>>) -> Result<Index> {
        let (path, new) = (spool.root().join(FILE), spool.root().join("tmp").join(FILE));
        Index::open_at(spool, (path, new), describe)
    }

    /// Like [`Index::open`], with an index in another directory, for a spool on a read-only file
    /// system.
    ///
    /// # Errors
    ///
    /// If no thread can be started.
    pub fn open_in(
        spool: &Spool,
        directory: &Path,
        describe: Option<Arc<dyn Describe>>,
    ) -> Result<Index> {
        let paths = (directory.join(FILE), directory.join("index.new"));
        Index::open_at(spool, paths, describe)
    }

    fn open_at(
        spool: &Spool,
        (path, new): (PathBuf, PathBuf),
        describe: Option<Arc<dyn Describe>>,
    ) -> Result<Index> {
        let (work, pool) = (Arc::new(WorkQueue::default()), Arc::new(Pool::new(path.clone())));
        let listener: Arc<dyn ChangeListener> = work.clone();
        // The listener is registered before anything is read, so that no change is missed. If the
        // spool has too many listeners, changes are only found by walks.
        let is_told = spool.watch(listener);
        let (work_too, pool_too, spool) = (Arc::clone(&work), Arc::clone(&pool), spool.clone());
        let worker = Worker {
            spool,
            work: work_too,
            pool: pool_too,
            describe,
            path: path.clone(),
            new,
            failed: None,
            is_behind: false,
            postponed: Vec::new(),
            document: None,
        };
        let thread = std::thread::Builder::new()
            .name("index".to_owned())
            .spawn(move || worker.run())
            .map_err(|error| Error::disk("start the thread that writes", &path, error))?;
        let thread = Mutex::new(Some(thread));
        Ok(Index(Arc::new(IndexInner { work, pool, thread, is_told })))
    }

    /// Writes recorded changes and ends the thread. Later queries fail.
    pub fn stop(&self) {
        self.0.work.stop();
        let thread = self.0.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // The thread does not panic. If it did, the next start would repair the index.
            let _ = thread.join();
        }
    }

    /// The state of the index.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.0.work.progress()
    }

    /// Returns and clears the errors of the background thread.
    #[must_use]
    pub fn faults(&self) -> Vec<Error> {
        self.0.work.faults()
    }

    /// Rebuilds the index, or finds changes of other programs. Waits until that is done.
    ///
    /// # Errors
    ///
    /// If it fails or the index has been stopped.
    pub fn reindex(&self, what: ReindexScope) -> Result<()> {
        self.0.work.order(what)
    }

    /// Re-examines these places, and waits until the index agrees with the files.
    ///
    /// # Errors
    ///
    /// As [`Index::wait_until_current`].
    pub fn reindex_places(&self, places: &[Place]) -> Result<()> {
        for place in places {
            self.0.work.changed(place);
        }
        self.wait_until_current(false)
    }

    /// Waits until all changes so far are in the index and, with `words`, all pages are read.
    ///
    /// # Errors
    ///
    /// If the index has been stopped or cannot be built.
    pub fn wait_until_current(&self, words: bool) -> Result<()> {
        self.0.work.wait_until_current(words, None)
    }

    /// Like [`Index::wait_until_current`], but waits at most for `patience`. Then it returns `Ok`,
    /// even if the index is not current.
    ///
    /// # Errors
    ///
    /// As [`Index::wait_until_current`].
    pub fn wait_until_current_within(&self, words: bool, patience: Duration) -> Result<()> {
        self.0.work.wait_until_current(words, Some(patience))
    }

    /// Records a use of the entries under a place's key. It costs one lookup in memory.
    pub fn record_use(&self, place: &Place, now: Timestamp) {
        self.0.work.record_use(place.key(), now);
    }

    /// Writes all uses so far into the spool, where [`Spool::uses`] finds them. Waits at most for
    /// `patience`. Returns whether the uses were written. While the index is being built, they are
    /// not.
    #[must_use]
    pub fn write_uses(&self, patience: Duration) -> bool {
        self.0.work.write_uses(patience)
    }

    /// A page of matching entries, from the beginning or after a cursor. An entry is left out if
    /// `keep` returns false.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`] and [`Error::is_too_slow`]; [`Error::is_invalid`] if `after` belongs
    /// to another list; or a failure of the database.
    pub fn list(
        &self,
        filter: &Filter,
        sort: Sort,
        after: Option<&Cursor>,
        limit: usize,
        keep: &dyn Fn(&Item) -> bool,
    ) -> Result<ListPage> {
        self.0.pool.read(|connection| list::page(connection, filter, sort, after, limit, keep))
    }

    /// A page of the hosts with `scheme`, or of all hosts if it is `None`, with their counts.
    ///
    /// # Errors
    ///
    /// As [`Index::list`].
    pub fn hosts(
        &self,
        viewer: &Viewer,
        scheme: Option<&str>,
        sort: HostSort,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<ListPage<HostItem>> {
        self.0.pool.read(|connection| hosts::hosts(connection, viewer, scheme, sort, after, limit))
    }

    /// The totals of everything that `viewer` may see.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], [`Error::is_too_slow`], or a failure of the database.
    pub fn total(&self, viewer: &Viewer) -> Result<StoredTotal> {
        self.0.pool.read(|connection| hosts::total(connection, viewer))
    }

    /// The number of sites of which `viewer` may see an entry.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], [`Error::is_too_slow`], or a failure of the database.
    pub fn count_sites(&self, viewer: &Viewer) -> Result<u64> {
        self.0.pool.read(|connection| hosts::count_sites(connection, viewer))
    }

    /// The totals of a site, of everything that `viewer` may see.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], [`Error::is_too_slow`], or a failure of the database.
    pub fn total_of_site(&self, viewer: &Viewer, site: &str) -> Result<StoredTotal> {
        self.0.pool.read(|connection| hosts::total_of_site(connection, viewer, site))
    }

    /// A page of sites by domain, with their counts.
    ///
    /// # Errors
    ///
    /// As [`Index::list`].
    pub fn sites(
        &self,
        viewer: &Viewer,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<ListPage<SiteItem>> {
        self.0.pool.read(|connection| hosts::sites(connection, viewer, after, limit))
    }

    /// The number of entries of a host or site. `None` if the filter names neither, or has
    /// conditions other than a scheme: every entry would then have to be examined.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], [`Error::is_too_slow`], or a failure of the database.
    pub fn count(&self, filter: &Filter) -> Result<Option<u64>> {
        self.0.pool.read(|connection| hosts::count(connection, filter))
    }

    /// For each item, whether it is a page with all its sub-resources. `None` if the item is not a
    /// page with a 2xx status, or if the result is unknown.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], [`Error::is_too_slow`], or a failure of the database.
    pub fn completeness(
        &self,
        viewer: &Viewer,
        items: &[Item],
    ) -> Result<Vec<Option<Completeness>>> {
        self.0.pool.read(|connection| completeness::of(connection, viewer, items))
    }

    /// Gathers the stored sub-resources of some entries. One call should get at most a few hundred
    /// entries.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], [`Error::is_too_slow`], or a failure of the database.
    pub fn gather_sub_resources(&self, found: &mut SubResources, places: &[Place]) -> Result<()> {
        self.0.pool.read(|connection| found.gather(connection, places))
    }

    /// The totals of all hosts and owners.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], [`Error::is_too_slow`], or a failure of the database.
    pub fn stored_total(&self) -> Result<StoredTotal> {
        self.total(&Viewer::Operator)
    }

    /// A page of the best results for a query, from the beginning or after a cursor.
    ///
    /// # Errors
    ///
    /// As [`Index::list`].
    pub fn search(
        &self,
        query: &Query,
        filter: &Filter,
        after: Option<&Cursor>,
        limit: usize,
        keep: &dyn Fn(&Item) -> bool,
    ) -> Result<Hits> {
        self.0.pool.read(|connection| search::search(connection, query, filter, after, limit, keep))
    }

    /// The entry at exactly this place. `None` if it is not in the index.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], [`Error::is_too_slow`], or a failure of the database.
    pub fn at(&self, place: &Place) -> Result<Option<Item>> {
        self.0.pool.read(|connection| lookup::at(connection, place))
    }

    /// The entries whose body has this digest and length, at most [`MAX_FOUND`].
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], [`Error::is_too_slow`], or a failure of the database.
    pub fn with_body(&self, digest: &[u8; 32], body_len: u64) -> Result<Vec<Item>> {
        self.0.pool.read(|connection| lookup::with_body(connection, digest, body_len))
    }

    /// The pages that refer to a URL, at most [`MAX_FOUND`]. With `parts_only`, only the pages that
    /// use it as a sub-resource.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], [`Error::is_too_slow`], or a failure of the database.
    pub fn referrers(&self, viewer: &Viewer, url: &str, parts_only: bool) -> Result<Vec<Item>> {
        self.0.pool.read(|connection| lookup::referrers(connection, viewer, url, parts_only))
    }

    /// The stored entries that an entry refers to, at most [`MAX_FOUND`].
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], [`Error::is_too_slow`], or a failure of the database.
    pub fn references(&self, viewer: &Viewer, place: &Place) -> Result<Vec<Item>> {
        self.0.pool.read(|connection| lookup::references(connection, viewer, place))
    }

    /// Applies all changes so far and reads the pages, then does the same with changes of other
    /// programs. Waits at most for `patience` each time; the search for changes of other programs
    /// has no limit. Returns whether the index is complete.
    #[must_use]
    pub fn catch_up(&self, patience: Duration) -> bool {
        let work = &self.0.work;
        let wait = || work.wait_until_current(true, Some(patience)).is_ok() && work.is_level();
        // The search also finds changes that could not be written.
        let may_search = self.0.is_told && (wait() || self.progress().is_behind);
        may_search && work.order(ReindexScope::Changed).is_ok() && wait()
    }

    /// Waits until the index contains all changes so far, at most for `patience`. Returns whether
    /// it contains them.
    #[must_use]
    pub fn is_level_within(&self, patience: Duration) -> bool {
        let work = &self.0.work;
        work.wait_until_current(false, Some(patience)).is_ok() && work.is_level()
    }

    /// Opens a consistent view of the index for at most `patience`.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], [`Error::is_too_slow`], a failure of the database, or an error of
    /// `look`.
    pub fn with_snapshot<T>(
        &self,
        patience: Duration,
        look: impl FnOnce(&Snapshot<'_>) -> Result<T>,
    ) -> Result<T> {
        self.0.pool.read_within(patience, |connection| Snapshot::with_transaction(connection, look))
    }

    /// The first entries stored since `since`, at most 1,000, in the order of storing. Each comes
    /// with the key prefixes of the URLs of its sub-resources.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], [`Error::is_too_slow`], or a failure of the database.
    pub fn stored_since(&self, since: Timestamp) -> Result<Vec<(Candidate, Vec<u64>)>> {
        self.0.pool.read(|connection| snapshot::stored_since(connection, since))
    }

    /// The key prefixes of the URLs that the entries under a key need as sub-resources, as far as
    /// known.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], [`Error::is_too_slow`], or a failure of the database.
    pub fn needs(&self, key: &Key) -> Result<Vec<u64>> {
        self.0.pool.read(|connection| snapshot::needs(connection, key))
    }

    /// When the entries under a key were last used. `None` if this is unknown, or not later than
    /// the time of storing.
    #[must_use]
    pub fn last_use(&self, key: &Key) -> Option<Timestamp> {
        let noted = self.0.work.use_of(key);
        let written = self.0.pool.read(|connection| snapshot::last_used(connection, key));
        noted.max(written.ok().flatten())
    }

    /// Records the queued requests at the start of a session, for [`Index::session_requests`].
    ///
    /// Returns at once.
    pub fn record_session_requests(&self, session: Timestamp, asked: Vec<SessionRequest>) {
        self.0.work.record_session_requests(session, asked);
    }

    /// The requests that were queued when this session began, in order.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], [`Error::is_too_slow`], or a failure of the database.
    pub fn session_requests(
        &self,
        viewer: &Viewer,
        session: Timestamp,
    ) -> Result<Vec<SessionRequest>> {
        self.0.pool.read(|connection| sessions::session_requests(connection, viewer, session))
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("progress", &self.progress()).finish_non_exhaustive()
    }
}

impl Drop for IndexInner {
    fn drop(&mut self) {
        // The last handle is dropped. The thread ends after it has written the recorded changes.
        self.work.stop();
    }
}
