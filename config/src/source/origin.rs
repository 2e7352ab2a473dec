//! Where each option was set.

use crate::disk::location::Location;
use std::{collections::HashMap, fmt};

/// Where a value was written, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) location: Location,
    /// The value, short enough to be shown on a line.
    pub(crate) shown: Box<str>,
}

/// The options that were set.
#[derive(Clone, Default)]
pub(crate) struct Origins {
    plain: HashMap<(&'static str, &'static str), Origin>,
    /// Where the first rule sets an option.
    rules: HashMap<(&'static str, &'static str), Location>,
}

/// What was set is shown with the sections, and more often than this is of help it is long.
impl fmt::Debug for Origins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Origins({})", self.plain.len())
    }
}

impl Origins {
    /// An option was set in its section.
    pub(crate) fn add(&mut self, section: &'static str, key: &'static str, origin: Origin) {
        self.plain.insert((section, key), origin);
    }

    /// An option was set in a rule.
    pub(crate) fn add_rule(
        &mut self,
        section: &'static str,
        key: &'static str,
        location: &Location,
    ) {
        self.rules.entry((section, key)).or_insert_with(|| location.clone());
    }

    /// How an option was set, outside of rules.
    pub(crate) fn of(&self, section: &'static str, key: &'static str) -> Option<&Origin> {
        self.plain.get(&(section, key))
    }

    /// Where a rule sets an option.
    pub(crate) fn in_rule(&self, section: &'static str, key: &'static str) -> Option<&Location> {
        self.rules.get(&(section, key))
    }
}
