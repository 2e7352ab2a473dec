//! The running downloads.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use hyper::HeaderMap;

use super::{Download, DownloadRequest, JoinKey};
use crate::base::owner::Places;
use crate::proxy::site_logins::LoginRecords;
use crate::storage::store::EntryIdentity;

/// The longest time for which a download may stall while new clients still join it.
pub(super) const JOIN_WITHIN: Duration = Duration::from_secs(5);

/// The running downloads.
#[derive(Debug)]
pub struct Downloads {
    pub(super) running: Mutex<DownloadTable>,
    /// The longest time for which a download may stall while new clients still join it.
    pub(super) join_within: Duration,
    /// The login records of new responses.
    pub(in crate::proxy) login_records: LoginRecords,
}

impl Default for Downloads {
    fn default() -> Self {
        let login_records = LoginRecords::default();
        Self { running: Mutex::default(), join_within: JOIN_WITHIN, login_records }
    }
}

/// The table of the running downloads.
#[derive(Debug, Default)]
pub(super) struct DownloadTable {
    /// All downloads, by their numbers.
    pub(super) all: BTreeMap<u64, Arc<Download>>,
    /// The downloads that new clients may join.
    joinable: HashMap<JoinKey, Arc<Download>>,
    /// Number of downloads started so far.
    begun: u64,
}

/// A download, and whether this caller has to run it.
#[derive(Debug)]
pub enum JoinOutcome {
    /// It is running already.
    Running(Arc<Download>),
    /// It is new: the caller must [`run`](super::run) it.
    New(Arc<Download>),
}

impl DownloadTable {
    /// Registers a download, which `make` creates from its number.
    fn add(&mut self, make: impl FnOnce(u64) -> Download) -> Arc<Download> {
        self.begun += 1;
        let download = Arc::new(make(self.begun));
        self.all.insert(self.begun, Arc::clone(&download));
        download
    }

    fn is_joinable(&self, download: &Arc<Download>) -> bool {
        self.joinable.get(&download.request.key).is_some_and(|found| Arc::ptr_eq(found, download))
    }
}

impl Downloads {
    /// Joins the running download for the same key, or registers a new one. `about` names the
    /// entries to revalidate.
    ///
    /// A reload never joins, and a stuck or outdated download is not joined. The new download then
    /// replaces the old one.
    pub fn join(
        &self,
        places: &Places,
        request: &HeaderMap,
        about: Vec<EntryIdentity>,
        now: SystemTime,
        is_reload: bool,
    ) -> JoinOutcome {
        let key = JoinKey::of(places, request, about);
        let mut running = self.lock();
        if let Some(found) = running.joinable.get(&key) {
            if !is_reload && found.outdated.get().is_none() && !found.is_stuck(self.join_within) {
                return JoinOutcome::Running(Arc::clone(found));
            }
            found.is_replaced.store(true, Ordering::Relaxed);
        }
        let request = DownloadRequest::new(key.clone(), places, request, now);
        let download = running.add(|id| Download::new(id, request));
        running.joinable.insert(key, Arc::clone(&download));
        JoinOutcome::New(download)
    }

    /// A download that other clients cannot join.
    #[must_use]
    pub fn unshared(&self, places: &Places, request: &HeaderMap, now: SystemTime) -> Arc<Download> {
        let key = JoinKey::of(places, request, Vec::new());
        let request = DownloadRequest::new(key, places, request, now);
        self.lock().add(|id| Download::new(id, request))
    }

    /// All running downloads, the oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<Download>> {
        let mut all: Vec<_> = self.lock().all.values().map(Arc::clone).collect();
        all.sort_by_key(|download| download.request.started);
        all
    }

    /// Registers a successor of `former`. Clients can then no longer join `former`.
    pub(super) fn register_successor(&self, former: &Arc<Download>) -> Arc<Download> {
        let mut running = self.lock();
        let may_be_joined =
            !running.joinable.contains_key(&former.request.key) || running.is_joinable(former);
        running.all.remove(&former.id);
        let next = running.add(|id| Download::after(former, id));
        if may_be_joined {
            running.joinable.insert(former.request.key.clone(), Arc::clone(&next));
        }
        next
    }

    /// Removes a download from the list, so that clients can no longer join it.
    pub(super) fn leave(&self, download: &Arc<Download>) {
        let mut running = self.lock();
        running.all.remove(&download.id);
        if running.is_joinable(download) {
            running.joinable.remove(&download.request.key);
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, DownloadTable> {
        // A panic cannot leave the downloads inconsistent.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
