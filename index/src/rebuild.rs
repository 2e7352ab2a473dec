//! Builds the index from the files, beside the one in use.
//!
//! One thread walks the directories, several threads read the beginnings of files, and one thread
//! inserts the entries. SQL indexes are created at the end.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use rusqlite::Connection;
use wwwoffle_spool::fs::{Disk, SYSTEM_DISK};
use wwwoffle_spool::{KeyDirectory, Spool, Uses, WalkedEntry};

use crate::apply;
use crate::error::{Error, IndexFault, Result};
use crate::name::split;
use crate::work_queue::WorkQueue;
use crate::{schema, sessions};

/// The maximum number of threads that read files.
const MAX_THREADS: usize = 4;

/// The capacities of the queues between the threads. Most of the memory is used by lists of entries
/// in these queues.
const DIRECTORIES: usize = 64;
const LISTS: usize = 16;

/// The name of the metadata with the start of the last walk, in microseconds since 1970.
pub(crate) const WALKED: &str = "walked";

/// The name of the metadata that is set if a part of the spool could not be read. It stays set
/// until a rebuild.
pub(crate) const PARTIAL: &str = "partial";

/// Builds the index of a spool at `path`, which must not exist, with the requests of sessions from
/// the `old` one. On failure the file must be removed.
pub(crate) fn build(spool: &Spool, path: &Path, old: &Path, work: &WorkQueue) -> Result<()> {
    let begun = SYSTEM_DISK.now();
    // SQLite creates world-readable files, and its log gets the permissions of this file. So the
    // file is created here first.
    spool.make_file(path)?;
    let connection = schema::create(path)?;
    connection.execute_batch("BEGIN")?;
    fill(&connection, spool, work)?;
    // The old index may be missing, damaged or of another program.
    let _copied =
        schema::open_reader(old).and_then(|old| sessions::copy_requests(&old, &connection));
    connection.execute_batch("COMMIT")?;
    apply::count_all(&connection)?;
    schema::set_meta(&connection, WALKED, begun.as_microsecond())?;
    schema::finish(&connection)?;
    connection.close().map_err(|(_, error)| error)?;
    sync(path)
}

/// Syncs the new file before it replaces the old one.
fn sync(path: &Path) -> Result<()> {
    use wwwoffle_spool::fs::OpenedFile;
    let fail = |error| Error::disk("write", path, error);
    match SYSTEM_DISK.open(path).map_err(fail)? {
        OpenedFile::File(file, _) => file.sync().map_err(fail),
        OpenedFile::NotAFile => Err(IndexFault::Foreign("is no plain file").into()),
    }
}

type DirectoryEntries = Result<Vec<WalkedEntry>, wwwoffle_spool::Error>;

fn fill(connection: &Connection, spool: &Spool, work: &WorkQueue) -> Result<()> {
    let uses = spool.uses()?;
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let (to_read, directories) = sync_channel::<KeyDirectory>(DIRECTORIES);
    let (to_insert, lists) = sync_channel::<DirectoryEntries>(LISTS);
    // Only the reading threads own this end of the channel. When the last of them ends, the walking
    // thread fails to send and ends too.
    let (directories, has_ended) = (Arc::new(Mutex::new(directories)), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..threads {
            let (directories, to_insert) = (Arc::clone(&directories), to_insert.clone());
            scope.spawn(move || read(&directories, &to_insert));
        }
        drop(directories);
        let (walker, has_ended) = (to_insert.clone(), &has_ended);
        scope.spawn(move || walk(spool, &to_read, &walker, has_ended));
        drop(to_insert);
        let inserted = insert(connection, lists, &uses, work);
        // `insert` has dropped the receiver of the reading threads, so they end at their next send.
        // The flag ends the walking thread.
        has_ended.store(true, Ordering::Release);
        inserted
    })
}

/// Sends every directory of entries.
fn walk(
    spool: &Spool,
    to_read: &SyncSender<KeyDirectory>,
    failed: &SyncSender<DirectoryEntries>,
    has_ended: &AtomicBool,
) {
    let walked = (|| {
        for host in spool.walk().hosts()? {
            for directory in host?.keys()? {
                if has_ended.load(Ordering::Acquire) || to_read.send(directory).is_err() {
                    return Ok(());
                }
            }
        }
        Ok(())
    })();
    if let Err(error) = walked {
        // Sending fails if the inserting thread has already ended.
        let _ = failed.send(Err(error));
    }
}

fn read(directories: &Mutex<Receiver<KeyDirectory>>, to_insert: &SyncSender<DirectoryEntries>) {
    loop {
        let next = directories.lock().unwrap_or_else(std::sync::PoisonError::into_inner).recv();
        let Ok(directory) = next else { return };
        if to_insert.send(directory.entries()).is_err() {
            return;
        }
    }
}

fn insert(
    connection: &Connection,
    lists: Receiver<DirectoryEntries>,
    uses: &Uses,
    work: &WorkQueue,
) -> Result<()> {
    let (mut walked, mut last) = (0, (String::new(), String::new(), 0));
    for list in lists {
        if work.is_stopping() {
            return Err(IndexFault::Stopped.into());
        }
        let entries = match list {
            Ok(entries) => entries,
            // An unreadable directory is skipped.
            Err(error) => {
                schema::set_meta(connection, PARTIAL, 1)?;
                work.record_error(error.into());
                continue;
            }
        };
        for found in entries {
            let (scheme, host, _) = split(found.summary.place.url());
            if (last.0.as_str(), last.1.as_str()) != (scheme, host) || last.2 == 0 {
                let number = apply::host_number(connection, scheme, host)?;
                last = (scheme.to_owned(), host.to_owned(), number);
            }
            let last_use = uses.of(&found.summary.place.key());
            apply::insert_uncounted(connection, last.2, &found, last_use)?;
            walked += 1;
        }
        work.update(|progress| progress.walked = Some(walked));
    }
    Ok(())
}
