//! Segments of a page, for requests whose bytes they contain.

use std::sync::Arc;

use hyper::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderName, SET_COOKIE, VARY};
use hyper::{HeaderMap, StatusCode};
use tracing::warn;
use wwwoffle_spool::{Partial, Place};

use super::requested_ranges;
use crate::base::error_chain::error_chain;
use crate::base::mode::Mode;
use crate::proxy::ask::ProxyRequest;
use crate::proxy::context::ProxyContext;
use crate::storage::store::{StoredCopy, StoredSegments};
use wwwoffle_http::caching::range::{Ranges, Span, StoredRanges, if_range};
use wwwoffle_http::fields::list;
use wwwoffle_http::head;

/// The prefix, followed by a unique number, that replaces a missing validator. Segments without a
/// validator are never combined.
pub(super) const NO_VALIDATOR: &str = "none:";

/// Finds the segments that contain the requested bytes, if the whole `copy` is missing or
/// older. The segments are served like a stored page, with the head of the whole response.
pub(in crate::proxy) async fn find(
    context: &ProxyContext,
    ask: &ProxyRequest,
    copy: Option<&StoredCopy>,
) -> Option<StoredCopy> {
    let ranges = requested_ranges(ask).filter(|_| ask.places.takes_segments())?;
    let own = at(context, ask, &ranges, &ask.places.own).await;
    let is_newer =
        |part: &StoredCopy| copy.is_none_or(|copy| copy.entry.received() < part.entry.received());
    let has_own = own.is_some() || copy.is_some_and(|copy| copy.entry.place().owner().is_some());
    if ask.start.mode == Mode::Offline && has_own {
        // Offline a person's own copies come first, because the person has seen them.
        return own.filter(is_newer);
    }
    let public = at(context, ask, &ranges, &ask.places.public).await;
    let public = public
        .filter(|part| ask.places.accepts_public(&part.fields, ask.start.config.caching.shared));
    let newest = own.into_iter().chain(public).max_by_key(|part| part.entry.received());
    newest.filter(is_newer)
}

/// The segments at `place` that contain the requested bytes.
async fn at(
    context: &ProxyContext,
    ask: &ProxyRequest,
    ranges: &Ranges,
    place: &Place,
) -> Option<StoredCopy> {
    match context.storage.store.partial(place).await {
        Ok(partial) => parts(ask, ranges, partial?),
        Err(error) => {
            warn!(error = error_chain(&error), "the segments of a page cannot be read");
            None
        }
    }
}

fn parts(ask: &ProxyRequest, ranges: &Ranges, partial: Arc<Partial>) -> Option<StoredCopy> {
    let spans = partial.ranges().iter().filter_map(|range| Span::new(range.start, range.end));
    let satisfied = ranges.within(&StoredRanges::new(spans), partial.complete_length())?;
    let (entry, fields) = (partial.newest()?.clone(), fields(&partial)?);
    let request = head::read_request(partial.request(), b"").ok()?.headers;
    // A decoded body has no ranges.
    let delivery = ask.codings.deliver(StatusCode::OK, &fields);
    let is_meant = delivery.is_readable()
        && !delivery.is_decoded()
        && serves(&request, &fields, &ask.head.fields)
        && if_range::is_satisfied(&ask.head.fields, &fields)
        && !if_range::has_failed(&ask.head.fields, &fields);
    let part = Some(StoredSegments { partial, satisfied });
    is_meant.then_some(StoredCopy { entry, status: StatusCode::OK, fields, request, part })
}

/// The fields of the whole response: those of the newest segment, plus fields that only older
/// segments have (RFC 9110 §15.3.7). `None` if they cannot be read.
pub(super) fn fields(partial: &Partial) -> Option<HeaderMap> {
    let mut all = HeaderMap::new();
    for head in partial.heads() {
        overwrite(&mut all, &head::read_response(head).ok()?.1);
    }
    all.remove(CONTENT_LENGTH);
    all.remove(CONTENT_RANGE);
    Some(all)
}

/// Whether the validator of these segments came from the origin.
pub(super) fn is_validated(partial: &Partial) -> bool {
    !partial.validator().starts_with(NO_VALIDATOR.as_bytes())
}

fn overwrite(fields: &mut HeaderMap, newer: &HeaderMap) {
    let none = [CONTENT_LENGTH, CONTENT_RANGE, SET_COOKIE];
    for name in newer.keys().filter(|name| !none.contains(name)) {
        fields.remove(name);
        for value in newer.get_all(name) {
            fields.append(name.clone(), value.clone());
        }
    }
}

/// Whether `request` selects the same response as `stored`, as far as `Vary` shows. False if `Vary`
/// names a secret field.
fn serves(stored: &HeaderMap, fields: &HeaderMap, request: &HeaderMap) -> bool {
    list(fields, &VARY).all(|name| {
        HeaderName::from_bytes(name.as_bytes()).is_ok_and(|name| {
            let is_same = stored.get_all(&name).iter().eq(request.get_all(&name).iter());
            !head::is_secret(&name) && is_same
        })
    })
}
