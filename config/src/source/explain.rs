//! The value of an option for a URL, with its location.

use super::{declaration::OptionInfo, origin::Origins};
use crate::{disk::location::Location, pattern::set::ListedSpec};

/// The value of one option for a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionExplanation {
    /// The section of the option.
    pub section: &'static str,
    /// The option.
    pub key: &'static str,
    /// The value in the notation of the file, shortened to a line.
    pub value: String,
    /// The location of the value; `None` for a default.
    pub location: Option<Location>,
    /// The specification that selected the value for this URL, or `None` if no rule did.
    pub rule: Option<ListedSpec>,
}

/// A value that depends on the URL.
#[derive(Clone, Debug)]
pub(crate) struct UrlValue {
    pub(crate) value: String,
    pub(crate) location: Option<Location>,
    pub(crate) rule: Option<ListedSpec>,
}

impl UrlValue {
    /// A value that is written at `location`, and the specification that selected it.
    pub(crate) fn at(location: &Location, value: String, rule: Option<&ListedSpec>) -> Self {
        Self { value, location: Some(location.clone()), rule: rule.cloned() }
    }
}

impl OptionExplanation {
    pub(crate) fn of(
        section: &'static str,
        option: &OptionInfo,
        found: Option<UrlValue>,
        origins: &Origins,
    ) -> Self {
        let found = found.unwrap_or_else(|| match origins.of(section, option.key) {
            Some(origin) => UrlValue::at(&origin.location, origin.shown.to_string(), None),
            None => UrlValue { value: option.default.to_owned(), location: None, rule: None },
        });
        let UrlValue { value, location, rule } = found;
        Self { section, key: option.key, value, location, rule }
    }
}
