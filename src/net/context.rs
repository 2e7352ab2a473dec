//! What connections out need.

use std::sync::Arc;

use super::link::Link;
use super::upstream::Upstream;
use crate::base::context::BaseContext;

/// What connections out need.
#[derive(Debug)]
pub struct NetContext {
    /// What all rooms share.
    pub base: Arc<BaseContext>,
    /// Whether the line works.
    pub link: Link,
    /// Sends requests to origins and parent proxies.
    pub upstream: Arc<Upstream>,
}
