//! The addresses of the names in `[allowed-connect-hosts]`, looked up before anyone comes: a client
//! that knocks makes nobody wait for a name server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{info, warn};
use wwwoffle_config::ResolvedNames;

use crate::proxy::context::ProxyContext;

/// How long what was found is good.
const GOOD_FOR: Duration = Duration::from_secs(60);

/// How soon a change of the configuration or of the mode is seen.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// How many names are looked up; those after them mean nobody.
const MAX_NAMES: usize = 256;

/// Looks the names up, again and again, until the daemon stops. Offline nothing goes out, and what
/// was found last stays.
pub async fn keep(context: Arc<ProxyContext>) {
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
                        "a client that may use the proxy is unknown"
                    );
                }
                known
            }
        };
        if before.get(name) != Some(&found) {
            info!(name, addresses = ?found, "a client that may use the proxy has these addresses");
        }
        names.insert(name.clone(), found);
    }
    context.clients.access.names.store(Arc::new(names));
}
