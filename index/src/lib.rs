//! The index of a spool: what is in it, as lists and by the words of its pages.
//!
//! All of it is derived from the files of the spool (`index.sqlite` in its root may be deleted at any
//! time), and nothing that is served depends on it. This crate knows files, not HTTP: what a page says
//! is told to it by a [`Describe`].
//!
//! ```text
//! spool ── Watcher ──> desk ──> one thread ──> index.sqlite (WAL) <── readers ── lists, search
//!           places,     bounded   group commit                          a few connections
//!           uses
//! ```
//!
//! # What always holds
//!
//! 1. Who serves never waits for the index: what has changed is noted in memory, of a bounded size, and of
//!    what does not fit it is noted that a walk over the directories is due.
//! 2. What is read is of one moment, and at most as much behind the files as changes gather.
//! 3. A missing, damaged, foreign or too new index is made again beside the old one, in the background;
//!    until there is one, those who ask are told so ([`Error::is_not_ready`]).
//! 4. Nothing is counted, and no list is gone through, to answer: every call has a bound.
//!
//! Every call blocks. Lengths are in bytes.

mod apply;
mod changed;
mod check;
mod class;
mod describe;
mod dirty;
mod error;
mod facts;
mod filter;
mod fold;
mod hosts;
mod item;
mod list;
mod lookup;
mod moment;
mod name;
mod parts;
mod pool;
mod query;
mod rebuild;
mod relevance;
mod schema;
mod search;
mod sessions;
mod snippet;
mod standing;
mod sub_resources;
mod worker;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use wwwoffle_spool::{Key, Place, Spool, Timestamp, Watcher};

pub use check::{Checked, check};
pub use class::{BadClass, Class, essence};
pub use describe::{Describe, Description, MAX_REFERENCES, MAX_TEXT, MAX_TITLE, Reference};
pub use dirty::{Progress, Reindex};
pub use error::{Error, Result};
pub use filter::{Filter, Viewer};
pub use hosts::{HostItem, HostSort, KeptSum, SiteItem};
pub use item::{Item, Words};
pub use list::{BadSort, Cursor, MAX_PAGE, Page, Sort};
pub use lookup::MAX_FOUND;
pub use moment::{Candidate, Moment};
pub use parts::Parts;
pub use query::{MAX_QUERY, Query};
pub use search::Hits;
pub use sessions::{Asked, BadSessions, MAX_SESSIONS, Sessions};
pub use snippet::{Snippet, marks, snippet};
pub use standing::Standing;
pub use sub_resources::{MAX_SUB_RESOURCES, SubResources};

use dirty::Desk;
use pool::Pool;
use worker::Worker;

/// The name of the file in the root of the spool.
pub const FILE: &str = "index.sqlite";

/// The index of an open spool. Cloning it gives the same one.
#[derive(Clone)]
pub struct Index(Arc<Shared>);

struct Shared {
    desk: Arc<Desk>,
    pool: Arc<Pool>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Of all that changes.
    is_told: bool,
}

impl Index {
    /// Opens the index of a spool, in the background: what is missing is made, what has changed is looked for.
    /// `describe` tells what pages say; without it no page is read, and no words are found.
    ///
    /// The spool stays open until [`Index::stop`].
    ///
    /// # Errors
    ///
    /// When no thread can be had.
    pub fn open(spool: &Spool, describe: Option<Arc<dyn Describe>>) -> Result<Index> {
        let (path, new) = (spool.root().join(FILE), spool.root().join("tmp").join(FILE));
        Index::open_at(spool, (path, new), describe)
    }

    /// Does the same with an index in another directory, for a spool on a read-only file system.
    ///
    /// # Errors
    ///
    /// When no thread can be had.
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
        let (desk, pool) = (Arc::new(Desk::default()), Arc::new(Pool::new(path.clone())));
        let watcher: Arc<dyn Watcher> = desk.clone();
        // Before anything is read, so that nothing is missed. With too many watchers what changes is found
        // by walks alone.
        let is_told = spool.watch(watcher);
        let (desk_too, pool_too, spool) = (Arc::clone(&desk), Arc::clone(&pool), spool.clone());
        let worker = Worker {
            spool,
            desk: desk_too,
            pool: pool_too,
            describe,
            path: path.clone(),
            new,
            failed: None,
            is_behind: false,
        };
        let thread = std::thread::Builder::new()
            .name("index".to_owned())
            .spawn(move || worker.run())
            .map_err(|error| Error::disk("start the thread that writes", path, error))?;
        let thread = Mutex::new(Some(thread));
        Ok(Index(Arc::new(Shared { desk, pool, thread, is_told })))
    }

    /// Writes what is noted, and ends the thread. From then on nothing is answered.
    pub fn stop(&self) {
        self.0.desk.stop();
        let thread = self.0.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // It panics never; were it to, the next start finds what it left.
            let _ = thread.join();
        }
    }

    /// How far it is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.0.desk.progress()
    }

    /// What went wrong in the background since this was last asked.
    #[must_use]
    pub fn faults(&self) -> Vec<Error> {
        self.0.desk.faults()
    }

    /// Makes the index anew, or looks for what others have changed, and waits until that is done.
    ///
    /// # Errors
    ///
    /// When it cannot be done, or the index has been stopped.
    pub fn reindex(&self, what: Reindex) -> Result<()> {
        self.0.desk.order(what)
    }

    /// Looks again at what lies at these places, and waits until that is in the index.
    ///
    /// # Errors
    ///
    /// Those of [`Index::settle`].
    pub fn mend(&self, places: &[Place]) -> Result<()> {
        for place in places {
            self.0.desk.changed(place);
        }
        self.settle(false)
    }

    /// Waits until all that has changed until now is in the index, and with `words` until all pages are
    /// read.
    ///
    /// # Errors
    ///
    /// When the index has been stopped, or cannot be made.
    pub fn settle(&self, words: bool) -> Result<()> {
        self.0.desk.settle(words, None)
    }

    /// Waits until all that has changed is in the index, and with `words` until all pages are read, or until so much
    /// time has passed.
    ///
    /// # Errors
    ///
    /// Those of [`Index::settle`].
    pub fn settle_within(&self, words: bool, patience: Duration) -> Result<()> {
        self.0.desk.settle(words, Some(patience))
    }

    /// Notes that what is kept under the key of a place was used. It costs a look at a table in memory.
    pub fn used(&self, place: &Place, now: Timestamp) {
        self.0.desk.used(place.key(), now);
    }

    /// Has all uses until now written into the spool, where [`Spool::uses`] finds them, and waits for it, at most
    /// for `patience`. False: it cannot be done, or not in that time, as while the index is made.
    #[must_use]
    pub fn write_uses(&self, patience: Duration) -> bool {
        self.0.desk.write_uses(patience)
    }

    /// Some of the entries that are asked for: from the beginning, or behind those of the page before. `keep`
    /// says which of them are shown at all.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`]; [`Error::is_invalid`] when `after` is of another list; or when the disk fails.
    pub fn list(
        &self,
        filter: &Filter,
        sort: Sort,
        after: Option<&Cursor>,
        limit: usize,
        keep: &dyn Fn(&Item) -> bool,
    ) -> Result<Page> {
        self.0.pool.read(|connection| list::page(connection, filter, sort, after, limit, keep))
    }

    /// Some of the hosts of a scheme or of all, with what is counted of each.
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
    ) -> Result<Page<HostItem>> {
        self.0.pool.read(|connection| hosts::hosts(connection, viewer, scheme, sort, after, limit))
    }

    /// How much is kept in all of what `viewer` may see.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], or when the disk fails.
    pub fn total(&self, viewer: &Viewer) -> Result<KeptSum> {
        self.0.pool.read(|connection| hosts::total(connection, viewer))
    }

    /// Some of the sites, by domain, with what is counted of each.
    ///
    /// # Errors
    ///
    /// As [`Index::list`].
    pub fn sites(
        &self,
        viewer: &Viewer,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<SiteItem>> {
        self.0.pool.read(|connection| hosts::sites(connection, viewer, after, limit))
    }

    /// How many entries are kept of a host or a site, if nothing else is asked for; `None` where each would have to be
    /// looked at.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], or when the disk fails.
    pub fn count(&self, filter: &Filter) -> Result<Option<u64>> {
        self.0.pool.read(|connection| hosts::count(connection, filter))
    }

    /// Of each of some entries whether it is a page that is there with its parts; `None` where it is none, and where
    /// that is not known.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], or when the disk fails.
    pub fn parts(&self, viewer: &Viewer, items: &[Item]) -> Result<Vec<Option<Parts>>> {
        self.0.pool.read(|connection| parts::of(connection, viewer, items))
    }

    /// Gathers the stored sub-resources of some entries. Of many, a few hundred in one call.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], when the disk fails, or when it takes longer than it may.
    pub fn gather_sub_resources(&self, found: &mut SubResources, places: &[Place]) -> Result<()> {
        self.0.pool.read(|connection| found.gather(connection, places))
    }

    /// How much is kept, of all hosts and for all persons.
    ///
    /// # Errors
    ///
    /// As [`Index::list`].
    pub fn kept(&self) -> Result<KeptSum> {
        self.0.pool.read(hosts::kept)
    }

    /// The best pages for a query, from the best one, or behind those of the page before.
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

    /// What is known of the entry of exactly this place.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], or when the disk fails.
    pub fn at(&self, place: &Place) -> Result<Option<Item>> {
        self.0.pool.read(|connection| lookup::at(connection, place))
    }

    /// The entries whose body has this digest and length, at most [`MAX_FOUND`].
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], or when the disk fails.
    pub fn with_body(&self, digest: &[u8; 32], body_len: u64) -> Result<Vec<Item>> {
        self.0.pool.read(|connection| lookup::with_body(connection, digest, body_len))
    }

    /// The pages that refer to a URL, at most [`MAX_FOUND`]; with `parts_only` those that are shown with
    /// what it names.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], or when the disk fails.
    pub fn referrers(&self, viewer: &Viewer, url: &str, parts_only: bool) -> Result<Vec<Item>> {
        self.0.pool.read(|connection| lookup::referrers(connection, viewer, url, parts_only))
    }

    /// What of the spool an entry refers to, at most [`MAX_FOUND`].
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], or when the disk fails.
    pub fn references(&self, viewer: &Viewer, place: &Place) -> Result<Vec<Item>> {
        self.0.pool.read(|connection| lookup::references(connection, viewer, place))
    }

    /// Brings into the index what has changed until now, also by others, and waits for it and for what can be
    /// read then, at most for about `patience`. Whether all is in it.
    #[must_use]
    pub fn catch_up(&self, patience: Duration) -> bool {
        let desk = &self.0.desk;
        let wait = || desk.settle(true, Some(patience)).is_ok() && desk.is_level();
        self.0.is_told && wait() && desk.order(Reindex::Changed).is_ok() && wait()
    }

    /// Waits, at most for `patience`, until all that has come until now is in the index; false where it is not by
    /// then.
    #[must_use]
    pub fn is_level_within(&self, patience: Duration) -> bool {
        let desk = &self.0.desk;
        desk.settle(false, Some(patience)).is_ok() && desk.is_level()
    }

    /// Looks at the index as it is at one moment, at most for `patience`.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], [`Error::is_too_slow`], or when the disk fails.
    pub fn at_a_moment<T>(
        &self,
        patience: Duration,
        look: impl FnOnce(&Moment<'_>) -> Result<T>,
    ) -> Result<T> {
        self.0.pool.read_within(patience, |connection| Moment::look(connection, look))
    }

    /// What has come since then, in that order and some of it at a time, and the beginnings of the keys of the URLs of
    /// what it needs.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], or when the disk fails.
    pub fn came(&self, since: Timestamp) -> Result<Vec<(Candidate, Vec<u64>)>> {
        self.0.pool.read(|connection| moment::came(connection, since))
    }

    /// The beginnings of the keys of the URLs of what is needed by what is kept under a key, as far as it is known.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], or when the disk fails.
    pub fn needs(&self, key: &Key) -> Result<Vec<u64>> {
        self.0.pool.read(|connection| moment::needs(connection, key))
    }

    /// When what is kept under a key was used last, if that was later than it was stored and is known.
    #[must_use]
    pub fn last_use(&self, key: &Key) -> Option<Timestamp> {
        let noted = self.0.desk.use_of(key);
        let written = self.0.pool.read(|connection| moment::used(connection, key));
        noted.max(written.ok().flatten())
    }

    /// Every entry that is asked for, in an order, page after page.
    #[must_use]
    pub fn all<'a>(&'a self, filter: &'a Filter, sort: Sort) -> All<'a> {
        All { index: self, filter, sort, read: Vec::new().into_iter(), next: Next::Beginning }
    }

    /// Remembers what was on the queue when a session began, for [`Index::asked`].
    ///
    /// Nobody waits for it.
    pub fn keep_asked(&self, session: Timestamp, asked: Vec<Asked>) {
        self.0.desk.keep_asked(session, asked);
    }

    /// What was on the queue when the session began that began then, in the order it was asked for.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`], or when the disk fails.
    pub fn asked(&self, viewer: &Viewer, session: Timestamp) -> Result<Vec<Asked>> {
        self.0.pool.read(|connection| sessions::asked(connection, viewer, session))
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("progress", &self.progress()).finish_non_exhaustive()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Nobody can ask any more: the thread ends by itself, when it has written what is noted.
        self.desk.stop();
    }
}

/// Where to go on.
#[derive(Debug)]
enum Next {
    Beginning,
    Behind(Cursor),
    End,
}

/// See [`Index::all`].
#[derive(Debug)]
pub struct All<'a> {
    index: &'a Index,
    filter: &'a Filter,
    sort: Sort,
    read: std::vec::IntoIter<Item>,
    next: Next,
}

impl Iterator for All<'_> {
    type Item = Result<Item>;

    fn next(&mut self) -> Option<Result<Item>> {
        loop {
            if let Some(item) = self.read.next() {
                return Some(Ok(item));
            }
            let after = match std::mem::replace(&mut self.next, Next::End) {
                Next::Beginning => None,
                Next::Behind(cursor) => Some(cursor),
                Next::End => return None,
            };
            match self.index.list(self.filter, self.sort, after.as_ref(), MAX_PAGE, &|_| true) {
                Ok(page) => {
                    self.next = page.next.map_or(Next::End, Next::Behind);
                    self.read = page.items.into_iter();
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
