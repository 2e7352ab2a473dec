//! Finding what others have changed in the spool: a directory tells by its times whether a name in it was
//! added, taken away or replaced since it was walked last.
//!
//! A directory that is moved keeps the time of its own names, but not that of its last change of any
//! kind; so the latter counts, and below a directory of a host that has come newly all is looked at.
//! What is written over in place is not found here: no program of this spool does that, and it is noticed
//! when the entry is asked for.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;
use wwwoffle_spool::fs::{Disk, Stamp, SystemDisk};
use wwwoffle_spool::{HostDirectory, Key, KeyDirectory, Place, Spool, Taken, Timestamp, Walked};

use crate::apply::{self, Found};
use crate::dirty::Desk;
use crate::error::{Error, Result};
use crate::name::split;
use crate::rebuild::WALKED;
use crate::schema;

/// What was changed so long before the last walk may have come into a directory after it: clocks of file
/// systems are coarse, and some are another machine's. In microseconds.
const SLACK: i64 = 2_000_000;

/// Changes that are made in one commit.
const AT_ONCE: usize = 2_000;

/// Hosts that are looked at between two looks at what else is to be done.
const HOSTS: usize = 256;

/// An entry of a host, as far as it takes to find that it is gone.
struct Known {
    first: u8,
    key: Key,
    id: i64,
}

/// A walk under way.
struct Walker<'a> {
    connection: &'a Connection,
    desk: &'a Desk,
    /// Directories that have not changed since then are not read.
    since: Timestamp,
    seen: HashSet<i64>,
    pending: usize,
    count: u64,
}

/// Finds what has changed since the last walk, and brings it into the index.
pub(crate) fn walk(connection: &Connection, spool: &Spool, desk: &Desk) -> Result<()> {
    // What waits for its batch has no name yet; now it gets it.
    let _reported_elsewhere = spool.flush();
    let begun = SystemDisk.now();
    let since = looked_until(connection, begun)?;
    let seen = HashSet::new();
    let mut walker = Walker { connection, desk, since, seen, pending: 0, count: 0 };
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let done = walker.run(spool);
    match done {
        Ok(()) => {
            schema::set_meta(connection, WALKED, begun.as_microsecond())?;
            Ok(connection.execute_batch("COMMIT")?)
        }
        Err(error) => {
            // What was found until then is right.
            let _ = connection.execute_batch("COMMIT");
            Err(error)
        }
    }
}

/// What was changed before then is in the index. Nothing, where the clock was put back since the last walk.
pub(crate) fn looked_until(connection: &Connection, now: Timestamp) -> Result<Timestamp> {
    let walked = schema::meta(connection, WALKED)?.unwrap_or_default();
    let until = Timestamp::from_microsecond(walked.saturating_sub(SLACK)).unwrap_or(Timestamp::MIN);
    Ok(if walked > now.as_microsecond() { Timestamp::MIN } else { until })
}

impl Walker<'_> {
    fn run(&mut self, spool: &Spool) -> Result<()> {
        for (count, host) in spool.walk().hosts()?.enumerate() {
            if count.is_multiple_of(HOSTS) && self.desk.is_stopping() {
                return Err(Error::stopped());
            }
            self.host(spool, &host?)?;
        }
        self.drop_unseen()
    }

    fn has_changed(&self, stamp: Option<Stamp>) -> bool {
        stamp.is_none_or(|stamp| stamp.changed() >= self.since)
    }

    fn host(&mut self, spool: &Spool, host: &HostDirectory) -> Result<()> {
        let is_new = self.has_changed(host.stamp()?);
        let directories = host.keys()?;
        let mut changed: Vec<&KeyDirectory> = Vec::new();
        for directory in &directories {
            if is_new || self.has_changed(directory.stamp()?) {
                changed.push(directory);
            }
        }
        let number = self.number_of(host, &directories)?;
        self.seen.extend(number);
        if changed.is_empty() && !is_new {
            return self.look_at_varied(spool, number);
        }
        let mut known = self.known(number)?;
        for directory in changed {
            self.directory(directory, &known)?;
            known.retain(|entry| entry.first != directory.first());
        }
        // Of what is left, only what has no directory any more is gone.
        let there: HashSet<u8> = directories.iter().map(KeyDirectory::first).collect();
        for entry in known.iter().filter(|entry| !there.contains(&entry.first)) {
            self.remove(entry.id)?;
        }
        self.look_at_varied(spool, number)
    }

    /// The number of the host that a directory is of.
    fn number_of(&self, host: &HostDirectory, keys: &[KeyDirectory]) -> Result<Option<i64>> {
        let find = |scheme: &str, name: &str| -> Result<Option<i64>> {
            let mut find = self
                .connection
                .prepare_cached("SELECT id FROM hosts WHERE name = ?1 AND scheme = ?2")?;
            let mut rows = find.query((name, scheme))?;
            Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
        };
        if let Some((scheme, name)) = host.host() {
            return find(&scheme, &name);
        }
        // Its name is hashed; what lies in it tells.
        for directory in keys {
            if let Some(entry) = directory.entries()?.first() {
                let (scheme, name, _) = split(entry.summary.place.url());
                return find(scheme, name);
            }
        }
        Ok(None)
    }

    fn known(&self, host: Option<i64>) -> Result<Vec<Known>> {
        let Some(host) = host else { return Ok(Vec::new()) };
        let mut find =
            self.connection.prepare_cached("SELECT id, key FROM entries WHERE host = ?1")?;
        let rows = find.query_map([host], |row| {
            let (id, key): (i64, [u8; 32]) = (row.get(0)?, row.get(1)?);
            let [first, ..] = key;
            Ok(Known { first, key: Key::from_bytes(key), id })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Makes what the index says of a directory what is there.
    fn directory(&mut self, directory: &KeyDirectory, known: &[Known]) -> Result<()> {
        let mut keys: HashMap<Key, Vec<Found>> = HashMap::new();
        for Walked { summary, versions, size, .. } in directory.entries()? {
            let taken = Taken { versions, bytes: size };
            let found = Found { summary, taken, used: None };
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
            self.seen_one(&first.summary.place)?;
        }
        Ok(())
    }

    fn seen_one(&mut self, place: &Place) -> Result<()> {
        let (scheme, host, _) = split(place.url());
        let number = apply::host_number(self.connection, scheme, host)?;
        self.seen.insert(number);
        self.step()
    }

    /// Looks at the directories of what varies, whose times are their own.
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
                apply::set_key(self.connection, &place, &found_at(spool, &place)?)?;
                self.step()?;
            }
        }
        Ok(())
    }

    /// Removes what is of hosts that have no directory any more.
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

    /// One change more; now and then they are committed.
    fn step(&mut self) -> Result<()> {
        self.count += 1;
        self.pending += 1;
        if self.pending < AT_ONCE {
            return Ok(());
        }
        self.pending = 0;
        let count = self.count;
        self.desk.tell(|progress| progress.walked = Some(count));
        self.connection.execute_batch("COMMIT; BEGIN IMMEDIATE")?;
        if self.desk.is_stopping() { Err(Error::stopped()) } else { Ok(()) }
    }
}

/// What there is under the key of a place, whatever waits for its batch.
pub(crate) fn found_at(spool: &Spool, place: &Place) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for entry in spool.entries(place)?.found {
        let taken = spool.taken(entry.place())?;
        found.push(Found { summary: entry.summary(), taken, used: None });
    }
    Ok(found)
}
