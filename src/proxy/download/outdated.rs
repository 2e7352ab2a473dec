//! Downloads that were requested before an unsafe request invalidated their responses (RFC 9111
//! §4.4). They are treated like stored copies that became invalid, and no later client joins them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use bytes::Bytes;
use hyper::HeaderMap;
use jiff::Timestamp;
use tracing::{debug, warn};
use wwwoffle_spool::{Error, Place};
use wwwoffle_url::Key;

use super::file::ResponseFile;
use super::{Download, Downloads};
use crate::base::error_chain::error_chain;
use crate::base::owner::Places;
use crate::proxy::freshen::invalidate;
use crate::storage::store::{Store, StoredCopy, timestamp};
use wwwoffle_http::caching::vary::fits;

impl Downloads {
    /// Invalidates the running downloads for `places`: no further client joins them, and their
    /// copies are marked as invalid when they are stored. `but` is excluded: it is the download
    /// whose response causes the invalidation.
    pub(in crate::proxy) fn invalidate(
        &self,
        places: &[Place],
        since: SystemTime,
        but: Option<&Arc<Download>>,
    ) {
        let keys: Vec<Key> = places.iter().map(Place::key).collect();
        for download in self.lock().all.values() {
            let is_meant = keys.contains(&download.request.key.place)
                || keys.contains(&download.request.own.key());
            if is_meant && !but.is_some_and(|but| Arc::ptr_eq(but, download)) {
                debug!(url = download.url(), "a download is no longer valid");
                // If a download is invalidated several times, the first time counts.
                download.outdated.get_or_init(|| since);
            }
        }
    }
}

/// Stores a response that was received at `received`, with the `last` bytes of its body. If the
/// response became invalid during its download, it is marked as invalid. A newer stored copy is not
/// replaced by an invalid response or by the response of a replaced download.
///
/// # Errors
///
/// If the response cannot be stored.
pub(super) async fn store_response(
    store: &Store,
    download: &Download,
    (places, received): (&Places, Timestamp),
    (file, last): (ResponseFile, Vec<Bytes>),
    trailers: Option<Vec<u8>>,
) -> Result<(), Error> {
    let outdated = &download.outdated;
    let Some(place) = file.place() else { return Ok(()) };
    let is_replaced = download.is_replaced.load(Ordering::Relaxed);
    let began = is_replaced.then_some(&download.request.started);
    if let Some(since) = outdated.get().or(began)
        && is_overtaken(store, place, timestamp(*since)).await
    {
        return Ok(());
    }
    file.finish(store, last, trailers).await?;
    // Checked only after the copy is stored. An unsafe request sets `outdated` before it marks the
    // stored copies. So this copy is marked in any case, either by that request or here.
    let Some(since) = outdated.get() else { return Ok(()) };
    for place in [&places.public, &places.own] {
        for copy in entries(store, place).await {
            // The spool stores microseconds.
            let is_this = copy.entry.received().as_microsecond() == received.as_microsecond();
            if is_this || copy.entry.requested() <= timestamp(*since) {
                invalidate(store, Arc::new(copy), *since).await;
            }
        }
    }
    Ok(())
}

/// Removes the owner's own copies that match this request (`Vary`) and are older than the shared
/// response to it. The person has received the shared response since then, and would otherwise
/// always see the older copy offline.
pub(super) async fn supersede(
    store: &Store,
    places: &Places,
    (received, request): (Timestamp, &HeaderMap),
) {
    let is_older = |copy: &StoredCopy| {
        let stored = copy.stored();
        copy.entry.received() < received
            && places.spelling.is_of(stored.variant)
            && places.is_of_login(copy.entry.place())
            && fits(&stored, request)
    };
    if let Err(error) = store.remove_if(&places.own, is_older).await {
        warn!(error = error_chain(&error), "an older personal copy cannot be removed");
    }
}

/// Whether the copy at `place` was requested after `since`.
async fn is_overtaken(store: &Store, place: &Place, since: Timestamp) -> bool {
    let is_newer =
        |copy: &StoredCopy| copy.entry.place() == place && copy.entry.requested() > since;
    entries(store, place).await.iter().any(is_newer)
}

async fn entries(store: &Store, place: &Place) -> Vec<StoredCopy> {
    store.entries(place).await.unwrap_or_else(|error| {
        warn!(error = error_chain(&error), "the stored copies cannot be looked up");
        Vec::new()
    })
}
