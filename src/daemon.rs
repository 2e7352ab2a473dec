//! Builds the contexts of all layers, connects them, starts and stops the daemon. No other layer
//! imports this one.

pub mod activation;
pub mod identity;
mod initial_mode;
mod ports;
pub mod run;
mod tending;
#[cfg(test)]
pub(crate) mod testing;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::{Mutex, Notify};
use tracing::{info, warn};
use wwwoffle_config::OptionChange;
use wwwoffle_config::schema::Effect;
use wwwoffle_index::Index;
use wwwoffle_spool::UserPages;

use crate::base::context::BaseContext;
use crate::base::error_chain::error_chain;
use crate::base::hooks::{Hook, Hooks};
use crate::base::live::{AppliedOptions, Live};
use crate::base::log::access::AccessLog;
use crate::base::mode::{Mode, ModeSetting, ModeSwitch};
use crate::base::statistics::Statistics;
use crate::base::statistics::usage::QueueQuota;
use crate::base::tasks::Tasks;
use crate::base::tier_secrets::TierSecrets;
use crate::base::{clock, log, run_directory};
use crate::fetch::Fetcher;
use crate::fetch::context::FetchContext;
use crate::net::context::NetContext;
use crate::net::link::Link;
use crate::net::upstream::{Dialer, Tls, Upstream, UpstreamLimits};
use crate::page::context::PageContext;
use crate::page::token::Tokens;
use crate::page::{LocalOrigin, Templates};
use crate::proxy::access::Access;
use crate::proxy::context::{ClientSecurity, Confirmations, ProxyContext, QueueWorker, Traffic};
use crate::proxy::fixture::FixtureSession;
use crate::server::context::ServerContext;
use crate::server::repeat::ReplayCache;
use crate::server::slots::RequestSlots;
use crate::site::context::{PageLimits, SiteContext};
use crate::storage::context::StorageContext;
use crate::storage::lists::describe::Pages;
use crate::storage::lists::document::DocumentConverter;
use crate::storage::lists::sessions;
use crate::storage::store::Store;
#[cfg(feature = "tier")]
use crate::tier::Tier;
use crate::tls::ServerCertificates;
use crate::tls::ca::Authority;

/// The port of our own addresses if the daemon listens on no address.
const DEFAULT_PORT: u16 = 8080;

/// The memory limit of [`ReplayCache`] is the size of the hot set (entries in memory) divided by
/// this number.
const REPEATED: usize = 4;

/// The daemon: the contexts of all layers.
#[derive(Debug)]
struct Daemon {
    /// The context that all layers share.
    base: Arc<BaseContext>,
    /// The context of outgoing connections.
    net: Arc<NetContext>,
    /// The context of the spool and its index.
    storage: Arc<StorageContext>,
    /// The context of proxied requests.
    proxy: Arc<ProxyContext>,
    /// The context of fetches of the queue.
    fetch: Arc<FetchContext>,
    /// The context of client connections, with that of our own web site.
    server: Arc<ServerContext>,
}

/// The values from which a daemon is built.
#[derive(Debug)]
struct DaemonParts {
    /// The configuration and its file.
    live: Live,
    store: Store,
    authority: Authority,
    /// The chosen mode to start in.
    mode: ModeSetting,
    /// The addresses to listen on; the first one is used in links.
    listening: Vec<SocketAddr>,
    /// The user's own templates and texts.
    templates: UserPages,
    access_log: Option<AccessLog>,
    /// The fixture that is recorded or replayed.
    fixture: Option<Arc<FixtureSession>>,
    /// The credentials for the archive tier in the environment.
    tier_secrets: TierSecrets,
}

/// The built-in templates with the user's own ones in their place, and the faults of the user's
/// templates.
fn own_templates(own: UserPages) -> (Templates, Vec<String>) {
    let (templates, faults) = Templates::new(own.pages);
    for fault in &own.not_read {
        warn!(%fault, "the page of the program serves instead");
    }
    for fault in &faults {
        warn!(error = error_chain(fault), "the page of the program serves instead");
    }
    let not_read = own.not_read.iter().map(ToString::to_string);
    (templates, not_read.chain(faults.iter().map(ToString::to_string)).collect())
}

impl Daemon {
    /// Builds the contexts of all layers. Starts no task except the one that closes idle
    /// connections.
    ///
    /// # Errors
    ///
    /// If the index cannot be opened, TLS cannot be set up, one of our names is not a host name, or
    /// the system cannot supply random bytes.
    fn build(parts: DaemonParts) -> anyhow::Result<Arc<Self>> {
        let DaemonParts { live, store, authority, mode, .. } = parts;
        let DaemonParts { listening, templates, access_log, fixture, tier_secrets, .. } = parts;
        store.spool().queue().set_share(live.config().startup.queue_share.get());
        let base = Arc::new(build_base_context(live, mode, listening, &store)?);
        #[cfg(not(feature = "tier"))]
        refuse_tier(&base, tier_secrets)?;
        let statistics = Arc::<Statistics>::default();
        let net = Arc::new(net(&base, &statistics)?);
        let index_pages = Arc::new(Pages {
            local: base.local.clone(),
            documents: DocumentConverter::new(Arc::clone(&base.live.config), store.spool().root()),
        });
        let index = if store.spool().is_read_only() {
            let directory = run_directory::make(store.spool().root())?;
            Index::open_in(store.spool(), &directory, Some(index_pages))?
        } else {
            Index::open(store.spool(), Some(index_pages))?
        };
        let (usage, of_base) = (Arc::clone(&statistics), Arc::clone(&base));
        store.spool().queue().set_meter(Arc::new(QueueQuota { usage, base: of_base }));
        let storage = Arc::new(StorageContext::new(Arc::clone(&base), store, index, statistics));
        let pages = Arc::new(pages(&base, templates)?);
        let tls = ServerCertificates::new(authority)?;
        let fetcher = Arc::new(Fetcher::default());
        let worker: Arc<dyn QueueWorker> = Arc::<Fetcher>::clone(&fetcher);
        let proxy = Arc::new(ProxyContext {
            base: Arc::clone(&base),
            net: Arc::clone(&net),
            storage: Arc::clone(&storage),
            pages: Arc::clone(&pages),
            clients: ClientSecurity { access: Access::new()?, tls },
            traffic: Traffic {
                access_log,
                #[cfg(feature = "tier")]
                tier: if fixture.is_none() {
                    Tier::new(&net, &storage, tier_secrets)?
                } else {
                    None
                },
                fixture,
                ..Traffic::default()
            },
            confirmations: Confirmations::default(),
            worker,
        });
        let fetch = Arc::new(FetchContext {
            base: Arc::clone(&base),
            net: Arc::clone(&net),
            storage: Arc::clone(&storage),
            proxy: Arc::clone(&proxy),
            fetcher,
            monitor: Notify::new(),
            reporting: Mutex::new(()),
        });
        let site = Arc::new(SiteContext {
            base: Arc::clone(&base),
            net: Arc::clone(&net),
            storage: Arc::clone(&storage),
            pages,
            proxy: Arc::clone(&proxy),
            fetch: Arc::clone(&fetch),
            limits: PageLimits::default(),
            connections: Arc::default(),
        });
        let server = Arc::new(ServerContext {
            base: Arc::clone(&base),
            storage: Arc::clone(&storage),
            proxy: Arc::clone(&proxy),
            site,
            slots: RequestSlots::new(base.config().startup.max_connections.get()),
            replays: ReplayCache::new(storage.store.hot_capacity() / REPEATED),
        });
        let daemon = Arc::new(Self { base, net, storage, proxy, fetch, server });
        daemon.observe();
        Ok(daemon)
    }

    /// Makes changes of mode and configuration take effect in all layers.
    fn observe(self: &Arc<Self>) {
        let daemon = Arc::downgrade(self);
        self.base.mode.observer.set(move |was| {
            if let Some(daemon) = daemon.upgrade() {
                daemon.mode_was_set(*was);
            }
        });
        let daemon = Arc::downgrade(self);
        self.base.live.observer.set(move |applied| {
            if let Some(daemon) = daemon.upgrade() {
                daemon.config_was_applied(applied);
            }
        });
        let fetcher = Arc::downgrade(&self.fetch.fetcher);
        self.net.link.observer.set(move |_ways_out| {
            if let Some(fetcher) = fetcher.upgrade() {
                // Another budget may apply from now on.
                fetcher.wake();
            }
        });
    }

    /// Carries out the effects of a change of the mode.
    fn mode_was_set(&self, was: Mode) {
        let mode = self.base.mode.now();
        if !mode.may_dial() {
            self.net.upstream.close_idle();
        }
        if mode != was {
            // The waiting requests are listed here, before the queue is fetched.
            let asked =
                mode.may_dial().then(|| sessions::waiting_requests(self.storage.store.spool()));
            self.storage.lock_online().changed(asked);
            self.base.run_hook(Hook::Mode(mode));
        }
    }

    /// Carries out the effects of a new configuration.
    fn config_was_applied(&self, applied: &AppliedOptions) {
        let is_new = |section: &str, key: &str| {
            applied.options.iter().any(|change| (change.section, change.key) == (section, key))
        };
        let config = self.base.config();
        let options = &config.options;
        self.storage.store.spool().queue().set_share(config.startup.queue_share.get());
        if is_new("options", "log-level") {
            log::set_level(options.log_level);
        }
        let (dns_timeout, connect_timeout) = (options.dns_timeout, options.connect_timeout);
        self.net.upstream.set_limits(UpstreamLimits::of(options), dns_timeout, connect_timeout);
        self.net.link.wake();
        // The limit of simultaneous fetches may have risen.
        self.fetch.fetcher.wake();
        if !applied.options.is_empty() {
            info!(options = %OptionNames(&applied.options), "the configuration has changed");
            self.base.run_hook(Hook::Changed);
        }
        if applied.options.iter().any(|change| change.effect == Effect::Restart) {
            let options = OptionNames(&applied.restart);
            warn!(%options, "a restart is needed for some options");
        }
    }
}

/// Refuses a configuration with an archive tier, for which this program was not built.
#[cfg(not(feature = "tier"))]
fn refuse_tier(base: &BaseContext, _secrets: TierSecrets) -> anyhow::Result<()> {
    let is_used = base.config().tier.objects.parts().is_some();
    anyhow::ensure!(!is_used, "[tier] is configured, but this program was built without it");
    Ok(())
}

fn build_base_context(
    live: Live,
    mode: ModeSetting,
    listening: Vec<SocketAddr>,
    store: &Store,
) -> anyhow::Result<BaseContext> {
    let port = listening.first().map_or(DEFAULT_PORT, SocketAddr::port);
    let local = live.config().local_host.names.at(port, Some(port)).listening_on(&listening);
    let mut name = [0; 4];
    getrandom::fill(&mut name)?;
    Ok(BaseContext {
        live,
        mode: ModeSwitch::new(mode),
        tasks: Tasks::new(),
        hooks: Hooks::new(store.spool().root().to_owned()),
        local,
        pseudonym: format!("wwwoffle-{}", hex::encode(name)),
        listening,
        since: clock::now(),
    })
}

fn net(base: &Arc<BaseContext>, statistics: &Arc<Statistics>) -> anyhow::Result<NetContext> {
    let config = base.config();
    let options = &config.options;
    let (link, reports) = Link::new();
    let startup = &config.startup;
    let intercepting = [&startup.redirect_listen, &startup.tproxy_listen];
    let intercepting: Vec<_> =
        intercepting.iter().flat_map(|one| one.as_slice()).copied().collect();
    let may_loop = !intercepting.is_empty();
    let dialer = Dialer::new(base.mode.clone(), options.dns_timeout, options.connect_timeout)
        .following(base.live.in_force())
        .with_reports(reports)
        .with_inward_guard([base.listening.clone(), intercepting].concat())
        .counting(Arc::clone(statistics));
    let dialer = if may_loop { dialer.remembering_connections() } else { dialer };
    let tls = Tls::new(config.https.extra_ca.certificates(), options.connect_timeout)?
        .following(base.live.in_force());
    let upstream = Upstream::new(dialer, tls, base.tasks.clone(), UpstreamLimits::of(options));
    Ok(NetContext { base: Arc::clone(base), link, upstream })
}

fn pages(base: &Arc<BaseContext>, templates: UserPages) -> anyhow::Result<PageContext> {
    let port = base.listening.first().map_or(DEFAULT_PORT, SocketAddr::port);
    let (templates, template_faults) = own_templates(templates);
    Ok(PageContext {
        base: Arc::clone(base),
        origin: LocalOrigin::parse("http", &format!("{}:{port}", base.local.name()))?,
        templates: Arc::new(templates),
        template_faults,
        tokens: Tokens::new()?,
    })
}

/// The names of changed options, for the log.
struct OptionNames<'a>(&'a [OptionChange]);

impl fmt::Display for OptionNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, OptionChange { section, key, .. }) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{section}.{key}")?;
        }
        Ok(())
    }
}
