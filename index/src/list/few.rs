//! Short lists: if few entries match, they are found by a common property and then sorted.

use rusqlite::Connection;
use rusqlite::types::Value;
use wwwoffle_spool::Timestamp;

use super::cursor::Position;
use super::{Cursor, PageBuilder, Sort, item};
use crate::class::ContentClass;
use crate::error::Result;
use crate::filter::{Filter, PreparedFilter};

/// The bounds of the number of entries that count as few.
const FEWEST: i64 = 200;
const MOST: i64 = 2_000;

/// Reading one entry takes as long as skipping this number of entries in an order.
const PASSED_MEANWHILE: i64 = 80;

/// The number of entries that count as few. To read and sort them must be less work than to walk
/// the order until a page is full. If *n* of *all* entries match, a page of *limit* entries is full
/// after *limit* · *all* / *n* entries of the order.
fn few(connection: &Connection, limit: usize) -> Result<i64> {
    let all: Option<i64> = connection
        .prepare_cached("SELECT max(id) FROM entries")?
        .query_row([], |row| row.get(0))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let passed = limit.saturating_mul(all.unwrap_or_default()) / PASSED_MEANWHILE;
    Ok(passed.isqrt().clamp(FEWEST, MOST))
}

/// The ids of all possible matches. `None` unless there are few and they have a common property by
/// which to find them.
pub(crate) fn gather(
    connection: &Connection,
    filter: &Filter,
    sieve: &PreparedFilter<'_>,
    sort: Sort,
    limit: usize,
) -> Result<Option<Vec<i64>>> {
    // In these cases the walk is already limited to matching entries.
    let is_of_host = filter.host.is_some() || filter.site.is_some();
    let has_hosts =
        is_of_host && sieve.hosts.is_some() && matches!(sort, Sort::Name | Sort::Domain);
    let has_days = filter.since.is_some() && matches!(sort, Sort::Stored | Sort::Day);
    if has_hosts || has_days {
        return Ok(None);
    }
    let few = few(connection, limit)?;
    if let Some(hosts) = sieve.hosts.as_ref().filter(|_| sieve.of_hosts <= few) {
        return of_hosts(connection, hosts, few).map(Some);
    }
    if filter.since.is_some() || filter.until.is_some() {
        let since = filter.since.map_or(i64::MIN, Timestamp::as_microsecond);
        let until = filter.until.map_or(i64::MAX, Timestamp::as_microsecond);
        let sql = "SELECT id FROM entries WHERE stored >= ? AND stored < ?";
        if let Some(all) = of(connection, sql, &[since.into(), until.into()], few)? {
            return Ok(Some(all));
        }
    }
    if let Some(status) = &filter.status {
        let sql = "SELECT id FROM entries WHERE status >= ? AND status <= ?";
        let range = [i64::from(*status.start()).into(), i64::from(*status.end()).into()];
        if let Some(all) = of(connection, sql, &range, few)? {
            return Ok(Some(all));
        }
    }
    if let Some(class) = filter.class {
        return of_class(connection, class, few);
    }
    Ok(None)
}

fn of_hosts(connection: &Connection, hosts: &[i64], few: i64) -> Result<Vec<i64>> {
    let mut all = Vec::new();
    for host in hosts {
        let mut find =
            connection.prepare_cached("SELECT id FROM entries WHERE host = ?1 LIMIT ?2")?;
        // The result is limited, because the counts may be too low.
        let rows = find.query_map((host, few), |row| row.get(0))?;
        all.extend(rows.collect::<rusqlite::Result<Vec<i64>>>()?);
    }
    Ok(all)
}

/// The ids that a statement returns. `None` if there are more than `few`.
fn of(connection: &Connection, sql: &str, values: &[Value], few: i64) -> Result<Option<Vec<i64>>> {
    let mut find = connection.prepare_cached(&format!("{sql} LIMIT ?"))?;
    let values = values.iter().cloned().chain([Value::from(few + 1)]);
    let rows = find.query_map(rusqlite::params_from_iter(values), |row| row.get(0))?;
    let all: Vec<i64> = rows.collect::<rusqlite::Result<_>>()?;
    let few = usize::try_from(few).unwrap_or(usize::MAX);
    Ok(Some(all).filter(|all| all.len() <= few))
}

fn of_class(connection: &Connection, class: ContentClass, few: i64) -> Result<Option<Vec<i64>>> {
    let mut find = connection.prepare_cached("SELECT id, name FROM types")?;
    let types = find.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    let mut all = Vec::new();
    for kind in types {
        let (kind, name) = kind?;
        if ContentClass::of(&name) != class {
            continue;
        }
        let sql = "SELECT id FROM entries WHERE type = ?";
        match of(connection, sql, &[kind.into()], few)? {
            Some(more) => all.extend(more),
            None => return Ok(None),
        }
    }
    let few = usize::try_from(few).unwrap_or(usize::MAX);
    Ok(Some(all).filter(|all| all.len() <= few))
}

/// Fills a page with the entries that follow a position in the order. Returns where to continue, or
/// `None` at the end.
pub(crate) fn sorted(
    filling: &mut PageBuilder<'_>,
    few: &[i64],
    sort: Sort,
    after: Option<&Position>,
) -> Result<Option<Cursor>> {
    let mut found = Vec::new();
    for id in few {
        let Some(item) = item(filling.connection, *id)? else { continue };
        let at = Position::of(&item, sort);
        if after.is_none_or(|after| *after < at)
            && filling.sieve.passes(&item)
            && (filling.keep)(&item)
        {
            found.push((at, item));
        }
    }
    found.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    let has_more = found.len() > filling.limit;
    found.truncate(filling.limit);
    let last = found.last().map(|(at, _)| at.clone()).filter(|_| has_more);
    filling.items.extend(found.into_iter().map(|(_, item)| item));
    Ok(last.map(|at| Cursor::after_entry(sort, at)))
}
