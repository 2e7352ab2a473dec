//! Filters for entries, and the viewer's permissions.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::types::Value;
use wwwoffle_spool::{Key, Timestamp};

use crate::class::ContentClass;
use crate::error::Result;
use crate::facts::{Facts, scheme_number};
use crate::item::Item;
use crate::name::split;

/// The maximum number of hosts that are compared by id. With more hosts, every entry is examined.
const MAX_HOSTS: usize = 1_000;

/// The person who sees the result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Viewer {
    /// The operator of the spool, who sees everything.
    #[default]
    Operator,
    /// A user with this name in the spool, who sees shared entries and the user's own.
    Person(String),
}

/// The conditions for entries. The default matches all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// The person who sees the result.
    pub viewer: Viewer,
    /// Entries with this scheme.
    pub scheme: Option<String>,
    /// Entries of this host. The host includes the port, unless it is the default port of the
    /// scheme.
    pub host: Option<String>,
    /// Entries of the hosts of this site.
    pub site: Option<String>,
    /// Entries of this class.
    pub class: Option<ContentClass>,
    /// Entries with a status in this range.
    pub status: Option<RangeInclusive<u16>>,
    /// Entries with this text in URL or title, in any letter case.
    pub text: Option<String>,
    /// Entries stored at or after this time.
    pub since: Option<Timestamp>,
    /// Entries stored before this time.
    pub until: Option<Timestamp>,
    /// Whether sub-resources are excluded.
    pub pages_only: bool,
    /// Entries of this owner only; empty for shared entries.
    pub owner: Option<String>,
    /// Entries of this set.
    pub among: Option<Arc<EntrySet>>,
}

/// A set of entries: those with some URLs, those of some sites, and single entries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EntrySet {
    urls: HashSet<String>,
    sites: HashSet<String>,
    keys: HashSet<Key>,
    /// The scheme and the host of each URL and entry.
    hosts: HashSet<(String, String)>,
}

impl EntrySet {
    /// Adds all entries with this canonical URL.
    pub fn add_url(&mut self, url: &str) {
        self.add_host(url);
        self.urls.insert(url.to_owned());
    }

    /// Adds all entries of the hosts of a site.
    pub fn add_site(&mut self, site: &str) {
        self.sites.insert(site.to_owned());
    }

    /// Adds one entry.
    pub fn add_item(&mut self, item: &Item) {
        self.add_host(item.place.url());
        self.keys.insert(item.place.key());
    }

    fn add_host(&mut self, url: &str) {
        let (scheme, host, _) = split(url);
        self.hosts.insert((scheme.to_owned(), host.to_owned()));
    }

    fn contains(&self, item: &Item) -> bool {
        self.sites.contains(&item.site)
            || self.urls.contains(item.place.url())
            || self.keys.contains(&item.place.key())
    }
}

/// A filter prepared for many entries.
#[derive(Debug)]
pub(crate) struct PreparedFilter<'a> {
    filter: &'a Filter,
    text: Option<String>,
    scheme: Option<i64>,
    /// The ids of the matching hosts. `None` if there are too many, or if the filter names neither
    /// a host, a site nor a set.
    pub(crate) hosts: Option<Vec<i64>>,
    /// The number of entries of these hosts, or the largest number if they are unknown.
    pub(crate) of_hosts: i64,
}

impl<'a> PreparedFilter<'a> {
    pub(crate) fn new(connection: &Connection, filter: &'a Filter) -> Result<PreparedFilter<'a>> {
        let text = filter.text.as_ref().map(|text| text.to_lowercase());
        let text = text.filter(|text| !text.is_empty());
        let scheme = filter.scheme.as_deref().map(scheme_number);
        let mut sieve = PreparedFilter { filter, text, scheme, hosts: None, of_hosts: i64::MAX };
        if filter.host.is_some() || filter.site.is_some() {
            sieve.find_hosts(connection)?;
        } else if let Some(set) = &filter.among {
            sieve.find_hosts_of(connection, set)?;
        }
        Ok(sieve)
    }

    /// Finds the hosts of a set.
    fn find_hosts_of(&mut self, connection: &Connection, set: &EntrySet) -> Result<()> {
        let columns = "h.id, (SELECT sum(entries) FROM counts c WHERE c.host = h.id)";
        let mut of_site = connection
            .prepare_cached(&format!("SELECT {columns} FROM hosts h WHERE h.site = ?1"))?;
        let mut of_name = connection.prepare_cached(&format!(
            "SELECT {columns} FROM hosts h WHERE h.scheme = ?1 AND h.name = ?2"
        ))?;
        let read = |row: &rusqlite::Row<'_>| {
            Ok((row.get(0)?, row.get::<_, Option<i64>>(1)?.unwrap_or_default()))
        };
        let mut found: HashSet<(i64, i64)> = HashSet::new();
        for site in &set.sites {
            found.extend(of_site.query_map([site], read)?.collect::<rusqlite::Result<Vec<_>>>()?);
            if found.len() > MAX_HOSTS {
                return Ok(());
            }
        }
        for host in &set.hosts {
            found.extend(
                of_name
                    .query_map([&host.0, &host.1], read)?
                    .collect::<rusqlite::Result<Vec<_>>>()?,
            );
            if found.len() > MAX_HOSTS {
                return Ok(());
            }
        }
        self.of_hosts = found.iter().map(|(_, entries)| entries).sum();
        self.hosts = Some(found.into_iter().map(|(id, _)| id).collect());
        Ok(())
    }

    fn find_hosts(&mut self, connection: &Connection) -> Result<()> {
        let (condition, values) = self.host_condition();
        let mut find = connection.prepare_cached(&format!(
            "SELECT h.id, (SELECT sum(entries) FROM counts c WHERE c.host = h.id) FROM hosts h \
             WHERE {condition} LIMIT {}",
            MAX_HOSTS + 1
        ))?;
        let rows = find.query_map(rusqlite::params_from_iter(values), |row| {
            Ok((row.get(0)?, row.get::<_, Option<i64>>(1)?.unwrap_or_default()))
        })?;
        let hosts: Vec<(i64, i64)> = rows.collect::<rusqlite::Result<_>>()?;
        if hosts.len() <= MAX_HOSTS {
            self.of_hosts = hosts.iter().map(|(_, entries)| entries).sum();
            self.hosts = Some(hosts.into_iter().map(|(id, _)| id).collect());
        }
        Ok(())
    }

    /// The SQL condition for hosts in a table `h`.
    pub(crate) fn host_condition(&self) -> (String, Vec<Value>) {
        let Filter { scheme, host, site, .. } = self.filter;
        let given = [("h.name", host), ("h.site", site), ("h.scheme", scheme)];
        let given = given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        let (names, values): (Vec<_>, Vec<_>) =
            given.map(|(name, value)| (format!("{name} = ?"), Value::Text(value))).unzip();
        let condition = if names.is_empty() { "true".to_owned() } else { names.join(" AND ") };
        (condition, values)
    }

    /// Whether the entry may match. If so, the entry must be examined completely.
    pub(crate) fn may_pass(&self, facts: Facts) -> bool {
        let Filter { class, status, pages_only, owner, .. } = self.filter;
        let owned_is_wrong = match owner.as_deref() {
            Some("") => facts.is_owned(),
            Some(_) => !facts.is_owned(),
            None => false,
        };
        !(self.scheme.is_some_and(|scheme| facts.scheme() != scheme)
            || self
                .hosts
                .as_ref()
                .is_some_and(|hosts| !hosts.iter().any(|host| facts.may_be_of(*host)))
            || class.is_some_and(|class| facts.class() != class)
            || status.as_ref().is_some_and(|status| !status.contains(&facts.status()))
            || (*pages_only && !facts.class().is_page())
            || owned_is_wrong)
    }

    /// Whether the entry matches.
    pub(crate) fn passes(&self, item: &Item) -> bool {
        let filter = self.filter;
        let (scheme, host, _) = split(item.place.url());
        let is =
            |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|want| want == is);
        filter.viewer.may_see(item.place.owner())
            && is(&filter.scheme, scheme)
            && is(&filter.host, host)
            && is(&filter.site, &item.site)
            && is(&filter.owner, item.place.owner().unwrap_or_default())
            && filter.class.is_none_or(|class| class == item.content.class)
            && filter.status.as_ref().is_none_or(|status| status.contains(&item.content.status))
            && filter.since.is_none_or(|since| since <= item.times.stored)
            && filter.until.is_none_or(|until| item.times.stored < until)
            && (!filter.pages_only || item.is_page())
            && filter.among.as_ref().is_none_or(|set| set.contains(item))
            && self.text.as_ref().is_none_or(|text| has_text(item, text))
    }
}

fn has_text(item: &Item, text: &str) -> bool {
    let has = |value: &str| value.to_lowercase().contains(text);
    has(item.place.url()) || item.title.as_deref().is_some_and(has)
}

impl Viewer {
    /// Whether the viewer may see entries of this owner. `None` stands for shared entries.
    #[must_use]
    pub fn may_see(&self, owner: Option<&str>) -> bool {
        match (self, owner) {
            (Viewer::Operator, _) | (_, None) => true,
            (Viewer::Person(name), Some(owner)) => name == owner,
        }
    }
}
