//! One queued request, from the queue to the spool.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use tracing::{debug, warn};
use wwwoffle_spool::{Error, FinishOutcome, Outgoing, RequestKind, RequestState};
use wwwoffle_url::Key;

use super::attempt::attempt;
use super::follow::FollowUps;
use super::recurse::NotBegun;
use super::schedule::time_after;
use super::successor::fail;
use super::verdict::{FetchVerdict, delay};
use super::want::reset_attempts;
use super::{WantError, failure_reason, monitor, recurse, spool_failed};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::fetch::context::FetchContext;
use crate::storage::store::{Unqueued, timestamp};
use wwwoffle_api::Event;

/// The pause after the spool failed to record the result of a request.
const AFTER_SPOOL_FAILURE: Duration = Duration::from_secs(10);

/// Fetches one queued request and records the result. Returns the event to report, if any. Report
/// it only when the request is no longer active, because the program that gets the event may
/// request the same URL at once.
pub(super) async fn fetch(context: &Arc<FetchContext>, key: Key) -> Option<Event> {
    match fetch_queued(context, key).await {
        Ok(event) => event,
        Err(error) => {
            pause_after_failure(context, &error).await;
            None
        }
    }
}

async fn fetch_queued(context: &Arc<FetchContext>, key: Key) -> Result<Option<Event>, Error> {
    let Some(outgoing) = queued(context, key).await? else { return Ok(None) };
    let url = outgoing.summary.place.url().to_owned();
    let is_form = outgoing.summary.kind == RequestKind::Post;
    if is_form && !context.storage.store.requeue(on_its_way(&outgoing)).await? {
        return Ok(None);
    }
    context.fetcher.send_event(outgoing.summary.place.owner(), Event::Start { url: url.clone() });
    let mut sent = HashSet::from([outgoing.summary.target().to_owned()]);
    let mut verdict = attempt_spelling(context, outgoing.clone(), &mut sent).await?;
    for respelled in outgoing.respelled() {
        if sent.insert(respelled.summary.target().to_owned()) {
            verdict = verdict.combine(attempt_spelling(context, respelled, &mut sent).await?);
        }
    }
    debug!(url, ?verdict, "fetched");
    record_verdict(context, outgoing, verdict).await
}

/// Ends a queued request whose response another node has fetched, and which is in the spool now.
/// Queues what follows from it, and returns the event to report. `None` if the spool does not have
/// the response, or the request has left the queue.
#[cfg(feature = "tier")]
pub(super) async fn finish_answered(
    context: &Arc<FetchContext>,
    key: Key,
) -> Result<Option<Event>, Error> {
    let Some(outgoing) = context.storage.store.queued(key).await? else { return Ok(None) };
    let answered = Box::pin(super::attempt::answer_from_spool(context, &outgoing)).await;
    let Some(mut verdict) = answered else { return Ok(None) };
    queue_following(context, outgoing.summary.place.owner(), &mut verdict).await?;
    record_verdict(context, outgoing, verdict).await
}

/// Records the result of a request in the queue. Returns the event to report.
async fn record_verdict(
    context: &Arc<FetchContext>,
    outgoing: Outgoing,
    verdict: FetchVerdict,
) -> Result<Option<Event>, Error> {
    let key = outgoing.summary.place.key();
    let url = outgoing.summary.place.url().to_owned();
    let is_form = outgoing.summary.kind == RequestKind::Post;
    match verdict {
        FetchVerdict::Done { status, bytes, how, .. } => {
            let done = Event::Done { url, status: status.as_u16(), bytes };
            let is_gone = dequeue_answered(context, &outgoing).await?;
            monitor::report::send_if_changed(context, key);
            report_to_runs(context, &outgoing, status, bytes, how);
            Ok(is_gone.then_some(done))
        }
        FetchVerdict::LeftOut(why) => {
            // The request stays if a person has made it again in the meantime.
            dequeue_answered(context, &outgoing).await?;
            recurse::outcome::record_exclusion(context, &outgoing, why);
            Ok(None)
        }
        FetchVerdict::Again { error, status, acted: true, .. } if is_form => {
            let error =
                format!("{error}; it may have arrived, so it is not sent again automatically");
            give_up_request(context, outgoing, error, status).await
        }
        FetchVerdict::Again { error, status, wait, .. } => {
            retry_later(context, outgoing, error, status, wait).await
        }
        FetchVerdict::TooLong { bytes } => ask_for_consent(context, outgoing, bytes).await,
        FetchVerdict::Failed { error, status } => {
            give_up_request(context, outgoing, error, status).await
        }
        FetchVerdict::Untried => {
            if is_form {
                context.storage.store.requeue(outgoing).await?;
            }
            Ok(None)
        }
    }
}

/// Attempts a request for one spelling of its URL, and follows its redirects to other spellings.
/// All spellings have the same key, so their requests cannot be queued separately. `sent` has the
/// targets requested so far, which are not requested again.
async fn attempt_spelling(
    context: &Arc<FetchContext>,
    mut outgoing: Outgoing,
    sent: &mut HashSet<String>,
) -> Result<FetchVerdict, Error> {
    loop {
        let mut verdict = Box::pin(attempt(context, &outgoing)).await;
        let next = take_respelled(&mut verdict, &outgoing);
        queue_following(context, outgoing.summary.place.owner(), &mut verdict).await?;
        let Some(next) = next.filter(|next| sent.insert(next.summary.target().to_owned())) else {
            return Ok(verdict);
        };
        if let Some((error, status)) = failure_reason(&next.summary.fetching.state) {
            return Ok(FetchVerdict::Failed { error, status });
        }
        outgoing = Outgoing { any_length: outgoing.any_length, ..next };
    }
}

/// Takes the request for another spelling of the URL of `outgoing` out of the requests that follow,
/// if there is one.
fn take_respelled(verdict: &mut FetchVerdict, outgoing: &Outgoing) -> Option<Outgoing> {
    let FetchVerdict::Done { led, .. } = verdict else { return None };
    let is_same = |next: &Outgoing| next.summary.place.key() == outgoing.summary.place.key();
    let index = led.next.iter().position(is_same)?;
    Some(led.next.remove(index))
}

/// Reads the request with this key; `None` if it has left the queue. If an import marked the
/// request as the start of a recursive fetch, starts the recursive fetch first.
async fn queued(context: &Arc<FetchContext>, key: Key) -> Result<Option<Outgoing>, Error> {
    let Some(mut outgoing) = context.storage.store.queued(key).await? else { return Ok(None) };
    let Some(spec) = monitor::fetch_spec(&outgoing) else { return Ok(Some(outgoing)) };
    outgoing.options = None;
    match recurse::begin_at(context, outgoing.clone(), &spec).await {
        Ok(_) => {}
        Err(NotBegun::Page(WantError::Spool(error))) => return Err(error),
        // The page itself is fetched anyway.
        Err(error) => warn!(error = error_chain(&error), "links of a page are not followed"),
    }
    // Starting the recursive fetch has changed the queued request, so it is read again.
    let Some(mut begun) = context.storage.store.queued(key).await? else { return Ok(None) };
    begun.options = None;
    let is_there = context.storage.store.requeue(begun.clone()).await?;
    Ok(is_there.then_some(begun))
}

/// Queues the requests that follow from a response, and reports their events.
async fn queue_following(
    context: &FetchContext,
    owner: Option<&str>,
    verdict: &mut FetchVerdict,
) -> Result<(), Error> {
    let FetchVerdict::Done { led, .. } = verdict else { return Ok(()) };
    let FollowUps { next, events } = std::mem::take(led);
    if !next.is_empty() {
        enqueue(context, next).await?;
    }
    for event in events {
        context.fetcher.send_event(owner, event);
    }
    Ok(())
}

/// Removes the request, unless it was requested again. Returns whether the request was removed.
async fn dequeue_answered(context: &FetchContext, outgoing: &Outgoing) -> Result<bool, Error> {
    let finished = context.storage.store.finish_queued(outgoing.clone()).await?;
    // If the request was made again in the meantime, it stays in the queue and is examined again.
    // By then, the stored copy may be enough to answer it.
    Ok(matches!(finished, FinishOutcome::Gone))
}

/// Queues the requests that follow. Requests that cannot be fetched or queued are reported to their
/// runs as failed, and so are requests that wait for a person's consent. Queued requests that
/// failed earlier for other runs are retried.
async fn enqueue(context: &FetchContext, next: Vec<Outgoing>) -> Result<(), Error> {
    let (waiting, given_up): (Vec<_>, Vec<_>) = next
        .into_iter()
        .partition(|request| request.summary.fetching.state == RequestState::Waiting);
    let wanted: Vec<_> = waiting
        .iter()
        .filter(|request| !request.summary.runs.is_empty())
        .map(|request| request.summary.place.key())
        .collect();
    let taken = recurse::outcome::runs_of(&waiting);
    let rejected = given_up.clone();
    let all = waiting.into_iter().chain(given_up).collect();
    let unqueued = match context.storage.store.enqueue_next(all).await {
        Ok(unqueued) => unqueued,
        Err(error) => {
            recurse::outcome::release_requests(context, taken);
            return Err(error);
        }
    };
    for Unqueued { request, error } in unqueued {
        let (url, error) = (request.summary.place.url(), error_chain(&error));
        warn!(url, error, "the links of a page cannot be queued");
        recurse::outcome::failed(context, &request, &error, false);
    }
    for request in &rejected {
        if let Some((reason, _)) = failure_reason(&request.summary.fetching.state) {
            recurse::outcome::failed(context, request, &reason, false);
        }
    }
    for key in wanted {
        retry_failed(context, key).await?;
    }
    Ok(())
}

/// Retries a request that is already queued, has failed and is now wanted by a run. If the request
/// waits for consent, reports it to its runs as failed.
async fn retry_failed(context: &FetchContext, key: Key) -> Result<(), Error> {
    let state =
        context.storage.store.spool().queue().summary(&key).map(|known| known.fetching.state);
    if matches!(state, None | Some(RequestState::Waiting)) {
        return Ok(());
    }
    let Some(known) = context.storage.store.queued(key).await? else { return Ok(()) };
    match failure_reason(&known.summary.fetching.state) {
        Some((reason, _))
            if matches!(known.summary.fetching.state, RequestState::Asking { .. }) =>
        {
            recurse::outcome::failed(context, &known, &reason, false);
        }
        Some(_) => {
            context.storage.store.requeue(reset_attempts(known)).await?;
        }
        None => {}
    }
    Ok(())
}

/// Reports the result of a request to its runs.
fn report_to_runs(
    context: &FetchContext,
    outgoing: &Outgoing,
    status: StatusCode,
    bytes: u64,
    how: recurse::run::UrlOutcome,
) {
    if status.is_client_error() || status.is_server_error() {
        let is_dead = matches!(status.as_u16(), 404 | 410);
        recurse::outcome::failed(
            context,
            outgoing,
            &format!("the origin responded with {status}"),
            is_dead,
        );
    } else {
        let brought = if how == recurse::run::UrlOutcome::Fetched { bytes } else { 0 };
        recurse::outcome::record(context, outgoing, how, brought);
    }
}

/// Returns `form` in the failed state. The queue records this state while the form is being sent.
/// If the daemon ends during this time, the next daemon does not send the form again. It is unknown
/// whether the origin received the form, so only the owner can decide.
pub(super) fn on_its_way(form: &Outgoing) -> Outgoing {
    let reason = "the daemon ended while it was being sent; it is not known whether it arrived";
    let state = RequestState::Failed { reason: reason.to_owned(), status: None };
    let mut form = form.clone();
    form.summary.fetching.state = state;
    form
}

/// Reports that the result of a request cannot be recorded, and pauses. The request is still due,
/// and its origin would otherwise be contacted repeatedly.
async fn pause_after_failure(context: &FetchContext, error: &Error) {
    spool_failed(error);
    tokio::select! {
        () = tokio::time::sleep(AFTER_SPOOL_FAILURE) => {}
        () = context.base.tasks.stopping() => {}
    }
}

/// Records a temporary failure. The request is retried after a growing delay, and given up after
/// the last attempt.
async fn retry_later(
    context: &FetchContext,
    mut outgoing: Outgoing,
    error: String,
    status: Option<u16>,
    wait: Option<Duration>,
) -> Result<Option<Event>, Error> {
    let options = &context.base.config().fetch_options;
    outgoing.summary.fetching.attempts = outgoing.summary.fetching.attempts.saturating_add(1);
    let now = timestamp(clock::now());
    if let Some(wait) = wait {
        context.fetcher.close(&outgoing.summary.place.key(), time_after(now, wait));
    }
    let Some(delay) = delay(options, outgoing.summary.fetching.attempts) else {
        return give_up_request(context, outgoing, error, status).await;
    };
    let next = time_after(now, delay.max(wait.unwrap_or_default()));
    outgoing.summary.fetching.not_before = Some(next);
    outgoing.summary.fetching.last_error = Some(error.clone());
    let url = outgoing.summary.place.url().to_owned();
    let is_there = context.storage.store.requeue(outgoing).await?;
    Ok(is_there.then_some(Event::Retry { url, error, next }))
}

/// Makes a request wait until a person allows such a large response. The received bytes are
/// preserved, and the download will be resumed.
async fn ask_for_consent(
    context: &FetchContext,
    mut outgoing: Outgoing,
    bytes: Option<u64>,
) -> Result<Option<Event>, Error> {
    let url = outgoing.summary.place.url().to_owned();
    outgoing.summary.fetching.not_before = None;
    outgoing.summary.fetching.state = RequestState::Asking { bytes };
    let failure = failure_reason(&outgoing.summary.fetching.state);
    let Some((error, status)) = failure else { return Ok(None) };
    // For its runs the request counts as failed until a person allows it.
    recurse::outcome::failed(context, &outgoing, &error, false);
    let is_there = context.storage.store.requeue(outgoing).await?;
    Ok(is_there.then_some(Event::Failed { url, status, error }))
}

async fn give_up_request(
    context: &FetchContext,
    mut outgoing: Outgoing,
    error: String,
    status: Option<u16>,
) -> Result<Option<Event>, Error> {
    let url = outgoing.summary.place.url().to_owned();
    warn!(url, error, "a queued request failed");
    outgoing.summary.fetching.not_before = None;
    fail(&mut outgoing, error.clone(), status);
    recurse::outcome::failed(context, &outgoing, &error, matches!(status, Some(404 | 410)));
    let is_there = context.storage.store.requeue(outgoing).await?;
    Ok(is_there.then_some(Event::Failed { url, status, error }))
}
