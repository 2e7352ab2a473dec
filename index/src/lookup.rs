//! What other parts of the program ask of the index.

use rusqlite::Connection;
use wwwoffle_spool::{Key, Place, Timestamp};

use crate::apply::{first_of, narrow};
use crate::error::Result;
use crate::filter::Viewer;
use crate::item::{self, COLUMNS, FROM, Item};
use crate::list::item;

/// Candidates that are read at once.
const AT_ONCE: i64 = 1_000;

/// The most referrers, entries with one body, and pages of one part that are told.
pub const MAX_FOUND: usize = 1_000;

/// An entry as purging weighs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Where it is.
    pub place: Place,
    /// The length of its file in bytes.
    pub file_len: u64,
    /// When it was finished.
    pub stored: Timestamp,
    /// When it was used last; being stored is a use.
    pub used: Timestamp,
    /// Whether it is what a person opens, and no part of something else.
    pub is_page: bool,
    /// How many pages are shown with it, as far as they have been read.
    pub pages: u32,
}

/// The next candidates behind a number, and the number of the last.
pub(crate) fn candidates(connection: &Connection, after: i64) -> Result<(Vec<Candidate>, i64)> {
    let mut find = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM {FROM} WHERE e.id > ?1 ORDER BY e.id LIMIT ?2"
    ))?;
    let mut rows = find.query((after, AT_ONCE))?;
    let (mut found, mut last) = (Vec::new(), after);
    while let Some(row) = rows.next()? {
        last = row.get(0)?;
        let Some(item) = item::read(row)? else { continue };
        let pages = count_pages(connection, item.place.url())?;
        let is_page = item.is_page();
        let Item { place, file_len, stored, used, .. } = item;
        found.push(Candidate { place, file_len, stored, used, is_page, pages });
    }
    Ok((found, last))
}

fn count_pages(connection: &Connection, url: &str) -> Result<u32> {
    let mut count = connection
        .prepare_cached("SELECT count(*) FROM refs WHERE target = ?1 AND part AND source > 0")?;
    let pages: i64 = count.query_row([target(url)], |row| row.get(0))?;
    Ok(u32::try_from(pages).unwrap_or(u32::MAX))
}

/// What refers to a URL, at most [`MAX_FOUND`]; `parts_only`: what is shown with it.
pub(crate) fn referrers(
    connection: &Connection,
    viewer: &Viewer,
    url: &str,
    parts_only: bool,
) -> Result<Vec<Item>> {
    let mut find = connection
        .prepare_cached("SELECT source FROM refs WHERE target = ?1 AND part >= ?2 LIMIT ?3")?;
    let sources = find.query_map((target(url), parts_only, most()), |row| row.get(0))?;
    some(connection, viewer, sources)
}

/// To what of the spool an entry refers, at most [`MAX_FOUND`].
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
    for target in targets.as_chunks().0.iter().take(MAX_FOUND) {
        // Everyone's entry has the key of the URL; of others only their owners know.
        let first = i64::from_le_bytes(*target).to_be_bytes();
        let mut last = first.to_vec();
        last.extend([0xff; 24]);
        let mut find = connection
            .prepare_cached("SELECT id FROM entries WHERE key >= ?1 AND key <= ?2 LIMIT 1")?;
        let found = find.query_map((first.as_slice(), last), |row| row.get(0))?;
        items.extend(some(connection, viewer, found)?);
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
    let found = (first_of(digest), narrow(body_len), most());
    let found = find.query_map(found, |row| row.get(0))?;
    let mut items = some(connection, &Viewer::Operator, found)?;
    items.retain(|item| item.digest == *digest);
    Ok(items)
}

/// What the index knows of exactly this place.
pub(crate) fn at(connection: &Connection, place: &Place) -> Result<Option<Item>> {
    let mut find =
        connection.prepare_cached("SELECT id FROM entries WHERE key = ?1 AND vary = ?2")?;
    let found = find.query_map((place.key().as_bytes(), place.variant_text()), |row| row.get(0))?;
    Ok(some(connection, &Viewer::Operator, found)?.pop())
}

fn some(
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

fn most() -> i64 {
    i64::try_from(MAX_FOUND).unwrap_or(i64::MAX)
}

/// The name of a URL among what is referred to.
fn target(url: &str) -> i64 {
    let digest: [u8; 32] = <sha2::Sha256 as sha2::Digest>::digest(url).into();
    first_of(Key::from_bytes(digest).as_bytes())
}
