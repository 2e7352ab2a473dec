//! A setting of a desktop, which its own tool reads and writes.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::change::Undone;
use crate::cli::programs;
use crate::cli::settings::Settings;

/// The file of KDE with the proxy settings, and their group.
const KDE: [&str; 4] = ["--file", "kioslaverc", "--group", "Proxy Settings"];

/// The tools of KDE, the newest version first: the one that writes and the one that reads.
const KDE_TOOLS: [(&str, &str); 2] =
    [("kwriteconfig6", "kreadconfig6"), ("kwriteconfig5", "kreadconfig5")];

/// A desktop, and the paths of its tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "desktop", rename_all = "kebab-case")]
pub(super) enum Desktop {
    /// GNOME, and desktops with the same settings.
    Gnome {
        tool: PathBuf,
    },
    Kde {
        write: PathBuf,
        read: PathBuf,
    },
}

/// A setting and its values, in the notation of the tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SettingChange {
    desktop: Desktop,
    schema: String,
    key: String,
    /// The former value. `None` if it was not set, so that the default held.
    before: Option<String>,
    after: String,
}

impl Desktop {
    /// Finds the tool of GNOME.
    pub(super) fn gnome(settings: &Settings<'_>) -> Option<Self> {
        settings.program("gsettings").map(|tool| Self::Gnome { tool })
    }

    /// Finds the tools of KDE.
    pub(super) fn kde(settings: &Settings<'_>) -> Option<Self> {
        KDE_TOOLS.iter().find_map(|(write, read)| {
            Some(Self::Kde { write: settings.program(write)?, read: settings.program(read)? })
        })
    }

    /// Returns the value of a setting, without the line break. `None` if it has its default.
    fn value(&self, schema: &str, key: &str) -> Result<Option<String>, String> {
        match self {
            Self::Gnome { tool } => {
                let value = run(tool, &["get", schema, key])?;
                Ok(Some(value).filter(|value| Some(value) != default(tool, schema, key).as_ref()))
            }
            Self::Kde { read, .. } => {
                let value = run(read, &[&KDE[..], &["--key", key]].concat())?;
                Ok(Some(value).filter(|value| !value.is_empty()))
            }
        }
    }

    fn set(&self, schema: &str, key: &str, value: Option<&str>) -> Result<(), String> {
        let done = match (self, value) {
            (Self::Gnome { tool }, Some(value)) => run(tool, &["set", schema, key, value]),
            (Self::Gnome { tool }, None) => run(tool, &["reset", schema, key]),
            (Self::Kde { write, .. }, Some(value)) => {
                run(write, &[&KDE[..], &["--key", key, value]].concat())
            }
            (Self::Kde { write, .. }, None) => {
                run(write, &[&KDE[..], &["--key", key, "--delete", ""]].concat())
            }
        };
        done.map(|_output| ())
    }
}

/// Returns the default of a setting: an empty store in memory has it. `None` if it is unknown.
fn default(tool: &Path, schema: &str, key: &str) -> Option<String> {
    let tool = tool.to_str()?;
    let arguments = ["GSETTINGS_BACKEND=memory", tool, "get", schema, key];
    run(Path::new("/usr/bin/env"), &arguments).ok()
}

fn run(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let shown = program.display();
    match programs::run(program, arguments, "") {
        Ok(ran) if ran.success => Ok(ran.out.trim_end_matches('\n').to_owned()),
        Ok(ran) => Err(format!("{shown}: {}", ran.why)),
        Err(error) => Err(format!("{shown}: {error}")),
    }
}

impl SettingChange {
    /// Plans to set a value. The error says why the setting cannot be read.
    pub(super) fn plan(
        desktop: &Desktop,
        schema: &str,
        key: &str,
        after: &str,
    ) -> Result<Self, String> {
        let before = desktop.value(schema, key)?;
        let (desktop, schema) = (desktop.clone(), schema.to_owned());
        Ok(Self { desktop, schema, key: key.to_owned(), before, after: after.to_owned() })
    }

    /// Returns the name of the setting.
    pub(super) fn name(&self) -> String {
        match self.desktop {
            Desktop::Gnome { .. } => format!("{} {}", self.schema, self.key),
            Desktop::Kde { .. } => format!("kioslaverc [Proxy Settings] {}", self.key),
        }
    }

    /// Whether the setting has the wanted value already.
    pub(super) fn is_done(&self) -> bool {
        self.before.as_ref() == Some(&self.after)
    }

    /// Returns the line that shows the change.
    pub(super) fn line(&self) -> String {
        let before = self.before.as_deref().unwrap_or("default");
        format!("{}: {before} -> {}", self.name(), self.after)
    }

    /// Sets the value, and checks that it is set: without a session bus, some tools only warn.
    pub(super) fn apply(&self) -> Result<(), String> {
        self.desktop.set(&self.schema, &self.key, Some(&self.after))?;
        match self.desktop.value(&self.schema, &self.key)? {
            Some(value) if value == self.after => Ok(()),
            value => Err(format!(
                "{} is {} after it was set: run setup in a session of the desktop",
                self.name(),
                value.as_deref().unwrap_or("its default")
            )),
        }
    }

    /// Restores the former value, unless the setting was changed since.
    pub(super) fn undo(&self) -> Result<Undone, String> {
        let now = self.desktop.value(&self.schema, &self.key)?;
        if now == self.before {
            return Ok(Undone::Already);
        }
        if now.as_ref() != Some(&self.after) {
            let now = now.as_deref().unwrap_or("its default");
            return Ok(Undone::Kept(format!("it was changed to {now} since")));
        }
        self.desktop.set(&self.schema, &self.key, self.before.as_deref())?;
        Ok(Undone::Restored)
    }

    /// Combines this change with the recorded one, which came before.
    pub(super) fn after(mut self, recorded: &Self) -> Self {
        if self.before.as_ref() == Some(&recorded.after) {
            self.before.clone_from(&recorded.before);
        }
        self
    }
}
