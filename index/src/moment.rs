//! The index as it is at one moment, for who goes through all of it; and what has come since.

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension, Row};
use wwwoffle_spool::{Key, Timestamp};

use crate::apply::can_need;
use crate::class::Class;
use crate::error::{Error, Result};
use crate::rebuild::PARTIAL;
use crate::schema;

/// As much of what has come is told at once.
const MAX_CAME: i64 = 1_000;

/// An entry as purging weighs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its number in the index. Those that are told later have larger ones.
    pub number: i64,
    /// Its canonical URL, without credentials.
    pub url: String,
    /// The type, in lower case and without parameters; empty for none.
    pub content_type: String,
    /// The status code.
    pub status: u16,
    /// How many bytes it takes on the disk, with its older versions and what was learnt of it.
    pub size: u64,
    /// When it was finished.
    pub stored: Timestamp,
    /// When its origin confirmed it last.
    pub checked: Timestamp,
    /// When it was used last, if that was later than it was stored.
    pub used: Option<Timestamp>,
    /// All that it needs is known, also of its older versions.
    pub is_told: bool,
    /// The SHA-256 of its body, if it is everyone's.
    pub digest: Option<[u8; 32]>,
}

const COLUMNS: &str = "e.id, h.scheme, h.name, e.path, t.name, e.status, e.disk, e.stored, e.checked, e.used, \
     e.versions, e.told, e.owner, e.digest FROM entries e JOIN hosts h ON h.id = e.host JOIN types t ON t.id = e.type";

/// The index as it is at one moment, whatever changes meanwhile: see [`crate::Index::at_a_moment`].
#[derive(Debug)]
pub struct Moment<'a> {
    connection: &'a Connection,
}

impl<'a> Moment<'a> {
    /// Looks at it; nothing that is written meanwhile is seen.
    pub(crate) fn look<T>(
        connection: &'a Connection,
        look: impl FnOnce(&Moment<'a>) -> Result<T>,
    ) -> Result<T> {
        connection.execute_batch("BEGIN")?;
        let seen = look(&Moment { connection });
        connection.execute_batch("COMMIT")?;
        seen
    }

    /// Tells of every entry, by number, until `visit` breaks it off.
    ///
    /// # Errors
    ///
    /// When the disk fails, or it takes longer than it may.
    pub fn candidates(&self, visit: &mut dyn FnMut(Candidate) -> ControlFlow<()>) -> Result<()> {
        let mut find = self.connection.prepare(&format!("SELECT {COLUMNS} ORDER BY e.id"))?;
        let mut rows = find.query([])?;
        while let Some(row) = rows.next()? {
            if visit(candidate(row)?).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Tells what entries need, by the numbers of these, until `visit` breaks it off: the beginnings of the keys of
    /// their URLs.
    ///
    /// # Errors
    ///
    /// When the disk fails, or it takes longer than it may.
    pub fn parts(&self, visit: &mut dyn FnMut(i64, Vec<u64>) -> ControlFlow<()>) -> Result<()> {
        let mut find = self.connection.prepare(
            "SELECT source, parts, targets FROM referring WHERE parts > 0 ORDER BY source",
        )?;
        let mut rows = find.query([])?;
        while let Some(row) = rows.next()? {
            if visit(row.get(0)?, parts(row)?).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// What one entry needs.
    ///
    /// # Errors
    ///
    /// When the disk fails, or it takes longer than it may.
    pub fn parts_of(&self, number: i64) -> Result<Vec<u64>> {
        parts_of(self.connection, number)
    }

    /// Whether all that there is could be read when it was looked at.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn is_whole(&self) -> Result<bool> {
        Ok(schema::meta(self.connection, PARTIAL)?.unwrap_or_default() == 0)
    }

    /// Whether some have not been read yet, so that it is not known what they need.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn has_unread(&self) -> Result<bool> {
        let mut find = self.connection.prepare("SELECT 1 FROM entries WHERE text = 0 LIMIT 1")?;
        Ok(find.exists([])?)
    }
}

/// What has come since then, in that order and some of it at a time, and what it needs.
pub(crate) fn came(
    connection: &Connection,
    since: Timestamp,
) -> Result<Vec<(Candidate, Vec<u64>)>> {
    let mut find = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} WHERE e.stored >= ?1 ORDER BY e.stored LIMIT ?2"
    ))?;
    let mut rows = find.query((since.as_microsecond(), MAX_CAME))?;
    let mut came = Vec::new();
    while let Some(row) = rows.next()? {
        let one = candidate(row)?;
        let parts = parts_of(connection, one.number)?;
        came.push((one, parts));
    }
    Ok(came)
}

/// What is needed by what is kept under a key, as far as it is known.
pub(crate) fn needs(connection: &Connection, key: &Key) -> Result<Vec<u64>> {
    let mut find = connection.prepare_cached(
        "SELECT r.source, r.parts, r.targets FROM entries e JOIN referring r ON r.source = e.id \
         WHERE e.key = ?1",
    )?;
    let mut rows = find.query([key.as_bytes()])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.extend(parts(row)?);
    }
    Ok(all)
}

/// When what has a key was used last, if that was later than it was stored.
pub(crate) fn used(connection: &Connection, key: &Key) -> Result<Option<Timestamp>> {
    let mut find = connection
        .prepare_cached("SELECT max(used) FROM entries WHERE key = ?1 AND used > stored")?;
    let used: Option<i64> = find.query_row([key.as_bytes()], |row| row.get(0))?;
    Ok(used.and_then(|used| Timestamp::from_microsecond(used).ok()))
}

fn parts_of(connection: &Connection, number: i64) -> Result<Vec<u64>> {
    let mut find = connection
        .prepare_cached("SELECT source, parts, targets FROM referring WHERE source = ?1")?;
    let found = find.query_row([number], |row| Ok(parts(row))).optional()?;
    found.transpose().map(Option::unwrap_or_default)
}

/// The first of the targets are parts.
fn parts(row: &Row<'_>) -> Result<Vec<u64>> {
    let count = usize::try_from(row.get::<_, i64>(1)?).unwrap_or_default();
    let targets = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
    let targets = targets.as_chunks().0.iter().take(count);
    Ok(targets.map(|target| u64::from_le_bytes(*target)).collect())
}

fn candidate(row: &Row<'_>) -> Result<Candidate> {
    let (stored, used) = (time(row, 7)?, time(row, 9)?);
    let content_type: String = row.get(4)?;
    let status = u16::try_from(row.get::<_, i64>(5)?).unwrap_or_default();
    let (versions, is_told): (i64, bool) = (row.get(10)?, row.get(11)?);
    let can_need = can_need(Class::of(&content_type), status);
    Ok(Candidate {
        number: row.get(0)?,
        url: url(row)?,
        content_type,
        status,
        size: u64::try_from(row.get::<_, i64>(6)?).unwrap_or_default(),
        stored,
        checked: time(row, 8)?,
        used: Some(used).filter(|used| *used > stored),
        // Older versions are not read.
        is_told: !can_need || (is_told && versions == 0),
        digest: if row.get::<_, i64>(12)? == 0 { row.get(13)? } else { None },
    })
}

/// From scheme, host and the rest, behind the number.
fn url(row: &Row<'_>) -> Result<String> {
    let text = |at: usize| row.get_ref(at)?.as_str().map_err(rusqlite::Error::from);
    Ok(format!("{}://{}{}", text(1)?, text(2)?, text(3)?))
}

fn time(row: &Row<'_>, at: usize) -> Result<Timestamp, Error> {
    Ok(Timestamp::from_microsecond(row.get(at)?).unwrap_or(Timestamp::UNIX_EPOCH))
}
