//! The shapes of what is monitored.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::runs::PartClass;

/// `GET /api/monitor`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorList {
    /// What is looked at on a schedule, by URL.
    pub monitor: Vec<MonitorItem>,
}

/// A page that is looked at on a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorItem {
    /// The key of its canonical URL, 64 hex digits.
    pub key: String,
    /// The URL, without credentials.
    pub url: String,
    /// When, as a line of cron.
    pub schedule: String,
    /// How many older versions are kept at least.
    pub versions: u16,
    /// When it was put on the queue last.
    pub last: Option<Timestamp>,
    /// When it will be; in the past when it is due and cannot be fetched now.
    pub next: Option<Timestamp>,
    /// Whose it is, as `user:ada` or `client:192.0.2.1`; not there for this machine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// The body of `POST /api/monitor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MonitorRequest {
    /// What to look at.
    pub urls: Vec<String>,
    /// When, as a line of cron.
    pub schedule: String,
    /// How many older versions are kept at least.
    #[serde(default)]
    pub versions: u16,
    /// How many links are followed, one after the other.
    #[serde(default)]
    pub depth: u16,
    /// Where to: `any`, `protocol`, `host`, `site`, `directory` or a URL-SPECIFICATION.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Which parts come with the pages, where it is not the configuration that says so.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<PartClass, bool>,
}

/// `GET /api/monitor/diff`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionDiff {
    /// The page, without credentials.
    pub url: String,
    /// When each version was kept, the newest first.
    pub versions: Vec<Timestamp>,
    /// The older of those that are compared.
    pub from: Timestamp,
    /// The newer one.
    pub to: Timestamp,
    /// The title of the newer one.
    pub title: Option<String>,
    /// Lines of text that only the newer one has.
    pub added: usize,
    /// Lines of text that only the older one has.
    pub removed: usize,
    /// The lines that differ and some around them, with `-`, `+` or a blank before them.
    pub diff: String,
    /// There is more than is told.
    #[serde(rename = "cut")]
    pub is_cut: bool,
}

/// The body of `POST /api/monitor/delete`: `{"urls": […]}` or `{"all": true}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MonitorsToDelete {
    /// What is to be looked at no longer.
    #[serde(default)]
    pub urls: Vec<String>,
    /// All of the caller's.
    #[serde(default)]
    pub all: bool,
}
