//! Which value every option has for a URL, and where that was written.

use super::{declaration::OptionInfo, origin::Origins};
use crate::{disk::place::Place, pattern::set::Listed};

/// What one option is for a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The section of the option.
    pub section: &'static str,
    /// The option.
    pub key: &'static str,
    /// Its value, as a file writes it, shortened to a line.
    pub value: String,
    /// Where the value is written; `None` is the default.
    pub place: Option<Place>,
    /// The specification by which it is the value for this URL, if one decided.
    pub rule: Option<Listed>,
}

/// A value that depends on the URL.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) value: String,
    pub(crate) place: Option<Place>,
    pub(crate) rule: Option<Listed>,
}

impl Explained {
    pub(crate) fn of(
        section: &'static str,
        option: &OptionInfo,
        found: Option<Found>,
        origins: &Origins,
    ) -> Self {
        let found = found.unwrap_or_else(|| match origins.of(section, option.key) {
            Some(origin) => Found {
                value: origin.shown.to_string(),
                place: Some(origin.place.clone()),
                rule: None,
            },
            None => Found { value: option.default.to_owned(), place: None, rule: None },
        });
        let Found { value, place, rule } = found;
        Self { section, key: option.key, value, place, rule }
    }
}
