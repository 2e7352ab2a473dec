//! The single thread that writes the index.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use wwwoffle_spool::fs::{Disk, SYSTEM_DISK};
use wwwoffle_spool::purge::space;
use wwwoffle_spool::{ChangeListener, Entry, Key, LastListing, Place, Spool, Timestamp};

use crate::describe::Describe;
use crate::documents::{DocumentThread, describe_safely};
use crate::error::{Error, IndexFault, Result};
use crate::item::{self, COLUMNS, FROM, Item};
use crate::pool::Pool;
use crate::rebuild::{self, PARTIAL};
use crate::work_queue::{ReindexScope, Task, WorkQueue};
use crate::{apply, changed, schema, sessions};

/// The most pages that are read per commit, and the length of the texts after which no further page
/// is read, in bytes. Large commits leave fewer parts of the word index to merge.
const READ_AT_ONCE: i64 = 256;
const TEXT_AT_ONCE: usize = 4 << 20;

/// The time after which no further page is read for a commit, because other work waits.
const READ_WITHIN: Duration = Duration::from_secs(5);

/// The niceness of the thread: serving has priority.
const NICE: i32 = 10;

/// The longest rest of the thread, for example after a rebuild.
const MAX_REST: Duration = Duration::from_secs(1);

/// Delay before retrying a failed index rebuild. On an almost full disk, each attempt uses all
/// remaining space for a while.
const AGAIN: Duration = Duration::from_secs(600);

/// The free space in bytes below which nothing is written. The rest of the disk is for data that
/// cannot be rebuilt.
const LEAVES: u64 = 4 << 20;

/// The minimum time between two writes of uses to the spool, in microseconds.
const WRITE_USES: i64 = 3_600_000_000;

/// The names of the metadata with the time of the last write of uses, and with the time of the
/// oldest use that was not written. The latter is zero if all uses are written.
const USES_WRITTEN: &str = "uses-written";
const USES_CHANGED: &str = "uses-changed";

/// The state of the thread.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) spool: Spool,
    pub(crate) work: Arc<WorkQueue>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) describe: Option<Arc<dyn Describe>>,
    pub(crate) path: PathBuf,
    /// The path of the new index during a rebuild.
    pub(crate) new: PathBuf,
    /// When the last attempt to build the index failed. `None` if it succeeded.
    pub(crate) failed: Option<Instant>,
    /// Whether a change was neither indexed nor recorded, because the disk was full or failed. The
    /// next task begins with a walk, which finds the change.
    pub(crate) is_behind: bool,
    /// The keys that were postponed when changes were last applied.
    pub(crate) postponed: Vec<Key>,
    /// The document that is being read, or whose description is not in the index yet.
    pub(crate) document: Option<DocumentThread>,
}

/// A guard that reports the end of the thread when it is dropped, even after a panic.
struct EndReporter(Arc<WorkQueue>);

impl Drop for EndReporter {
    fn drop(&mut self) {
        self.0.record_end();
    }
}

impl Worker {
    /// Carries out tasks until the index is stopped.
    pub(crate) fn run(mut self) {
        let _ends = EndReporter(Arc::clone(&self.work));
        // If this is not permitted, the thread runs with normal priority.
        let _ = rustix::process::nice(NICE);
        let mut connection = self.open();
        let mut can_read = connection.is_some() && self.describe.is_some();
        loop {
            let task = self.work.next(can_read);
            if matches!(task, Task::Stop) {
                break;
            }
            let is_order = matches!(task, Task::Order(_));
            let are_uses = matches!(task, Task::WriteUses);
            let begun = Instant::now();
            let done = self.run_task(task, &mut connection);
            let is_damaged = done.as_ref().is_err_and(Error::is_damaged);
            can_read = done.as_ref().is_ok_and(|more| *more) && self.describe.is_some();
            self.work.update(|progress| progress.walked = None);
            if are_uses {
                self.work.uses_done(done.is_ok());
            }
            match done {
                _ if is_order => self.work.finish_request(done.err()),
                Err(error) if !error.is_stopped() => self.work.record_error(error),
                Ok(_) | Err(_) => {}
            }
            if is_damaged {
                can_read = self.make_again(&mut connection) && self.describe.is_some();
                self.work.update(|progress| progress.walked = None);
            }
            // Serving needs the processor too, so the thread uses at most half of a core, unless a
            // caller waits for it.
            self.work.rest(begun.elapsed().min(MAX_REST));
        }
        self.end(connection);
    }

    /// Whether there is enough free space. True if the free space is unknown.
    fn has_room(&self) -> bool {
        let directory = self.path.parent().unwrap_or(self.spool.root());
        space(directory).map_or(true, |space| space.free >= LEAVES)
    }

    fn set_behind(&mut self, is_behind: bool) {
        self.is_behind = is_behind;
        self.work.update(|progress| progress.is_behind = is_behind);
    }

    /// Opens the existing index or builds it.
    fn open(&mut self) -> Option<Connection> {
        if !self.has_room() {
            self.failed = Some(Instant::now());
            self.set_behind(true);
            let full = std::io::ErrorKind::StorageFull.into();
            self.work.record_error(Error::disk("write", &self.path, full));
            return None;
        }
        let mut connection = None;
        let opened = match schema::open_writer(&self.path) {
            Ok(opened) => {
                self.pool.replace(|| ((), true));
                self.work.update(|progress| {
                    (progress.is_ready, progress.walked) = (true, Some(0));
                });
                let walked = changed::walk(&opened, &self.spool, &self.work);
                connection = Some(opened);
                walked
            }
            Err(error) => Err(error),
        };
        match opened {
            Ok(()) => {}
            Err(error) if error.is_stopped() => {}
            Err(error) => {
                // A missing index is not an error.
                if self.is_there() {
                    self.set_aside(&error);
                    self.work.record_error(error);
                }
                self.make_again(&mut connection);
            }
        }
        self.work.update(|progress| progress.walked = None);
        connection
    }

    fn is_there(&self) -> bool {
        SYSTEM_DISK.stamp(&self.path).is_ok_and(|stamp| stamp.is_some())
    }

    /// Moves a foreign file with the name of the index to the folder for damaged files.
    fn set_aside(&self, error: &Error) {
        if error.is_foreign() {
            let name = format!("{}-index.sqlite", SYSTEM_DISK.now().as_microsecond());
            // If the file cannot be moved, the next rebuild replaces it, because the name belongs
            // to the index.
            let _ = SYSTEM_DISK.rename(&self.path, &self.spool.root().join("damaged").join(name));
        }
    }

    /// Rebuilds the index. Returns whether that succeeded.
    fn make_again(&mut self, connection: &mut Option<Connection>) -> bool {
        match self.rebuild(connection) {
            Ok(()) => true,
            Err(error) => {
                if !error.is_stopped() {
                    self.work.record_error(error);
                }
                false
            }
        }
    }

    /// Builds the index from the files and replaces the old one.
    fn rebuild(&mut self, connection: &mut Option<Connection>) -> Result<()> {
        let new = self.new.clone();
        remove(&new)?;
        self.work.update(|progress| progress.walked = Some(0));
        let _reported_elsewhere = self.spool.flush();
        if let Err(error) = rebuild::build(&self.spool, &new, &self.path, &self.work) {
            // If the file cannot be removed now, the next attempt removes it.
            let _ = remove(&new);
            self.failed = Some(Instant::now());
            return Err(error);
        }
        (*connection, self.failed) = (None, None);
        let path = self.path.clone();
        let opened = self.pool.replace(|| {
            let opened = put(&new, &path).and_then(|()| schema::open_writer(&path));
            let is_open = opened.is_ok();
            (opened, is_open)
        });
        self.set_behind(opened.is_err());
        *connection = Some(opened?);
        self.work.update(|progress| progress.is_ready = true);
        Ok(())
    }

    /// Carries out a task. Returns whether there may be pages whose words are not indexed yet.
    fn run_task(&mut self, task: Task, connection: &mut Option<Connection>) -> Result<bool> {
        let is_order = matches!(task, Task::Order(_));
        if !is_order && !self.has_room() {
            // A walk finds the change later. A caller's request is carried out even so, because it
            // can report the error of the disk.
            self.set_behind(true);
            return Ok(false);
        }
        let rests = self.failed.is_some_and(|failed| failed.elapsed() < AGAIN);
        if connection.is_none() && rests && !is_order {
            // The failure was reported, and a rebuild will find the change.
            return Ok(false);
        }
        if connection.is_none() || matches!(task, Task::Order(ReindexScope::All)) {
            // A rebuild includes all changes.
            self.rebuild(connection)?;
            if !matches!(task, Task::Changes(_) | Task::Uses(..) | Task::WriteUses) {
                return Ok(true);
            }
        }
        let open = connection.as_ref().ok_or(IndexFault::NotReady)?;
        if self.is_behind || matches!(task, Task::Walk) {
            // Until this walk succeeds, the changes of this task are not in the index either.
            self.set_behind(true);
            self.catch_up(open)?;
        }
        match task {
            Task::Changes(places) => {
                let places = self.postpone_pending(places);
                self.apply_changes(open, places).map(|()| true)
            }
            Task::Uses(places, uses) => {
                self.apply_changes(open, places)?;
                write(open, || {
                    uses.iter().try_for_each(|(key, time)| apply::record_use(open, key, *time))?;
                    schema::set_meta(open, USES_CHANGED, SYSTEM_DISK.now().as_microsecond())
                })?;
                self.keep_uses(open, WRITE_USES).map(|()| true)
            }
            Task::WriteUses => self.keep_uses(open, 0).map(|()| true),
            Task::SessionRequest(session, asked) => {
                write(open, || sessions::record_session_requests(open, session, &asked))
                    .map(|()| true)
            }
            Task::Order(_) => self.walk(open).map(|()| true),
            Task::Read => self.read(open),
            Task::Walk => Ok(true),
            Task::Stop => Ok(false),
        }
    }

    fn walk(&self, connection: &Connection) -> Result<()> {
        self.work.update(|progress| progress.walked = Some(0));
        changed::walk(connection, &self.spool, &self.work)
    }

    /// Finds changes that were not recorded. A part of the spool that cannot be read is reported, and
    /// does not require another walk.
    fn catch_up(&mut self, connection: &Connection) -> Result<()> {
        match self.walk(connection) {
            Err(error) if error.is_partial() => {
                schema::set_meta(connection, PARTIAL, 1)?;
                self.work.record_error(error);
            }
            walked => walked?,
        }
        self.set_behind(false);
        Ok(())
    }

    /// Records the places again whose entry waits for its batch, and returns the others. The batch
    /// changes the entry once more, so most entries are examined only once. A place is not
    /// postponed twice in succession, nor while a caller waits.
    fn postpone_pending(&mut self, places: Vec<Place>) -> Vec<Place> {
        let may_wait = !self.work.is_awaited();
        let is_early = |place: &Place| {
            may_wait && self.spool.is_pending(place) && !self.postponed.contains(&place.key())
        };
        let (early, due): (Vec<_>, Vec<_>) = places.into_iter().partition(is_early);
        self.postponed = early.iter().map(Place::key).collect();
        for place in &early {
            self.work.changed(place);
        }
        due
    }

    /// Applies changes in one commit. If that fails, the next task begins with a walk.
    fn apply_changes(&mut self, connection: &Connection, mut places: Vec<Place>) -> Result<()> {
        // The keys of a directory then follow each other, so it is listed once.
        places.sort_by_cached_key(Place::relative_path);
        let mut last = LastListing::default();
        let applied = write(connection, || {
            for place in &places {
                match self.spool.walk_key(place, &mut last) {
                    Ok(found) => apply::set_key(connection, place, &found)?,
                    // A failure for one place does not affect the other places.
                    Err(error) => {
                        schema::set_meta(connection, PARTIAL, 1)?;
                        self.work.record_error(error.into());
                    }
                }
            }
            Ok(())
        });
        if applied.is_err() {
            self.set_behind(true);
        }
        applied
    }

    /// Reads some pages whose words are not indexed, and starts to read a document. Returns whether
    /// there may be more.
    fn read(&mut self, connection: &Connection) -> Result<bool> {
        let Some(describe) = self.describe.clone() else { return Ok(false) };
        let unread = unindexed_items(connection, false, READ_AT_ONCE)?;
        let mut has_more = !unread.is_empty();
        let (mut read, mut length, begun) = (Vec::new(), 0, Instant::now());
        for item in unread {
            let description = self
                .entry(&item)
                .and_then(|entry| describe_safely(describe.as_ref(), &entry, &self.work));
            length += description.as_ref().map_or(0, |description| description.text.len());
            read.push((item.position.id, description));
            if length > TEXT_AT_ONCE || begun.elapsed() > READ_WITHIN || self.work.is_called() {
                break;
            }
        }
        if !self.work.is_document_running() {
            let finished = self.document.take();
            let finished = finished.map(|reader| reader.finish(connection)).transpose()?;
            read.extend(finished.flatten());
            let ids: Vec<_> = read.iter().map(|(id, _)| *id).collect();
            let next = unindexed_items(connection, true, 2)?;
            if let Some(item) = next.into_iter().find(|item| !ids.contains(&item.position.id)) {
                if let Some(entry) = self.entry(&item) {
                    let started = DocumentThread::start(item, entry, describe, &self.work);
                    self.document = started.map_err(|error| self.work.record_error(error)).ok();
                } else {
                    read.push((item.position.id, None));
                    has_more = true;
                }
            }
        }
        write(connection, || {
            read.iter().try_for_each(|(id, description)| {
                apply::describe(connection, *id, description.as_ref())
            })
        })?;
        Ok(has_more)
    }

    /// The entry of an item. `None` if it cannot be read, or has changed since: that change is
    /// recorded separately.
    fn entry(&self, item: &Item) -> Option<Entry> {
        let entries = self.spool.entries(&item.place);
        let found = entries.map_err(|error| self.work.record_error(error.into())).ok()?.found;
        let mut found = found.into_iter().filter(|entry| *entry.place() == item.place);
        found.next().filter(|entry| entry.stored() == item.times.stored)
    }

    /// Writes the uses if there are new ones and the last write was at least `wait` microseconds
    /// ago. Does nothing if the spool is read-only.
    fn keep_uses(&self, connection: &Connection, wait: i64) -> Result<()> {
        let now = SYSTEM_DISK.now().as_microsecond();
        let changed = schema::meta(connection, USES_CHANGED)?.unwrap_or_default();
        let written = schema::meta(connection, USES_WRITTEN)?.unwrap_or_default();
        // If the clock was set back, the uses are written without delay.
        let is_soon = written <= now && now.saturating_sub(written) < wait;
        if changed == 0 || is_soon || self.spool.is_read_only() {
            return Ok(());
        }
        let mut find = connection.prepare("SELECT key, used FROM entries WHERE used > stored")?;
        let rows = find.query_map([], |row| Ok((row.get::<_, [u8; 32]>(0)?, row.get(1)?)))?;
        let mut uses = rows.map_while(Result::ok).map(|(key, used): ([u8; 32], i64)| {
            let time = Timestamp::from_microsecond(used).unwrap_or(Timestamp::UNIX_EPOCH);
            (Key::from_bytes(key), time)
        });
        self.spool.set_uses(&mut uses)?;
        write(connection, || {
            schema::set_meta(connection, USES_CHANGED, 0)?;
            schema::set_meta(connection, USES_WRITTEN, now)
        })
    }

    fn end(&mut self, connection: Option<Connection>) {
        // The program that reads the document must not outlive the daemon.
        drop(self.document.take().map(DocumentThread::wait));
        if let Some(connection) = connection
            && let Err(error) = self.keep_uses(&connection, 0)
        {
            self.work.record_error(error);
        }
        // Later queries fail.
        self.pool.replace(|| ((), false));
        self.work.record_end();
    }
}

/// The latest entries that have not been read: only documents, or only others.
fn unindexed_items(connection: &Connection, documents: bool, most: i64) -> Result<Vec<Item>> {
    let mut find = connection.prepare_cached(&unindexed_query())?;
    let mut rows = find.query((documents, most))?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        items.extend(item::read(row)?);
    }
    Ok(items)
}

fn unindexed_query() -> String {
    let is_document = schema::is_document();
    format!(
        "SELECT {COLUMNS} FROM {FROM} WHERE e.id IN (SELECT id FROM entries INDEXED BY entries_unread \
         WHERE text = 0 AND ({is_document}) = ?1 ORDER BY id DESC LIMIT ?2)"
    )
}

/// Runs `act` in one transaction.
fn write(connection: &Connection, act: impl FnOnce() -> Result<()>) -> Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let done = act().and_then(|()| Ok(connection.execute_batch("COMMIT")?));
    if done.is_err() {
        let _ = connection.execute_batch("ROLLBACK");
    }
    done
}

/// Replaces the index file, which must not be open.
fn put(new: &Path, path: &Path) -> Result<()> {
    for end in ["-wal", "-shm", "-journal"] {
        remove(&sibling_path(path, end))?;
    }
    SYSTEM_DISK.rename(new, path).map_err(|error| Error::disk("make", path, error))?;
    let root = path.parent().unwrap_or(path);
    SYSTEM_DISK.sync_dir(root).map_err(|error| Error::disk("write", root, error))
}

fn sibling_path(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn remove(path: &Path) -> Result<()> {
    match SYSTEM_DISK.remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::disk("remove", path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise each document would be found by reading all unread entries before it.
    #[test]
    fn unread_items_are_searched_in_an_index() {
        let connection = schema::create(Path::new(":memory:")).unwrap();
        schema::finish(&connection).unwrap();
        let explain = format!("EXPLAIN QUERY PLAN {}", unindexed_query());
        let mut plan = connection.prepare(&explain).unwrap();
        let steps = plan.query_map((true, 2), |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<String> = steps.collect::<std::result::Result<_, _>>().unwrap();
        let unread: Vec<_> = steps.iter().filter(|step| step.contains("entries_unread")).collect();
        assert_eq!(unread, ["SEARCH entries USING INDEX entries_unread (<expr>=?)"]);
        assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE FOR ORDER BY")), "{steps:?}");
    }
}
