//! Monitored pages: one request file for each, `monitor/<key>.warc`.
//!
//! The directory is authoritative. A summary of each page is read when the spool is opened, and
//! stays in memory for lists.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use wwwoffle_url::Key;

use crate::durability::MONITOR;
use crate::entry::place::{EXTENSION, Place};
use crate::entry::warc::{Reason, escape, parse_record, time_text, unescape};
use crate::error::{Error, Result, SpoolFault};
use crate::fs::names::names_if_any;
use crate::fs::parallel::lock;
use crate::fs::{Disk, parent};
use crate::queue::files::{RequestFile, keys, read_file};
use crate::queue::outgoing::{MAX_REQUEST_FILE, Outgoing};
use crate::queue::schedule::{MAX_SCHEDULE, Schedule};
use crate::queue::seal::Vault;
use crate::tree::Tree;
use crate::tree::recover::Recovery;

/// The largest number of monitored pages.
pub const MAX_MONITORS: usize = 2_000;

/// The largest file of a monitored page, in bytes: a request and the additional fields.
pub(crate) const MAX_MONITOR_FILE: usize =
    MAX_REQUEST_FILE + MAX_SCHEDULE + 3 * MAX_REPORT + (1 << 10);

const SCHEDULE: &str = "Wwwoffle-Schedule";
const LAST_RUN: &str = "Wwwoffle-Last-Run";
const VERSIONS: &str = "Wwwoffle-Versions";
const REPORT: &str = "Wwwoffle-Report";
const REPORTED: &str = "Wwwoffle-Reported";

/// The longest text about the reports of changes, in bytes.
pub const MAX_REPORT: usize = 4 << 10;

/// A page fetched on a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Monitor {
    /// The request sent each time, identified by the key of its place. Its time
    /// ([`crate::OutgoingSummary::queued`]) is when monitoring of the page began, or when the
    /// settings were last changed.
    pub request: Outgoing,
    /// When the page is fetched.
    pub schedule: Schedule,
    /// When the request was last queued.
    pub last_run: Option<Timestamp>,
    /// The smallest number of older versions to keep.
    pub versions: u16,
    /// The text of the program about the reports of changes; at most [`MAX_REPORT`] bytes.
    pub report: Option<String>,
    /// When the version was stored whose changes were reported last.
    pub reported: Option<Timestamp>,
}

/// A monitored page without its request, for lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorSummary {
    /// The place of the entry that the response becomes.
    pub place: Place,
    /// The request target, if it is not that of the canonical URL.
    pub target: Option<String>,
    /// When the page is fetched.
    pub schedule: Schedule,
    /// When monitoring of the page began, or when its settings were last changed.
    pub set: Timestamp,
    /// When the request was last queued.
    pub last_run: Option<Timestamp>,
    /// The smallest number of older versions to keep.
    pub versions: u16,
    /// The text of the program about the reports of changes.
    pub report: Option<String>,
    /// When the version was stored whose changes were reported last.
    pub reported: Option<Timestamp>,
}

/// The result of setting a monitored page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOutcome {
    /// The page was not monitored before.
    New,
    /// The page was monitored, and has the new settings.
    Changed,
}

/// The monitored pages of a spool.
///
/// When [`Monitors::set`] has returned, the page is durable and no crash loses it, unless the
/// spool was opened with [`crate::Durability::None`].
#[derive(Debug)]
pub struct Monitors {
    tree: Arc<Tree>,
    vault: Vault,
    /// Held while the pages change, including all disk calls.
    changing: Mutex<()>,
    index: Mutex<HashMap<Key, MonitorSummary>>,
}

impl Monitor {
    /// The summary for lists.
    #[must_use]
    pub fn summary(&self) -> MonitorSummary {
        MonitorSummary {
            place: self.request.summary.place.clone(),
            target: self.request.summary.line.target.clone(),
            schedule: self.schedule,
            set: self.request.summary.queued,
            last_run: self.last_run,
            versions: self.versions,
            report: self.report.clone(),
            reported: self.reported,
        }
    }

    fn encode(&self, vault: &Vault) -> Result<Vec<u8>> {
        let mut more =
            vec![(SCHEDULE, self.schedule.to_string()), (VERSIONS, self.versions.to_string())];
        more.extend(self.last_run.map(|time| (LAST_RUN, time_text(time))));
        if let Some(report) = &self.report {
            Error::check_length("the text about reports", report.len(), MAX_REPORT)?;
            more.push((REPORT, escape(report, MAX_REPORT)));
        }
        more.extend(self.reported.map(|time| (REPORTED, time_text(time))));
        self.request.encode_with(vault, &more)
    }

    pub(crate) fn decode(bytes: &[u8], vault: Option<&Vault>) -> Result<Monitor, Reason> {
        let (header, ..) = parse_record(bytes)?;
        let schedule = unescape(header.need(SCHEDULE)?);
        let versions = header.number(VERSIONS)?;
        Ok(Monitor {
            schedule: schedule.parse().map_err(|_| "its schedule is invalid")?,
            last_run: header.get(LAST_RUN).map(|_| header.time(LAST_RUN)).transpose()?,
            versions: versions.try_into().map_err(|_| "it keeps too many versions")?,
            report: header.get(REPORT).map(unescape),
            reported: header.get(REPORTED).map(|_| header.time(REPORTED)).transpose()?,
            request: Outgoing::decode(bytes, vault)?,
        })
    }
}

impl MonitorSummary {
    /// When the page is next due, by the clocks of `zone`. The time is in the past if the page
    /// became due while it could not be fetched. The page is then due once, even if several
    /// scheduled times have passed. `session` is the start of the session; `None` while offline.
    ///
    /// `None` if the page waits for the next session, and beyond the supported years.
    #[must_use]
    pub fn next_run(
        &self,
        now: Timestamp,
        zone: &TimeZone,
        session: Option<Timestamp>,
    ) -> Option<Timestamp> {
        if self.schedule.is_each_session() {
            let last = self.last_run.map(|last| last.min(now));
            return session.filter(|session| last.is_none_or(|last| last < *session));
        }
        // A wrong clock may have recorded a time in the future.
        let last = self.last_run.map_or(self.set, |last| last.max(self.set)).min(now);
        self.schedule.next_after(last, zone)
    }
}

impl Monitors {
    /// Reads the monitored pages. Invalid files are set aside.
    pub(crate) fn open(tree: Arc<Tree>, recovery: &mut Recovery) -> Result<Monitors> {
        let vault = Vault::open(&tree.root, &mut recovery.damaged)?;
        let mut index = HashMap::new();
        for key in
            keys(names_if_any(&*tree.root.disk, &tree.root.path.join(MONITOR))?, MAX_MONITORS)?
        {
            match read(&*tree.root.disk, &tree.root.path, &key, None) {
                Ok(RequestFile::Valid(monitor)) => {
                    index.insert(key, monitor.summary());
                }
                Ok(RequestFile::Missing) => {}
                Err(error) => recovery.failures.push(error),
                Ok(RequestFile::Invalid(reason)) => {
                    recovery
                        .damaged
                        .push(tree.root.move_aside(&path(&tree.root.path, &key), reason));
                }
            }
        }
        let monitors =
            Monitors { tree, vault, changing: Mutex::default(), index: Mutex::new(index) };
        monitors.publish_versions();
        Ok(monitors)
    }

    /// Passes the numbers of versions to the tree. If a URL has several monitors, the largest
    /// number counts.
    fn publish_versions(&self) {
        let mut versions: HashMap<String, u16> = HashMap::new();
        for one in lock(&self.index).values().filter(|one| one.versions > 0) {
            let most = versions.entry(one.place.url().to_owned()).or_default();
            *most = one.versions.max(*most);
        }
        self.tree.versions.set_monitored(versions);
    }

    /// Monitors a page, durably, and replaces its previous settings.
    ///
    /// # Errors
    ///
    /// [`Error::is_monitors_full`], [`Error::is_too_large`] and [`Error::is_invalid`] for a page
    /// that cannot be monitored; or if the disk fails or is full. Nothing is then changed.
    pub fn set(&self, monitor: &Monitor) -> Result<SetOutcome> {
        let key = monitor.request.summary.place.key();
        let bytes = monitor.encode(&self.vault)?;
        let _changing = lock(&self.changing);
        let is_known = {
            let index = lock(&self.index);
            if index.len() >= MAX_MONITORS && !index.contains_key(&key) {
                return Err(SpoolFault::MonitorsFull { limit: MAX_MONITORS }.into());
            }
            index.contains_key(&key)
        };
        self.tree.root.replace_file(&path(&self.tree.root.path, &key), &bytes)?;
        lock(&self.index).insert(key, monitor.summary());
        self.publish_versions();
        Ok(if is_known { SetOutcome::Changed } else { SetOutcome::New })
    }

    /// Records that a page was queued. Returns false if the page is not monitored any more.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full, and those of [`Monitors::get`].
    pub fn record_run(&self, key: &Key, time: Timestamp) -> Result<bool> {
        self.update(key, |monitor| monitor.last_run = Some(time))
    }

    /// Records that the changes up to the version of `time` were reported. Returns false if the
    /// page is not monitored any more.
    ///
    /// # Errors
    ///
    /// Those of [`Monitors::record_run`].
    pub fn record_report(&self, key: &Key, time: Timestamp) -> Result<bool> {
        self.update(key, |monitor| monitor.reported = Some(time))
    }

    fn update(&self, key: &Key, change: impl FnOnce(&mut Monitor)) -> Result<bool> {
        let _changing = lock(&self.changing);
        let Some(mut monitor) = self.read_or_set_aside(key)? else { return Ok(false) };
        change(&mut monitor);
        let bytes = monitor.encode(&self.vault)?;
        self.tree.root.replace_file(&path(&self.tree.root.path, key), &bytes)?;
        lock(&self.index).insert(*key, monitor.summary());
        Ok(true)
    }

    /// Every monitored page, ordered by URL.
    #[must_use]
    pub fn list(&self) -> Vec<MonitorSummary> {
        let mut list: Vec<_> = lock(&self.index).values().cloned().collect();
        sort(&mut list);
        list
    }

    /// Passes each monitored page to `look`, in no order, without copying it. `look` must not call
    /// [`Monitors`].
    pub fn visit(&self, look: impl FnMut(&MonitorSummary)) {
        lock(&self.index).values().for_each(look);
    }

    /// The summary of one page.
    #[must_use]
    pub fn summary(&self, key: &Key) -> Option<MonitorSummary> {
        lock(&self.index).get(key).cloned()
    }

    /// The number of monitored pages.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.index).len()
    }

    /// Whether no page is monitored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads a monitored page, with its secrets. `None` if the page is not monitored.
    ///
    /// # Errors
    ///
    /// If the disk fails. [`Error::is_damaged`]: its file was invalid, has been set aside, and the
    /// page is not monitored any more.
    pub fn get(&self, key: &Key) -> Result<Option<Monitor>> {
        let _changing = lock(&self.changing);
        self.read_or_set_aside(key)
    }

    /// Stops monitoring a page. Returns false if it was not monitored.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn remove(&self, key: &Key) -> Result<bool> {
        let path = path(&self.tree.root.path, key);
        let _changing = lock(&self.changing);
        let removed = self.tree.root.remove_file(&path)?;
        lock(&self.index).remove(key);
        self.publish_versions();
        if removed && self.tree.root.is_synced() {
            self.tree.root.sync_dir(parent(&path))?;
        }
        Ok(removed)
    }

    /// Reads a monitored page. An invalid file is set aside. The caller holds `changing`.
    fn read_or_set_aside(&self, key: &Key) -> Result<Option<Monitor>> {
        match read(&*self.tree.root.disk, &self.tree.root.path, key, Some(&self.vault))? {
            RequestFile::Valid(monitor) => Ok(Some(monitor)),
            RequestFile::Missing => {
                lock(&self.index).remove(key);
                Ok(None)
            }
            RequestFile::Invalid(reason) => {
                lock(&self.index).remove(key);
                Err(Error::damaged(
                    self.tree.root.move_aside(&path(&self.tree.root.path, key), reason),
                ))
            }
        }
    }
}

/// Reads every monitored page of a spool from its file, ordered by URL.
pub(crate) fn list(disk: &dyn Disk, root: &Path) -> Result<Vec<MonitorSummary>> {
    let mut list = Vec::new();
    for key in keys(names_if_any(disk, &root.join(MONITOR))?, MAX_MONITORS)? {
        if let RequestFile::Valid(monitor) = read(disk, root, &key, None)? {
            list.push(monitor.summary());
        }
    }
    sort(&mut list);
    Ok(list)
}

fn sort(list: &mut [MonitorSummary]) {
    list.sort_by_cached_key(|one| (one.place.url().to_owned(), one.place.key()));
}

fn path(root: &Path, key: &Key) -> PathBuf {
    root.join(MONITOR).join(format!("{key}{EXTENSION}"))
}

fn read(
    disk: &dyn Disk,
    root: &Path,
    key: &Key,
    vault: Option<&Vault>,
) -> Result<RequestFile<Monitor>> {
    read_file(disk, &path(root, key), (key, MAX_MONITOR_FILE), |bytes| {
        Monitor::decode(bytes, vault).map(|monitor| (monitor.request.summary.place.key(), monitor))
    })
}
