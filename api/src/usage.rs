//! The JSON types of `GET /api/usage`.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// The response to `GET /api/usage`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageReport {
    /// The current day in the daemon's time zone: `2026-11-22`.
    pub today: String,
    /// Whether requests are being counted.
    pub is_counted: bool,
    /// The counts, latest day first.
    pub usage: Vec<DayUsage>,
    /// The quotas of the users and clients of `usage` and of the caller, and how much is used.
    pub quotas: Vec<QuotaItem>,
}

/// The usage of a user or client on one day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayUsage {
    /// The day in the daemon's time zone.
    pub day: String,
    /// `local`, `user:NAME` or `client:ADDRESS`; absent for all others together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Requests for resources of origins.
    pub requests: u64,
    /// Those that were served without fetching the whole response.
    pub from_spool: u64,
    /// Bytes of bodies sent to the client.
    pub sent: u64,
    /// Bytes of bodies fetched from origins.
    pub fetched: u64,
    /// Requests to origins, and tunnels.
    pub origin_requests: u64,
    /// Requests added to the queue.
    pub queued: u64,
}

/// A quota.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaItem {
    /// `local`, `user:NAME` or `client:ADDRESS`.
    pub owner: String,
    /// `bytes`, `requests` or `queued`.
    pub measure: String,
    /// `day` or `month`.
    pub period: String,
    /// The used amount.
    pub used: u64,
    /// The quota.
    pub most: u64,
    /// The day on which the quota is renewed.
    pub renewed: String,
}

impl UsageReport {
    /// The counts as comma-separated values (RFC 4180), with a header line.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut csv =
            "day,owner,requests,from_spool,sent,fetched,origin_requests,queued\r\n".to_owned();
        for line in &self.usage {
            let owner = line.owner.as_deref().unwrap_or_default().replace('"', "\"\"");
            // Writing to a string does not fail.
            let _written = write!(
                csv,
                "{},\"{owner}\",{},{},{},{},{},{}\r\n",
                line.day,
                line.requests,
                line.from_spool,
                line.sent,
                line.fetched,
                line.origin_requests,
                line.queued
            );
        }
        csv
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_in_csv() {
        let day = "2026-11-22".to_owned();
        let owner = Some("user:a,\"b\"".to_owned());
        let usage = vec![DayUsage { day, owner, requests: 3, sent: 7, ..DayUsage::default() }];
        let report = UsageReport { usage, ..UsageReport::default() };
        let lines: Vec<_> = report.to_csv().split("\r\n").map(str::to_owned).collect();
        assert_eq!(lines[1..], ["2026-11-22,\"user:a,\"\"b\"\"\",3,0,7,0,0,0", ""]);
    }
}
