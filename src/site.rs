//! Our own web site: its pages, forms and API.
//!
//! ```text
//! over_tcp ─── entry ─┬─ /api/… ─ api ─┐
//!                     └─ dispatch ─────┼─ routes ── guard ── handler
//! over_socket ────────── /api/… ─ api ─┘
//! ```
//!
//! `routes` is the table of all addresses. A route names its guard, which is checked before its
//! handler runs.
//!
//! Over TCP only our own names are answered, so that no other site's name can be made to lead here.
//! Other sites may only load public files, or open a page of ours in a window: see `isolation`. A
//! request that changes something is a POST with a token: see [`crate::page::guard`]. `entry` asks
//! for passwords. Over the socket in the spool, neither a token nor a password is needed: a process
//! that may open the socket may do everything.

pub mod address;
mod api;
pub mod browser;
mod caller;
pub mod captures;
pub mod certificates;
pub mod collections;
pub mod configuration;
pub mod context;
pub mod control;
pub mod entries;
mod entry;
pub mod fetches;
mod former;
mod forms;
mod gateway;
pub mod history;
pub mod home;
pub mod info;
mod isolation;
pub mod link;
pub mod lists;
mod local_files;
pub mod missing;
pub mod monitor;
mod permission;
pub mod purge;
pub mod queue;
mod route;
mod routes;
pub mod search;
pub mod statistics;
mod status;
pub mod usage;

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderValue};
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Request, Response};
use wwwoffle_url::CanonicalUrl;

use self::caller::Caller;
use self::route::{Handler, PageRequest, PathRoutes};
use crate::base::mode::Mode;
use crate::page::guard::GuardRefusal;
use crate::page::message::Message;
use crate::proxy::body::Body;
use crate::proxy::client_connection::PageClient;
use crate::proxy::quota;
use crate::site::context::SiteContext;

/// Responds to a request for one of our own pages, or a call of the API, at the local URL `url`.
///
/// The server drops this future when the client disconnects. Operations on the disk that have
/// started are still completed, but no others are started.
pub async fn over_tcp(
    context: Arc<SiteContext>,
    mode: Mode,
    url: &CanonicalUrl,
    page_client: PageClient,
    request: Request<Incoming>,
) -> Response<Body> {
    let mut response = respond(context, mode, url, page_client, request).await;
    isolation::isolate(response.headers_mut(), url.path());
    response
}

async fn respond(
    context: Arc<SiteContext>,
    mode: Mode,
    url: &CanonicalUrl,
    page_client: PageClient,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let mut caller = Caller::over_tcp(context, mode, url, &page_client, &request);
    // A request under a foreign name, or caused by another site, is refused without asking for a
    // password.
    if caller.check_origin().is_ok()
        && let Err(denied) = entry::admit(&mut caller, url.path(), &page_client, &mut request).await
    {
        return if api::has(url.path()) {
            api::denied(&caller, denied)
        } else {
            caller.denied(denied)
        };
    }
    caller.shell.notice = quota::notice(&caller.context.proxy, &caller.owner);
    if api::has(url.path()) {
        return api::answer(&caller, url.path(), url.arguments(), request).await;
    }
    match caller.check_origin() {
        Ok(()) => {}
        Err(GuardRefusal::OpenedElsewhere) => {
            let address = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
            return caller.message(&Message::OpenedElsewhere { address });
        }
        Err(refusal) => return caller.message(&Message::Forbidden(refusal)),
    }
    dispatch(&caller, url.path(), url.arguments(), request).await
}

/// Responds to a request for a page or a form by its route.
async fn dispatch(
    caller: &Caller,
    path: &str,
    arguments: Option<&str>,
    request: Request<Incoming>,
) -> Response<Body> {
    let routes = PathRoutes::at(path);
    let Some(allowed) = routes.allowed() else {
        return caller.message(&Message::NotFound { path });
    };
    let Some(route) = routes.with(request.method()) else {
        return not_with(caller, request.method(), allowed);
    };
    match route.handler {
        Handler::Page(show) => {
            show(caller, PageRequest { path, arguments, fields: request.headers() }).await
        }
        Handler::Moved(to) => caller.see_other(to),
        Handler::Form(submit) => forms::submit(caller, route.guard, submit, path, request).await,
        Handler::Call(_) => caller.message(&Message::NotFound { path }),
    }
}

/// Responds to a call of the API on the control socket, which has no pages.
///
/// Dropping this future has the same effect as for [`over_tcp`].
pub async fn over_socket(context: Arc<SiteContext>, request: Request<Incoming>) -> Response<Body> {
    let caller = Caller::over_socket(context);
    let uri = request.uri().clone();
    api::answer(&caller, uri.path(), uri.query(), request).await
}

/// Whether `method` only reads. HEAD is handled like GET; the server omits the body.
fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

fn not_with(caller: &Caller, method: &Method, allowed: &'static str) -> Response<Body> {
    let mut response = caller.message(&Message::MethodNotAllowed { method: method.as_str() });
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
