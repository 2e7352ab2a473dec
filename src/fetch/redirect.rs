//! Following a redirect: the request that a browser would make next (RFC 9110 §15.4).

use hyper::header::{CONTENT_TYPE, HOST, REFERER};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};

use crate::net::upstream::{Origin, Scheme};
use wwwoffle_http::head::is_secret;

/// The maximum number of redirects followed in a row; browsers stop at twenty.
pub(super) const MAX_HOPS: u8 = 20;

/// Turns the redirected request into one for the target: the method changes as in browsers, and
/// secrets go to no other origin.
///
/// `from` and `to` are the origins before and after.
pub(super) fn redirected(
    mut request: Parts,
    status: StatusCode,
    from: &Origin,
    to: &Origin,
) -> Parts {
    let changes = match status.as_u16() {
        303 => request.method != Method::HEAD,
        301 | 302 => request.method == Method::POST,
        _ => false,
    };
    if changes {
        request.method = Method::GET;
        request.headers.remove(CONTENT_TYPE);
    }
    request.headers.remove(HOST);
    if from.scheme == Scheme::Https && to.scheme != Scheme::Https {
        // RFC 9110 §10.1.3: the URL of a secure page is not sent in clear text.
        request.headers.remove(REFERER);
    }
    if from != to {
        let secrets: Vec<_> =
            request.headers.keys().filter(|name| is_secret(name)).cloned().collect();
        for name in secrets {
            request.headers.remove(name);
        }
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    #[test]
    fn the_method_and_the_secrets_follow_the_rules() {
        let origin = |scheme| Origin::here(scheme, "h.example", 8080);
        let (same, to_tls) = (origin(Scheme::Http), origin(Scheme::Https));
        let other = Origin { host: "o.example".to_owned(), ..same.clone() };
        for (method, status, to, want, secret) in [
            ("GET", 302, &same, "GET", true),
            ("GET", 302, &other, "GET", false),
            ("GET", 302, &to_tls, "GET", false),
            ("POST", 301, &same, "GET", true),
            ("POST", 302, &same, "GET", true),
            ("POST", 303, &same, "GET", true),
            ("POST", 307, &same, "POST", true),
            ("POST", 308, &other, "POST", false),
            ("HEAD", 303, &same, "HEAD", true),
        ] {
            let request = request(method);
            let next = redirected(request, StatusCode::from_u16(status).unwrap(), &same, to);
            assert_eq!(next.method.as_str(), want, "{method} {status}");
            for name in ["cookie", "x-api-key"] {
                assert_eq!(next.headers.contains_key(name), secret, "{name} {method} {status}");
            }
            assert!(!next.headers.contains_key(HOST));
        }
    }

    #[test]
    fn the_url_of_a_secure_page_is_not_sent_over_http() {
        let origin = |scheme| Origin::here(scheme, "h.example", 80);
        for (from, to, kept) in [
            (Scheme::Http, Scheme::Http, true),
            (Scheme::Http, Scheme::Https, true),
            (Scheme::Https, Scheme::Https, true),
            (Scheme::Https, Scheme::Http, false),
        ] {
            let (from, to) = (origin(from), origin(to));
            let next = redirected(request("GET"), StatusCode::FOUND, &from, &to);
            assert_eq!(next.headers.contains_key(REFERER), kept, "{from:?} {to:?}");
        }
    }

    fn request(method: &str) -> Parts {
        let request = Request::builder().method(method).header(HOST, "h.example");
        let request = request
            .header("cookie", "a=b")
            .header("x-api-key", "k")
            .header(REFERER, "https://h.example/secret");
        request.body(()).unwrap().into_parts().0
    }
}
