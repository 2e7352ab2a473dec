//! The daemon's own pages, forms and API: who may, and where it goes.
//!
//! ```text
//! over_tcp ─── entry ── guard ── /api/… ── api ── stream, entries
//!                            ├──── GET ───── pages
//!                            ├──── POST ──── forms
//!                            └──── /configuration/… ── configuration
//! over_socket ──────────────────── /api/… ── api
//! ```
//!
//! Over TCP only a name of ours is answered, so that no other site's name can be made to lead here, and
//! other sites may only open our pages in a window: see `isolation`.
//! What changes something is a POST with a token; see [`crate::page::guard`]. Who has to give which
//! password is in `entry`. Over the socket in the spool there is neither: whoever may open it may do everything.

mod api;
mod base_element;
mod caller;
mod certificate;
mod configuration;
pub mod context;
mod control;
mod entry;
pub mod entry_info;
pub mod exchange;
pub(crate) mod export;
mod exposition;
mod former;
mod forms;
mod gate;
mod history;
mod home;
mod icons;
mod info;
mod isolation;
mod lists;
mod local;
mod local_pages;
mod metrics;
mod missing;
mod monitor;
pub mod pages;
mod permission;
mod purge;
mod queue;
mod refresh;
mod removed;
mod search;
pub(crate) mod source;
mod statistics;
mod status;
mod undone;
pub mod version_list;
mod versions;

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{Method, Request, Response};
use wwwoffle_url::CanonicalUrl;

use self::caller::Caller;
use self::forms::Act;
use self::local_pages::Local;
use crate::base::mode::Mode;
use crate::page::message::Message;
use crate::proxy::body::Body;
use crate::proxy::visitor::PageVisit;
use crate::site::context::SiteContext;

/// Answers a request for one of our own pages, or a call of the API, at `url`, which is local.
///
/// Dropping it is what happens when the client leaves: what was begun on the disk is done all the
/// same, nothing else is begun.
pub async fn over_tcp(
    context: Arc<SiteContext>,
    mode: Mode,
    url: &CanonicalUrl,
    visit: PageVisit,
    request: Request<Incoming>,
) -> Response<Body> {
    let mut response = respond(context, mode, url, visit, request).await;
    isolation::isolate(response.headers_mut(), url.path());
    response
}

async fn respond(
    context: Arc<SiteContext>,
    mode: Mode,
    url: &CanonicalUrl,
    visit: PageVisit,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let mut caller = Caller::over_tcp(context, mode, url, &visit, &request);
    // Under a foreign name, or for another site, nobody is even asked for a password.
    if caller.check_origin().is_ok()
        && let Err(denied) = entry::admit(&mut caller, url.path(), &visit, &mut request).await
    {
        return if api::has(url.path()) {
            api::denied(&caller, denied)
        } else {
            caller.denied(denied)
        };
    }
    if api::has(url.path()) {
        return api::answer(&caller, url.path(), url.arguments(), request).await;
    }
    if let Err(refusal) = caller.check_origin() {
        return caller.message(&Message::Forbidden(refusal));
    }
    if let Some(place) = configuration::Where::at(url.path()) {
        let method = request.method().clone();
        let answer = configuration::answer(&caller, place, url.arguments(), request).await;
        return answer.unwrap_or_else(|| not_with(&caller, &method, place.allowed()));
    }
    let method = request.method();
    if let Some(path) = local::at(url.path()) {
        return if is_read(method) {
            local::serve(&caller, path, request.headers()).await
        } else {
            not_with(&caller, method, "GET, HEAD")
        };
    }
    if let Some(now) = former::now_at(url.path(), url.arguments()) {
        return if is_read(method) {
            caller.see_other(&now)
        } else {
            not_with(&caller, method, "GET, HEAD")
        };
    }
    match (Local::at(url.path()), Act::at(url.path())) {
        (Some(page), _) if is_read(method) => {
            local_pages::answer(&caller, page, url.path(), url.arguments()).await
        }
        (Some(_), _) => not_with(&caller, method, "GET, HEAD"),
        (None, Some(act)) if method == Method::POST => forms::submit(&caller, act, request).await,
        (None, Some(Act::DeleteList)) if is_read(method) => {
            lists::whole::ask(&caller, url.arguments()).await
        }
        (None, Some(_)) if is_read(method) && control::has_button(url.path()) => {
            control::confirm(&caller, url.path(), url.arguments()).await
        }
        (None, Some(_)) => not_with(&caller, method, "POST"),
        (None, None) if is_of_the_past(url.path()) => {
            caller.message(&Message::NoLonger { path: url.path() })
        }
        (None, None) => caller.message(&Message::NotFound { path: url.path() }),
    }
}

/// Answers a call of the API on the control socket; there are no pages there.
///
/// Dropping it does what it does for [`over_tcp`].
pub async fn over_socket(context: Arc<SiteContext>, request: Request<Incoming>) -> Response<Body> {
    let caller = Caller::over_socket(context);
    let uri = request.uri().clone();
    api::answer(&caller, uri.path(), uri.query(), request).await
}

/// Whether a path is one that 2.9 fetched something for, by protocols that this program does not speak.
fn is_of_the_past(path: &str) -> bool {
    ["/ftp/", "/finger/"].iter().any(|protocol| path.starts_with(protocol))
}

/// HEAD is answered like GET; the server leaves the body out.
fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

fn not_with(caller: &Caller, method: &Method, allowed: &'static str) -> Response<Body> {
    let mut response = caller.message(&Message::MethodNotAllowed { method: method.as_str() });
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
