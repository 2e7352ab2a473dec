//! The location of each setting.

use crate::disk::location::Location;
use std::{collections::HashMap, fmt};

/// The location and text of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ValueOrigin {
    pub(crate) location: Location,
    /// The value, shortened to fit on one line.
    pub(crate) shown: Box<str>,
}

/// The locations of the options that the configuration sets.
#[derive(Clone, Default)]
pub(crate) struct Origins {
    plain: HashMap<(&'static str, &'static str), ValueOrigin>,
    /// The location of the first rule that sets an option.
    rules: HashMap<(&'static str, &'static str), Location>,
}

/// Shows only the number of settings, because the debug output of a configuration already shows
/// their values in its sections.
impl fmt::Debug for Origins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Origins({})", self.plain.len())
    }
}

impl Origins {
    /// Records that an option is set in its section.
    pub(crate) fn add(&mut self, section: &'static str, key: &'static str, origin: ValueOrigin) {
        self.plain.insert((section, key), origin);
    }

    /// Records that an option is set in a rule.
    pub(crate) fn add_rule(
        &mut self,
        section: &'static str,
        key: &'static str,
        location: &Location,
    ) {
        self.rules.entry((section, key)).or_insert_with(|| location.clone());
    }

    /// Returns the setting of an option outside of rules. `None` if the option is not set there.
    pub(crate) fn of(&self, section: &'static str, key: &'static str) -> Option<&ValueOrigin> {
        self.plain.get(&(section, key))
    }

    /// Returns the location of the first rule that sets an option. `None` if no rule sets the
    /// option.
    pub(crate) fn in_rule(&self, section: &'static str, key: &'static str) -> Option<&Location> {
        self.rules.get(&(section, key))
    }
}
