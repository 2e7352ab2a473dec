//! Whether pages are complete with all their sub-resources, as far as the index knows without
//! reading files.
//!
//! The sub-resources of a page are stored as key prefixes of their URLs. The search also follows
//! the sub-resources of style sheets, scripts and frames. Optional sub-resources do not count as
//! missing. A sub-resource is available if it is shared or belongs to the viewer; entries of other
//! owners do not count. The result is unknown in these cases: an entry has not been read, the
//! search takes too long, or a personal copy depends on more than the URL, such as a login.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};

use crate::class::ContentClass;
use crate::column::{owner_id, prefixes};
use crate::error::Result;
use crate::filter::Viewer;
use crate::item::Item;
use crate::lookup::shared_id;

/// The maximum number of sub-resources that are looked up in one call for all pages together. One
/// lookup takes about three microseconds.
const MAX_LOOKS: usize = 4_000;

/// The number of sub-resources that are looked up even if the time limit has passed.
const AT_LEAST: usize = 256;

/// The time limit of the lookups.
const PATIENCE: Duration = Duration::from_millis(10);

/// The maximum number of sub-resources of one page that are looked up.
const MAX_OF_ONE: usize = 1_000;

/// Whether a page has all its sub-resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// All sub-resources are stored.
    All,
    /// This number of sub-resources is missing.
    Missing(u32),
}

/// For each item, whether it is complete. `None` if the item is not a page with a 2xx status, or if
/// the result is unknown.
pub(crate) fn of(
    connection: &Connection,
    viewer: &Viewer,
    items: &[Item],
) -> Result<Vec<Option<Completeness>>> {
    let mut looks = LookupBudget { left: MAX_LOOKS, until: Instant::now() + PATIENCE };
    let viewing = match viewer {
        Viewer::Person(name) => personal_scope(connection, name)?,
        Viewer::Operator => PersonalScope::Anyone,
    };
    let mut states = Vec::with_capacity(items.len());
    for item in items {
        let is_meant =
            item.content.class == ContentClass::Page && (200..300).contains(&item.content.status);
        // For the operator, a personal page is evaluated as its owner sees it.
        let who = match item.place.owner() {
            Some(name) if *viewer == Viewer::Operator => personal_scope(connection, name)?,
            _ => viewing,
        };
        states.push(if is_meant {
            find_needs(connection, item.position.id, who, &mut looks)?
        } else {
            None
        });
    }
    Ok(states)
}

/// The remaining budget of lookups.
struct LookupBudget {
    left: usize,
    until: Instant,
}

impl LookupBudget {
    fn count_lookup(&mut self) -> bool {
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

/// The owners whose personal copies count as available.
#[derive(Clone, Copy)]
enum PersonalScope {
    /// The personal copies of no owner.
    Nobody,
    /// The personal copies of the owner with this id.
    Person(i64),
    /// The personal copies of any owner. Whether such a copy counts is unknown.
    Anyone,
}

fn personal_scope(connection: &Connection, name: &str) -> Result<PersonalScope> {
    let number = owner_id(connection, name)?;
    Ok(number.map_or(PersonalScope::Nobody, PersonalScope::Person))
}

/// Looks up the sub-resources of an entry recursively, as `who` sees them. `None` if the result is
/// unknown.
fn find_needs(
    connection: &Connection,
    id: i64,
    who: PersonalScope,
    looks: &mut LookupBudget,
) -> Result<Option<Completeness>> {
    let Some(mut ahead) = needs(connection, id)? else { return Ok(None) };
    let (mut seen, mut missing) = (HashSet::new(), 0_u32);
    while let Some(target) = ahead.pop() {
        if !seen.insert(target) {
            continue;
        }
        if seen.len() > MAX_OF_ONE || !looks.count_lookup() {
            return Ok(None);
        }
        // Offline, personal copies take precedence.
        let own = find_personal_copy(connection, target, who)?;
        let id = match own {
            PersonalCopy::At(id) => Some(id),
            PersonalCopy::Perhaps | PersonalCopy::None => shared_id(connection, target)?,
        };
        match id {
            None if own == PersonalCopy::Perhaps => return Ok(None),
            None => missing += 1,
            Some(id) => match needs(connection, id)? {
                Some(more) => ahead.extend(more),
                None => return Ok(None),
            },
        }
    }
    Ok(Some(if missing == 0 { Completeness::All } else { Completeness::Missing(missing) }))
}

/// A personal copy of a URL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PersonalCopy {
    None,
    /// The personal entry with this id.
    At(i64),
    /// There is a personal entry, but it is not known whether it counts: its owner may be another
    /// person, or its key depends on more than the URL.
    Perhaps,
}

fn find_personal_copy(
    connection: &Connection,
    target: i64,
    who: PersonalScope,
) -> Result<PersonalCopy> {
    let number = match who {
        PersonalScope::Nobody => return Ok(PersonalCopy::None),
        PersonalScope::Anyone => {
            let mut find = connection
                .prepare_cached("SELECT 1 FROM entries INDEXED BY entries_own WHERE own = ?1")?;
            return Ok(if find.exists([target])? {
                PersonalCopy::Perhaps
            } else {
                PersonalCopy::None
            });
        }
        PersonalScope::Person(number) => number,
    };
    let mut find = connection.prepare_cached(
        "SELECT id, plain FROM entries INDEXED BY entries_own WHERE own = ?1 AND owner = ?2 \
         ORDER BY plain DESC LIMIT 1",
    )?;
    let found = find.query_row((target, number), |row| {
        let (id, is_plain) = (row.get(0)?, row.get::<_, bool>(1)?);
        Ok(if is_plain { PersonalCopy::At(id) } else { PersonalCopy::Perhaps })
    });
    Ok(found.optional()?.unwrap_or(PersonalCopy::None))
}

/// The sub-resources of an entry; `None` if unknown.
fn needs(connection: &Connection, id: i64) -> Result<Option<Vec<i64>>> {
    let mut find = connection.prepare_cached(
        "SELECT e.told, r.missed, r.targets FROM entries e LEFT JOIN referring r ON r.source = e.id \
         WHERE e.id = ?1",
    )?;
    let found = find.query_row([id], |row| {
        let is_told: bool = row.get(0)?;
        let count: Option<i64> = row.get(1)?;
        let targets = row.get_ref(2)?.as_blob_or_null()?.unwrap_or_default();
        Ok(is_told.then(|| prefixes(targets, count.unwrap_or_default()).collect()))
    });
    Ok(found.optional()?.flatten())
}
