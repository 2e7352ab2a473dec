//! `wwwoffle browse`: starts a browser with a separate profile, in which it uses the proxy and
//! trusts our authority. The settings of the system are not changed.
//!
//! If no daemon runs on the spool, one runs in this process until the browser is closed.

mod plan;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus as Ended, Stdio};

pub(super) use self::plan::proxy;
use self::plan::{Browser, BrowserSession, Family};
use super::args::{Browse, Serve};
use super::environment::Environment;
use super::failure::{VerbFailure, VerbResult};
use super::own_daemon::OwnDaemon;
use super::settings::Settings;
use super::trust;
use super::{VerbContext, authority, programs};
use crate::base::exit::ExitStatus;
use crate::base::small_file::{self, Readers};
use wwwoffle_api::Status;

/// The directory with the programs from snaps. A browser from a snap may only write to the
/// directory of that snap in the user's home directory.
const SNAPS: &str = "/snap/bin";

/// Starts the browser, and waits until it is closed.
pub(super) fn run(typed: &Browse, context: &mut VerbContext<'_>) -> VerbResult {
    let settings = &context.settings;
    let find = |name: &str| settings.program(name);
    let browser = plan::choose(typed.browser.as_deref(), find).map_err(VerbFailure::plain)?;
    let tool = trust::tool(settings);
    if browser.family == Family::Firefox && tool.is_none() {
        return Err(VerbFailure::plain(format_args!(
            "Firefox cannot be made to trust our certificates: {}; Chromium needs no extra tool",
            trust::REMEDY
        )));
    }
    let control = settings.control()?;
    let own = if settings.daemon()?.is_none() { Some(start(context)?) } else { None };
    let outcome = control
        .get("/api/status")
        .and_then(|status: Status| browse(typed, &browser, tool.as_deref(), &status, context));
    let stopped = own.map_or(Ok(()), |own| own.stop(&control));
    outcome.and_then(|status| stopped.map(|()| status))
}

/// Starts a daemon in this process, which the caller stops when the browser is closed. If a
/// configured address is in use, the daemon listens on a free port of 127.0.0.1 instead.
fn start(context: &mut VerbContext<'_>) -> VerbResult<OwnDaemon> {
    let typed = Serve::default();
    let mut options = context.settings.serve_options(typed)?;
    if options.listen.iter().any(|address| TcpListener::bind(address).is_err()) {
        writeln!(
            context.terminal.stderr,
            "wwwoffle: the configured address is in use by another program; using another port"
        )?;
        options.listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    }
    let (own, line) = OwnDaemon::start(options)?;
    writeln!(context.terminal.stderr, "{line}, until the browser is closed")?;
    Ok(own)
}

fn browse(
    typed: &Browse,
    browser: &Browser,
    tool: Option<&Path>,
    status: &Status,
    context: &mut VerbContext<'_>,
) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let proxy = proxy(&status.process.listen)
        .ok_or_else(|| VerbFailure::plain("the daemon does not listen on any address"))?;
    let authority = authority::load(settings)?;
    let profile = match &typed.profile {
        Some(profile) => absolute(profile)?,
        None => profile_of(browser, settings)?,
    };
    let cannot = |error| {
        VerbFailure::plain(format_args!(
            "the profile {} cannot be created: {error}",
            profile.display()
        ))
    };
    small_file::create_directories(&profile).map_err(cannot)?;
    let url = plan::address(typed.url.as_deref(), proxy);
    let key = authority.spki_hash();
    let session =
        BrowserSession { proxy, profile: &profile, key: &key, more: &typed.arguments, url: &url };
    if let (Family::Firefox, Some(tool)) = (browser.family, tool) {
        let text = session.firefox_settings();
        small_file::write(&profile.join("user.js"), text.as_bytes(), Readers::Owner)
            .map_err(cannot)?;
        trust::into_profile(&authority, &profile, tool)?;
    }
    writeln!(
        terminal.stderr,
        "wwwoffle: {} through {proxy}, mode {}, with a separate profile in {}",
        browser.name,
        status.mode,
        profile.display()
    )?;
    let ended = Command::new(&browser.program)
        .args(session.arguments(browser.family))
        .stdin(Stdio::null())
        .status()
        .map_err(|error| {
            let program = browser.program.display();
            VerbFailure::plain(format_args!("{program} cannot be started: {error}"))
        })?;
    outcome(typed, browser, ended, settings.environment)
}

fn outcome(
    typed: &Browse,
    browser: &Browser,
    ended: Ended,
    environment: &Environment,
) -> VerbResult {
    if ended.success() {
        return Ok(ExitStatus::Done);
    }
    let has = |word: &str| typed.arguments.iter().any(|given| given == word);
    let is_root = rustix::process::geteuid().is_root();
    let is_shown = [&environment.display, &environment.wayland_display]
        .iter()
        .any(|display| display.as_ref().is_some_and(|display| !display.is_empty()));
    let is_headless = typed.arguments.iter().any(|word| {
        word.to_str().is_some_and(|word| word.trim_start_matches('-').starts_with("headless"))
    });
    let remedy = if browser.family == Family::Chromium && is_root && !has("--no-sandbox") {
        ": as root it starts only with `-- --no-sandbox`; browse as another user instead"
    } else if !is_shown && !is_headless {
        ": there is no display: neither DISPLAY nor WAYLAND_DISPLAY is set; run it on a desktop, \
         or without a window with `-- --headless`"
    } else {
        ""
    };
    Err(VerbFailure::plain(format_args!("{} ended with {ended}{remedy}", browser.name)))
}

/// Returns the directory of the browser's profile, which is kept between runs, so that logins
/// persist.
fn profile_of(browser: &Browser, settings: &Settings<'_>) -> VerbResult<PathBuf> {
    let name = match browser.family {
        Family::Firefox => "firefox",
        Family::Chromium => "chromium",
    };
    let is_snap = programs::is_program(&Path::new(SNAPS).join(name))
        && (browser.program.starts_with(SNAPS) || browser.program.starts_with("/usr/bin"));
    let environment = settings.environment;
    let directory = if is_snap {
        environment
            .home_directory()
            .map(|home| home.join("snap").join(name).join("common/wwwoffle"))
    } else {
        environment.state_directory().map(|state| state.join("browse").join(&browser.name))
    };
    directory.ok_or_else(|| {
        VerbFailure::plain(
            "the directory for the profile is unknown: use --profile DIR, or set HOME",
        )
    })
}

fn absolute(path: &Path) -> VerbResult<PathBuf> {
    std::path::absolute(path)
        .map_err(|error| VerbFailure::plain(format_args!("{}: {error}", path.display())))
}
