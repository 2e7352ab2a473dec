//! The context of our own web site.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

use crate::base::context::BaseContext;
use crate::fetch::context::FetchContext;
use crate::net::context::NetContext;
use crate::page::context::PageContext;
use crate::proxy::context::ProxyContext;
use crate::site::api::events::{MAX_STREAMS, SharedCounts};
use crate::site::fetches::progress::RunGauges;
use crate::storage::context::StorageContext;

/// The context of our own web site: the contexts of the layers that the site shows and controls,
/// and the limits of the site.
#[derive(Debug)]
pub struct SiteContext {
    /// The base context, shared by all layers.
    pub base: Arc<BaseContext>,
    /// Outgoing connections, and the state of the link.
    pub net: Arc<NetContext>,
    /// The spool and its index.
    pub storage: Arc<StorageContext>,
    /// Templates and form tokens.
    pub pages: Arc<PageContext>,
    /// Downloads, and the access rules of the proxy.
    pub proxy: Arc<ProxyContext>,
    /// Fetching of the queue, and schedules.
    pub fetch: Arc<FetchContext>,
    /// Limits on concurrent work.
    pub limits: PageLimits,
    /// Number of connected clients; the server maintains it.
    pub connections: Arc<AtomicUsize>,
}

impl SiteContext {
    /// Returns the number of connected clients.
    #[must_use]
    pub fn connected(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// Limits on how many expensive pages are served at the same time.
#[derive(Debug)]
pub struct PageLimits {
    /// The permits for exports of archives.
    pub exports: Arc<Semaphore>,
    /// The permits for source pages, each of which is completely in memory.
    pub sources: Arc<Semaphore>,
    /// The permits for look-ups in web archives.
    pub captures: Arc<Semaphore>,
    /// The permits for fetches of the sub-resources of captures.
    pub capture_parts: Arc<Semaphore>,
    /// The permits for event streams.
    pub streams: Arc<Semaphore>,
    /// The numbers of the queue, shared by the event streams.
    pub(in crate::site) counts: SharedCounts,
    /// The speeds of the fetches that pages show.
    pub(in crate::site) runs: RunGauges,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self {
            exports: Arc::new(Semaphore::new(crate::site::lists::export::AT_ONCE)),
            sources: Arc::new(Semaphore::new(crate::site::info::source::AT_ONCE)),
            captures: Arc::new(Semaphore::new(crate::site::captures::AT_ONCE)),
            capture_parts: Arc::new(Semaphore::new(crate::site::captures::AT_ONCE)),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            counts: SharedCounts::default(),
            runs: RunGauges::default(),
        }
    }
}
