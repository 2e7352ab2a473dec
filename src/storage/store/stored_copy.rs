//! A stored copy, as the proxy uses it.

use std::sync::Arc;

use hyper::{HeaderMap, StatusCode};
use jiff::Timestamp;
use tracing::warn;
use wwwoffle_spool::{Entry, Partial};
use wwwoffle_url::Key;

use wwwoffle_http::caching::range::RangeSelection;
use wwwoffle_http::caching::vary::StoredVariant;
use wwwoffle_http::head;

/// A stored copy with its parsed head.
#[derive(Clone, Debug)]
pub struct StoredCopy {
    /// The entry itself.
    pub entry: Entry,
    /// The status of the response.
    pub status: StatusCode,
    /// The fields of the response, without the hop-by-hop fields.
    pub fields: HeaderMap,
    /// The fields of the recorded request, without secret fields.
    pub request: HeaderMap,
    /// The segments with the requested bytes, if the entry is incomplete. Then `entry` is the
    /// newest segment.
    pub part: Option<StoredSegments>,
}

/// The segments of a page that contain the bytes of one request.
#[derive(Clone, Debug)]
pub struct StoredSegments {
    pub(crate) partial: Arc<Partial>,
    /// The requested ranges.
    pub(crate) satisfied: RangeSelection,
}

/// The identity of an entry: its key and the time at which it was stored, which is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryIdentity(Key, Timestamp);

impl StoredCopy {
    /// Parses the head of an entry. An unreadable head is logged, and the entry counts as missing.
    pub(crate) fn read(entry: Entry) -> Option<Self> {
        let Ok((status, fields)) = head::read_response(entry.head()) else {
            warn!(url = entry.url(), "a stored page has an invalid head");
            return None;
        };
        // A missing or invalid request counts as one without fields.
        let request = head::read_request(entry.request(), b"").map(|request| request.headers);
        let request = request.unwrap_or_default();
        Some(Self { entry, status, fields, request, part: None })
    }

    /// The copy as a candidate for the choice among variants.
    #[must_use]
    pub fn stored(&self) -> StoredVariant<'_> {
        StoredVariant {
            fields: &self.fields,
            variant: self.entry.place().variant_text(),
            request: &self.request,
            received: self.entry.responded().into(),
        }
    }

    /// Returns the identity of the entry.
    #[must_use]
    pub fn identity(&self) -> EntryIdentity {
        EntryIdentity(self.entry.place().key(), self.entry.stored())
    }
}
