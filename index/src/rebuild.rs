//! Making the index from the files alone, beside the one that is in use.
//!
//! The directories are walked by one thread, the beginnings of the files read by several, and one inserts.
//! What finds the entries is made when all of them are there.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use rusqlite::Connection;
use wwwoffle_spool::fs::{Disk, SystemDisk};
use wwwoffle_spool::{KeyDirectory, Spool, Taken, Uses, Walked};

use crate::apply::{self, Found};
use crate::dirty::Desk;
use crate::error::{Error, Result};
use crate::name::split;
use crate::schema;

/// The most threads that read files at once.
const MAX_THREADS: usize = 4;

/// Directories that wait to be read, and lists of entries that wait to be inserted. The latter hold
/// most of the memory that is used.
const DIRECTORIES: usize = 64;
const LISTS: usize = 16;

/// When the walk began that the index is of, in microseconds.
pub(crate) const WALKED: &str = "walked";

/// Whether something could not be read, and is not in the index: from then on, until it is made anew.
pub(crate) const PARTIAL: &str = "partial";

/// Makes the index of a spool at `path`, where nothing is. What is there afterwards is whole, or to be
/// removed.
pub(crate) fn build(spool: &Spool, path: &Path, desk: &Desk) -> Result<()> {
    let begun = SystemDisk.now();
    // SQLite lets everyone read what it makes, and gives its log the permissions of this file.
    spool.make_file(path)?;
    let connection = schema::create(path)?;
    connection.execute_batch("BEGIN")?;
    fill(&connection, spool, desk)?;
    connection.execute_batch("COMMIT")?;
    apply::count_all(&connection)?;
    schema::set_meta(&connection, WALKED, begun.as_microsecond())?;
    schema::finish(&connection)?;
    connection.close().map_err(|(_, error)| error)?;
    sync(path)
}

/// Waits until what was built is on the medium: only now it takes the place of what was.
fn sync(path: &Path) -> Result<()> {
    use wwwoffle_spool::fs::Opened;
    let fail = |error| Error::disk("write", path, error);
    match SystemDisk.open(path).map_err(fail)? {
        Opened::File(file, _) => file.sync().map_err(fail),
        Opened::NotAFile => Err(Error::foreign("is no plain file")),
    }
}

type Loaded = Result<Vec<Walked>, wwwoffle_spool::Error>;

fn fill(connection: &Connection, spool: &Spool, desk: &Desk) -> Result<()> {
    let uses = spool.uses()?;
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let (to_read, directories) = sync_channel::<KeyDirectory>(DIRECTORIES);
    let (to_insert, lists) = sync_channel::<Loaded>(LISTS);
    // Theirs alone who read: when the last of them has left the walker is told so where it waits.
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
        let inserted = insert(connection, lists, &uses, desk);
        // The others end when nobody takes what they have.
        has_ended.store(true, Ordering::Release);
        inserted
    })
}

/// Tells of every directory of entries.
fn walk(
    spool: &Spool,
    to_read: &SyncSender<KeyDirectory>,
    failed: &SyncSender<Loaded>,
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
        // Nobody takes it if the one who inserts has ended already.
        let _ = failed.send(Err(error));
    }
}

fn read(directories: &Mutex<Receiver<KeyDirectory>>, to_insert: &SyncSender<Loaded>) {
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
    lists: Receiver<Loaded>,
    uses: &Uses,
    desk: &Desk,
) -> Result<()> {
    let (mut walked, mut last) = (0, (String::new(), String::new(), 0));
    for list in lists {
        if desk.is_stopping() {
            return Err(Error::stopped());
        }
        let entries = match list {
            Ok(entries) => entries,
            // What cannot be read is not in the index; the rest is.
            Err(error) => {
                schema::set_meta(connection, PARTIAL, 1)?;
                desk.fail(error.into());
                continue;
            }
        };
        for Walked { summary, versions, size, .. } in entries {
            let (scheme, host, _) = split(summary.place.url());
            if (last.0.as_str(), last.1.as_str()) != (scheme, host) || last.2 == 0 {
                let number = apply::host_number(connection, scheme, host)?;
                last = (scheme.to_owned(), host.to_owned(), number);
            }
            let last_use = uses.of(&summary.place.key());
            let taken = Taken { versions, bytes: size };
            let found = Found { summary, taken, used: last_use };
            apply::insert_uncounted(connection, last.2, &found)?;
            walked += 1;
        }
        desk.tell(|progress| progress.walked = Some(walked));
    }
    Ok(())
}
