//! The hop limit of a request, `Max-Forwards`, and our response if the limit is reached.

use hyper::header::{ALLOW, HeaderValue, MAX_FORWARDS};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};

use super::body::{self, Body};
use super::reply;

/// Decrements `Max-Forwards` in an OPTIONS request (RFC 9110 §7.6.2). Returns our response if the
/// request must not be forwarded: its limit is reached, or its method is TRACE.
pub(super) fn refuse_forward(parts: &mut Parts) -> Option<Response<Body>> {
    if parts.method == Method::TRACE {
        // RFC 9110 §9.3.8: TRACE would disclose the client's secrets to readers of the response.
        return Some(reply::plain(405, "TRACE is not forwarded"));
    }
    if parts.method != Method::OPTIONS {
        return None;
    }
    let left: u32 = parts.headers.get(MAX_FORWARDS)?.to_str().ok()?.parse().ok()?;
    let Some(left) = left.checked_sub(1) else { return Some(options_response()) };
    parts.headers.insert(MAX_FORWARDS, HeaderValue::from(left));
    None
}

/// The response to an `OPTIONS` request for the proxy itself.
pub(super) fn options_response() -> Response<Body> {
    let mut response = Response::new(body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let methods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, CONNECT";
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    #[test]
    fn a_request_ends_at_its_hop_limit() {
        for (method, limit, status, left) in [
            ("GET", Some("0"), None, Some("0")),
            ("OPTIONS", None, None, None),
            ("OPTIONS", Some("2"), None, Some("1")),
            ("OPTIONS", Some("1"), None, Some("0")),
            ("OPTIONS", Some("0"), Some(204), Some("0")),
            ("OPTIONS", Some("many"), None, Some("many")),
            ("TRACE", Some("9"), Some(405), Some("9")),
        ] {
            let mut request = Request::builder().method(method).uri("http://h.example/");
            if let Some(limit) = limit {
                request = request.header(MAX_FORWARDS, limit);
            }
            let mut parts = request.body(()).unwrap().into_parts().0;
            let found = refuse_forward(&mut parts).map(|response| response.status().as_u16());
            assert_eq!(found, status, "{method} {limit:?}");
            let found = parts.headers.get(MAX_FORWARDS).map(|value| value.to_str().unwrap());
            assert_eq!(found, left, "{method} {limit:?}");
        }
    }
}
