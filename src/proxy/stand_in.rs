//! The responses for a URL that is replaced or blocked, and for methods and protocols that are not
//! allowed.

use hyper::header::{HeaderValue, LOCATION};
use hyper::{Method, Response};
use tracing::debug;
use wwwoffle_config::Location;

use super::ask::ProxyRequest;
use super::body::Body;
use super::client_connection::ClientConnection;
use super::protocols::allows_method;
use super::reply;
use super::rules::Ruling;
use super::status::CacheStatus;
use crate::page::message::{Message, Ruled};
use crate::proxy::context::ProxyContext;

/// The response for a URL or method for which no stored copy is looked up. `None` if the request is
/// handled as usual.
pub(super) fn response(
    context: &ProxyContext,
    connection: &ClientConnection,
    ask: &ProxyRequest,
) -> Option<Response<Body>> {
    Some(match &ask.ruling {
        Ruling::Moved { to, by } => redirect_to_alias(context, ask, to, by),
        Ruling::Blocked { by, replacement } => {
            blocked(context, connection, ask, by, replacement.as_deref())
        }
        Ruling::OtherProtocol => refuse(context, ask, Ruled::OtherProtocol),
        Ruling::Usual(_) if allows_method(&ask.start.config, &ask.bare, &ask.head.method) => {
            return None;
        }
        Ruling::Usual(_) => refuse(context, ask, Ruled::UnknownMethod),
    })
}

/// Redirects the browser to the new URL. The browser repeats the method and the body of a form.
fn redirect_to_alias(
    context: &ProxyContext,
    ask: &ProxyRequest,
    to: &str,
    by: &Location,
) -> Response<Body> {
    debug!(url = ask.resource.url.as_str(), to, %by, "an alias");
    let status = if is_safe(&ask.head.method) { 302 } else { 307 };
    redirect(context, ask, status, to, CacheStatus::Moved)
}

/// Redirects to the replacement of a blocked URL, or else reports that it is blocked, in the form
/// that suits the audience. Only clients on this machine see `by`: the configured blocks and the
/// path of the configuration file are private.
fn blocked(
    context: &ProxyContext,
    connection: &ClientConnection,
    ask: &ProxyRequest,
    by: &Location,
    replacement: Option<&str>,
) -> Response<Body> {
    let url = ask.resource.url.as_str();
    debug!(url, %by, replacement, "blocked");
    if let Some(with) = replacement.filter(|_| is_safe(&ask.head.method)) {
        let own = || format!("{}{with}", context.pages.origin);
        let to = if with.starts_with('/') { own() } else { with.to_owned() };
        return redirect(context, ask, 302, &to, CacheStatus::Blocked);
    }
    if let Some(response) = ask.head.audience.blocked_replacement() {
        return reply::with_status(response, CacheStatus::Blocked);
    }
    let place = by.to_string();
    let place = connection.peer.ip().to_canonical().is_loopback().then_some(place.as_str());
    let notice = Message::Ruled { url, ruled: Ruled::Blocked, place };
    reply::respond(context, ask, CacheStatus::Blocked, &notice)
}

/// Refuses a request whose port or method is not allowed.
fn refuse(context: &ProxyContext, ask: &ProxyRequest, ruled: Ruled) -> Response<Body> {
    let url = ask.resource.url.as_str();
    debug!(url, method = %ask.head.method, ?ruled, "refused");
    reply::respond(context, ask, CacheStatus::Blocked, &Message::Ruled { url, ruled, place: None })
}

fn redirect(
    context: &ProxyContext,
    ask: &ProxyRequest,
    status: u16,
    to: &str,
    cache_status: CacheStatus,
) -> Response<Body> {
    let Ok(to) = HeaderValue::from_str(to) else {
        return reply::respond(context, ask, cache_status, &Message::Internal);
    };
    let mut response = reply::plain(status, "");
    response.headers_mut().insert(LOCATION, to);
    reply::with_status(response, cache_status)
}

/// Whether the method is safe (RFC 9110 §9.2.1).
fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}
