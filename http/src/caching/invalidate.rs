//! Which stored responses an unsafe request invalidates (RFC 9111 §4.4).

use http::header::{CONTENT_LOCATION, LOCATION};
use http::{HeaderMap, Method, StatusCode};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::redirect::resolved;

/// The safe methods (RFC 9110 §9.2.1 and the registry of §16.1.1). An unknown method counts as
/// unsafe.
const SAFE: [&str; 8] =
    ["GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY"];

/// Whether `method` may change a resource.
#[must_use]
pub fn is_unsafe(method: &Method) -> bool {
    !SAFE.contains(&method.as_str())
}

/// The URLs that the response to a request for `target` invalidates: none, or `target` and the URLs
/// in `Location` and `Content-Location`. `local` is needed to parse URLs.
///
/// The URLs in the two fields count only if they have the origin of `target`, because a site must
/// not invalidate stored responses of another site (RFC 9111 §4.4).
#[must_use]
pub fn invalidated_urls(
    method: &Method,
    target: &CanonicalUrl,
    status: StatusCode,
    answer: &HeaderMap,
    local: &LocalHost,
) -> Vec<CanonicalUrl> {
    // "Non-error" means 2xx and 3xx. A failed request has not changed anything.
    if !is_unsafe(method) || !(status.is_success() || status.is_redirection()) {
        return Vec::new();
    }
    let mut urls = vec![target.without_credentials()];
    let named = [LOCATION, CONTENT_LOCATION]
        .iter()
        .filter_map(|name| resolved(target.as_str(), name, answer))
        .filter_map(|url| CanonicalUrl::parse(&url, local).ok())
        .map(|url| url.without_credentials())
        .filter(|url| is_same_origin(url, target));
    for url in named {
        if !urls.contains(&url) {
            urls.push(url);
        }
    }
    urls
}

fn is_same_origin(one: &CanonicalUrl, other: &CanonicalUrl) -> bool {
    one.protocol() == other.protocol()
        && one.host() == other.host()
        && one.port_or_default() == other.port_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsafe_request_invalidates_urls_of_its_origin() {
        let both = |location: &str, content: &str| {
            let mut fields = HeaderMap::new();
            for (name, value) in [(LOCATION, location), (CONTENT_LOCATION, content)] {
                if !value.is_empty() {
                    fields.insert(name, value.parse().unwrap());
                }
            }
            fields
        };
        let own = "http://h.example/a/b?c";
        for (method, status, location, content, want) in [
            ("POST", 200, "", "", &[own][..]),
            ("PUT", 204, "", "", &[own]),
            ("DELETE", 404, "/x", "/y", &[]),
            ("POST", 500, "/x", "/y", &[]),
            ("PATCH", 303, "/x", "", &[own, "http://h.example/x"]),
            ("M-SEARCH", 200, "", "y?z", &[own, "http://h.example/a/y?z"]),
            ("post", 200, "", "", &[own]),
            ("POST", 201, "x#y", "X", &[own, "http://h.example/a/x", "http://h.example/a/X"]),
            ("POST", 201, "http://H.example:80/x", "//h.example/x", &[own, "http://h.example/x"]),
            ("POST", 201, "", "http://u:p@h.example/x", &[own, "http://h.example/x"]),
            // URLs of other origins and invalid URLs are ignored. Safe methods invalidate nothing.
            ("POST", 201, "https://h.example/x", "http://h.example:81/x", &[own]),
            ("POST", 201, "http://i.example/x", "//www.h.example/x", &[own]),
            ("POST", 201, "http://h.example@i.example/x", "mailto:x", &[own]),
            ("POST", 201, "http://[", "#top", &[own]),
            ("POST", 201, own, "", &[own]),
            ("GET", 200, "/x", "/y", &[]),
            ("HEAD", 200, "/x", "/y", &[]),
            ("OPTIONS", 200, "/x", "/y", &[]),
            ("PROPFIND", 207, "/x", "/y", &[]),
        ] {
            let local = LocalHost::default();
            let target = CanonicalUrl::parse("http://u@h.example/a/b?c", &local).unwrap();
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let status = StatusCode::from_u16(status).unwrap();
            let urls = invalidated_urls(&method, &target, status, &both(location, content), &local);
            let urls: Vec<_> = urls.iter().map(CanonicalUrl::as_str).collect();
            assert_eq!(urls, want, "{method} {status} {location} {content}");
        }
    }
}
