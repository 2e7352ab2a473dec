//! Whether a kept page is complete: which of its parts are kept, and what became of the others.
//!
//! The page is read again for what it refers to, and so are its style sheets, scripts and frames as far as
//! they are kept, with the choices that a fetch of it would make now. Nothing is asked of anybody and
//! nothing is changed. It is plain code that blocks, for the daemon and the command line alike: whoever
//! has a runtime calls it off its threads.

mod document;
mod rule;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::warn;
use wwwoffle_config::Config;
use wwwoffle_spool::{Entry, Error, Place, Reader, RequestState, Spool};
use wwwoffle_url::{CanonicalUrl, Key, LocalHost};

use self::walk::Walk;
use crate::api::Parts;
use crate::base::owner::Owner;
use crate::base::text::say;
use crate::fetch::context::FetchContext;

/// Parts of one page that are looked at, those left out among them.
const MAX_PARTS: usize = 5_000;

/// Documents that are read for one page, itself among them.
const MAX_DOCUMENTS: usize = 300;

/// Bytes of all these documents together, their codings undone.
const MAX_READ: u64 = 64 << 20;

/// How long one page is looked at.
const MAX_TIME: Duration = Duration::from_secs(5);

/// How many parts are told one by one.
const MAX_TOLD: usize = 1_000;

/// How many pages are looked at at one time.
const AT_ONCE: usize = 2;

/// How long the others wait for that.
const MAX_WAIT: Duration = Duration::from_secs(15);

/// Where it is looked up what is kept and what waits. Calls block.
pub(crate) trait Source {
    /// The newest of what is kept at a place.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    fn newest(&self, place: &Place) -> Result<Option<Entry>, Error>;

    /// How the request of this key stands on the outgoing queue, if it is there.
    fn queued(&self, key: &Key) -> Option<RequestState>;
}

impl Source for Spool {
    fn newest(&self, place: &Place) -> Result<Option<Entry>, Error> {
        let entries = self.entries(place)?;
        for damage in entries.set_aside {
            warn!(%damage, "a kept page was set aside and will be fetched again");
        }
        Ok(entries.found.into_iter().next())
    }

    fn queued(&self, key: &Key) -> Option<RequestState> {
        self.queue().summary(key).map(|known| known.state)
    }
}

/// A spool that is only read, beside its daemon or without one.
#[derive(Debug)]
pub(crate) struct OfReader<'a> {
    reader: &'a Reader,
    queue: HashMap<Key, RequestState>,
}

impl<'a> OfReader<'a> {
    /// Reads what waits.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub(crate) fn new(reader: &'a Reader) -> Result<Self, Error> {
        let queue = reader.queue()?;
        let queue = queue.into_iter().map(|known| (known.place.key(), known.state)).collect();
        Ok(Self { reader, queue })
    }
}

impl Source for OfReader<'_> {
    fn newest(&self, place: &Place) -> Result<Option<Entry>, Error> {
        Ok(self.reader.entries(place)?.found.into_iter().next())
    }

    fn queued(&self, key: &Key) -> Option<RequestState> {
        self.queue.get(key).cloned()
    }
}

/// A kept page, and by what its parts are judged.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    /// Its URL, with its credentials if it has any.
    pub(crate) url: &'a CanonicalUrl,
    /// What is kept of it.
    pub(crate) entry: &'a Entry,
    /// Whose parts are looked for.
    pub(crate) owner: &'a Owner,
    /// By which rules.
    pub(crate) config: &'a Config,
    /// Our own names.
    pub(crate) local: &'a LocalHost,
}

/// How much is looked at.
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

/// Looks at the parts of a page; `None` for what is none and has none, such as an image.
///
/// # Errors
///
/// When the disk fails.
pub(crate) fn look(source: &impl Source, page: &Page<'_>) -> Result<Option<Parts>, Error> {
    look_within(source, page, Bounds::from_now())
}

fn look_within(
    source: &impl Source,
    page: &Page<'_>,
    bounds: Bounds,
) -> Result<Option<Parts>, Error> {
    let Some(parts) = Walk::new(source, page, bounds).over()? else { return Ok(None) };
    let mut told = Parts { cut: parts.cut, list: parts.list, ..Parts::default() };
    for part in &told.list {
        told.counts.add(part.state);
    }
    told.complete = told.counts.missing() == 0 && told.cut.is_none();
    // The order of the page is kept among those of one state.
    told.list.sort_by_key(|part| part.state);
    told.list.truncate(MAX_TOLD);
    Ok(Some(told))
}

/// The pages that are looked at now.
#[derive(Debug)]
pub(crate) struct Turns(Arc<Semaphore>);

impl Default for Turns {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

/// Looks at the parts of a page that a daemon has kept. Dropping it lets what was begun come to its end
/// unheard.
///
/// # Errors
///
/// When the disk fails.
pub(crate) async fn look_at(
    context: &FetchContext,
    url: CanonicalUrl,
    entry: Entry,
    owner: Owner,
) -> Result<Option<Parts>, Error> {
    let turns = Arc::clone(&context.fetcher.complete.0);
    let Ok(Ok(turn)) = timeout(MAX_WAIT, turns.acquire_owned()).await else {
        let cut = Some(say("too many other pages are looked at now"));
        return Ok(Some(Parts { cut, ..Parts::default() }));
    };
    let (config, local) = (context.base.config(), context.base.local.clone());
    let look = move |spool: &Spool| {
        let _turn = turn;
        let (url, entry, owner, config, local) = (&url, &entry, &owner, &*config, &local);
        look(spool, &Page { url, entry, owner, config, local })
    };
    context.storage.store.run(look).await
}
