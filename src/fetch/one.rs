//! One queued request, from the queue to the spool.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::VARY;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Request, StatusCode};
use jiff::Timestamp;
use tracing::{debug, warn};
use wwwoffle_config::UrlParts;
use wwwoffle_spool::{Outgoing, RequestKind, RequestState, Secrets};
use wwwoffle_url::CanonicalUrl;

use super::redirect::{MAX_HOPS, location, redirected, shown};
use super::{spool_failed, want};
use crate::api::Event;
use crate::clock;
use crate::daemon::Daemon;
use crate::error_chain::error_chain;
use crate::mode::Mode;
use crate::proxy::ask::Ask;
use crate::proxy::download::{Download, Headed, Job, Joined, Leaving, Outcome, run};
use crate::proxy::keep::{Keeping, NotKept};
use crate::proxy::lookup::look_up;
use crate::proxy::owner::{Owner, Places, Whose};
use crate::proxy::rules::{Asker, Ruling, Standing, parent, ruled};
use crate::proxy::target::of_url;
use crate::proxy::{censor, choose, head};
use crate::store::{Kept, timestamp};
use crate::upstream::Failure;

/// The longest time between two attempts.
const MAX_DELAY: Duration = Duration::from_secs(15 * 60);

/// How long a request rests when the spool cannot record what became of it.
const AFTER_SPOOL_FAILURE: Duration = Duration::from_secs(10);

/// Why a request is given up whose answer would be nobody's.
const UNKNOWN_OWNER: &str = "it is somebody's whom this version does not know";

/// What is to become of a request after an attempt.
#[derive(Debug)]
enum Verdict {
    /// Its answer is kept; it leaves the queue.
    Done { status: StatusCode, bytes: u64 },
    /// It may pass: it waits for another attempt. `acted` says that the origin may have done what
    /// the request asks.
    Again { error: String, status: Option<u16>, acted: bool },
    /// It will not pass.
    Failed { error: String, status: Option<u16> },
    /// The line went away before anything was tried; it waits as before.
    Untried,
}

/// Fetches one request of the queue and records what came of it.
pub(super) async fn fetch(daemon: &Arc<Daemon>, key: wwwoffle_url::Key) {
    let outgoing = match daemon.store.queued(key).await {
        Ok(Some(outgoing)) => outgoing,
        Ok(None) => return,
        Err(error) => return rest(daemon, &error).await,
    };
    let url = outgoing.place.url().to_owned();
    let is_form = outgoing.kind == RequestKind::Post;
    if is_form {
        match daemon.store.requeue(on_its_way(&outgoing)).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return rest(daemon, &error).await,
        }
    }
    daemon.fetcher.tell(Event::Start { url: url.clone() });
    let verdict = attempt(daemon, &outgoing).await;
    debug!(url, ?verdict, "fetched");
    let recorded = match verdict {
        Verdict::Done { status, bytes } => daemon.store.dequeue(key).await.map(|_| {
            daemon.fetcher.tell(Event::Done { url, status: status.as_u16(), bytes });
        }),
        Verdict::Again { error, status, acted: true } if is_form => {
            let error = format!("{error}; it may have arrived, so it is not sent again by itself");
            fail(daemon, outgoing, error, status).await
        }
        Verdict::Again { error, status, .. } => again(daemon, outgoing, error, status).await,
        Verdict::Failed { error, status } => fail(daemon, outgoing, error, status).await,
        Verdict::Untried if is_form => daemon.store.requeue(outgoing).await.map(drop),
        Verdict::Untried => Ok(()),
    };
    if let Err(error) = recorded {
        rest(daemon, &error).await;
    }
}

/// A form as it stands on the queue while it is sent. A daemon that ends meanwhile does not send it
/// again: nobody knows whether the origin has it, and only its owner can say whether that matters.
fn on_its_way(form: &Outgoing) -> Outgoing {
    let reason = "the daemon ended while it was being sent; it is not known whether it arrived";
    let state = RequestState::Failed { reason: reason.to_owned(), status: None };
    Outgoing { state, ..form.clone() }
}

/// Leaves the request alone for a while: what became of it cannot be recorded, so it is due still,
/// and its origin would be asked again and again without a pause.
async fn rest(daemon: &Daemon, error: &wwwoffle_spool::Error) {
    spool_failed(error);
    tokio::select! {
        () = tokio::time::sleep(AFTER_SPOOL_FAILURE) => {}
        () = daemon.tasks.stopping() => {}
    }
}

/// Records a failure that may pass: a growing delay, and at last an end of it.
async fn again(
    daemon: &Daemon,
    mut outgoing: Outgoing,
    error: String,
    status: Option<u16>,
) -> Result<(), wwwoffle_spool::Error> {
    let options = &daemon.config().fetch_options;
    outgoing.attempts = outgoing.attempts.saturating_add(1);
    if usize::try_from(outgoing.attempts).unwrap_or(usize::MAX) >= options.attempts.get() {
        return fail(daemon, outgoing, error, status).await;
    }
    let delay = delay(options.retry_delay, outgoing.attempts);
    let next = timestamp(clock::now() + delay);
    outgoing.not_before = Some(next);
    outgoing.last_error = Some(error.clone());
    let url = outgoing.place.url().to_owned();
    if daemon.store.requeue(outgoing).await? {
        daemon.fetcher.tell(Event::Retry { url, error, next });
    }
    Ok(())
}

async fn fail(
    daemon: &Daemon,
    mut outgoing: Outgoing,
    error: String,
    status: Option<u16>,
) -> Result<(), wwwoffle_spool::Error> {
    let url = outgoing.place.url().to_owned();
    warn!(url, error, "a request of the queue was given up");
    outgoing.not_before = None;
    outgoing.last_error = Some(error.clone());
    outgoing.state = RequestState::Failed { reason: error.clone(), status };
    if daemon.store.requeue(outgoing).await? {
        daemon.fetcher.tell(Event::Failed { url, status, error });
    }
    Ok(())
}

/// How long to wait after the `attempts`th attempt: each time twice as long.
fn delay(first: Duration, attempts: u32) -> Duration {
    let factor = 1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(MAX_DELAY)
}

async fn attempt(daemon: &Arc<Daemon>, outgoing: &Outgoing) -> Verdict {
    if let Some(verdict) = by_rule(daemon, outgoing).await {
        return verdict;
    }
    let (request, job, kept) = match prepare(daemon, outgoing).await {
        Ok(prepared) => prepared,
        Err(error) => return Verdict::Failed { error, status: None },
    };
    if let Some(kept) = kept.as_ref().filter(|kept| is_answered(outgoing, kept)) {
        return Verdict::Done { status: kept.status, bytes: kept.entry.body_len() };
    }
    let (download, outcome) = carry_out(daemon, outgoing, &request.headers, job).await;
    match outcome {
        Outcome::Kept(status) => {
            if let Err(error) = follow(daemon, outgoing, request, &download).await {
                return Verdict::Again { error, status: Some(status.as_u16()), acted: true };
            }
            let bytes = match download.head().await {
                Headed::Keeping(_) => download.feed().length(),
                Headed::Unchanged(confirmed) => confirmed.kept.entry.body_len(),
                Headed::Passing(_) | Headed::Unkeepable(_) | Headed::Failed(_) => 0,
            };
            Verdict::Done { status, bytes }
        }
        Outcome::NotKept(status, reason) => not_kept(status, reason),
        Outcome::Unkeepable(error) => {
            Verdict::Again { error: error_chain(error.as_ref()), status: None, acted: true }
        }
        Outcome::Failed(failure) => match &*failure {
            Failure::Offline | Failure::Stopping => Verdict::Untried,
            failure if failure.may_pass() => {
                let acted = !failure.is_before_sending();
                Verdict::Again { error: failure.chain(), status: None, acted }
            }
            failure => Verdict::Failed { error: failure.chain(), status: None },
        },
    }
}

/// Whether the answer has come by another way: somebody else has asked for the same, who has no
/// more secrets than this request, and everyone may have it. A redirect is followed for each.
fn is_answered(outgoing: &Outgoing, kept: &Kept) -> bool {
    matches!(outgoing.kind, RequestKind::Page | RequestKind::Part)
        && matches!(outgoing.secrets, Secrets::None)
        && kept.entry.place().owner().is_none()
        && kept.status.is_success()
        && kept.entry.when() > outgoing.queued
        && !kept.fields.contains_key(VARY)
}

/// Asks the origin, or joins whoever asks the same already, and waits for the end.
async fn carry_out(
    daemon: &Arc<Daemon>,
    outgoing: &Outgoing,
    fields: &HeaderMap,
    job: Job,
) -> (Arc<Download>, Outcome) {
    let downloads = &daemon.downloads;
    if outgoing.kind != RequestKind::Post {
        let about = job.about.identities();
        match downloads.join(&job.places, fields, about, clock::now()) {
            Joined::Running(download) => {
                let (download, outcome) = download.outcome().await;
                let is_elsewhere = match download.head().await {
                    Headed::Keeping(head) => {
                        (head.whose == Whose::Own && !download.is_of(&job.places))
                            || !download.serves(fields, &head.fields)
                    }
                    _ => false,
                };
                let is_left = matches!(
                    &outcome,
                    Outcome::Failed(failure) if matches!(**failure, Failure::Abandoned)
                );
                if !is_elsewhere && !is_left {
                    return (download, outcome);
                }
                // It was kept for who asked first; or all others have left it.
            }
            Joined::New(download) => return run_ours(daemon, job, download).await,
        }
    }
    let alone = downloads.alone(&job.places, fields, clock::now());
    run_ours(daemon, job, alone).await
}

async fn run_ours(
    daemon: &Arc<Daemon>,
    job: Job,
    download: Arc<Download>,
) -> (Arc<Download>, Outcome) {
    daemon.tasks.spawn(run(Arc::clone(daemon), job, Arc::clone(&download)));
    let (download, outcome) = download.outcome().await;
    // An answer that is not kept is nobody's; one that a client asked for is the client's.
    drop(download.take());
    (download, outcome)
}

/// What becomes of a request by its URL and who asked for it. The configuration may have changed
/// since it was queued, and redirects lead anywhere.
async fn by_rule(daemon: &Arc<Daemon>, outgoing: &Outgoing) -> Option<Verdict> {
    let failed = |error: &str| Some(Verdict::Failed { error: error.to_owned(), status: None });
    // What is no URL fails for that reason, later.
    let url = CanonicalUrl::parse(base(outgoing), &daemon.local).ok()?;
    // One whose secrets are lost fails for that reason, later.
    let asker = recorded(outgoing).map_or_else(
        |_| Asker::default(),
        |request| Asker::of_recorded(&request.headers, outgoing.page.as_deref(), &daemon.local),
    );
    let to = match ruled(&daemon.config(), &url, &asker) {
        Ruling::Usual(Standing::Usual) => return None,
        Ruling::Usual(Standing::NeverKept | Standing::Nearby) => {
            return failed("the configuration says that it is never kept");
        }
        Ruling::Blocked { by, .. } => {
            debug!(url = url.as_str(), %by, "blocked");
            return failed("the configuration says that it is never got ([dont-get])");
        }
        Ruling::Moved { to, .. } => to,
    };
    let status = StatusCode::TEMPORARY_REDIRECT;
    let followed = match recorded(outgoing) {
        Ok(request) => enqueue_next(daemon, outgoing, request, status, &to, None).await,
        Err(error) => return failed(&error),
    };
    Some(match followed {
        Ok(()) => Verdict::Done { status, bytes: 0 },
        Err(error) => Verdict::Again { error, status: None, acted: false },
    })
}

/// Rebuilds the request, and asks with what is kept if there is something.
async fn prepare(
    daemon: &Daemon,
    outgoing: &Outgoing,
) -> Result<(Parts, Job, Option<Arc<Kept>>), String> {
    let request = recorded(outgoing)?;
    // The port is all that is needed of it: path and fields are as they were recorded.
    let mut resource =
        of_url(base(outgoing), &daemon.local).map_err(|error| error_chain(&error))?;
    let places = Places::of_queued(&outgoing.place, &daemon.local).ok_or(UNKNOWN_OWNER)?;
    let places = Arc::new(places);
    let mut sent = Request::from_parts(request.clone(), ());
    let url = CanonicalUrl::parse(base(outgoing), &daemon.local)
        .map_err(|error| error_chain(&error))?
        .without_credentials();
    let (config, parts) = (daemon.config(), UrlParts::of(&url));
    censor::request(&config, &url, sent.headers_mut());
    resource.origin.via = parent(&config, &url, &daemon.pseudonym);
    let selecting = || sent.headers().clone();
    let found = choose::find(&daemon.store, &places, config.caching.shared, selecting).await;
    let found = found.map_err(|error| error_chain(&error))?;
    let personal = !matches!(outgoing.secrets, Secrets::None);
    let is_form = outgoing.kind == RequestKind::Post;
    let job = Job {
        places,
        origin: resource.origin,
        head: sent,
        body: (!outgoing.body.is_empty() || is_form).then(|| Bytes::from(outgoing.body.clone())),
        kept: found.near().map(|kept| kept.status),
        // What waits here waits for a page, and can wait longer.
        keeping: Keeping { errors: false, ..Keeping::of(&config, &parts, &request.headers) },
        answers: None,
        about: found.about(|_| !is_form, personal),
        leaving: Leaving::queued(&config, &UrlParts::of(&url)),
        interim: None,
    };
    Ok((request, job, found.own().map(Arc::clone)))
}

/// Whose a request is.
fn owner(outgoing: &Outgoing) -> Result<Owner, String> {
    Owner::of_queued(&outgoing.place).ok_or_else(|| UNKNOWN_OWNER.to_owned())
}

/// The request as it was recorded, with its secrets.
fn recorded(outgoing: &Outgoing) -> Result<Parts, String> {
    let secrets = match &outgoing.secrets {
        Secrets::None => &[][..],
        Secrets::Open(secrets) => secrets,
        Secrets::Unreadable(_) => {
            return Err(
                "its cookies and credentials cannot be read any more; ask for it again in \
                        the browser"
                    .to_owned(),
            );
        }
    };
    head::read_request(&outgoing.head, secrets)
        .map_err(|error| format!("the recorded request cannot be read: {error}"))
}

/// The URL of a request, without what the key of a POST adds.
fn base(outgoing: &Outgoing) -> &str {
    let url = outgoing.place.url();
    if outgoing.kind == RequestKind::Post { url.split("?!").next().unwrap_or(url) } else { url }
}

fn not_kept(status: StatusCode, reason: NotKept) -> Verdict {
    let code = Some(status.as_u16());
    let error = match reason {
        NotKept::OriginError => format!("the origin answered {status}"),
        NotKept::AboutTheRequest => format!("the origin refused: {status}"),
        NotKept::WouldReplaceGood => {
            format!("the origin answered {status}; the older copy stays")
        }
        NotKept::Partial => "the origin answered with a part of the page".to_owned(),
        NotKept::Endless => "the answer has no end".to_owned(),
        NotKept::NoStore => {
            "the answer must not be stored, and the configuration says to heed that ([caching] \
             no-store)"
                .to_owned()
        }
        NotKept::NoPage => {
            format!("the origin answered {status}; the older copy stays (keep-cache-if-not-found)")
        }
    };
    let may_pass = reason == NotKept::OriginError || matches!(status.as_u16(), 408 | 425 | 429);
    if may_pass {
        // RFC 9110 §15: with these an origin says that it has not begun.
        let acted = !matches!(status.as_u16(), 408 | 425 | 429 | 503);
        Verdict::Again { error, status: code, acted }
    } else {
        Verdict::Failed { error, status: code }
    }
}

/// Puts the place that a redirect leads to on the queue, before the redirect itself leaves it.
async fn follow(
    daemon: &Arc<Daemon>,
    outgoing: &Outgoing,
    request: Parts,
    download: &Download,
) -> Result<(), String> {
    let (status, fields) = match download.head().await {
        Headed::Keeping(head) => (head.status, head.fields.clone()),
        Headed::Unchanged(confirmed) => (confirmed.kept.status, confirmed.fields),
        Headed::Passing(_) | Headed::Unkeepable(_) | Headed::Failed(_) => return Ok(()),
    };
    let Some(target) = location(base(outgoing), status, &fields) else { return Ok(()) };
    let left_to_browsers = "the configuration leaves it to browsers ([dont-get] get-recursive)";
    let forbidden = (!is_recursive(daemon, &target)).then_some(left_to_browsers);
    enqueue_next(daemon, outgoing, request, status, &target, forbidden).await
}

/// Whether a URL may be got because another page leads there.
fn is_recursive(daemon: &Daemon, url: &str) -> bool {
    CanonicalUrl::parse(url, &daemon.local)
        .is_ok_and(|url| *daemon.config().dont_get.get_recursive.of(&UrlParts::of(&url)))
}

/// Puts what comes after a request on the queue; what is `forbidden` as one that has failed for that
/// reason.
async fn enqueue_next(
    daemon: &Arc<Daemon>,
    outgoing: &Outgoing,
    request: Parts,
    status: StatusCode,
    target: &str,
    forbidden: Option<&str>,
) -> Result<(), String> {
    let event = Event::Redirect {
        url: outgoing.place.url().to_owned(),
        status: status.as_u16(),
        location: shown(daemon, target),
    };
    let owner = owner(outgoing)?;
    let next = successor(daemon, outgoing, owner, request, status, target);
    if let Some((mut next, places)) = next {
        if let Some(reason) = forbidden {
            let reason = format!("a redirect led here: {reason}");
            next.last_error = Some(reason.clone());
            next.state = RequestState::Failed { reason, status: None };
        }
        let found = look_up(&daemon.store, &places).await.map_err(|error| error_chain(&error))?;
        if found.choose(Mode::Offline).is_none() || outgoing.kind == RequestKind::Refresh {
            daemon.store.enqueue(next).await.map_err(|error| error_chain(&error))?;
        }
    }
    daemon.fetcher.tell(event);
    Ok(())
}

/// The request that follows a redirect; one that cannot be made is recorded as failed, so that a
/// person sees why the page is not there. `None` for a place that is no URL of the web. Where a redirect
/// leads is for the same person.
fn successor(
    daemon: &Daemon,
    outgoing: &Outgoing,
    owner: Owner,
    request: Parts,
    status: StatusCode,
    target: &str,
) -> Option<(Outgoing, Arc<Places>)> {
    let kind = match outgoing.kind {
        RequestKind::Post => RequestKind::Page,
        kind => kind,
    };
    let resource = match of_url(target, &daemon.local) {
        Ok(resource) => resource,
        Err(error) => {
            let mut url = CanonicalUrl::parse(target, &daemon.local).ok()?;
            let places = Places::of(&mut url, &HeaderMap::new(), &owner);
            let head = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", url.host_port());
            let mut failed = Outgoing::new(places.queued.clone(), head.into_bytes(), kind, now());
            let reason = format!("a redirect led here: {}", error_chain(&error));
            failed.last_error = Some(reason.clone());
            failed.state = RequestState::Failed { reason, status: None };
            return (!url.is_local()).then_some((failed, Arc::new(places)));
        }
    };
    let old = of_url(base(outgoing), &daemon.local).ok()?;
    let parts = redirected(request, status, &old.origin, &resource.origin);
    let keeps_body = parts.method == hyper::Method::POST;
    let body = keeps_body.then(|| Bytes::from(outgoing.body.clone()));
    let mut parts = parts;
    parts.headers = without_hop(parts.headers);
    let ask = Ask::new(daemon, owner, resource, parts, body, daemon.mode.now(), clock::now());
    let mut next = want::outgoing(daemon, &ask, if keeps_body { RequestKind::Post } else { kind });
    next.body = if keeps_body { outgoing.body.clone() } else { Vec::new() };
    next.page.clone_from(&outgoing.page);
    next.queued = outgoing.queued;
    next.hops = outgoing.hops.saturating_add(1);
    if next.hops > MAX_HOPS {
        let reason = format!("more than {MAX_HOPS} redirects in a row");
        next.last_error = Some(reason.clone());
        next.state = RequestState::Failed { reason, status: Some(status.as_u16()) };
    }
    Some((next, ask.places))
}

/// Our own hop is added again when the request is written.
fn without_hop(mut fields: HeaderMap) -> HeaderMap {
    fields.remove(hyper::header::VIA);
    fields
}

fn now() -> Timestamp {
    timestamp(clock::now())
}

#[cfg(test)]
mod tests;
