//! Handles requests while offline: queues them, asks the person, or refuses them.

use std::sync::Arc;

use hyper::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, PRAGMA, RANGE, TE,
    WWW_AUTHENTICATE,
};
use hyper::{Method, Request, Response};
use jiff::Timestamp;
use tracing::debug;
use wwwoffle_spool::{
    AddOutcome, Error as SpoolError, Outgoing, OutgoingSummary, QueuePosition, RequestKind,
    RequestState, Secrets,
};

use super::ask::{self, ProxyRequest};
use super::body::Body;
use super::decide::{DecisionRefusal, MethodKind};
use super::intent::Intent;
use super::rules::StoragePolicy;
use super::site_logins::LockedCopy;
use super::status::{CacheStatus, HitReason};
use super::{admit, like, reply, serve_copy};
use crate::base::error_chain::error_chain;
use crate::base::owner::Owner;
use crate::page::confirm::{self, Confirm};
use crate::page::message::{Denied, Message, Ruled};
use crate::page::ways::{FetchOffer, SimilarPage};
use crate::page::will_get::{self, WillGet};
use crate::proxy::context::ProxyContext;
use crate::storage::store::{StoredCopy, timestamp};
use wwwoffle_http::caching::conditional;
use wwwoffle_http::head;
use wwwoffle_url::Key;

/// Maximum number of queued sub-resources of one page. Otherwise a page that requests a new
/// sub-resource every second while it is read offline would fill the queue.
const MAX_PARTS_OF_A_PAGE: usize = 1_000;

/// Queues a requested page. A person gets the will-get page, a program a line of text.
pub(super) async fn queue_page(context: &ProxyContext, ask: &ProxyRequest) -> Response<Body> {
    let outgoing = outgoing(context, ask, RequestKind::Page);
    let key = outgoing.summary.place.key();
    let added = match enqueue(context, outgoing).await {
        Ok(added) => added,
        Err(error) if error.is_read_only() => {
            return refuse(context, ask, DecisionRefusal::OnlyOnline);
        }
        Err(error) => return reply::spool_failed(context, ask, &error),
    };
    let part = stored_lengths(context, ask).await;
    let response = if ask.asked.intent == Intent::Person {
        let (likes, has_versions) = find_similar(context, ask).await;
        let (url, fetch_token) = offered_fetch(context, ask);
        let shell = context.pages.shell(&ask.reader());
        let queue = context.storage.store.spool().queue();
        let waiting = queue.summary(&key).filter(|_| added == AddOutcome::Already);
        let position = position(context, ask, key);
        let known = waiting.as_ref().map(|waiting| waiting.priority);
        let priority = known.unwrap_or_default();
        let key = key.to_string();
        let (token, priority_token) =
            (context.pages.tokens.undo(&key), context.pages.tokens.priority(&key));
        let will_get = WillGet {
            url: ask.resource.url.as_str(),
            key: &key,
            undo_token: &token,
            recorded: waiting.as_ref().map(|waiting| waiting.queued),
            last_error: waiting.as_ref().and_then(|waiting| waiting.fetching.last_error.as_deref()),
            part,
            priority,
            priority_token: &priority_token,
            fetch: fetch_token.as_deref().map(|token| FetchOffer { url: &url, token }),
            likes: &likes,
            has_versions,
            position,
        };
        reply::render(&shell, will_get::page(&shell, &will_get))
    } else if part.is_some() {
        reply::plain(504, "only a part is stored; the rest is queued")
    } else {
        reply::plain(504, "not stored; the request is queued")
    };
    reply::with_status(response, CacheStatus::Queued)
}

/// Returns the position of a queued request among the waiting ones of the same person, from 1, and
/// their number. The requests of other people are not counted, so that the page does not reveal
/// them. `None` if the request does not wait: it failed, or was fetched in the meantime.
fn position(context: &ProxyContext, ask: &ProxyRequest, key: Key) -> Option<(u64, u64)> {
    let (queue, now) = (context.storage.store.spool().queue(), timestamp(ask.start.now));
    let own = fetch_order(&queue.summary(&key)?, now)?;
    let (mut before, mut all) = (0_u64, 0_u64);
    queue.visit(|request| {
        if Owner::of_queued(&request.place).as_ref() == Some(&ask.owner)
            && let Some(order) = fetch_order(request, now)
        {
            all += 1;
            before += u64::from(order < own);
        }
    });
    Some((before + 1, all.max(before + 1)))
}

/// Returns the sort key of a waiting request: those that may be fetched now, then the others by the
/// time when they may be. `None` if it does not wait.
fn fetch_order(
    request: &OutgoingSummary,
    now: Timestamp,
) -> Option<(Option<Timestamp>, QueuePosition)> {
    let is_waiting = request.fetching.state == RequestState::Waiting;
    let later = request.fetching.not_before.filter(|time| *time > now);
    is_waiting.then(|| (later, request.position()))
}

/// Adds a request to the queue. If the link has come up in the meantime, the request is sent at
/// once.
async fn enqueue(context: &ProxyContext, outgoing: Outgoing) -> Result<AddOutcome, SpoolError> {
    let added = context.storage.store.enqueue(outgoing).await;
    context.worker.wake();
    added
}

/// Stored pages that resemble the missing one, and whether older versions of it are stored. If they
/// cannot be read, the page is shown without them.
async fn find_similar(context: &ProxyContext, ask: &ProxyRequest) -> (Vec<SimilarPage>, bool) {
    let untold = |error: &SpoolError| {
        debug!(error = error_chain(error), "similar pages cannot be looked up");
    };
    let likes = like::of_host(context, &ask.owner, &ask.bare).await.inspect_err(untold);
    let versions = like::has_versions(context, &ask.places).await.inspect_err(untold);
    (likes.unwrap_or_default(), versions.unwrap_or_default())
}

/// The URL that the message about a missing page offers to fetch, and the token for the fetch. The
/// token is `None` if the request cannot be fetched in this way. If a password is required for
/// fetching, only one of our own pages can start the fetch.
pub(super) fn offered_fetch(
    context: &ProxyContext,
    ask: &ProxyRequest,
) -> (String, Option<String>) {
    let url = ask.bare.as_str().to_owned();
    let may = matches!(ask.asked.method, MethodKind::Get | MethodKind::Head)
        && ask.asked.standing == StoragePolicy::Usual
        && !ask.has_credentials()
        && ask.head.upgrade.is_none();
    let token = may.then(|| context.pages.tokens.fetch(&url));
    (url, token)
}

/// The total length of the stored segments, and that of the whole body if it is known. `None` if no
/// segment is stored.
async fn stored_lengths(context: &ProxyContext, ask: &ProxyRequest) -> Option<(u64, Option<u64>)> {
    for place in [&ask.places.own, &ask.places.public] {
        match context.storage.store.partial(place).await {
            Ok(Some(partial)) => {
                let ranges = partial.ranges().iter();
                let bytes = ranges.map(|range| range.end - range.start).sum();
                return Some((bytes, partial.complete_length()));
            }
            Ok(None) => {}
            Err(error) => {
                debug!(error = error_chain(&error), "the segments of a page cannot be looked up");
            }
        }
    }
    None
}

/// Queues a sub-resource; the response is empty, because it would not be displayed.
pub(super) async fn queue_part(context: &ProxyContext, ask: &ProxyRequest) -> Response<Body> {
    let mut outgoing = outgoing(context, ask, RequestKind::Part);
    outgoing.summary.page = ask.page(context).map(|page| page.as_str().to_owned());
    let page = outgoing.summary.page.as_deref().unwrap_or_default();
    if context.storage.store.spool().queue().parts_of(page) >= MAX_PARTS_OF_A_PAGE {
        debug!(page, "too many sub-resources of this page are waiting");
        return refuse(context, ask, DecisionRefusal::OnlyOnline);
    }
    match enqueue(context, outgoing).await {
        Ok(_) => reply::with_status(ask.head.audience.empty_response(504), CacheStatus::Queued),
        Err(error) if error.is_read_only() => refuse(context, ask, DecisionRefusal::OnlyOnline),
        Err(error) => reply::spool_failed(context, ask, &error),
    }
}

/// Serves the stored copy and queues the request to fetch a new one.
pub(super) async fn queue_refresh(
    context: &ProxyContext,
    ask: &ProxyRequest,
    copy: &Arc<StoredCopy>,
) -> Response<Body> {
    let why = match enqueue(context, outgoing(context, ask, RequestKind::Refresh)).await {
        Ok(_) => HitReason::RefreshQueued,
        Err(error) => {
            reply::log_spool_failure(&error, &error_chain(&error));
            HitReason::Offline
        }
    };
    serve_copy::serve(context, ask, copy, CacheStatus::Hit(why))
}

/// Asks the person whether to send a form, or to request a page, later.
pub(super) fn confirm(context: &ProxyContext, ask: &ProxyRequest, is_kept: bool) -> Response<Body> {
    let kind = match (ask.form.is_some(), is_kept) {
        (true, _) => RequestKind::Post,
        (false, true) => RequestKind::Refresh,
        (false, false) => RequestKind::Page,
    };
    let outgoing = outgoing(context, ask, kind);
    let content_type = ask.head.fields.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    question(context, ask, outgoing, (&ask.head.method, content_type), is_kept)
}

/// The page that asks whether to send `outgoing`.
pub(super) fn question(
    context: &ProxyContext,
    ask: &ProxyRequest,
    outgoing: Outgoing,
    (method, content_type): (&Method, Option<&str>),
    is_kept: bool,
) -> Response<Body> {
    let bytes = u64::try_from(outgoing.body.len()).unwrap_or(u64::MAX);
    let is_form = outgoing.summary.kind == RequestKind::Post;
    let url = ask.resource.url.as_str();
    let target = ask.resource.url.form_target();
    let tickets = &context.confirmations.tickets;
    let ticket = match tickets.issue(outgoing, ask.owner.clone(), ask.start.now) {
        Ok(ticket) => ticket,
        Err(error) => {
            tracing::error!(%error, "a ticket cannot be created");
            return reply::respond(context, ask, CacheStatus::Asking, &Message::Internal);
        }
    };
    let token = context.pages.tokens.confirm(&ticket);
    let question = Confirm {
        method: method.as_str(),
        is_form,
        url: target.as_deref().unwrap_or(url),
        body_bytes: bytes,
        content_type,
        ticket: &ticket,
        token: &token,
        kept: is_kept.then_some(url),
    };
    let shell = context.pages.shell(&ask.reader());
    let page = confirm::page(&shell, &question);
    reply::with_status(reply::render(&shell, page), CacheStatus::Asking)
}

/// Refuses the request, with the reason in the form that suits its client.
pub(super) fn refuse(
    context: &ProxyContext,
    ask: &ProxyRequest,
    refusal: DecisionRefusal,
) -> Response<Body> {
    let status = CacheStatus::Refused(refusal);
    let url = ask.resource.url.as_str();
    match refusal {
        DecisionRefusal::Noise => {
            reply::with_status(reply::line(ask.head.audience, 504, ""), status)
        }
        DecisionRefusal::OnlyOnline
            if ask::is_form(&ask.head.method, ask.start.mode) && ask.is_for_a_person() =>
        {
            reply::respond(context, ask, status, &Message::TooLargeToQueue { url })
        }
        DecisionRefusal::OnlyOnline => {
            let notice = Message::OfflineRefused { method: ask.head.method.as_str(), url };
            let mut response = reply::respond(context, ask, status, &notice);
            *response.status_mut() = hyper::StatusCode::GATEWAY_TIMEOUT;
            response
        }
        DecisionRefusal::FormAnswer => {
            reply::respond(context, ask, status, &Message::FormAnswer { url })
        }
        DecisionRefusal::NotKept => reply::respond(context, ask, status, &Message::NotKept { url }),
        DecisionRefusal::Login => ask_for_login(context, ask, None),
        DecisionRefusal::NeverKept => {
            let notice = Message::Ruled { url, ruled: Ruled::NeverKept, place: None };
            reply::respond(context, ask, status, &notice)
        }
        DecisionRefusal::OverQuota => reply::respond(context, ask, status, &Message::QuotaReached),
        DecisionRefusal::NotQueued => {
            let notice = Message::Ruled { url, ruled: Ruled::NotQueued, place: None };
            reply::respond(context, ask, status, &notice)
        }
        DecisionRefusal::Unconfirmed | DecisionRefusal::LeftToBrowsers => {
            let line = reply::line(
                ask.head.audience,
                504,
                "not stored, and not queued without confirmation",
            );
            reply::with_status(line, status)
        }
    }
}

/// Asks for the login that opens the stored copy, or says why no login opens it here.
pub(super) fn ask_for_login(
    context: &ProxyContext,
    ask: &ProxyRequest,
    locked: Option<LockedCopy>,
) -> Response<Body> {
    let (status, url) = (CacheStatus::Refused(DecisionRefusal::Login), ask.bare.as_str());
    match locked {
        Some(LockedCopy::Asks(challenge)) => {
            let mut response = reply::respond(context, ask, status, &Message::Locked { url });
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            response
        }
        Some(LockedCopy::Refused(refusal)) => {
            let denied = admit::denied(refusal, Denied::Busy);
            let response = reply::respond(context, ask, status, &Message::Denied(denied));
            admit::with_challenge(response, denied)
        }
        Some(LockedCopy::Closed) | None => {
            reply::respond(context, ask, status, &Message::LockedHere { url })
        }
    }
}

/// The request to store in the queue: without fields that only apply now.
fn outgoing(context: &ProxyContext, ask: &ProxyRequest, kind: RequestKind) -> Outgoing {
    let mut request = ask.origin_request(&context.base.pseudonym);
    if ask.head.method == Method::HEAD {
        *request.method_mut() = Method::GET;
    }
    to_queue(ask, request, ask.form.as_ref().map_or_else(Vec::new, |form| form.body.to_vec()), kind)
}

/// Converts a `request` with this `body` to an outgoing request.
pub(super) fn to_queue(
    ask: &ProxyRequest,
    mut request: Request<()>,
    body: Vec<u8>,
    kind: RequestKind,
) -> Outgoing {
    let fields = request.headers_mut();
    for name in [CACHE_CONTROL, PRAGMA, RANGE, TE, CONNECTION, CONTENT_LENGTH, ACCEPT_RANGES] {
        fields.remove(name);
    }
    // The conditions are removed after the range, because `strip` keeps `If-Range` as long as there
    // is a range. A form keeps its conditions: they decide whether it is executed.
    if ask.form.is_none() {
        conditional::strip(fields);
    }
    let secret = head::write_secrets(fields);
    let (parts, ()) = request.into_parts();
    let (place, head) = (ask.places.queued.clone(), head::write_request(&parts));
    let mut outgoing = Outgoing::new(place, head, kind, timestamp(ask.start.now));
    outgoing.body = body;
    outgoing.secrets = if secret.is_empty() { Secrets::None } else { Secrets::Open(secret) };
    outgoing.summary.asked_from = ask.requester_location();
    outgoing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::mode::Mode;
    use crate::base::owner::Owner;
    use crate::daemon::testing::TestDaemon;
    use crate::proxy::target::of_url;
    use wwwoffle_config::Config;
    use wwwoffle_spool::NewEntry;

    /// A request that started offline.
    fn ask(context: &ProxyContext, url: &str) -> ProxyRequest {
        let (resource, owner) = (of_url(url, &context.base.local).unwrap(), Owner::Local);
        let request = Request::new(()).into_parts().0;
        ProxyRequest::new(context, owner, resource, request, None, Mode::Offline)
    }

    async fn keep(context: &ProxyContext, ask: &ProxyRequest) -> Arc<StoredCopy> {
        let place = &ask.places.public;
        let (head, request) = (b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), b"GET / HTTP/1.1\r\n\r\n");
        let (asked, when) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
        let new = NewEntry { asked, when, head, request: request.to_vec(), connection: None };
        context.storage.store.spool().begin(place, new).unwrap().finish(None).unwrap();
        Arc::new(context.storage.store.stored_copy(place).await.unwrap().unwrap())
    }

    #[tokio::test]
    async fn only_waiting_requests_have_a_position_in_the_order_of_fetching() {
        let root = tempfile::tempdir().unwrap();
        let context = TestDaemon::new(&root, Config::default(), Mode::Offline).proxy();
        let ask = ask(&context, "http://h.example/");
        let now = timestamp(ask.start.now);
        let hour = jiff::SignedDuration::from_hours(1);
        let request = |not_before: Option<Timestamp>, state: RequestState| {
            let mut request = outgoing(&context, &ask, RequestKind::Page).summary;
            (request.fetching.not_before, request.fetching.state) = (not_before, state);
            fetch_order(&request, now)
        };
        let failed = RequestState::Failed { reason: String::new(), status: None };
        assert_eq!(request(None, failed), None);
        assert_eq!(request(None, RequestState::Asking { bytes: None }), None);
        let due = request(Some(now - hour), RequestState::Waiting);
        assert_eq!(due, request(None, RequestState::Waiting));
        let [later, last] = [now + hour, now + hour * 2].map(Some);
        let [later, last] = [later, last].map(|time| request(time, RequestState::Waiting));
        assert!(due.is_some() && due < later && later < last);
    }

    #[tokio::test]
    async fn a_request_queued_while_the_link_returns_is_fetched_at_once() {
        let root = tempfile::tempdir().unwrap();
        let context = TestDaemon::new(&root, Config::default(), Mode::Online);
        let (context, fetcher) = (context.proxy(), &context.fetch().fetcher);
        assert!(!fetcher.is_woken());
        queue_page(&context, &ask(&context, "http://h.example/page")).await;
        assert!(fetcher.is_woken(), "a page");
        queue_part(&context, &ask(&context, "http://h.example/part")).await;
        assert!(fetcher.is_woken(), "a part of one");
        let old = ask(&context, "http://h.example/old");
        let copy = keep(&context, &old).await;
        queue_refresh(&context, &old, &copy).await;
        assert!(fetcher.is_woken(), "what is kept");
        assert_eq!(context.storage.store.spool().queue().len(), 3);
    }
}
