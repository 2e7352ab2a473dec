//! The JSON types of `/api/config`. Values are written as in the file.

use serde::{Deserialize, Serialize};
use wwwoffle_config::edit::{EditResult, Overview, overview};
use wwwoffle_config::schema::Effect;
use wwwoffle_config::{
    Config, ConfigFile, ConfigText, EarlierConfig, EditError, Faults, OptionChange,
};

use super::Timestamp;

/// The response to `GET /api/config`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigState {
    /// The path of the configuration file, which may not exist yet.
    pub file: String,
    /// Whether the file exists.
    pub exists: bool,
    /// The entity tag of the text, for `If-Match`.
    pub stamp: String,
    /// The errors in the text. If there are any, an older configuration is in force.
    pub faults: Vec<ConfigFault>,
    /// Every option.
    pub options: Vec<ConfigOption>,
    /// Every rule.
    pub rules: Vec<ConfigRule>,
}

/// An option and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigOption {
    /// The section of the option.
    pub section: String,
    /// The name of the option.
    pub key: String,
    /// The name of the option's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The value in the file; `None` if the default applies.
    pub value: Option<String>,
    /// The default of the option.
    pub default: String,
    /// The line in the file, counted from 1; `None` if the default applies.
    pub line: Option<usize>,
    /// Whether a new value takes effect only at the next start of the daemon.
    pub restart: bool,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigRule {
    /// The section whose options the rule sets.
    pub section: String,
    /// The number of the rule in the section, counted from 0.
    pub index: usize,
    /// The line of the rule's header, counted from 1.
    pub line: usize,
    /// The URL-SPECIFICATIONs of the rule.
    pub url: Vec<String>,
    /// The names and the values of the rule's options.
    pub options: Vec<(String, String)>,
}

/// An error in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFault {
    /// The file of the error: the configuration, or a list that the configuration names.
    pub file: String,
    /// The line, counted from 1, if known.
    pub line: Option<usize>,
    /// The message, with file and line.
    pub error: String,
}

/// The body of `POST /api/config`: one change, as `{"set": {"section": …}}`.
pub use wwwoffle_config::edit::Edit as ConfigEdit;

/// The response to `POST /api/config`, `/api/config/undo` and `/api/config/reload`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigChange {
    /// The path of the configuration file.
    pub file: String,
    /// The entity tag of the new text.
    pub stamp: String,
    /// The line of the change; `None` if the change was not an edit.
    pub line: Option<usize>,
    /// The previous value of the option, or the previous rule. `None` if there was none, or if the
    /// change was not an edit.
    pub was: Option<String>,
    /// The new value of the option, or the new rule. `None` if there is none, or if the change was
    /// not an edit.
    pub now: Option<String>,
    /// The options with a new value, as `section.key`. `section.for` stands for new rules.
    pub changed: Vec<String>,
    /// The options that are read only at the start of the daemon and have changed since then.
    pub restart: Vec<String>,
}

/// The body of `POST /api/config/undo`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigUndo {
    /// The number of the version to restore. If omitted, the latest version that differs from the
    /// present text.
    #[serde(default)]
    pub version: Option<u64>,
}

/// The response to `GET /api/config/versions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigVersions {
    /// The versions, oldest first.
    pub versions: Vec<ConfigVersion>,
}

/// An earlier version of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigVersion {
    /// The number of the version.
    pub version: u64,
    /// When the version was replaced.
    pub until: Timestamp,
}

impl ConfigState {
    /// The state of the configuration file `file`, whose text is `text`.
    ///
    /// # Errors
    ///
    /// [`EditError::NotToml`] if the text is not TOML.
    pub fn of(file: &ConfigFile, text: &ConfigText) -> Result<Self, EditError> {
        let Overview { options, rules } = overview(&text.text)?;
        let faults = Config::parse(&text.text, file.path());
        let options = options.into_iter().map(|state| ConfigOption {
            section: state.section.to_owned(),
            key: state.option.key.to_owned(),
            kind: state.option.kind.to_owned(),
            value: state.value,
            default: state.option.default.to_owned(),
            line: state.line,
            restart: state.option.effect == Effect::Restart,
        });
        let rules = rules.into_iter().map(|state| ConfigRule {
            section: state.section.to_owned(),
            index: state.index,
            line: state.line,
            url: state.rule.urls,
            options: state.rule.options,
        });
        Ok(Self {
            file: file.path().display().to_string(),
            exists: text.exists,
            stamp: text.stamp.to_string(),
            faults: faults.err().map_or_else(Vec::new, |faults| ConfigFault::all(&faults)),
            options: options.collect(),
            rules: rules.collect(),
        })
    }
}

impl ConfigFault {
    /// Converts all faults.
    #[must_use]
    pub fn all(faults: &Faults) -> Vec<Self> {
        let faults = faults.as_slice().iter();
        let errors = faults.map(|fault| Self {
            file: fault.file().display().to_string(),
            line: fault.line(),
            error: fault.to_string(),
        });
        errors.collect()
    }
}

impl ConfigChange {
    /// A change of `file`, whose new text is `text`.
    #[must_use]
    pub fn of(
        file: &ConfigFile,
        text: &ConfigText,
        edited: Option<EditResult>,
        changed: &[OptionChange],
        restart: &[OptionChange],
    ) -> Self {
        let (line, was, now) = match edited {
            Some(edited) => (Some(edited.line), edited.was, edited.now),
            None => (None, None, None),
        };
        let names = |options: &[OptionChange]| {
            options.iter().map(|change| format!("{}.{}", change.section, change.key)).collect()
        };
        Self {
            file: file.path().display().to_string(),
            stamp: text.stamp.to_string(),
            line,
            was,
            now,
            changed: names(changed),
            restart: names(restart),
        }
    }
}

impl ConfigVersions {
    /// Converts a list of versions.
    #[must_use]
    pub fn of(versions: &[EarlierConfig]) -> Self {
        let versions = versions.iter().map(|version| ConfigVersion {
            version: version.number,
            until: Timestamp::try_from(version.until).unwrap_or(Timestamp::UNIX_EPOCH),
        });
        Self { versions: versions.collect() }
    }
}

/// The body of a response that says why a configuration was not changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigError {
    /// The message for the user.
    pub error: String,
    /// All errors that the new text would have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<ConfigFault>,
    /// The current text, if the file has changed since the caller read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// The current text with the change applied. Absent if `current` is absent, or if the change
    /// does not fit the current text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
}
