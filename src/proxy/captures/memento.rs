//! Mementos (RFC 7089): addresses of captures, and the fields of the original response. Pure.

use hyper::HeaderMap;
use hyper::header::{
    ACCEPT_RANGES, AGE, ALT_SVC, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING,
    CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_TYPE, EXPIRES, HeaderName, LINK, SET_COOKIE,
    STRICT_TRANSPORT_SECURITY, VARY, WWW_AUTHENTICATE,
};
use jiff::Timestamp;
use wwwoffle_html::references::field_links;
use wwwoffle_url::{CanonicalUrl, LocalHost, url_encode_form_args};

use crate::net::upstream::is_inner_host;

pub(super) const MEMENTO_DATETIME: HeaderName = HeaderName::from_static("memento-datetime");

/// The prefix of fields in which archives repeat those of the origin.
const ORIGINAL_FIELD: &str = "x-archive-orig-";

/// The length of the time in the addresses of many archives, as in `/web/20240501100000/http://…`.
const STAMP: usize = 14;

/// The fields of a capture that describe the original body, if the archive does not repeat the
/// original fields under other names.
const DESCRIBING: [HeaderName; 4] =
    [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_DISPOSITION];

/// Original fields that are not stored: they describe the transfer or the connection, set cookies,
/// ask for a login, declare an age, or would bind the host of the page for ever.
const NOT_STORED: [HeaderName; 12] = [
    CONTENT_LENGTH,
    CONTENT_ENCODING,
    ACCEPT_RANGES,
    ALT_SVC,
    SET_COOKIE,
    STRICT_TRANSPORT_SECURITY,
    VARY,
    WWW_AUTHENTICATE,
    LINK,
    CACHE_CONTROL,
    EXPIRES,
    AGE,
];

/// Whether a host, as in a canonical URL, may be named to others: a name that means the same host
/// everywhere. Addresses are never public, because they may belong to any network.
pub(super) fn is_public_name(host: &str) -> bool {
    let name = host.trim_end_matches('.');
    let is_address = name.starts_with('[')
        || name.split('.').next_back().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()));
    !is_address && !is_inner_host(name)
}

/// The address that asks a TimeGate about `url`.
pub(super) fn question(gate: &str, url: &str) -> String {
    if gate.ends_with('=') {
        return format!("{gate}{}", url_encode_form_args(url.as_bytes()));
    }
    format!("{gate}{url}")
}

/// The address of the unmodified capture. Many archives (pywb, `OpenWayback`) give it for `id_` after
/// the time. `None` if the address has no time, or names the unmodified capture already.
pub(super) fn raw_address(memento: &str) -> Option<String> {
    let mut at = memento.find("://")? + 3;
    while let Some(slash) = memento.get(at..)?.find('/') {
        at += slash + 1;
        let segment = memento.get(at..)?.split('/').next()?;
        let Some((stamp, kind)) = segment.split_at_checked(STAMP) else { continue };
        let is_stamp = stamp.bytes().all(|byte| byte.is_ascii_digit());
        let is_kind = kind.is_empty() || (kind.len() == 3 && kind.ends_with('_'));
        if is_stamp && is_kind {
            let (before, rest) = (memento.get(..at)?, memento.get(at + segment.len()..)?);
            return (kind != "id_").then(|| format!("{before}{stamp}id_{rest}"));
        }
    }
    None
}

/// The time of a capture. `None` if the response is not a capture.
pub(super) fn captured(fields: &HeaderMap) -> Option<Timestamp> {
    let text = fields.get(&MEMENTO_DATETIME)?.to_str().ok()?;
    httpdate::parse_http_date(text.trim()).ok()?.try_into().ok()
}

/// The URL of the page that was captured, if the response names it.
pub(super) fn original(fields: &HeaderMap, local: &LocalHost) -> Option<CanonicalUrl> {
    let values = fields.get_all(LINK).iter().filter_map(|value| value.to_str().ok());
    let mut links = values.flat_map(field_links);
    let target = links.find(|link| link.has_relation("original"))?.target;
    CanonicalUrl::parse(&target, local).ok()
}

/// Whether two URLs name the same page, except for `http` and `https`.
pub(super) fn is_same_page(one: &CanonicalUrl, other: &CanonicalUrl) -> bool {
    let rest = |url: &CanonicalUrl| {
        url.as_str().split_once("://").map_or_else(String::new, |(_, rest)| rest.to_owned())
    };
    rest(one) == rest(other)
}

/// The fields of the original response, as far as the archive gives them.
pub(super) fn original_fields(fields: &HeaderMap) -> HeaderMap {
    let mut found = HeaderMap::new();
    for name in DESCRIBING {
        if let Some(value) = fields.get(&name) {
            found.insert(name, value.clone());
        }
    }
    for (name, value) in fields {
        let original = name.as_str().strip_prefix(ORIGINAL_FIELD);
        let original = original.and_then(|name| HeaderName::from_bytes(name.as_bytes()).ok());
        let Some(original) = original else { continue };
        let is_of_transfer = matches!(
            original.as_str(),
            "connection"
                | "keep-alive"
                | "transfer-encoding"
                | "te"
                | "trailer"
                | "upgrade"
                | "proxy-connection"
                | "proxy-authenticate"
                | "set-cookie2"
                | "nel"
                | "report-to"
                | "clear-site-data"
                | "memento-datetime"
        );
        if !is_of_transfer && !NOT_STORED.contains(&original) && original != CONTENT_TYPE {
            found.insert(original, value.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_in_the_public_tree_are_public() {
        for (host, want) in [
            ("www.example.org", true),
            ("example.org.", true),
            ("xn--bcher-kva.example", true),
            ("intranet", false),
            ("printer.local", false),
            ("wiki.corp", false),
            ("router.home.arpa", false),
            ("a.internal", false),
            ("localhost", false),
            ("x.localhost", false),
            ("192.0.2.1", false),
            ("10.1", false),
            ("[2001:db8::1]", false),
            ("abcdefgh.onion", false),
            ("notlocal.example", true),
        ] {
            assert_eq!(is_public_name(host), want, "{host}");
        }
    }

    #[test]
    fn the_unmodified_capture_has_an_address_of_its_own() {
        for (memento, want) in [
            (
                "https://web.archive.org/web/20240501100000/http://a.example/b",
                Some("https://web.archive.org/web/20240501100000id_/http://a.example/b"),
            ),
            (
                "http://h:8080/all/20240501100000mp_/http://a.example/12345678901234/",
                Some("http://h:8080/all/20240501100000id_/http://a.example/12345678901234/"),
            ),
            ("http://h/all/20240501100000id_/http://a.example/", None),
            ("http://h/memento/http://a.example/", None),
            ("http://h/2024050110000é/x", None),
            ("nothing", None),
        ] {
            assert_eq!(raw_address(memento).as_deref(), want, "{memento}");
        }
        assert_eq!(question("http://h/web/", "http://a/?b"), "http://h/web/http://a/?b");
        assert_eq!(
            question("http://h/?url=", "http://a/?b=c&d"),
            "http://h/?url=http://a/%3Fb%3Dc%26d"
        );
    }

    #[test]
    fn the_fields_of_the_origin_are_stored() {
        let mut fields = HeaderMap::new();
        for (name, value) in [
            ("content-type", "text/html"),
            ("set-cookie", "of=archive"),
            ("content-security-policy", "of archive"),
            ("x-archive-orig-etag", "\"1\""),
            ("x-archive-orig-set-cookie", "a=b"),
            ("x-archive-orig-content-length", "9"),
            ("x-archive-orig-transfer-encoding", "chunked"),
            ("x-archive-orig-content-security-policy", "default-src 'self'"),
            ("link", "<http://a.example/x>; rel=\"original\", <http://h/t>; rel=timemap"),
            ("memento-datetime", "Wed, 01 May 2024 10:00:00 GMT"),
        ] {
            fields.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        let found = original_fields(&fields);
        let mut names: Vec<_> = found.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["content-security-policy", "content-type", "etag"]);
        assert_eq!(found["content-security-policy"], "default-src 'self'");
        let local = LocalHost::default();
        assert_eq!(original(&fields, &local).unwrap().as_str(), "http://a.example/x");
        assert_eq!(captured(&fields), "2024-05-01T10:00:00Z".parse().ok());
        let url = |text| CanonicalUrl::parse(text, &local).unwrap();
        assert!(is_same_page(&url("http://a.example/x"), &url("https://a.example/x")));
        assert!(!is_same_page(&url("http://a.example/x"), &url("http://a.example/y")));
    }
}
