//! The queue in memory: the summaries of all requests, and counts of them.

use std::collections::HashMap;
use std::fmt;

use wwwoffle_url::Key;

use super::outgoing::OutgoingSummary;
use super::share::NameCounts;
use super::{QueueChange, QueueObserver};
use crate::entry::place::share_name;

/// The queue in memory.
#[derive(Default)]
pub(super) struct QueueIndex {
    pub(super) requests: HashMap<Key, OutgoingSummary>,
    /// The number of requests that belong to a page, by the URL of the page.
    pub(super) parts: NameCounts,
    /// The number of requests of each owner, by its [`share_name`].
    pub(super) shares: NameCounts,
    pub(super) observer: Option<QueueObserver>,
}

impl QueueIndex {
    pub(super) fn insert(&mut self, key: Key, request: OutgoingSummary) {
        if let Some(observer) = &self.observer {
            observer(QueueChange::Is(&request));
        }
        self.parts.add(request.page.clone());
        self.shares.add(request.place.owner().map(share_name));
        if let Some(former) = self.requests.insert(key, request) {
            self.uncount(&former);
        }
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<OutgoingSummary> {
        let request = self.requests.remove(key)?;
        self.uncount(&request);
        if let Some(observer) = &self.observer {
            observer(QueueChange::Gone(key));
        }
        Some(request)
    }

    fn uncount(&mut self, request: &OutgoingSummary) {
        self.parts.remove(request.page.as_deref());
        self.shares.remove(request.place.owner().map(share_name).as_deref());
    }
}

impl fmt::Debug for QueueIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueIndex").field("requests", &self.requests).finish_non_exhaustive()
    }
}
