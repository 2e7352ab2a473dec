//! The stored sub-resources of entries, for archives that show each page completely.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension};
use wwwoffle_spool::Place;

use crate::column::{owner_id, prefixes};
use crate::error::Result;
use crate::item::Item;
use crate::list::item;
use crate::lookup::{id_of, key_range};

/// The maximum number of sub-resources that are gathered.
pub const MAX_SUB_RESOURCES: usize = 100_000;

/// Gathered sub-resources of entries. They include sub-resources of sub-resources, such as fonts of
/// style sheets and images in frames.
///
/// Shared entries and the entries of one owner are gathered.
#[derive(Debug, Default)]
pub struct SubResources {
    /// The gathered entries, without those that were given as pages.
    pub items: Vec<Item>,
    /// The number of entries of other owners, which are left out.
    pub personal: u64,
    /// Whether there are more than [`MAX_SUB_RESOURCES`].
    pub is_cut: bool,
    owner: Option<String>,
    /// The ids of the entries that were given or gathered.
    seen: HashSet<i64>,
    /// The key prefixes of the URLs that were looked up.
    looked_up: HashSet<i64>,
}

impl SubResources {
    /// An empty collection for shared entries and those of `owner`.
    #[must_use]
    pub fn of_owner(owner: Option<String>) -> SubResources {
        SubResources { owner, ..SubResources::default() }
    }

    /// Gathers the sub-resources of the entries at `places`. The entries at `places` themselves are
    /// not gathered later.
    pub(crate) fn gather(&mut self, connection: &Connection, places: &[Place]) -> Result<()> {
        let owner = match &self.owner {
            Some(name) => owner_id(connection, name)?,
            None => None,
        };
        let mut ahead = Vec::new();
        for place in places {
            if let Some(id) = id_of(connection, place)? {
                self.seen.insert(id);
                ahead.push(id);
            }
        }
        while let Some(id) = ahead.pop() {
            for target in targets(connection, id)? {
                if !self.looked_up.insert(target) {
                    continue;
                }
                for (id, of) in entries_at(connection, target)? {
                    if of.is_some() && of != owner {
                        self.personal += 1;
                        continue;
                    }
                    if !self.seen.insert(id) {
                        continue;
                    }
                    if self.items.len() >= MAX_SUB_RESOURCES {
                        self.is_cut = true;
                        return Ok(());
                    }
                    self.items.extend(item(connection, id)?);
                    ahead.push(id);
                }
            }
        }
        Ok(())
    }
}

/// The key prefixes of the sub-resources of an entry, which are the first of its references.
fn targets(connection: &Connection, id: i64) -> Result<Vec<i64>> {
    let mut find =
        connection.prepare_cached("SELECT parts, targets FROM referring WHERE source = ?1")?;
    let found =
        find.query_row([id], |row| Ok(prefixes(row.get_ref(1)?.as_blob()?, row.get(0)?).collect()));
    Ok(found.optional()?.unwrap_or_default())
}

/// The ids of the entries of a URL with their owners: shared variants first, without an owner, then
/// those of each person.
fn entries_at(connection: &Connection, target: i64) -> Result<Vec<(i64, Option<i64>)>> {
    let (first, last) = key_range(target);
    let mut find = connection.prepare_cached(
        "SELECT id FROM entries INDEXED BY entries_by_key WHERE key >= ?1 AND key <= ?2",
    )?;
    let public = find.query_map((first, last), |row| Ok((row.get(0)?, None)))?;
    let mut entries = public.collect::<rusqlite::Result<Vec<_>>>()?;
    let mut find = connection
        .prepare_cached("SELECT id, owner FROM entries INDEXED BY entries_own WHERE own = ?1")?;
    let own = find.query_map([target], |row| Ok((row.get(0)?, Some(row.get(1)?))))?;
    for entry in own {
        entries.push(entry?);
    }
    Ok(entries)
}
