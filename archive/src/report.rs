//! The result of an import.

use serde::{Deserialize, Serialize};

use crate::refusal::Reason;

/// How many refusals are listed; further ones are only counted.
pub const SHOWN: usize = 20;

/// The longest name or reason in a report, in characters.
const MAX_TEXT: usize = 500;

/// The result of an import so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Responses stored.
    pub kept: u64,
    /// Responses stored as older versions.
    pub older: u64,
    /// Responses that were already stored.
    pub same: u64,
    /// Responses older than the stored one, where no older versions are kept.
    pub outdated: u64,
    /// Errors for which a page is stored.
    pub worse: u64,
    /// Requests added to the queue.
    pub queued: u64,
    /// Queued requests that were answered and removed.
    pub answered: u64,
    /// Pages now monitored.
    pub monitored: u64,
    /// Records without a page.
    pub passed: u64,
    /// Items refused.
    pub refused: u64,
    /// Bytes of the stored bodies.
    pub bytes: u64,
    /// The first refused items.
    pub refusals: Vec<RefusedItem>,
}

/// A refused item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedItem {
    /// Its name.
    pub name: String,
    /// The reason.
    pub reason: String,
}

impl Report {
    pub(crate) fn refuse(&mut self, name: &str, reason: &Reason) {
        self.refused += 1;
        if self.refusals.len() < SHOWN {
            let cut = |text: &str| text.chars().take(MAX_TEXT).collect();
            self.refusals.push(RefusedItem { name: cut(name), reason: cut(reason.as_str()) });
        }
    }

    /// How many items have been examined.
    #[must_use]
    pub fn seen(&self) -> u64 {
        [
            self.kept,
            self.older,
            self.same,
            self.outdated,
            self.worse,
            self.queued,
            self.monitored,
            self.passed,
            self.refused,
        ]
        .iter()
        .sum()
    }
}
