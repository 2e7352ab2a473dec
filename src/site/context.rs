//! What our own web site needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

use crate::base::context::BaseContext;
use crate::fetch::context::FetchContext;
use crate::net::context::NetContext;
use crate::page::context::PageContext;
use crate::proxy::context::ProxyContext;
use crate::storage::context::StorageContext;

/// What our own web site needs: the rooms that it shows and controls, and its own limits.
#[derive(Debug)]
pub struct SiteContext {
    /// What all rooms share.
    pub base: Arc<BaseContext>,
    /// The way out, and whether the line works.
    pub net: Arc<NetContext>,
    /// The spool and its index.
    pub storage: Arc<StorageContext>,
    /// Templates and form tokens.
    pub pages: Arc<PageContext>,
    /// Downloads, and who may use the proxy.
    pub proxy: Arc<ProxyContext>,
    /// The queue's fetching and schedules.
    pub fetch: Arc<FetchContext>,
    /// How much may be done at once.
    pub limits: PageLimits,
    /// How many clients are connected; the server counts them.
    pub connections: Arc<AtomicUsize>,
}

impl SiteContext {
    /// How many clients are connected.
    #[must_use]
    pub fn connected(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// How many expensive pages may be made at once.
#[derive(Debug)]
pub struct PageLimits {
    /// Held by each export from a list.
    pub exports: Arc<Semaphore>,
    /// Held by each page of a source, which is in memory as a whole.
    pub sources: Arc<Semaphore>,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self {
            exports: Arc::new(Semaphore::new(super::export::AT_ONCE)),
            sources: Arc::new(Semaphore::new(super::source::AT_ONCE)),
        }
    }
}
