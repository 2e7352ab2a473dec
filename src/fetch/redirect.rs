//! Following a redirect: the request that a browser would make next (RFC 9110 §15.4).

use hyper::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, HeaderMap, LOCATION};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use wwwoffle_url::{CanonicalUrl, Resolved, Rules, resolve};

use crate::daemon::Daemon;

/// How many redirects in a row are followed; browsers stop at twenty.
pub(super) const MAX_HOPS: u8 = 20;

/// Where an answer leads, if it is a redirect that is followed.
pub(crate) fn location(base: &str, status: StatusCode, fields: &HeaderMap) -> Option<String> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let reference = std::str::from_utf8(fields.get(LOCATION)?.as_bytes()).ok()?;
    match resolve(base, reference, Rules::Browser) {
        Ok(Resolved::Url(url)) => Some(url),
        Ok(Resolved::CurrentDocument { .. }) | Err(_) => None,
    }
}

/// A location as it may be shown: without the credentials it may have. `None` for what is no URL.
pub(crate) fn shown(daemon: &Daemon, location: &str) -> Option<String> {
    let url = CanonicalUrl::parse(location, &daemon.local).ok()?;
    Some(url.as_str().to_owned())
}

/// Makes the request for the place a redirect leads to out of the one that was redirected: the
/// method changes as it does in browsers, and what is secret goes to nobody else.
///
/// `same_site` says that host and port stay the same.
pub(super) fn redirected(mut request: Parts, status: StatusCode, same_site: bool) -> Parts {
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
    if !same_site {
        request.headers.remove(AUTHORIZATION);
        request.headers.remove(COOKIE);
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    #[test]
    fn locations_are_resolved_as_browsers_do() {
        for (status, given, want) in [
            (301, "/b", Some("http://h.example/b")),
            (302, "b?c#d", Some("http://h.example/a/b?c#d")),
            (303, "//o.example/x", Some("http://o.example/x")),
            (307, "https://o.example", Some("https://o.example/")),
            (308, "..\\x", Some("http://h.example/x")),
            (300, "/b", None),
            (304, "/b", None),
            (302, "http://[::1", None),
        ] {
            let fields = [(LOCATION, given.parse().unwrap())].into_iter().collect();
            let status = StatusCode::from_u16(status).unwrap();
            let found = location("http://h.example/a/p", status, &fields);
            assert_eq!(found.as_deref(), want, "{status} {given}");
        }
        assert_eq!(location("http://h.example/", StatusCode::FOUND, &HeaderMap::new()), None);
    }

    #[test]
    fn the_method_and_the_secrets_follow_the_rules() {
        for (method, status, same_site, want, secret) in [
            ("GET", 302, true, "GET", true),
            ("GET", 302, false, "GET", false),
            ("POST", 301, true, "GET", true),
            ("POST", 302, true, "GET", true),
            ("POST", 303, true, "GET", true),
            ("POST", 307, true, "POST", true),
            ("POST", 308, false, "POST", false),
            ("HEAD", 303, true, "HEAD", true),
        ] {
            let request = Request::builder()
                .method(method)
                .header(HOST, "h.example")
                .header(COOKIE, "a=b")
                .body(())
                .unwrap()
                .into_parts()
                .0;
            let next = redirected(request, StatusCode::from_u16(status).unwrap(), same_site);
            assert_eq!(next.method.as_str(), want, "{method} {status}");
            assert_eq!(next.headers.contains_key(COOKIE), secret, "{method} {status}");
            assert!(!next.headers.contains_key(HOST));
        }
    }
}
