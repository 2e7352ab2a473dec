//! The state of the URLs that a page names.

use std::sync::Arc;

use wwwoffle_config::Config;
use wwwoffle_spool::Spool;
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::base::owner::{Owner, Places};
use crate::proxy::context::ProxyContext;
use crate::proxy::rules::is_blocked;
use wwwoffle_html::rewrite::{PageKnowledge, UrlStatus};

/// The state of URLs for one person, according to the configuration, the spool and the queue.
pub(super) struct SpoolKnown {
    config: Arc<Config>,
    spool: Spool,
    local: LocalHost,
    owner: Owner,
}

impl SpoolKnown {
    pub(super) fn new(context: &ProxyContext, config: &Arc<Config>, owner: &Owner) -> Self {
        let (config, spool) = (Arc::clone(config), context.storage.store.spool().clone());
        Self { config, spool, local: context.base.local.clone(), owner: owner.clone() }
    }
}

impl PageKnowledge for SpoolKnown {
    fn is_blocked(&self, url: &str) -> bool {
        is_blocked(&self.config, url)
    }

    fn status_of(&self, url: &str) -> UrlStatus {
        let Ok(url) = CanonicalUrl::parse(url, &self.local) else { return UrlStatus::Absent };
        // A URL that can be read offline without a stored copy counts as stored.
        if url.is_local() || self.config.local_net.hosts.contains(url.host()) {
            return UrlStatus::Kept;
        }
        let places = Places::of_url(&url, &self.owner);
        // Marking a link must not cause an error: an unreadable entry counts as missing.
        let is_there = |place| self.spool.is_there(place).unwrap_or(false);
        if is_there(&places.own) || is_there(&places.public) {
            UrlStatus::Kept
        } else if self.spool.queue().summary(&places.queued.key()).is_some() {
            UrlStatus::Queued
        } else {
            UrlStatus::Absent
        }
    }
}
