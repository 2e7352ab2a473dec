//! Runs a download from its request to the head of the response, and restarts it if the page has
//! changed.

use std::sync::Arc;

use hyper::body::Body;
use hyper::header::{CONTENT_LENGTH, VARY};
use hyper::{HeaderMap, Method, StatusCode};
use tracing::{debug, warn};
use wwwoffle_spool::NewEntry;

use super::file::{NewFile, ResponseFile};
use super::part::SavedSegment;
use super::resume::{BodyValidator, RestMatch};
use super::run::{DownloadContext, OriginClient};
use super::transfer::BodyTransfer;
use super::{
    AnswerHead, BodyEnd, Download, DownloadEnd, DownloadGuard, DownloadJob, HeadOutcome, unread,
};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::owner::{Identification, Places, ResponseOwner};
use crate::net::connection;
use crate::net::upstream::{
    Answer, AnswerBody, Failure, LeftOutFile, Outbound, PersonalConnection,
};
use crate::proxy::choose::{self, Revalidation};
use crate::proxy::form_again;
use crate::proxy::freshen::{self, RequestTimes};
use crate::proxy::keep::{NotKept, is_good, may_keep};
use crate::proxy::saver;
use crate::proxy::unsafe_methods::{self, InvalidationTargets};
use crate::storage::store::{Store, timestamp};
use wwwoffle_http::caching::freshness::ExchangeTimes;
use wwwoffle_http::fields::{complete_date, complete_vary, strip_one_hop};
use wwwoffle_http::head;

/// Maximum number of restarts of one download because the page has changed. Otherwise an origin
/// that changes the page on each broken connection would be asked without limit.
const MAX_REPLACED: usize = 3;

/// Maximum length of a body in bytes whose head is held back until the body has arrived.
const MAX_HELD: u64 = 64 * 1024;

/// The end of one attempt.
pub(super) enum AttemptEnd {
    /// The download has ended.
    Done(DownloadEnd),
    /// The earlier bytes do not belong to the current body. Contains the response with the current
    /// body, or `None` if the request must be repeated.
    Changed(Option<Box<Answer>>),
}

/// Runs a download and its successors. Returns the last of them and its end. The caller must
/// publish this end.
pub(super) async fn run_download<'a, A: OriginClient>(
    ground: &DownloadContext<'a, A>,
    mut job: DownloadJob,
    download: Arc<Download>,
) -> (DownloadGuard<'a>, DownloadEnd) {
    let mut guard = DownloadGuard { downloads: ground.downloads, download };
    let (mut replaced, mut given) = (0, None);
    loop {
        given = match fetch(ground, &mut job, &guard.download, given.take()).await {
            AttemptEnd::Done(outcome) => return (guard, outcome),
            AttemptEnd::Changed(answer) => answer,
        };
        let changed = Arc::new(Failure::Changed);
        let broken = BodyEnd::Broken(Arc::clone(&changed));
        // The readers of this body get an error, so a successor would start without readers. Unless
        // the download `finishes` without readers, the successor would end at once, so it is not
        // started.
        if replaced == MAX_REPLACED || !job.leaving_rules.finishes {
            ground.downloads.leave(&guard.download);
            guard.download.feed.finish(broken);
            return (guard, DownloadEnd::Failed(changed));
        }
        replaced += 1;
        debug!(
            url = guard.download.url(),
            "the page changed during the download; the download starts again"
        );
        // The successor starts before the end is published, so that a client that retries at once
        // joins it.
        let next = ground.downloads.register_successor(&guard.download);
        let former = std::mem::replace(&mut guard.download, Arc::clone(&next));
        former.feed.finish(broken);
        former.end_before(next);
    }
}

async fn fetch<A: OriginClient>(
    ground: &DownloadContext<'_, A>,
    job: &mut DownloadJob,
    download: &Arc<Download>,
    given: Option<Box<Answer>>,
) -> AttemptEnd {
    if let Some(mut answer) = given {
        let now = clock::now();
        let asked = RequestTimes { sent: now, received: now };
        complete_fields(&mut answer, job, asked);
        return store_or_forward(ground, job, download, *answer, asked).await;
    }
    let mut part = None;
    if job.may_resume() && job.places.takes_segments() {
        let personal = identify(job) != Identification::Plainly;
        let found = SavedSegment::find(ground.store, &job.places, personal).await;
        part = found.filter(|part| may_complete(job, &part.mark));
    }
    loop {
        let (answer, asked) = match request_origin(ground, job, download, part.as_ref()).await {
            Ok(answered) => answered,
            Err(outcome) => return AttemptEnd::Done(outcome),
        };
        let Some(begun) = part.take() else {
            // The revalidation and interim responses are not needed while the body arrives.
            (job.revalidation, job.interim) = (Revalidation::default(), None);
            return store_or_forward(ground, job, download, answer, asked).await;
        };
        match begun.mark.judge(answer.status(), answer.headers(), begun.bytes) {
            // The segment and its rest must not be stored, so the download cannot be resumed
            // through the spool. The whole body is requested again, to be forwarded.
            RestMatch::Joins { length, .. } if !may_join(job, &begun, &answer, length, asked) => {}
            RestMatch::Joins { end, length } => {
                let rest = (answer, end, length);
                return continue_segment(ground, job, download, rest, asked, begun).await;
            }
            // The origin is asked again, without the segment.
            RestMatch::Unfit => begun.remove(ground.store).await,
            RestMatch::Afresh | RestMatch::Trouble | RestMatch::Nothing => {
                return store_or_forward(ground, job, download, answer, asked).await;
            }
        }
    }
}

/// Asks the origin. The request revalidates the stored copies, and asks for the bytes after a
/// stored segment. A `304` that applies to no stored copy is useless: the request is then repeated
/// without conditions.
///
/// # Errors
///
/// The end of the download, if there is no new response.
async fn request_origin<A: OriginClient>(
    ground: &DownloadContext<'_, A>,
    job: &mut DownloadJob,
    download: &Arc<Download>,
    part: Option<&SavedSegment>,
) -> Result<(Answer, RequestTimes), DownloadEnd> {
    loop {
        let mut request = job.head.clone();
        request.extensions_mut().insert(download.line.clone());
        job.revalidation.question.add_to(request.headers_mut());
        if let Some(part) = part {
            part.mark.add_range(&mut request, part.bytes);
        }
        let outbound = job.body.clone().map_or(Outbound::Empty, Outbound::Whole);
        let (sent, interim) = (clock::now(), job.interim.clone());
        // An unsafe request is not repeated, because it may already have had its effect.
        let is_safe = job.head.method().is_safe();
        let answer = tokio::select! {
            biased;
            answer = ground.asks.ask(&job.origin, request, outbound, interim) => answer,
            failure = unread::wait_for_end(ground, download) => Err(failure),
            () = unread::wait_to_yield(ground.asks, &job.origin, download), if is_safe => {
                Err(Failure::Abandoned)
            }
            () = unread::leaves_line(download), if is_safe => Err(Failure::Abandoned),
        };
        let mut answer = answer.map_err(|failure| report_failure(ground, download, failure))?;
        let asked = RequestTimes { sent, received: clock::now() };
        complete_fields(&mut answer, job, asked);
        if answer.status() != StatusCode::NOT_MODIFIED || job.revalidation.question.is_empty() {
            return Ok((answer, asked));
        }
        let login = job.places.credentials
            || head::has_credentials(job.head.headers())
            || answer.extensions().get::<PersonalConnection>().is_some();
        let fields = answer.headers();
        let confirmed =
            freshen::apply_not_modified(ground.store, &job.revalidation, fields, asked, login);
        if let Some(confirmed) = confirmed.await {
            let (status, is_whole) = (confirmed.copy.status, confirmed.copy.part.is_none());
            ground.downloads.leave(download);
            download.set_head(HeadOutcome::Unchanged(confirmed));
            // A confirmed segment is not the whole response.
            let not_kept = || DownloadEnd::NotKept(status, NotKept::Partial);
            return Err(if is_whole { DownloadEnd::Kept(status) } else { not_kept() });
        }
        debug!(url = download.url(), "a 304 matches no stored copy");
        job.revalidation = Revalidation::default();
    }
}

fn complete_fields(answer: &mut Answer, job: &DownloadJob, asked: RequestTimes) {
    strip_one_hop(answer.headers_mut());
    complete_date(answer.headers_mut(), asked.received);
    if answer.status() != StatusCode::NOT_MODIFIED {
        complete_vary(answer.headers_mut(), job.head.headers());
    } else if !answer.headers().contains_key(VARY) {
        return;
    }
    job.vary_rules.amend(answer.headers_mut());
}

/// Whether the body that consists of a segment and its rest may be stored.
fn may_join(
    job: &DownloadJob,
    part: &SavedSegment,
    rest: &Answer,
    length: Option<u64>,
    asked: RequestTimes,
) -> bool {
    let head = part.head(rest.headers(), rest.version(), length);
    let exchange = ExchangeTimes { sent: asked.sent, received: asked.received };
    may_keep(head.status, &head.fields, job.stored_status, &job.storage_rules, exchange).is_ok()
}

/// Serves and stores the segment of an earlier attempt and the bytes that follow it.
async fn continue_segment<A: OriginClient>(
    ground: &DownloadContext<'_, A>,
    job: &DownloadJob,
    download: &Arc<Download>,
    (mut answer, end, length): (Answer, Option<u64>, Option<u64>),
    asked: RequestTimes,
    part: SavedSegment,
) -> AttemptEnd {
    let mut head = part.head(answer.headers(), answer.version(), length);
    let mut mark = part.mark.clone();
    mark.learn(length);
    // A segment that started as personal stays personal, whatever the later response declares.
    if part.place != job.places.own {
        head.whose = response_owner(job, &answer, &head.fields);
    }
    // The head of the rest may lack the fields of the whole.
    let left_out = job.allowance.left_out(head.status, &head.fields);
    let ended = end_left_out(ground, job, download, left_out, answer.body_mut()).await;
    if let Some(ended) = ended.or_else(|| end_too_long(ground, job, download, length)) {
        return ended;
    }
    let file = new_file(ground, job, &answer, &head, asked, Some(&mark)).await;
    download.progress.start_body(part.bytes, length);
    let head = (head, asked.received);
    let mut transfer = BodyTransfer::new(ground, job, download, Some(mark), file, head);
    transfer.begin().await;
    transfer.continue_segment(part, answer.into_body(), end).await
}

/// Stores a response if that is permitted, or forwards it.
async fn store_or_forward<A: OriginClient>(
    ground: &DownloadContext<'_, A>,
    job: &DownloadJob,
    download: &Arc<Download>,
    mut answer: Answer,
    asked: RequestTimes,
) -> AttemptEnd {
    let status = answer.status();
    let left_out = job.allowance.left_out(status, answer.headers());
    if let Some(ended) = end_left_out(ground, job, download, left_out, answer.body_mut()).await {
        return ended;
    }
    if status == StatusCode::UNAUTHORIZED {
        ground.downloads.login_records.remember_challenge(&job.places.public, answer.headers());
    }
    let request = job.head.clone().into_parts().0;
    let said = (status, answer.headers());
    let sent = (&job.origin, &request, job.places.as_ref());
    let (store, local, downloads) = (ground.store, ground.local, ground.downloads);
    let of = InvalidationTargets { store, local, downloads, by: Some(download) };
    unsafe_methods::invalidate_after_request(of, sent, said, asked.received).await;
    let exchange = ExchangeTimes { sent: asked.sent, received: asked.received };
    let stored_status = protected_status(store, job, status).await;
    let may_keep = may_keep(status, answer.headers(), stored_status, &job.storage_rules, exchange);
    if let Err(reason) = may_keep.and_then(|()| is_small_enough(ground, job, &answer)) {
        ground.downloads.leave(download);
        download.pass_answer(answer, HeadOutcome::Passing(reason));
        return AttemptEnd::Done(DownloadEnd::NotKept(status, reason));
    }
    let mark = job.may_resume().then(|| BodyValidator::of(status, answer.headers())).flatten();
    let whose = response_owner(job, &answer, answer.headers());
    let head = head_of(&answer, whose);
    if let Some(ended) = end_too_long(ground, job, download, head.length) {
        return ended;
    }
    let file = new_file(ground, job, &answer, &head, asked, mark.as_ref()).await;
    let post = file.place().cloned();
    // The response to a POST may also answer a later GET. The copy for that GET is stored under the
    // canonical spelling and without a login, so a request with another spelling or a login stores
    // none.
    let answers = |get: &&Arc<Places>| {
        get.takes_segments()
            && job.storage_rules.answers_get(get.public.url(), status, &head.fields, exchange)
    };
    let get = job.get_places.as_ref().filter(answers).map(|get| get.of_answer(whose).clone());
    download.progress.start_body(0, head.length);
    let body = answer.into_body();
    // Without a body the head is the whole response. Like the end of a body, it is held back until
    // the response is stored, so that a client that has received it finds the stored copy.
    let is_held = body.is_end_stream()
        || status == StatusCode::NO_CONTENT
        || head.length.is_some_and(|length| length <= MAX_HELD);
    let head = (head, asked.received);
    let transfer = BodyTransfer::new(ground, job, download, mark, file, head);
    let mut transfer = transfer.answering(post.zip(get));
    if !is_held {
        transfer.begin().await;
    }
    transfer.receive(Ok(body), status).await
}

/// Checks whether a body of the declared length may be stored. A body without a declared length is
/// checked while it arrives.
fn is_small_enough<A>(
    ground: &DownloadContext<'_, A>,
    job: &DownloadJob,
    answer: &Answer,
) -> Result<(), NotKept> {
    let length = answer.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let length: Option<u64> = length.and_then(|length| length.parse().ok());
    // For a HEAD the length is that of a body that is not sent.
    let is_larger = length.is_some_and(|length| length > ground.patience.most);
    if is_larger && job.head.method() != Method::HEAD {
        return Err(NotKept::TooLarge);
    }
    Ok(())
}

/// Ends a download without readers if its declared length exceeds the limit for such downloads. A
/// segment that was stored earlier stays stored. `None` if the download continues.
fn end_too_long<A>(
    ground: &DownloadContext<'_, A>,
    job: &DownloadJob,
    download: &Arc<Download>,
    total: Option<u64>,
) -> Option<AttemptEnd> {
    if download.feed.readers() > 0 {
        return None;
    }
    let failure = job.allowance.check_start(total).err()?;
    Some(AttemptEnd::Done(report_failure(ground, download, failure)))
}

/// Ends the download of a file that the data saver leaves out, if there is one. Its connection
/// closes, so the rest of the body does not arrive. `None` if the download continues.
async fn end_left_out<A>(
    ground: &DownloadContext<'_, A>,
    job: &DownloadJob,
    download: &Arc<Download>,
    file: Option<Box<LeftOutFile>>,
    body: &mut AnswerBody,
) -> Option<AttemptEnd> {
    let mut file = file?;
    file.arrived = saver::take_arrived(body).await;
    // The queue asks a person about a file that is also longer than `ask-above`.
    let ended = end_too_long(ground, job, download, file.length);
    let left_out = || report_failure(ground, download, Failure::LeftOut(file));
    Some(ended.unwrap_or_else(|| AttemptEnd::Done(left_out())))
}

/// How the request identifies its client.
fn identify(job: &DownloadJob) -> Identification {
    match Identification::of(job.head.headers(), job.body.is_some()) {
        Identification::Plainly if job.places.credentials => Identification::WithCredentials,
        other => other,
    }
}

/// Whether a later request may complete a segment with this validator. The cookies of a personal
/// request are not part of its key, so only a tag shows that both responses have the same body.
fn may_complete(job: &DownloadJob, mark: &BodyValidator) -> bool {
    mark.is_tag() || identify(job) == Identification::Plainly
}

/// The owner for whom a response with these fields is stored.
fn response_owner(job: &DownloadJob, answer: &Answer, fields: &HeaderMap) -> ResponseOwner {
    match answer.extensions().get::<PersonalConnection>() {
        Some(_) => ResponseOwner::Own,
        None => ResponseOwner::of_answer(identify(job), fields, job.storage_rules.cache.0),
    }
}

/// The status of a stored copy that an error must not replace. The person's own and the shared copy
/// both count, because either may take precedence.
async fn protected_status(
    store: &Store,
    job: &DownloadJob,
    status: StatusCode,
) -> Option<StatusCode> {
    if is_good(status) {
        return job.stored_status;
    }
    let how = (job.storage_rules.cache.0, &job.vary_rules);
    match choose::find(store, &job.places, how, || job.head.headers().clone()).await {
        Ok(found) => found.spelled_alike().map(|copy| copy.status).or(job.stored_status),
        Err(error) => {
            warn!(error = error_chain(&error), "the stored copies cannot be looked up");
            job.stored_status
        }
    }
}

/// Reports a failure to the waiting clients; later clients start a new request.
fn report_failure<A>(
    ground: &DownloadContext<'_, A>,
    download: &Arc<Download>,
    failure: Failure,
) -> DownloadEnd {
    let failure = Arc::new(failure);
    ground.downloads.leave(download);
    download.set_head(HeadOutcome::Failed(Arc::clone(&failure)));
    DownloadEnd::Failed(failure)
}

/// The file of a response, not created yet.
async fn new_file<A>(
    ground: &DownloadContext<'_, A>,
    job: &DownloadJob,
    answer: &Answer,
    new_head: &AnswerHead,
    asked: RequestTimes,
    mark: Option<&BodyValidator>,
) -> ResponseFile {
    let (spool, place) = (ground.store.spool(), job.places.of_answer(new_head.whose));
    let sent = job.head.clone().into_parts().0;
    let variant = freshen::variant(&new_head.fields, &sent.headers);
    let (variant, record) = match new_head.whose {
        ResponseOwner::Everyone => (job.places.spelling.variant(&variant), None),
        ResponseOwner::Own => {
            let records = &ground.downloads.login_records;
            let record = records.record(place, &sent.method, &sent.headers).await;
            (job.places.own_variant(&variant), record)
        }
    };
    let place = place.clone().with_variant(&variant);
    let mut request = head::write_recorded_request(sent);
    if let Some(record) = record {
        request = head::with_field(&request, &head::LOGIN, &record);
    }
    if let Some(form) = &job.body {
        request = form_again::seal(spool, &job.places, form, request);
    }
    let new = NewEntry {
        asked: timestamp(asked.sent),
        when: timestamp(asked.received),
        head: head::write_response(new_head.status, &new_head.fields),
        request,
        connection: connection::record(answer.extensions()),
    };
    // The fields in `Vary` are in the head of a segment, so they are unknown when a segment is
    // searched. A segment of a varying response could not be found again. So the bytes of such a
    // response are not saved as a segment.
    let mark = mark.filter(|mark| place.variant_text().is_empty() && may_complete(job, mark));
    let length = mark.map_or(new_head.length, BodyValidator::length);
    let validator = mark.map(|mark| mark.name().to_vec());
    ResponseFile::New(NewFile { place, new, validator, length })
}

fn head_of(answer: &Answer, whose: ResponseOwner) -> AnswerHead {
    let fields = answer.headers().clone();
    let length = fields.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let (status, version) = (answer.status(), answer.version());
    AnswerHead { status, version, fields, length, is_stored: true, resumed: false, whose }
}
