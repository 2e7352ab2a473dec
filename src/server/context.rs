//! The context of client connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::OwnedSemaphorePermit;

use super::places::RequestSlots;
use super::repeat::ReplayCache;
use crate::base::context::BaseContext;
use crate::proxy::access::crowd::CountedConnection;
use crate::proxy::context::ProxyContext;
use crate::site::context::SiteContext;
use crate::storage::context::StorageContext;

/// The state and services that client connections need.
#[derive(Debug)]
pub struct ServerContext {
    /// The context that all layers share.
    pub base: Arc<BaseContext>,
    /// The spool, to check repeated responses.
    pub storage: Arc<StorageContext>,
    /// The context of proxied requests.
    pub proxy: Arc<ProxyContext>,
    /// The context of our own pages.
    pub site: Arc<SiteContext>,
    /// The limits for the streams of all connections.
    pub places: RequestSlots,
    /// Complete responses for repeated requests.
    pub replays: ReplayCache,
}

impl ServerContext {
    /// Counts a client. The guard holds the client's `place` until it is dropped.
    #[must_use]
    pub fn count_connection(
        &self,
        place: (OwnedSemaphorePermit, CountedConnection),
    ) -> ConnectedClient {
        let count = Arc::clone(&self.site.connections);
        count.fetch_add(1, Ordering::Relaxed);
        ConnectedClient { count, _place: place }
    }
}

/// One connected client.
#[derive(Debug)]
pub struct ConnectedClient {
    count: Arc<AtomicUsize>,
    _place: (OwnedSemaphorePermit, CountedConnection),
}

impl Drop for ConnectedClient {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}
