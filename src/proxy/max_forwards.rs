//! The hop limit of a request, `Max-Forwards`, and our response if the limit is reached.

use hyper::header::{ALLOW, HeaderValue, MAX_FORWARDS};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};

use super::body::{self, Body};

/// The evaluation of `Max-Forwards` (RFC 9110 §7.6.2).
pub(super) enum Forwards {
    /// The request may be forwarded.
    More,
    /// The request ends here.
    End,
    /// The method is never forwarded.
    Refused,
}

/// Evaluates `Max-Forwards` in an OPTIONS request, and decrements its number. Requests with other
/// methods may be forwarded, except TRACE.
pub(super) fn forwards_left(parts: &mut Parts) -> Forwards {
    if parts.method == Method::TRACE {
        // RFC 9110 §9.3.8: TRACE would disclose the client's secrets to readers of the response.
        return Forwards::Refused;
    }
    if parts.method != Method::OPTIONS {
        return Forwards::More;
    }
    let left = parts.headers.get(MAX_FORWARDS).and_then(|value| value.to_str().ok());
    match left.and_then(|left| left.parse::<u32>().ok()) {
        None => Forwards::More,
        Some(0) => Forwards::End,
        Some(left) => {
            parts.headers.insert(MAX_FORWARDS, HeaderValue::from(left - 1));
            Forwards::More
        }
    }
}

/// The response to an `OPTIONS` request for the proxy itself.
pub(super) fn options_response() -> Response<Body> {
    let mut response = Response::new(body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let methods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, CONNECT";
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}
