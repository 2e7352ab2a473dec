//! Streams a range of a page from the origin to the client and to the spool at the same time.
//!
//! If the client leaves, the transfer ends, and the received bytes are stored. A person who seeks
//! in a film requests the rest of the film at each seek: continuing all of these transfers would
//! download the film many times.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use hyper::header::{
    CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderValue, SET_COOKIE, VARY,
};
use hyper::{HeaderMap, Response, StatusCode};
use sha2::{Digest, Sha256};
use tracing::{debug, warn};
use wwwoffle_config::{NoStore, UrlParts};
use wwwoffle_spool::{Error, NewEntry, NewSegment, Place, SegmentWriter, Spool};

use super::part::{NO_VALIDATOR, fields, is_validated};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::owner::{Identification, ResponseOwner};
use crate::net::connection;
use crate::net::upstream::{Answer, AnswerBody, Failure, PersonalConnection};
use crate::proxy::amend::OriginResponseMark;
use crate::proxy::ask::ProxyRequest;
use crate::proxy::body::{self as bodies, Body};
use crate::proxy::context::ProxyContext;
use crate::proxy::forward;
use crate::proxy::freshen::variant;
use crate::proxy::keep::NotKept;
use crate::proxy::status::{CacheStatus, Forward, NotStored};
use crate::storage::feed::{BodyEnd, Feed};
use crate::storage::store::timestamp;
use wwwoffle_http::caching::conditional::{self, Conditions};
use wwwoffle_http::caching::control::{RequestControl, ResponseControl};
use wwwoffle_http::caching::range::if_range::{self, single};
use wwwoffle_http::caching::range::{ReceivedRange, parse_received};
use wwwoffle_http::caching::storing::{RequestFacts, is_no_store};
use wwwoffle_http::fields::{add_via, complete_vary, has_member};
use wwwoffle_http::head;

/// Number of bytes from which a write does not wait for more. Fewer bytes are written if no more
/// are available.
const STRETCH: usize = 128 * 1024;

/// The time for which the last bytes of a range are held back to wait for the end of the response.
const END_WITHIN: Duration = Duration::from_secs(1);

/// Forwards a response with a range of a page, and stores the range as a segment if that is
/// permitted.
pub(in crate::proxy) async fn forward_range(
    context: &Arc<ProxyContext>,
    ask: &ProxyRequest,
    conditions: &Conditions,
    mut answer: Answer,
) -> Response<Body> {
    complete_vary(answer.headers_mut(), &ask.head.fields);
    let forward = Forward::of(ask.copy.verdict.as_ref());
    let part = match part_of(ask, answer.status(), answer.headers()) {
        Ok(part) => part,
        Err(why) => {
            debug!(url = ask.resource.url.as_str(), why, "a segment is not stored");
            return forward::respond(
                context,
                ask,
                answer,
                forward,
                NotStored::Answer(NotKept::Partial),
            );
        }
    };
    let new = match new_segment(context, ask, &answer, part) {
        Ok(new) => new,
        Err(error) => {
            warn!(%error, "a segment cannot be identified");
            return forward::respond(context, ask, answer, forward, NotStored::Spool);
        }
    };
    let sent = ask.origin_request(&context.base.pseudonym).into_parts().0;
    let identification = Identification::of(&sent.headers, false);
    let whose = match answer.extensions().get::<PersonalConnection>() {
        Some(_) => ResponseOwner::Own,
        None => ResponseOwner::of_answer(
            identification,
            answer.headers(),
            ask.start.config.caching.shared,
        ),
    };
    let place = ask.places.of_answer(whose).clone();
    let (writer, tail) = match context.storage.store.begin_segment(&place, new).await {
        Ok(begun) => begun,
        Err(error) => {
            warn!(error = error_chain(&error), "a segment cannot be stored");
            return forward::respond(context, ask, answer, forward, NotStored::Spool);
        }
    };
    let feed = Feed::new();
    feed.set_disk(Arc::new(tail));
    let Some(reader) = feed.read() else {
        return forward::respond(context, ask, answer, forward, NotStored::Spool);
    };
    let mut fields = std::mem::take(answer.headers_mut());
    add_via(&mut fields, answer.version(), &context.base.pseudonym);
    let mut response = Response::new(bodies::empty());
    if conditions.are_met_by(StatusCode::OK, &fields) {
        conditional::not_modified(&mut fields);
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        let receiving = Receiving { writer, expected: part.span.len(), feed };
        let task = receiving.run(Arc::clone(context), place, answer.into_body());
        context.base.tasks.spawn(task);
        *response.body_mut() = bodies::download(reader);
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    *response.headers_mut() = fields;
    CacheStatus::StoredPart.mark(&mut response);
    response.extensions_mut().insert(OriginResponseMark);
    response
}

/// The range of a response to store, or the reason why it is not stored.
fn part_of(
    ask: &ProxyRequest,
    status: StatusCode,
    fields: &HeaderMap,
) -> Result<ReceivedRange, String> {
    if status != StatusCode::PARTIAL_CONTENT {
        return Err("it has Content-Range, but its status is not 206".to_owned());
    }
    if fields.contains_key(SET_COOKIE) || has_member(fields, &VARY, "*") {
        return Err("it applies to this request only".to_owned());
    }
    if !ask.places.takes_segments() {
        return Err("its login or the spelling of its URL has no stored segments".to_owned());
    }
    if must_not_be_stored(ask, fields) {
        return Err("it has no-store, which the configuration respects".to_owned());
    }
    // A multipart body is not a range of the content, whatever the other fields say.
    let kind = single(fields, &CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
    if kind.starts_with("multipart/byteranges") {
        return Err("it is multipart".to_owned());
    }
    let length = single(fields, &CONTENT_LENGTH).and_then(|length| length.parse().ok());
    parse_received(super::requested_ranges(ask).as_ref(), single(fields, &CONTENT_RANGE), length)
        .map_err(|misfit| misfit.to_string())
}

/// Whether `no-store` is honoured for the URL, and present (RFC 9111 §5.2.1.5, §5.2.2.5).
fn must_not_be_stored(ask: &ProxyRequest, fields: &HeaderMap) -> bool {
    let no_store = RequestControl::of(&ask.head.fields).no_store;
    let requested = RequestFacts { no_store, ..RequestFacts::default() };
    *ask.start.config.caching.no_store.of(&UrlParts::of(&ask.bare)) == NoStore::Respect
        && is_no_store(StatusCode::OK, &ResponseControl::of(fields), requested)
}

/// The validator of a segment, from a response to `request`; `None` if the response has no strong
/// validator. A tag is unique to one variant, but a date is not (RFC 9110 §8.8.3), so the variant
/// is added to a date.
fn mark(fields: &HeaderMap, request: &HeaderMap) -> Option<String> {
    let mark = if_range::mark(fields)?;
    let variant = variant(fields, request);
    if fields.contains_key(ETAG) || variant.is_empty() {
        return Some(mark);
    }
    Some(format!("{mark} {}", hex::encode(Sha256::digest(variant))))
}

fn new_segment(
    context: &ProxyContext,
    ask: &ProxyRequest,
    answer: &Answer,
    part: ReceivedRange,
) -> Result<NewSegment, getrandom::Error> {
    let fields = answer.headers();
    let request = ask.origin_request(&context.base.pseudonym).into_parts().0;
    // A date cannot distinguish the responses to several persons.
    let is_told = fields.contains_key(ETAG) || !ask.is_personal();
    let is_known = is_told && !part.doubtful;
    let mark = mark(fields, &request.headers).filter(|_| is_known);
    let validator = if let Some(mark) = mark {
        mark
    } else {
        let mut random = [0; 16];
        getrandom::fill(&mut random)?;
        format!("{NO_VALIDATOR}{}", hex::encode(random))
    };
    let entry = NewEntry {
        asked: timestamp(ask.start.now),
        when: timestamp(clock::now()),
        head: head::write_response(answer.status(), fields),
        request: head::write_recorded_request(request),
        connection: connection::record(answer.extensions()),
    };
    let (complete_length, start) = (part.complete, part.span.start());
    Ok(NewSegment { entry, validator: validator.into_bytes(), complete_length, start })
}

/// The transfer of a range.
struct Receiving {
    writer: SegmentWriter,
    /// The declared length of the range in bytes.
    expected: u64,
    feed: Arc<Feed>,
}

/// The gathered bytes, and the end of the range if it has arrived.
struct GatheredRange {
    stretch: Vec<Bytes>,
    end: Option<Result<(), Failure>>,
}

impl Receiving {
    async fn run(mut self, context: Arc<ProxyContext>, place: Place, mut body: AnswerBody) {
        loop {
            let feed = Arc::clone(&self.feed);
            let gathered = tokio::select! {
                gathered = gather(&mut body) => gathered,
                () = feed.wait_until_unread() => {
                    GatheredRange { stretch: Vec::new(), end: Some(Err(Failure::Abandoned)) }
                }
            };
            let GatheredRange { stretch, end } = self.with_end(gathered, &mut body).await;
            if !stretch.is_empty() {
                let (store, append) = (&context.storage.store, SegmentWriter::write);
                match store.write(self.writer, append, stretch).await {
                    Ok((writer, stretch)) => {
                        self.writer = writer;
                        if let Some(end) = end {
                            return self.end(&context, place, stretch, end).await;
                        }
                        feed.written(stretch);
                    }
                    Err((error, stretch)) => {
                        warn!(
                            error = error_chain(&error),
                            "a segment cannot be stored any further"
                        );
                        return pass_rest(&feed, GatheredRange { stretch, end }, body).await;
                    }
                }
            }
            if let Some(end) = end {
                return self.end(&context, place, Vec::new(), end).await;
            }
        }
    }

    /// If all expected bytes have arrived, also waits a moment for the end of the response. A
    /// client that has the last byte may send its next request at once, and must find the stored
    /// segment.
    async fn with_end(&self, mut gathered: GatheredRange, body: &mut AnswerBody) -> GatheredRange {
        let came: usize = gathered.stretch.iter().map(Bytes::len).sum();
        let came = self.writer.written().saturating_add(u64::try_from(came).unwrap_or(u64::MAX));
        if gathered.end.is_none() && came == self.expected {
            match tokio::time::timeout(END_WITHIN, body.frame()).await {
                Ok(None) => gathered.end = Some(Ok(())),
                Ok(Some(Err(failure))) => gathered.end = Some(Err(failure)),
                Ok(Some(Ok(frame))) => gathered.stretch.extend(frame.into_data().ok()),
                Err(_late) => {}
            }
        }
        gathered
    }

    /// Stores the received bytes, unless they contradict the declared range, and delivers the
    /// `last` bytes.
    async fn end(
        self,
        context: &ProxyContext,
        place: Place,
        last: Vec<Bytes>,
        end: Result<(), Failure>,
    ) {
        let Self { writer, expected, feed } = self;
        let came = writer.written();
        let is_sound = match &end {
            Ok(()) => came == expected,
            Err(failure) => came <= expected && is_cut(failure),
        };
        let finish = move |spool: &Spool| {
            if !is_sound {
                writer.discard();
                return Ok(());
            }
            if came == expected {
                writer.finish()?;
            } else {
                writer.finish_short()?;
            }
            complete(spool, &place)
        };
        let finished = context.storage.store.run(finish).await;
        if !last.is_empty() {
            feed.written(last);
        }
        feed.finish(match end {
            Ok(()) => BodyEnd::Whole(None),
            Err(failure) => BodyEnd::Broken(Arc::new(failure)),
        });
        if let Err(error) = finished {
            warn!(error = error_chain(&error), "a segment cannot be stored");
        }
    }
}

/// Whether the received bytes are sound despite `failure`: only the connection has failed.
fn is_cut(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::Abandoned
            | Failure::CutShort(_)
            | Failure::Stalled
            | Failure::Silent
            | Failure::Alert(_)
            | Failure::GivenUp(_)
    )
}

/// Combines the segments into a whole entry, if they are complete (RFC 9111 §3.4).
fn complete(spool: &Spool, place: &Place) -> Result<(), Error> {
    let Some(partial) = spool.partial(place)? else { return Ok(()) };
    if !partial.is_complete() || !is_validated(&partial) {
        return Ok(());
    }
    let (Some(mut fields), Some(length)) = (fields(&partial), partial.complete_length()) else {
        return Ok(());
    };
    // Whole responses with `Vary` are stored separately for each variant, but segments are not. So
    // segments of such a response are not combined.
    let request = head::read_request(partial.request(), b"");
    if !request.is_ok_and(|request| variant(&fields, &request.headers).is_empty()) {
        return Ok(());
    }
    fields.insert(CONTENT_LENGTH, HeaderValue::from(length));
    spool.complete(&partial, head::write_response(StatusCode::OK, &fields)).map(drop)
}

/// Waits for bytes, then takes all that are available, until they reach [`STRETCH`].
async fn gather(body: &mut AnswerBody) -> GatheredRange {
    let mut gathered = GatheredRange { stretch: Vec::new(), end: None };
    let mut size = 0;
    let mut next = body.frame().await;
    loop {
        match next {
            None => gathered.end = Some(Ok(())),
            Some(Err(failure)) => gathered.end = Some(Err(failure)),
            // Trailers belong to the whole body, so a client that requested a range does not get
            // them.
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    size += data.len();
                    gathered.stretch.push(data);
                }
            }
        }
        if gathered.end.is_some() || size >= STRETCH {
            return gathered;
        }
        match body.frame().now_or_never() {
            Some(more) => next = more,
            None => return gathered,
        }
    }
}

/// After a disk failure: delivers the remaining bytes to the reader only.
async fn pass_rest(feed: &Feed, mut gathered: GatheredRange, mut body: AnswerBody) {
    feed.spill();
    loop {
        for chunk in gathered.stretch {
            if !feed.push(chunk).await {
                return feed.finish(BodyEnd::Broken(Arc::new(Failure::Abandoned)));
            }
        }
        match gathered.end {
            None => gathered = gather(&mut body).await,
            Some(Ok(())) => return feed.finish(BodyEnd::Whole(None)),
            Some(Err(failure)) => return feed.finish(BodyEnd::Broken(Arc::new(failure))),
        }
    }
}
