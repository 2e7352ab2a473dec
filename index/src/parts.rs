//! Whether pages are there with all of their parts, as far as the index tells without a look at any file.
//!
//! What a page needs is known by the beginnings of the keys of its URLs, and the parts of styles, scripts and frames
//! are followed. What browsers may do without is not missed. Nothing is told where something has not been read, where it would take too long, or where a part that is
//! not everyone's may be the viewer's own: its key does not follow from its URL alone.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};

use crate::class::Class;
use crate::error::Result;
use crate::filter::Viewer;
use crate::item::Item;

/// So many parts are looked for at once, for all pages together: some three microseconds each.
const MAX_LOOKS: usize = 4_000;

/// As many are looked for whatever the time.
const AT_LEAST: usize = 256;

/// How long they are looked for.
const PATIENCE: Duration = Duration::from_millis(10);

/// So many of one page.
const MAX_OF_ONE: usize = 1_000;

/// Whether a page is there with its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// All are there.
    All,
    /// So many are not.
    Missing(u32),
}

/// Of each item whether it is there with its parts; `None` for what is no page, and where it is not known.
pub(crate) fn of(
    connection: &Connection,
    viewer: &Viewer,
    items: &[Item],
) -> Result<Vec<Option<Parts>>> {
    let mut looks = Looks { left: MAX_LOOKS, until: Instant::now() + PATIENCE };
    let may_be_own = may_be_own(connection, viewer)?;
    let mut told = Vec::with_capacity(items.len());
    for item in items {
        let is_meant = item.class == Class::Page && (200..300).contains(&item.status);
        let of_one = if is_meant { look(connection, item.id, &mut looks)? } else { None };
        told.push(of_one.filter(|parts| *parts == Parts::All || !may_be_own));
    }
    Ok(told)
}

/// How much may still be looked for.
struct Looks {
    left: usize,
    until: Instant,
}

impl Looks {
    fn one_more(&mut self) -> bool {
        let done = MAX_LOOKS - self.left;
        let is_late = done >= AT_LEAST && done.is_multiple_of(32) && Instant::now() > self.until;
        if is_late {
            self.left = 0;
        }
        let is_left = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_left
    }
}

/// Whether the viewer may have parts of their own.
fn may_be_own(connection: &Connection, viewer: &Viewer) -> Result<bool> {
    let mut find = match viewer {
        Viewer::Operator => connection.prepare_cached("SELECT 1 FROM owners LIMIT 1")?,
        Viewer::Person(name) => {
            let mut find = connection.prepare_cached("SELECT 1 FROM owners WHERE name = ?1")?;
            return Ok(find.exists([name])?);
        }
    };
    Ok(find.exists([])?)
}

/// Looks for the parts of an entry, and for theirs.
fn look(connection: &Connection, id: i64, looks: &mut Looks) -> Result<Option<Parts>> {
    let Some(mut ahead) = needs(connection, id)? else { return Ok(None) };
    let (mut seen, mut missing) = (HashSet::new(), 0_u32);
    while let Some(target) = ahead.pop() {
        if !seen.insert(target) {
            continue;
        }
        if seen.len() > MAX_OF_ONE || !looks.one_more() {
            return Ok(None);
        }
        match at(connection, target)? {
            None => missing += 1,
            Some(id) => match needs(connection, id)? {
                Some(more) => ahead.extend(more),
                None => return Ok(None),
            },
        }
    }
    Ok(Some(if missing == 0 { Parts::All } else { Parts::Missing(missing) }))
}

/// The entry of everyone whose key begins so, if there is one.
fn at(connection: &Connection, target: i64) -> Result<Option<i64>> {
    let first = target.to_be_bytes();
    let mut last = first.to_vec();
    last.extend([0xff; 24]);
    let mut find = connection.prepare_cached(
        "SELECT id FROM entries INDEXED BY entries_by_key WHERE key >= ?1 AND key <= ?2 LIMIT 1",
    )?;
    Ok(find.query_row((first.as_slice(), last), |row| row.get(0)).optional()?)
}

/// What an entry needs; `None` where that is not known.
fn needs(connection: &Connection, id: i64) -> Result<Option<Vec<i64>>> {
    let mut find = connection.prepare_cached(
        "SELECT e.told, r.missed, r.targets FROM entries e LEFT JOIN referring r ON r.source = e.id \
         WHERE e.id = ?1",
    )?;
    let found = find.query_row([id], |row| {
        let is_told: bool = row.get(0)?;
        let count: Option<i64> = row.get(1)?;
        let count = usize::try_from(count.unwrap_or_default()).unwrap_or_default();
        let targets = row.get_ref(2)?.as_blob_or_null()?.unwrap_or_default();
        let targets = targets.as_chunks().0.iter().take(count);
        let targets = targets.map(|target| i64::from_le_bytes(*target)).collect::<Vec<_>>();
        Ok(is_told.then_some(targets))
    });
    Ok(found.optional()?.flatten())
}
