//! The JSON types of monitored pages.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::runs::PartClass;

/// The response to `GET /api/monitor`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorList {
    /// The monitored pages, by URL.
    pub monitor: Vec<MonitorItem>,
}

/// A monitored page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorItem {
    /// The key of the canonical URL, 64 hex digits.
    pub key: String,
    /// The URL, without credentials.
    pub url: String,
    /// The path and the arguments that are requested, if the canonical URL has another spelling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The schedule, as a cron line.
    pub schedule: String,
    /// The minimum number of older versions that are stored.
    pub versions: u16,
    /// When the page was last queued; `None` if it was not queued yet.
    pub last: Option<Timestamp>,
    /// When the page is queued next; in the past if it is due but cannot be fetched now.
    pub next: Option<Timestamp>,
    /// The owner, as `user:ada` or `client:192.0.2.1`; absent for this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Which changes are reported; absent if all are, in the feed only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ChangeReport>,
}

/// Which changes of a monitored page are reported, and to whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeReport {
    /// A CSS selector: only the text in the elements that match counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<String>,
    /// Words separated by blanks: only the lines with one of them count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// The mail address that gets the reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mail: Option<String>,
}

/// The body of `POST /api/monitor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MonitorRequest {
    /// The pages to monitor.
    pub urls: Vec<String>,
    /// The schedule, as a cron line.
    pub schedule: String,
    /// The minimum number of older versions that are stored.
    #[serde(default)]
    pub versions: u16,
    /// The maximum number of links between the page and a fetched page.
    #[serde(default)]
    pub depth: u16,
    /// The pages that links may lead to: `any`, `protocol`, `host`, `site`, `directory` or a
    /// URL-SPECIFICATION; `host` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// The classes of sub-resources, where they differ from the configuration.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<PartClass, bool>,
    /// Which changes are reported.
    #[serde(default)]
    pub report: ChangeReport,
}

/// The response to `GET /api/monitor/diff`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionDiff {
    /// The URL of the page, without credentials.
    pub url: String,
    /// When each version was stored, newest first.
    pub versions: Vec<Timestamp>,
    /// The older of the two compared versions.
    pub from: Timestamp,
    /// The newer of the two compared versions.
    pub to: Timestamp,
    /// The title of the newer version, if it has one.
    pub title: Option<String>,
    /// The number of lines that only the newer version has.
    pub added: usize,
    /// The number of lines that only the older version has.
    pub removed: usize,
    /// The differing lines with some context. Each is preceded by `-`, `+` or a space.
    pub diff: String,
    /// Whether the diff was truncated.
    #[serde(rename = "cut")]
    pub is_cut: bool,
}

/// The body of `POST /api/monitor/delete`: `{"urls": […]}` or `{"all": true}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MonitorsToDelete {
    /// The pages that are no longer monitored.
    #[serde(default)]
    pub urls: Vec<String>,
    /// Whether all pages of the caller are meant.
    #[serde(default)]
    pub all: bool,
}
