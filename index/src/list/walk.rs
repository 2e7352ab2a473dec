//! Long lists: the order is walked from the beginning of the page.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use wwwoffle_spool::Timestamp;

use super::cursor::Position;
use super::{Cursor, PageBuilder, Room, Sort};
use crate::error::Result;
use crate::facts::Facts;
use crate::filter::{Filter, PreparedFilter};

/// The number of groups (hosts, types) that are read at once.
const GROUPS: usize = 500;

/// Fills a page after `after`. Returns where to continue, or `None` at the end.
pub(crate) fn walk(
    filling: &mut PageBuilder<'_>,
    filter: &Filter,
    sort: Sort,
    after: Option<&Position>,
) -> Result<Option<Cursor>> {
    let ended = match sort {
        Sort::Stored | Sort::Day => {
            let since = filter.since.map_or(i64::MIN, Timestamp::as_microsecond);
            let until = filter.until.map_or(i64::MAX, Timestamp::as_microsecond);
            by_value(filling, "stored", (since, until), after)?
        }
        Sort::Used => by_value(filling, "used", (i64::MIN, i64::MAX), after)?,
        Sort::Size => by_value(filling, "body", (i64::MIN, i64::MAX), after)?,
        Sort::Random => by_key(filling, after)?,
        Sort::Name | Sort::Domain | Sort::Type => by_group(filling, sort, after)?,
    };
    Ok(ended.map(|at| Cursor::after_entry(sort, at)))
}

/// Walks an order by value, the largest value first. Returns where the walk stopped, or `None` at
/// the end.
fn by_value(
    filling: &mut PageBuilder<'_>,
    column: &str,
    (from, to): (i64, i64),
    after: Option<&Position>,
) -> Result<Option<Position>> {
    // All three values are negated in a cursor, where smaller values come first.
    let at = after.map_or((i64::MAX, i64::MAX, i64::MAX), |at| {
        (at.value.saturating_neg(), at.facts.saturating_neg(), at.id.saturating_neg())
    });
    let connection = filling.connection;
    let mut find = connection.prepare_cached(&format!(
        "SELECT {column}, facts, id FROM entries INDEXED BY entries_by_{name} \
         WHERE ({column}, facts, id) < (?1, ?2, ?3) AND {column} >= ?4 AND {column} < ?5 \
         ORDER BY {column} DESC, facts DESC, id DESC",
        name = if column == "body" { "size" } else { column },
    ))?;
    let mut rows = find.query((at.0, at.1, at.2, from, to))?;
    while let Some(row) = rows.next()? {
        let (value, facts, id): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if filling.step(facts, id)? == Room::None {
            let (value, facts, id) = (-value, -facts, -id);
            return Ok(Some(Position { value, facts, id, ..Position::default() }));
        }
    }
    Ok(None)
}

fn by_key(filling: &mut PageBuilder<'_>, after: Option<&Position>) -> Result<Option<Position>> {
    let bytes = |text: &str| hex::decode(text).unwrap_or_default();
    let (key, variant) = after.map(|at| (bytes(&at.group), bytes(&at.scheme))).unwrap_or_default();
    let connection = filling.connection;
    let mut find = connection.prepare_cached(
        "SELECT facts, id, lower(hex(key)), lower(hex(variant)) FROM entries INDEXED BY entries_by_key \
         WHERE (key, variant) > (?1, ?2) ORDER BY key, variant",
    )?;
    let mut rows = find.query((key, variant))?;
    while let Some(row) = rows.next()? {
        if filling.step(row.get(0)?, row.get(1)?)? == Room::None {
            let (group, scheme) = (row.get(2)?, row.get(3)?);
            return Ok(Some(Position { group, scheme, ..Position::default() }));
        }
    }
    Ok(None)
}

/// A host or a media type.
struct Group {
    id: i64,
    name: String,
    scheme: String,
}

fn groups(
    connection: &Connection,
    sieve: &PreparedFilter<'_>,
    sort: Sort,
    from: (&str, &str),
) -> Result<Vec<Group>> {
    let (condition, mut values) = sieve.host_condition();
    let (name, index) = match sort {
        Sort::Name => ("h.name", "hosts_by_name"),
        _ => ("h.labels", "hosts_by_labels"),
    };
    let sql = if sort == Sort::Type {
        values.clear();
        format!(
            "SELECT id, name, '' FROM types WHERE (name, '') >= (?, ?) ORDER BY name LIMIT {GROUPS}"
        )
    } else {
        let index =
            if sieve.hosts.is_some() { String::new() } else { format!("INDEXED BY {index}") };
        format!(
            "SELECT h.id, {name}, h.scheme FROM hosts h {index} \
             WHERE {condition} AND ({name}, h.scheme) >= (?, ?) ORDER BY {name}, h.scheme LIMIT {GROUPS}"
        )
    };
    values.extend([from.0, from.1].map(|text| Value::Text(text.to_owned())));
    let mut find = connection.prepare_cached(&sql)?;
    let rows = find.query_map(params_from_iter(values), |row| {
        Ok(Group { id: row.get(0)?, name: row.get(1)?, scheme: row.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Walks an order group by group. Returns where the walk stopped, or `None` at the end.
fn by_group(
    filling: &mut PageBuilder<'_>,
    sort: Sort,
    after: Option<&Position>,
) -> Result<Option<Position>> {
    let mut at = after.cloned();
    loop {
        let from = at.as_ref().map_or(("", ""), |at| (at.group.as_str(), at.scheme.as_str()));
        let groups = groups(filling.connection, &filling.sieve, sort, from)?;
        let is_last = groups.len() < GROUPS;
        for group in &groups {
            let begun = at.take().filter(|at| at.group == group.name && at.scheme == group.scheme);
            let ended = match sort {
                Sort::Type => in_type(filling, group, begun.as_ref())?,
                _ => in_host(filling, group, begun.as_ref())?,
            };
            if let Some(mut ended) = ended {
                (ended.group, ended.scheme) = (group.name.clone(), group.scheme.clone());
                return Ok(Some(ended));
            }
        }
        let Some(last) = groups.last().filter(|_| !is_last) else { return Ok(None) };
        // Continues after the last group: the position is beyond all of its entries.
        let (group, scheme) = (last.name.clone(), last.scheme.clone());
        let (facts, id, text) = (i64::MAX, i64::MAX, char::MAX.to_string());
        at = Some(Position { group, scheme, text, value: 0, facts, id });
    }
}

fn in_type(
    filling: &mut PageBuilder<'_>,
    group: &Group,
    after: Option<&Position>,
) -> Result<Option<Position>> {
    let (facts, id) = after.map_or((i64::MIN, i64::MIN), |at| (at.facts, at.id));
    let connection = filling.connection;
    let mut find = connection.prepare_cached(
        "SELECT facts, id FROM entries INDEXED BY entries_by_type \
         WHERE type = ?1 AND (facts, id) > (?2, ?3) ORDER BY facts, id",
    )?;
    let mut rows = find.query((group.id, facts, id))?;
    while let Some(row) = rows.next()? {
        let (facts, id) = (row.get(0)?, row.get(1)?);
        if filling.step(facts, id)? == Room::None {
            return Ok(Some(Position { facts, id, ..Position::default() }));
        }
    }
    Ok(None)
}

fn in_host(
    filling: &mut PageBuilder<'_>,
    group: &Group,
    after: Option<&Position>,
) -> Result<Option<Position>> {
    let none = Position { facts: i64::MIN, id: i64::MIN, ..Position::default() };
    let after = after.unwrap_or(&none);
    let connection = filling.connection;
    let mut find = connection.prepare_cached(
        "SELECT name, facts, id FROM entries INDEXED BY entries_by_host \
         WHERE host = ?1 AND (name, facts, id) > (?2, ?3, ?4) ORDER BY name, facts, id",
    )?;
    let mut rows = find.query((group.id, &after.text, after.facts, after.id))?;
    while let Some(row) = rows.next()? {
        let (facts, id) = (row.get(1)?, row.get(2)?);
        if filling.step(facts, id)? == Room::None {
            return Ok(Some(Position { text: row.get(0)?, facts, id, ..Position::default() }));
        }
    }
    Ok(None)
}

impl PageBuilder<'_> {
    /// Advances by one entry, which is examined if it may match. Returns whether the page can
    /// continue.
    fn step(&mut self, facts: i64, id: i64) -> Result<Room> {
        if self.sieve.may_pass(Facts(facts)) { self.look_at(id) } else { Ok(self.room()) }
    }
}
