//! Lookups of stored copies, from memory if possible.

use std::sync::Arc;

use tracing::warn;
use wwwoffle_spool::{Error, Place};

use super::hot::CachedLookup;
use super::{Store, StoredCopy, blocking};
use crate::base::error_chain::error_chain;

impl Store {
    /// All entries under the keys of these places: from memory, or with one call to the disk for
    /// both places.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn lookups(&self, places: [&Place; 2]) -> Result<[Arc<CachedLookup>; 2], Error> {
        let now = self.since.elapsed();
        if let [Some(one), Some(other)] = places.map(|place| self.hot.get(place.key(), now)) {
            return Ok([one, other]);
        }
        let (store, [one, other]) = (self.clone(), places.map(Place::clone));
        blocking(move || store.with_files(|| Ok([store.find(&one)?, store.find(&other)?]))).await
    }

    /// Whether a recent lookup has shown that neither place has an entry or a segment.
    #[must_use]
    pub fn has_nothing(&self, places: [&Place; 2]) -> bool {
        let known = places.map(|place| self.hot.get(place.key(), self.since.elapsed()));
        known.iter().all(|known| known.as_ref().is_some_and(|known| known.is_nothing()))
    }

    /// Calls `call`. If there are too many open files, closes some and calls it once more. Blocks.
    pub(super) fn with_files<T>(&self, call: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
        match call() {
            Err(error) if error.is_out_of_files() => {
                self.free_files();
                call()
            }
            done => done,
        }
    }

    /// Closes the files that are held open for further requests, and the files of pages that still
    /// wait to be flushed to the disk.
    pub async fn close_files(&self) {
        let store = self.clone();
        let free = move || {
            store.free_files();
            Ok(())
        };
        let _never_fails = blocking(free).await;
    }

    fn free_files(&self) {
        self.hot.clear();
        if let Err(error) = self.spool.flush() {
            warn!(error = error_chain(&error), "pages cannot be flushed to close their files");
        }
    }

    /// All entries under the key of `place`. Blocks.
    fn find(&self, place: &Place) -> Result<Arc<CachedLookup>, Error> {
        let (key, now) = (place.key(), self.since.elapsed());
        let before = self.hot.begin_lookup(key, now);
        if let Some(known) = self.hot.find(key) {
            let is_same = known.counts(now)
                || (known.seen().is_some_and(|seen| self.spool.is_current(seen))
                    && self.hot.confirm_lookup(key, &known, before));
            if is_same {
                return Ok(known);
            }
        }
        let (entries, seen) = self.spool.entries_seen(place)?;
        for damage in entries.set_aside {
            warn!(%damage, "a damaged page was moved to damaged/ and will be fetched again");
        }
        let all = entries.found.into_iter().filter_map(StoredCopy::read).map(Arc::new).collect();
        Ok(self.hot.found(key, all, seen, before))
    }

    /// Whether another lookup would have the same result, as far as can be checked without
    /// blocking.
    #[must_use]
    pub fn is_current(&self, known: &CachedLookup) -> bool {
        known.counts(self.since.elapsed())
    }

    /// Sets the size of the hot set in memory, in bytes.
    pub fn set_hot_capacity(&self, bytes: usize) {
        self.hot.resize(bytes);
    }

    /// The size of the hot set in bytes.
    #[must_use]
    pub fn hot_capacity(&self) -> usize {
        self.hot.capacity()
    }
}
