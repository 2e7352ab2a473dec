//! The context of fetching the queue.

use std::sync::Arc;

use tokio::sync::{Mutex, Notify};

use super::Fetcher;
use crate::base::context::BaseContext;
use crate::net::context::NetContext;
use crate::proxy::context::ProxyContext;
use crate::storage::context::StorageContext;

/// The parts that fetching the queue needs.
#[derive(Debug)]
pub struct FetchContext {
    /// The context that all layers share.
    pub base: Arc<BaseContext>,
    /// Outgoing connections.
    pub net: Arc<NetContext>,
    /// The spool with the queue.
    pub storage: Arc<StorageContext>,
    /// The context for sending requests and storing responses.
    pub proxy: Arc<ProxyContext>,
    /// The state of fetching.
    pub fetcher: Arc<Fetcher>,
    /// Makes the task that queues monitored pages check the schedules now.
    pub monitor: Notify,
    /// Held while the changes of a monitored page are reported, so that each is reported once.
    pub reporting: Mutex<()>,
}
