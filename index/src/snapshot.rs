//! A consistent view of the index for complete scans, and the entries stored after a given time.

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension, Row};
use wwwoffle_spool::{Key, Timestamp};

use crate::apply::can_need;
use crate::class::ContentClass;
use crate::column::prefixes;
use crate::error::{Error, Result};
use crate::rebuild::PARTIAL;
use crate::schema;

/// The maximum number of new entries that are returned at once.
const MAX_CAME: i64 = 1_000;

/// An entry as the purge evaluates it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its id in the index. Later entries have larger ids.
    pub number: i64,
    /// Its canonical URL, without credentials.
    pub url: String,
    /// The media type in lower case without parameters; empty if unknown.
    pub content_type: String,
    /// Its status code.
    pub status: u16,
    /// Its size on disk in bytes, with its older versions and update files.
    pub size: u64,
    /// When the entry was finished.
    pub stored: Timestamp,
    /// When the origin last confirmed it.
    pub checked: Timestamp,
    /// When it was last used, if that was after it was stored.
    pub used: Option<Timestamp>,
    /// Whether all its sub-resources are known, including those of its older versions.
    pub is_told: bool,
    /// The SHA-256 of its body, for shared entries.
    pub digest: Option<[u8; 32]>,
}

const COLUMNS: &str = "e.id, h.scheme, h.name, e.path, t.name, e.status, e.disk, e.stored, e.checked, e.used, \
     e.versions, e.told, e.owner, e.digest FROM entries e JOIN hosts h ON h.id = e.host JOIN types t ON t.id = e.type";

/// A consistent view of the index while others change it: see [`crate::Index::with_snapshot`].
#[derive(Debug)]
pub struct Snapshot<'a> {
    connection: &'a Connection,
}

impl<'a> Snapshot<'a> {
    /// Runs `look` in a read transaction.
    pub(crate) fn with_transaction<T>(
        connection: &'a Connection,
        look: impl FnOnce(&Snapshot<'a>) -> Result<T>,
    ) -> Result<T> {
        connection.execute_batch("BEGIN")?;
        let seen = look(&Snapshot { connection });
        connection.execute_batch("COMMIT")?;
        seen
    }

    /// Calls `visit` for every entry in the order of ids, until `visit` breaks.
    ///
    /// # Errors
    ///
    /// [`Error::is_too_slow`], or a failure of the database.
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

    /// Calls `visit` in the order of ids for every entry that has sub-resources, with the key
    /// prefixes of their URLs, until `visit` breaks.
    ///
    /// # Errors
    ///
    /// [`Error::is_too_slow`], or a failure of the database.
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

    /// The sub-resources of one entry, as key prefixes of their URLs.
    ///
    /// # Errors
    ///
    /// [`Error::is_too_slow`], or a failure of the database.
    pub fn parts_of(&self, number: i64) -> Result<Vec<u64>> {
        parts_of(self.connection, number)
    }

    /// Whether the index has seen every file of the spool. If a file could not be read, this is
    /// false until a rebuild.
    ///
    /// # Errors
    ///
    /// [`Error::is_too_slow`], or a failure of the database.
    pub fn is_whole(&self) -> Result<bool> {
        Ok(schema::meta(self.connection, PARTIAL)?.unwrap_or_default() == 0)
    }

    /// Whether the contents of some entries have not been examined yet, so that their sub-resources
    /// are unknown.
    ///
    /// # Errors
    ///
    /// [`Error::is_too_slow`], or a failure of the database.
    pub fn has_unread(&self) -> Result<bool> {
        let mut find = self.connection.prepare("SELECT 1 FROM entries WHERE text = 0 LIMIT 1")?;
        Ok(find.exists([])?)
    }
}

/// The first entries stored since `since`, at most [`MAX_CAME`], in the order of storing, with
/// their sub-resources.
pub(crate) fn stored_since(
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

/// The sub-resources of the entries under a key, as far as known.
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

/// When the entries of a key were last used, if that was after they were stored.
pub(crate) fn last_used(connection: &Connection, key: &Key) -> Result<Option<Timestamp>> {
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

/// The sub-resources of an entry, which are the first of its references.
fn parts(row: &Row<'_>) -> Result<Vec<u64>> {
    let targets = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
    Ok(prefixes(targets, row.get(1)?).map(i64::cast_unsigned).collect())
}

fn candidate(row: &Row<'_>) -> Result<Candidate> {
    // The URL is in the columns after the id.
    let text = |at: usize| row.get_ref(at)?.as_str().map_err(rusqlite::Error::from);
    let (stored, used) = (time(row, 7)?, time(row, 9)?);
    let content_type: String = row.get(4)?;
    let status = u16::try_from(row.get::<_, i64>(5)?).unwrap_or_default();
    let (versions, is_told): (i64, bool) = (row.get(10)?, row.get(11)?);
    let can_need = can_need(ContentClass::of(&content_type), status);
    Ok(Candidate {
        number: row.get(0)?,
        url: format!("{}://{}{}", text(1)?, text(2)?, text(3)?),
        content_type,
        status,
        size: u64::try_from(row.get::<_, i64>(6)?).unwrap_or_default(),
        stored,
        checked: time(row, 8)?,
        used: Some(used).filter(|used| *used > stored),
        // Older versions are not read, so their sub-resources are unknown.
        is_told: !can_need || (is_told && versions == 0),
        digest: if row.get::<_, i64>(12)? == 0 { row.get(13)? } else { None },
    })
}

fn time(row: &Row<'_>, at: usize) -> Result<Timestamp, Error> {
    Ok(Timestamp::from_microsecond(row.get(at)?).unwrap_or(Timestamp::UNIX_EPOCH))
}
