//! The tables, and how the file is opened.
//!
//! Everything is derived from the files of the spool, so there are no migrations: a change of the
//! tables raises [`VERSION`], and an index of another version is rebuilt.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, OpenFlags};
use wwwoffle_spool::fs::{Disk, SYSTEM_DISK};

use crate::FILE;
use crate::class::ContentClass;
use crate::error::{Error, IndexFault, Result};
use crate::facts::CLASS;

/// The application id of the file: `WwOf`.
const APPLICATION: i64 = 0x5777_4f66;

/// The version of the tables and their contents.
const VERSION: i64 = 5;

/// The size of the page cache of a connection, in KiB: for the writer, a rebuild, and each reader.
const WRITER_CACHE: i64 = 8 << 10;
const BUILDER_CACHE: i64 = 24 << 10;
const READER_CACHE: i64 = 2 << 10;

/// The maximum length of the log that remains on disk, in bytes.
const LOG: i64 = 16 << 20;

/// The length of the log at which it is copied into the database, in pages of 4 KiB. A page that
/// several commits change is then copied once.
const CHECKPOINT: i64 = 4_000;

const TABLES: &str = "
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE hosts (
    id INTEGER PRIMARY KEY,
    scheme TEXT NOT NULL,
    name TEXT NOT NULL,
    labels TEXT NOT NULL,
    site TEXT NOT NULL
);
CREATE UNIQUE INDEX hosts_by_name ON hosts (name, scheme);
CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE types (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE counts (
    host INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (host, owner)
) WITHOUT ROWID;
CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL,
    variant BLOB NOT NULL,
    vary TEXT NOT NULL,
    plain INTEGER NOT NULL,
    host INTEGER NOT NULL,
    path TEXT NOT NULL,
    name TEXT GENERATED ALWAYS AS (substr(path, 1, 120)) VIRTUAL,
    owner INTEGER NOT NULL,
    own INTEGER,
    title TEXT,
    language TEXT,
    type INTEGER NOT NULL,
    status INTEGER NOT NULL,
    body INTEGER NOT NULL,
    file INTEGER NOT NULL,
    disk INTEGER NOT NULL,
    digest BLOB NOT NULL,
    sum INTEGER NOT NULL,
    answered INTEGER NOT NULL,
    stored INTEGER NOT NULL,
    checked INTEGER NOT NULL,
    used INTEGER NOT NULL,
    versions INTEGER NOT NULL,
    text INTEGER NOT NULL,
    told INTEGER NOT NULL,
    facts INTEGER NOT NULL
);
CREATE TABLE refs (
    target INTEGER NOT NULL,
    source INTEGER NOT NULL,
    part INTEGER NOT NULL,
    PRIMARY KEY (target, source)
) WITHOUT ROWID;
CREATE TABLE referring (
    source INTEGER PRIMARY KEY,
    parts INTEGER NOT NULL,
    missed INTEGER NOT NULL,
    targets BLOB NOT NULL
);
CREATE TABLE asked (
    session INTEGER NOT NULL,
    number INTEGER NOT NULL,
    url TEXT NOT NULL,
    owner TEXT NOT NULL,
    queued INTEGER NOT NULL,
    PRIMARY KEY (session, number)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (
    title, body, content='', contentless_delete=1, prefix='2 3',
    tokenize = \"unicode61 remove_diacritics 0 categories 'L* N* Co M*'\"
);
-- The bytes of new words that are collected in memory: all of one commit. With the default of 1 MB a
-- commit adds several parts, which are merged later.
INSERT INTO words (words, rank) VALUES ('hashsize', 8388608);
";

/// The SQL indexes. A rebuild creates them after all entries are inserted. For a million entries,
/// this takes a tenth of the time of updating the indexes with each insertion.
///
/// Each sort index ends with the facts, so that a filter skips most entries without reading them.
const INDEXES: &str = "
CREATE INDEX entries_by_key ON entries (key, variant, facts);
CREATE INDEX entries_by_host ON entries (host, name, facts);
CREATE INDEX entries_by_stored ON entries (stored, facts);
CREATE INDEX entries_by_used ON entries (used, facts);
CREATE INDEX entries_by_size ON entries (body, facts);
CREATE INDEX entries_by_type ON entries (type, facts);
CREATE INDEX entries_by_status ON entries (status, facts);
CREATE INDEX entries_by_sum ON entries (sum);
CREATE INDEX entries_own ON entries (own, owner) WHERE own IS NOT NULL;
CREATE INDEX entries_varied ON entries (host, key) WHERE variant <> x'';
CREATE INDEX hosts_by_labels ON hosts (labels, scheme);
CREATE INDEX hosts_by_site ON hosts (site);
";

/// Whether an entry is a document, whose text a program extracts. It is the first column of the
/// index `entries_unread`, so that the next document is found without reading those before it.
pub(crate) fn is_document() -> String {
    format!("(facts >> {CLASS}) & 15 = {}", ContentClass::Document.number())
}

/// The flags of an index that this program writes. Each connection has one user at a time.
const OPEN: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// The bytes that are escaped in the path of a URI.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

/// Opens the index for the writer.
pub(crate) fn open_writer(path: &Path) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, OPEN)?;
    check(&connection)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    // A power failure may lose the last commits. A walk finds the changes again.
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "journal_size_limit", LOG)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT)?;
    common(&connection, WRITER_CACHE)?;
    Ok(connection)
}

/// Opens the index for a reader.
pub(crate) fn open_reader(path: &Path) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, OPEN)?;
    connection.pragma_update(None, "query_only", true)?;
    common(&connection, READER_CACHE)?;
    Ok(connection)
}

/// The path of the index of the spool at `root`. `None` if there is no index.
pub(crate) fn path_if_any(root: &Path) -> Result<Option<PathBuf>> {
    let path = root.join(FILE);
    let stamp = SYSTEM_DISK.stamp(&path).map_err(|error| Error::disk("look at", &path, error))?;
    Ok(stamp.map(|_| path))
}

/// Opens the index without changing anything. Another program may have it open.
pub(crate) fn open_to_look(path: &Path) -> Result<Connection> {
    let is_there = |end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        SYSTEM_DISK.stamp(Path::new(&name)).is_ok_and(|stamp| stamp.is_some())
    };
    if is_there("-wal") || is_there("-shm") {
        let connection = open_reader(path)?;
        check(&connection)?;
        return Ok(connection);
    }
    // Without `immutable`, SQLite would create the log and its index as files of the current user.
    let name = percent_encode(path.as_os_str().as_bytes(), ESCAPED);
    let name = format!("file:{name}?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(name, flags)?;
    check(&connection)?;
    common(&connection, READER_CACHE)?;
    Ok(connection)
}

/// Creates a new file, which cannot be used before [`finish`].
pub(crate) fn create(path: &Path) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, OPEN | OpenFlags::SQLITE_OPEN_CREATE)?;
    connection.pragma_update(None, "locking_mode", "exclusive")?;
    connection.pragma_update(None, "journal_mode", "off")?;
    connection.pragma_update(None, "synchronous", "off")?;
    common(&connection, BUILDER_CACHE)?;
    connection.execute_batch(TABLES)?;
    Ok(connection)
}

/// Creates the SQL indexes and marks the file as complete.
pub(crate) fn finish(connection: &Connection) -> Result<()> {
    connection.execute_batch(INDEXES)?;
    let unread =
        format!("CREATE INDEX entries_unread ON entries ({}) WHERE text = 0", is_document());
    connection.execute_batch(&unread)?;
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.pragma_update(None, "user_version", VERSION)?;
    Ok(())
}

fn common(connection: &Connection, cache: i64) -> Result<()> {
    connection.pragma_update(None, "cache_size", -cache)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// Checks that a file is an index of this version.
fn check(connection: &Connection) -> Result<()> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if number("application_id")? != APPLICATION {
        return Err(IndexFault::Foreign("is another program's database").into());
    }
    if number("user_version")? != VERSION {
        return Err(IndexFault::OtherVersion.into());
    }
    Ok(())
}

/// Reads a number from the metadata. `None` if it is not set.
pub(crate) fn meta(connection: &Connection, name: &str) -> Result<Option<i64>> {
    let mut find = connection.prepare_cached("SELECT value FROM meta WHERE name = ?1")?;
    let mut rows = find.query([name])?;
    Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
}

/// Writes a number to the metadata.
pub(crate) fn set_meta(connection: &Connection, name: &str, value: i64) -> Result<()> {
    let mut set = connection.prepare_cached("INSERT OR REPLACE INTO meta VALUES (?1, ?2)")?;
    set.execute((name, value))?;
    Ok(())
}
