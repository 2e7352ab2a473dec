//! The shapes of `/api/config`. Values are written as in the file.

use serde::{Deserialize, Serialize};
use wwwoffle_config::edit::{Edit, EditResult, Overview, Rule, overview, without_secrets};
use wwwoffle_config::schema::Effect;
use wwwoffle_config::{
    ChangeError, Config, ConfigFile, ConfigText, EditError, Faults, OptionChange, Version,
};

use super::Timestamp;
use crate::base::error_chain::error_chain;

/// `GET /api/config`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigState {
    /// The file, which need not be there yet.
    pub file: String,
    /// Whether it is.
    pub exists: bool,
    /// What tells its text from every other, for `If-Match`.
    pub stamp: String,
    /// What is wrong with it; the configuration in force is an older one then.
    pub faults: Vec<ConfigFault>,
    /// Every option.
    pub options: Vec<ConfigOption>,
    /// Every rule.
    pub rules: Vec<ConfigRule>,
}

/// An option and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigOption {
    /// Its section.
    pub section: String,
    /// Its name.
    pub key: String,
    /// The name of its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the file sets; `None` lets the default hold.
    pub value: Option<String>,
    /// Its default.
    pub default: String,
    /// The line of the file, counted from 1.
    pub line: Option<usize>,
    /// Whether a new value holds from the next start of the daemon on.
    pub restart: bool,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigRule {
    /// The section whose options it sets.
    pub section: String,
    /// Its number in the section, counted from 0.
    pub index: usize,
    /// The line of its header, counted from 1.
    pub line: usize,
    /// For which URLs.
    pub url: Vec<String>,
    /// The options and their values.
    pub options: Vec<(String, String)>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFault {
    /// The configuration, or a list that it names.
    pub file: String,
    /// The line, counted from 1, if it has one.
    pub line: Option<usize>,
    /// What is wrong, with file and line.
    pub error: String,
}

/// The body of `POST /api/config`: one change, as `{"set": {"section": …}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ConfigEdit {
    /// Gives an option a value.
    Set {
        /// The section.
        section: String,
        /// The option.
        key: String,
        /// The value.
        value: String,
    },
    /// Lets an option have its default again.
    Unset {
        /// The section.
        section: String,
        /// The option.
        key: String,
    },
    /// Adds an element to an array.
    Add {
        /// The section.
        section: String,
        /// The option.
        key: String,
        /// The element.
        item: String,
        /// In front of which, counted from 0; else at the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<usize>,
    },
    /// Removes an element from an array.
    Remove {
        /// The section.
        section: String,
        /// The option.
        key: String,
        /// The element.
        item: String,
    },
    /// Adds a rule.
    AddRule {
        /// The section.
        section: String,
        /// For which URLs.
        url: Vec<String>,
        /// The options and their values.
        options: Vec<(String, String)>,
        /// In front of which, counted from 0; else at the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<usize>,
    },
    /// Removes a rule.
    RemoveRule {
        /// The section.
        section: String,
        /// Its number, counted from 0.
        index: usize,
        /// For which URLs it is known to be.
        url: Vec<String>,
    },
    /// Puts a rule in the place of another.
    ReplaceRule {
        /// The section.
        section: String,
        /// Its number, counted from 0.
        index: usize,
        /// For which URLs it is known to be.
        was: Vec<String>,
        /// For which URLs it shall be.
        url: Vec<String>,
        /// The options and their values.
        options: Vec<(String, String)>,
    },
}

impl From<ConfigEdit> for Edit {
    fn from(edit: ConfigEdit) -> Self {
        match edit {
            ConfigEdit::Set { section, key, value } => Self::Set { section, key, value },
            ConfigEdit::Unset { section, key } => Self::Unset { section, key },
            ConfigEdit::Add { section, key, item, before } => {
                Self::Add { section, key, item, before }
            }
            ConfigEdit::Remove { section, key, item } => Self::Remove { section, key, item },
            ConfigEdit::AddRule { section, url, options, before } => {
                Self::AddRule { section, rule: Rule { urls: url, options }, before }
            }
            ConfigEdit::RemoveRule { section, index, url } => {
                Self::RemoveRule { section, index, urls: url }
            }
            ConfigEdit::ReplaceRule { section, index, was, url, options } => {
                Self::ReplaceRule { section, index, urls: was, rule: Rule { urls: url, options } }
            }
        }
    }
}

/// The answer to `POST /api/config`, `/api/config/undo` and `/api/config/reload`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigChange {
    /// The file.
    pub file: String,
    /// What tells its text now from every other.
    pub stamp: String,
    /// The line of the change, if it was an edit.
    pub line: Option<usize>,
    /// The value before, if it was set.
    pub was: Option<String>,
    /// The value now, if it is set.
    pub now: Option<String>,
    /// The options that mean something else now, as `section.key`.
    pub changed: Vec<String>,
    /// Those that differ from what the daemon started with, and are read only then.
    pub restart: Vec<String>,
}

/// The body of `POST /api/config/undo`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigUndo {
    /// The version to put back; the one before without it.
    #[serde(default)]
    pub version: Option<u64>,
}

/// `GET /api/config/versions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigVersions {
    /// The oldest first.
    pub versions: Vec<ConfigVersion>,
}

/// A text of before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigVersion {
    /// Its number.
    pub version: u64,
    /// When another took its place.
    pub until: Timestamp,
}

impl ConfigState {
    /// What `text` sets, which is that of `file`.
    ///
    /// # Errors
    ///
    /// When it is not TOML.
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
    /// Everything that is wrong.
    #[must_use]
    pub fn all(faults: &Faults) -> Vec<Self> {
        let faults = faults.as_slice().iter();
        let told = faults.map(|fault| Self {
            file: fault.file().display().to_string(),
            line: fault.line(),
            error: fault.to_string(),
        });
        told.collect()
    }
}

impl ConfigChange {
    /// A change of `file`, whose text is `text` now.
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
    /// These versions.
    #[must_use]
    pub fn of(versions: &[Version]) -> Self {
        let versions = versions.iter().map(|version| ConfigVersion {
            version: version.number,
            until: Timestamp::try_from(version.until).unwrap_or(Timestamp::UNIX_EPOCH),
        });
        Self { versions: versions.collect() }
    }
}

/// The body of an answer that says why a configuration was not changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigError {
    /// What is wrong, for a person.
    pub error: String,
    /// Everything that would be wrong with the new text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<ConfigFault>,
    /// The text as it is, where that is not the one that was to be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// What it would be with the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
}

impl ConfigError {
    /// Why a change was not made.
    #[must_use]
    pub fn of(error: &ChangeError) -> Self {
        match error {
            ChangeError::Faults(faults) => Self {
                error: "the configuration would be faulty, so it stays as it was".to_owned(),
                faults: ConfigFault::all(faults),
                ..Self::default()
            },
            ChangeError::Conflict { current, wanted } => Self {
                error: error.to_string(),
                current: Some(without_secrets(current)),
                wanted: wanted.as_deref().map(without_secrets),
                ..Self::default()
            },
            _ => Self { error: error_chain(error), ..Self::default() },
        }
    }
}
