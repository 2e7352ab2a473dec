//! The context of client connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::OwnedSemaphorePermit;

use super::repeat::ReplayCache;
use super::slots::RequestSlots;
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
    pub slots: RequestSlots,
    /// Complete responses for repeated requests.
    pub replays: ReplayCache,
}

impl ServerContext {
    /// Counts a client. The guard holds the client's `slot` until it is dropped.
    #[must_use]
    pub fn count_connection(&self, slot: (OwnedSemaphorePermit, CountedConnection)) -> ClientSlot {
        let count = Arc::clone(&self.site.connections);
        count.fetch_add(1, Ordering::Relaxed);
        ClientSlot { count, _slot: slot }
    }
}

/// One connected client.
#[derive(Debug)]
pub struct ClientSlot {
    count: Arc<AtomicUsize>,
    _slot: (OwnedSemaphorePermit, CountedConnection),
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}
