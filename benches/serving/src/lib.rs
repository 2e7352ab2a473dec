//! Spools with any number of entries, for measurements on large ones.
//!
//! Each page is derived from its number: its URL, its date and its text are the same in every run,
//! so a script can request page 4711 and knows its content.

mod page;
mod words;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use wwwoffle_spool::{Durability, Error, Options, Spool};

pub use page::{Page, Shape};

/// The number of pages that a thread takes at a time.
const TAKEN_AT_ONCE: u64 = 256;

/// Adds the pages with numbers below `count` to the spool at `root`, which no other process may
/// have open. Nothing is synced, so a crash leaves an unsound spool.
///
/// # Errors
///
/// If the spool cannot be opened, or the disk fails or is full.
pub fn fill(root: &Path, count: u64, shape: &Shape) -> Result<(), Error> {
    let options = Options { durability: Durability::None, ..Options::default() };
    let (spool, _) = Spool::open(root, &options)?;
    let next = AtomicU64::new(0);
    let work = || -> Result<(), Error> {
        loop {
            let from = next.fetch_add(TAKEN_AT_ONCE, Ordering::Relaxed);
            if from >= count {
                return Ok(());
            }
            for number in from..count.min(from + TAKEN_AT_ONCE) {
                keep(&spool, &shape.page(number))?;
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })
}

/// Stores one page as if it was browsed.
fn keep(spool: &Spool, page: &Page) -> Result<(), Error> {
    let mut writer = spool.begin(&page.place(), page.entry())?;
    writer.write(page.body.as_bytes())?;
    writer.finish(None).map(drop)
}
