//! Whether pages are there with all of their parts, as far as the index tells without a look at any file.
//!
//! What a page needs is known by the beginnings of the keys of its URLs, and the parts of styles, scripts and frames
//! are followed. What browsers may do without is not missed. A part is there if it is kept for everyone, or for the
//! person alone who looks: what others have is as if it were not. Nothing is told where something has not been read, where it would take too
//! long, or where it depends on more than the URL what somebody has, as with a login.

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
    let viewing = match viewer {
        Viewer::Person(name) => person(connection, name)?,
        Viewer::Operator => Who::Anyone,
    };
    let mut told = Vec::with_capacity(items.len());
    for item in items {
        let is_meant = item.class == Class::Page && (200..300).contains(&item.status);
        // What is one person's is looked at as they do, whoever asks.
        let who = match item.place.owner() {
            Some(name) if *viewer == Viewer::Operator => person(connection, name)?,
            _ => viewing,
        };
        told.push(if is_meant { look(connection, item.id, who, &mut looks)? } else { None });
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

/// Who has parts for themselves alone that are there.
#[derive(Clone, Copy)]
enum Who {
    /// Nobody who looks.
    Nobody,
    /// The owner with this number.
    Person(i64),
    /// It is not known who of all.
    Anyone,
}

fn person(connection: &Connection, name: &str) -> Result<Who> {
    let mut find = connection.prepare_cached("SELECT id FROM owners WHERE name = ?1")?;
    let number = find.query_row([name], |row| row.get(0)).optional()?;
    Ok(number.map_or(Who::Nobody, Who::Person))
}

/// Looks for the parts of an entry, and for theirs, as `who` has them.
fn look(connection: &Connection, id: i64, who: Who, looks: &mut Looks) -> Result<Option<Parts>> {
    let Some(mut ahead) = needs(connection, id)? else { return Ok(None) };
    let (mut seen, mut missing) = (HashSet::new(), 0_u32);
    while let Some(target) = ahead.pop() {
        if !seen.insert(target) {
            continue;
        }
        if seen.len() > MAX_OF_ONE || !looks.one_more() {
            return Ok(None);
        }
        // Offline what is their own comes first.
        let own = own(connection, target, who)?;
        let id = match own {
            Own::At(id) => Some(id),
            Own::Perhaps | Own::None => at(connection, target)?,
        };
        match id {
            None if own == Own::Perhaps => return Ok(None),
            None => missing += 1,
            Some(id) => match needs(connection, id)? {
                Some(more) => ahead.extend(more),
                None => return Ok(None),
            },
        }
    }
    Ok(Some(if missing == 0 { Parts::All } else { Parts::Missing(missing) }))
}

/// What somebody has of a URL for themselves alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Own {
    None,
    /// This entry.
    At(i64),
    /// Something that is not found by the URL alone.
    Perhaps,
}

fn own(connection: &Connection, target: i64, who: Who) -> Result<Own> {
    let number = match who {
        Who::Nobody => return Ok(Own::None),
        Who::Anyone => {
            let mut find = connection
                .prepare_cached("SELECT 1 FROM entries INDEXED BY entries_own WHERE own = ?1")?;
            return Ok(if find.exists([target])? { Own::Perhaps } else { Own::None });
        }
        Who::Person(number) => number,
    };
    let mut find = connection.prepare_cached(
        "SELECT id, plain FROM entries INDEXED BY entries_own WHERE own = ?1 AND owner = ?2 \
         ORDER BY plain DESC LIMIT 1",
    )?;
    let found = find.query_row((target, number), |row| {
        let (id, is_plain) = (row.get(0)?, row.get::<_, bool>(1)?);
        Ok(if is_plain { Own::At(id) } else { Own::Perhaps })
    });
    Ok(found.optional()?.unwrap_or(Own::None))
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
