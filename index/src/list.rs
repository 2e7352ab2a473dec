//! Lists of entries, a page at a time.
//!
//! A page begins where the one before ended: at a place in the order, and never after a number of
//! entries, which would have to be counted. Few of many entries are found by what they have in common
//! (their host, their days, their status), and sorted then; else the order is walked, and what is not
//! asked for is left out. Either way the work for a page is bounded: one that would need more than that
//! ends early, with what was found until then and where to go on.

mod cursor;
mod few;
mod walk;

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};

pub use self::cursor::Cursor;
use crate::error::Result;
use crate::filter::{Filter, Sieve};
use crate::item::{self, COLUMNS, FROM, Item};

/// The most entries on a page.
pub const MAX_PAGE: usize = 1_000;

/// How long it is looked for what fills a page.
const PATIENCE: Duration = Duration::from_millis(30);

/// As many entries are looked at by themselves for a page, whatever the time: the first ones.
const AT_LEAST: usize = 256;

/// How a list is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sort {
    /// By the name of the host, and its paths.
    Name,
    /// What was stored last comes first.
    Stored,
    /// What was used last comes first.
    Used,
    /// By day, as [`Sort::Stored`]: for lists that begin anew each day.
    Day,
    /// By the labels of the host, the last one first: what belongs together stands together.
    Domain,
    /// By type.
    Type,
    /// The longest body first.
    Size,
    /// As if by chance, and always the same.
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

    /// A word for it.
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

/// A word that names no order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadSort(String);

impl fmt::Display for BadSort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Sort::ALL.map(Sort::name).join(", ");
        write!(f, "expected one of {names}, not {:?}", self.0)
    }
}

impl std::error::Error for BadSort {}

impl FromStr for Sort {
    type Err = BadSort;

    /// Reads one of the words; those of WWWOFFLE 2.9 too.
    fn from_str(text: &str) -> Result<Sort, BadSort> {
        match text {
            "alpha" => Ok(Sort::Name),
            "mtime" => Ok(Sort::Stored),
            "atime" => Ok(Sort::Used),
            "dated" => Ok(Sort::Day),
            _ => {
                let found = Sort::ALL.into_iter().find(|sort| sort.name() == text);
                found.ok_or_else(|| BadSort(text.chars().take(40).collect()))
            }
        }
    }
}

/// Some entries of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page<T = Item> {
    /// The entries, in order.
    pub items: Vec<T>,
    /// Where to go on; `None` at the end. A page may have fewer entries than it might, even none, and
    /// not be the last.
    pub next: Option<Cursor>,
}

/// What a page is being filled with.
pub(crate) struct Filling<'a> {
    connection: &'a Connection,
    pub(crate) sieve: Sieve<'a>,
    /// What the caller wants to see besides.
    keep: &'a dyn Fn(&Item) -> bool,
    pub(crate) items: Vec<Item>,
    limit: usize,
    until: Instant,
    looked_at: usize,
}

/// Whether there is room for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Left,
    /// It is full, or has taken long enough.
    None,
}

impl Filling<'_> {
    /// Looks at the entry with this number.
    fn look_at(&mut self, id: i64) -> Result<Room> {
        if let Some(item) = item(self.connection, id)?
            && self.sieve.passes(&item)
            && (self.keep)(&item)
        {
            self.items.push(item);
        }
        Ok(self.room())
    }

    /// One more is passed.
    fn room(&mut self) -> Room {
        self.looked_at += 1;
        let is_late = self.looked_at > AT_LEAST
            && self.looked_at.is_multiple_of(32)
            && Instant::now() > self.until;
        if self.items.len() >= self.limit || is_late { Room::None } else { Room::Left }
    }
}

/// A page of the entries that are asked for; `keep` says which of them are shown.
pub(crate) fn page(
    connection: &Connection,
    filter: &Filter,
    sort: Sort,
    after: Option<&Cursor>,
    limit: usize,
    keep: &dyn Fn(&Item) -> bool,
) -> Result<Page> {
    let after = after.map(|cursor| cursor.of(sort)).transpose()?;
    let mut filling = Filling {
        connection,
        sieve: Sieve::new(connection, filter)?,
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

/// The entry with this number.
pub(crate) fn item(connection: &Connection, id: i64) -> Result<Option<Item>> {
    let mut find =
        connection.prepare_cached(&format!("SELECT {COLUMNS} FROM {FROM} WHERE e.id = ?1"))?;
    let found = find.query_row([id], |row| Ok(item::read(row))).optional()?;
    Ok(found.transpose()?.flatten())
}
