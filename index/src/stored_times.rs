//! The times at which the pages of a site were stored.

use std::time::{Duration, Instant};

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use wwwoffle_spool::Timestamp;

use crate::Index;
use crate::error::Result;
use crate::facts::Facts;
use crate::filter::Viewer;
use crate::hosts::visible;

/// The time limit for one site.
const PATIENCE: Duration = Duration::from_millis(200);

/// The number of entries between two looks at the clock.
const BETWEEN_LOOKS: usize = 1_000;

/// When the pages of a site were stored, in no order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredTimes {
    /// The times.
    pub times: Vec<Timestamp>,
    /// Whether there are more.
    pub is_cut: bool,
}

fn stored_times(connection: &Connection, viewer: &Viewer, site: &str) -> Result<StoredTimes> {
    let (visible, owner) = visible(viewer);
    // The condition is for a table `c` with a column `owner`, as the entries have one.
    let mut find = connection.prepare_cached(&format!(
        "SELECT c.facts, c.stored FROM hosts h JOIN entries c INDEXED BY entries_by_host \
         ON c.host = h.id WHERE h.site = ? AND {visible}"
    ))?;
    let values = std::iter::once(Value::Text(site.to_owned())).chain(owner);
    let mut rows = find.query(params_from_iter(values))?;
    let (mut found, until, mut looked_at) = (StoredTimes::default(), Instant::now() + PATIENCE, 0);
    while let Some(row) = rows.next()? {
        looked_at += 1;
        if looked_at % BETWEEN_LOOKS == 0 && Instant::now() > until {
            found.is_cut = true;
            break;
        }
        if Facts(row.get(0)?).class().is_page() {
            found.times.extend(Timestamp::from_microsecond(row.get(1)?));
        }
    }
    Ok(found)
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
