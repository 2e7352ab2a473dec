//! The times at which the pages of a site were stored.

use std::time::{Duration, Instant};

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use wwwoffle_spool::Timestamp;

use crate::Index;
use crate::error::Result;
use crate::facts::Facts;
use crate::filter::Viewer;
use crate::hosts::{total_of_site, visible};

/// The time limit for one site.
const PATIENCE: Duration = Duration::from_millis(200);

/// The number of entries between two looks at the clock.
const BETWEEN_LOOKS: usize = 1_000;

/// The largest number of entries of a site that are read one by one. For a larger site, the index by
/// time is read, which has all that is needed.
const FEW: u64 = 2_000;

/// When the pages of a site were stored. If some are missing of a large site, they are the oldest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredTimes {
    /// The times.
    pub times: Vec<Timestamp>,
    /// Whether there are more.
    pub is_cut: bool,
}

fn stored_times(connection: &Connection, viewer: &Viewer, site: &str) -> Result<StoredTimes> {
    let mut find = connection.prepare_cached("SELECT id FROM hosts WHERE site = ?1")?;
    let ids = find.query_map([site], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
    let is_small = total_of_site(connection, viewer, site)?.entries <= FEW;
    let sql = if is_small {
        "SELECT e.facts, e.stored, e.id FROM hosts h JOIN entries e INDEXED BY entries_by_host \
         ON e.host = h.id WHERE h.site = ?1"
    } else {
        "SELECT facts, stored, id FROM entries INDEXED BY entries_by_stored WHERE ?1 <> '' \
         ORDER BY stored DESC"
    };
    let mut find = connection.prepare_cached(sql)?;
    let mut rows = find.query([site])?;
    let (mut found, until, mut looked_at) = (StoredTimes::default(), Instant::now() + PATIENCE, 0);
    while let Some(row) = rows.next()? {
        looked_at += 1;
        if looked_at % BETWEEN_LOOKS == 0 && Instant::now() > until {
            found.is_cut = true;
            break;
        }
        let facts = Facts(row.get(0)?);
        let is_page = facts.class().is_page() && ids.iter().any(|id| facts.may_be_of(*id));
        if is_page && (!facts.is_owned() || is_visible(connection, viewer, row.get(2)?)?) {
            found.times.extend(Timestamp::from_microsecond(row.get(1)?));
        }
    }
    Ok(found)
}

/// Whether `viewer` may see the entry with this id.
fn is_visible(connection: &Connection, viewer: &Viewer, id: i64) -> Result<bool> {
    let (visible, owner) = visible(viewer);
    // The condition is for a table `c` with a column `owner`, as the entries have one.
    let sql = format!("SELECT 1 FROM entries c WHERE c.id = ? AND {visible}");
    let values = std::iter::once(Value::Integer(id)).chain(owner);
    Ok(connection.prepare_cached(&sql)?.exists(params_from_iter(values))?)
}

impl Index {
    /// When the pages of a site were stored that `viewer` may see, as far as they are found in
    /// time.
    ///
    /// # Errors
    ///
    /// As [`Index::folder`].
    pub fn stored_times(&self, viewer: &Viewer, site: &str) -> Result<StoredTimes> {
        self.0.pool.read(|connection| stored_times(connection, viewer, site))
    }
}
