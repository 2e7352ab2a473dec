//! What was counted: `GET /api/statistics`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The answer to `GET /api/statistics`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// The day it is, where the daemon runs: `2026-11-22`.
    pub today: String,
    /// The days on which anything was done, the first one first; at most 400.
    pub days: Vec<DayCounts>,
    /// The hosts of which most was asked, those first; none for who does not own the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<HostCounts>>,
    /// All other hosts together; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Sums>,
}

/// What was done on a day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayCounts {
    /// The day, where the daemon runs.
    pub day: String,
    /// What was done.
    #[serde(flatten)]
    pub sums: Sums,
}

/// What was done for a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCounts {
    /// Its name.
    pub host: String,
    /// How many requests there may have been before it was counted by itself, at most.
    #[serde(default)]
    pub before: u64,
    /// What was done since.
    #[serde(flatten)]
    pub sums: Sums,
}

/// Requests and bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Requests by what became of them; what is not there is 0.
    pub requests: BTreeMap<String, u64>,
    /// Bytes of bodies that clients got.
    pub given: u64,
    /// Bytes of bodies that came from origins.
    pub fetched: u64,
    /// Bytes of bodies that clients got and no origin had to send for them.
    pub saved: u64,
}

impl Sums {
    /// How many requests there were.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.requests.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// How many requests had this outcome.
    #[must_use]
    pub fn of(&self, outcome: &str) -> u64 {
        self.requests.get(outcome).copied().unwrap_or_default()
    }

    /// Adds others.
    pub fn add(&mut self, others: &Sums) {
        for (outcome, count) in &others.requests {
            let sum = self.requests.entry(outcome.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
        self.given = self.given.saturating_add(others.given);
        self.fetched = self.fetched.saturating_add(others.fetched);
        self.saved = self.saved.saturating_add(others.saved);
    }
}
