//! Where each option was set.

use crate::place::Place;
use std::collections::HashMap;

/// Where a value was written, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) place: Place,
    /// The value, short enough to be shown on a line.
    pub(crate) shown: Box<str>,
}

/// The options that were set outside of rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins(HashMap<(&'static str, &'static str), Origin>);

impl Origins {
    pub(crate) fn add(&mut self, section: &'static str, key: &'static str, origin: Origin) {
        self.0.insert((section, key), origin);
    }

    pub(crate) fn of(&self, section: &'static str, key: &'static str) -> Option<&Origin> {
        self.0.get(&(section, key))
    }
}
