//! What answering a proxied request needs.

use std::fmt;
use std::sync::Arc;

use wwwoffle_url::Key;

use super::access::Access;
use super::download::Downloads;
use super::gateway::Posted;
use super::last::LastAnswers;
use super::tickets::Tickets;
use crate::base::context::BaseContext;
use crate::net::context::NetContext;
use crate::page::context::PageContext;
use crate::storage::context::StorageContext;
use crate::tls::Faces;

/// What answering a proxied request needs.
#[derive(Debug)]
pub struct ProxyContext {
    /// What all rooms share.
    pub base: Arc<BaseContext>,
    /// The way out.
    pub net: Arc<NetContext>,
    /// The spool and its index.
    pub storage: Arc<StorageContext>,
    /// Message pages and form tokens.
    pub pages: Arc<PageContext>,
    /// Who may use the proxy.
    pub clients: ClientSecurity,
    /// Responses under way, and the last ones.
    pub traffic: Traffic,
    /// Forms that a person has to confirm.
    pub confirmations: Confirmations,
    /// Works the queue off.
    pub worker: Arc<dyn QueueWorker>,
}

/// Who may use the proxy, and our side of TLS with them.
#[derive(Debug)]
pub struct ClientSecurity {
    /// Checks addresses and passwords.
    pub access: Access,
    /// The certificates that we show.
    pub faces: Faces,
}

/// Responses under way, and the last ones.
#[derive(Debug, Default)]
pub struct Traffic {
    /// The downloads under way.
    pub downloads: Downloads,
    /// What was done with the last requests.
    pub last: LastAnswers,
}

/// Forms that a person has to confirm.
#[derive(Debug)]
pub struct Confirmations {
    /// Forms to sites.
    pub tickets: Tickets,
    /// Forms sent in the gateway.
    pub(crate) posted: Tickets<Posted>,
}

impl Default for Confirmations {
    fn default() -> Self {
        Self { tickets: Tickets::new(), posted: Tickets::new() }
    }
}

/// Works the queue off, in a room above.
pub trait QueueWorker: fmt::Debug + Send + Sync {
    /// Makes the worker look at the queue now, because something was added or changed.
    fn nudge(&self);

    /// Whether the request of this key is being fetched.
    fn is_active(&self, key: &Key) -> bool;
}
