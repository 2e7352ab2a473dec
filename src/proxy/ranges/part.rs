//! What is kept of a page in part, for requests that it has the bytes for.

use std::sync::Arc;

use hyper::header::{
    ACCEPT_ENCODING, AGE, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, HeaderName, SET_COOKIE,
    VARY,
};
use hyper::{HeaderMap, Response, StatusCode, Version};
use tracing::warn;
use wwwoffle_spool::Partial;

use super::body::Source;
use super::{asked, serve};
use crate::caching::range::{Held, Satisfied, Span, if_range};
use crate::clock;
use crate::daemon::Daemon;
use crate::error_chain::error_chain;
use crate::proxy::ask::Ask;
use crate::proxy::body::{self as bodies, Body};
use crate::proxy::conditional::{self, Conditions};
use crate::proxy::fields::{CACHE_STATUS, add_via, list, set_age};
use crate::proxy::status::CacheStatus;
use crate::proxy::{head, reply};
use crate::store::Kept;

/// What stands in place of a validator where there is none: with a number of its own, so that no two
/// parts are ever taken for parts of the same.
pub(super) const NO_VALIDATOR: &str = "none:";

/// Parts of a page that hold what one request asks for.
#[derive(Debug)]
pub(in crate::proxy) struct Part {
    pub(super) partial: Partial,
    /// The fields of the whole, as far as they are known.
    pub(in crate::proxy) fields: HeaderMap,
    /// What of it is asked for.
    satisfied: Satisfied,
}

impl Part {
    /// Looks for parts that hold what is asked for. `kept` is what is kept whole: it goes first, unless it
    /// is older.
    pub(in crate::proxy) async fn find(
        daemon: &Daemon,
        ask: &Ask,
        kept: Option<&Kept>,
    ) -> Option<Arc<Self>> {
        let ranges = asked(ask)?;
        let place = ask.place.clone();
        let partial = match daemon.store.run(move |spool| spool.partial(&place)).await {
            Ok(partial) => partial?,
            Err(error) => {
                warn!(error = error_chain(&error), "what is kept in part cannot be read");
                return None;
            }
        };
        if kept.is_some_and(|kept| kept.entry.when() >= partial.when()) {
            return None;
        }
        let spans = partial.ranges().iter().filter_map(|range| Span::new(range.start, range.end));
        let satisfied = ranges.within(&Held::new(spans), partial.complete_length())?;
        let fields = fields(&partial)?;
        let is_meant = serves(&partial, &fields, &ask.fields)
            && if_range::holds(&ask.fields, &fields)
            && !if_range::has_failed(&ask.fields, &fields);
        is_meant.then(|| Arc::new(Self { partial, fields, satisfied }))
    }

    /// Answers with it.
    pub(in crate::proxy) fn answer(
        self: &Arc<Self>,
        daemon: &Daemon,
        conditions: &Conditions,
        status: CacheStatus,
    ) -> Response<Body> {
        self.answer_with(daemon, self.fields.clone(), conditions, status)
    }

    /// The same, when the origin has just said that it still holds (RFC 9111 §4.3.4).
    pub(in crate::proxy) fn validated(
        self: &Arc<Self>,
        daemon: &Daemon,
        conditions: &Conditions,
        newer: &HeaderMap,
    ) -> Response<Body> {
        let mut fields = self.fields.clone();
        overwrite(&mut fields, newer);
        let status = CacheStatus::Validated;
        let mut response = self.answer_with(daemon, fields, conditions, status);
        response.headers_mut().remove(AGE);
        response
    }

    fn answer_with(
        self: &Arc<Self>,
        daemon: &Daemon,
        mut fields: HeaderMap,
        conditions: &Conditions,
        status: CacheStatus,
    ) -> Response<Body> {
        set_age(&mut fields, self.partial.when().into(), clock::now());
        add_via(&mut fields, Version::HTTP_11, &daemon.pseudonym);
        fields.insert(CACHE_STATUS, status.value());
        if conditions.are_met_by(StatusCode::OK, &fields) {
            conditional::not_modified(&mut fields);
            let mut response = Response::new(bodies::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.headers_mut() = fields;
            return response;
        }
        let (source, complete) = (Source::Part(Arc::clone(self)), self.partial.complete_length());
        let part = serve::answer(daemon, source, &fields, &self.satisfied, complete);
        // Only without a boundary for a multipart: then there is no way to say it.
        part.unwrap_or_else(|| reply::plain(500, "the parts cannot be told apart"))
    }
}

/// The fields of the whole: those of the newest part, and what older ones have besides (RFC 9110
/// §15.3.7). `None` where they cannot be read.
pub(super) fn fields(partial: &Partial) -> Option<HeaderMap> {
    let mut all = HeaderMap::new();
    for head in partial.heads() {
        overwrite(&mut all, &head::read_answer(head).ok()?.1);
    }
    all.remove(CONTENT_LENGTH);
    all.remove(CONTENT_RANGE);
    Some(all)
}

/// Whether the validator of these parts is one of their origin's.
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

/// Whether a request like this one has brought them, as far as `Vary` and the content coding tell.
fn serves(partial: &Partial, fields: &HeaderMap, request: &HeaderMap) -> bool {
    let Ok(stored) = head::read_request(partial.request(), b"") else { return false };
    let is_same =
        |name: &HeaderName| stored.headers.get_all(name).iter().eq(request.get_all(name).iter());
    (!fields.contains_key(CONTENT_ENCODING) || is_same(&ACCEPT_ENCODING))
        && list(fields, &VARY).all(|name| {
            HeaderName::from_bytes(name.as_bytes())
                .is_ok_and(|name| !head::SECRET.contains(&name) && is_same(&name))
        })
}
