//! A daemon for the unit tests of all layers.

use std::sync::Arc;

use tempfile::TempDir;
use wwwoffle_config::Config;
use wwwoffle_spool::{Options, Spool, UserPages};

use super::{Daemon, DaemonParts};
use crate::base::clock;
use crate::base::live::Live;
use crate::base::log::access::AccessLog;
use crate::base::mode::Mode;
use crate::base::tier_secrets::TierSecrets;
use crate::fetch::context::FetchContext;
use crate::proxy::context::ProxyContext;
use crate::site::context::SiteContext;
use crate::storage::store::Store;
use crate::tls::ca::Authority;

/// A daemon whose contexts exist, but whose tasks do not run.
pub(crate) struct TestDaemon(Arc<Daemon>);

impl TestDaemon {
    /// A daemon on a new spool in `root`, without a configuration file.
    pub(crate) fn new(root: &TempDir, config: Config, mode: Mode) -> Self {
        Self::build(root, config, mode, None)
    }

    /// The same with an access log.
    pub(crate) fn logging(root: &TempDir, config: Config, mode: Mode, log: AccessLog) -> Self {
        Self::build(root, config, mode, Some(log))
    }

    fn build(root: &TempDir, config: Config, mode: Mode, access_log: Option<AccessLog>) -> Self {
        let spool = Spool::open(root.path(), &Options::default()).unwrap().0;
        let parts = DaemonParts {
            live: Live::without_file(config),
            store: Store::new(spool),
            authority: Authority::make("m", clock::now()).unwrap(),
            mode: mode.into(),
            listening: vec!["127.0.0.1:8080".parse().unwrap()],
            templates: UserPages::default(),
            access_log,
            fixture: None,
            tier_secrets: TierSecrets::default(),
        };
        Self(Daemon::build(parts).unwrap())
    }

    pub(crate) fn proxy(&self) -> Arc<ProxyContext> {
        Arc::clone(&self.0.proxy)
    }

    pub(crate) fn fetch(&self) -> Arc<FetchContext> {
        Arc::clone(&self.0.fetch)
    }

    pub(crate) fn site(&self) -> Arc<SiteContext> {
        Arc::clone(&self.0.server.site)
    }
}
