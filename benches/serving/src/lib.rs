//! Spools with as many entries as one likes, for what is measured on large ones.
//!
//! Each page follows from its number alone: its URL, its date and its text are the same in every run,
//! so that a script can ask for page 4711 and knows what it will get.

mod page;
mod words;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use wwwoffle_spool::{Durability, Error, NewEntry, Options, Place, Spool};
use wwwoffle_url::{CanonicalUrl, LocalHost};

pub use page::{Page, Shape};

/// Pages that a thread takes at once.
const TAKEN_AT_ONCE: u64 = 256;

/// Adds the pages with the numbers below `count` to the spool at `root`, which nobody else may have
/// open. What a crash leaves is not sound: nothing is synced.
///
/// # Errors
///
/// When the spool cannot be opened, or the disk fails or is full.
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

/// Stores one page as if it had been browsed.
fn keep(spool: &Spool, page: &Page) -> Result<(), Error> {
    let url = CanonicalUrl::parse(&page.url, &LocalHost::default()).expect("the URL is canonical");
    let new = NewEntry {
        asked: page.when,
        when: page.when,
        head: page.head(),
        request: page.request(),
        connection: None,
    };
    let mut writer = spool.begin(&Place::of(&url), new)?;
    writer.write(page.body.as_bytes())?;
    writer.finish(None).map(drop)
}
