//! Serves stored copies.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{CONTENT_LENGTH, HeaderValue};
use hyper::{HeaderMap, Method, Response, StatusCode, Version};
use wwwoffle_spool::Body as StoredBody;

use super::amend::OriginResponseMark;
use super::ask::ProxyRequest;
use super::body::{self, Body, WholeBody};
use super::status::{CacheStatus, HitReason};
use super::verdict::exchange;
use super::{captures, ranges, recode, reply};
use crate::base::mode::Mode;
use crate::base::{clock, owner};
use crate::proxy::context::ProxyContext;
use crate::storage::feed::ArrivingResponse;
use crate::storage::store::{StoredCopy, timestamp};
use wwwoffle_http::caching::conditional::{self, Conditions};
use wwwoffle_http::caching::control::ResponseControl;
use wwwoffle_http::caching::freshness::set_age;
use wwwoffle_http::caching::reuse::{Reuse, withheld_fields};
use wwwoffle_http::fields::add_via;
use wwwoffle_http::head;

/// Serves the stored copy, or a `304` if the client's own conditions allow that.
pub(super) fn serve(
    context: &ProxyContext,
    ask: &ProxyRequest,
    copy: &Arc<StoredCopy>,
    status: CacheStatus,
) -> Response<Body> {
    let conditions = Conditions::of(&ask.head.fields);
    let fields = if replays_cookies(ask, copy) {
        sendable_fields(ask, copy)
    } else {
        unconfirmed_fields(ask, copy)
    };
    reply::with_status(build_response(context, ask, copy, fields, &conditions), status)
}

/// Serves a response from the archive tier while it is stored, offline.
pub(super) fn serve_arriving(
    context: &ProxyContext,
    ask: &ProxyRequest,
    response: ArrivingResponse,
) -> Response<Body> {
    let ArrivingResponse { status, mut fields, times, length, body } = response;
    owner::remove_cookies(&mut fields);
    let delivery = ask.codings.deliver(status, &fields);
    delivery.amend(&mut fields);
    set_age(&mut fields, times, clock::now());
    add_via(&mut fields, Version::HTTP_11, &context.base.pseudonym);
    if delivery.is_decoded() {
        fields.remove(CONTENT_LENGTH);
    } else {
        fields.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    let mut response = respond(status, fields, body::empty());
    recode::put(&mut response, ask, delivery, body::download(body), Some(recode::JOINED_WITHIN));
    reply::with_status(response, CacheStatus::Hit(HitReason::Offline))
}

/// Whether a stored copy sets its cookies again. Only a fresh personal copy does, and only online:
/// such a copy is equivalent to a response that its origin has just sent (RFC 9111 §4, §7.3).
fn replays_cookies(ask: &ProxyRequest, copy: &StoredCopy) -> bool {
    let is_fresh = ask.copy.verdict.is_some_and(|verdict| verdict.reuse == Reuse::Fresh);
    let is_own = copy.entry.place().owner().is_some();
    ask.start.mode == Mode::Online && is_own && is_fresh
}

/// The fields of a stored copy that was not revalidated, without those that set cookies: the
/// browser may have newer cookies, and old ones could log the person out. The cookies of a shared
/// copy belong to its first client. Offline all other fields are sent, so that the copy is shown as
/// it was stored.
pub(super) fn unconfirmed_fields(ask: &ProxyRequest, copy: &StoredCopy) -> HeaderMap {
    let mut fields = sendable_fields(ask, copy);
    owner::remove_cookies(&mut fields);
    fields
}

/// The fields of a stored copy that may be sent without revalidation.
fn sendable_fields(ask: &ProxyRequest, copy: &StoredCopy) -> HeaderMap {
    let mut fields = copy.fields.clone();
    if ask.start.mode.may_dial() {
        for name in
            withheld_fields(&ResponseControl::of(&copy.fields), ask.start.config.caching.shared)
        {
            fields.remove(name);
        }
    }
    fields
}

/// The stored body with `fields`, which may be newer than the stored ones. The caller adds the
/// cache status.
pub(super) fn build_response(
    context: &ProxyContext,
    ask: &ProxyRequest,
    copy: &Arc<StoredCopy>,
    mut fields: HeaderMap,
    conditions: &Conditions,
) -> Response<Body> {
    context.storage.index.record_use(copy.entry.place(), timestamp(clock::now()));
    if let Some(response) = captures::redirect_to_version(context, ask, copy) {
        return response;
    }
    captures::mark(&mut fields, copy);
    let delivery = ask.codings.deliver(copy.status, &fields);
    delivery.amend(&mut fields);
    set_age(&mut fields, exchange(copy), clock::now());
    add_via(&mut fields, Version::HTTP_11, &context.base.pseudonym);
    if conditions.are_met_by(copy.status, &fields) {
        conditional::not_modified(&mut fields);
        return without_body(StatusCode::NOT_MODIFIED, fields);
    }
    if has_no_body(copy.status) {
        return without_body(copy.status, fields);
    }
    // A decoded body has no ranges.
    if !delivery.is_decoded() {
        if let Some(part) = ranges::serve::ranges(context, ask, copy, &fields) {
            return part;
        }
        // Online the origin itself declares whether it supports ranges, also for HEAD.
        if copy.status == StatusCode::OK && ask.start.mode != Mode::Online {
            ranges::serve::accept(&mut fields);
        }
    }
    let trailers = trailers(ask, copy);
    if delivery.is_decoded() {
        // The decoded length is known only at the end.
        fields.remove(CONTENT_LENGTH);
    } else if trailers.is_none() {
        fields.insert(CONTENT_LENGTH, HeaderValue::from(copy.entry.body_len()));
    } else {
        // Trailers need the chunked coding, which excludes a length (RFC 9112 §6.2).
        fields.remove(CONTENT_LENGTH);
    }
    // For HEAD, a body that must be decoded is checked before the response, as for GET.
    if ask.head.method == Method::HEAD && !delivery.is_decoded() {
        return without_body(copy.status, fields);
    }
    if let StoredBody::Whole(whole) = copy.entry.body()
        && !delivery.is_decoded()
        && trailers.is_none()
    {
        let whole = Bytes::from_owner(whole.clone());
        let mut response = respond(copy.status, fields, body::from_bytes(whole.clone()));
        response.extensions_mut().insert(WholeBody(whole));
        return response;
    }
    let mut response = respond(copy.status, fields, body::empty());
    let body = body::stored(&context.storage.store, copy, trailers);
    recode::put(&mut response, ask, delivery, body, None);
    response
}

fn trailers(ask: &ProxyRequest, copy: &StoredCopy) -> Option<HeaderMap> {
    let lines = copy.entry.trailers().filter(|_| ask.head.trailers)?;
    head::read_lines(lines).ok().filter(|trailers| !trailers.is_empty())
}

/// Whether a response with this status ends with its head (RFC 9112 §6.3).
fn has_no_body(status: StatusCode) -> bool {
    status.is_informational()
        || status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED
}

/// A response of an origin without its body.
pub(super) fn without_body(status: StatusCode, fields: HeaderMap) -> Response<Body> {
    let mut response = respond(status, fields, body::empty());
    response.extensions_mut().insert(WholeBody(Bytes::new()));
    response
}

fn respond(status: StatusCode, fields: HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = fields;
    response.extensions_mut().insert(OriginResponseMark);
    response
}
