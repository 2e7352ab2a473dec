//! One download from the request to the last byte.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use hyper::header::CONTENT_LENGTH;
use hyper::http::response::Parts as AnswerParts;
use hyper::{HeaderMap, StatusCode};
use tracing::{debug, warn};
use wwwoffle_spool::{NewEntry, Place, RequestKind, Writer};
use wwwoffle_url::Key;

use super::{AnswerHead, Download, End, Feed, Headed, Job, Outcome, Watch};
use crate::caching::freshness::Exchange;
use crate::clock;
use crate::connection;
use crate::daemon::Daemon;
use crate::error_chain::error_chain;
use crate::proxy::choose::About;
use crate::proxy::fields::{complete_date, strip_one_hop};
use crate::proxy::freshen::{self, Asked};
use crate::proxy::keep::{NotKept, may_keep};
use crate::proxy::{head, unsafe_methods};
use crate::store::timestamp;
use crate::upstream::{Answer, AnswerBody, Failure, Outbound, Secured};

/// How much is gathered before it is written, in bytes. What has come is never held back for more.
const STRETCH: usize = 128 * 1024;

/// Fetches what `job` says and serves all who joined `download`. Runs in a task of its own.
///
/// Dropped, it leaves an unfinished file, which is discarded, and tells all readers that it broke off.
pub async fn run(daemon: Arc<Daemon>, job: Job, download: Arc<Download>) {
    let key = job.place.key();
    let _watch = Watch { downloads: &daemon.downloads, download: &download };
    let outcome = fetch(&daemon, job, &download).await;
    daemon.downloads.leave(&download);
    debug!(url = download.url(), ?outcome, "download ended");
    if matches!(outcome, Outcome::Kept(_)) {
        settle(&daemon, key).await;
    }
    download.end(outcome);
}

/// Takes a request off the queue whose answer has come by another way: somebody browsed there.
async fn settle(daemon: &Daemon, key: Key) {
    // A form that waits was sent and confirmed for itself: sending it once more is another one.
    let queued = daemon.store.spool().queue().summary(&key);
    let is_answered = queued.is_some_and(|queued| queued.kind != RequestKind::Post);
    if is_answered && !daemon.fetcher.is_active(&key) {
        if let Err(error) = daemon.store.dequeue(key).await {
            warn!(error = error_chain(&error), "a request that is answered stays on the queue");
        }
        daemon.fetcher.nudge();
    }
}

async fn fetch(daemon: &Arc<Daemon>, mut job: Job, download: &Arc<Download>) -> Outcome {
    let (answer, asked) = match ask(daemon, &mut job, download).await {
        Ok(answered) => answered,
        Err(outcome) => return outcome,
    };
    let Job { place, origin, head: request, body, kept, keeping, answers, about, interim, .. } = job;
    let unattended = job.unattended;
    // What was asked about is not needed while the body comes.
    drop((about, interim));
    let (recorded, ()) = request.into_parts();
    let (status, received) = (answer.status(), asked.received);
    let (store, local) = (&daemon.store, &daemon.local);
    let said = (status, answer.headers());
    unsafe_methods::answered_by(store, local, (&origin, &recorded), said, received).await;
    let exchange = Exchange { asked: asked.sent, received };
    if let Err(reason) = may_keep(status, answer.headers(), kept, &keeping, exchange) {
        daemon.downloads.leave(download);
        download.pass(answer, Headed::Passing(reason));
        return Outcome::NotKept(status, reason);
    }
    let mut record = head::of_request(&recorded);
    record.extend_from_slice(body.as_deref().unwrap_or_default());
    let secured = answer.extensions().get::<Arc<Secured>>();
    let place = place.with_variant(&freshen::variant(answer.headers(), &recorded.headers));
    let new = NewEntry {
        asked: timestamp(asked.sent),
        when: timestamp(received),
        head: head::of_answer(status, answer.headers()),
        request: record,
        connection: secured.map(|secured| connection::account(secured)),
    };
    let (writer, tail) = match daemon.store.begin(&place, new).await {
        Ok(begun) => begun,
        Err(error) => {
            warn!(url = download.url(), error = error_chain(&error), "the page cannot be kept");
            let error = Arc::new(error);
            daemon.downloads.leave(download);
            download.pass(answer, Headed::Unkeepable(Arc::clone(&error)));
            return Outcome::Unkeepable(error);
        }
    };
    download.feed.set_disk(Arc::new(tail));
    let (answer_head, body) = split(answer);
    let answer_fields = answer_head.fields.clone();
    download.set_head(Headed::Keeping(Arc::new(answer_head)));
    let answers =
        answers.filter(|get| keeping.answers_get(get.url(), status, &answer_fields, exchange));
    match receive(daemon, body, writer, download, unattended).await {
        Ok(()) => {
            if let Some(get) = answers {
                answer_get(daemon, &place, &get).await;
            }
            Outcome::Kept(status)
        }
        Err(outcome) => outcome,
    }
}

/// Keeps the answer to a POST as that to GET too (RFC 9110 §9.3.3). What fails is told, and no more.
async fn answer_get(daemon: &Daemon, post: &Place, get: &Place) {
    if let Err(error) = daemon.store.copy(post, get).await {
        warn!(url = get.url(), error = error_chain(&error), "the answer to a form is no page");
    }
}

/// Asks the origin, at first about what is kept. A `304` that is about none of that says nothing:
/// then it is asked once more, for the answer itself.
///
/// # Errors
///
/// What has come of it, where that is no new answer.
async fn ask(
    daemon: &Arc<Daemon>,
    job: &mut Job,
    download: &Download,
) -> Result<(Answer, Asked), Outcome> {
    loop {
        let mut request = job.head.clone();
        job.about.question.ask(request.headers_mut());
        let outbound = job.body.clone().map_or(Outbound::Empty, Outbound::Whole);
        let (sent, interim) = (clock::now(), job.interim.clone());
        let answer = daemon.upstream.send(&job.origin, request, outbound, interim).await;
        let mut answer = answer.map_err(|failure| {
            let failure = Arc::new(failure);
            download.set_head(Headed::Failed(Arc::clone(&failure)));
            Outcome::Failed(failure)
        })?;
        let asked = Asked { sent, received: clock::now() };
        strip_one_hop(answer.headers_mut());
        complete_date(answer.headers_mut(), asked.received);
        if answer.status() != StatusCode::NOT_MODIFIED || job.about.question.is_empty() {
            return Ok((answer, asked));
        }
        let confirmed = freshen::confirmed(&daemon.store, &job.about, answer.headers(), asked);
        if let Some(confirmed) = confirmed.await {
            let (status, is_whole) = (confirmed.kept.status, confirmed.kept.part.is_none());
            download.set_head(Headed::Unchanged(confirmed));
            // Who waits for the whole waits still.
            let not_kept = || Outcome::NotKept(status, NotKept::Partial);
            return Err(if is_whole { Outcome::Kept(status) } else { not_kept() });
        }
        debug!(url = download.url(), "a 304 is about nothing that is kept");
        job.about = About::default();
    }
}

fn split(answer: Answer) -> (AnswerHead, AnswerBody) {
    let (parts, body) = answer.into_parts();
    let length = parts
        .headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse().ok());
    let AnswerParts { status, version, headers: fields, .. } = parts;
    (AnswerHead { status, version, fields, length }, body)
}

/// Moves the body to the spool and to its readers until it ends.
async fn receive(
    daemon: &Arc<Daemon>,
    mut body: AnswerBody,
    mut writer: Writer,
    download: &Download,
    unattended: bool,
) -> Result<(), Outcome> {
    let (feed, url) = (&download.feed, download.url());
    loop {
        let gathered = tokio::select! {
            gathered = gather(&mut body) => gathered,
            () = feed.abandoned(), if !unattended => {
                return Err(broken(feed, Failure::Abandoned));
            }
        };
        if !gathered.stretch.is_empty() {
            match daemon.store.write(writer, gathered.stretch).await {
                Ok((same, stretch)) => {
                    writer = same;
                    feed.written(stretch);
                }
                Err((error, stretch)) => {
                    warn!(url, error = error_chain(&error), "the page cannot be kept any further");
                    feed.spill();
                    let rest = pass_rest(body, stretch, gathered.end, feed).await;
                    return Err(match rest {
                        // Nobody has to read along: that it was not kept is what matters.
                        Ok(()) | Err(Failure::Abandoned) => Outcome::Unkeepable(Arc::new(error)),
                        Err(failure) => broken(feed, failure),
                    });
                }
            }
        }
        match gathered.end {
            None => {}
            Some(Err(failure)) => return Err(broken(feed, failure)),
            Some(Ok(trailers)) => return finish(daemon, writer, feed, trailers, url).await,
        }
    }
}

async fn finish(
    daemon: &Arc<Daemon>,
    writer: Writer,
    feed: &Feed,
    trailers: Option<HeaderMap>,
    url: &str,
) -> Result<(), Outcome> {
    let lines = trailers.as_ref().map(head::lines);
    let finished = daemon.store.finish(writer, lines).await;
    // The readers have all of it, whatever became of our copy.
    feed.finish(End::Whole(trailers.map(Arc::new)));
    finished.map_err(|error| {
        warn!(url, error = error_chain(&error), "the page cannot be kept");
        Outcome::Unkeepable(Arc::new(error))
    })
}

fn broken(feed: &Feed, failure: Failure) -> Outcome {
    let failure = Arc::new(failure);
    feed.finish(End::Broken(Arc::clone(&failure)));
    Outcome::Failed(failure)
}

/// What has come: some bytes, and perhaps the end.
struct Gathered {
    stretch: Vec<Bytes>,
    end: Option<Result<Option<HeaderMap>, Failure>>,
}

/// Waits for bytes, then takes what else is there already, up to [`STRETCH`].
async fn gather(body: &mut AnswerBody) -> Gathered {
    let mut gathered = Gathered { stretch: Vec::new(), end: None };
    let mut size = 0;
    let mut next = body.frame().await;
    loop {
        match next {
            None => gathered.end = Some(Ok(None)),
            Some(Err(failure)) => gathered.end = Some(Err(failure)),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => {
                    size += data.len();
                    gathered.stretch.push(data);
                }
                Err(frame) => gathered.end = Some(Ok(frame.into_trailers().ok())),
            },
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

/// The disk has failed: hands the rest of the body to the readers alone.
async fn pass_rest(
    mut body: AnswerBody,
    stretch: Vec<Bytes>,
    end: Option<Result<Option<HeaderMap>, Failure>>,
    feed: &Feed,
) -> Result<(), Failure> {
    let mut gathered = Gathered { stretch, end };
    loop {
        for chunk in gathered.stretch {
            if !feed.push(chunk).await {
                feed.finish(End::Broken(Arc::new(Failure::Abandoned)));
                return Err(Failure::Abandoned);
            }
        }
        if let Some(end) = gathered.end {
            feed.finish(End::Whole(end?.map(Arc::new)));
            return Ok(());
        }
        gathered = gather(&mut body).await;
    }
}
