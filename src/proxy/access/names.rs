//! The addresses of the names in `[allowed-connect-hosts]`, resolved in advance, so that an unknown
//! client causes no wait for a name server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{info, warn};
use wwwoffle_config::ResolvedNames;

use crate::proxy::context::ProxyContext;

/// Time after which the names are resolved again.
const GOOD_FOR: Duration = Duration::from_secs(60);

/// Interval between checks for a change of the configuration or of the mode.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Maximum number of resolved names; further names match no client.
const MAX_NAMES: usize = 256;

/// Resolves the names in `[allowed-connect-hosts]` repeatedly until the daemon stops. Offline no
/// queries are sent, and the last addresses stay in use.
pub async fn resolve_allowed_hosts(context: Arc<ProxyContext>) {
    let mut tick = tokio::time::interval(LOOK_EVERY);
    let mut last: Option<(Instant, Vec<String>)> = None;
    loop {
        tokio::select! {
            () = context.base.tasks.stopping() => return,
            _ = tick.tick() => {}
        }
        let config = context.base.config();
        let wanted: Vec<String> =
            config.allowed_hosts.hosts.names().take(MAX_NAMES).map(str::to_owned).collect();
        let is_good =
            |(at, names): &(Instant, Vec<String>)| at.elapsed() < GOOD_FOR && *names == wanted;
        if last.as_ref().is_some_and(is_good) || (wanted.is_empty() && last.is_none()) {
            continue;
        }
        if !wanted.is_empty() && !context.base.mode.now().may_dial() {
            continue;
        }
        tokio::select! {
            () = context.base.tasks.stopping() => return,
            () = look_up(&context, &wanted) => {}
        }
        last = Some((Instant::now(), wanted));
    }
}

async fn look_up(context: &ProxyContext, wanted: &[String]) {
    let before = context.clients.access.names.load_full();
    let mut names = ResolvedNames::new();
    for name in wanted {
        let found = match context.net.upstream.dialer().addresses_of(name).await {
            Ok(found) => found,
            Err(failure) => {
                let known = before.get(name).cloned().unwrap_or_default();
                if known.is_empty() {
                    warn!(
                        name,
                        error = failure.chain(),
                        "a host in allowed-connect-hosts has no address"
                    );
                }
                known
            }
        };
        if before.get(name) != Some(&found) {
            info!(name, addresses = ?found, "a host in allowed-connect-hosts was resolved");
        }
        names.insert(name.clone(), found);
    }
    context.clients.access.names.store(Arc::new(names));
}
