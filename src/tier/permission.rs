//! Whether the mode lets this node use the engines of the tier.
//!
//! Online they may be used. In the other modes they may be used only if `[local-net]` lists both:
//! autodial connects for a reason only, and a connection that is kept would keep the line up.

use std::sync::Arc;

use wwwoffle_config::Config;

use crate::base::mode::Mode;
use crate::net::context::NetContext;
use crate::net::link::LinkClass;

/// The permission to use the engines.
#[derive(Clone)]
pub(super) struct EnginePermission {
    net: Arc<NetContext>,
    /// The hosts of both engines.
    hosts: Arc<[String; 2]>,
}

impl EnginePermission {
    pub(super) fn new(net: Arc<NetContext>, hosts: [String; 2]) -> Self {
        Self { net, hosts: Arc::new(hosts) }
    }

    fn is_near(&self, config: &Config) -> bool {
        self.hosts.iter().all(|host| config.local_net.hosts.contains(host))
    }

    /// Whether the engines may be used now.
    pub(super) fn is_granted(&self) -> bool {
        self.net.base.mode.now() == Mode::Online || self.is_near(&self.net.base.config())
    }

    /// Whether what this node has waits: it would go over a metered connection.
    pub(super) fn is_metered(&self) -> bool {
        let config = self.net.base.config();
        !self.is_near(&config)
            && (config.fetch_options.metered || self.net.link.class(&config) == LinkClass::Metered)
    }

    /// Waits for a change of the mode. Dropping the future has no effect.
    pub(super) async fn changed(&self) {
        let mut mode = self.net.base.mode.watch();
        // Cannot fail: `net` has the sender.
        let _changed = mode.changed().await;
    }

    /// Waits until the engines may be used. Dropping the future has no effect.
    pub(super) async fn wait_until_granted(&self) {
        self.wait(true).await;
    }

    /// Waits until the engines may not be used. Dropping the future has no effect.
    pub(super) async fn wait_until_withdrawn(&self) {
        self.wait(false).await;
    }

    async fn wait(&self, wanted: bool) {
        let mut mode = self.net.base.mode.watch();
        while self.is_granted() != wanted {
            // Cannot fail: `net` has the sender.
            let _changed = mode.changed().await;
        }
    }
}
