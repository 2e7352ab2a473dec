//! The life of the daemon: open, listen, serve, drain, close.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use socket2::Socket;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{error, info, warn};
use wwwoffle_config::{LogLevel, Startup};
use wwwoffle_spool::{Recovery, RemovalRule, Spool, UserPages, Versions};

use super::identity::{BadIdentity, Identity};
use super::ports::{addresses, bind_all, bind_intercepting, listen};
use super::{initial_mode, tending};
use crate::base::blocking::wait_for_blocking;
use crate::base::error_chain::error_chain;
use crate::base::exit::ExitStatus;
use crate::base::live::Live;
use crate::base::log::access::{AccessLog, AccessLogSink};
use crate::base::mode::ModeSetting;
use crate::base::service_manager::ServiceManager;
use crate::base::tier_secrets::TierSecrets;
use crate::base::{clock, reload, run_directory};
use crate::daemon::{Daemon, DaemonParts};
#[cfg(feature = "tier")]
use crate::fetch::shared_queue;
use crate::fetch::{self, monitor};
use crate::net::link::{self, Probe};
use crate::proxy::access::names;
use crate::proxy::fixture::FixtureSession;
use crate::proxy::link_probe;
use crate::server::control::{self, ControlSocket};
use crate::server::listener::{Arrival, OpenFiles};
use crate::storage::context::StorageContext;
use crate::storage::lists::sessions;
use crate::storage::store::{OPEN_FILE, Store};
use crate::storage::{lists, purge, spool_options, statistics};
#[cfg(feature = "tier")]
use crate::tier;
use crate::tls::ca::{Authority, RENEW_BEFORE};
use crate::tls::files::{self, BadFile};

/// The time that running requests get to finish when the daemon stops, and again the work on the
/// disk that they leave.
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// The interval at which failed writes of stored pages are logged.
const LOOK_FOR_FAILURES: Duration = Duration::from_secs(5);

/// The reason why the daemon did not start: a message with a remedy, and the exit status.
#[derive(Debug)]
pub struct StartFailure {
    /// For standard error.
    pub message: String,
    /// The exit status for the caller of the program.
    pub status: ExitStatus,
}

/// The parameters of a start.
#[derive(Debug)]
pub struct Start {
    /// The configuration and its file.
    pub live: Live,
    /// The directory of the spool.
    pub spool: PathBuf,
    /// The addresses to listen on; the first one is used in links.
    pub listen: Vec<SocketAddr>,
    /// Sockets that the service manager has opened. If there are any, they replace `listen`.
    pub sockets: Vec<Socket>,
    /// The mode to start in; `None` for the mode of the last run.
    pub mode: Option<ModeSetting>,
    /// The level of the log; `None` for the configured one.
    pub log_level: Option<LogLevel>,
    /// The time before the first automatic purge; `None` for [`purge::REST`].
    pub rest: Option<Duration>,
    /// The service manager that waits for the daemon.
    pub manager: ServiceManager,
    /// The fixture that is recorded or replayed instead of the spool.
    pub fixture: Option<FixtureStart>,
    /// The credentials for the archive tier in the environment.
    pub tier_secrets: TierSecrets,
}

/// A fixture for a daemon. The daemon ignores signals: its caller handles them.
#[derive(Debug)]
pub struct FixtureStart {
    /// The fixture in use.
    pub session: Arc<FixtureSession>,
    /// The authority of the fixture, in place of that of the spool.
    pub authority: Authority,
}

/// Runs the daemon until it is stopped. When the daemon listens, `ready` gets a line with its
/// addresses.
///
/// # Errors
///
/// [`StartFailure`] if the daemon cannot start.
pub fn run(mut start: Start, ready: impl FnOnce(&str)) -> Result<(), StartFailure> {
    let config = start.live.config();
    let level = start.log_level.unwrap_or(config.options.log_level);
    crate::base::log::start(level, &config.startup.log_to)
        .map_err(|error| refuse(ExitStatus::BadConfig, error_chain(&error)))?;
    if !clock::is_set() {
        let message = "the clock of this machine shows a year before 1970 or after 9999; set it, \
                       for example with `date --set`, and start again";
        return Err(refuse(ExitStatus::Failed, message.to_owned()));
    }
    // Opened as the user who starts the daemon, like the log.
    let bad_log = |error| refuse(ExitStatus::BadConfig, error_chain(&error));
    let access_log = config.startup.access_log.destination().map(AccessLogSink::open);
    let access_log = access_log.transpose().map_err(bad_log)?;
    let files = OpenFiles::raise();
    let handed = std::mem::take(&mut start.sockets);
    if !handed.is_empty() {
        start.listen = addresses(&handed)?;
    }
    config
        .may_listen(&start.listen)
        .map_err(|open_listener| refuse(ExitStatus::BadConfig, open_listener.to_string()))?;
    // A fixture serves the requests of one command only.
    let intercepting =
        if start.fixture.is_none() { bind_intercepting(&config)? } else { Vec::new() };
    let sockets = if handed.is_empty() { bind_all(&start.listen)? } else { handed };
    // The user must change before the first thread starts and the first file is written.
    switch_user(&config.startup, &start.spool)?;
    let format = config.startup.access_log_format;
    let access_log = access_log.map(|sink| AccessLog::start(sink, format));
    let access_log = access_log.transpose().map_err(bad_log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| refuse(ExitStatus::Failed, format!("cannot start threads: {error}")))?;
    let (store, mode) = open(&start.spool, &start.live, files, start.mode)?;
    let spool = store.spool().clone();
    fetch::remove_leftovers();
    let access_log_writer = access_log.clone();
    let resources =
        Resources { sockets, intercepting, files, store, access_log: access_log_writer };
    let ran = runtime.block_on(serve(start, resources, mode, ready));
    // Tasks that are still running are aborted. The next start discards unfinished entries.
    runtime.shutdown_timeout(Duration::from_secs(1));
    flush(&spool);
    // A call of a task that has ended may still write.
    let left = wait_for_blocking(STOP_WITHIN);
    if left > 0 {
        warn!(left, "not all work on the disk ended in time");
    }
    flush(&spool);
    if let Some(log) = access_log {
        log.finish();
    }
    ran
}

/// The resources that are opened before the runtime starts.
struct Resources {
    sockets: Vec<Socket>,
    /// The sockets for connections that the firewall redirects.
    intercepting: Vec<(Socket, Arrival)>,
    files: OpenFiles,
    store: Store,
    access_log: Option<AccessLog>,
}

/// Writes the pages that wait for the next batch.
fn flush(spool: &Spool) {
    if let Err(error) = spool.flush() {
        warn!(error = error_chain(&error), "the last pages could not be stored");
    }
}

/// Creates a missing spool directory for the configured user, and changes the user of the process.
fn switch_user(startup: &Startup, spool: &Path) -> Result<(), StartFailure> {
    let bad = |error: BadIdentity| refuse(ExitStatus::BadConfig, error_chain(&error));
    let Some(identity) = Identity::of(startup).map_err(bad)? else { return Ok(()) };
    identity.may_be_assumed().map_err(bad)?;
    identity.own(spool, startup.dir_perm.bits()).map_err(|error| {
        let message =
            format!("the spool {} cannot be created for {identity}: {error}", spool.display());
        refuse(ExitStatus::BadSpool, message)
    })?;
    identity.assume().map_err(bad)
}

/// Opens the spool. Returns it with the mode: the `requested` one, or else the remembered one.
fn open(
    root: &Path,
    live: &Live,
    files: OpenFiles,
    requested: Option<ModeSetting>,
) -> Result<(Store, ModeSetting), StartFailure> {
    let config = live.config();
    let startup = &config.startup;
    let options = spool_options::of(startup, versions(live), removals(live));
    let cannot = |error: &wwwoffle_spool::Error| {
        let status = if error.is_locked() { ExitStatus::Taken } else { ExitStatus::BadSpool };
        refuse(status, error_chain(error))
    };
    let (spool, recovery) = Spool::open(root, &options).map_err(|error| cannot(&error))?;
    log_recovery(&recovery);
    let is_read_only = spool.is_read_only();
    if is_read_only {
        run_directory::make(root).map_err(|error| {
            let what = "no directory can be made for its control socket and index";
            refuse(
                ExitStatus::Failed,
                format!("{} is read-only, and {what}: {error}", root.display()),
            )
        })?;
        warn!(
            "the spool is on a read-only file system: stored pages are served, and nothing is added"
        );
    } else {
        tending::keep_reserve(&spool);
    }
    let (state, damage) = spool.state().map_err(|error| cannot(&error))?;
    let is_damaged = damage.is_some();
    if let Some(damage) = damage {
        warn!(%damage, "the remembered mode was set aside");
    }
    let initial = || initial_mode::of(&spool, state, is_damaged);
    let mode = requested.unwrap_or_else(initial);
    let store = Store::new(spool);
    let hot_set = usize::try_from(startup.hot_set.bytes()).unwrap_or(usize::MAX);
    store.set_hot_capacity(hot_set.min(files.pages().saturating_mul(OPEN_FILE)));
    Ok((store, mode))
}

/// Returns the rule for the number of older versions that are kept of a URL. Each call of the rule
/// reads the current configuration.
fn versions(live: &Live) -> Versions {
    let config = live.in_force();
    Versions::from_limits(move |url| spool_options::versions_of(&config.load(), url))
}

/// Returns the rule for the removals that are recorded for the archive tier. Each call of the rule
/// reads the current configuration.
#[cfg(feature = "tier")]
fn removals(live: &Live) -> RemovalRule {
    let config = live.in_force();
    tier::removal_rule(&live.config().tier, move || config.load_full())
}

/// Without the feature `tier` there is no tier.
#[cfg(not(feature = "tier"))]
fn removals(_: &Live) -> RemovalRule {
    RemovalRule::default()
}

fn log_recovery(recovery: &Recovery) {
    let Recovery { admitted, removed, set_apart, damaged, failures, .. } = recovery;
    if *admitted + *removed + *set_apart > 0 {
        info!(
            admitted,
            removed, set_apart, "the daemon was not shut down cleanly; the spool was put in order"
        );
    }
    for damage in damaged {
        warn!(%damage, "a file of the spool was set aside");
    }
    for failure in failures {
        warn!(error = error_chain(failure), "a page of the previous run could not be stored");
    }
}

/// The user's own templates and texts. If they cannot be read, the built-in pages are used.
fn own_templates(store: &Store) -> UserPages {
    store.spool().own_pages().unwrap_or_else(|error| {
        warn!(error = error_chain(&error), "the pages of your own cannot be read");
        UserPages::default()
    })
}

async fn serve(
    start: Start,
    resources: Resources,
    mode: ModeSetting,
    ready: impl FnOnce(&str),
) -> Result<(), StartFailure> {
    let Resources { sockets, intercepting, files, store, access_log } = resources;
    let Start { live, spool, manager, fixture, tier_secrets, .. } = start;
    let listening = addresses(&sockets)?;
    let socket = control::bind(&spool).map_err(|error| {
        let message = format!("the control socket in {} cannot be made: {error}", spool.display());
        refuse(ExitStatus::BadSpool, message)
    })?;
    let (fixture, authority) = match fixture {
        Some(FixtureStart { session, authority }) => (Some(session), authority),
        None => (None, authority(&spool, live.config().https.name_constraints.as_slice())?),
    };
    let templates = own_templates(&store);
    let has_signals = fixture.is_none();
    let parts = DaemonParts {
        live,
        store,
        authority,
        mode,
        listening,
        templates,
        access_log,
        fixture,
        tier_secrets,
    };
    let daemon =
        Daemon::build(parts).map_err(|error| refuse(ExitStatus::Failed, format!("{error:#}")))?;
    if start.mode.is_some()
        && let Err(error) = daemon.storage.store.save_mode(&daemon.base.mode).await
    {
        warn!(error = error_chain(&error), "the next start will not know the mode");
    }
    let prober = Arc::clone(&daemon.proxy);
    let prober = move |hosts| -> Probe { Box::pin(link_probe::run(Arc::clone(&prober), hosts)) };
    daemon.base.tasks.spawn(link::watch_link(Arc::clone(&daemon.net), Box::new(prober)));
    daemon.net.link.has_begun().await;
    // Loads the saved state before any page is served, so that the first page already shows it.
    fetch::begin(&daemon.fetch).await;
    statistics::begin(&daemon.storage).await;
    sessions::resume_mode_changes(&daemon.storage).await;
    #[cfg(feature = "tier")]
    if let Some(tier) = &daemon.proxy.traffic.tier {
        // Before any task can store an entry.
        tier.start().await;
    }
    start_tasks(&daemon, (socket, files), start.rest.unwrap_or(purge::REST));
    // Signals are handled before the ready line is printed, because a program that reads the line
    // may send a signal at once.
    let signals = has_signals.then(Signals::receive).transpose().map_err(|error| {
        refuse(ExitStatus::Failed, format!("signals cannot be received: {error}"))
    })?;
    // Listening comes last, because a program that waits for the port may send a command as soon as
    // it connects.
    listen(&daemon, sockets, intercepting, files)?;
    let line = ready_line(&daemon, &spool);
    ready(&line);
    daemon.base.tasks.spawn(manager.clone().keep_alive(daemon.base.tasks.clone()));
    manager.ready(&line);
    let why = wait_for_the_end(&daemon, signals, &manager).await;
    info!(why, "stopping");
    manager.stopping();
    daemon.base.tasks.stop();
    daemon.net.upstream.close_idle();
    let left = daemon.base.tasks.wait(STOP_WITHIN).await;
    if left > 0 {
        warn!(left, "not everything ended in time");
    }
    #[cfg(feature = "tier")]
    if let Some(tier) = &daemon.proxy.traffic.tier {
        // A task that still runs could store an entry.
        tier.stop(left == 0).await;
    }
    statistics::stop(&daemon.storage).await;
    sessions::store_mode_changes(&daemon.storage).await;
    lists::stop(&daemon.storage).await;
    Ok(())
}

/// Loads our certificate authority. The first start creates it.
fn authority(spool: &Path, domains: &[String]) -> Result<Authority, StartFailure> {
    let now = clock::now();
    let authority = files::load_or_make(spool, now, domains).map_err(|error| {
        let remedy = match error {
            BadFile::Damaged { .. } => {
                "; restore a copy of it, or create a new one with `wwwoffle ca renew`, which \
                 browsers must then trust"
            }
            BadFile::Disk { .. } | BadFile::Making(_) => "",
        };
        refuse(ExitStatus::BadSpool, format!("{}{remedy}", error_chain(&error)))
    })?;
    if !authority.is_limited_to(domains) {
        warn!(
            authority = ?authority.domains(),
            configured = ?domains,
            "the certificate authority is not limited as name-constraints says; \
             `wwwoffle ca renew` creates one that is"
        );
    }
    let ends = authority.valid_until();
    if now >= ends {
        error!(
            ended = clock::rfc3339(ends),
            "the certificate authority has expired: HTTPS is not intercepted and not stored; \
             `wwwoffle ca renew` creates a new one"
        );
    } else if now + RENEW_BEFORE >= ends {
        warn!(
            ends = clock::rfc3339(ends),
            "the certificate authority expires soon; `wwwoffle ca renew` creates a new one"
        );
    }
    Ok(authority)
}

fn start_tasks(daemon: &Arc<Daemon>, (socket, files): (ControlSocket, OpenFiles), rest: Duration) {
    daemon.base.tasks.spawn(control::accept(Arc::clone(&daemon.server), socket, files.programs()));
    daemon.base.tasks.spawn(names::resolve_allowed_hosts(Arc::clone(&daemon.proxy)));
    daemon.base.tasks.spawn(log_failures(Arc::clone(&daemon.storage)));
    daemon.base.tasks.spawn(lists::maintain_index(Arc::clone(&daemon.storage)));
    daemon.base.tasks.spawn(reload::watch(Arc::clone(&daemon.base)));
    if !daemon.storage.store.spool().is_read_only() {
        daemon.base.tasks.spawn(monitor::queue_due_pages(Arc::clone(&daemon.fetch)));
        daemon.base.tasks.spawn(purge::purge_when_due(Arc::clone(&daemon.storage), rest));
        daemon.base.tasks.spawn(tending::maintain_spool(Arc::clone(&daemon.storage), rest));
        #[cfg(feature = "tier")]
        if let Some(tier) = &daemon.proxy.traffic.tier {
            let share = shared_queue::share(Arc::clone(&daemon.fetch), Arc::clone(tier));
            daemon.base.tasks.spawn(share);
        }
    }
}

/// Logs pages that were served but could not be stored. With durability `batch`, pages are written
/// a moment after they are served.
async fn log_failures(context: Arc<StorageContext>) {
    let mut tick = tokio::time::interval(LOOK_FOR_FAILURES);
    loop {
        tokio::select! {
            () = context.base.tasks.stopping() => return,
            _ = tick.tick() => {}
        }
        for failure in context.store.spool().failures() {
            let error = error_chain(&failure);
            if failure.is_full() {
                context.store.set_full(true);
                error!(error, "pages have no place on the disk yet");
            } else {
                error!(error, "a page could not be stored");
            }
        }
    }
}

fn ready_line(daemon: &Daemon, spool: &Path) -> String {
    let mut line = String::from("wwwoffle: listening on ");
    for (count, address) in daemon.base.listening.iter().enumerate() {
        // Writing to a string does not fail.
        let _written = write!(line, "{}{address}", if count == 0 { "" } else { " and " });
    }
    let _written = write!(line, ", mode {}, spool {}", daemon.base.mode.chosen(), spool.display());
    line
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Handles the signals from now on, in place of their default actions.
    fn receive() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }
}

/// Waits for a signal or a command that ends the daemon, and returns its name.
async fn wait_for_the_end(
    daemon: &Arc<Daemon>,
    signals: Option<Signals>,
    manager: &ServiceManager,
) -> &'static str {
    let Some(mut signals) = signals else {
        daemon.base.tasks.stopping().await;
        return "the end of the command";
    };
    loop {
        tokio::select! {
            _received = signals.terminate.recv() => return "SIGTERM",
            _received = signals.interrupt.recv() => return "SIGINT",
            // A closed terminal sends SIGHUP too, and must not end the daemon.
            _received = signals.hang_up.recv() => {
                info!("SIGHUP: the configuration is read again");
                manager.reloading();
                // Errors of the configuration are logged.
                let _in_force_or_not = daemon.base.reload().await;
                manager.ready("running");
            }
            () = daemon.base.tasks.stopping() => return "a stop command",
        }
    }
}

pub(super) fn refuse(status: ExitStatus, message: String) -> StartFailure {
    StartFailure { message, status }
}
