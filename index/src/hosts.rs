//! Lists of hosts and sites with their counts.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::filter::{Filter, Viewer};
use crate::list::{Cursor, ListPage, MAX_PAGE};

/// The maximum number of hosts that are examined for one page of sites. A site may have many hosts.
const MAX_LOOKED_AT: usize = 100_000;

/// A host with stored entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostItem {
    /// The scheme, such as `http`.
    pub scheme: String,
    /// Its name, with the port unless that is the default of the scheme.
    pub host: String,
    /// The site it belongs to.
    pub site: String,
    /// The number of visible entries.
    pub entries: u64,
    /// The total length of their files.
    pub bytes: u64,
}

/// A registrable domain, such as `example.co.uk`, with its counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteItem {
    /// The domain.
    pub site: String,
    /// The number of its hosts; a host with two schemes counts twice.
    pub hosts: u64,
    /// The number of visible entries.
    pub entries: u64,
    /// The total length of their files.
    pub bytes: u64,
}

/// The order of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostSort {
    /// By name.
    #[default]
    Name,
    /// By the labels of the name, the last label first.
    Domain,
}

/// The SQL condition for visible counts in a table `c`.
pub(crate) fn visible(viewer: &Viewer) -> (&'static str, Option<Value>) {
    match viewer {
        Viewer::Operator => ("true", None),
        Viewer::Person(name) => (
            "c.owner IN (0, (SELECT id FROM owners WHERE owners.name = ?))",
            Some(Value::Text(name.clone())),
        ),
    }
}

/// The number and size of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoredTotal {
    /// The number of entries.
    pub entries: u64,
    /// The total length of their files.
    pub bytes: u64,
}

/// Converts a sum of SQLite, which is `NULL` without rows.
fn wide(sum: Option<i64>) -> u64 {
    u64::try_from(sum.unwrap_or_default()).unwrap_or_default()
}

/// The totals that a viewer may see, computed from the counts of hosts.
pub(crate) fn total(connection: &Connection, viewer: &Viewer) -> Result<StoredTotal> {
    let (visible, owner) = visible(viewer);
    let mut find = connection.prepare_cached(&format!(
        "SELECT sum(c.entries), sum(c.bytes) FROM counts c WHERE {visible}"
    ))?;
    Ok(find.query_row(params_from_iter(owner), |row| {
        Ok(StoredTotal { entries: wide(row.get(0)?), bytes: wide(row.get(1)?) })
    })?)
}

/// The number of sites of which a viewer may see an entry.
pub(crate) fn count_sites(connection: &Connection, viewer: &Viewer) -> Result<u64> {
    let (visible, owner) = visible(viewer);
    let mut find = connection.prepare_cached(&format!(
        "SELECT count(DISTINCT h.site) FROM hosts h JOIN counts c ON c.host = h.id WHERE {visible}"
    ))?;
    Ok(wide(find.query_row(params_from_iter(owner), |row| row.get(0))?))
}

/// The totals of a site that a viewer may see.
pub(crate) fn total_of_site(
    connection: &Connection,
    viewer: &Viewer,
    site: &str,
) -> Result<StoredTotal> {
    let (visible, owner) = visible(viewer);
    let mut find = connection.prepare_cached(&format!(
        "SELECT sum(c.entries), sum(c.bytes) FROM hosts h JOIN counts c ON c.host = h.id \
         WHERE h.site = ? AND {visible}"
    ))?;
    let values = std::iter::once(Value::Text(site.to_owned())).chain(owner);
    Ok(find.query_row(params_from_iter(values), |row| {
        Ok(StoredTotal { entries: wide(row.get(0)?), bytes: wide(row.get(1)?) })
    })?)
}

/// A page of the hosts with `scheme`, or of all hosts if it is `None`.
pub(crate) fn hosts(
    connection: &Connection,
    viewer: &Viewer,
    scheme: Option<&str>,
    sort: HostSort,
    after: Option<&Cursor>,
    limit: usize,
) -> Result<ListPage<HostItem>> {
    let limit = limit.clamp(1, MAX_PAGE);
    let column = match sort {
        HostSort::Name => "h.name",
        HostSort::Domain => "h.labels",
    };
    let mut items = Vec::new();
    let mut last = None;
    visit(connection, viewer, scheme, column, after, &mut |name, host| {
        if items.len() == limit {
            return false;
        }
        last = Some(Cursor::after_name(name, &host.scheme));
        items.push(host);
        true
    })
    .map(|is_end| ListPage { items, next: last.filter(|_| !is_end) })
}

/// A page of sites, sorted by domain.
pub(crate) fn sites(
    connection: &Connection,
    viewer: &Viewer,
    after: Option<&Cursor>,
    limit: usize,
) -> Result<ListPage<SiteItem>> {
    let limit = limit.clamp(1, MAX_PAGE);
    let mut items: Vec<SiteItem> = Vec::new();
    let (mut last, mut looked_at) = (None, 0);
    let is_end = visit(connection, viewer, None, "h.labels", after, &mut |labels, host| {
        looked_at += 1;
        let here = Cursor::after_name(labels, &host.scheme);
        // In this order, the hosts of a site are adjacent.
        let is_full = items.len() == limit || looked_at > MAX_LOOKED_AT;
        match items.last_mut().filter(|site| site.site == host.site) {
            Some(site) => {
                site.hosts += 1;
                site.entries += host.entries;
                site.bytes += host.bytes;
            }
            None if is_full => return false,
            None => {
                let HostItem { site, entries, bytes, .. } = host;
                items.push(SiteItem { site, hosts: 1, entries, bytes });
            }
        }
        last = Some(here);
        true
    })?;
    Ok(ListPage { items, next: last.filter(|_| !is_end) })
}

/// The number of entries of a host or site. `None` if the filter names neither, or has a condition
/// other than a scheme.
pub(crate) fn count(connection: &Connection, filter: &Filter) -> Result<Option<u64>> {
    let Filter { viewer, scheme, host, site, .. } = filter;
    let of_names = Filter {
        viewer: viewer.clone(),
        scheme: scheme.clone(),
        host: host.clone(),
        site: site.clone(),
        ..Filter::default()
    };
    if *filter != of_names || (host.is_none() && site.is_none()) {
        return Ok(None);
    }
    let (visible, owner) = visible(viewer);
    let mut sql = format!(
        "SELECT sum(c.entries) FROM hosts h JOIN counts c ON c.host = h.id WHERE {visible}"
    );
    let mut values: Vec<Value> = owner.into_iter().collect();
    for (column, wanted) in [("name", host), ("scheme", scheme), ("site", site)] {
        if let Some(wanted) = wanted {
            sql = format!("{sql} AND h.{column} = ?");
            values.push(Value::Text(wanted.clone()));
        }
    }
    let mut find = connection.prepare_cached(&sql)?;
    Ok(Some(wide(find.query_row(params_from_iter(values), |row| row.get(0))?)))
}

/// Calls `look` with the visible counts of each host until `look` returns false. Returns true if
/// the end was reached.
fn visit(
    connection: &Connection,
    viewer: &Viewer,
    scheme: Option<&str>,
    column: &str,
    after: Option<&Cursor>,
    look: &mut dyn FnMut(&str, HostItem) -> bool,
) -> Result<bool> {
    let (name, its_scheme) = match after {
        Some(cursor) => {
            let at = cursor.of_letter('h')?;
            (at.group.as_str(), at.scheme.as_str())
        }
        None => ("", ""),
    };
    let (visible, owner) = visible(viewer);
    let of_scheme = if scheme.is_some() { "AND h.scheme = ?" } else { "" };
    let mut find = connection.prepare_cached(&format!(
        "SELECT {column}, h.scheme, h.name, h.site, \
         (SELECT sum(c.entries) FROM counts c WHERE c.host = h.id AND {visible}), \
         (SELECT sum(c.bytes) FROM counts c WHERE c.host = h.id AND {visible}) \
         FROM hosts h WHERE ({column}, h.scheme) > (?, ?) {of_scheme} ORDER BY {column}, h.scheme"
    ))?;
    let mut values: Vec<Value> = owner.iter().chain(&owner).cloned().collect();
    values.extend([name, its_scheme].map(|text| Value::Text(text.to_owned())));
    values.extend(scheme.map(|scheme| Value::Text(scheme.to_owned())));
    let mut rows = find.query(params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        let (entries, bytes) = (wide(row.get(4)?), wide(row.get(5)?));
        // A viewer must not learn that another person has stored entries of a host.
        if entries == 0 {
            continue;
        }
        let (scheme, host, site) = (row.get(1)?, row.get(2)?, row.get(3)?);
        let name: String = row.get(0)?;
        if !look(&name, HostItem { scheme, host, site, entries, bytes }) {
            return Ok(false);
        }
    }
    Ok(true)
}
