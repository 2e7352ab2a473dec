//! What is built once and lives as long as the program.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use jiff::tz::TimeZone;
use tokio::sync::OwnedSemaphorePermit;
use tracing::{info, warn};
use wwwoffle_config::Config;
use wwwoffle_url::LocalHost;

use crate::access::Access;
use crate::clock;
use crate::fetch::Fetcher;
use crate::hooks::{Hook, Hooks};
use crate::live::Live;
use crate::mode::{Mode, ModeSwitch};
use crate::own::tickets::Tickets;
use crate::pages::token::Tokens;
use crate::pages::{LocalOrigin, Shell, Templates};
use crate::proxy::download::Downloads;
use crate::server::places::Places;
use crate::server::tasks::Tasks;
use crate::store::Store;
use crate::tls::Faces;
use crate::tls::ca::Authority;
use crate::upstream::{Dialer, Limits, Tls, Upstream};

/// The daemon: everything a request may need.
#[derive(Debug)]
pub struct Daemon {
    /// The configuration in force, and its file.
    pub live: Live,
    /// Who may use the proxy.
    pub access: Access,
    /// The names and the port of our own pages.
    pub local: LocalHost,
    /// Where our own pages are, for links on pages of ours that stand in for others.
    pub origin: LocalOrigin,
    /// The spool.
    pub store: Store,
    /// Online, offline or autodial.
    pub mode: ModeSwitch,
    /// The way out.
    pub upstream: Arc<Upstream>,
    /// The answers on their way in.
    pub downloads: Downloads,
    /// Works the outgoing queue off.
    pub fetcher: Fetcher,
    /// POSTs that wait for a person's confirmation.
    pub tickets: Tickets,
    /// Programs that are run when something has happened.
    pub hooks: Hooks,
    /// TLS towards clients.
    pub faces: Faces,
    /// The pages.
    pub templates: Templates,
    /// What makes a form ours.
    pub tokens: Tokens,
    /// Every task.
    pub tasks: Tasks,
    /// Our name in `Via`, different for each start, so that a chain of two is no loop.
    pub pseudonym: String,
    /// When the daemon started.
    pub since: SystemTime,
    /// The addresses it listens on.
    pub listening: Vec<SocketAddr>,
    /// The streams under way.
    pub places: Places,
    connections: AtomicUsize,
}

/// What a daemon is built from.
#[derive(Debug)]
pub struct Parts {
    /// The configuration, and where it is read again.
    pub live: Live,
    /// The open spool.
    pub store: Store,
    /// Our certificate authority.
    pub authority: Authority,
    /// The mode it had when it stopped.
    pub mode: Mode,
    /// The addresses it listens on, the first being the one named in links.
    pub listening: Vec<SocketAddr>,
    /// The user's own templates, by name.
    pub templates: Vec<(String, String)>,
}

impl Daemon {
    /// Builds the daemon; it does nothing yet but keep its connections in order.
    ///
    /// # Errors
    ///
    /// When a name of ours is no host name, a template of the user's is faulty, or the system has
    /// no randomness.
    pub fn build(parts: Parts) -> anyhow::Result<Arc<Self>> {
        let Parts { live, store, authority, mode, listening, templates } = parts;
        let config = live.config();
        let port = listening.first().map_or(8080, SocketAddr::port);
        let local = config.local_host.names.at(port, Some(port));
        let origin = LocalOrigin::parse("http", &format!("{}:{port}", local.name()))?;
        let (mode, tasks) = (ModeSwitch::new(mode), Tasks::new());
        let places = Places::new(config.startup.max_connections.get());
        let options = &config.options;
        let dialer = Dialer::new(mode.clone(), options.dns_timeout, options.connect_timeout);
        let dialer = dialer.following(live.in_force());
        let tls = Tls::new(config.https.extra_ca.anchors(), options.connect_timeout)?;
        let limits = Limits::of(options);
        let (templates, faults) = Templates::new(templates);
        for fault in faults {
            warn!(%fault, "a template of yours is not used");
        }
        let mut name = [0; 4];
        getrandom::fill(&mut name)?;
        Ok(Arc::new(Self {
            upstream: Upstream::new(dialer, tls.following(live.in_force()), tasks.clone(), limits),
            access: Access::new()?,
            fetcher: Fetcher::new(),
            hooks: Hooks::default(),
            tickets: Tickets::new(),
            downloads: Downloads::default(),
            faces: Faces::new(authority)?,
            templates,
            tokens: Tokens::new()?,
            pseudonym: format!("wwwoffle-{}", hex::encode(name)),
            since: clock::now(),
            live,
            places,
            connections: AtomicUsize::new(0),
            local,
            origin,
            store,
            mode,
            tasks,
            listening,
        }))
    }

    /// The configuration in force now. What acts on several options takes it once and keeps it, so
    /// that a change of the file does not split what is under way.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.live.config()
    }

    /// What the pages of a request share, at the address that is good for every page.
    #[must_use]
    pub fn shell(&self, mode: Mode) -> Shell {
        Shell { origin: self.origin.clone(), mode, zone: TimeZone::system() }
    }

    /// Changes the mode and remembers it for the next start. Returns what it was.
    ///
    /// # Errors
    ///
    /// When the disk fails: the mode has changed all the same, and the next start will not know.
    pub async fn switch(&self, mode: Mode) -> Result<Mode, wwwoffle_spool::Error> {
        let was = self.mode.set(mode);
        if !mode.may_dial() {
            self.upstream.close_idle();
        }
        if was != mode {
            info!(%mode, %was, "the mode has changed");
            self.happened(Hook::Mode(mode));
        }
        self.store.save_mode(mode).await?;
        Ok(was)
    }

    /// Runs the program that the configuration has for what has happened, if any; nobody waits for it.
    pub fn happened(&self, hook: Hook) {
        let (config, spool) = (self.config(), self.store.spool().root().to_owned());
        self.hooks.run(hook, &config.options, self.mode.now(), spool, &self.tasks);
    }

    /// How many clients are connected.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Counts a client for as long as the guard lives, and holds its `place` so long.
    #[must_use]
    pub fn count_connection(self: &Arc<Self>, place: OwnedSemaphorePermit) -> Connected {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Connected { daemon: Arc::clone(self), _place: place }
    }
}

/// One connected client.
#[derive(Debug)]
pub struct Connected {
    daemon: Arc<Daemon>,
    _place: OwnedSemaphorePermit,
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.daemon.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
