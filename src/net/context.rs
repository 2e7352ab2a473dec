//! The context of outgoing connections.

use std::sync::Arc;

use super::link::Link;
use super::upstream::Upstream;
use crate::base::context::BaseContext;

/// The context and services that outgoing connections need.
#[derive(Debug)]
pub struct NetContext {
    /// The context that all layers share.
    pub base: Arc<BaseContext>,
    /// The state of the link.
    pub link: Link,
    /// The sender of requests to origins and parent proxies.
    pub upstream: Arc<Upstream>,
}
