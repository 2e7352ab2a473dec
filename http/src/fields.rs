//! Hop-by-hop header fields, and fields that a proxy adds.

use std::time::SystemTime;

use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, DATE, HeaderName, HeaderValue,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE, VARY, VIA,
    WWW_AUTHENTICATE,
};
use http::{HeaderMap, Version};

/// `Keep-Alive`, a hop-by-hop field (RFC 9112 §C.2.2).
pub const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// `Proxy-Connection`, which old browsers sent to proxies instead of `Connection`.
pub const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// `Proxy-Authentication-Info` (RFC 9110 §11.7.3), sent by the next proxy.
pub const PROXY_AUTHENTICATION_INFO: HeaderName =
    HeaderName::from_static("proxy-authentication-info");

/// `Cache-Status` (RFC 9211).
pub const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// Hop-by-hop fields (RFC 9110 §7.6.1), in addition to those that `Connection` lists.
const ONE_HOP: [HeaderName; 9] = [
    CONNECTION,
    KEEP_ALIVE,
    PROXY_CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHENTICATION_INFO,
    PROXY_AUTHORIZATION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The maximum number of names in `Connection` that are honoured. Real requests have two or three.
const MAX_CONNECTION_OPTIONS: usize = 64;

/// Removes the hop-by-hop fields, including those that `Connection` names, up to a limit.
pub fn strip_one_hop(fields: &mut HeaderMap) {
    let named: Vec<HeaderName> = list(fields, &CONNECTION)
        .filter_map(|option| HeaderName::from_bytes(option.as_bytes()).ok())
        .take(MAX_CONNECTION_OPTIONS)
        .collect();
    for name in ONE_HOP.iter().chain(&named) {
        fields.remove(name);
    }
}

/// The media type of the forms that [`is_keyed_form`] accepts.
const FORM_TYPE: &str = "application/x-www-form-urlencoded";

/// Beginnings of the names of fields with which a reverse proxy or a content delivery network tells
/// an origin about the client and the original address, or controls the framework of the origin.
const BEGINNINGS: [&str; 13] = [
    "cloudfront-",
    "fastly-",
    "x-arr-",
    "x-envoy-original-",
    "x-forward-",
    "x-forwarded",
    "x-forwarder-",
    "x-invoke-",
    "x-middleware-",
    "x-orig-",
    "x-original-",
    "x-override-",
    "x-rewrite-",
];

/// Ends of field names with the same meaning as those in [`BEGINNINGS`].
const ENDS: [&str; 4] = ["-forwarded-host", "-forwarded-proto", "-http-host", "-override"];

/// Further fields with which some origins override the host, the URL or the method.
const OVERRIDES: [&str; 55] = [
    "base-url",
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "cf-visitor",
    "client-ip",
    "fly-client-ip",
    "forwarded",
    "front-end-host",
    "front-end-https",
    "http-host",
    "https",
    "proxy",
    "proxy-client-ip",
    "proxy-host",
    "request-uri",
    "script-name",
    "true-client-ip",
    "wl-proxy-client-ip",
    "wl-proxy-ssl",
    "x-amz-website-redirect-location",
    "x-backend-host",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-dest-url",
    "x-fwd-host",
    "x-host",
    "x-host-name",
    "x-http-destinationurl",
    "x-http-method",
    "x-http-scheme",
    "x-https",
    "x-matched-path",
    "x-method",
    "x-ms-original-url",
    "x-netlify-original-pathname",
    "x-now-route-matches",
    "x-originating-ip",
    "x-path",
    "x-proto",
    "x-proxy-url",
    "x-real-ip",
    "x-remote-addr",
    "x-remote-ip",
    "x-request-uri",
    "x-request-url",
    "x-rewritten-url",
    "x-scheme",
    "x-script-name",
    "x-server-name",
    "x-ssl",
    "x-uri",
    "x-url",
    "x-url-scheme",
    "x-vercel-forwarded-for",
    "x-waws-unencoded-url",
];

/// Removes the fields that make some origins treat the request as one for another URL or method.
/// `Vary` does not list such fields, so the response would be stored under the wrong URL.
pub fn strip_overrides(fields: &mut HeaderMap) {
    let named: Vec<HeaderName> =
        fields.keys().filter(|name| overrides(name.as_str())).cloned().collect();
    for name in named {
        fields.remove(name);
    }
}

/// Whether a request has fields that [`strip_overrides`] removes.
fn has_overrides(fields: &HeaderMap) -> bool {
    fields.keys().any(|name| overrides(name.as_str()))
}

/// Whether a field may override the method or the URL. CGI and its successors do not distinguish
/// `_` and `-` (RFC 3875 §4.1.18), and some do not distinguish other signs.
fn overrides(name: &str) -> bool {
    let same = |(found, known): (u8, u8)| {
        found == known || (known == b'-' && !found.is_ascii_alphanumeric())
    };
    let begins =
        |begin: &str| begin.len() <= name.len() && name.bytes().zip(begin.bytes()).all(same);
    let ends =
        |end: &str| end.len() <= name.len() && name.bytes().rev().zip(end.bytes().rev()).all(same);
    OVERRIDES.iter().any(|known| known.len() == name.len() && begins(known))
        || BEGINNINGS.iter().any(|begin| begins(begin))
        || ENDS.iter().any(|end| ends(end))
}

/// Whether the body of a form with these fields determines its meaning: the form has the usual
/// type, no content coding, and no field that overrides the method or the URL. The key under which
/// the response to a form is stored covers the URL and the body, but no fields.
#[must_use]
pub fn is_keyed_form(request: &HeaderMap) -> bool {
    let mut types = request.get_all(CONTENT_TYPE).iter();
    let (Some(kind), None) = (types.next(), types.next()) else {
        return false;
    };
    let mut parts = kind.to_str().unwrap_or_default().split(';').map(str::trim);
    let is_usual = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case(FORM_TYPE))
        && parts.all(|parameter| parameter.eq_ignore_ascii_case("charset=utf-8"));
    is_usual && !request.contains_key(CONTENT_ENCODING) && !has_overrides(request)
}

/// Authentication schemes that log in a connection, not a request (RFC 4559 §6): the origin
/// attributes all later requests on the connection to the same person.
const LOGIN_OF_CONNECTION: [&str; 5] = ["credssp", "kerberos", "nego2", "negotiate", "ntlm"];

/// Whether a request logs its connection in.
#[must_use]
pub fn logs_connection_in(request: &HeaderMap) -> bool {
    names_login_of_connection(request, &AUTHORIZATION)
}

/// Whether a response is a step of a login of its connection, or offers one.
#[must_use]
pub fn offers_login_of_connection(answer: &HeaderMap) -> bool {
    [WWW_AUTHENTICATE, PROXY_AUTHENTICATE]
        .iter()
        .any(|name| names_login_of_connection(answer, name))
}

fn names_login_of_connection(fields: &HeaderMap, name: &HeaderName) -> bool {
    let values = fields
        .get_all(name)
        .into_iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    values.map(<[u8]>::trim_ascii).any(|member| {
        let scheme = member.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        LOGIN_OF_CONNECTION.iter().any(|known| scheme.eq_ignore_ascii_case(known.as_bytes()))
    })
}

/// The members of a comma-separated field over all its lines, trimmed and without empty ones. Lines
/// that are not text are skipped.
pub fn list<'fields>(
    fields: &'fields HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'fields str> {
    fields
        .get_all(name)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|member| !member.is_empty())
}

/// Whether a comma-separated field contains `member`, in any letter case.
#[must_use]
pub fn has_member(fields: &HeaderMap, name: &HeaderName, member: &str) -> bool {
    list(fields, name).any(|found| found.eq_ignore_ascii_case(member))
}

/// Adds this hop to `Via` (RFC 9110 §7.6.3): the received version and our name.
pub fn add_via(fields: &mut HeaderMap, received: Version, pseudonym: &str) {
    let version = match received {
        Version::HTTP_09 => "0.9",
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2.0",
        Version::HTTP_3 => "3",
        _ => "1.1",
    };
    if let Ok(value) = HeaderValue::from_str(&format!("{version} {pseudonym}")) {
        fields.append(VIA, value);
    }
}

/// Whether the message has already passed through a proxy of this name: a loop.
#[must_use]
pub fn has_passed(fields: &HeaderMap, pseudonym: &str) -> bool {
    list(fields, &VIA).any(|hop| hop.split_ascii_whitespace().nth(1) == Some(pseudonym))
}

/// Adds `Date` if the origin sent none (RFC 9110 §6.6.1).
pub fn complete_date(fields: &mut HeaderMap, received: SystemTime) {
    if !fields.contains_key(DATE)
        && let Ok(value) =
            HeaderValue::from_str(&httpdate::fmt_http_date(received.max(SystemTime::UNIX_EPOCH)))
    {
        fields.insert(DATE, value);
    }
}

/// Request fields with which frameworks ask for a part or another form of a page.
const SHAPES: [&str; 5] = ["hx-request", "rsc", "x-inertia", "x-nextjs-data", "x-pjax"];

/// Adds to the `Vary` of a response each field of `SHAPES` that its request has. Some origins
/// omit these fields, and a part of a page would then be served in place of the page.
pub fn complete_vary(fields: &mut HeaderMap, request: &HeaderMap) {
    for name in SHAPES.into_iter().filter(|name| request.contains_key(*name)) {
        if !has_member(fields, &VARY, name) {
            fields.append(VARY, HeaderValue::from_static(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> HeaderMap {
        text.lines()
            .map(|line| {
                let (name, value) = line.split_once(": ").unwrap();
                (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap())
            })
            .fold(HeaderMap::new(), |mut fields, (name, value)| {
                fields.append(name, value);
                fields
            })
    }

    #[test]
    fn fields_of_one_hop_are_removed_with_those_connection_names() {
        let mut given = fields(
            "Connection: close, X-Hop\nConnection: x-other\nKeep-Alive: 5\nX-Hop: 1\nX-Other: 2\n\
             Proxy-Connection: keep-alive\nTE: trailers\nUpgrade: h2c\nX-End: 3\nTrailer: X-Sum\n\
             Proxy-Authentication-Info: x",
        );
        strip_one_hop(&mut given);
        let mut left: Vec<_> = given.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["trailer", "x-end"]);
    }

    #[test]
    fn fields_that_override_the_request_are_removed() {
        let mut given = fields(
            "X-Forwarded-Host: a\nX-Forwarded-Host: b\nX-Forwarded-For: 1\nX-Forwarded-Proto: https\n\
             Forwarded: host=a\nX-Original-URL: /a\nX-Original-Host: a\nX-Rewrite-URL: /a\n\
             X-HTTP-Method-Override: PUT\nX-Method-Override: PUT\nX-Host: a\nX-Real-IP: ::1\n\
             X_Forwarded_Host: a\nX-Forwarded_Host: a\nX_Original_URL: /a\nX-Envoy-Original-Path: /a\n\
             X-Proxy-URL: /a\nX-Request-URI: /a\nRequest-URI: /a\nBase-URL: a\nProxy-Host: a\n\
             X-Backend-Host: a\nX-Forward: 1\nX-Requested-With: x\nAccept: a/b\nVia: 1.1 a",
        );
        assert!(has_overrides(&given));
        strip_overrides(&mut given);
        assert!(!has_overrides(&given));
        let mut left: Vec<_> = given.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["accept", "via", "x-forward", "x-requested-with"]);
    }

    #[test]
    fn each_field_that_overrides_is_recognised() {
        for name in [
            "proxy",
            "x-forwarded",
            "x-forwarded.host",
            "x-forward-host",
            "x-forward-proto",
            "x-forwarder-host",
            "x-http-host",
            "x-host-override",
            "x-http-path-override",
            "x-override-path",
            "x-override-url",
            "x-orig-host",
            "fastly-host",
            "fastly-ssl",
            "x-scheme",
            "x-http-scheme",
            "x-proto",
            "x-ssl",
            "x-arr-ssl",
            "cf-visitor",
            "cf-connecting-ip",
            "cloudfront-forwarded-proto",
            "edge-forwarded-host",
            "x-request-url",
            "x-url",
            "x-uri",
            "script-name",
            "script_name",
            "x-script-name",
            "x-method",
            "x-middleware-subrequest",
            "x-invoke-status",
            "x-matched-path",
            "x-now-route-matches",
            "x-amz-website-redirect-location",
            "http-host",
            "x-host-name",
            "x-fwd-host",
            "front-end-host",
            "x-server-name",
            "x-path",
            "x-rewritten-url",
            "x-ms-original-url",
            "x-waws-unencoded-url",
            "x-netlify-original-pathname",
            "x-dest-url",
            "https",
            "x-https",
            "proxy-client-ip",
            "wl-proxy-client-ip",
            "wl-proxy-ssl",
            "cf-connecting-ipv6",
            "fly-client-ip",
            "x-vercel-forwarded-for",
            "x-remote-ip",
            "x-remote-addr",
            "x-originating-ip",
        ] {
            assert!(overrides(name), "{name}");
        }
        for name in [
            "accept",
            "authorization",
            "cf-access-client-id",
            "content-type",
            "host",
            "origin",
            "proxy-authorization",
            "referer",
            "user-agent",
            "via",
            "x-amz-date",
            "x-api-key",
            "x-csrf-token",
            "x-forward",
            "x-hostile",
            "x-method-name",
            "x-proxyurl",
            "x-request-id",
            "x-requested-with",
        ] {
            assert!(!overrides(name), "{name}");
        }
    }

    #[test]
    fn a_login_of_the_connection_is_recognised_by_its_scheme() {
        for (text, request, answer) in [
            ("Authorization: NTLM TlRM", true, false),
            ("Authorization: negotiate\tYII=", true, false),
            ("Authorization: Basic bnRsbQ==", false, false),
            ("Authorization: Digest username=\"a\"", false, false),
            ("WWW-Authenticate: Basic realm=\"a\"\nWWW-Authenticate: NTLM", false, true),
            ("WWW-Authenticate: Basic realm=\"a\", Negotiate", false, true),
            ("WWW-Authenticate: Negotiate YII=", false, true),
            ("WWW-Authenticate: NTLMssp, Bearer", false, false),
            ("Proxy-Authenticate: Kerberos", false, true),
        ] {
            let given = fields(text);
            assert_eq!(logs_connection_in(&given), request, "{text}");
            assert_eq!(offers_login_of_connection(&given), answer, "{text}");
        }
    }

    #[test]
    fn via_is_added_at_the_end_and_found_again() {
        let mut given = fields("Via: 1.0 fred, 1.1 p.example.net (Apache)");
        assert!(!has_passed(&given, "wwwoffle-1a2b"));
        add_via(&mut given, Version::HTTP_10, "wwwoffle-1a2b");
        assert!(has_passed(&given, "wwwoffle-1a2b"));
        assert!(has_passed(&given, "p.example.net"));
        assert_eq!(given.get_all(VIA).iter().next_back().unwrap(), "1.0 wwwoffle-1a2b");
    }

    #[test]
    fn a_missing_date_is_added_and_an_existing_one_stays() {
        let now = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(784_111_777);
        let mut given = HeaderMap::new();
        complete_date(&mut given, now);
        assert_eq!(given[DATE], "Sun, 06 Nov 1994 08:49:37 GMT");
        let mut given = fields("Date: nonsense");
        complete_date(&mut given, now);
        assert_eq!(given[DATE], "nonsense");
    }

    #[test]
    fn a_field_that_changes_the_form_is_added_to_vary() {
        for (request, answer, want) in [
            ("Accept: a/b", "Date: x", vec![]),
            ("RSC: 1", "Date: x", vec!["rsc"]),
            ("RSC: 1\nX-PJAX: true", "Vary: Accept, Rsc", vec!["Accept, Rsc", "x-pjax"]),
        ] {
            let mut given = fields(answer);
            complete_vary(&mut given, &fields(request));
            assert_eq!(given.get_all(VARY).iter().collect::<Vec<_>>(), want, "{request}");
        }
    }
}
