//! The JSON API. Its types are in [`wwwoffle_api`].

pub(super) mod events;
pub(super) mod fault;
pub(super) mod line_report;
pub(super) mod stream;
pub(super) mod sum;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::once;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{ALLOW, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wwwoffle_url::Key;

use self::fault::CallFault;
use super::caller::Caller;
use super::route::{CallHandler, CallRequest, Guard, Handler, PathRoutes, now};
use crate::base::shown;
use crate::page::guard::ActionScope;
use crate::page::message::{Denied, Message};
use crate::page::token::Purpose;
use crate::proxy::admit::with_challenge;
use crate::proxy::body::{self, Body};
use crate::proxy::target;
use wwwoffle_api::ApiError;
use wwwoffle_http::media_type::content_essence;

/// Path prefix of all calls.
const PREFIX: &str = "/api/";

/// Header field in which a call over TCP sends the token for [`Purpose::General`].
const TOKEN: &str = "x-wwwoffle-token";

/// Maximum length of the body of a call, in bytes: enough for a URL of maximum length, or for very
/// many shorter ones.
const LONGEST_CALL: usize = 8 << 20;

/// Maximum number of URLs in one call.
const MOST_URLS: usize = 10_000;

pub(super) const JSON: &str = "application/json";
const LINES: &str = "application/x-ndjson";

/// Whether `path` is below `/api/`, even if no call has this path.
pub(super) fn has(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// Handles a call.
pub(super) async fn answer(
    caller: &Caller,
    path: &str,
    arguments: Option<&str>,
    request: Request<Incoming>,
) -> Response<Body> {
    let (parts, incoming) = request.into_parts();
    let answered = match admit(caller, path, &parts) {
        Ok(answer) => answer(caller, CallRequest { arguments, parts: &parts, incoming }).await,
        Err(fault) => Err(fault),
    };
    answered.unwrap_or_else(|fault| fault_response(caller, fault))
}

/// Returns the handler of a call after checking the guard of its route.
fn admit(caller: &Caller, path: &str, parts: &Parts) -> Result<CallHandler, CallFault> {
    caller.check_origin()?;
    let routes = if has(path) { PathRoutes::at(path) } else { PathRoutes::default() };
    let allowed = routes.allowed().ok_or_else(|| CallFault::unknown(path))?;
    let route =
        routes.with(&parts.method).ok_or_else(|| CallFault::not_with(&parts.method, allowed))?;
    if let Guard::OurPage(needed) = route.guard {
        let token = parts.headers.get(TOKEN).map(|value| value.to_str().unwrap_or("?"));
        caller.check(needed, ActionScope::General, caller.check_token(Purpose::General, token))?;
    }
    match route.handler {
        Handler::Call(answer) => Ok(answer),
        Handler::Page(_) | Handler::Moved(_) | Handler::Form(_) => Err(CallFault::unknown(path)),
    }
}

fn fault_response(caller: &Caller, fault: CallFault) -> Response<Body> {
    let mut response = json(caller, &ApiError { error: fault.error });
    *response.status_mut() = fault.status;
    if let Some(allowed) = fault.allowed {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    }
    response
}

/// Responds to a caller without permission, and asks for the credentials.
pub(super) fn denied(caller: &Caller, denied: Denied) -> Response<Body> {
    let error = Message::Denied(denied).title().to_lowercase();
    let mut response = json(caller, &ApiError { error });
    *response.status_mut() = StatusCode::from_u16(denied.status()).unwrap_or(StatusCode::FORBIDDEN);
    with_challenge(response, denied)
}

impl CallRequest<'_> {
    /// Reads the body as JSON.
    pub(super) async fn read<T: DeserializeOwned>(self, caller: &Caller) -> Result<T, CallFault> {
        if content_essence(&self.parts.headers) != JSON {
            return Err(CallFault::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!("expected a body of type {JSON}"),
            ));
        }
        let whole = caller.read(self.incoming, LONGEST_CALL).await?;
        serde_json::from_slice(&whole)
            .map_err(|error| CallFault::bad(format!("the body cannot be understood: {error}")))
    }
}

/// The future of the response to a call.
type CallResponse<'a> = BoxFuture<'a, Result<Response<Body>, CallFault>>;

/// Responds with `value` as JSON.
pub(super) fn json_now<'a>(caller: &'a Caller, value: &impl Serialize) -> CallResponse<'a> {
    now(Ok(json(caller, value)))
}

/// Responds with the value of a future as JSON.
pub(super) fn json_later<'a, T: Serialize + Send>(
    caller: &'a Caller,
    value: impl Future<Output = Result<T, CallFault>> + Send + 'a,
) -> CallResponse<'a> {
    Box::pin(async move { Ok(json(caller, &value.await?)) })
}

/// Reads the body, calls `act` with it, and responds with the result as JSON.
pub(super) fn json_of_body<'a, T, U, F>(
    caller: &'a Caller,
    call: CallRequest<'a>,
    act: fn(&'a Caller, T) -> F,
) -> CallResponse<'a>
where
    T: DeserializeOwned + Send + 'a,
    U: Serialize + Send,
    F: Future<Output = Result<U, CallFault>> + Send + 'a,
{
    Box::pin(async move { Ok(json(caller, &act(caller, call.read(caller).await?).await?)) })
}

/// Responds with the body that a future returns, as lines of JSON.
pub(super) fn lines_later<'a>(
    caller: &'a Caller,
    response: impl Future<Output = Result<Body, CallFault>> + Send + 'a,
) -> CallResponse<'a> {
    Box::pin(async move { Ok(lines(caller, response.await?)) })
}

/// Reads the body, calls `act` with it, and responds with lines of JSON.
pub(super) fn lines_of_body<'a, T: DeserializeOwned + Send + 'a>(
    caller: &'a Caller,
    call: CallRequest<'a>,
    act: fn(&Caller, T) -> Result<Body, CallFault>,
) -> CallResponse<'a> {
    Box::pin(async move { Ok(lines(caller, act(caller, call.read(caller).await?)?)) })
}

/// Refuses a call with more URLs than [`MOST_URLS`].
pub(super) fn check_url_count(urls: &[String]) -> Result<(), CallFault> {
    if urls.len() > MOST_URLS {
        return Err(CallFault::bad(format!(
            "expected at most {MOST_URLS} URLs, not {}",
            urls.len()
        )));
    }
    Ok(())
}

/// Refuses a call with too many URLs, or with one that cannot be fetched.
pub(super) fn check_urls(caller: &Caller, urls: &[String]) -> Result<(), CallFault> {
    check_url_count(urls)?;
    for text in urls {
        target::of_url(text, &caller.context.base.local)
            .map_err(|error| CallFault::url(text, &error))?;
    }
    Ok(())
}

/// Parses the key of a request.
pub(super) fn key(text: &str) -> Result<Key, CallFault> {
    text.parse().map_err(|_| {
        CallFault::bad(format!("expected a key of 64 hex digits, not {:?}", shown::text(text)))
    })
}

/// Responds with JSON.
pub(super) fn json(caller: &Caller, value: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(value) {
        Ok(text) => caller.other(StatusCode::OK, Some(JSON), body::from_bytes(text)),
        Err(error) => {
            tracing::error!(%error, "an answer of the API cannot be written");
            caller.other(StatusCode::INTERNAL_SERVER_ERROR, None, body::empty())
        }
    }
}

/// Responds with lines of JSON.
pub(super) fn lines(caller: &Caller, lines: Body) -> Response<Body> {
    caller.other(StatusCode::OK, Some(LINES), lines)
}

/// Returns the body of a response with one line, which is sent when `value` is known.
pub(super) fn one_line<T: Serialize>(value: impl Future<Output = T> + Send + 'static) -> Body {
    let frame = async move { Ok(Frame::data(line(&value.await))) };
    StreamBody::new(once(frame)).boxed_unsync()
}

/// Returns one line of a response that is sent line by line.
pub(super) fn line(value: &impl Serialize) -> Bytes {
    let mut line = Vec::new();
    push_line(&mut line, value);
    line.into()
}

/// Appends one line to a response that is sent line by line.
pub(super) fn push_line(buffer: &mut Vec<u8>, value: &impl Serialize) {
    let start = buffer.len();
    match serde_json::to_writer(&mut *buffer, value) {
        Ok(()) => buffer.push(b'\n'),
        Err(error) => {
            tracing::error!(%error, "a line of the API cannot be written");
            buffer.truncate(start);
        }
    }
}
