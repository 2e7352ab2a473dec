//! Single changes to a configuration's text that leave every other byte unchanged.
//!
//! An edit replaces one range of the text. The range follows from the parsed TOML, and nothing is
//! reformatted. So comments, order, blank lines, line ends and a byte order mark stay. A comment
//! inside the removed text stays too, on its own line.
//!
//! Edits do not check that the new text is a valid configuration;
//! [`Config::parse`](crate::Config::parse) does.
//!
//! ```
//! use wwwoffle_config::edit::{Edit, apply};
//!
//! let text = "[options]\n# How long to wait.\n#connect-timeout = \"30s\"\n\n[startup]\n";
//! let edit = Edit::Set {
//!     section: "options".into(),
//!     key: "connect-timeout".into(),
//!     value: "5s".into(),
//! };
//! let edited = apply(text, &edit)?;
//! assert_eq!(
//!     edited.text,
//!     "[options]\n# How long to wait.\n#connect-timeout = \"30s\"\nconnect-timeout = \"5s\"\n\n[startup]\n"
//! );
//! # Ok::<(), wwwoffle_config::edit::EditError>(())
//! ```

mod array;
mod changes;
mod entry;
mod given;
mod layout;
mod overview;
mod rule;
mod secret;
mod typed;

use crate::{config::nearest::nearest, error::suggestion, schema::SECTIONS};
use serde::{Deserialize, Serialize};
use std::ops::Range;

pub use self::changes::{OptionChange, changes};
use self::entry::EditTarget;
pub use self::overview::{OptionState, Overview, RuleState, overview};
pub use self::secret::without_secrets;
pub use self::typed::{elements, quoted, unquoted};

/// One change of a configuration.
///
/// A value is written as in the file (`"30s"`, `true`, `["443"]`). A value that is not TOML counts
/// as a text: `30s` is `"30s"`.
///
/// In JSON it is an object with one field, such as `{"set": {"section": …}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Edit {
    /// Sets an option.
    Set {
        /// The section, without brackets.
        section: String,
        /// The option in the section.
        key: String,
        /// The value.
        value: String,
    },
    /// Resets an option to its default.
    Unset {
        /// The section, without brackets.
        section: String,
        /// The option in the section.
        key: String,
    },
    /// Adds an element to an option that is an array. If the option is not set, the element is
    /// added to the default.
    Add {
        /// The section, without brackets.
        section: String,
        /// The option in the section.
        key: String,
        /// The element.
        item: String,
        /// The number of the element before which to insert, counted from 0. `None`, or a number
        /// beyond the last element, means the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<usize>,
    },
    /// Removes an element from an option that is an array.
    Remove {
        /// The section, without brackets.
        section: String,
        /// The option in the section.
        key: String,
        /// The element.
        item: String,
    },
    /// Adds a rule, `[[section.for]]`.
    AddRule {
        /// The section whose options the rule sets.
        section: String,
        /// The URL-SPECIFICATIONs of the rule, in order.
        url: Vec<String>,
        /// The options of the rule and their values, in order.
        options: Vec<(String, String)>,
        /// The number of the rule before which to insert, counted from 0 in the section. `None`, or
        /// a number beyond the last rule, means the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<usize>,
    },
    /// Removes a rule.
    RemoveRule {
        /// The section.
        section: String,
        /// The number of the rule in its section, counted from 0.
        index: usize,
        /// The URL-SPECIFICATIONs that the rule is expected to have.
        url: Vec<String>,
    },
    /// Replaces a rule. URL-SPECIFICATIONs that are the same in both rules keep their notation.
    ReplaceRule {
        /// The section.
        section: String,
        /// The number of the rule in its section, counted from 0.
        index: usize,
        /// The URL-SPECIFICATIONs that the rule is expected to have.
        was: Vec<String>,
        /// The new URL-SPECIFICATIONs, in order.
        url: Vec<String>,
        /// The new options and their values, in order.
        options: Vec<(String, String)>,
    },
}

/// The content of a rule: URLs, and the values of options for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// URL-SPECIFICATIONs, in order.
    pub urls: Vec<String>,
    /// Options and their values, in order.
    pub options: Vec<(String, String)>,
}

impl Rule {
    fn new(urls: &[String], options: &[(String, String)]) -> Self {
        Self { urls: urls.to_vec(), options: options.to_vec() }
    }
}

/// A text after an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditResult {
    /// The whole text.
    pub text: String,
    /// The line of the value or rule, counted from 1. If the edit removed it, its line in the old
    /// text.
    pub line: usize,
    /// The former value or rule as written; `None` if there was none. A secret is replaced by a
    /// placeholder.
    pub was: Option<String>,
    /// The new value or rule as written; `None` if there is none. A secret is replaced by a
    /// placeholder.
    pub now: Option<String>,
}

/// The reason why a text was not edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text is not TOML.
    #[error("the configuration is not TOML: {0}")]
    NotToml(String),
    /// The section does not exist.
    #[error("there is no section [{found}]{}", suggestion(*.nearest))]
    UnknownSection {
        /// The given name.
        found: String,
        /// The nearest known name. `None` if no known name is similar.
        nearest: Option<&'static str>,
    },
    /// The section has no such option.
    #[error("[{section}] has no option {found:?}{}", suggestion(*.nearest))]
    UnknownOption {
        /// The section.
        section: String,
        /// The given name.
        found: String,
        /// The nearest known name. `None` if no known name is similar.
        nearest: Option<&'static str>,
    },
    /// A name that cannot be written without quotes.
    #[error("expected a name of letters, digits, \"-\" and \"_\", not {0:?}")]
    BadName(String),
    /// The option is not an array, so it has no elements.
    #[error("{0:?} is not an array: set its whole value")]
    NotAnArray(String),
    /// The array has no such element.
    #[error("{option:?} has no element {item}; its value is {found}")]
    NoItem {
        /// The option.
        option: String,
        /// The requested element.
        item: String,
        /// The array.
        found: String,
    },
    /// The section has no rule with this number.
    #[error("[{section}] has no rule {index} (number of rules: {count}, counted from 0)")]
    NoRule {
        /// The section.
        section: String,
        /// The given number.
        index: usize,
        /// The number of rules in the section.
        count: usize,
    },
    /// The rule with this number is for other URLs than expected.
    #[error(
        "rule {index} of [{section}] is for {found:?}, not for {expected:?}: the file has changed, so read it again"
    )]
    OtherRule {
        /// The section.
        section: String,
        /// The given number.
        index: usize,
        /// The URLs that were expected.
        expected: Vec<String>,
        /// The URLs of the rule.
        found: Vec<String>,
    },
    /// The text has a notation that edits do not support.
    #[error("{0} has a notation that cannot be edited automatically: change it in the file")]
    ByHand(String),
}

/// Edits `text`.
///
/// # Errors
///
/// Any [`EditError`]. Each variant states its reason.
pub fn apply(text: &str, edit: &Edit) -> Result<EditResult, EditError> {
    secret::hide(edit, apply_edit(text, edit))
}

fn apply_edit(text: &str, edit: &Edit) -> Result<EditResult, EditError> {
    match edit {
        Edit::Set { section, key, value } => {
            known(section, key)?;
            entry::set(text, &EditTarget::Section(section), key, &given::value(section, key, value))
        }
        Edit::Unset { section, key } => {
            let unset = entry::unset(text, &EditTarget::Section(section), key)?;
            // A name that is neither set nor known may be a typing error, so it is refused.
            if unset.was.is_none() {
                known(section, key)?;
            }
            Ok(unset)
        }
        Edit::Add { section, key, item, before } => {
            let default = known(section, key)?;
            array::add(text, section, key, &given::item(section, key, item), *before, default)
        }
        Edit::Remove { section, key, item } => {
            let default = known(section, key)?;
            array::remove(text, section, key, &given::item(section, key, item), default)
        }
        Edit::AddRule { section, url, options, before } => {
            rule::add(text, section, &Rule::new(url, options), *before)
        }
        Edit::RemoveRule { section, index, url } => rule::remove(text, section, *index, url),
        Edit::ReplaceRule { section, index, was, url, options } => {
            rule::replace(text, section, *index, was, &Rule::new(url, options))
        }
    }
}

/// Returns the default of an option. Fails if the schema does not contain the option.
fn known(section: &str, key: &str) -> Result<&'static str, EditError> {
    let options = known_section(section)?;
    let known = options.iter().find(|option| option.key == key);
    known.map(|option| option.default).ok_or_else(|| EditError::UnknownOption {
        section: section.to_owned(),
        found: key.to_owned(),
        nearest: nearest(key, options.iter().map(|option| option.key)),
    })
}

fn known_section(section: &str) -> Result<&'static [crate::schema::OptionInfo], EditError> {
    let known = SECTIONS.iter().find(|known| known.name == section);
    known.map(|known| known.options).ok_or_else(|| EditError::UnknownSection {
        found: section.to_owned(),
        nearest: nearest(section, SECTIONS.iter().map(|known| known.name)),
    })
}

/// Checks that a name can be written without quotes.
fn check_bare_key(name: &str) -> Result<(), EditError> {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !name.is_empty() && name.bytes().all(is_bare) {
        return Ok(());
    }
    Err(EditError::BadName(name.to_owned()))
}

/// A replacement of one range of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Splice {
    at: Range<usize>,
    with: String,
}

impl Splice {
    fn insert(at: usize, with: String) -> Self {
        Self { at: at..at, with }
    }

    fn apply(&self, text: &str) -> String {
        let before = text.get(..self.at.start).unwrap_or_default();
        let after = text.get(self.at.end..).unwrap_or_default();
        [before, &self.with, after].concat()
    }
}
