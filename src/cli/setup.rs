//! `wwwoffle setup`: sets up this machine, one user, a household or a school, and takes all of it
//! back.
//!
//! ```text
//! plan         what is changed, in which order, and what is left to a person
//! daemon       the configuration and the service
//! share        addresses, names, clients and users for other machines
//! proxies      the environment, GNOME and KDE
//! browsers     the policies of Firefox and Chromium
//! firefox      the profiles of Firefox of one user
//! change       one change: a service, a certificate, a file, values in a file, a setting
//! record       what was changed, with the former values
//! disk         the files that are read, written and restored
//! ```
//!
//! Each change is recorded with the former value before it is made. So an undo restores the former
//! state also after an interruption. It leaves alone what a person has changed since.

mod browsers;
mod certificate;
mod change;
mod daemon;
mod disk;
mod file;
mod firefox;
mod keyed;
mod plan;
mod proxies;
mod record;
mod setting;
mod share;
mod unit;

use std::io::{BufRead as _, Read as _, Write};
use std::path::Path;

use wwwoffle_spool::fs::spool_owner;

use self::change::{MachineChange, Undone};
use self::daemon::CurrentConfig;
use self::plan::{Machine, PlanStep, SetupPlan, Stage};
use self::record::SetupRecord;
use self::share::NewLogins;
use super::args::{SetupArgs, SetupPart};
use super::failure::{VerbFailure, VerbResult};
use super::settings::{SERVICE_SPOOL, Settings};
use super::{Terminal, VerbContext, authority, offline};
use crate::base::exit::ExitStatus;
use crate::base::{clock, shown};
use crate::tls::ca::Authority;
use crate::tls::files;

/// The maximum length of an answer, in bytes.
const MAX_ANSWER: u64 = 1024;

/// Sets up, or takes everything back.
pub(super) fn run(typed: &SetupArgs, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let is_user = typed.user || !rustix::process::geteuid().is_root();
    if is_user {
        check_home(settings)?;
    }
    // The daemon of the machine has one spool, whatever HOME and the configuration of root say.
    let of_machine;
    let settings: &Settings<'_> = if is_user {
        settings
    } else {
        let spool = settings.spool.clone().unwrap_or_else(|| SERVICE_SPOOL.into());
        // The changes are taken back whatever became of the spool.
        if !typed.undo {
            check_spool(&spool)?;
        }
        let file = settings.config_file.clone();
        of_machine = Settings::new(file, Some(spool), settings.environment);
        &of_machine
    };
    let machine = Machine { settings, is_user, root: typed.root.clone() };
    let mut record = SetupRecord::read(is_user, &typed.root, settings)?;
    if typed.undo {
        return undo(typed, &machine, &mut record, terminal);
    }
    let asks = (typed.audience, typed.plan);
    let current = CurrentConfig::read(&machine)?;
    let logins = NewLogins::read(&typed.sharing, asks, &current.config, terminal)?;
    let wants_certificate = !typed.skip.contains(&SetupPart::Certificate);
    let authority = existing_authority(settings)?;
    let planned = plan::plan(typed, &machine, &logins, authority.as_ref())?;
    planned.print(&record, settings, terminal)?;
    print_sharing(&planned, terminal)?;
    let refused = if planned.has_refusals() { ExitStatus::Failed } else { ExitStatus::Done };
    if !planned.is_open(&record, settings) {
        writeln!(terminal.stdout, "there is nothing to change")?;
        return Ok(refused);
    }
    if typed.plan {
        return Ok(refused);
    }
    if !typed.yes && !is_confirmed("make these changes?", terminal)? {
        return Err(VerbFailure::plain("nothing was changed"));
    }
    let mut work = SetupWork { settings, record: &mut record, terminal };
    work.apply(&planned, Stage::Daemon, None)?;
    let authority = if wants_certificate { make_authority(&machine)? } else { authority };
    if authority.is_none() && wants_certificate && planned.daemon.will_run {
        return Err(authority::missing_authority(&settings.spool()?));
    }
    // Now the certificate is known, and the daemon runs.
    let planned = plan::plan(typed, &machine, &logins, authority.as_ref())?;
    work.apply(&planned, Stage::Certificates, authority.as_ref())?;
    let status = work.apply(&planned, Stage::Proxies, authority.as_ref())?;
    writeln!(
        terminal.stdout,
        "set up; log in again and restart browsers. `wwwoffle setup --undo` takes it back"
    )?;
    Ok(if status == ExitStatus::Done { refused } else { status })
}

/// Refuses to set up another user as root, whose files root would own.
pub(super) fn check_home(settings: &Settings<'_>) -> VerbResult<()> {
    let home = settings.environment.home_directory().ok_or_else(|| {
        VerbFailure::plain("the home directory is unknown: set HOME to an absolute path")
    })?;
    let is_root = rustix::process::geteuid().is_root();
    if is_root && rustix::fs::stat(home).is_ok_and(|about| about.st_uid != 0) {
        return Err(VerbFailure::plain(format_args!(
            "{} belongs to another user: run this as that user",
            home.display()
        )));
    }
    Ok(())
}

/// Refuses a spool of another user than root and the service: its owner has the key of the authority
/// that the whole machine would trust.
fn check_spool(spool: &Path) -> VerbResult<()> {
    let owner = |path: &Path| {
        spool_owner(path, true).map_err(|error| {
            let what = format!("the spool {} cannot be used", path.display());
            VerbFailure::caused(ExitStatus::BadSpool, what, &error)
        })
    };
    let Some((user, _)) = owner(spool)?.filter(|(user, _)| *user != 0) else { return Ok(()) };
    let of_service = spool_owner(Path::new(SERVICE_SPOOL), true);
    if of_service.is_ok_and(|found| found.is_some_and(|(service, _)| service == user)) {
        return Ok(());
    }
    Err(VerbFailure::plain(format_args!(
        "the spool {} belongs to another user, who could then read the HTTPS of all users",
        spool.display()
    )))
}

fn existing_authority(settings: &Settings<'_>) -> VerbResult<Option<Authority>> {
    files::load(&settings.spool()?).map_err(|error| authority::unreadable(&error))
}

/// Loads the authority of the spool. For one user, makes it if it is missing; for the machine, the
/// first start of the daemon makes it.
fn make_authority(machine: &Machine<'_>) -> VerbResult<Option<Authority>> {
    let settings = machine.settings;
    let existing = existing_authority(settings)?;
    if existing.is_some() || !machine.is_user {
        return Ok(existing);
    }
    let spool = settings.spool()?;
    let options = offline::options(settings)?;
    let opened = wwwoffle_spool::Spool::open(&spool, &options);
    let _open = opened.map_err(|error| offline::unusable(&spool, &error))?;
    files::load_or_make(&spool, clock::now(), &settings.name_constraints()?)
        .map(Some)
        .map_err(|error| authority::unreadable(&error))
}

/// Asks a question. Only `yes` and `y` agree.
fn is_confirmed(question: &str, terminal: &mut Terminal<'_>) -> VerbResult<bool> {
    write!(terminal.stdout, "{question} [yes/no] ")?;
    terminal.stdout.flush()?;
    let mut answer = Vec::new();
    (&mut *terminal.stdin)
        .take(MAX_ANSWER)
        .read_until(b'\n', &mut answer)
        .map_err(|error| VerbFailure::failed("the answer cannot be read", &error))?;
    if !terminal.typed {
        writeln!(terminal.stdout)?;
    }
    let answer = String::from_utf8_lossy(&answer).trim().to_ascii_lowercase();
    Ok(answer == "yes" || answer == "y")
}

/// Prints what the other machines need.
fn print_sharing(planned: &SetupPlan, terminal: &mut Terminal<'_>) -> VerbResult<()> {
    let Some(address) = &planned.daemon.sharing.address else { return Ok(()) };
    writeln!(
        terminal.stdout,
        "for the other machines:\n    \
         proxy {address}, or automatic configuration http://{address}/proxy.pac\n    \
         certificate and its installation: http://{address}/ca\n    \
         WPAD, a line for dnsmasq: dhcp-option=252,\"http://{address}/wpad.dat\"\n    \
         give this machine a fixed address, and let its firewall accept the port"
    )?;
    Ok(())
}

/// The changes of one command.
struct SetupWork<'a, 'b> {
    settings: &'a Settings<'b>,
    record: &'a mut SetupRecord,
    terminal: &'a mut Terminal<'b>,
}

impl SetupWork<'_, '_> {
    /// Makes the changes of one stage. A failed change ends the stages on which others depend.
    fn apply(
        &mut self,
        planned: &SetupPlan,
        stage: Stage,
        authority: Option<&Authority>,
    ) -> VerbResult {
        let mut status = ExitStatus::Done;
        let items = planned.items.iter().filter(|one| one.stage == stage);
        let open: Vec<(&MachineChange, bool)> = items
            .filter(|one| one.is_open(self.record, self.settings))
            .filter_map(|one| match &one.item {
                PlanStep::Change(change) => Some((change, self.record.is_interrupted(change))),
                _ => None,
            })
            .collect();
        if stage == Stage::Daemon {
            // A set-up that is killed after the configuration has changed must restart the service.
            for (change, _) in &open {
                self.record.begin(change).map_err(VerbFailure::plain)?;
            }
        }
        for (change, is_interrupted) in open {
            let made = self
                .record
                .begin(change)
                .and_then(|()| self.make(change, is_interrupted, authority))
                .and_then(|()| self.record.complete(change));
            let name = shown::line(&change.name());
            match made {
                Ok(()) => tell(self.terminal.stdout, format_args!("{name}: done")),
                Err(why) if stage == Stage::Proxies => {
                    let why = shown::line(&why);
                    tell(
                        self.terminal.stderr,
                        format_args!("wwwoffle: {name}: not changed: {why}"),
                    );
                    status = ExitStatus::Failed;
                }
                Err(why) => {
                    return Err(VerbFailure::plain(format_args!(
                        "{name}: not changed: {}; run setup again to continue, or `wwwoffle setup \
                         --undo`",
                        shown::line(&why)
                    )));
                }
            }
        }
        Ok(status)
    }

    fn make(
        &self,
        change: &MachineChange,
        is_interrupted: bool,
        authority: Option<&Authority>,
    ) -> Result<(), String> {
        match change {
            MachineChange::Service(change) => change.apply(is_interrupted),
            MachineChange::File(change) => change.apply(),
            MachineChange::Keyed(change) => change.file.apply(),
            MachineChange::Setting(change) => change.apply(),
            MachineChange::Profile(change) => change.apply(),
            MachineChange::Certificate(change) => {
                let authority = authority.ok_or("there is no certificate authority")?;
                change.apply(self.settings, authority)
            }
        }
    }
}

/// Takes the recorded changes back, the last one first. The service comes last, because it uses the
/// restored configuration.
fn undo(
    typed: &SetupArgs,
    machine: &Machine<'_>,
    record: &mut SetupRecord,
    terminal: &mut Terminal<'_>,
) -> VerbResult {
    if record.is_empty() {
        writeln!(terminal.stdout, "there is nothing to take back")?;
        return Ok(ExitStatus::Done);
    }
    let mut changes = record.changes().to_vec();
    changes.reverse();
    changes.sort_by_key(|recorded| matches!(recorded.change, MachineChange::Service(_)));
    for recorded in &changes {
        writeln!(terminal.stdout, "{}", shown::line(&recorded.change.name()))?;
    }
    if typed.plan {
        return Ok(ExitStatus::Done);
    }
    if !typed.yes && !is_confirmed("restore their former state?", terminal)? {
        return Err(VerbFailure::plain("nothing was changed"));
    }
    let has_service = changes.iter().any(|one| matches!(one.change, MachineChange::Service(_)));
    let (mut failed, mut kept, mut is_configured) = (Vec::new(), Vec::new(), false);
    for recorded in changes {
        let name = shown::line(&recorded.change.name());
        match recorded.change.undo(machine.settings) {
            Ok(Undone::Restored) => {
                is_configured |= recorded.change.is_configuration();
                tell(terminal.stdout, format_args!("{name}: restored"));
            }
            Ok(Undone::Already) => tell(terminal.stdout, format_args!("{name}: unchanged")),
            Ok(Undone::Kept(why)) => {
                let why = shown::line(&why);
                tell(terminal.stdout, format_args!("{name}: left alone, {why}"));
                if !typed.forget {
                    kept.push(recorded);
                }
            }
            Err(why) => {
                let why = shown::line(&why);
                tell(terminal.stderr, format_args!("wwwoffle: {name}: not restored: {why}"));
                failed.push(recorded);
            }
        }
    }
    if is_configured && !has_service && matches!(machine.settings.daemon(), Ok(Some(_))) {
        tell(
            terminal.stdout,
            format_args!(
                "daemon: by hand: restart it with the former configuration: `wwwoffle stop`, then \
                 `wwwoffle serve`"
            ),
        );
    }
    let (has_failed, has_kept) = (!failed.is_empty(), !kept.is_empty());
    failed.extend(kept);
    failed.reverse();
    record.retain(failed).map_err(VerbFailure::plain)?;
    if has_kept && !has_failed {
        return Err(VerbFailure::plain(
            "what was changed since is left alone, and its former state stays recorded; `wwwoffle setup \
             --undo --forget` forgets it",
        ));
    }
    if has_failed {
        return Err(VerbFailure::plain(
            "not everything was restored: remove the causes above, then repeat `wwwoffle setup --undo`",
        ));
    }
    writeln!(terminal.stdout, "everything is taken back; the spool stays")?;
    Ok(ExitStatus::Done)
}

/// Prints a line about a change. A closed output must not end the work half-way.
fn tell(out: &mut dyn Write, line: std::fmt::Arguments<'_>) {
    let _unread = writeln!(out, "{line}");
}

/// Returns the message of a failure.
fn said(failure: VerbFailure) -> String {
    match failure {
        VerbFailure::Said(_, message) => message,
        VerbFailure::NobodyReads | VerbFailure::CommandEnded(_) => "interrupted".to_owned(),
    }
}
