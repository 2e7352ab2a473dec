//! Records the exchanges of a command, or answers its requests from a recording: `wwwoffle run`.
//!
//! ```text
//! request     what of a request counts: its key
//! session     the recorded exchanges, and which of them answers a request
//! recording   the body of a response on its way to the client, collected for the fixture
//! difference  why the nearest recorded request does not match
//! report      what happened, for people and for test reports
//! link        a simulated slow or faulty link
//! socket      WebSockets: their messages instead of a body
//! ```
//!
//! In such a daemon the spool is not used: a request is answered by a recorded exchange, forwarded
//! and recorded, or reported as missing. So nothing that depends on the time, such as freshness,
//! changes a response, and a response has no `Age`, `Via`, `Cache-Status` or `Date`.

mod difference;
pub mod link;
mod recording;
pub mod report;
mod request;
mod session;
pub(in crate::proxy) mod socket;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{AGE, CONTENT_LENGTH, DATE, HeaderName, HeaderValue, UPGRADE, VIA};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response, StatusCode};
use tokio::time::timeout;
use wwwoffle_http::caching::coding::Delivery;
use wwwoffle_http::caching::conditional;
use wwwoffle_http::fields::strip_one_hop;
use wwwoffle_http::head::shorten_referer;
use wwwoffle_url::CanonicalUrl;

use self::recording::{PendingExchange, RecordingBody};
use self::request::{FixtureRequest, fixture_url, without_dot};
use self::session::KnownExchange;
pub use self::session::{FixtureFault, FixtureSession, FixtureUse, SessionOptions};
use super::ask::ProxyRequest;
use super::body::{self, Body};
use super::keep::is_endless;
use super::target::Resource;
use super::{Client, recode, reply};
use crate::base::mode::Mode;
use crate::net::upstream::{Answer, Origin, Outbound};
use crate::proxy::context::ProxyContext;

/// The largest body of a request that is recorded or matched, in bytes. It is read whole, because
/// it is part of the key.
const MAX_REQUEST_BODY: usize = 16 << 20;

/// The time for the whole body of a request. The command runs on this machine.
const BODY_WITHIN: Duration = Duration::from_secs(120);

const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// The fields of a response that depend on the time or the way of the request.
const OF_THE_MOMENT: [HeaderName; 4] = [AGE, CACHE_STATUS, DATE, VIA];

/// The session in which a request is answered. `None` without a fixture, and for a request to
/// change the protocol while recording. It is forwarded. A WebSocket is recorded as it passes;
/// another protocol is reported as not recorded.
pub(super) fn session_for(
    context: &ProxyContext,
    resource: &Resource,
    parts: &Parts,
) -> Option<Arc<FixtureSession>> {
    let session = context.traffic.fixture.as_ref()?;
    let is_upgrade = parts.headers.contains_key(UPGRADE)
        || parts.extensions.get::<hyper::ext::Protocol>().is_some();
    if is_upgrade && session.records() && !is_noise(context, &resource.url) {
        if socket::is_asked(&parts.headers) {
            let asked = socket::socket_request(&resource.url, &parts.headers);
            return session.has(&asked).then(|| Arc::clone(session));
        }
        let url = resource.url.without_credentials();
        session.note_unrecorded(&parts.method, url.as_str(), "a protocol other than WebSocket");
        return None;
    }
    Some(Arc::clone(session))
}

/// The refusal of a connection to a host of which nothing is recorded, if nothing may be recorded.
/// The authority of the fixture does not sign for such a host, so the request inside the connection
/// would never arrive.
pub(super) fn refuse_host(context: &ProxyContext, origin: &Origin) -> Option<Response<Body>> {
    let session = context.traffic.fixture.as_ref()?;
    let url = format!("https://{origin}/");
    if CanonicalUrl::parse(&url, &context.base.local).is_ok_and(|url| is_noise(context, &url)) {
        return Some(refuse_noise());
    }
    let host = origin.host.to_ascii_lowercase();
    if session.records()
        || context.clients.tls.authority.permits(&origin.host)
        || session.hosts_with("http:").contains(&host)
    {
        return None;
    }
    Some(missing(session, &connect(origin)))
}

/// Whether browsers send requests for this URL on their own (`noise`), at a time that no test
/// decides. They are neither forwarded nor recorded nor reported.
fn is_noise(context: &ProxyContext, url: &CanonicalUrl) -> bool {
    context.base.config().noise().matches(url).is_some()
}

fn refuse_noise() -> Response<Body> {
    reply::plain(504, "browsers send this request on their own, so it is not recorded")
}

/// A request for a connection to `origin`.
fn connect(origin: &Origin) -> FixtureRequest {
    let url = format!("https://{}/", origin.to_string().trim_end_matches(":443"));
    let url = fixture_url(&url).unwrap_or(url);
    FixtureRequest { method: Method::CONNECT, url, fields: HeaderMap::new(), body: Bytes::new() }
}

/// Reports that a connection cannot be recorded because it is not HTTP. Returns whether it may be
/// passed on.
pub(super) fn note_tunnel(context: &ProxyContext, origin: &Origin) -> bool {
    let Some(session) = &context.traffic.fixture else { return true };
    if session.records() {
        session.note_unrecorded(&Method::CONNECT, &origin.to_string(), "not HTTP inside TLS");
    } else {
        session.note_missing(&connect(origin));
    }
    session.records()
}

/// Whether a connection that begins with these bytes is HTTP without TLS, which is recorded too.
/// Some clients open a tunnel for `http:` and `ws:`.
pub(super) fn speaks_plain_http(context: &ProxyContext, bytes: &[u8]) -> bool {
    let method = bytes.split(|byte| *byte == b' ').next().unwrap_or_default();
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_long = line.len() == bytes.len() && line.len() > 1_000;
    context.traffic.fixture.is_some()
        && (3..=20).contains(&method.len())
        && method.iter().all(u8::is_ascii_uppercase)
        // Other protocols, also HTTP/2, are passed on, and reported.
        && (is_long || line.ends_with(b" HTTP/1.1\r") || line.ends_with(b" HTTP/1.0\r"))
}

/// Reports a request for a WebSocket that the origin answered without opening one.
pub(super) fn note_closed_socket(context: &ProxyContext, ask: &ProxyRequest) {
    if let Some(session) = context.traffic.fixture.as_ref().filter(|session| session.records())
        && super::websocket::is_asked(ask.head.upgrade.as_ref())
    {
        let url = ask.resource.url.without_credentials();
        session.note_unrecorded(&socket::method(), url.as_str(), "the origin opened no WebSocket");
    }
}

/// Reports that the command does not trust the authority of the fixture.
pub(super) fn note_untrusting(context: &ProxyContext, host: &str) {
    if let Some(session) = &context.traffic.fixture {
        session.note_untrusting(host);
    }
}

/// Answers a request from the fixture, or forwards and records it, or reports it as missing.
pub(super) async fn answer(
    context: &Arc<ProxyContext>,
    session: Arc<FixtureSession>,
    (client, mode): (&Client, Mode),
    mut resource: Resource,
    mut parts: Parts,
    incoming: Incoming,
) -> Response<Body> {
    if is_noise(context, &resource.url) {
        return refuse_noise();
    }
    if socket::is_asked(&parts.headers) {
        return socket::answer(context, session, &resource.url, parts);
    }
    let asked = match read_request(&session, &resource, &parts, incoming).await {
        Ok(asked) => asked,
        Err(refused) => return refused,
    };
    let (found, number) = session.find(&asked);
    session.link().delay().await;
    resource.origin.reach = client.connection.reach();
    if matches!(asked.method, Method::GET | Method::HEAD) {
        // The fixture must have the whole response, whatever this client has in its own cache.
        conditional::strip(&mut parts.headers);
    }
    let owner = client.connection.owner();
    let ask = ProxyRequest::new(context, owner, resource, parts, None, mode);
    if let Some(found) = found {
        return replay(&session, &ask, &asked.method, &found);
    }
    if !session.records() {
        return missing(&session, &asked);
    }
    forward(context, &session, ask, (asked, number)).await
}

/// Reads a request with its whole body. Returns the refusal if the body is too long or breaks off.
async fn read_request(
    session: &FixtureSession,
    resource: &Resource,
    parts: &Parts,
    incoming: Incoming,
) -> Result<FixtureRequest, Response<Body>> {
    let mut asked = FixtureRequest {
        method: parts.method.clone(),
        url: without_dot(resource.url.without_credentials().as_str()),
        fields: parts.headers.clone(),
        body: Bytes::new(),
    };
    // As it is recorded.
    shorten_referer(&mut asked.fields);
    let read = timeout(BODY_WITHIN, Limited::new(incoming, MAX_REQUEST_BODY).collect()).await;
    if let Ok(Ok(collected)) = read {
        asked.body = collected.to_bytes();
        return Ok(asked);
    }
    let why = "the body of the request is longer than 16 MiB, or broke off";
    if session.records() {
        session.note_unrecorded(&asked.method, &asked.url, why);
    } else {
        session.note_missing_because(&asked, vec![why.to_owned()]);
    }
    Err(reply::plain(413, why))
}

/// The response of a recorded exchange.
fn replay(
    session: &FixtureSession,
    ask: &ProxyRequest,
    method: &Method,
    found: &KnownExchange,
) -> Response<Body> {
    let mut fields = found.fields().clone();
    let has_length = fields.contains_key(CONTENT_LENGTH);
    let body = match found.body() {
        body if !has_body(method, found.status()) => body::from_bytes(body),
        body if has_length => {
            fields.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
            body::from_bytes(body)
        }
        // Without a length, the body is sent in chunks, as it was when it was recorded.
        body => StreamBody::new(stream::iter([Ok(Frame::data(body))])).boxed_unsync(),
    };
    respond(session, ask, (found.status(), fields), body)
}

/// Sends a request to its origin, and records the response.
async fn forward(
    context: &Arc<ProxyContext>,
    session: &Arc<FixtureSession>,
    mut ask: ProxyRequest,
    (asked, number): (FixtureRequest, u64),
) -> Response<Body> {
    let body = match asked.method {
        Method::GET | Method::HEAD | Method::OPTIONS | Method::DELETE if asked.body.is_empty() => {
            Outbound::Empty
        }
        _ => Outbound::Whole(asked.body.clone()),
    };
    // A client that gets a body which must not be decoded gets it as if there were no proxy.
    let codings = ask.codings.clone();
    ask.codings.use_client_codings();
    let head = ask.origin_request(&context.base.pseudonym);
    ask.codings = codings;
    match context.net.upstream.send(&ask.resource.origin, head, body, None).await {
        Ok(answer) => record(session, &ask, (asked, number), answer),
        Err(failure) => {
            session.note_unrecorded(&asked.method, &asked.url, &failure.chain());
            reply::failed(context, &ask, &failure, None)
        }
    }
}

/// The response of the origin, whose body is recorded while it is sent.
fn record(
    session: &Arc<FixtureSession>,
    ask: &ProxyRequest,
    (asked, number): (FixtureRequest, u64),
    answer: Answer,
) -> Response<Body> {
    let (mut parts, incoming) = answer.into_parts();
    strip_one_hop(&mut parts.headers);
    let pending = PendingExchange::new(session, (asked, number), &ask.resource.path, &parts);
    let body = RecordingBody::new(body::unstored(incoming), pending).boxed_unsync();
    respond(session, ask, (parts.status, parts.headers), body)
}

/// The last step of a recorded and of a replayed response, so that both are equal.
fn respond(
    session: &FixtureSession,
    ask: &ProxyRequest,
    (status, mut fields): (StatusCode, HeaderMap),
    body: Body,
) -> Response<Body> {
    if !session.sends_all_fields() {
        for name in &OF_THE_MOMENT {
            fields.remove(name);
        }
    }
    let delivery: Delivery = ask.codings.deliver(status, &fields);
    delivery.amend(&mut fields);
    if delivery.is_decoded() {
        fields.remove(CONTENT_LENGTH);
    }
    let body = session.link().carry(recode::body(delivery, body), is_endless(&fields));
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = fields;
    response
}

fn missing(session: &FixtureSession, asked: &FixtureRequest) -> Response<Body> {
    reply::plain(504, &session.note_missing(asked).to_string())
}

/// Whether the response has the body whose length its head declares.
fn has_body(method: &Method, status: StatusCode) -> bool {
    *method != Method::HEAD
        && !status.is_informational()
        && status != StatusCode::NO_CONTENT
        && status != StatusCode::NOT_MODIFIED
}
