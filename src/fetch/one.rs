//! One queued request, from the queue to the spool.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use tracing::{debug, warn};
use wwwoffle_spool::{Error, Finished, Outgoing, RequestKind, RequestState};
use wwwoffle_url::Key;

use super::attempt::attempt;
use super::follow::Following;
use super::recurse::NotBegun;
use super::schedule::after;
use super::verdict::{Verdict, delay};
use super::want::awake;
use super::{WantError, monitor, recurse, spool_failed, why_it_rests};
use crate::api::Event;
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::daemon::Daemon;
use crate::storage::store::{Unqueued, timestamp};

/// How long a request rests when the spool cannot record what became of it.
const AFTER_SPOOL_FAILURE: Duration = Duration::from_secs(10);

/// Fetches one request of the queue and records what came of it. Returns the event that says so: whoever
/// hears it may ask for the same request at once, so it is to be told when the request is active no more.
pub(super) async fn fetch(daemon: &Arc<Daemon>, key: Key) -> Option<Event> {
    match fetch_queued(daemon, key).await {
        Ok(event) => event,
        Err(error) => {
            rest(daemon, &error).await;
            None
        }
    }
}

async fn fetch_queued(daemon: &Arc<Daemon>, key: Key) -> Result<Option<Event>, Error> {
    let Some(outgoing) = queued(daemon, key).await? else { return Ok(None) };
    let url = outgoing.place.url().to_owned();
    let is_form = outgoing.kind == RequestKind::Post;
    if is_form && !daemon.storage.store.requeue(on_its_way(&outgoing)).await? {
        return Ok(None);
    }
    daemon.fetch.fetcher.tell(Event::Start { url: url.clone() });
    let verdict = attempt(daemon, &outgoing).await;
    debug!(url, ?verdict, "fetched");
    match verdict {
        Verdict::Done { status, bytes, led, how } => {
            let done = Event::Done { url, status: status.as_u16(), bytes };
            let is_gone = finish(daemon, &outgoing, led).await?;
            tell_runs(daemon, &outgoing, status, bytes, how);
            Ok(is_gone.then_some(done))
        }
        Verdict::LeftAlone => {
            daemon.storage.store.dequeue(key).await?;
            recurse::outcome::left_alone(daemon, &outgoing);
            Ok(None)
        }
        Verdict::Again { error, status, acted: true, .. } if is_form => {
            let error = format!("{error}; it may have arrived, so it is not sent again by itself");
            fail(daemon, outgoing, error, status).await
        }
        Verdict::Again { error, status, wait, .. } => {
            again(daemon, outgoing, error, status, wait).await
        }
        Verdict::TooLong { bytes } => ask(daemon, outgoing, bytes).await,
        Verdict::Failed { error, status } => fail(daemon, outgoing, error, status).await,
        Verdict::Untried => {
            if is_form {
                daemon.storage.store.requeue(outgoing).await?;
            }
            Ok(None)
        }
    }
}

/// The request of this key. If an import says that a recursive fetch begins with it, begins that first.
async fn queued(daemon: &Arc<Daemon>, key: Key) -> Result<Option<Outgoing>, Error> {
    let Some(mut outgoing) = daemon.storage.store.queued(key).await? else { return Ok(None) };
    let Some(aim) = monitor::aim(&outgoing) else { return Ok(Some(outgoing)) };
    outgoing.options = None;
    match recurse::begin_at(daemon, outgoing.clone(), &aim).await {
        Ok(_) => {}
        Err(NotBegun::Page(WantError::Spool(error))) => return Err(error),
        // The page itself is fetched all the same.
        Err(error) => warn!(error = error_chain(&error), "links of a page are not followed"),
    }
    // What the run wants of it is on the queue.
    let Some(mut begun) = daemon.storage.store.queued(key).await? else { return Ok(None) };
    begun.options = None;
    let is_there = daemon.storage.store.requeue(begun.clone()).await?;
    Ok(is_there.then_some(begun))
}

/// Puts what a request has led to on the queue, and then takes the request off it, unless more was asked
/// of it meanwhile. Returns whether it is off the queue.
async fn finish(daemon: &Daemon, outgoing: &Outgoing, led: Following) -> Result<bool, Error> {
    if !led.next.is_empty() {
        enqueue(daemon, led.next).await?;
    }
    led.events.into_iter().for_each(|event| daemon.fetch.fetcher.tell(event));
    let finished = daemon.storage.store.finish_queued(outgoing.clone()).await?;
    // What is wanted again is looked at again, and then there may be nothing to ask its origin.
    Ok(matches!(finished, Finished::Gone))
}

/// Puts on the queue what a request has led to, and tells the runs that have taken what cannot come. What has
/// failed for others is tried again for them; what asks a person has not come for them either.
async fn enqueue(daemon: &Daemon, next: Vec<Outgoing>) -> Result<(), Error> {
    let (waiting, given_up): (Vec<_>, Vec<_>) =
        next.into_iter().partition(|request| request.state == RequestState::Waiting);
    let wanted: Vec<_> = waiting
        .iter()
        .filter(|request| !request.wishes.is_empty())
        .map(|request| request.place.key())
        .collect();
    let taken = recurse::outcome::taken_by(&waiting);
    let told = given_up.clone();
    let all = waiting.into_iter().chain(given_up).collect();
    let unqueued = match daemon.storage.store.enqueue_next(all).await {
        Ok(unqueued) => unqueued,
        Err(error) => {
            recurse::outcome::untake(daemon, taken);
            return Err(error);
        }
    };
    for Unqueued { request, error } in unqueued {
        let (url, error) = (request.place.url(), error_chain(&error));
        warn!(url, error, "what a page leads to cannot be put on the queue");
        recurse::outcome::failed(daemon, &request, &error, false);
    }
    for request in &told {
        if let Some((reason, _)) = why_it_rests(&request.state) {
            recurse::outcome::failed(daemon, request, &reason, false);
        }
    }
    for key in wanted {
        wake(daemon, key).await?;
    }
    Ok(())
}

/// A request that runs want may have been on the queue already, and rest there.
async fn wake(daemon: &Daemon, key: Key) -> Result<(), Error> {
    let state = daemon.storage.store.spool().queue().summary(&key).map(|known| known.state);
    if matches!(state, None | Some(RequestState::Waiting)) {
        return Ok(());
    }
    let Some(known) = daemon.storage.store.queued(key).await? else { return Ok(()) };
    match why_it_rests(&known.state) {
        Some((reason, _)) if matches!(known.state, RequestState::Asking { .. }) => {
            recurse::outcome::failed(daemon, &known, &reason, false);
        }
        Some(_) => drop(daemon.storage.store.requeue(awake(known)).await?),
        None => {}
    }
    Ok(())
}

/// Tells those who follow links what came of a request.
fn tell_runs(
    daemon: &Daemon,
    outgoing: &Outgoing,
    status: StatusCode,
    bytes: u64,
    how: recurse::run::Outcome,
) {
    if status.is_client_error() || status.is_server_error() {
        let is_dead = matches!(status.as_u16(), 404 | 410);
        recurse::outcome::failed(
            daemon,
            outgoing,
            &format!("the origin answered {status}"),
            is_dead,
        );
    } else {
        let brought = if how == recurse::run::Outcome::Fetched { bytes } else { 0 };
        recurse::outcome::came(daemon, outgoing, how, brought);
    }
}

/// A form as it stands on the queue while it is sent. A daemon that ends meanwhile does not send it
/// again: nobody knows whether the origin has it, and only its owner can say whether that matters.
pub(super) fn on_its_way(form: &Outgoing) -> Outgoing {
    let reason = "the daemon ended while it was being sent; it is not known whether it arrived";
    let state = RequestState::Failed { reason: reason.to_owned(), status: None };
    Outgoing { state, ..form.clone() }
}

/// Leaves the request alone for a while: what became of it cannot be recorded, so it is due still,
/// and its origin would be asked again and again without a pause.
async fn rest(daemon: &Daemon, error: &Error) {
    spool_failed(error);
    tokio::select! {
        () = tokio::time::sleep(AFTER_SPOOL_FAILURE) => {}
        () = daemon.base.tasks.stopping() => {}
    }
}

/// Records a failure that may pass: a growing delay, and at last an end of it.
async fn again(
    daemon: &Daemon,
    mut outgoing: Outgoing,
    error: String,
    status: Option<u16>,
    wait: Option<Duration>,
) -> Result<Option<Event>, Error> {
    let options = &daemon.base.config().fetch_options;
    outgoing.attempts = outgoing.attempts.saturating_add(1);
    let now = timestamp(clock::now());
    if let Some(wait) = wait {
        daemon.fetch.fetcher.close(&outgoing.place.key(), after(now, wait));
    }
    let Some(delay) = delay(options, outgoing.attempts) else {
        return fail(daemon, outgoing, error, status).await;
    };
    let next = after(now, delay.max(wait.unwrap_or_default()));
    outgoing.not_before = Some(next);
    outgoing.last_error = Some(error.clone());
    let url = outgoing.place.url().to_owned();
    let is_there = daemon.storage.store.requeue(outgoing).await?;
    Ok(is_there.then_some(Event::Retry { url, error, next }))
}

/// Lets a person say whether something that long may come. What has come of it stays, and it goes on
/// from there.
async fn ask(
    daemon: &Daemon,
    mut outgoing: Outgoing,
    bytes: Option<u64>,
) -> Result<Option<Event>, Error> {
    let url = outgoing.place.url().to_owned();
    outgoing.not_before = None;
    outgoing.state = RequestState::Asking { bytes };
    let told = why_it_rests(&outgoing.state);
    let Some((error, status)) = told else { return Ok(None) };
    // For those who follow links it is one that did not come, until a person lets it.
    recurse::outcome::failed(daemon, &outgoing, &error, false);
    let is_there = daemon.storage.store.requeue(outgoing).await?;
    Ok(is_there.then_some(Event::Failed { url, status, error }))
}

async fn fail(
    daemon: &Daemon,
    mut outgoing: Outgoing,
    error: String,
    status: Option<u16>,
) -> Result<Option<Event>, Error> {
    let url = outgoing.place.url().to_owned();
    warn!(url, error, "a request of the queue was given up");
    outgoing.not_before = None;
    outgoing.last_error = Some(error.clone());
    outgoing.state = RequestState::Failed { reason: error.clone(), status };
    recurse::outcome::failed(daemon, &outgoing, &error, matches!(status, Some(404 | 410)));
    let is_there = daemon.storage.store.requeue(outgoing).await?;
    Ok(is_there.then_some(Event::Failed { url, status, error }))
}
