//! Pages of entry lists.
//!
//! A page begins at a position in the order, not after a number of entries, which would have to be
//! counted. If few entries match, they are found by a common property (host, days, status) and
//! sorted; otherwise the order is walked and other entries are skipped. Either way the work per
//! page is bounded: a page that would need more ends early and says where to continue.

mod cursor;
mod few;
mod walk;

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};

pub use self::cursor::Cursor;
use crate::error::Result;
use crate::filter::{Filter, PreparedFilter};
use crate::item::{self, COLUMNS, FROM, Item};

/// The most entries on a page.
pub const MAX_PAGE: usize = 1_000;

/// How long filling a page may take.
const PATIENCE: Duration = Duration::from_millis(30);

/// How many entries are examined for a page regardless of time.
const AT_LEAST: usize = 256;

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sort {
    /// By host name, then path.
    Name,
    /// The latest stored first.
    Stored,
    /// The latest used first.
    Used,
    /// As [`Sort::Stored`], for lists grouped by day.
    Day,
    /// By host labels, the last one first, which groups subdomains.
    Domain,
    /// By media type.
    Type,
    /// The longest body first.
    Size,
    /// In a fixed random order.
    Random,
}

impl Sort {
    /// All orders.
    pub const ALL: [Sort; 8] = [
        Sort::Name,
        Sort::Stored,
        Sort::Used,
        Sort::Day,
        Sort::Domain,
        Sort::Type,
        Sort::Size,
        Sort::Random,
    ];

    /// The name of the order.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Sort::Name => "name",
            Sort::Stored => "stored",
            Sort::Used => "used",
            Sort::Day => "day",
            Sort::Domain => "domain",
            Sort::Type => "type",
            Sort::Size => "size",
            Sort::Random => "random",
        }
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is not the name of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseSortError(String);

impl fmt::Display for ParseSortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Sort::ALL.map(Sort::name).join(", ");
        write!(f, "expected one of {names}, not {:?}", self.0)
    }
}

impl std::error::Error for ParseSortError {}

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
                let found = Sort::ALL.into_iter().find(|sort| sort.name() == text);
                found.ok_or_else(|| ParseSortError(text.chars().take(40).collect()))
            }
        }
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page<T = Item> {
    /// The entries, in order.
    pub items: Vec<T>,
    /// Where to continue; `None` at the end. A page may be short or empty without being the last.
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

/// Whether the page has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Left,
    /// It is full, or has taken too long.
    None,
}

impl PageBuilder<'_> {
    /// Examines the entry with this id.
    fn look_at(&mut self, id: i64) -> Result<Room> {
        if let Some(item) = item(self.connection, id)?
            && self.sieve.passes(&item)
            && (self.keep)(&item)
        {
            self.items.push(item);
        }
        Ok(self.room())
    }

    /// Counts an examined or skipped entry.
    fn room(&mut self) -> Room {
        self.looked_at += 1;
        let is_late = self.looked_at > AT_LEAST
            && self.looked_at.is_multiple_of(32)
            && Instant::now() > self.until;
        if self.items.len() >= self.limit || is_late { Room::None } else { Room::Left }
    }
}

/// A page of matching entries; `keep` further restricts them.
pub(crate) fn page(
    connection: &Connection,
    filter: &Filter,
    sort: Sort,
    after: Option<&Cursor>,
    limit: usize,
    keep: &dyn Fn(&Item) -> bool,
) -> Result<Page> {
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
    Ok(Page { items: filling.items, next })
}

/// The entry with this id.
pub(crate) fn item(connection: &Connection, id: i64) -> Result<Option<Item>> {
    let mut find =
        connection.prepare_cached(&format!("SELECT {COLUMNS} FROM {FROM} WHERE e.id = ?1"))?;
    let found = find.query_row([id], |row| Ok(item::read(row))).optional()?;
    Ok(found.transpose()?.flatten())
}
