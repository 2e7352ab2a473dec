//! Lookups of single entries and references.

use rusqlite::{Connection, OptionalExtension};
use wwwoffle_spool::{Key, Place};

use crate::column::{first_of, narrow, prefixes};
use crate::error::Result;
use crate::filter::Viewer;
use crate::item::Item;
use crate::list::item;

/// The maximum number of results of a lookup.
pub const MAX_FOUND: usize = 1_000;

/// The entries that refer to a URL, at most [`MAX_FOUND`]. With `parts_only`, only those that use
/// it as a sub-resource.
pub(crate) fn referrers(
    connection: &Connection,
    viewer: &Viewer,
    url: &str,
    parts_only: bool,
) -> Result<Vec<Item>> {
    let mut find = connection
        .prepare_cached("SELECT source FROM refs WHERE target = ?1 AND part >= ?2 LIMIT ?3")?;
    let sources = find.query_map((target(url), parts_only, row_limit()), |row| row.get(0))?;
    items_by_id(connection, viewer, sources)
}

/// The stored entries that an entry refers to, at most [`MAX_FOUND`].
pub(crate) fn references(
    connection: &Connection,
    viewer: &Viewer,
    place: &Place,
) -> Result<Vec<Item>> {
    let mut find = connection.prepare_cached(
        "SELECT r.targets FROM entries e JOIN referring r ON r.source = e.id \
         WHERE e.key = ?1 AND e.vary = ?2",
    )?;
    let mut rows = find.query((place.key().as_bytes(), place.variant_text()))?;
    let mut items = Vec::new();
    let Some(row) = rows.next()? else { return Ok(items) };
    let targets: Vec<u8> = row.get(0)?;
    for target in prefixes(&targets, row_limit()) {
        let id = shared_id(connection, target)?.map(Ok);
        items.extend(items_by_id(connection, viewer, id.into_iter())?);
    }
    Ok(items)
}

/// The entries whose body has this digest and length, at most [`MAX_FOUND`].
pub(crate) fn with_body(
    connection: &Connection,
    digest: &[u8; 32],
    body_len: u64,
) -> Result<Vec<Item>> {
    let mut find = connection
        .prepare_cached("SELECT id FROM entries WHERE sum = ?1 AND body = ?2 LIMIT ?3")?;
    let found = (first_of(digest), narrow(body_len), row_limit());
    let found = find.query_map(found, |row| row.get(0))?;
    let mut items = items_by_id(connection, &Viewer::Operator, found)?;
    items.retain(|item| item.content.digest == *digest);
    Ok(items)
}

/// The entry at exactly this place.
pub(crate) fn at(connection: &Connection, place: &Place) -> Result<Option<Item>> {
    let id = id_of(connection, place)?.map(Ok);
    Ok(items_by_id(connection, &Viewer::Operator, id.into_iter())?.pop())
}

/// The id of the entry at exactly this place.
pub(crate) fn id_of(connection: &Connection, place: &Place) -> Result<Option<i64>> {
    let mut find =
        connection.prepare_cached("SELECT id FROM entries WHERE key = ?1 AND vary = ?2")?;
    let id = find.query_row((place.key().as_bytes(), place.variant_text()), |row| row.get(0));
    Ok(id.optional()?)
}

/// The id of the shared entry with this key prefix, if any. A shared entry has the key of its URL.
/// The keys of personal entries cannot be derived from that key, so they are not found.
pub(crate) fn shared_id(connection: &Connection, target: i64) -> Result<Option<i64>> {
    let (first, last) = key_range(target);
    let mut find = connection.prepare_cached(
        "SELECT id FROM entries INDEXED BY entries_by_key WHERE key >= ?1 AND key <= ?2 LIMIT 1",
    )?;
    Ok(find.query_row((first, last), |row| row.get(0)).optional()?)
}

/// The first and the last of the keys that begin with `target`.
pub(crate) fn key_range(target: i64) -> (Vec<u8>, Vec<u8>) {
    let key = |rest: u8| [target.to_be_bytes().as_slice(), &[rest; 24]].concat();
    (key(0), key(0xff))
}

fn items_by_id(
    connection: &Connection,
    viewer: &Viewer,
    ids: impl Iterator<Item = rusqlite::Result<i64>>,
) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    for id in ids {
        let found = item(connection, id?)?;
        items.extend(found.filter(|item| viewer.may_see(item.place.owner())));
    }
    Ok(items)
}

fn row_limit() -> i64 {
    i64::try_from(MAX_FOUND).unwrap_or(i64::MAX)
}

/// The number that stands for a URL in references.
fn target(url: &str) -> i64 {
    let digest: [u8; 32] = <sha2::Sha256 as sha2::Digest>::digest(url).into();
    first_of(Key::from_bytes(digest).as_bytes())
}
