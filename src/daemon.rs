//! What is built once and lives as long as the program.

pub mod identity;
pub mod reload;
pub mod run;
pub mod tending;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use hyper::header::{ACCEPT_LANGUAGE, HeaderMap, HeaderValue};
use jiff::tz::TimeZone;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{info, warn};
use wwwoffle_config::Config;
use wwwoffle_index::Index;
use wwwoffle_spool::OwnPages;
use wwwoffle_url::LocalHost;

use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::hooks::{Hook, Hooks};
use crate::base::live::Live;
use crate::base::mode::{Choice, Mode, ModeSwitch};
use crate::base::tasks::Tasks;
use crate::fetch::Fetcher;
use crate::fetch::monitor::Timer;
use crate::net::link::Link;
use crate::net::upstream::{Dialer, Limits, Tls, Upstream};
use crate::page::token::Tokens;
use crate::page::{LocalOrigin, Shell, Templates};
use crate::proxy::download::Downloads;
use crate::proxy::gateway::Posted;
use crate::proxy::last::LastAnswers;
use crate::server::access::Access;
use crate::server::access::crowd::Guest;
use crate::server::places::Places;
use crate::server::repeat::Repeats;
use crate::site;
use crate::site::tickets::Tickets;
use crate::storage::lists;
use crate::storage::lists::deletions::Deletions;
use crate::storage::lists::describe::Pages;
use crate::storage::lists::sessions::{self, Online};
use crate::storage::purge::Purging;
use crate::storage::statistics::Statistics;
use crate::storage::store::Store;
use crate::tls::Faces;
use crate::tls::ca::Authority;

/// Of what is held of the spool in memory, the answers that are ready may take this part besides.
const REPEATED: usize = 4;

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
    /// What is in the spool, as lists and by the words of its pages.
    pub index: Index,
    /// Who asks the index now.
    pub index_readers: Semaphore,
    /// Held by each export from a list.
    pub exports: Arc<Semaphore>,
    /// The sources of pages that are shown at once, each in memory as a whole.
    pub sources: Arc<Semaphore>,
    /// The deletion of all of a list, if one is under way.
    pub deletions: Deletions,
    /// The times online, which some of these lists go by.
    pub online: Mutex<Online>,
    /// Online, offline or autodial.
    pub mode: ModeSwitch,
    /// Whether there is a link.
    pub link: Link,
    /// The way out.
    pub upstream: Arc<Upstream>,
    /// The answers on their way in.
    pub downloads: Downloads,
    /// Works the outgoing queue off.
    pub fetcher: Fetcher,
    /// Puts what is monitored on the queue.
    pub monitor: Timer,
    /// What is removed for its age.
    pub purging: Purging,
    /// POSTs that wait for a person's confirmation.
    pub tickets: Tickets,
    /// Forms sent in the gateway that a person has not confirmed yet.
    pub(crate) posted: Tickets<Posted>,
    /// Programs that are run when something has happened.
    pub hooks: Hooks,
    /// TLS towards clients.
    pub faces: Faces,
    /// The pages.
    pub templates: Templates,
    /// What cannot be used of the user's own templates and texts, in words.
    pub template_faults: Vec<String>,
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
    /// Answers that are ready for who asks the same again.
    pub repeats: Repeats,
    /// What was done with the last requests.
    pub last: LastAnswers,
    /// What is counted.
    pub statistics: Arc<Statistics>,
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
    /// What was chosen when it stopped.
    pub mode: Choice,
    /// The addresses it listens on, the first being the one named in links.
    pub listening: Vec<SocketAddr>,
    /// The user's own templates and texts.
    pub templates: OwnPages,
}

/// Who a page is made for.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The mode that their request began under.
    pub mode: Mode,
    /// What they say of languages: `Accept-Language`.
    accepted: Option<HeaderValue>,
}

/// The pages with the user's own over them, and what cannot be used of those.
fn own_templates(own: OwnPages) -> (Templates, Vec<String>) {
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

impl Reader {
    /// Who sent a request with these fields.
    #[must_use]
    pub fn of(mode: Mode, fields: &HeaderMap) -> Self {
        Self { mode, accepted: fields.get(ACCEPT_LANGUAGE).cloned() }
    }

    fn accepted(&self) -> Option<&str> {
        self.accepted.as_ref().and_then(|accepted| accepted.to_str().ok())
    }
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
        let local = config.local_host.names.at(port, Some(port)).listening_on(&listening);
        let origin = LocalOrigin::parse("http", &format!("{}:{port}", local.name()))?;
        store.spool().queue().set_share(config.startup.queue_share.get());
        let (mode, tasks) = (ModeSwitch::new(mode), Tasks::new());
        let places = Places::new(config.startup.max_connections.get());
        let repeats = Repeats::new(store.holds() / REPEATED);
        let options = &config.options;
        let dialer = Dialer::new(mode.clone(), options.dns_timeout, options.connect_timeout);
        let (link, reports) = Link::new();
        let dialer = dialer.following(live.in_force()).telling(reports);
        let statistics = Arc::<Statistics>::default();
        let dialer = dialer.guarding(listening.clone()).counting(Arc::clone(&statistics));
        let tls = Tls::new(config.https.extra_ca.certificates(), options.connect_timeout)?;
        let limits = Limits::of(options);
        let (templates, template_faults) = own_templates(templates);
        let pages = Arc::new(Pages { local: local.clone() });
        let index = Index::open(store.spool(), Some(pages))?;
        let mut name = [0; 4];
        getrandom::fill(&mut name)?;
        Ok(Arc::new(Self {
            upstream: Upstream::new(dialer, tls.following(live.in_force()), tasks.clone(), limits),
            access: Access::new()?,
            fetcher: Fetcher::new(),
            monitor: Timer::default(),
            purging: Purging::default(),
            hooks: Hooks::default(),
            tickets: Tickets::new(),
            posted: Tickets::new(),
            downloads: Downloads::default(),
            faces: Faces::new(authority)?,
            templates,
            template_faults,
            tokens: Tokens::new()?,
            pseudonym: format!("wwwoffle-{}", hex::encode(name)),
            since: clock::now(),
            live,
            places,
            repeats,
            last: LastAnswers::default(),
            statistics,
            connections: AtomicUsize::new(0),
            local,
            origin,
            store,
            index,
            index_readers: Semaphore::new(lists::READERS),
            deletions: Deletions::default(),
            exports: Arc::new(Semaphore::new(site::export::AT_ONCE)),
            sources: Arc::new(Semaphore::new(site::source::AT_ONCE)),
            online: Mutex::default(),
            mode,
            link,
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

    /// What the pages for `reader` share, at the address that is good for every page.
    #[must_use]
    pub fn shell(&self, reader: &Reader) -> Shell {
        let config = self.config();
        let language = self.templates.language(config.pages.language.as_str(), reader.accepted());
        let (origin, mode) = (self.origin.clone(), reader.mode);
        let (reader, path) = (String::new(), String::new());
        Shell { origin, mode, zone: TimeZone::system(), language, reader, path }
    }

    /// Changes the mode and remembers it for the next start. Returns what was chosen before.
    ///
    /// # Errors
    ///
    /// When the disk fails: the mode has changed all the same, and the next start will not know.
    pub async fn switch(&self, choice: Choice) -> Result<Choice, wwwoffle_spool::Error> {
        let (chosen, was) = self.mode.set(choice);
        if chosen != choice {
            info!(mode = %choice, was = %chosen, "the mode has changed");
        }
        self.has_changed(was);
        self.store.save_mode(&self.mode).await?;
        Ok(chosen)
    }

    /// Does what follows from a change of the mode, which was another one.
    pub(crate) fn has_changed(&self, was: Mode) {
        let mode = self.mode.now();
        if !mode.may_dial() {
            self.upstream.close_idle();
        }
        if mode != was {
            // Before what waits is worked off.
            let asked = mode.may_dial().then(|| sessions::on_queue(self.store.spool()));
            self.lock_online().changed(asked);
            self.happened(Hook::Mode(mode));
        }
    }

    /// What is known of the times online.
    pub(crate) fn lock_online(&self) -> MutexGuard<'_, Online> {
        self.online.lock().unwrap_or_else(PoisonError::into_inner)
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
    pub fn count_connection(self: &Arc<Self>, place: (OwnedSemaphorePermit, Guest)) -> Connected {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Connected { daemon: Arc::clone(self), _place: place }
    }
}

/// One connected client.
#[derive(Debug)]
pub struct Connected {
    daemon: Arc<Daemon>,
    _place: (OwnedSemaphorePermit, Guest),
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.daemon.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
