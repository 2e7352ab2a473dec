//! A read-only index. Another program may have it open at the same time.

use std::path::Path;

use rusqlite::Connection;
use wwwoffle_spool::Place;

use crate::error::Result;
use crate::filter::Filter;
use crate::item::Item;
use crate::list::{self, Cursor, ListPage, MAX_PAGE, Sort};
use crate::query::Query;
use crate::schema;
use crate::search;
use crate::snapshot::Snapshot;
use crate::sub_resources::SubResources;

/// The index of a spool, opened for reading. It lacks changes that another program has not written
/// yet.
#[derive(Debug)]
pub struct ReadOnlyIndex {
    connection: Connection,
}

impl ReadOnlyIndex {
    /// Opens the index of the spool at `root`. `None` if there is no index.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_damaged`] if the index is damaged or has another version. Otherwise if the
    /// disk or the database fails.
    pub fn open(root: &Path) -> Result<Option<ReadOnlyIndex>> {
        let Some(path) = schema::path_if_any(root)? else { return Ok(None) };
        Ok(Some(ReadOnlyIndex { connection: schema::open_to_look(&path)? }))
    }

    /// All matching entries.
    ///
    /// # Errors
    ///
    /// A failure of the database.
    pub fn all(&self, filter: &Filter) -> Result<Vec<Item>> {
        let connection = &self.connection;
        let page = |after: Option<&Cursor>| {
            list::page(connection, filter, Sort::Stored, after, MAX_PAGE, &|_| true)
        };
        list::all_items(page).collect()
    }

    /// The pages for a query, the best first, and whether some matches were not ranked.
    ///
    /// # Errors
    ///
    /// A failure of the database.
    pub fn search(&self, query: &Query, filter: &Filter) -> Result<(Vec<Item>, bool)> {
        let (connection, mut is_partial) = (&self.connection, false);
        let page = |after: Option<&Cursor>| {
            let hits = search::search(connection, query, filter, after, MAX_PAGE, &|_| true)?;
            is_partial |= hits.is_partial;
            Ok(ListPage { items: hits.items, next: hits.next })
        };
        let all = list::all_items(page).collect::<Result<_>>()?;
        Ok((all, is_partial))
    }

    /// Gathers the stored sub-resources of some entries.
    ///
    /// # Errors
    ///
    /// A failure of the database.
    pub fn gather_sub_resources(&self, found: &mut SubResources, places: &[Place]) -> Result<()> {
        found.gather(&self.connection, places)
    }

    /// Whether there are pages whose words are not indexed.
    ///
    /// # Errors
    ///
    /// A failure of the database.
    pub fn has_unread(&self) -> Result<bool> {
        Snapshot::with_transaction(&self.connection, Snapshot::has_unread)
    }
}
