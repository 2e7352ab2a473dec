//! The JSON types of `GET /api/statistics`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The response to `GET /api/statistics`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatisticsReport {
    /// The current day in the daemon's time zone: `2026-11-22`.
    pub today: String,
    /// The days with any requests, earliest first; at most 400.
    pub days: Vec<DayCounts>,
    /// The hosts; those with the most requests come first. Absent unless the caller administers the
    /// proxy, or uses this machine and there are neither a control password nor users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<HostCounts>>,
    /// All other hosts together. Absent if `hosts` is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Sums>,
}

/// The counts of one day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayCounts {
    /// The day in the daemon's time zone.
    pub day: String,
    /// The counts.
    #[serde(flatten)]
    pub sums: Sums,
}

/// The counts of one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCounts {
    /// The name of the host.
    pub host: String,
    /// An upper bound for the number of requests to the host before its requests were counted
    /// separately.
    #[serde(default)]
    pub before: u64,
    /// The counts since then.
    #[serde(flatten)]
    pub sums: Sums,
}

/// Requests and bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Requests by outcome; an absent outcome is 0.
    pub requests: BTreeMap<String, u64>,
    /// Bytes of bodies sent to clients.
    pub given: u64,
    /// Bytes of bodies received from origins.
    pub fetched: u64,
    /// The bytes of `given` that did not have to be fetched from an origin.
    pub saved: u64,
    /// Bytes that the data saver did not fetch, as far as the origins declared them.
    #[serde(default)]
    pub unfetched: u64,
    /// Bytes that were not sent to clients because pictures were recompressed.
    #[serde(default)]
    pub unsent: u64,
}

impl Sums {
    /// The total number of requests.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.requests.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The number of requests with this outcome.
    #[must_use]
    pub fn of(&self, outcome: &str) -> u64 {
        self.requests.get(outcome).copied().unwrap_or_default()
    }

    /// Adds other counts.
    pub fn add(&mut self, others: &Sums) {
        for (outcome, count) in &others.requests {
            let sum = self.requests.entry(outcome.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
        self.given = self.given.saturating_add(others.given);
        self.fetched = self.fetched.saturating_add(others.fetched);
        self.saved = self.saved.saturating_add(others.saved);
        self.unfetched = self.unfetched.saturating_add(others.unfetched);
        self.unsent = self.unsent.saturating_add(others.unsent);
    }
}
