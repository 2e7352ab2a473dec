//! What came of an earlier attempt, and is kept aside.

use std::sync::Arc;

use hyper::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderName, HeaderValue};
use hyper::{HeaderMap, StatusCode, Version};
use tracing::warn;
use wwwoffle_spool::{Partial, Place};

use super::AnswerHead;
use super::resume::Mark;
use crate::base::error_chain::error_chain;
use crate::base::owner::{Places, Whose};
use crate::proxy::body::{self, Body, RangeOf};
use crate::storage::store::Store;
use wwwoffle_http::head;

/// The beginning of a body, which is served and kept again when its rest joins it.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) place: Place,
    partial: Arc<Partial>,
    /// As the whole answer has them.
    fields: HeaderMap,
    pub(super) mark: Mark,
    /// How much of the beginning is of use, in bytes: never all, for it takes an answer of the origin
    /// to know that it still holds.
    pub(super) bytes: u64,
}

impl Part {
    /// What is kept aside for this person, or for everyone where the request is not `personal`, if its
    /// rest can be asked for.
    pub(super) async fn look(store: &Store, places: &Places, personal: bool) -> Option<Self> {
        match Self::at(store, &places.own).await {
            None if !personal => Self::at(store, &places.public).await,
            found => found,
        }
    }

    async fn at(store: &Store, place: &Place) -> Option<Self> {
        match store.partial(place).await {
            Ok(found) => Self::of(place, found?),
            Err(error) => {
                warn!(
                    url = place.url(),
                    error = error_chain(&error),
                    "what is kept in part cannot be read"
                );
                None
            }
        }
    }

    fn of(place: &Place, partial: Arc<Partial>) -> Option<Self> {
        let length = partial.complete_length();
        // The newest whole head is best; a `206` that answers an `If-Range` leaves fields out.
        let heads = || partial.heads().rev().filter_map(|head| head::read_response(head).ok());
        let (_, mut fields) =
            heads().find(|(status, _)| *status == StatusCode::OK).or_else(|| heads().next())?;
        fields.remove(CONTENT_RANGE);
        set_length(&mut fields, length);
        let mark = Mark::of(StatusCode::OK, &fields)?;
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

    /// The head of the whole answer, as the fields that came with its rest have it now (RFC 9110
    /// §15.3.7.3, RFC 9111 §3.2).
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
        // Until it is known to be everyone's.
        let whose = Whose::Own;
        AnswerHead { status: StatusCode::OK, version, fields, length, resumed: true, whose }
    }

    /// What is kept from the first byte on. Nothing comes out that was not verified; what is damaged is
    /// set aside, and breaks it off.
    pub(super) fn body(&self, store: &Store) -> Body {
        body::range(store, RangeOf::Partial(Arc::clone(&self.partial)), 0..self.bytes)
    }

    /// Forgets it.
    pub(super) async fn remove(self, store: &Store) {
        if let Err(error) = store.remove_partial(&self.place).await {
            let url = self.place.url();
            warn!(url, error = error_chain(&error), "what is kept in part cannot be removed");
        }
    }
}

fn set_length(fields: &mut HeaderMap, length: Option<u64>) {
    match length {
        Some(length) => fields.insert(CONTENT_LENGTH, HeaderValue::from(length)),
        None => fields.remove(CONTENT_LENGTH),
    };
}
