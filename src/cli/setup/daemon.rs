//! The daemon: where it listens, its configuration and its service.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use wwwoffle_api::Status;
use wwwoffle_config::{Config, ConfigFile, ConfigLookup};
use wwwoffle_spool::fs::spool_owner;

use super::change::MachineChange;
use super::file::FileReaders;
use super::keyed::{KeyedChange, Notation};
use super::plan::{Machine, PlanItem, PlanStep};
use super::share::{self, NewLogins, SharingPlan};
use super::unit::{Manager, ServiceChange};
use crate::base::shown;
use crate::cli::args::{SetupArgs, SetupAudience, SetupPart};
use crate::cli::browse;
use crate::cli::failure::{VerbFailure, VerbResult};
use crate::cli::settings::{Settings, config_failure};

/// The first line of a new configuration.
const NEW: &str = "# Written by `wwwoffle setup`.\n";

/// The number of ports that are tried if the configured one is in use.
const MAX_PORTS: u16 = 100;

/// The last port that only root may listen on.
const LAST_PRIVILEGED: u16 = 1023;

/// The plan for the daemon.
#[derive(Debug)]
pub(super) struct DaemonPlan {
    pub(super) items: Vec<PlanItem>,
    /// The address at which the programs of this machine reach it.
    pub(super) proxy: SocketAddr,
    pub(super) sharing: SharingPlan,
    pub(super) config: Config,
    /// Whether a daemon runs after the set-up.
    pub(super) will_run: bool,
}

/// Plans the configuration and the service.
pub(super) fn plan(
    typed: &SetupArgs,
    machine: &Machine<'_>,
    logins: &NewLogins,
) -> VerbResult<DaemonPlan> {
    let settings = machine.settings;
    let current = CurrentConfig::read(machine)?;
    let manager = Manager::find(machine.is_user, &machine.root, settings)
        .and_then(|manager| manager.state().map(|state| (manager, state)));
    let running = running(settings)?;
    let is_service = manager.as_ref().is_ok_and(|(_, state)| state.is_active);
    let wants_service = !typed.skip.contains(&SetupPart::Service);
    if running.is_some() && wants_service && manager.is_ok() && !is_service {
        return Err(VerbFailure::plain(
            "a daemon is running on this spool, and the service would be a second one: stop it with \
             `wwwoffle stop`, then run setup again",
        ));
    }
    // The addresses of a running daemon count, wherever they come from, until others are wanted.
    let stays = typed.listen.is_empty() && typed.audience == SetupAudience::ThisMachine;
    let sockets = manager.as_ref().map_or(Vec::new(), |(manager, _)| manager.sockets());
    let has_sockets = !sockets.is_empty();
    let opened = running.clone().or_else(|| Some(sockets.clone()).filter(|_| has_sockets));
    let actual = opened.filter(|_| stays);
    // A service that does not answer holds the configured addresses.
    let is_decided = actual.is_some() || is_service || has_sockets;
    let listen = listen(typed, &current.config, running.as_deref(), is_decided)?;
    let closed = |one: &&SocketAddr| !sockets.iter().any(|socket| includes(socket, **one));
    if has_sockets
        && !stays
        && let Some(closed) = listen.iter().find(closed)
    {
        return Err(VerbFailure::usage(format_args!(
            "systemd opens the ports of the daemon, and {closed} is not among them: add \
             `ListenStream={closed}` with `systemctl edit wwwoffle.socket` and restart that unit, or \
             disable it; then run setup again"
        )));
    }
    if manager.is_ok()
        && wants_service
        && actual.is_none()
        && !has_sockets
        && let Some(address) =
            listen.iter().find(|one| one.port() <= LAST_PRIVILEGED && one.port() > 0)
    {
        return Err(VerbFailure::usage(format_args!(
            "the service may not listen on {address}: a port below 1024 needs the unit \
             wwwoffle.socket, which the guide to services explains"
        )));
    }
    let sharing = match typed.audience {
        SetupAudience::ThisMachine => SharingPlan::default(),
        _ => share::plan(&typed.sharing, (&current.config, &current.text), &listen, logins)?,
    };
    let readers = if machine.is_user { FileReaders::Owner } else { FileReaders::Everyone };
    let wanted = Some(listen.as_slice()).filter(|_| actual.is_none());
    let (mut change, config) = configure(&current, wanted, &sharing, readers)?;
    if wanted.is_some() && change.as_ref().is_some_and(|change| !change.is_done()) {
        config.may_listen(&listen).map_err(VerbFailure::usage)?;
    }
    if let Some(change) = change.as_mut().filter(|_| sharing.has_secrets) {
        if machine.is_user {
            change.file.close_to_others(None);
        } else if let Ok(Some((_, group))) = spool_owner(&settings.spool()?, true) {
            change.file.close_to_others(Some(group));
        }
    }
    let will_run = running.is_some() || (wants_service && manager.is_ok());
    let mut items = Vec::new();
    let is_new = change.as_ref().is_some_and(|change| !change.is_done());
    if let Some(change) = change {
        items.push(PlanItem::daemon(PlanStep::Change(MachineChange::Keyed(change))));
    }
    if wants_service {
        let lacks = |all: &Vec<String>| !listen.iter().all(|one| all.contains(&one.to_string()));
        let moves = actual.is_none() && running.as_ref().is_some_and(lacks);
        let restarts = is_service && (is_new || moves && !has_sockets);
        items.push(PlanItem::daemon(service(manager, restarts, settings)));
    }
    if is_new && running.is_some() && !is_service {
        let why = "restart it with the new configuration: `wwwoffle stop`, then `wwwoffle serve`";
        items.push(PlanItem::daemon(PlanStep::ByHand {
            what: "daemon".to_owned(),
            why: why.to_owned(),
        }));
    }
    let listening = || listen.iter().map(ToString::to_string).collect();
    let proxy = browse::proxy(&actual.unwrap_or_else(listening))
        .filter(|proxy| proxy.port() > 0)
        .ok_or_else(|| {
        VerbFailure::plain("the daemon has no fixed port: name one with --listen ADDR:PORT")
    })?;
    Ok(DaemonPlan { items, proxy, sharing, config, will_run })
}

fn service(
    manager: Result<(Manager, super::unit::ServiceState), String>,
    restarts: bool,
    settings: &Settings<'_>,
) -> PlanStep {
    let planned = manager.and_then(|(manager, _)| ServiceChange::plan(manager, restarts, settings));
    match planned {
        Ok(change) => PlanStep::Change(MachineChange::Service(change)),
        Err(why) => PlanStep::ByHand { what: "service".to_owned(), why },
    }
}

/// Returns the addresses on which the running daemon listens. `None` if no daemon runs.
fn running(settings: &Settings<'_>) -> VerbResult<Option<Vec<String>>> {
    let Some(daemon) = settings.daemon()? else { return Ok(None) };
    Ok(Some(daemon.get::<Status>("/api/status")?.process.listen))
}

/// Decides the addresses to listen on. A port that another program uses is replaced by the next free
/// one.
fn listen(
    typed: &SetupArgs,
    config: &Config,
    running: Option<&[String]>,
    is_decided: bool,
) -> VerbResult<Vec<SocketAddr>> {
    let mut wanted = config.startup.listen.as_slice().to_vec();
    if !typed.listen.is_empty() {
        wanted.clone_from(&typed.listen);
    } else if typed.audience != SetupAudience::ThisMachine
        && !wanted.iter().any(|address| !address.ip().is_loopback())
    {
        let port = wanted.first().map_or(8080, SocketAddr::port);
        wanted.push(share::local_address(port)?);
    }
    if is_decided {
        return Ok(wanted);
    }
    let is_ours =
        |address: &SocketAddr| running.is_some_and(|all| all.contains(&address.to_string()));
    let foreign = |address: &&SocketAddr| !is_ours(address) && is_in_use(**address);
    let Some(taken) = wanted.iter().find(foreign).copied() else { return Ok(wanted) };
    if !typed.listen.is_empty() {
        return Err(VerbFailure::plain(format_args!("{taken} is in use by another program")));
    }
    for offset in 1..=MAX_PORTS {
        let moved: Option<Vec<SocketAddr>> = wanted
            .iter()
            .map(|address| Some(SocketAddr::new(address.ip(), address.port().checked_add(offset)?)))
            .collect();
        if let Some(moved) = moved
            && !moved.iter().any(|address| is_in_use(*address))
        {
            return Ok(moved);
        }
    }
    Err(VerbFailure::plain(format_args!(
        "{taken} and the next {MAX_PORTS} ports are in use: name an address with --listen ADDR:PORT"
    )))
}

/// Whether a listening socket, as systemd shows it, accepts connections to `wanted`.
fn includes(socket: &str, wanted: SocketAddr) -> bool {
    socket.parse::<SocketAddr>().is_ok_and(|socket| {
        socket.port() == wanted.port()
            && (socket.ip() == wanted.ip()
                || socket.ip().is_unspecified() && (socket.is_ipv6() || wanted.is_ipv4()))
    })
}

fn is_in_use(address: SocketAddr) -> bool {
    TcpListener::bind(address).is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
}

/// The configuration that is changed.
#[derive(Debug)]
pub(super) struct CurrentConfig {
    pub(super) config: Config,
    path: PathBuf,
    text: String,
    /// Whether this user needs a file, because the one of the machine is for another daemon.
    needs_file: bool,
}

impl CurrentConfig {
    /// Reads the configuration of the machine or of this user.
    pub(super) fn read(machine: &Machine<'_>) -> VerbResult<Self> {
        let lookup = machine.settings.lookup();
        let mut needs_file = false;
        let lookup = match lookup {
            ConfigLookup::FirstOf(all) if machine.is_user => {
                let exists = |path: &PathBuf| rustix::fs::stat(path).is_ok();
                needs_file = all.iter().skip(1).any(exists) && !all.first().is_some_and(exists);
                ConfigLookup::FirstOf(all.into_iter().take(1).collect())
            }
            ConfigLookup::FirstOf(all) => {
                let last = all.into_iter().next_back();
                let in_root =
                    |path: PathBuf| machine.root.join(path.strip_prefix("/").unwrap_or(&path));
                ConfigLookup::FirstOf(last.map(in_root).into_iter().collect())
            }
            named @ ConfigLookup::Named(_) => named,
        };
        let file = ConfigFile::of(&lookup);
        let text =
            file.read().map_err(|error| VerbFailure::plain(shown::line(&error.to_string())))?;
        let found = Config::find(&lookup).map_err(|faults| config_failure(&faults))?;
        Ok(Self { config: found.0, path: file.path().to_owned(), text: text.text, needs_file })
    }
}

/// Plans the change of the configuration, if one is needed.
fn configure(
    current: &CurrentConfig,
    listen: Option<&[SocketAddr]>,
    sharing: &SharingPlan,
    readers: FileReaders,
) -> VerbResult<(Option<KeyedChange>, Config)> {
    let CurrentConfig { config, path, needs_file, .. } = current;
    let mut values: Vec<(&[&str], String)> = Vec::new();
    if let Some(listen) = listen
        && (*needs_file || config.startup.listen.as_slice() != listen)
    {
        let listen = listen.iter().map(ToString::to_string).collect();
        values.push((&["startup", "listen"], share::array(listen)));
    }
    values.extend(sharing.values.iter().map(|(key, value)| (*key, value.clone())));
    if values.is_empty() {
        return Ok((None, config.clone()));
    }
    let change = KeyedChange::plan(path, Notation::Configuration, NEW, &values, readers)
        .map_err(VerbFailure::plain)?;
    let config = Config::parse(&change.text(), path).map_err(|faults| config_failure(&faults))?;
    Ok((Some(change), config))
}
