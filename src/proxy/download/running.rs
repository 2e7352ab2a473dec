//! The downloads that run now.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use hyper::HeaderMap;

use super::{Download, JoinKey};
use crate::base::owner::Places;
use crate::storage::store::Identity;

/// How long a download may stand still until new clients no longer join it.
pub(super) const JOIN_WITHIN: Duration = Duration::from_secs(5);

/// The downloads that run now.
#[derive(Debug)]
pub struct Downloads {
    pub(super) running: Mutex<Running>,
    /// How long one of them may stand still until new clients no longer join it.
    pub(super) join_within: Duration,
}

impl Default for Downloads {
    fn default() -> Self {
        Self { running: Mutex::default(), join_within: JOIN_WITHIN }
    }
}

/// The same while they are locked.
#[derive(Debug, Default)]
pub(super) struct Running {
    /// All of them, by their numbers.
    pub(super) all: BTreeMap<u64, Arc<Download>>,
    /// Those that new clients may join.
    joinable: HashMap<JoinKey, Arc<Download>>,
    /// How many were begun.
    begun: u64,
}

/// A download, and whether it was begun for this caller.
#[derive(Debug)]
pub enum Joined {
    /// It ran already.
    Running(Arc<Download>),
    /// It is new: the caller must [`run`](super::run) it.
    New(Arc<Download>),
}

impl Running {
    /// Registers a download that is made with its number.
    fn add(&mut self, make: impl FnOnce(u64) -> Download) -> Arc<Download> {
        self.begun += 1;
        let download = Arc::new(make(self.begun));
        self.all.insert(self.begun, Arc::clone(&download));
        download
    }

    fn is_joinable(&self, download: &Arc<Download>) -> bool {
        self.joinable.get(&download.key).is_some_and(|found| Arc::ptr_eq(found, download))
    }
}

impl Downloads {
    /// Joins the download of the same thing, or registers a new one. `about` are the entries of
    /// which the origin is asked whether they still hold.
    ///
    /// A reload never joins. A new download takes the place of the one that was not joined.
    pub fn join(
        &self,
        places: &Places,
        request: &HeaderMap,
        about: Vec<Identity>,
        now: SystemTime,
        is_reload: bool,
    ) -> Joined {
        let key = JoinKey::of(places, request, about);
        let mut running = self.lock();
        if let Some(found) = running.joinable.get(&key) {
            if !is_reload && found.outdated.get().is_none() && !found.is_stuck(self.join_within) {
                return Joined::Running(Arc::clone(found));
            }
            found.is_replaced.store(true, Ordering::Relaxed);
        }
        let download = running.add(|id| Download::new(id, key.clone(), places, request, now));
        running.joinable.insert(key, Arc::clone(&download));
        Joined::New(download)
    }

    /// A download that nobody can join.
    #[must_use]
    pub fn alone(&self, places: &Places, request: &HeaderMap, now: SystemTime) -> Arc<Download> {
        let key = JoinKey::of(places, request, Vec::new());
        self.lock().add(|id| Download::new(id, key, places, request, now))
    }

    /// All that run now, the oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<Download>> {
        let mut all: Vec<_> = self.lock().all.values().map(Arc::clone).collect();
        all.sort_by_key(|download| download.started);
        all
    }

    /// Another download in the place of `former`, which nobody can join any more.
    pub(super) fn succeed(&self, former: &Arc<Download>) -> Arc<Download> {
        let mut running = self.lock();
        let may_be_joined =
            !running.joinable.contains_key(&former.key) || running.is_joinable(former);
        running.all.remove(&former.id);
        let next = running.add(|id| Download::after(former, id));
        if may_be_joined {
            running.joinable.insert(former.key.clone(), Arc::clone(&next));
        }
        next
    }

    /// Lets nobody join any more.
    pub(super) fn leave(&self, download: &Arc<Download>) {
        let mut running = self.lock();
        running.all.remove(&download.id);
        if running.is_joinable(download) {
            running.joinable.remove(&download.key);
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Running> {
        // Nothing between the changes of one call can panic.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
