//! Serves ranges of a stored copy.

use std::sync::Arc;

use hyper::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, DATE, HeaderValue, TRAILER, VIA,
};
use hyper::{HeaderMap, Response, StatusCode};
use tracing::warn;

use super::body::body;
use crate::proxy::amend::OriginResponseMark;
use crate::proxy::ask::ProxyRequest;
use crate::proxy::body::{self as bodies, Body};
use crate::proxy::context::ProxyContext;
use crate::proxy::reply;
use crate::storage::store::{StoredCopy, StoredSegments};
use wwwoffle_http::caching::range::{
    BodyPiece, ContentRange, Multipart, RangeSelection, Span, if_range,
};

/// Serves a request for ranges from a whole or partial copy. `fields` are the fields of the whole
/// response. Returns `None` if the whole body must be served: the request has no valid range, its
/// `If-Range` is not satisfied, the ranges select the whole body, the status of the copy is not
/// 200, or no multipart boundary can be created.
pub(in crate::proxy) fn ranges(
    context: &ProxyContext,
    ask: &ProxyRequest,
    copy: &Arc<StoredCopy>,
    fields: &HeaderMap,
) -> Option<Response<Body>> {
    if let Some(StoredSegments { partial, satisfied }) = &copy.part {
        let answer = answer(context, copy, fields, satisfied, partial.complete_length());
        // Without a boundary several ranges cannot be sent, and the whole body is not stored.
        return answer.or_else(|| Some(reply::plain(500, "the ranges cannot be separated")));
    }
    let ranges = super::requested_ranges(ask).filter(|_| copy.status == StatusCode::OK)?;
    if if_range::has_failed(&ask.head.fields, fields) {
        return Some(bodiless(StatusCode::PRECONDITION_FAILED, fields, None));
    }
    if !if_range::is_satisfied(&ask.head.fields, fields) {
        return None;
    }
    let length = copy.entry.body_len();
    answer(context, copy, fields, &ranges.satisfy(length), Some(length))
}

/// The response with the `satisfied` bytes of a body of `complete` bytes. `None` if that is the
/// whole body, or if no multipart boundary can be created.
fn answer(
    context: &ProxyContext,
    copy: &Arc<StoredCopy>,
    fields: &HeaderMap,
    satisfied: &RangeSelection,
    complete: Option<u64>,
) -> Option<Response<Body>> {
    let (stretches, range, multipart) = match satisfied {
        RangeSelection::Whole => return None,
        RangeSelection::Nothing => {
            let range = ContentRange::Unsatisfied { complete: complete? };
            return Some(bodiless(StatusCode::RANGE_NOT_SATISFIABLE, fields, Some(range)));
        }
        RangeSelection::One(span) => {
            let range = ContentRange::Part { span: *span, complete };
            (vec![BodyPiece::Content(*span)], Some(range), None)
        }
        RangeSelection::Several(spans) => {
            let multipart = multipart(spans, complete, fields)?;
            let content_type = HeaderValue::from_str(&multipart.content_type()).ok()?;
            (multipart.into_stretches(), None, Some(content_type))
        }
    };
    let mut fields = fields.clone();
    fields.remove(CONTENT_RANGE);
    // Trailers of the whole body are not sent after a range.
    fields.remove(TRAILER);
    let length = stretches.iter().map(BodyPiece::len).fold(0, u64::saturating_add);
    fields.insert(CONTENT_LENGTH, HeaderValue::from(length));
    accept(&mut fields);
    if let Some(range) = range {
        fields.insert(CONTENT_RANGE, value(range));
    }
    if let Some(content_type) = multipart {
        fields.insert(CONTENT_TYPE, content_type);
    }
    let mut response = Response::new(body(&context.storage.store, copy, stretches));
    *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    *response.headers_mut() = fields;
    response.extensions_mut().insert(OriginResponseMark);
    Some(response)
}

/// Declares that ranges are supported. Stored copies support ranges even if the origin does not.
pub(in crate::proxy) fn accept(fields: &mut HeaderMap) {
    fields.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
}

fn multipart(spans: &[Span], complete: Option<u64>, fields: &HeaderMap) -> Option<Multipart> {
    let mut random = [0; 16];
    if let Err(error) = getrandom::fill(&mut random) {
        // Several ranges cannot be sent without an unpredictable boundary.
        warn!(%error, "a multipart boundary cannot be created");
        return None;
    }
    let content_type = fields.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    Some(Multipart::new(spans, complete, content_type, random))
}

/// A response about the request itself, without content of the copy.
fn bodiless(status: StatusCode, fields: &HeaderMap, range: Option<ContentRange>) -> Response<Body> {
    let mut response = Response::new(bodies::empty());
    *response.status_mut() = status;
    let own = response.headers_mut();
    for name in [DATE, VIA] {
        for value in fields.get_all(&name) {
            own.append(name.clone(), value.clone());
        }
    }
    accept(own);
    if let Some(range) = range {
        own.insert(CONTENT_RANGE, value(range));
    }
    own.insert(CONTENT_LENGTH, HeaderValue::from(0_u64));
    response
}

fn value(range: ContentRange) -> HeaderValue {
    // The text is ASCII without control characters, so it is always a valid field value.
    HeaderValue::from_str(&range.to_string()).unwrap_or(HeaderValue::from_static("bytes */*"))
}
