//! Pages of entry lists.
//!
//! A page begins at a position in the order. It does not begin after a number of entries, because
//! these would have to be counted. If few entries match, they are found by a common property (host,
//! days, status) and sorted. Otherwise the order is walked and other entries are skipped. In both
//! cases the work per page is limited: a page that needs more work ends early and says where to
//! continue.

mod cursor;
mod few;
mod walk;

use std::str::FromStr;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};

pub use self::cursor::Cursor;
use crate::Index;
use crate::error::Result;
use crate::filter::{Filter, PreparedFilter};
use crate::item::{self, COLUMNS, FROM, Item};

/// The maximum number of entries on a page.
pub const MAX_PAGE: usize = 1_000;

/// The time limit for filling a page.
const PATIENCE: Duration = Duration::from_millis(30);

/// The number of entries that are examined for a page even if the time limit has passed.
const AT_LEAST: usize = 256;

wwwoffle_url::named! {
    /// The order of a list.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Sort {
        /// By host name, then path.
        Name = "name",
        /// By the time of storing, the latest first.
        Stored = "stored",
        /// By the last use, the latest first.
        Used = "used",
        /// Like [`Sort::Stored`], for lists grouped by day.
        Day = "day",
        /// By the labels of the host, the last label first, which groups subdomains.
        Domain = "domain",
        /// By media type.
        Type = "type",
        /// By the length of the body, the longest first.
        Size = "size",
        /// In a fixed random order.
        Random = "random",
    }
}

/// A text that is not the name of an order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected one of {names}, not {0:?}", names = Sort::ALL.map(Sort::as_str).join(", "))]
pub struct ParseSortError(String);

impl FromStr for Sort {
    type Err = ParseSortError;

    /// Parses a name, including those of WWWOFFLE 2.9.
    fn from_str(text: &str) -> Result<Sort, ParseSortError> {
        match text {
            "alpha" => Ok(Sort::Name),
            "mtime" => Ok(Sort::Stored),
            "atime" => Ok(Sort::Used),
            "dated" => Ok(Sort::Day),
            _ => {
                let found = Sort::ALL.into_iter().find(|sort| sort.as_str() == text);
                found.ok_or_else(|| ParseSortError(text.chars().take(40).collect()))
            }
        }
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListPage<T = Item> {
    /// The entries, in order.
    pub items: Vec<T>,
    /// Where to continue; `None` at the end. A page may be short or empty although more pages
    /// follow.
    pub next: Option<Cursor>,
}

/// A page that is being filled.
pub(crate) struct PageBuilder<'a> {
    connection: &'a Connection,
    pub(crate) sieve: PreparedFilter<'a>,
    /// The caller's additional condition.
    keep: &'a dyn Fn(&Item) -> bool,
    pub(crate) items: Vec<Item>,
    limit: usize,
    until: Instant,
    looked_at: usize,
}

/// Whether further entries may be added to the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Left,
    /// The page is full, or has taken too long.
    None,
}

impl PageBuilder<'_> {
    /// Examines the entry with this id, and adds it if it matches.
    fn look_at(&mut self, id: i64) -> Result<Room> {
        if let Some(item) = item(self.connection, id)?
            && self.sieve.passes(&item)
            && (self.keep)(&item)
        {
            self.items.push(item);
        }
        Ok(self.room())
    }

    /// Counts an examined or skipped entry, and returns whether the page can continue.
    fn room(&mut self) -> Room {
        self.looked_at += 1;
        let is_late = self.looked_at > AT_LEAST
            && self.looked_at.is_multiple_of(32)
            && Instant::now() > self.until;
        if self.items.len() >= self.limit || is_late { Room::None } else { Room::Left }
    }
}

/// A page of matching entries. An entry is left out if `keep` returns false.
pub(crate) fn page(
    connection: &Connection,
    filter: &Filter,
    sort: Sort,
    after: Option<&Cursor>,
    limit: usize,
    keep: &dyn Fn(&Item) -> bool,
) -> Result<ListPage> {
    let after = after.map(|cursor| cursor.of(sort)).transpose()?;
    let mut filling = PageBuilder {
        connection,
        sieve: PreparedFilter::new(connection, filter)?,
        keep,
        items: Vec::new(),
        limit: limit.clamp(1, MAX_PAGE),
        until: Instant::now() + PATIENCE,
        looked_at: 0,
    };
    let few = few::gather(connection, filter, &filling.sieve, sort, filling.limit)?;
    let next = match few {
        Some(few) => few::sorted(&mut filling, &few, sort, after)?,
        None => walk::walk(&mut filling, filter, sort, after)?,
    };
    Ok(ListPage { items: filling.items, next })
}

/// The items of all pages. `page` reads the page after a cursor. After an error, the iteration
/// ends.
pub(crate) fn all_items<T>(
    mut page: impl FnMut(Option<&Cursor>) -> Result<ListPage<T>>,
) -> impl Iterator<Item = Result<T>> {
    // The beginning of the next page: `None` after the last page, `Some(None)` for the first page.
    let mut next: Option<Option<Cursor>> = Some(None);
    let pages = std::iter::from_fn(move || {
        let after = next.take()?;
        Some(page(after.as_ref()).map(|page| {
            next = page.next.map(Some);
            page.items
        }))
    });
    pages.flat_map(|page| {
        let (items, error) = match page {
            Ok(items) => (items, None),
            Err(error) => (Vec::new(), Some(Err(error))),
        };
        items.into_iter().map(Ok).chain(error)
    })
}

impl Index {
    /// Iterates over all matching entries in an order. After an error, the iteration ends.
    pub fn all<'a>(
        &'a self,
        filter: &'a Filter,
        sort: Sort,
    ) -> impl Iterator<Item = Result<Item>> + 'a {
        all_items(move |after| self.list(filter, sort, after, MAX_PAGE, &|_| true))
    }
}

/// The entry with this id. `None` if there is none.
pub(crate) fn item(connection: &Connection, id: i64) -> Result<Option<Item>> {
    let mut find =
        connection.prepare_cached(&format!("SELECT {COLUMNS} FROM {FROM} WHERE e.id = ?1"))?;
    let found = find.query_row([id], |row| Ok(item::read(row))).optional()?;
    Ok(found.transpose()?.flatten())
}
