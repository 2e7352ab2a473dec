//! Hides the differences between HTTP/2 and HTTP/1.1. Requests are converted when they arrive, and
//! responses before they are sent, so all other code is independent of the version.

use hyper::body::Body as _;
use hyper::header::{CONTENT_LENGTH, COOKIE, HeaderValue, PROXY_AUTHENTICATE, TRANSFER_ENCODING};
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Version};

use super::body::{self, Body};
use super::websocket::{self, ConnectRefusal};
use wwwoffle_http::fields::strip_one_hop;

/// A request extension: the request may have a body that no field declares.
#[derive(Clone, Copy, Debug)]
pub struct UndeclaredBody;

/// Converts a request of HTTP/2 to one that HTTP/1.1 could have carried.
///
/// # Errors
///
/// An extended CONNECT that cannot be forwarded.
pub(super) fn receive<B: hyper::body::Body>(
    request: &mut Request<B>,
) -> Result<(), ConnectRefusal> {
    if request.version() != Version::HTTP_2 {
        return Ok(());
    }
    join_cookies(request.headers_mut());
    say_length_once(request.headers_mut());
    let fields = request.headers();
    let is_framed = fields.contains_key(CONTENT_LENGTH) || fields.contains_key(TRANSFER_ENCODING);
    if !is_framed && !request.body().is_end_stream() {
        request.extensions_mut().insert(UndeclaredBody);
    }
    websocket::translate(request)
}

/// Joins the cookies into one field. A browser may send each cookie in a field of its own, for
/// better compression, but other versions of HTTP need a single field (RFC 9113 §8.2.3).
fn join_cookies(fields: &mut HeaderMap) {
    let crumbs: Vec<&[u8]> = fields.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if crumbs.len() < 2 {
        return;
    }
    // The pieces are valid values, so the joined value is valid too.
    if let Ok(mut whole) = HeaderValue::from_bytes(&crumbs.join(&b"; "[..])) {
        whole.set_sensitive(true);
        fields.insert(COOKIE, whole);
    }
}

/// Writes the length of a body once, as a plain number. HTTP/2 accepts a length that is repeated,
/// empty or has leading zeros, as long as it matches the body. HTTP/1.1 delimits a request by the
/// length: two parsers that read the length differently disagree about where the next request
/// starts.
fn say_length_once(fields: &mut HeaderMap) {
    let Some(said) = fields.get(CONTENT_LENGTH) else { return };
    let length = said.to_str().ok().and_then(|said| said.parse::<u64>().ok()).unwrap_or_default();
    fields.insert(CONTENT_LENGTH, length.into());
}

/// Converts a response to one that HTTP/2 may carry: without connection fields (RFC 9113 §8.2.2),
/// and without a body where HTTP forbids a body. hyper removes such a body for HTTP/1.1 only.
pub(super) fn send(asked: &Method, mut response: Response<Body>) -> Response<Body> {
    // The login prompt of this proxy is meant for this client, so it is preserved. A login prompt
    // of another proxy does not reach this code.
    let challenge = response.headers_mut().remove(PROXY_AUTHENTICATE);
    strip_one_hop(response.headers_mut());
    if let Some(challenge) = challenge {
        response.headers_mut().insert(PROXY_AUTHENTICATE, challenge);
    }
    let status = response.status();
    let has_none = matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if has_none {
        if status == StatusCode::NO_CONTENT {
            response.headers_mut().remove(CONTENT_LENGTH);
        }
    } else if asked == Method::HEAD {
        if let Some(length) = response.body().size_hint().exact().filter(|length| *length > 0) {
            response.headers_mut().entry(CONTENT_LENGTH).or_insert_with(|| length.into());
        }
    } else {
        return response;
    }
    response.map(|_left_out| body::empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{BodyExt, Empty, Full};
    use hyper::body::Bytes;
    use hyper::header::{CONNECTION, ETAG};

    fn request(version: Version, cookies: &[&str]) -> Request<Full<Bytes>> {
        let mut request = Request::get("https://h.example/").version(version);
        for cookie in cookies {
            request = request.header(COOKIE, *cookie);
        }
        request.body(Full::from("body")).unwrap()
    }

    #[test]
    fn split_cookie_fields_become_one() {
        for (version, given, want) in [
            (Version::HTTP_2, &["a=b", "c=d; e", "f="][..], &["a=b; c=d; e; f="][..]),
            (Version::HTTP_2, &["a=b"], &["a=b"]),
            (Version::HTTP_2, &[], &[]),
            (Version::HTTP_11, &["a=b", "c=d"], &["a=b", "c=d"]),
        ] {
            let mut request = request(version, given);
            receive(&mut request).unwrap();
            let found: Vec<_> = request.headers().get_all(COOKIE).iter().collect();
            assert_eq!(found, want, "{given:?}");
        }
    }

    #[test]
    fn a_body_without_length_is_detected() {
        let is_unframed = |mut request: Request<Full<Bytes>>| {
            receive(&mut request).unwrap();
            request.extensions().get::<UndeclaredBody>().is_some()
        };
        assert!(is_unframed(request(Version::HTTP_2, &[])));
        assert!(!is_unframed(request(Version::HTTP_11, &[])));
        let mut framed = request(Version::HTTP_2, &[]);
        framed.headers_mut().insert(CONTENT_LENGTH, 4.into());
        assert!(!is_unframed(framed));
        assert!(!is_unframed(request(Version::HTTP_2, &[]).map(|_| Full::default())));
        receive(&mut Request::new(Empty::<Bytes>::new())).unwrap();
    }

    #[tokio::test]
    async fn a_response_has_a_body_only_where_http_allows_one() {
        for (method, status, length, text) in [
            (Method::GET, 200, None, "page"),
            (Method::HEAD, 200, Some("4"), ""),
            (Method::GET, 204, None, ""),
            (Method::GET, 304, None, ""),
            (Method::HEAD, 304, None, ""),
        ] {
            let mut response = Response::new(body::from_bytes("page"));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close, x-hop"));
            response.headers_mut().insert("x-hop", HeaderValue::from_static("1"));
            response.headers_mut().insert(ETAG, HeaderValue::from_static("\"1\""));
            let (parts, body) = send(&method, response).into_parts();
            let found = parts.headers.get(CONTENT_LENGTH).map(|value| value.to_str().unwrap());
            assert_eq!(found, length, "{method} {status}");
            assert_eq!(parts.headers.len(), 1 + usize::from(length.is_some()), "{method} {status}");
            assert_eq!(body.collect().await.unwrap().to_bytes(), text, "{method} {status}");
        }
    }
}
