//! One change of the machine that can be taken back.

use serde::{Deserialize, Serialize};

use super::certificate::CertificateChange;
use super::file::FileChange;
use super::firefox::ProfileChange;
use super::keyed::KeyedChange;
use super::setting::SettingChange;
use super::unit::ServiceChange;
use crate::cli::settings::Settings;

/// A change, with the values before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum MachineChange {
    Service(ServiceChange),
    Certificate(CertificateChange),
    File(FileChange),
    Keyed(KeyedChange),
    Setting(SettingChange),
    Profile(ProfileChange),
}

/// The result of an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Undone {
    /// The former state is restored.
    Restored,
    /// The former state was there already.
    Already,
    /// A person has changed it since, so it stays. The text says what is different.
    Kept(String),
}

impl MachineChange {
    /// Returns the name of the changed file, setting or store. It identifies the change.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Service(change) => change.name(),
            Self::Certificate(change) => change.name(),
            Self::File(change) => format!("file {}", change.path.display()),
            Self::Keyed(change) => format!("file {}", change.file.path.display()),
            Self::Setting(change) => change.name(),
            Self::Profile(change) => format!("file {}", change.path().display()),
        }
    }

    /// Whether the wanted state is there already.
    pub(super) fn is_done(&self, settings: &Settings<'_>) -> bool {
        match self {
            Self::Service(change) => change.is_done(),
            Self::Certificate(change) => change.is_done(settings),
            Self::File(change) => change.is_done(),
            Self::Keyed(change) => change.is_done(),
            Self::Setting(change) => change.is_done(),
            Self::Profile(change) => change.is_done(),
        }
    }

    /// Whether the configuration of the daemon is changed.
    pub(super) fn is_configuration(&self) -> bool {
        matches!(self, Self::Keyed(change) if change.is_configuration())
    }

    /// Returns the lines that show the change, before and after.
    pub(super) fn lines(&self) -> Vec<String> {
        match self {
            Self::Service(change) => change.lines(),
            Self::Certificate(_) => vec!["not trusted -> trusted".to_owned()],
            Self::File(change) => change.lines(),
            Self::Keyed(change) => change.file.lines(),
            Self::Setting(change) => vec![change.line()],
            Self::Profile(change) => change.lines(),
        }
    }

    /// Restores the former state.
    pub(super) fn undo(&self, settings: &Settings<'_>) -> Result<Undone, String> {
        match self {
            Self::Service(change) => change.undo(),
            Self::Certificate(change) => change.undo(settings),
            Self::File(change) => change.undo(),
            Self::Keyed(change) => change.undo(),
            Self::Setting(change) => change.undo(),
            Self::Profile(change) => change.undo(),
        }
    }

    /// Whether this change and `other` are about the same object.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Certificate(one), Self::Certificate(other)) => one.is_same(other),
            _ => self.name() == other.name(),
        }
    }

    /// Combines this change with the recorded one for the same object, which came before: an undo
    /// restores the state before both.
    pub(super) fn after(self, recorded: &Self) -> Self {
        match (self, recorded) {
            (Self::Service(new), Self::Service(old)) => Self::Service(new.after(old)),
            (Self::Certificate(new), Self::Certificate(old)) => Self::Certificate(new.after(old)),
            (Self::File(new), Self::File(old)) => Self::File(new.after(old)),
            (Self::Keyed(new), Self::Keyed(old)) => Self::Keyed(new.after(old)),
            (Self::Setting(new), Self::Setting(old)) => Self::Setting(new.after(old)),
            (Self::Profile(new), Self::Profile(old)) => Self::Profile(new.after(old)),
            (new, _) => new,
        }
    }
}
