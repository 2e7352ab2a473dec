//! Determines whether another site may have opened a window.
//!
//! A window that gets a page shows it, and a window that gets a file stays at its old page. So a
//! page of another site that opens one of our addresses would learn whether a file is stored there.
//! Requests that another site may have caused therefore only get pages.

use hyper::header::{HeaderName, HeaderValue, ORIGIN, REFERER};
use hyper::{HeaderMap, Method};

use super::intent::{Intent, intent};
use crate::page::LocalOrigin;

/// `Sec-Fetch-Site`: the kind of site that caused a request (Fetch Metadata §2.3).
pub(crate) const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether a page of another site may have made the browser send a request to our origin `ours`, as
/// far as the `fields` of the request show.
///
/// Browsers send `Sec-Fetch-Site` only to trustworthy origins, and a page can suppress `Referer`.
/// So at other origins a browser must prove with `Origin` or `Referer` that the request comes from
/// a page of ours. A request of a program needs no proof.
pub(crate) fn may_be_another_site(method: &Method, fields: &HeaderMap, ours: &LocalOrigin) -> bool {
    if fields.contains_key(FETCH_SITE) {
        return !all(fields, &FETCH_SITE, |site| matches!(site, b"same-origin" | b"none"));
    }
    let is_trustworthy = ours.is_trustworthy();
    let ours = ours.as_str().as_bytes();
    let is_ours = |url: &[u8]| {
        let rest = url.get(ours.len()..).filter(|_| url.starts_with(ours));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    if !all(fields, &ORIGIN, is_ours) || !all(fields, &REFERER, is_ours) {
        return true;
    }
    let names_ours = fields.contains_key(ORIGIN) || fields.contains_key(REFERER);
    !names_ours && !is_trustworthy && intent(method, fields) != Intent::Program
}

/// Whether all values of a field are as expected. True if the field is absent.
fn all(fields: &HeaderMap, name: &HeaderName, is_expected: impl Fn(&[u8]) -> bool) -> bool {
    fields.get_all(name).iter().map(HeaderValue::as_bytes).all(is_expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::ACCEPT;

    #[test]
    fn another_site_cannot_imitate_our_own_pages() {
        let html = ("accept", "text/html,*/*;q=0.8");
        let (page, foreign) = ("http://ship:8080/info?x", "http://evil.test/");
        for (pairs, want) in [
            (&[("sec-fetch-site", "same-origin"), html][..], false),
            (&[("sec-fetch-site", "none"), html], false),
            (&[("sec-fetch-site", "none"), ("referer", foreign)], false),
            (&[("sec-fetch-site", "cross-site"), ("referer", page)], true),
            (&[("sec-fetch-site", "same-site")], true),
            (&[("sec-fetch-site", "")], true),
            (&[("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")], true),
            (&[html], true),
            (&[html, ("referer", page)], false),
            (&[html, ("referer", "http://ship:8080")], false),
            (&[html, ("referer", "http://ship:80801/")], true),
            (&[html, ("referer", "http://ship:8080.evil.test/")], true),
            (&[html, ("referer", foreign)], true),
            (&[html, ("referer", page), ("origin", "null")], true),
            (&[html, ("origin", "http://ship:8080")], false),
            (&[("referer", foreign)], true),
            (&[("accept", "*/*")], false),
            (&[], false),
        ] {
            let mut fields = HeaderMap::new();
            for (name, value) in pairs {
                fields.append(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            let ours = LocalOrigin::parse("http", "ship:8080").unwrap();
            assert_eq!(may_be_another_site(&Method::GET, &fields, &ours), want, "{pairs:?}");
        }
        // Old browsers send no `Sec-Fetch-Site` to this machine.
        let fields = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("text/html"))]);
        let here = LocalOrigin::parse("http", "localhost:8080").unwrap();
        assert!(!may_be_another_site(&Method::GET, &fields, &here));
    }
}
