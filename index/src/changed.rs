//! Finds changes made to the spool by other programs. The times of a directory show whether a name
//! in it was added, removed or replaced since the last walk.
//!
//! If a directory is moved, its modification time stays but its change time changes, so the change
//! time is compared. If the directory of a host has changed, everything below it is examined. Files
//! that were overwritten in place are not found here. No program for this spool does that, and such
//! a file is detected when the entry is requested.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;
use wwwoffle_spool::fs::{Disk, SYSTEM_DISK, Stamp};
use wwwoffle_spool::{HostDirectory, Key, KeyDirectory, LastListing, Place, Spool, Timestamp};

use crate::apply;
use crate::column::host_id;
use crate::error::{Error, IndexFault, Result};
use crate::name::split;
use crate::rebuild::WALKED;
use crate::schema;
use crate::work_queue::WorkQueue;

/// The time before a walk, in microseconds, in which changes are examined again by the next walk.
/// Such a change may become visible only after the walk, because the clocks of file systems are
/// coarse and may belong to another machine.
const SLACK: i64 = 2_000_000;

/// The number of changes in one commit.
const AT_ONCE: usize = 2_000;

/// The number of hosts that are examined between two checks whether the index is being stopped.
const HOSTS: usize = 256;

/// An indexed entry of a host, with the columns that its removal needs.
struct IndexedKey {
    first: u8,
    key: Key,
    id: i64,
}

/// A running walk.
struct Walker<'a> {
    connection: &'a Connection,
    work: &'a WorkQueue,
    /// Directories that have not changed since this time are not read.
    since: Timestamp,
    seen: HashSet<i64>,
    pending: usize,
    count: u64,
    /// Why a part of the spool could not be read.
    unreadable: Option<Error>,
}

/// Finds the changes since the last walk and applies them to the index. If a part of the spool cannot
/// be read, applies the changes of the others before it returns the first such error. The rows of
/// that part stay, and the next walk examines it again.
pub(crate) fn walk(connection: &Connection, spool: &Spool, work: &WorkQueue) -> Result<()> {
    // This writes the entries that wait for their batch, so that the walk finds their files.
    let _reported_elsewhere = spool.flush();
    let begun = SYSTEM_DISK.now();
    let since = checked_until(connection, begun)?;
    let seen = HashSet::new();
    let (pending, count, unreadable) = (0, 0, None);
    let mut walker = Walker { connection, work, since, seen, pending, count, unreadable };
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let done = walker.run(spool);
    match done {
        Ok(()) => {
            schema::set_meta(connection, WALKED, begun.as_microsecond())?;
            Ok(connection.execute_batch("COMMIT")?)
        }
        Err(error) => {
            // The changes found before an error are valid, so they are committed.
            let _ = connection.execute_batch("COMMIT");
            Err(error)
        }
    }
}

/// The time before which all changes are in the index. [`Timestamp::MIN`] if the clock was set back
/// since the last walk.
pub(crate) fn checked_until(connection: &Connection, now: Timestamp) -> Result<Timestamp> {
    let walked = schema::meta(connection, WALKED)?.unwrap_or_default();
    let until = Timestamp::from_microsecond(walked.saturating_sub(SLACK)).unwrap_or(Timestamp::MIN);
    Ok(if walked > now.as_microsecond() { Timestamp::MIN } else { until })
}

impl Walker<'_> {
    fn run(&mut self, spool: &Spool) -> Result<()> {
        // Whether the host of each directory is known, so that the others have no directory.
        let mut are_known = true;
        for (count, host) in spool.walk().hosts()?.enumerate() {
            if count.is_multiple_of(HOSTS) && self.work.is_stopping() {
                return Err(IndexFault::Stopped.into());
            }
            let is_named = host.as_ref().is_ok_and(|host| host.host().is_some());
            let done = host.map_err(Error::from).and_then(|host| self.host(spool, &host));
            are_known &= self.skip_unreadable(done)? || is_named;
        }
        if are_known {
            self.drop_unseen()?;
        }
        self.unreadable.take().map_or(Ok(()), Err)
    }

    /// Stores the first error of the spool, and returns other errors. Returns whether there was none.
    fn skip_unreadable(&mut self, done: Result<()>) -> Result<bool> {
        match done {
            Err(error) if error.is_partial() => {
                self.unreadable.get_or_insert(error);
                Ok(false)
            }
            done => done.map(|()| true),
        }
    }

    fn has_changed(&self, stamp: Option<Stamp>) -> bool {
        stamp.is_none_or(|stamp| stamp.changed() >= self.since)
    }

    fn host(&mut self, spool: &Spool, host: &HostDirectory) -> Result<()> {
        let named = host.host().map(|(scheme, name)| host_id(self.connection, &scheme, &name));
        let named = named.transpose()?;
        self.seen.extend(named.flatten());
        let is_new = self.has_changed(host.stamp()?);
        let directories = host.keys()?;
        let mut changed: Vec<&KeyDirectory> = Vec::new();
        for directory in &directories {
            if is_new || self.has_changed(directory.stamp()?) {
                changed.push(directory);
            }
        }
        let number = named.map_or_else(|| self.number_of(&directories), Ok)?;
        self.seen.extend(number);
        if changed.is_empty() && !is_new {
            return self.look_at_varied(spool, number);
        }
        let mut known = self.known(number)?;
        for directory in changed {
            let done = self.directory(directory, &known);
            self.skip_unreadable(done)?;
            known.retain(|entry| entry.first != directory.first());
        }
        // Of the remaining entries, only those whose directory is missing have been removed.
        let there: HashSet<u8> = directories.iter().map(KeyDirectory::first).collect();
        for entry in known.iter().filter(|entry| !there.contains(&entry.first)) {
            self.remove(entry.id)?;
        }
        self.look_at_varied(spool, number)
    }

    /// The id of the host of a directory whose name is a hash, by a file inside. `None` if the host
    /// is not indexed, or is unknown because the directory contains no entry.
    fn number_of(&self, keys: &[KeyDirectory]) -> Result<Option<i64>> {
        for directory in keys {
            if let Some(entry) = directory.entries()?.first() {
                let (scheme, name, _) = split(entry.summary.place.url());
                return host_id(self.connection, scheme, name);
            }
        }
        Ok(None)
    }

    fn known(&self, host: Option<i64>) -> Result<Vec<IndexedKey>> {
        let Some(host) = host else { return Ok(Vec::new()) };
        let mut find =
            self.connection.prepare_cached("SELECT id, key FROM entries WHERE host = ?1")?;
        let rows = find.query_map([host], |row| {
            let (id, key): (i64, [u8; 32]) = (row.get(0)?, row.get(1)?);
            let [first, ..] = key;
            Ok(IndexedKey { first, key: Key::from_bytes(key), id })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Makes the rows of a directory equal to its files.
    fn directory(&mut self, directory: &KeyDirectory, known: &[IndexedKey]) -> Result<()> {
        let mut keys: HashMap<Key, Vec<_>> = HashMap::new();
        for found in directory.entries()? {
            keys.entry(found.summary.place.key()).or_default().push(found);
        }
        for entry in known.iter().filter(|entry| entry.first == directory.first()) {
            if !keys.contains_key(&entry.key) {
                self.remove(entry.id)?;
            }
        }
        for found in keys.values() {
            let Some(first) = found.first() else { continue };
            apply::set_key(self.connection, &first.summary.place.clone(), found)?;
            self.record_seen(&first.summary.place)?;
        }
        Ok(())
    }

    fn record_seen(&mut self, place: &Place) -> Result<()> {
        let (scheme, host, _) = split(place.url());
        let number = apply::host_number(self.connection, scheme, host)?;
        self.seen.insert(number);
        self.step()
    }

    /// Examines the directories of variants, which have separate times.
    fn look_at_varied(&mut self, spool: &Spool, host: Option<i64>) -> Result<()> {
        let Some(host) = host else { return Ok(()) };
        let places = {
            let mut find = self.connection.prepare_cached(&format!(
                "SELECT {} FROM {} WHERE e.id IN (SELECT min(id) FROM entries \
                 WHERE host = ?1 AND variant <> x'' GROUP BY key)",
                crate::item::COLUMNS,
                crate::item::FROM
            ))?;
            let mut rows = find.query([host])?;
            let mut places = Vec::new();
            while let Some(row) = rows.next()? {
                places.extend(crate::item::read(row)?.map(|item| item.place));
            }
            places
        };
        for place in places {
            let [_, variants] = spool.walk().stamps(&place)?;
            if self.has_changed(variants) {
                let found = spool.walk_key(&place, &mut LastListing::default())?;
                apply::set_key(self.connection, &place, &found)?;
                self.step()?;
            }
        }
        Ok(())
    }

    /// Removes hosts whose directory is missing.
    fn drop_unseen(&mut self) -> Result<()> {
        let gone: Vec<i64> = {
            let mut find = self.connection.prepare_cached("SELECT id FROM hosts")?;
            let rows = find.query_map([], |row| row.get::<_, i64>(0))?;
            let gone = rows.filter(|id| id.as_ref().map_or(true, |id| !self.seen.contains(id)));
            gone.collect::<rusqlite::Result<_>>()?
        };
        for host in gone {
            for entry in self.known(Some(host))? {
                self.remove(entry.id)?;
            }
            apply::drop_host(self.connection, host)?;
        }
        Ok(())
    }

    fn remove(&mut self, id: i64) -> Result<()> {
        apply::remove(self.connection, id)?;
        self.step()
    }

    /// Counts a change, and commits after every [`AT_ONCE`] changes.
    fn step(&mut self) -> Result<()> {
        self.count += 1;
        self.pending += 1;
        if self.pending < AT_ONCE {
            return Ok(());
        }
        self.pending = 0;
        let count = self.count;
        self.work.update(|progress| progress.walked = Some(count));
        self.connection.execute_batch("COMMIT; BEGIN IMMEDIATE")?;
        if self.work.is_stopping() { Err(IndexFault::Stopped.into()) } else { Ok(()) }
    }
}
