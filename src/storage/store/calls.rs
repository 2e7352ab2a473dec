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
        blocking(move || store.free_files()).await;
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use jiff::Timestamp;
    use wwwoffle_spool::{NewEntry, Options, Spool, Writer};
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    use super::*;

    /// A store with a lookup of two places, which have nothing.
    async fn looked_up() -> (tempfile::TempDir, Store, [Place; 2]) {
        let root = tempfile::tempdir().unwrap();
        let store = Store::new(Spool::open(root.path(), &Options::default()).unwrap().0);
        let url = CanonicalUrl::parse("http://h.example/", &LocalHost::default()).unwrap();
        let places = [Place::of(&url).owned_by("user ada"), Place::of(&url)];
        let [own, public] = &places;
        assert!(!store.has_nothing([own, public]), "it is unknown");
        store.lookups([own, public]).await.unwrap();
        assert!(store.has_nothing([own, public]));
        (root, store, places)
    }

    async fn begin(store: &Store, place: &Place) -> Writer {
        let when = Timestamp::UNIX_EPOCH;
        let (head, request) = (b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), b"GET / HTTP/1.1\r\n\r\n");
        let request = request.to_vec();
        let new = NewEntry { asked: when, when, head, request, connection: None };
        store.begin(place, new, Some(b"\"v\"".to_vec()), None).await.unwrap().0
    }

    #[tokio::test]
    async fn a_segment_is_known_at_once() {
        for number in 0..2 {
            let (_root, store, places) = looked_up().await;
            let [own, public] = &places;
            let writer = begin(&store, &places[number]).await;
            let part = vec![Bytes::from_static(b"part")];
            let (writer, _) = store.write(writer, Writer::write, part).await.unwrap();
            assert!(store.has_nothing([own, public]));
            assert!(store.finish_short(writer).await.unwrap());
            assert!(!store.has_nothing([own, public]));
            store.lookups([own, public]).await.unwrap();
            assert!(!store.has_nothing([own, public]));
        }
    }

    #[tokio::test]
    async fn a_copy_that_came_after_the_lookup_is_removed() {
        let (_root, store, [own, public]) = looked_up().await;
        store.remove_if(&own, |_| panic!("there is none")).await.unwrap();
        let last = vec![Bytes::from_static(b"bo"), Bytes::from_static(b"dy")];
        let writer = begin(&store, &own).await;
        store.finish(writer, last, None).await.unwrap();
        assert!(!store.has_nothing([&own, &public]));
        assert_eq!(store.stored_copy(&own).await.unwrap().unwrap().entry.body_len(), 4);
        store.remove_if(&own, |_| true).await.unwrap();
        assert!(store.stored_copy(&own).await.unwrap().is_none());
    }
}
