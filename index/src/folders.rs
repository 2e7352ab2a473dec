//! The folders of a host: what is directly below a path.
//!
//! The entries of a host are sorted by their paths, so the entries of a folder are adjacent. After
//! one entry of a folder was found, the rest of the folder is skipped. So the work depends on the
//! number of names in the path, not on the number of entries below it.

use std::time::{Duration, Instant};

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params_from_iter};

use crate::Index;
use crate::error::Result;
use crate::facts::Facts;
use crate::filter::Viewer;
use crate::hosts::visible;
use crate::item::Item;
use crate::list::item;

/// The maximum number of names in a folder.
pub(crate) const MAX_NAMES: usize = 1_000;

/// The time limit for one folder.
const PATIENCE: Duration = Duration::from_millis(30);

/// The number of characters of a path by which entries are sorted. Longer paths that begin alike
/// are not told apart.
const SORTED: usize = 120;

/// What is directly below a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Folder {
    /// The names, in order.
    pub names: Vec<FolderName>,
    /// Whether there are more names.
    pub is_cut: bool,
}

/// A name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderName {
    /// A folder; its path from the root of the host, with a `/` at the end.
    Folder(String),
    /// A page.
    Page(Box<Item>),
}

/// The position of an entry in the order of paths.
struct PathPosition {
    name: String,
    facts: i64,
    id: i64,
}

/// Lists the folders and the pages of a host that are directly below `path`, which ends with a `/`.
/// Folders without pages that `viewer` may see are left out.
pub(crate) fn below(
    connection: &Connection,
    viewer: &Viewer,
    (scheme, host): (&str, &str),
    path: &str,
    limit: usize,
) -> Result<Folder> {
    let mut folder = Folder::default();
    let find = "SELECT id FROM hosts WHERE name = ?1 AND scheme = ?2";
    let mut find = connection.prepare_cached(find)?;
    let id: Option<i64> = find.query_row([host, scheme], |row| row.get(0)).optional()?;
    let Some(host) = id.filter(|_| path.chars().count() < SORTED) else { return Ok(folder) };
    let (limit, until) = (limit.clamp(1, MAX_NAMES), Instant::now() + PATIENCE);
    let mut at = PathPosition { name: path.to_owned(), facts: i64::MIN, id: i64::MIN };
    while let Some(here) = following(connection, host, &at)? {
        let Some(rest) = here.name.strip_prefix(path) else { break };
        if folder.names.len() == limit || Instant::now() > until {
            folder.is_cut = true;
            break;
        }
        let found = Facts(here.facts).class().is_page().then(|| item(connection, here.id));
        let found = found.transpose()?.flatten();
        let found = found.filter(|item| viewer.may_see(item.place.owner()));
        let end = rest.split(['?', '#']).next().unwrap_or_default().find('/');
        let name = end.map(|end| format!("{path}{}/", rest.get(..end).unwrap_or_default()));
        match (found, name) {
            (Some(_), Some(name)) => {
                at = after_folder(&name);
                folder.names.push(FolderName::Folder(name));
            }
            (Some(item), None) => {
                at = here;
                folder.names.push(FolderName::Page(Box::new(item)));
            }
            (None, _) => at = here,
        }
    }
    Ok(folder)
}

/// The first entry of a host after a position.
fn following(
    connection: &Connection,
    host: i64,
    at: &PathPosition,
) -> Result<Option<PathPosition>> {
    let mut find = connection.prepare_cached(
        "SELECT name, facts, id FROM entries INDEXED BY entries_by_host \
         WHERE host = ?1 AND (name, facts, id) > (?2, ?3, ?4) ORDER BY name, facts, id LIMIT 1",
    )?;
    let found = find.query_row((host, &at.name, at.facts, at.id), |row| {
        Ok(PathPosition { name: row.get(0)?, facts: row.get(1)?, id: row.get(2)? })
    });
    Ok(found.optional()?)
}

/// The position after all entries of a folder. In the order of paths, `0` follows `/`.
fn after_folder(path: &str) -> PathPosition {
    let name = path.strip_suffix('/').unwrap_or(path);
    PathPosition { name: format!("{name}0"), facts: i64::MIN, id: i64::MIN }
}

/// The schemes and names of the hosts of a site with entries that `viewer` may see, at most
/// `limit`.
fn hosts_of_site(
    connection: &Connection,
    viewer: &Viewer,
    site: &str,
    limit: usize,
) -> Result<Vec<(String, String)>> {
    let (visible, owner) = visible(viewer);
    let mut find = connection.prepare_cached(&format!(
        "SELECT h.scheme, h.name FROM hosts h WHERE h.site = ? AND EXISTS \
         (SELECT 1 FROM counts c WHERE c.host = h.id AND c.entries > 0 AND {visible}) \
         ORDER BY h.labels, h.scheme LIMIT ?"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let values = std::iter::once(Value::Text(site.to_owned())).chain(owner);
    let values = values.chain([Value::Integer(limit)]);
    let rows = find.query_map(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

impl Index {
    /// The folders and the pages of a host that are directly below `path`, which begins and ends
    /// with a `/`: at most `limit`. Folders without pages that `viewer` may see are left out.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_ready`](crate::Error::is_not_ready),
    /// [`Error::is_too_slow`](crate::Error::is_too_slow), or a failure of the database.
    pub fn folder(
        &self,
        viewer: &Viewer,
        host: (&str, &str),
        path: &str,
        limit: usize,
    ) -> Result<Folder> {
        self.0.pool.read(|connection| below(connection, viewer, host, path, limit))
    }

    /// The schemes and names of the hosts of a site, at most `limit`.
    ///
    /// # Errors
    ///
    /// As [`Index::folder`].
    pub fn hosts_of_site(
        &self,
        viewer: &Viewer,
        site: &str,
        limit: usize,
    ) -> Result<Vec<(String, String)>> {
        self.0.pool.read(|connection| hosts_of_site(connection, viewer, site, limit))
    }
}
