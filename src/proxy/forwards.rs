//! How far a request may go on: `Max-Forwards`, and what is answered in place of an origin.

use hyper::header::{ALLOW, HeaderValue, MAX_FORWARDS};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};

use super::body::{self, Body};

/// What `Max-Forwards` says (RFC 9110 §7.6.2).
pub(super) enum Forwards {
    /// It may go on.
    More,
    /// It ends here.
    End,
    /// It is a method that ends here in any case.
    Refused,
}

/// Reads it, and takes one from it.
pub(super) fn forwards_left(parts: &mut Parts) -> Forwards {
    if parts.method == Method::TRACE {
        // RFC 9110 §9.3.8: it would send the client's secrets back to whoever can read the answer.
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

/// The answer to `OPTIONS` that is meant for us.
pub(super) fn about_us() -> Response<Body> {
    let mut response = Response::new(body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let methods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, CONNECT";
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}
