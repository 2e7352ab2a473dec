//! The request that follows another one because of a redirect or an alias.

use std::sync::Arc;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::VIA;
use hyper::http::request::Parts;
use wwwoffle_config::UrlParts;
use wwwoffle_spool::{Outgoing, RequestKind, RequestState};
use wwwoffle_url::CanonicalUrl;

use super::attempt::{owner, request_url};
use super::follow::FollowUps;
use super::redirect::{MAX_HOPS, redirected};
use super::want;
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::mode::Mode;
use crate::base::owner::{Owner, Places};
use crate::fetch::context::FetchContext;
use crate::proxy::ask::{ProxyRequest, is_form};
use crate::proxy::target::of_url;
use crate::storage::lookup::look_up;
use crate::storage::store::timestamp;
use wwwoffle_api::Event;
use wwwoffle_http::redirect::shown_location;

/// Returns the request that follows a redirect to `target`, if one must be queued, and the event to
/// report.
///
/// # Errors
///
/// The reason in words for the user, if the owner is unknown or the spool cannot be read.
pub(super) async fn redirect(
    context: &Arc<FetchContext>,
    outgoing: &Outgoing,
    request: &Parts,
    status: StatusCode,
    target: &str,
) -> Result<FollowUps, String> {
    let left_to_browsers = "the configuration fetches it only for browsers ([dont-get] \
        get-recursive)";
    let forbidden = (!is_recursive(context, target)).then_some(left_to_browsers);
    of(context, outgoing, request, status, target, forbidden).await
}

/// Returns the successor of a request, if it must be queued, and the event to report. A `forbidden`
/// successor counts as failed for that reason.
///
/// # Errors
///
/// The reason in words for the user, if the owner is unknown or the spool cannot be read.
pub(super) async fn of(
    context: &Arc<FetchContext>,
    outgoing: &Outgoing,
    request: &Parts,
    status: StatusCode,
    target: &str,
    forbidden: Option<&str>,
) -> Result<FollowUps, String> {
    let event = Event::Redirect {
        url: outgoing.summary.place.url().to_owned(),
        status: status.as_u16(),
        location: shown_location(target, &context.base.local),
    };
    let owner = owner(outgoing)?;
    let mut following = FollowUps { next: Vec::new(), events: vec![event] };
    let next = successor(context, outgoing, owner, request.clone(), status, target);
    let Some((mut next, places)) = next else { return Ok(following) };
    next.summary.asked_from = outgoing.summary.asked_from;
    next.summary.priority = outgoing.summary.priority;
    if let Some(reason) = forbidden {
        fail(&mut next, format!("a redirect led here: {reason}"), None);
    }
    let found =
        look_up(&context.storage.store, &places).await.map_err(|error| error_chain(&error))?;
    let copy = found.spelled(&places.spelling).choose(Mode::Offline);
    // A stored response to a form belongs to an earlier submission.
    let is_form = next.summary.kind == RequestKind::Post;
    if copy.is_none() || is_form || outgoing.summary.renew || !outgoing.summary.runs.is_empty() {
        following.next.push(next);
    }
    Ok(following)
}

/// The request that follows a redirect, for the owner of the redirected request. A request that
/// cannot be made is recorded as failed, so that the owner sees why the page is missing. `None` if
/// the target is not a URL of the web, or is a local page.
fn successor(
    context: &FetchContext,
    outgoing: &Outgoing,
    owner: Owner,
    request: Parts,
    status: StatusCode,
    target: &str,
) -> Option<(Outgoing, Arc<Places>)> {
    let kind = match outgoing.summary.kind {
        RequestKind::Post => RequestKind::Page,
        kind => kind,
    };
    let resource = match of_url(target, &context.base.local) {
        Ok(resource) => resource,
        Err(error) => {
            let url = CanonicalUrl::parse(target, &context.base.local).ok()?;
            let places = Places::of_url(&url, &owner);
            let head = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", url.host_port());
            let mut failed = Outgoing::new(
                places.queued.clone(),
                head.into_bytes(),
                kind,
                timestamp(clock::now()),
            );
            fail(&mut failed, format!("a redirect led here: {}", error_chain(&error)), None);
            return (!url.is_local()).then_some((failed, Arc::new(places)));
        }
    };
    let old = of_url(request_url(outgoing), &context.base.local).ok()?;
    let mut parts = redirected(request, status, &old.origin, &resource.origin);
    // Our own hop is added again when the request is written.
    parts.headers.remove(VIA);
    let keeps_body = is_form(&parts.method, Mode::Offline);
    let body = keeps_body.then(|| Bytes::from(outgoing.body.clone()));
    let ask =
        ProxyRequest::new(&context.proxy, owner, resource, parts, body, context.base.mode.now());
    let mut next = want::outgoing(context, &ask, if keeps_body { RequestKind::Post } else { kind });
    next.summary.page.clone_from(&outgoing.summary.page);
    next.summary.queued = outgoing.summary.queued;
    next.summary.runs.clone_from(&outgoing.summary.runs);
    next.summary.class.clone_from(&outgoing.summary.class);
    next.nesting = outgoing.nesting;
    next.summary.renew = outgoing.summary.renew;
    next.options.clone_from(&outgoing.options);
    next.summary.hops = outgoing.summary.hops.saturating_add(1);
    if next.summary.hops > MAX_HOPS {
        let reason = format!("more than {MAX_HOPS} redirects in a row");
        fail(&mut next, reason, Some(status.as_u16()));
    }
    Some((next, ask.places))
}

/// Marks a request as failed for `reason`.
pub(super) fn fail(request: &mut Outgoing, reason: String, status: Option<u16>) {
    request.summary.fetching.last_error = Some(reason.clone());
    request.summary.fetching.state = RequestState::Failed { reason, status };
}

/// Whether the configuration allows fetching a URL because another page refers to it.
fn is_recursive(context: &FetchContext, url: &str) -> bool {
    CanonicalUrl::parse(url, &context.base.local)
        .is_ok_and(|url| *context.base.config().dont_get.get_recursive.of(&UrlParts::of(&url)))
}
