//! The bookmarks and the history in the profile of a browser: Firefox (`places.sqlite`) and the
//! browsers of the Chromium family (`Bookmarks`, `History`).
//!
//! A running browser locks its databases, so they are copied first.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, params};
use serde_json::Value;
use wwwoffle_spool::fs::{Disk, OpenedFile, SYSTEM_DISK, Stamp};

use super::args::ProfileArgs;
use crate::base::small_file;

/// The beginning of each SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// The largest file of a profile, in bytes.
const MAX_FILE: u64 = 4 << 30;

/// The largest `Bookmarks` file, in bytes.
const MAX_BOOKMARKS: u64 = 32 << 20;

/// The number of pages of a history that are taken by default. A history may have more than a call
/// to the daemon may contain.
const MOST_VISITED: usize = 1_000;

/// The number of attempts to copy a database that the browser changes in the meantime.
const TRIES: usize = 5;

/// The number of bytes that are copied at once.
const PIECE: usize = 1 << 20;

/// Seconds from 1601, where the times of Chromium begin, to 1970.
const SINCE_1601: i64 = 11_644_473_600;

/// The reason why a profile cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProfileFault {
    #[error("{0} has no bookmarks and no history of Firefox or Chromium")]
    NoProfile(String),
    #[error("{0} has no history: it has bookmarks only")]
    NoHistory(String),
    #[error("{0} has no bookmarks: --history reads its history")]
    NoBookmarks(String),
    #[error("{0} cannot be read")]
    Unreadable(String, #[source] io::Error),
    #[error("{0} is not a database that Firefox or Chromium wrote")]
    Database(String, #[source] rusqlite::Error),
    #[error("{0} is not a file of bookmarks that Chromium wrote")]
    Bookmarks(String, #[source] serde_json::Error),
}

/// The URLs in a profile: a directory, or one of its files. `None` if the path is neither.
///
/// # Errors
///
/// [`ProfileFault`], if it is a profile and cannot be read.
pub(super) fn read(path: &Path, wanted: &ProfileArgs) -> Result<Option<Vec<String>>, ProfileFault> {
    let found = if small_file::is_directory(path) {
        let name = if wanted.history { "History" } else { "Bookmarks" };
        let files = ["places.sqlite", name].map(|name| path.join(name));
        let file = files.into_iter().find(|file| begins_with(file, b""));
        file.ok_or_else(|| ProfileFault::NoProfile(shown(path)))?
    } else {
        path.to_owned()
    };
    let mut urls = if begins_with(&found, SQLITE) {
        of_database(&found, wanted)?
    } else if begins_with(&found, b"{") {
        let Some(urls) = of_json(&found, wanted)? else { return Ok(None) };
        urls
    } else {
        return Ok(None);
    };
    urls.retain(|url| is_web(url));
    if let Some(most) = wanted.most {
        urls.truncate(most);
    }
    Ok(Some(urls))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn is_web(url: &str) -> bool {
    let begin = url.get(..8).unwrap_or(url).to_ascii_lowercase();
    begin.starts_with("http://") || begin.starts_with("https://")
}

/// Whether the path is a file that begins with these bytes.
fn begins_with(path: &Path, bytes: &[u8]) -> bool {
    let Ok(OpenedFile::File(file, _)) = SYSTEM_DISK.open(path) else { return false };
    let mut begin = vec![0; bytes.len()];
    bytes.is_empty()
        || file.read_at(&mut begin, 0).is_ok_and(|read| begin.get(..read) == Some(bytes))
}

/// The bookmarks in a JSON file of Chromium, newest first. `None` if the file is other JSON.
fn of_json(path: &Path, wanted: &ProfileArgs) -> Result<Option<Vec<String>>, ProfileFault> {
    let unreadable = |error| ProfileFault::Unreadable(shown(path), error);
    let bytes = small_file::read_at_most(path, MAX_BOOKMARKS).map_err(unreadable)?;
    let is_named = path.file_name().is_some_and(|name| name == "Bookmarks");
    let root: Value = match serde_json::from_slice(&bytes.unwrap_or_default()) {
        Ok(root) => root,
        Err(error) if is_named => return Err(ProfileFault::Bookmarks(shown(path), error)),
        Err(_) => return Ok(None),
    };
    let Some(roots) = root.get("roots").and_then(Value::as_object) else { return Ok(None) };
    if wanted.history {
        return Err(ProfileFault::NoHistory(shown(path)));
    }
    let since = wanted.since.map_or(i64::MIN, since_1601);
    let mut found = Vec::new();
    let mut folders: Vec<&Value> = roots.values().collect();
    // The parser limits the depth of the file.
    while let Some(node) = folders.pop() {
        folders.extend(node.get("children").and_then(Value::as_array).into_iter().flatten());
        let added =
            node.get("date_added").and_then(Value::as_str).and_then(|text| text.parse().ok());
        let added: i64 = added.unwrap_or_default();
        if let Some(url) = node.get("url").and_then(Value::as_str).filter(|_| added >= since) {
            found.push((added, url.to_owned()));
        }
    }
    found.sort_by_key(|(added, _)| std::cmp::Reverse(*added));
    Ok(Some(found.into_iter().map(|(_, url)| url).collect()))
}

/// A time in the unit of Chromium: microseconds since 1601.
fn since_1601(time: Timestamp) -> i64 {
    time.as_microsecond().saturating_add(SINCE_1601 * 1_000_000)
}

/// The bookmarks, newest first, or the history, most visited first.
fn of_database(path: &Path, wanted: &ProfileArgs) -> Result<Vec<String>, ProfileFault> {
    let unreadable = |error| ProfileFault::Unreadable(shown(path), error);
    let room = tempfile::tempdir().map_err(unreadable)?;
    let copy = copy_database(path, room.path()).map_err(unreadable)?;
    let query = || -> rusqlite::Result<Option<Vec<String>>> {
        // The journal of the copy may have to be replayed into it.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = Connection::open_with_flags(&copy, flags)?;
        database.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;")?;
        let has = |table: &str| {
            database.query_row(
                "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1",
                [table],
                |row| row.get::<_, i64>(0),
            )
        };
        let unix = wanted.since.map_or(i64::MIN, Timestamp::as_microsecond);
        let windows = wanted.since.map_or(i64::MIN, since_1601);
        let (sql, since) = if has("moz_places")? > 0 {
            (if wanted.history { FIREFOX_HISTORY } else { FIREFOX_BOOKMARKS }, unix)
        } else if has("urls")? > 0 {
            if !wanted.history {
                return Ok(None);
            }
            (CHROMIUM_HISTORY, windows)
        } else {
            return Err(rusqlite::Error::QueryReturnedNoRows);
        };
        let most = wanted.most.or(wanted.history.then_some(MOST_VISITED));
        let most = most.and_then(|most| i64::try_from(most).ok()).unwrap_or(i64::MAX);
        let mut find = database.prepare(sql)?;
        // A URL that is not text is left out.
        let text = |row: &rusqlite::Row<'_>| Ok(row.get_ref(0)?.as_str().ok().map(str::to_owned));
        let rows = find.query_map(params![since, most], text)?;
        let urls = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(Some(urls.into_iter().flatten().collect()))
    };
    query()
        .map_err(|error| ProfileFault::Database(shown(path), error))?
        .ok_or_else(|| ProfileFault::NoBookmarks(shown(path)))
}

const FIREFOX_BOOKMARKS: &str = "SELECT place.url FROM moz_bookmarks AS mark \
    JOIN moz_places AS place ON mark.fk = place.id \
    WHERE mark.type = 1 AND mark.dateAdded >= ?1 AND place.url LIKE 'http%' \
    GROUP BY place.id ORDER BY max(mark.dateAdded) DESC LIMIT ?2";

const FIREFOX_HISTORY: &str = "SELECT url FROM moz_places \
    WHERE visit_count > 0 AND hidden = 0 AND coalesce(last_visit_date, 0) >= ?1 \
    AND url LIKE 'http%' ORDER BY visit_count DESC, last_visit_date DESC LIMIT ?2";

const CHROMIUM_HISTORY: &str = "SELECT url FROM urls \
    WHERE visit_count > 0 AND hidden = 0 AND last_visit_time >= ?1 \
    AND url LIKE 'http%' ORDER BY visit_count DESC, last_visit_time DESC LIMIT ?2";

/// Copies a database with its journals into `room`. A copy that was made while the browser wrote is
/// made again.
fn copy_database(path: &Path, room: &Path) -> io::Result<PathBuf> {
    let beside = |end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let copy = room.join("copy.sqlite");
    let files = [
        (path.to_owned(), copy.clone()),
        (beside("-wal"), room.join("copy.sqlite-wal")),
        (beside("-journal"), room.join("copy.sqlite-journal")),
    ];
    let stamps = || files.each_ref().map(|(from, _)| SYSTEM_DISK.stamp(from).ok().flatten());
    for _ in 0..TRIES {
        let before: [Option<Stamp>; 3] = stamps();
        // A journal of the previous attempt does not belong to the new copy.
        for (_, to) in &files {
            remove(to)?;
        }
        for (from, to) in &files {
            match copy_file(from, to) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && from != path => {}
                done => done?,
            }
        }
        if stamps() == before {
            return Ok(copy);
        }
    }
    Err(io::Error::other("the browser changes it all the time: close the browser"))
}

fn remove(file: &Path) -> io::Result<()> {
    match SYSTEM_DISK.remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let OpenedFile::File(source, length) = SYSTEM_DISK.open(from)? else {
        return Err(io::Error::other("it is not a regular file"));
    };
    if length > MAX_FILE {
        return Err(io::Error::other("it is longer than 4 GiB"));
    }
    let target = SYSTEM_DISK.create(to)?;
    let (mut offset, mut piece) = (0_u64, vec![0; PIECE]);
    while offset <= MAX_FILE {
        let read = source.read_at(&mut piece, offset)?;
        if read == 0 {
            break;
        }
        target.write_all_at(piece.get(..read).unwrap_or_default(), offset)?;
        offset = offset.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(history: bool, since: Option<&str>, most: Option<usize>) -> ProfileArgs {
        ProfileArgs { bookmarks: false, history, since: since.map(|at| at.parse().unwrap()), most }
    }

    /// A database as Firefox has it open: with its last changes in the journal, and locked.
    fn places(path: &Path) -> Connection {
        let database = Connection::open(path).unwrap();
        database
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA locking_mode = EXCLUSIVE;
                 PRAGMA wal_autocheckpoint = 0;
                 CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url TEXT, visit_count INTEGER,
                     hidden INTEGER, last_visit_date INTEGER);
                 CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, type INTEGER, fk INTEGER,
                     dateAdded INTEGER);
                 INSERT INTO moz_places VALUES
                     (1, 'https://a.example/', 3, 0, 1700000000000000),
                     (2, 'https://b.example/', 9, 0, 1600000000000000),
                     (3, 'https://hidden.example/', 9, 1, 1700000000000000),
                     (4, 'about:config', 9, 0, 1700000000000000),
                     (5, 'https://c.example/', 0, 0, NULL),
                     (6, 'place:sort=8', 0, 0, NULL);
                 INSERT INTO moz_bookmarks VALUES (1, 1, 5, 1700000000000000),
                     (2, 2, NULL, 1), (3, 1, 6, 1), (4, 1, 1, 1600000000000000), (5, 1, 5, 2);",
            )
            .unwrap();
        database
    }

    #[test]
    fn bookmarks_and_history_of_firefox_are_read_while_it_runs() {
        let profile = tempfile::tempdir().unwrap();
        let _firefox = places(&profile.path().join("places.sqlite"));
        for (args, want) in [
            (wanted(false, None, None), &["https://c.example/", "https://a.example/"][..]),
            (wanted(false, Some("2023-01-01T00:00:00Z"), None), &["https://c.example/"]),
            (wanted(true, None, None), &["https://b.example/", "https://a.example/"]),
            (wanted(true, None, Some(1)), &["https://b.example/"]),
            (wanted(true, Some("2023-01-01T00:00:00Z"), None), &["https://a.example/"]),
        ] {
            for path in [profile.path().to_owned(), profile.path().join("places.sqlite")] {
                assert_eq!(read(&path, &args).unwrap().unwrap(), want, "{args:?}");
            }
        }
    }

    #[test]
    fn bookmarks_and_history_of_chromium_are_read() {
        let profile = tempfile::tempdir().unwrap();
        let history = profile.path().join("History");
        let database = Connection::open(&history).unwrap();
        database
            .execute_batch(
                "CREATE TABLE urls (id INTEGER PRIMARY KEY, url TEXT, visit_count INTEGER,
                     hidden INTEGER, last_visit_time INTEGER);
                 INSERT INTO urls VALUES (1, 'https://a.example/', 1, 0, 13344473600000000),
                     (2, 'https://b.example/', 5, 0, 13200000000000000),
                     (3, 'chrome://settings/', 5, 0, 13344473600000000);
                 BEGIN EXCLUSIVE;",
            )
            .unwrap();
        let bookmarks = serde_json::json!({"roots": {
            "bookmark_bar": {"type": "folder", "children": [
                {"type": "url", "url": "https://old.example/", "date_added": "13200000000000000"},
                {"type": "folder", "children": [
                    {"type": "url", "url": "https://new.example/", "date_added": "13344473600000000"},
                    {"type": "url", "url": "javascript:alert(1)", "date_added": "13344473600000000"}]}]},
            "other": {"type": "folder", "children": []}}});
        let file = profile.path().join("Bookmarks");
        small_file::write(&file, bookmarks.to_string().as_bytes(), small_file::Readers::Owner)
            .unwrap();
        let since = Some("2023-01-01T00:00:00Z");
        for (args, want) in [
            (wanted(false, None, None), &["https://new.example/", "https://old.example/"][..]),
            (wanted(false, since, None), &["https://new.example/"]),
            (wanted(true, None, None), &["https://b.example/", "https://a.example/"]),
            (wanted(true, since, None), &["https://a.example/"]),
        ] {
            assert_eq!(read(profile.path(), &args).unwrap().unwrap(), want, "{args:?}");
        }
        assert!(read(&history, &wanted(false, None, None)).is_err(), "it has no bookmarks");
        assert!(read(&file, &wanted(true, None, None)).is_err(), "it has no history");
    }

    #[test]
    fn other_files_are_not_profiles() {
        let room = tempfile::tempdir().unwrap();
        let args = wanted(false, None, None);
        assert!(read(room.path(), &args).is_err());
        let write = |name: &str, bytes: &[u8]| {
            let path = room.path().join(name);
            small_file::write(&path, bytes, small_file::Readers::Owner).unwrap();
            path
        };
        assert_eq!(read(&write("a.txt", b"http://a.example/"), &args).unwrap(), None);
        assert_eq!(read(&write("b.json", b"{\"a\": 1}"), &args).unwrap(), None);
        assert_eq!(read(&room.path().join("none"), &args).unwrap(), None);
        assert!(read(&write("c.sqlite", b"SQLite format 3\0 and no more"), &args).is_err());
        assert!(read(&write("Bookmarks", b"{"), &args).is_err());
    }
}
