//! What an import came to.

use serde::{Deserialize, Serialize};

use crate::refusal::Reason;

/// So many refusals are told one by one; the others are counted.
pub const SHOWN: usize = 20;

/// The longest name or reason that is told, in characters.
const MAX_TEXT: usize = 500;

/// What an import has come to so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Answers that are kept now.
    pub kept: u64,
    /// Answers that are kept as older versions.
    pub older: u64,
    /// Answers that were there already.
    pub same: u64,
    /// Answers that are older than what is kept, where no older versions are.
    pub outdated: u64,
    /// Errors in whose place a page is kept.
    pub worse: u64,
    /// Requests that wait now.
    pub queued: u64,
    /// Requests that were answered, and are off the queue.
    pub answered: u64,
    /// Pages that are monitored now.
    pub monitored: u64,
    /// Records that are no pages.
    pub passed: u64,
    /// What could not be taken.
    pub refused: u64,
    /// Bytes of the bodies that were kept.
    pub bytes: u64,
    /// The first of what could not be taken.
    pub refusals: Vec<Refused>,
}

/// What could not be taken, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// What it is called.
    pub name: String,
    /// Why.
    pub reason: String,
}

impl Report {
    pub(crate) fn refuse(&mut self, name: &str, reason: &Reason) {
        self.refused += 1;
        if self.refusals.len() < SHOWN {
            let cut = |text: &str| text.chars().take(MAX_TEXT).collect();
            self.refusals.push(Refused { name: cut(name), reason: cut(reason.as_str()) });
        }
    }

    /// How many things of the archive were looked at.
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
