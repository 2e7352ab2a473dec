//! Requests a page by its URL, without a browser.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::{Method, Request};
use wwwoffle_spool::{AddOutcome, Error, Outgoing, Place, RequestKind, RequestState, Secrets};

use super::redirect::MAX_HOPS;
use crate::base::mode::Mode;
use crate::base::owner::Requester;
use crate::fetch::context::FetchContext;
use crate::proxy::ask::ProxyRequest;
use crate::proxy::censor::OUR_USER_AGENT;
use crate::proxy::rules::{Ruling, StoragePolicy};
use crate::proxy::target::{BadTarget, Resource, of_url};
use crate::storage::lookup::look_up;
use crate::storage::store::timestamp;
use wwwoffle_http::head;

/// The result of requesting a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantOutcome {
    /// The page is stored, and no newer version was requested.
    Kept {
        /// The URL, without credentials.
        url: String,
        /// The place where a request for the page would be queued.
        place: Place,
        /// The status of the stored response.
        status: u16,
        /// The length of the stored body.
        bytes: u64,
    },
    /// The request is queued.
    Queued {
        /// The place of the request in the queue.
        place: Place,
        /// The URL, without credentials.
        url: String,
    },
}

/// The reason why a page cannot be requested.
#[derive(Debug, thiserror::Error)]
pub enum WantError {
    /// The URL cannot be fetched.
    #[error("the URL cannot be fetched")]
    Url(#[from] BadTarget),
    /// The configuration blocks the URL.
    #[error("the configuration forbids fetching {0} ([dont-get])")]
    Blocked(String),
    /// The port of the URL belongs to another protocol.
    #[error("the port of {0} belongs to another protocol; [dont-get] allowed-ports can allow it")]
    OtherProtocol(String),
    /// The configuration forbids storing the response.
    #[error("the configuration forbids storing {0}, so it cannot be fetched for later")]
    NeverKept(String),
    /// The URL names the stored response to a form.
    #[error("{0} is the response to a form; only sending the form again gets a new one")]
    FormAnswer(String),
    /// The aliases of the URL form a cycle.
    #[error("the aliases of {0} form a cycle")]
    Circle(String),
    /// The spool failed.
    #[error("the request cannot be recorded")]
    Spool(#[from] Error),
}

/// Queues a page for `requester`, unless it is stored and `refresh` is not set. A request that has
/// failed before is tried again.
///
/// # Errors
///
/// [`WantError`] if the page cannot be requested or the spool fails.
pub async fn request_page(
    context: &Arc<FetchContext>,
    requester: &Requester,
    url: &str,
    refresh: bool,
) -> Result<WantOutcome, WantError> {
    let ask = follow_aliases(context, requester, of_url(url, &context.base.local)?)?;
    let shown = ask.places.queued.url().to_owned();
    let found = look_up(&context.storage.store, &ask.places).await?;
    let copy = found.spelled(&ask.places.spelling).choose(Mode::Offline);
    if let Some(copy) = copy.as_ref().filter(|_| !refresh) {
        let (status, bytes) = (copy.status.as_u16(), copy.entry.body_len());
        return Ok(WantOutcome::Kept {
            url: shown,
            place: ask.places.queued.clone(),
            status,
            bytes,
        });
    }
    let ask = unless_form_answer(ask)?;
    let kind = if copy.is_some() { RequestKind::Refresh } else { RequestKind::Page };
    put(context, outgoing(context, &ask, kind)).await?;
    context.fetcher.wake();
    Ok(WantOutcome::Queued { place: ask.places.queued.clone(), url: shown })
}

/// A form that is sent without a browser.
#[derive(Clone, Debug)]
pub struct FormDraft {
    /// The method.
    pub method: Method,
    /// The media type of the body.
    pub content_type: HeaderValue,
    /// The body.
    pub body: Bytes,
}

/// Queues a form for `requester`. It is sent once. The same form that has failed before is sent
/// again.
///
/// # Errors
///
/// [`WantError`] if the form cannot be sent to `url`, or the spool fails.
pub async fn send_form(
    context: &Arc<FetchContext>,
    requester: &Requester,
    url: &str,
    form: &FormDraft,
) -> Result<WantOutcome, WantError> {
    let ask = draft(context, requester, of_url(url, &context.base.local)?, Some(form))?;
    let ask = unless_form_answer(ask)?;
    put(context, outgoing(context, &ask, RequestKind::Post)).await?;
    context.fetcher.wake();
    let place = ask.places.queued.clone();
    Ok(WantOutcome::Queued { url: place.url().to_owned(), place })
}

/// Queues a request. If the same request is already in the queue and has failed, or waits for
/// consent to its size, it becomes due again, because the requester wants it now. A monitored
/// request never gives this consent: only the user can.
pub(crate) async fn put(context: &FetchContext, outgoing: Outgoing) -> Result<(), Error> {
    let (key, is_by_person) =
        (outgoing.summary.place.key(), outgoing.summary.kind != RequestKind::Monitored);
    if context.storage.store.enqueue(outgoing).await? == AddOutcome::New {
        return Ok(());
    }
    let Some(known) = context.storage.store.queued(key).await? else { return Ok(()) };
    let rests = match known.summary.fetching.state {
        RequestState::Waiting => false,
        RequestState::Failed { .. } => true,
        RequestState::Asking { .. } => is_by_person,
    };
    if rests {
        context.storage.store.requeue(retry_with_consent(known)).await?;
    }
    Ok(())
}

/// Makes a request wait again as if it had never been tried. If the request waits for consent to
/// its size, this gives the consent.
pub(super) fn retry_with_consent(mut request: Outgoing) -> Outgoing {
    request.any_length |= matches!(request.summary.fetching.state, RequestState::Asking { .. });
    reset_attempts(request)
}

/// Makes a request wait again as if it had never been tried, with the same limit of its size.
pub(super) fn reset_attempts(mut request: Outgoing) -> Outgoing {
    request.summary.fetching.state = RequestState::Waiting;
    (request.summary.fetching.attempts, request.summary.fetching.not_before) = (0, None);
    request
}

/// The request that `requester` would queue for a page now.
///
/// # Errors
///
/// [`WantError`] describes the fault of the URL.
pub(crate) fn request(
    context: &FetchContext,
    requester: &Requester,
    url: &str,
    kind: RequestKind,
) -> Result<Outgoing, WantError> {
    let ask = follow_aliases(context, requester, of_url(url, &context.base.local)?)?;
    Ok(outgoing(context, &unless_form_answer(ask)?, kind))
}

/// Refuses a request for the stored response to a form: the origin does not know its URL.
pub(super) fn unless_form_answer(ask: ProxyRequest) -> Result<ProxyRequest, WantError> {
    if ask.asked.form_answer {
        return Err(WantError::FormAnswer(ask.bare.as_str().to_owned()));
    }
    Ok(ask)
}

/// Follows the aliases of `resource` and returns a request for the target. Fails if the target may
/// not be queued.
pub(super) fn follow_aliases(
    context: &FetchContext,
    requester: &Requester,
    resource: Resource,
) -> Result<ProxyRequest, WantError> {
    draft(context, requester, resource, None)
}

/// Like [`follow_aliases`], for a form if there is one.
fn draft(
    context: &FetchContext,
    requester: &Requester,
    resource: Resource,
    form: Option<&FormDraft>,
) -> Result<ProxyRequest, WantError> {
    let mut ask = draft_request(context, requester, resource, form);
    for _ in 0..MAX_HOPS {
        let shown = || ask.bare.as_str().to_owned();
        let to = match &ask.ruling {
            Ruling::Moved { to, .. } => to,
            Ruling::Blocked { .. } => return Err(WantError::Blocked(shown())),
            Ruling::OtherProtocol => return Err(WantError::OtherProtocol(shown())),
            Ruling::Usual(StoragePolicy::NeverKept | StoragePolicy::Nearby) => {
                return Err(WantError::NeverKept(shown()));
            }
            Ruling::Usual(StoragePolicy::Usual) => return Ok(ask),
        };
        ask = draft_request(context, requester, of_url(to, &context.base.local)?, form);
    }
    Err(WantError::Circle(ask.bare.as_str().to_owned()))
}

/// A request of our own for `resource`, on behalf of `requester`.
pub(super) fn build_request(
    context: &FetchContext,
    requester: &Requester,
    resource: Resource,
) -> ProxyRequest {
    draft_request(context, requester, resource, None)
}

fn draft_request(
    context: &FetchContext,
    requester: &Requester,
    mut resource: Resource,
    form: Option<&FormDraft>,
) -> ProxyRequest {
    resource.origin.reach = requester.asked_from.into();
    // The method of a new request is `GET`.
    let (mut parts, ()) = Request::new(()).into_parts();
    let accepted = HeaderValue::from_static("text/html,application/xhtml+xml,*/*;q=0.8");
    parts.headers.insert(ACCEPT, accepted);
    parts.headers.insert(USER_AGENT, HeaderValue::from_static(OUR_USER_AGENT));
    if let Some(form) = form {
        parts.method = form.method.clone();
        parts.headers.insert(CONTENT_TYPE, form.content_type.clone());
    }
    let (owner, mode) = (requester.owner.clone(), context.base.mode.now());
    let body = form.map(|form| form.body.clone());
    ProxyRequest::new(&context.proxy, owner, resource, parts, body, mode)
}

/// The queued form of the request `ask`.
pub(super) fn outgoing(context: &FetchContext, ask: &ProxyRequest, kind: RequestKind) -> Outgoing {
    let (parts, ()) = ask.origin_request(&context.base.pseudonym).into_parts();
    let secrets = head::write_secrets(&parts.headers);
    let head = head::write_request(&parts);
    let mut outgoing =
        Outgoing::new(ask.places.queued.clone(), head, kind, timestamp(ask.start.now));
    outgoing.body = ask.form.as_ref().map_or_else(Vec::new, |form| form.body.to_vec());
    outgoing.secrets = if secrets.is_empty() { Secrets::None } else { Secrets::Open(secrets) };
    outgoing.summary.asked_from = ask.requester_location();
    outgoing
}
