//! Checks whether a stored page is complete: which of its sub-resources are stored, and the state
//! of the others.
//!
//! The page is parsed again for references, and so are its stored style sheets, scripts and frames,
//! with the choices that a fetch would make now. Nothing is requested or changed. The daemon and
//! the command line run the same check. It blocks, so async callers run it on a blocking thread.

mod document;
pub(super) mod rule;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout;
use tracing::warn;
use wwwoffle_config::Config;
use wwwoffle_spool::{Entry, Error, Place, Reader, RequestState, Spool};
use wwwoffle_url::{CanonicalUrl, Key, LocalHost};

use self::walk::PageWalk;
use crate::base::owner::Owner;
use crate::base::text::{Text, tr};
use crate::fetch::context::FetchContext;
use wwwoffle_api::PageParts;

/// The largest number of sub-resources of one page that are examined, including those left out.
const MAX_PARTS: usize = 5_000;

/// The largest number of documents that are read for one page, including the page.
const MAX_DOCUMENTS: usize = 300;

/// The largest number of decoded bytes that are read for one page, over all documents.
const MAX_READ: u64 = 64 << 20;

/// Time limit for examining one page.
const MAX_TIME: Duration = Duration::from_secs(5);

/// The largest number of sub-resources in the result.
const MAX_TOLD: usize = 1_000;

/// The number of pages examined at the same time.
pub(in crate::fetch) const AT_ONCE: usize = 2;

/// The longest time that a check waits for its turn.
const MAX_WAIT: Duration = Duration::from_secs(15);

/// A source of entries and queued requests. Its methods block.
pub(crate) trait EntrySource {
    /// The newest entry of a place; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    fn newest(&self, place: &Place) -> Result<Option<Entry>, Error>;

    /// The state of the queued request with this key, if any.
    fn queued(&self, key: &Key) -> Option<RequestState>;
}

impl EntrySource for Spool {
    fn newest(&self, place: &Place) -> Result<Option<Entry>, Error> {
        let entries = self.entries(place)?;
        for damage in entries.set_aside {
            warn!(%damage, "a damaged page was moved to damaged/ and will be fetched again");
        }
        Ok(entries.found.into_iter().next())
    }

    fn queued(&self, key: &Key) -> Option<RequestState> {
        self.queue().summary(key).map(|known| known.fetching.state)
    }
}

/// A spool that is opened for reading only, whether a daemon has it open or not.
#[derive(Debug)]
pub(crate) struct OfReader<'a> {
    reader: &'a Reader,
    queue: HashMap<Key, RequestState>,
}

impl<'a> OfReader<'a> {
    /// Reads the queued requests of the spool.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub(crate) fn new(reader: &'a Reader) -> Result<Self, Error> {
        let queue = reader.queue()?;
        let queue =
            queue.into_iter().map(|known| (known.place.key(), known.fetching.state)).collect();
        Ok(Self { reader, queue })
    }
}

impl EntrySource for OfReader<'_> {
    fn newest(&self, place: &Place) -> Result<Option<Entry>, Error> {
        Ok(self.reader.entries(place)?.found.into_iter().next())
    }

    fn queued(&self, key: &Key) -> Option<RequestState> {
        self.queue.get(key).cloned()
    }
}

/// A stored page, and the rules for its sub-resources.
#[derive(Debug)]
pub(crate) struct StoredPage<'a> {
    /// The URL of the page, with its credentials if it has any.
    pub(crate) url: &'a CanonicalUrl,
    /// The stored copy of the page.
    pub(crate) entry: &'a Entry,
    /// The owner whose entries are searched.
    pub(crate) owner: &'a Owner,
    /// The configuration.
    pub(crate) config: &'a Config,
    /// Our own names.
    pub(crate) local: &'a LocalHost,
}

/// The limits of the examination.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    parts: usize,
    documents: usize,
    bytes: u64,
    until: Instant,
}

impl Bounds {
    fn from_now() -> Self {
        Self {
            parts: MAX_PARTS,
            documents: MAX_DOCUMENTS,
            bytes: MAX_READ,
            until: Instant::now() + MAX_TIME,
        }
    }
}

/// Examines the sub-resources of a page. `None` for an entry that cannot have any, such as an
/// image.
///
/// # Errors
///
/// If the disk fails.
pub(crate) fn find_parts(
    source: &impl EntrySource,
    page: &StoredPage<'_>,
) -> Result<Option<PageParts<Text>>, Error> {
    look_within(source, page, Bounds::from_now())
}

fn look_within(
    source: &impl EntrySource,
    page: &StoredPage<'_>,
    bounds: Bounds,
) -> Result<Option<PageParts<Text>>, Error> {
    let Some(parts) = PageWalk::new(source, page, bounds).walk_all()? else { return Ok(None) };
    let mut page_parts = PageParts { cut: parts.cut, list: parts.list, ..PageParts::default() };
    for part in &page_parts.list {
        page_parts.counts.add(part.state);
    }
    page_parts.complete = page_parts.counts.missing() == 0 && page_parts.cut.is_none();
    // The sort is stable: within a state, sub-resources stay in the order in which they were found.
    page_parts.list.sort_by_key(|part| part.state);
    page_parts.list.truncate(MAX_TOLD);
    Ok(Some(page_parts))
}

/// Examines the sub-resources of a page for the daemon, which limits the number of such checks at
/// once. If too many are running, the result is empty and its `cut` says so. If the future is
/// dropped, a check that has started continues in the background.
///
/// # Errors
///
/// If the disk fails.
pub(crate) async fn look_at(
    context: &FetchContext,
    url: CanonicalUrl,
    entry: Entry,
    owner: Owner,
) -> Result<Option<PageParts<Text>>, Error> {
    let turns = Arc::clone(&context.fetcher.checks);
    let Ok(Ok(turn)) = timeout(MAX_WAIT, turns.acquire_owned()).await else {
        let cut = Some(tr("too many other pages are being checked now"));
        return Ok(Some(PageParts { cut, ..PageParts::default() }));
    };
    let (config, local) = (context.base.config(), context.base.local.clone());
    let look = move |spool: &Spool| {
        let _turn = turn;
        let (url, entry, owner, config, local) = (&url, &entry, &owner, &*config, &local);
        find_parts(spool, &StoredPage { url, entry, owner, config, local })
    };
    context.storage.store.run(look).await
}
