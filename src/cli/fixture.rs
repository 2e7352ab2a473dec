//! `wwwoffle run`: runs a command while its requests are recorded in a fixture, or answered from
//! one.
//!
//! The command gets a daemon of its own in this process, on a free port, with a temporary spool.
//! Variables of its environment name the proxy and a certificate authority that only it trusts.

mod child;
mod report;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use wwwoffle_archive::{Fixture, MatchRules};
use wwwoffle_config::LogLevel;

use super::args::{AnswerArgs, RuleArgs, RunArgs, Serve};
use super::export::options;
use super::failure::{VerbFailure, VerbResult};
use super::own_daemon::OwnDaemon;
use super::settings::Settings;
use super::{Terminal, VerbContext, browse};
use crate::base::exit::ExitStatus;
use crate::base::mode::ModeSetting;
use crate::base::small_file::{self, Readers};
use crate::base::{clock, shown};
use crate::daemon::run::FixtureStart;
use crate::proxy::fixture::link::SimulatedLink;
use crate::proxy::fixture::{FixtureSession, FixtureUse, SessionOptions};
use crate::tls::ca::Authority;
use wwwoffle_api::Status;

/// A fixture and its file.
struct FixtureFile {
    path: PathBuf,
    used: FixtureUse,
    session: Arc<FixtureSession>,
    /// The text of the authority that is in the file.
    authority: Option<String>,
}

/// Runs the command.
pub(super) fn run(typed: &RunArgs, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    if settings.spool.is_some() {
        return Err(VerbFailure::usage("`run` has a spool of its own: leave --spool out"));
    }
    let fixture = FixtureFile::open(typed, terminal)?;
    let directory = TempDir::with_prefix("wwwoffle-run-")
        .map_err(|error| VerbFailure::failed("no temporary directory can be made", &error))?;
    let served = serve_command(typed, &fixture, directory.path(), (settings, terminal));
    // Whatever failed, nothing that was recorded is lost, neither now nor before.
    let is_whole = served.as_ref().is_ok_and(|served| served.code == 0);
    let written = fixture.save(is_whole, terminal);
    let ServedCommand { code, stopped } = served?;
    let report = fixture.session.report();
    let reported = typed
        .report
        .report
        .as_ref()
        .map_or(Ok(()), |file| report::write(file, typed.report.report_format, &report, code));
    // The exit status is that of the command, even if nobody reads standard error.
    let _printed = report::print(&report, &fixture.path, terminal);
    let failure = [stopped, written, reported].into_iter().find_map(Result::err);
    match (code, failure) {
        (0, Some(failure)) => Err(failure),
        (0, None) if typed.report.fail_missing && report.is_incomplete() => Ok(ExitStatus::Failed),
        (0, None) => Ok(ExitStatus::Done),
        (code, failure) => {
            if let Some(VerbFailure::Said(_, message)) = failure {
                let _printed = writeln!(terminal.stderr, "wwwoffle: {message}");
            }
            Err(VerbFailure::CommandEnded(code))
        }
    }
}

/// A command that has ended, and its daemon.
struct ServedCommand {
    /// The exit status of the command.
    code: u8,
    /// Whether the daemon has stopped.
    stopped: VerbResult<()>,
}

/// Starts the daemon, runs the command to its end, and stops the daemon.
fn serve_command(
    typed: &RunArgs,
    fixture: &FixtureFile,
    directory: &Path,
    (settings, terminal): (&Settings<'_>, &mut Terminal<'_>),
) -> VerbResult<ServedCommand> {
    let pem = directory.join("authority.pem");
    let own_config = directory.join("wwwoffle.conf");
    let authority = fixture.authority()?;
    for (path, text) in [(&pem, authority.pem()), (&own_config, String::new())] {
        small_file::write(path, text.as_bytes(), Readers::Owner).map_err(|error| {
            VerbFailure::failed(format_args!("{} cannot be written", path.display()), &error)
        })?;
    }
    // Only a configuration that is named explicitly applies, so that a test is the same everywhere.
    let config = settings.config_file.clone().unwrap_or(own_config);
    let own = Settings::new(Some(config), Some(directory.join("spool")), settings.environment);
    let mode = match fixture.used {
        FixtureUse::Replay => ModeSetting::Offline,
        FixtureUse::Record | FixtureUse::ReplayAndRecord => ModeSetting::Online,
    };
    let log_level = Some(LogLevel::Error);
    let mut start = own.serve_options(Serve { mode: Some(mode), log_level, ..Serve::default() })?;
    start.listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    start.fixture = Some(FixtureStart { session: Arc::clone(&fixture.session), authority });
    let (daemon, _) = OwnDaemon::start(start)?;
    let control = own.control()?;
    let ran = control.get("/api/status").and_then(|status: Status| {
        let proxy = browse::proxy(&status.process.listen)
            .ok_or_else(|| VerbFailure::plain("the daemon does not listen on any address"))?;
        let variables = child::variables(proxy, &pem, typed.local, settings.environment);
        child::run(&typed.command, &variables, terminal.stderr)
    });
    let stopped = daemon.stop(&control);
    Ok(ServedCommand { code: ran?, stopped })
}

impl FixtureFile {
    /// Reads the fixture to replay, or begins one.
    fn open(typed: &RunArgs, terminal: &mut Terminal<'_>) -> VerbResult<Self> {
        let (path, used) = match (&typed.record, &typed.replay) {
            (Some(path), _) => (path, FixtureUse::Record),
            (None, Some(path)) if typed.record_missing => (path, FixtureUse::ReplayAndRecord),
            (None, Some(path)) => (path, FixtureUse::Replay),
            (None, None) => return Err(VerbFailure::usage("--record or --replay is missing")),
        };
        let mut fixture = if used == FixtureUse::Record {
            check_new(path, typed.replace)?;
            Fixture::default()
        } else {
            Fixture::read(path)
                .map_err(|error| VerbFailure::failed("the recording cannot be used", &error))?
        };
        if fixture.skipped > 0 {
            let (name, count) = (shown::line(&path.to_string_lossy()), fixture.skipped);
            let responses = if count == 1 { "response" } else { "responses" };
            let told = "skipped, because the body is in another file (revisit)";
            writeln!(terminal.stderr, "wwwoffle: {name}: {count} {responses} {told}")?;
        }
        if used != FixtureUse::Replay {
            Fixture::check_writable(path).map_err(|error| cannot_write(&error))?;
        }
        add_rules(&mut fixture.settings.rules, &typed.rules);
        let authority = fixture.settings.authority.clone();
        let AnswerArgs { each_once, all_fields, slow, drop } = typed.answers;
        let max_body = typed.max_body.bytes();
        let link = SimulatedLink::new(slow, drop);
        let options = SessionOptions { used, each_once, all_fields, max_body, link };
        let session = FixtureSession::new(fixture, options)
            .map_err(|fault| VerbFailure::failed(path.display(), &fault))?;
        Ok(Self { path: path.clone(), used, session: Arc::new(session), authority })
    }

    /// The authority for this run. That of a replay is in the file, or is limited to the hosts in
    /// the file. Which hosts will be recorded is not known in advance, so a recording has an
    /// authority that ends with the run: its key is only in the memory of this process.
    fn authority(&self) -> VerbResult<Authority> {
        let failed = |error| VerbFailure::failed("no certificate authority can be made", &error);
        if self.used != FixtureUse::Replay {
            return Authority::make("wwwoffle run", clock::now()).map_err(failed);
        }
        match &self.authority {
            Some(text) => self.check_authority(text),
            None => Authority::make_fixture(clock::now(), &self.session.hosts()).map_err(failed),
        }
    }

    /// Reads the authority in the file, which must be valid for the hosts of the file, and for no
    /// others.
    fn check_authority(&self, text: &str) -> VerbResult<Authority> {
        let name = self.path.display();
        let refuse = |why: &str| {
            VerbFailure::plain(format_args!(
                "the certificate authority in {name} cannot be used: {why}; restore the file, or \
                 record it again"
            ))
        };
        let authority = Authority::parse(text).map_err(|error| refuse(&error.to_string()))?;
        if authority.domains().is_empty() {
            return Err(refuse("it is not limited to the recorded hosts"));
        }
        if let Some(host) = self.session.hosts().iter().find(|host| !authority.permits(host)) {
            return Err(refuse(&format!("it is not for the recorded host {host:?}")));
        }
        let is_exact = authority.is_for_fixture(&self.session.hosts());
        if !is_exact.map_err(|error| refuse(&error.to_string()))? {
            return Err(refuse("it is not limited to exactly the recorded hosts"));
        }
        let now = clock::now();
        if now < authority.valid_from() || now >= authority.valid_until() {
            return Err(refuse("it is not valid at this time"));
        }
        Ok(authority)
    }

    /// Writes the file if something was recorded. The recording of a command that failed does not
    /// replace an earlier one.
    fn save(&self, is_whole: bool, terminal: &mut Terminal<'_>) -> VerbResult<()> {
        let Some(mut fixture) = self.session.recorded() else { return Ok(()) };
        let known = self.authority.as_deref().and_then(|text| self.check_authority(text).ok());
        let authority = match known {
            Some(authority) => Ok(authority),
            None => Authority::make_fixture(clock::now(), &self.session.hosts()),
        };
        let authority = authority
            .map_err(|error| VerbFailure::failed("no certificate authority can be made", &error))?;
        fixture.settings.authority = Some(authority.secret_text());
        let is_partial = !is_whole && self.used == FixtureUse::Record && self.path.exists();
        let path =
            if is_partial { self.path.with_extension("partial.wacz") } else { self.path.clone() };
        fixture.write(&path, &options(false)).map_err(|error| cannot_write(&error))?;
        if is_partial {
            let name = shown::line(&path.to_string_lossy());
            let told = "the command failed, so the earlier recording stays; this one is";
            writeln!(terminal.stderr, "wwwoffle: {told} {name}")?;
        }
        Ok(())
    }
}

fn cannot_write(error: &wwwoffle_archive::Error) -> VerbFailure {
    VerbFailure::failed("the recording cannot be written", error)
}

/// Refuses a file that cannot be recorded, before the command runs.
fn check_new(path: &Path, replace: bool) -> VerbResult<()> {
    let name = shown::line(&path.to_string_lossy());
    if path.extension().is_none_or(|end| !end.eq_ignore_ascii_case("wacz")) {
        return Err(VerbFailure::usage(format_args!("{name}: the name must end with .wacz")));
    }
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    if above.is_some_and(|above| !above.is_dir()) {
        return Err(VerbFailure::plain(format_args!("{name}: its directory is missing")));
    }
    if path.exists() && !replace {
        return Err(VerbFailure::plain(format_args!(
            "{name} exists: --replace records it again, --replay {name} --record-missing adds to it"
        )));
    }
    Ok(())
}

fn add_rules(rules: &mut MatchRules, typed: &RuleArgs) {
    let lists = [
        (&mut rules.ignored_arguments, &typed.ignore_argument),
        (&mut rules.ignored_fields, &typed.ignore_field),
        (&mut rules.matched_headers, &typed.match_header),
    ];
    for (own, more) in lists {
        own.extend(more.iter().cloned());
        own.sort_unstable();
        own.dedup();
    }
    rules.ignore_body |= typed.ignore_body;
}
