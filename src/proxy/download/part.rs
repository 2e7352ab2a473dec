//! The segment of an earlier attempt.

use std::sync::Arc;

use hyper::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderName, HeaderValue};
use hyper::{HeaderMap, StatusCode, Version};
use tracing::warn;
use wwwoffle_spool::{Error, Partial, Place};

use super::AnswerHead;
use super::resume::BodyValidator;
use crate::base::error_chain::error_chain;
use crate::base::owner::{Places, ResponseOwner};
use crate::proxy::body::{self, Body, RangeOf};
use crate::storage::store::Store;
use wwwoffle_http::head;

/// The start of a body, which is served and stored together with its rest.
#[derive(Debug)]
pub(super) struct SavedSegment {
    pub(super) place: Place,
    partial: Arc<Partial>,
    /// The fields of the whole response.
    fields: HeaderMap,
    pub(super) mark: BodyValidator,
    /// Usable bytes of the segment. Never the whole body, because the origin must confirm that the
    /// segment is still valid.
    pub(super) bytes: u64,
}

impl SavedSegment {
    /// Finds the segment whose missing bytes can be requested: this person's own, or, unless the
    /// request is `personal`, the shared one.
    pub(super) async fn find(store: &Store, places: &Arc<Places>, personal: bool) -> Option<Self> {
        if store.has_nothing([&places.own, &places.public]) {
            return None;
        }
        let both = Arc::clone(places);
        let found = store.run(move |spool| {
            let at = |place: &Place| -> Result<_, Error> {
                Ok(spool.partial(place)?.and_then(|found| Self::of(place, Arc::new(found))))
            };
            match at(&both.own)? {
                None if !personal => at(&both.public),
                own => Ok(own),
            }
        });
        found.await.unwrap_or_else(|error| {
            let url = places.public.url();
            warn!(url, error = error_chain(&error), "the segments of a page cannot be read");
            None
        })
    }

    fn of(place: &Place, partial: Arc<Partial>) -> Option<Self> {
        let length = partial.complete_length();
        // The newest head of a whole response is preferred, because a `206` in response to an
        // `If-Range` omits fields.
        let heads = || partial.heads().rev().filter_map(|head| head::read_response(head).ok());
        let (_, mut fields) =
            heads().find(|(status, _)| *status == StatusCode::OK).or_else(|| heads().next())?;
        fields.remove(CONTENT_RANGE);
        set_length(&mut fields, length);
        let mark = BodyValidator::of(StatusCode::OK, &fields)?;
        let most = length.map_or(u64::MAX, |length| length.saturating_sub(1));
        let bytes = partial.prefix().min(most);
        (bytes > 0 && mark.name() == partial.validator()).then(|| Self {
            place: place.clone(),
            partial,
            fields,
            mark,
            bytes,
        })
    }

    /// The head of the whole response, updated with the fields of the response that brought the
    /// missing bytes (RFC 9110 §15.3.7.3, RFC 9111 §3.2).
    pub(super) fn head(
        &self,
        newer: &HeaderMap,
        version: Version,
        length: Option<u64>,
    ) -> AnswerHead {
        let mut fields = self.fields.clone();
        let is_of_the_whole = |name: &&HeaderName| ![CONTENT_LENGTH, CONTENT_RANGE].contains(name);
        for name in newer.keys().filter(is_of_the_whole) {
            fields.remove(name);
            for value in newer.get_all(name) {
                fields.append(name.clone(), value.clone());
            }
        }
        set_length(&mut fields, length);
        // Treated as personal until the response proves to be shareable.
        let whose = ResponseOwner::Own;
        let (status, is_stored) = (StatusCode::OK, true);
        AnswerHead { status, version, fields, length, is_stored, resumed: true, whose }
    }

    /// The bytes of the segment, from its first byte. Only verified bytes are delivered. A damaged
    /// segment is moved to `damaged/`, and the body breaks off.
    pub(super) fn body(&self, store: &Store) -> Body {
        body::range(store, RangeOf::Partial(Arc::clone(&self.partial)), 0..self.bytes)
    }

    /// Removes the segment.
    pub(super) async fn remove(self, store: &Store) {
        if let Err(error) = store.remove_partial(&self.place).await {
            let url = self.place.url();
            warn!(url, error = error_chain(&error), "the segments of a page cannot be removed");
        }
    }
}

fn set_length(fields: &mut HeaderMap, length: Option<u64>) {
    match length {
        Some(length) => fields.insert(CONTENT_LENGTH, HeaderValue::from(length)),
        None => fields.remove(CONTENT_LENGTH),
    };
}
