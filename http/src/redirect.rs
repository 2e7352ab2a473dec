//! Where a redirect leads (RFC 9110 §15.4).

use http::StatusCode;
use http::header::{HeaderMap, HeaderName, LOCATION};
use wwwoffle_url::{CanonicalUrl, LocalHost, Resolution, ResolutionRules, resolve};

/// The URL to which a response redirects. `base` is the URL of the request. `None` if the response
/// is not a redirect with a valid URL of another document.
#[must_use]
pub fn location(base: &str, status: StatusCode, fields: &HeaderMap) -> Option<String> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    resolved(base, &LOCATION, fields)
}

/// The URL in the field `name`, made absolute (RFC 9110 §8.7, §10.2.2).
pub(crate) fn resolved(base: &str, name: &HeaderName, fields: &HeaderMap) -> Option<String> {
    let reference = std::str::from_utf8(fields.get(name)?.as_bytes()).ok()?;
    match resolve(base, reference, ResolutionRules::Browser) {
        Ok(Resolution::Url(url)) => Some(url),
        Ok(Resolution::CurrentDocument { .. }) | Err(_) => None,
    }
}

/// The canonical URL of a location. It has no credentials, so it may be displayed. `None` if
/// `location` is not a URL.
#[must_use]
pub fn shown_location(location: &str, local: &LocalHost) -> Option<String> {
    let url = CanonicalUrl::parse(location, local).ok()?;
    Some(url.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
