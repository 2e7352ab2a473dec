//! The service of systemd that runs the daemon.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::change::Undone;
use super::file::{FileChange, FileReaders};
use crate::cli::programs;
use crate::cli::service::{self, NAME};
use crate::cli::settings::Settings;

/// The directories of units, below the root.
const UNITS: [&str; 4] = [
    "etc/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
];

/// The unit that opens the ports of the daemon.
const SOCKETS: &str = "wwwoffle.socket";

/// The directory that exists if systemd runs the machine, below the root.
const RUNNING: &str = "run/systemd/system";

/// Access to a service manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manager {
    systemctl: PathBuf,
    /// Whether it is the service manager of this user, not of the machine.
    is_user: bool,
}

/// The state of the service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ServiceState {
    pub(super) is_enabled: bool,
    pub(super) is_active: bool,
}

/// The service, and its state before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ServiceChange {
    manager: Manager,
    /// The unit of this user. The one of the machine comes from a package.
    unit: Option<FileChange>,
    before: ServiceState,
    /// Whether the running service needs a restart to use another address.
    restarts: bool,
}

impl Manager {
    /// Finds the service manager. The error says why there is none, and what to do by hand.
    pub(super) fn find(
        is_user: bool,
        root: &Path,
        settings: &Settings<'_>,
    ) -> Result<Self, String> {
        let by_hand = "start `wwwoffle serve` by hand, or with another service manager";
        let systemctl = settings.program("systemctl").ok_or_else(|| {
            format!("there is no `systemctl`, so systemd does not run here: {by_hand}")
        })?;
        if !is_user {
            let has_unit =
                |directory: &str| rustix::fs::stat(root.join(directory).join(NAME)).is_ok();
            if !UNITS.iter().any(|directory| has_unit(directory)) {
                return Err(format!(
                    "this machine has no unit {NAME}: install the package, or the unit of \
                     packaging/systemd"
                ));
            }
            if rustix::fs::stat(root.join(RUNNING)).is_err() {
                return Err(format!("systemd does not run here: {by_hand}"));
            }
        }
        Ok(Self { systemctl, is_user })
    }

    /// Returns the state of the service. The error says why the service manager does not answer.
    pub(super) fn state(&self) -> Result<ServiceState, String> {
        let shown = self.run(&["show", "--property=UnitFileState,ActiveState", NAME])?;
        let has = |line: &str| shown.lines().any(|one| one.trim() == line);
        Ok(ServiceState {
            is_enabled: has("UnitFileState=enabled"),
            is_active: has("ActiveState=active") || has("ActiveState=reloading"),
        })
    }

    /// Returns the addresses that systemd opens for the daemon. They replace the configured ones. Empty if
    /// systemd opens none.
    pub(super) fn sockets(&self) -> Vec<String> {
        let shown = self.run(&["show", "--property=ActiveState,Listen", SOCKETS]);
        let shown = shown.unwrap_or_default();
        if !shown.lines().any(|line| line.trim() == "ActiveState=active") {
            return Vec::new();
        }
        let address =
            |line: &str| Some(line.strip_prefix("Listen=")?.split(' ').next()?.to_owned());
        shown.lines().filter_map(address).collect()
    }

    fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let user: &[&str] = if self.is_user { &["--user"] } else { &[] };
        let line = [user, arguments].concat();
        let shown = || format!("`systemctl {}`", line.join(" "));
        match programs::run(&self.systemctl, &line, "") {
            Ok(ran) if ran.success => Ok(ran.out),
            Ok(ran) => Err(format!("{} failed: {}", shown(), ran.why)),
            Err(error) => Err(format!("{} failed: {error}", shown())),
        }
    }
}

impl ServiceChange {
    /// Plans to run the service, now and at each start.
    pub(super) fn plan(
        manager: Manager,
        restarts: bool,
        settings: &Settings<'_>,
    ) -> Result<Self, String> {
        let before = manager.state()?;
        let unit = if manager.is_user {
            let path =
                service::user_unit(settings).ok_or("the home directory is unknown: set HOME")?;
            let text = service::unit_text(settings).map_err(super::said)?;
            let unit = FileChange::plan(&path, text.into_bytes(), FileReaders::Everyone)?;
            if unit.former().is_some_and(|text| !service::is_ours(text)) {
                return Err(format!(
                    "{} was not written by wwwoffle: rename or remove it",
                    path.display()
                ));
            }
            Some(unit)
        } else {
            None
        };
        Ok(Self { manager, unit, before, restarts })
    }

    /// Returns the name of the service.
    pub(super) fn name(&self) -> String {
        let whose = if self.manager.is_user { "this user" } else { "this machine" };
        format!("service {NAME} of {whose}")
    }

    fn has_new_unit(&self) -> bool {
        self.unit.as_ref().is_some_and(|unit| !unit.is_done())
    }

    /// Whether the service runs already, as planned.
    pub(super) fn is_done(&self) -> bool {
        self.before == ServiceState { is_enabled: true, is_active: true }
            && !self.restarts
            && !self.has_new_unit()
    }

    /// Returns the lines that show the change.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(unit) = self.unit.as_ref().filter(|unit| !unit.is_done()) {
            lines.push(format!("file {}", unit.path.display()));
            lines.extend(unit.lines());
        }
        let word = |is: bool, yes: &'static str, no: &'static str| if is { yes } else { no };
        let state = |is_enabled, is_active| {
            let starts = word(is_enabled, "enabled", "not enabled");
            format!("{starts}, {}", word(is_active, "active", "not active"))
        };
        let before = state(self.before.is_enabled, self.before.is_active);
        let again = word(self.restarts && self.before.is_active, ", restarted", "");
        lines.push(format!("{before} -> {}{again}", state(true, true)));
        lines
    }

    /// Writes the unit and starts the service. After an interruption, it is restarted.
    pub(super) fn apply(&self, is_interrupted: bool) -> Result<(), String> {
        if let Some(unit) = self.unit.as_ref().filter(|unit| !unit.is_done()) {
            unit.apply()?;
        }
        if self.unit.is_some() {
            self.manager.run(&["daemon-reload"])?;
        }
        self.manager.run(&["enable", NAME])?;
        // An interrupted set-up may have changed the unit or the configuration.
        let restarts = self.restarts || self.has_new_unit() || is_interrupted;
        let verb = if restarts { "restart" } else { "start" };
        self.manager.run(&[verb, NAME])?;
        Ok(())
    }

    /// Restores the former unit and the former state of the service.
    pub(super) fn undo(&self) -> Result<Undone, String> {
        let now = self.manager.state()?;
        if !self.before.is_active && now.is_active {
            self.manager.run(&["stop", NAME])?;
        }
        if !self.before.is_enabled && now.is_enabled {
            self.manager.run(&["disable", NAME])?;
        }
        let unit = match &self.unit {
            Some(unit) => unit.undo()?,
            None => Undone::Already,
        };
        if unit == Undone::Restored {
            self.manager.run(&["daemon-reload"])?;
        }
        if self.before.is_active && (self.restarts || unit == Undone::Restored) {
            self.manager.run(&["restart", NAME])?;
        }
        Ok(match unit {
            Undone::Already if now == self.before && !self.restarts => Undone::Already,
            Undone::Already => Undone::Restored,
            other => other,
        })
    }

    /// Combines this change with the recorded one, which came before.
    pub(super) fn after(mut self, recorded: &Self) -> Self {
        self.before = recorded.before;
        self.restarts |= recorded.restarts;
        self.unit = match (self.unit, &recorded.unit) {
            (Some(unit), Some(recorded)) => Some(unit.after(recorded)),
            (unit, _) => unit,
        };
        self
    }
}
