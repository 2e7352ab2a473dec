//! Writing down what an origin says of what is kept: by a `304` (RFC 9111 §4.3.4), or in the answer
//! to a HEAD (§4.3.5).

use std::sync::Arc;
use std::time::SystemTime;

use hyper::header::{
    AGE, CACHE_CONTROL, DATE, ETAG, EXPIRES, HeaderName, LAST_MODIFIED, SET_COOKIE, VARY,
};
use hyper::{HeaderMap, StatusCode};
use tracing::{debug, warn};
use wwwoffle_spool::Update;

use super::choose::{About, Found, stored};
use crate::base::error_chain::error_chain;
use crate::base::owner::remove_cookies;
use crate::storage::store::{Kept, Store, timestamp};
use wwwoffle_http::caching::validate::{HeadComparison, compare_head, merge_fields};
use wwwoffle_http::caching::vary::{UNREPEATABLE, fits, variant_text};
use wwwoffle_http::head;

/// A kept answer of which the origin says that it holds.
#[derive(Clone, Debug)]
pub struct Confirmed {
    /// The answer.
    pub kept: Arc<Kept>,
    /// Its fields now. It sets a cookie only where the newer head does: the client may have a newer
    /// one than that of before, or be somebody else.
    pub fields: HeaderMap,
}

/// When the origin was asked, and when its answer came.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// When the request was sent.
    pub sent: SystemTime,
    /// When the head of the answer came.
    pub received: SystemTime,
}

/// Finds the answers that a `304` with the fields `newer` is about, and writes it down. `None` when
/// it is about none of ours.
pub async fn confirmed(
    store: &Store,
    about: &About,
    newer: &HeaderMap,
    asked: Asked,
) -> Option<Confirmed> {
    let candidates = stored(&about.kept);
    let holding = about.question.match_not_modified(&candidates, &about.request, newer)?;
    for kept in holding.update.iter().filter_map(|index| about.kept.get(*index)) {
        write_down(store, kept, &for_all(kept, newer, about.personal), asked).await;
    }
    let kept = Arc::clone(about.kept.get(holding.serve)?);
    let mut fields = merge_fields(&kept.fields, newer);
    if !newer.contains_key(SET_COOKIE) {
        fields.remove(SET_COOKIE);
    }
    Some(Confirmed { kept, fields })
}

/// Compares what is kept with the answer to a HEAD, and writes down what that says. `personal` says
/// that the HEAD carries a cookie or credentials.
pub async fn headed(
    store: &Store,
    found: &Found,
    personal: bool,
    (status, answer): (StatusCode, &HeaderMap),
    asked: Asked,
) {
    let could_be_chosen =
        |kept: &&Arc<Kept>| kept.status == StatusCode::OK && fits(&kept.stored(), found.request());
    for kept in found.all().iter().filter(could_be_chosen) {
        match compare_head(&kept.fields, kept.entry.body_len(), status, answer) {
            HeadComparison::Nothing => {}
            // A change may leave length and date as they were; then only asking for the page tells.
            HeadComparison::Unchanged
                if kept.entry.invalid_since().is_some() && !answer.contains_key(ETAG) => {}
            HeadComparison::Unchanged => {
                write_down(store, kept, &for_all(kept, answer, personal), asked).await;
            }
            HeadComparison::Changed => {
                debug!(url = kept.entry.url(), "a HEAD says that what is kept has changed");
                invalidate(store, Arc::clone(kept), asked.received).await;
            }
        }
    }
}

/// Fields that say how long an answer may be used, and nothing about who asked.
const OF_CACHES: [HeaderName; 6] = [AGE, CACHE_CONTROL, DATE, EXPIRES, LAST_MODIFIED, VARY];

/// What of a newer head goes into a kept answer. Everyone's gets no cookie that was set for one client,
/// and from an answer to a person's own request nothing that could be about the person.
fn for_all(kept: &Kept, newer: &HeaderMap, personal: bool) -> HeaderMap {
    let is_everyones = kept.entry.place().owner().is_none();
    let mut fields = newer.clone();
    if is_everyones && personal {
        fields = HeaderMap::new();
        for (name, value) in newer.iter().filter(|(name, _)| OF_CACHES.contains(name)) {
            fields.append(name.clone(), value.clone());
        }
    } else if is_everyones {
        remove_cookies(&mut fields);
    }
    fields
}

/// The variant text that an answer to `request` is kept under.
#[must_use]
pub fn variant(answer: &HeaderMap, request: &HeaderMap) -> String {
    variant_text(answer, request).unwrap_or_else(|| UNREPEATABLE.to_owned())
}

/// Writes down that the origin has confirmed `kept`. What fails is told, and no more: then the origin
/// is asked again.
async fn write_down(store: &Store, kept: &Arc<Kept>, newer: &HeaderMap, asked: Asked) {
    let update = Update::Confirmed {
        head: head::write_response(kept.status, &merge_fields(&kept.fields, newer)),
        asked: timestamp(asked.sent),
        responded: timestamp(asked.received),
    };
    if let Err(error) = store.update(Arc::clone(kept), update).await {
        warn!(url = kept.entry.url(), error = error_chain(&error), "a kept page cannot be updated");
    }
}

/// Writes down that `kept` may have changed. What fails is told, and no more.
pub(super) async fn invalidate(store: &Store, kept: Arc<Kept>, since: SystemTime) {
    let update = Update::Invalid { since: timestamp(since) };
    let url = kept.entry.url().to_owned();
    if let Err(error) = store.update(kept, update).await {
        warn!(url, error = error_chain(&error), "a kept page cannot be updated");
    }
}
