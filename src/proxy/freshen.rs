//! Updates stored copies from later responses of the origin: a `304` (RFC 9111 §4.3.4), or the
//! response to a HEAD (§4.3.5).

use std::sync::Arc;
use std::time::SystemTime;

use hyper::header::{
    AGE, CACHE_CONTROL, DATE, ETAG, EXPIRES, HeaderName, LAST_MODIFIED, SET_COOKIE, VARY,
};
use hyper::{HeaderMap, StatusCode};
use tracing::{debug, warn};
use wwwoffle_spool::Update;

use super::ask::ProxyRequest;
use super::choose::{CopyLookup, Revalidation, stored};
use crate::base::error_chain::error_chain;
use crate::base::owner::remove_cookies;
use crate::net::upstream::{Answer, PersonalConnection};
use crate::storage::store::{Store, StoredCopy, timestamp};
use wwwoffle_http::caching::validate::{HeadComparison, compare_head, merge_fields};
use wwwoffle_http::caching::vary::{UNREPEATABLE, fits, variant_text};
use wwwoffle_http::head;

/// A stored copy that the origin has confirmed.
#[derive(Clone, Debug)]
pub struct ConfirmedCopy {
    /// The copy.
    pub copy: Arc<StoredCopy>,
    /// The updated fields of the copy. They set a cookie only if the newer head sets it: the stored
    /// cookie may belong to another client, or be older than the cookie of this client.
    pub fields: HeaderMap,
}

/// The times of a request to the origin and of its response.
#[derive(Clone, Copy, Debug)]
pub struct RequestTimes {
    /// The time when the request was sent.
    pub sent: SystemTime,
    /// The time when the head of the response arrived.
    pub received: SystemTime,
}

/// Finds the copies to which a `304` with the fields `newer` applies, and updates them. Returns
/// `None` if the `304` applies to no stored copy. `login` says that the request or its connection
/// has a login. If so, no shared copy is updated, because the origin has answered one person.
pub async fn apply_not_modified(
    store: &Store,
    about: &Revalidation,
    newer: &HeaderMap,
    asked: RequestTimes,
    login: bool,
) -> Option<ConfirmedCopy> {
    let candidates = stored(&about.copies);
    let holding = about.question.match_not_modified(&candidates, &about.request, newer)?;
    let updated = holding.update.iter().filter_map(|index| about.copies.get(*index));
    for copy in updated.filter(|copy| is_updated(copy, login)) {
        record_confirmation(store, copy, &shared_fields(copy, newer, about.personal), asked).await;
    }
    let copy = Arc::clone(about.copies.get(holding.serve)?);
    let mut fields = merge_fields(&copy.fields, newer);
    if !newer.contains_key(SET_COOKIE) {
        fields.remove(SET_COOKIE);
    }
    Some(ConfirmedCopy { copy, fields })
}

/// Compares the stored copies with the response to a HEAD, and records the result. If the HEAD or
/// its connection has a login, shared copies stay unchanged.
pub(super) async fn update_from_head(
    store: &Store,
    ask: &ProxyRequest,
    found: &CopyLookup,
    answer: &Answer,
    asked: RequestTimes,
) {
    let login = ask.has_credentials() || answer.extensions().get::<PersonalConnection>().is_some();
    let (status, answer) = (answer.status(), answer.headers());
    let could_be_chosen = |copy: &&Arc<StoredCopy>| {
        copy.status == StatusCode::OK && fits(&copy.stored(), found.request())
    };
    let all = found.all().iter().filter(|copy| is_updated(copy, login));
    for copy in all.filter(could_be_chosen) {
        match compare_head(&copy.fields, copy.entry.body_len(), status, answer) {
            HeadComparison::Nothing => {}
            // A changed body may have the same length and date, and only a GET can detect the
            // change. So an invalid copy stays invalid if the response has no entity tag.
            HeadComparison::Unchanged
                if copy.entry.invalid_since().is_some() && !answer.contains_key(ETAG) => {}
            HeadComparison::Unchanged => {
                let newer = shared_fields(copy, answer, ask.is_personal());
                record_confirmation(store, copy, &newer, asked).await;
            }
            HeadComparison::Changed => {
                debug!(url = copy.entry.url(), "a HEAD shows that the stored copy has changed");
                invalidate(store, Arc::clone(copy), asked.received).await;
            }
        }
    }
}

/// Whether a response may update this copy. `login` says that the request or its connection has a
/// login.
fn is_updated(copy: &StoredCopy, login: bool) -> bool {
    !login || copy.entry.place().owner().is_some()
}

/// Fields about the lifetime of a response, which disclose nothing about the client.
const OF_CACHES: [HeaderName; 6] = [AGE, CACHE_CONTROL, DATE, EXPIRES, LAST_MODIFIED, VARY];

/// The fields of a newer head that update a stored copy. A shared copy gets no cookie that was set
/// for one client. From a response to a personal request it gets no field that could be personal.
fn shared_fields(copy: &StoredCopy, newer: &HeaderMap, personal: bool) -> HeaderMap {
    let is_everyones = copy.entry.place().owner().is_none();
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

/// The text that identifies the variant of `answer`, the response to `request`.
#[must_use]
pub fn variant(answer: &HeaderMap, request: &HeaderMap) -> String {
    variant_text(answer, request).unwrap_or_else(|| UNREPEATABLE.to_owned())
}

/// Records that the origin has confirmed `copy`. A failure is only logged; then the next request
/// revalidates again.
async fn record_confirmation(
    store: &Store,
    copy: &Arc<StoredCopy>,
    newer: &HeaderMap,
    asked: RequestTimes,
) {
    let update = Update::Confirmed {
        head: head::write_response(copy.status, &merge_fields(&copy.fields, newer)),
        asked: timestamp(asked.sent),
        responded: timestamp(asked.received),
    };
    if let Err(error) = store.update(Arc::clone(copy), update).await {
        warn!(
            url = copy.entry.url(),
            error = error_chain(&error),
            "a stored page cannot be updated"
        );
    }
}

/// Records that `copy` may have changed. A failure is only logged.
pub(super) async fn invalidate(store: &Store, copy: Arc<StoredCopy>, since: SystemTime) {
    let update = Update::Invalid { since: timestamp(since) };
    let url = copy.entry.url().to_owned();
    if let Err(error) = store.update(copy, update).await {
        warn!(url, error = error_chain(&error), "a stored page cannot be updated");
    }
}
