//! The context of proxied requests.

use std::fmt;
use std::sync::Arc;

use wwwoffle_spool::Outgoing;
use wwwoffle_url::Key;

use super::access::Access;
use super::download::Downloads;
use super::fixture::FixtureSession;
use super::gateway::PendingForm;
use super::last::LastAnswers;
use super::saver::{CountedFiles, RecompressionRoom};
use super::tickets::Tickets;
use crate::base::context::BaseContext;
use crate::base::log::access::AccessLog;
use crate::net::context::NetContext;
use crate::page::context::PageContext;
use crate::storage::context::StorageContext;
#[cfg(feature = "tier")]
use crate::tier::Tier;
use crate::tls::ServerCertificates;

/// The context of proxied requests.
#[derive(Debug)]
pub struct ProxyContext {
    /// The context that all layers share.
    pub base: Arc<BaseContext>,
    /// Connections to origins.
    pub net: Arc<NetContext>,
    /// The spool and its index.
    pub storage: Arc<StorageContext>,
    /// Message pages and form tokens.
    pub pages: Arc<PageContext>,
    /// Access control, and our side of TLS with clients.
    pub clients: ClientSecurity,
    /// The downloads and recompressions under way, and the records of requests.
    pub traffic: Traffic,
    /// Forms that a person has to confirm.
    pub confirmations: Confirmations,
    /// The worker of the queue.
    pub worker: Arc<dyn QueueWorker>,
}

/// Access control, and our side of TLS with clients.
#[derive(Debug)]
pub struct ClientSecurity {
    /// Access control by address and password.
    pub access: Access,
    /// The certificates that we present.
    pub tls: ServerCertificates,
}

/// The downloads and recompressions under way, and the actions taken for the last requests.
#[derive(Debug, Default)]
pub struct Traffic {
    /// The downloads under way.
    pub downloads: Downloads,
    /// The actions taken for the last requests.
    pub last: LastAnswers,
    /// The room for pictures that are being recompressed.
    pub recompressions: RecompressionRoom,
    /// The files that the data saver has left out and counted.
    pub left_out: CountedFiles,
    /// The access log, if requests are logged.
    pub access_log: Option<AccessLog>,
    /// The fixture that is recorded or replayed, for `wwwoffle run`. The spool is then not used.
    pub fixture: Option<Arc<FixtureSession>>,
    /// The archive tier, if this node belongs to one.
    #[cfg(feature = "tier")]
    pub tier: Option<Arc<Tier>>,
}

/// Forms that a person has to confirm.
#[derive(Debug, Default)]
pub struct Confirmations {
    /// Forms sent through the proxy, which are queued after their confirmation.
    pub tickets: Tickets<Outgoing>,
    /// Forms sent in the gateway.
    pub(crate) posted: Tickets<PendingForm>,
}

/// The worker of the queue. A higher layer implements it.
pub trait QueueWorker: fmt::Debug + Send + Sync {
    /// Wakes the worker, because the queue has changed.
    fn wake(&self);

    /// Whether the request with this key is being fetched.
    fn is_active(&self, key: &Key) -> bool;
}
