//! `wwwoffle service`: runs the daemon as a service of systemd, for one user.

use std::path::{Path, PathBuf};

use super::args::{ServiceArgs, ServiceVerb};
use super::failure::{VerbFailure, VerbResult};
use super::settings::Settings;
use super::{VerbContext, programs};
use crate::base::exit::ExitStatus;
use crate::base::small_file::{self, Readers};

/// The unit of the package, in which the commands are replaced.
const UNIT: &str = include_str!("../../packaging/systemd/user/wwwoffle.service");

/// The program in the commands of [`UNIT`].
const PACKAGED: &str = "/usr/bin/wwwoffle";

/// The first line of a unit that [`install`] wrote. A unit without it is not changed.
const MARK: &str = "# Written by `wwwoffle service install --user`.\n";

/// The name of the unit.
pub(super) const NAME: &str = "wwwoffle.service";

/// Installs or removes the service.
pub(super) fn run(verb: &ServiceVerb, context: &mut VerbContext<'_>) -> VerbResult {
    let service = UserService::of(&context.settings)?;
    match verb {
        ServiceVerb::Install(typed) => service.install(typed, context),
        ServiceVerb::Uninstall(typed) => service.uninstall(typed, context),
    }
}

/// The service of this user.
struct UserService {
    systemctl: PathBuf,
    unit: PathBuf,
}

impl UserService {
    fn of(settings: &Settings<'_>) -> VerbResult<Self> {
        let systemctl = settings.program("systemctl").ok_or_else(|| {
            VerbFailure::plain(
                "there is no `systemctl`, so systemd does not run here: let another service \
                 manager start `wwwoffle serve`",
            )
        })?;
        let unit = user_unit(settings).ok_or_else(|| {
            VerbFailure::plain("the home directory is unknown: set HOME to an absolute path")
        })?;
        Ok(Self { systemctl, unit })
    }

    fn install(&self, typed: &ServiceArgs, context: &mut VerbContext<'_>) -> VerbResult {
        let VerbContext { settings, terminal } = context;
        let text = unit_text(settings)?;
        let commands = [&["daemon-reload"][..], &["enable", NAME], &["restart", NAME]];
        if typed.print {
            write!(terminal.stdout, "# {}\n{text}", self.unit.display())?;
            return print(&commands, context);
        }
        super::setup::check_home(settings)?;
        if !self.is_ours()? && settings.daemon()?.is_some() {
            return Err(VerbFailure::Said(
                ExitStatus::Taken,
                "a daemon is running on this spool: stop it with `wwwoffle stop`, then install the \
                 service"
                    .to_owned(),
            ));
        }
        let cannot = |error| {
            VerbFailure::failed(format_args!("{} cannot be written", self.unit.display()), &error)
        };
        let folder = self.unit.parent().unwrap_or(Path::new("/"));
        small_file::create_directories(folder).map_err(cannot)?;
        small_file::write(&self.unit, text.as_bytes(), Readers::All).map_err(cannot)?;
        self.run(&commands)?;
        writeln!(terminal.stdout, "{NAME} runs, and starts at every login")?;
        writeln!(
            terminal.stderr,
            "wwwoffle: `loginctl enable-linger` starts it with the machine; \
             `journalctl --user -u {NAME}` shows its log"
        )?;
        Ok(ExitStatus::Done)
    }

    fn uninstall(&self, typed: &ServiceArgs, context: &mut VerbContext<'_>) -> VerbResult {
        let stop = [&["disable", "--now", NAME][..]];
        let forget = [&["daemon-reload"][..]];
        if typed.print {
            print(&stop, context)?;
            let unit = programs::quoted(&self.unit.to_string_lossy());
            writeln!(context.terminal.stdout, "rm {unit}")?;
            return print(&forget, context);
        }
        let terminal = &mut context.terminal;
        if !self.is_ours()? {
            writeln!(terminal.stdout, "the service is not installed")?;
            return Ok(ExitStatus::Done);
        }
        self.run(&stop)?;
        small_file::remove(&self.unit).map_err(|error| {
            VerbFailure::failed(format_args!("{} cannot be removed", self.unit.display()), &error)
        })?;
        self.run(&forget)?;
        writeln!(terminal.stdout, "{NAME} is stopped and removed; the spool stays")?;
        Ok(ExitStatus::Done)
    }

    /// Whether the unit exists. Fails if it is not one of ours.
    fn is_ours(&self) -> VerbResult<bool> {
        let path = self.unit.display();
        let found = small_file::read(&self.unit)
            .map_err(|error| VerbFailure::failed(format_args!("{path} cannot be read"), &error))?;
        match found {
            None => Ok(false),
            Some(text) if is_ours(&text) => Ok(true),
            Some(_) => Err(VerbFailure::plain(format_args!(
                "{path} was not written by `wwwoffle service install`: remove it first"
            ))),
        }
    }

    fn run(&self, commands: &[&[&str]]) -> VerbResult<()> {
        for arguments in commands {
            let line = format!("systemctl --user {}", arguments.join(" "));
            let typed: Vec<&str> = ["--user"].iter().chain(*arguments).copied().collect();
            let ran = programs::run(&self.systemctl, &typed, "")
                .map_err(|error| VerbFailure::failed(format_args!("`{line}` failed"), &error))?;
            if !ran.success {
                return Err(VerbFailure::plain(format_args!(
                    "`{line}` failed: {}; `journalctl --user -u {NAME}` may say more",
                    ran.why
                )));
            }
        }
        Ok(())
    }
}

/// Prints the commands that [`UserService::run`] would run.
fn print(commands: &[&[&str]], context: &mut VerbContext<'_>) -> VerbResult {
    for arguments in commands {
        writeln!(context.terminal.stdout, "systemctl --user {}", arguments.join(" "))?;
    }
    Ok(ExitStatus::Done)
}

/// Returns the path of the unit of this user. `None` if the home directory is unknown.
pub(super) fn user_unit(settings: &Settings<'_>) -> Option<PathBuf> {
    settings.environment.config_home().map(|config| config.join("systemd/user").join(NAME))
}

/// Whether a unit with this text was written by wwwoffle.
pub(super) fn is_ours(text: &[u8]) -> bool {
    text.starts_with(MARK.as_bytes())
}

/// The unit with this program, and with the configuration and the spool that were typed or that the
/// environment names: the service has another environment.
pub(super) fn unit_text(settings: &Settings<'_>) -> VerbResult<String> {
    let unknown = |error| VerbFailure::failed("the path of a file is unknown", &error);
    let program = std::env::current_exe().map_err(unknown)?;
    if program.as_os_str().as_encoded_bytes().ends_with(b" (deleted)") {
        return Err(VerbFailure::plain(
            "this program was replaced while it ran: repeat the command with the new program",
        ));
    }
    let mut command = quoted(&program)?;
    let config = match &settings.config_file {
        Some(typed) => Some(typed.clone()),
        None => settings.config_of_environment()?,
    };
    let spool = match &settings.spool {
        Some(typed) => Some(typed.clone()),
        None => settings.spool_of_environment()?,
    };
    for (option, path) in [("--config", config), ("--spool", spool)] {
        if let Some(path) = path {
            let path = std::path::absolute(path).map_err(unknown)?;
            command = format!("{command} {option} {}", quoted(&path)?.replace('$', "$$"));
        }
    }
    let unit = UNIT.replace(&format!("={PACKAGED} "), &format!("={command} "));
    let settings = unit.split_once("[Unit]").map_or(unit.as_str(), |(_, rest)| rest);
    Ok(format!("{MARK}[Unit]{settings}"))
}

/// Quotes a path as one word of a command in a unit (`systemd.service(5)`, *Command lines*). In an
/// argument, but not in the path of the program, each `$` must then be doubled.
fn quoted(path: &Path) -> VerbResult<String> {
    let text = path.to_str().filter(|text| !text.contains(char::is_control)).ok_or_else(|| {
        let shown = path.to_string_lossy();
        VerbFailure::plain(format_args!(
            "a unit cannot contain the path {shown:?}: rename it, without control characters and \
             in UTF-8"
        ))
    })?;
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    Ok(format!("\"{text}\""))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_unit() {
        let word = quoted(Path::new("/home/a b/$x%\"\\")).unwrap();
        assert_eq!(word, r#""/home/a b/$x%%\"\\""#);
        for bad in [&b"/a\nExecStart=/b"[..], b"/a\x7f", b"/\xff"] {
            let refused = quoted(Path::new(OsStr::from_bytes(bad)));
            assert!(matches!(refused, Err(VerbFailure::Said(_, why)) if why.contains("rename it")));
        }
    }
}
