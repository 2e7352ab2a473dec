//! Compares the index with the files. Changes neither of them. Another program may have both open.

use std::collections::HashMap;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;
use wwwoffle_spool::fs::{Disk, SYSTEM_DISK};
use wwwoffle_spool::{Place, Reader, Summary};

use crate::changed::checked_until;
use crate::column::variant_name;
use crate::error::{IndexFault, Result};
use crate::item::{self, COLUMNS, FROM};
use crate::schema;

/// The maximum number of differences that are re-examined and listed.
const MAX_DIFFERENT: usize = 10_000;

/// How long a check waits for another program to index the files that it has changed.
const SETTLES: Duration = Duration::from_secs(3);

/// The delay between two examinations of the differences.
const AGAIN: Duration = Duration::from_millis(100);

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// The number of entries for which index and spool agree.
    pub agreeing: u64,
    /// The number of indexed entries without a file.
    pub without_file: u64,
    /// The number of files of entries that are not indexed.
    pub without_entry: u64,
    /// The number of indexed entries whose files have another body or time.
    pub other: u64,
    /// The number of other differences. Their directories have changed since the last walk, so the
    /// walk at the next start finds them.
    pub behind: u64,
    /// The places of the first differences that a walk does not find.
    #[serde(skip)]
    pub different: Vec<Place>,
}

impl CheckReport {
    /// Whether all differences would be found by a walk.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.difference_count() == 0
    }

    /// Whether `different` lists all differences.
    #[must_use]
    pub fn has_all(&self) -> bool {
        u64::try_from(self.different.len()) == Ok(self.difference_count())
    }

    fn difference_count(&self) -> u64 {
        self.without_file + self.without_entry + self.other
    }
}

/// When an entry was finished, and the digest of its body. `None` if there is no entry.
type EntryState = Option<(i64, [u8; 32])>;

/// Compares the index of a spool with its files. `None` if there is no index, which is not a fault.
///
/// # Errors
///
/// [`crate::Error::is_damaged`] if the index is damaged. Otherwise if the disk, the database or the
/// spool fails.
pub fn check(reader: &Reader) -> Result<Option<CheckReport>> {
    let Some(path) = schema::path_if_any(reader.root())? else { return Ok(None) };
    let checked = match check_index(reader, &path) {
        // Another program may just have started to create the index.
        Err(error) if error.is_damaged() => check_index(reader, &path),
        checked => checked,
    };
    checked.map(Some)
}

fn check_index(reader: &Reader, path: &Path) -> Result<CheckReport> {
    let connection = schema::open_to_look(path)?;
    let sound: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if sound != "ok" {
        return Err(IndexFault::Foreign("is damaged").into());
    }
    let mut look =
        Checker { reader, connection, found: CheckReport::default(), different: Vec::new() };
    look.at_files()?;
    look.wait_for_changes()?;
    look.count()?;
    Ok(look.found)
}

struct Checker<'a> {
    reader: &'a Reader,
    connection: Connection,
    found: CheckReport,
    /// The places where files and index differ.
    different: Vec<Place>,
}

impl Checker<'_> {
    /// Compares the index with the files, starting from the files.
    fn at_files(&mut self) -> Result<()> {
        let mut seen = IdSet::default();
        for host in self.reader.walk().hosts()? {
            for directory in host?.keys()? {
                for walked in directory.entries()? {
                    self.check_file(&walked.summary, &mut seen)?;
                }
            }
        }
        self.check_missing(&seen)
    }

    fn check_file(&mut self, summary: &Summary, seen: &mut IdSet) -> Result<()> {
        let mut find = self.connection.prepare_cached(
            "SELECT id, stored, digest FROM entries WHERE key = ?1 AND variant = ?2",
        )?;
        let key = (summary.place.key(), variant_name(&summary.place));
        let known = find
            .query_row((key.0.as_bytes(), key.1), |row| {
                Ok((row.get::<_, i64>(0)?, (row.get(1)?, row.get(2)?)))
            })
            .optional()?;
        drop(find);
        if let Some((id, _)) = known {
            seen.add(id);
        }
        if known.map(|(_, state)| state) == Some(state_of(summary)) {
            self.found.agreeing += 1;
        } else if known.is_some() {
            self.record(&summary.place, |found| &mut found.other);
        } else {
            self.record(&summary.place, |found| &mut found.without_entry);
        }
        Ok(())
    }

    /// Examines the indexed entries for which no file was seen.
    fn check_missing(&mut self, seen: &IdSet) -> Result<()> {
        let mut missing = Vec::new();
        let mut find =
            self.connection.prepare(&format!("SELECT {COLUMNS} FROM {FROM} ORDER BY e.id"))?;
        let mut rows = find.query([])?;
        while let Some(row) = rows.next()? {
            if !seen.has(row.get(0)?) {
                let item = item::read(row)?.ok_or(IndexFault::Foreign("is damaged"))?;
                missing.push(item.place);
            }
        }
        drop(rows);
        drop(find);
        for place in missing {
            self.record(&place, |found| &mut found.without_file);
        }
        Ok(())
    }

    /// Records a difference for re-examination. Beyond the limit, the difference is only counted.
    fn record(&mut self, place: &Place, count: impl FnOnce(&mut CheckReport) -> &mut u64) {
        if self.different.len() < MAX_DIFFERENT {
            self.different.push(place.clone());
        } else {
            *count(&mut self.found) += 1;
        }
    }

    /// Repeats the comparison where files and index differ, for at most [`SETTLES`]. Differences
    /// disappear if another program finishes its changes.
    fn wait_for_changes(&mut self) -> Result<()> {
        let until = Instant::now() + SETTLES;
        while !self.different.is_empty() {
            let mut left = Vec::new();
            for place in std::mem::take(&mut self.different) {
                let (file, entry) = (self.file(&place)?, self.entry(&place)?);
                if file == entry {
                    self.found.agreeing += u64::from(file.is_some());
                } else {
                    left.push(place);
                }
            }
            self.different = left;
            if Instant::now() >= until {
                break;
            }
            sleep(AGAIN);
        }
        Ok(())
    }

    /// Counts the remaining differences.
    fn count(&mut self) -> Result<()> {
        let since = checked_until(&self.connection, SYSTEM_DISK.now())?;
        for place in std::mem::take(&mut self.different) {
            let (file, entry) = (self.file(&place)?, self.entry(&place)?);
            let stamps = self.reader.walk().stamps(&place)?;
            let [directory, variants] = stamps;
            let is_new = |stamp: wwwoffle_spool::fs::Stamp| stamp.changed() >= since;
            if file == entry {
                self.found.agreeing += u64::from(file.is_some());
                continue;
            }
            if directory.is_none_or(is_new) || variants.is_some_and(is_new) {
                self.found.behind += 1;
                continue;
            }
            let count = match (file, entry) {
                (None, _) => &mut self.found.without_file,
                (_, None) => &mut self.found.without_entry,
                _ => &mut self.found.other,
            };
            *count += 1;
            self.found.different.push(place);
        }
        Ok(())
    }

    fn file(&self, place: &Place) -> Result<EntryState> {
        let entries = self.reader.entries(place)?.found;
        let entry = entries.into_iter().find(|entry| entry.place() == place);
        Ok(entry.map(|entry| state_of(&entry.summary())))
    }

    fn entry(&self, place: &Place) -> Result<EntryState> {
        let mut find = self
            .connection
            .prepare_cached("SELECT stored, digest FROM entries WHERE key = ?1 AND variant = ?2")?;
        let key = place.key();
        let row = find
            .query_row((key.as_bytes(), variant_name(place)), |row| Ok((row.get(0)?, row.get(1)?)));
        Ok(row.optional()?)
    }
}

fn state_of(summary: &Summary) -> (i64, [u8; 32]) {
    (summary.stored.as_microsecond(), summary.digest)
}

/// A set of entry ids, one bit each.
#[derive(Default)]
struct IdSet(HashMap<i64, u64>);

impl IdSet {
    fn add(&mut self, id: i64) {
        *self.0.entry(id >> 6).or_default() |= 1 << (id & 63);
    }

    fn has(&self, id: i64) -> bool {
        self.0.get(&(id >> 6)).is_some_and(|bits| bits & (1 << (id & 63)) != 0)
    }
}
