//! The fields of a request and of its response that pass the gateway. Each direction has a list of
//! allowed fields; all others are removed.
//!
//! In the gateway all sites share one origin, ours. A site must not be able to give the browser
//! state for this origin, and the browser must not disclose our state to a site. So no cookie,
//! login, policy or service worker passes.

use encoding_rs::Encoding;
use hyper::Method;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, ACCEPT_RANGES, ACCESS_CONTROL_ALLOW_ORIGIN, AGE,
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, DATE, ETAG, EXPIRES, HeaderMap, HeaderName, HeaderValue,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, LAST_MODIFIED, ORIGIN, PRAGMA, RANGE,
    REFERRER_POLICY, RETRY_AFTER, USER_AGENT, VARY, VIA, X_CONTENT_TYPE_OPTIONS,
    X_DNS_PREFETCH_CONTROL,
};

use crate::page::LocalOrigin;
use crate::page::isolation::isolate;
use crate::proxy::intent::SEC_FETCH_DEST;
use wwwoffle_http::fields::{CACHE_STATUS, list};
use wwwoffle_http::media_type;
use wwwoffle_http::token::is_token;
use wwwoffle_url::SCHEMES;

/// Fields of a request that the origin gets.
const ASKED: [HeaderName; 14] = [
    ACCEPT,
    ACCEPT_ENCODING,
    ACCEPT_LANGUAGE,
    USER_AGENT,
    CACHE_CONTROL,
    PRAGMA,
    RANGE,
    IF_RANGE,
    IF_NONE_MATCH,
    IF_MODIFIED_SINCE,
    VIA,
    SEC_FETCH_DEST,
    HeaderName::from_static("dnt"),
    HeaderName::from_static("sec-gpc"),
];

/// Additional fields of a form.
const POSTED: [HeaderName; 2] = [CONTENT_TYPE, CONTENT_LENGTH];

/// Fields of a response that the browser gets, in addition to the generated ones.
const ANSWERED: [HeaderName; 13] = [
    CONTENT_LENGTH,
    CONTENT_LANGUAGE,
    CONTENT_RANGE,
    ACCEPT_RANGES,
    CACHE_CONTROL,
    EXPIRES,
    AGE,
    DATE,
    ETAG,
    LAST_MODIFIED,
    RETRY_AFTER,
    VARY,
    CACHE_STATUS,
];

/// The destinations that a page without scripts can request.
const WITHOUT_SCRIPTS: [&str; 11] = [
    "document", "iframe", "frame", "object", "embed", "image", "style", "font", "audio", "video",
    "track",
];

/// Whether a page without scripts could have sent the request. Any other request does not come from
/// a page of the gateway.
pub(super) fn is_of_a_page(fields: &HeaderMap) -> bool {
    fields
        .get(SEC_FETCH_DEST)
        .is_none_or(|dest| dest.to_str().is_ok_and(|dest| WITHOUT_SCRIPTS.contains(&dest)))
}

/// The fields for the origin.
pub(super) fn request_fields(method: &Method, fields: &HeaderMap) -> HeaderMap {
    let mut passed = select_fields(fields, &ASKED);
    if method == Method::POST {
        passed.extend(select_fields(fields, &POSTED));
    }
    let takes_html = list(fields, &ACCEPT).any(|range| range.starts_with("text/html"));
    if takes_html {
        // A range of a page could not be rewritten.
        passed.remove(RANGE);
        passed.remove(IF_RANGE);
    } else if !fields.contains_key(SEC_FETCH_DEST)
        && let Some(dest) = fetch_destination(fields)
    {
        // Browsers do not send the destination to an address without TLS, and a gateway page sends
        // no `Referer`.
        passed.insert(SEC_FETCH_DEST, HeaderValue::from_static(dest));
    }
    passed
}

/// The destination of a request that does not accept HTML. `None` if its fields do not show the
/// destination.
fn fetch_destination(fields: &HeaderMap) -> Option<&'static str> {
    let takes = |begin: &str| list(fields, &ACCEPT).any(|range| range.starts_with(begin));
    if takes("image/") {
        Some("image")
    } else if takes("text/css") {
        Some("style")
    } else if takes("video/") {
        Some("video")
    } else if takes("audio/") || fields.contains_key(RANGE) && takes("*/*") {
        Some("audio")
    } else if fields.contains_key(ORIGIN) {
        // Fonts are requested across origins (CSS Fonts 4 §4.9).
        Some("font")
    } else {
        None
    }
}

fn select_fields(fields: &HeaderMap, names: &[HeaderName]) -> HeaderMap {
    let mut passed = HeaderMap::new();
    for name in names {
        for value in fields.get_all(name) {
            passed.append(name, value.clone());
        }
    }
    passed
}

/// The treatment of a body, by its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::proxy) enum Shape {
    /// It is rewritten as a page.
    Page,
    /// It is rewritten as an SVG image, which is a document.
    Svg,
    /// It is rewritten as a style sheet.
    Sheet,
    /// It contains no references, and passes unchanged.
    AsIs,
    /// A font, which a page may load only with a CORS permission.
    Font,
    /// It is shown as plain text, because it could contain references or scripts.
    Text,
    /// It is not shown, but may be saved.
    Saved,
}

impl Shape {
    /// The treatment of a body with this `Content-Type`.
    pub(in crate::proxy) fn of(content_type: Option<&str>) -> Self {
        let Some((kind, subtype)) = content_type.and_then(essence) else { return Self::Saved };
        match (kind.as_str(), subtype.as_str()) {
            ("text", "html") | ("application", "xhtml+xml") => Self::Page,
            ("image", "svg+xml") => Self::Svg,
            ("text", "css") => Self::Sheet,
            ("text", "vtt") | ("application", "ogg") => Self::AsIs,
            ("image" | "audio" | "video", subtype) if !subtype.ends_with("xml") => Self::AsIs,
            ("font", _) => Self::Font,
            ("application", subtype)
                if subtype.starts_with("font-")
                    || subtype.starts_with("x-font-")
                    || subtype == "vnd.ms-fontobject" =>
            {
                Self::Font
            }
            ("text", _) => Self::Text,
            (_, subtype) if subtype.ends_with("xml") || subtype.ends_with("json") => Self::Text,
            ("application", "javascript" | "ecmascript" | "x-javascript") => Self::Text,
            _ => Self::Saved,
        }
    }

    /// Whether the body is parsed, so that it must be decoded.
    pub(in crate::proxy) fn is_read(self) -> bool {
        matches!(self, Self::Page | Self::Svg | Self::Sheet)
    }

    /// The `Content-Type` for the browser. It is generated, because a browser may parse the
    /// original differently.
    fn content_type(self, theirs: Option<&str>) -> String {
        let theirs = theirs.unwrap_or_default();
        let charset = || {
            let label = parameter(theirs, "charset").map(str::to_ascii_lowercase);
            let known = label.filter(|label| Encoding::for_label(label.as_bytes()).is_some());
            known.map_or_else(String::new, |label| format!("; charset={label}"))
        };
        match self {
            Self::Page => format!("text/html{}", charset()),
            Self::Svg => format!("image/svg+xml{}", charset()),
            Self::Sheet => "text/css; charset=utf-8".to_owned(),
            Self::Text => format!("text/plain{}", charset()),
            Self::AsIs | Self::Font | Self::Saved => {
                let Some((kind, subtype)) = essence(theirs) else {
                    return "application/octet-stream".to_owned();
                };
                // Without the boundary the sections of a multipart body could not be separated.
                let boundary =
                    parameter(theirs, "boundary").filter(|value| is_token(value.as_bytes()));
                let boundary = boundary.filter(|_| kind == "multipart");
                let boundary = boundary.map_or_else(String::new, |it| format!("; boundary={it}"));
                format!("{kind}/{subtype}{boundary}")
            }
        }
    }
}

/// The type and the subtype, in lower case. `None` unless both are tokens. Browsers use the last of
/// several comma-separated types (Fetch, *extract a MIME type*), so a comma before the parameters
/// is invalid here.
fn essence(content_type: &str) -> Option<(String, String)> {
    let essence = media_type::essence(content_type);
    let (kind, subtype) = essence.split_once('/')?;
    let are_tokens = is_token(kind.as_bytes()) && is_token(subtype.as_bytes());
    are_tokens.then(|| (kind.to_owned(), subtype.to_owned()))
}

/// The value of the first parameter of this name, without its quotes.
fn parameter<'a>(content_type: &'a str, name: &str) -> Option<&'a str> {
    let parameters = content_type.split(';').skip(1).filter_map(|one| one.split_once('='));
    let mut named = parameters.filter(|(known, _)| known.trim().eq_ignore_ascii_case(name));
    named.next().map(|(_, value)| value.trim().trim_matches(['"', '\'']).trim())
}

/// The `Content-Disposition` of a response that the browser must save, because the origin requests
/// this or because of the shape. `None` for other responses. Browsers compare the word before the
/// first semicolon (RFC 6266 §4.2).
fn disposition(theirs: &HeaderMap, shape: Shape) -> Option<HeaderValue> {
    let is_attachment = |value: &&HeaderValue| {
        let word = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
        word.trim_ascii().eq_ignore_ascii_case(b"attachment")
    };
    let mut all = theirs.get_all(CONTENT_DISPOSITION).iter();
    let attachment = theirs.get_all(CONTENT_DISPOSITION).iter().find(is_attachment);
    match (attachment, all.nth(1)) {
        (Some(only), None) => Some(only.clone()),
        (None, _) if shape != Shape::Saved => None,
        _ => Some(HeaderValue::from_static("attachment")),
    }
}

/// The fields of a response of this shape, for a browser that loads it from `origin`.
pub(in crate::proxy) fn response_fields(
    theirs: &HeaderMap,
    shape: Shape,
    origin: &LocalOrigin,
) -> HeaderMap {
    let mut fields = select_fields(theirs, &ANSWERED);
    let content_type = theirs.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if let Ok(value) = HeaderValue::from_str(&shape.content_type(content_type)) {
        fields.insert(CONTENT_TYPE, value);
    }
    if let Some(value) = disposition(theirs, shape) {
        fields.insert(CONTENT_DISPOSITION, value);
    }
    if let Ok(policy) = HeaderValue::from_str(&policy(origin)) {
        fields.insert(CONTENT_SECURITY_POLICY, policy);
    }
    fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    fields.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    fields.insert(X_DNS_PREFETCH_CONTROL, HeaderValue::from_static("off"));
    // Gateway pages have an opaque origin, so their sub-resources must be loadable from any origin.
    isolate(&mut fields, shape != Shape::Page);
    if shape == Shape::Font {
        // Fonts need CORS. The opaque origin of a gateway page cannot be named in this field, so
        // all origins are allowed; a font is not secret.
        fields.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    }
    fields
}

/// The policy of a gateway page: it may load and link to resources of the gateway, and runs no
/// script. Its origin is opaque (HTML §7.1.5), so it is neither our origin nor that of any other
/// page.
fn policy(origin: &LocalOrigin) -> String {
    let inside = SCHEMES.map(|scheme| format!("{origin}/{scheme}/")).join(" ");
    format!(
        "sandbox allow-forms allow-popups allow-popups-to-escape-sandbox \
         allow-top-navigation-by-user-activation allow-downloads; default-src 'none'; script-src 'none'; \
         style-src 'unsafe-inline' {inside}; img-src {inside} {origin}/local/ data:; font-src {inside} data:; \
         media-src {inside} data:; frame-src {inside}; object-src {inside}; form-action {inside}; base-uri 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap())
        });
        pairs.collect()
    }

    #[test]
    fn the_content_type_decides_how_a_body_is_rewritten() {
        for (content_type, shape, expected) in [
            ("text/html; charset=koi8-r; x=y", Shape::Page, "text/html; charset=koi8-r"),
            ("application/xhtml+xml", Shape::Page, "text/html"),
            ("IMAGE/SVG+XML", Shape::Svg, "image/svg+xml"),
            ("text/css;charset=latin1", Shape::Sheet, "text/css; charset=utf-8"),
            ("image/png", Shape::AsIs, "image/png"),
            ("video/mp4", Shape::AsIs, "video/mp4"),
            ("image/x+xml", Shape::Text, "text/plain"),
            ("font/woff2", Shape::Font, "font/woff2"),
            ("application/font-woff", Shape::Font, "application/font-woff"),
            ("text/javascript", Shape::Text, "text/plain"),
            ("application/javascript", Shape::Text, "text/plain"),
            ("application/rss+xml; Charset=UTF-8", Shape::Text, "text/plain; charset=utf-8"),
            ("text/plain; a=b; charset=\"latin1\"", Shape::Text, "text/plain; charset=latin1"),
            ("text/xml", Shape::Text, "text/plain"),
            ("text/xsl", Shape::Text, "text/plain"),
            ("application/ld+json", Shape::Text, "text/plain"),
            ("application/pdf", Shape::Saved, "application/pdf"),
            ("application/x-shockwave-flash", Shape::Saved, "application/x-shockwave-flash"),
            ("multipart/related", Shape::Saved, "multipart/related"),
            (
                "multipart/byteranges; boundary=a1-b",
                Shape::Saved,
                "multipart/byteranges; boundary=a1-b",
            ),
            ("rubbish", Shape::Saved, "application/octet-stream"),
            // A browser uses the last of the comma-separated values.
            ("image/png, text/html", Shape::Saved, "application/octet-stream"),
            ("font/x, text/html", Shape::Saved, "application/octet-stream"),
            ("image/png;x=y, text/html", Shape::AsIs, "image/png"),
            ("application/pdf; x=\",text/html", Shape::Saved, "application/pdf"),
            ("text/plain; charset=x, text/html", Shape::Text, "text/plain"),
            ("text/html; charset=utf-8, image/svg+xml", Shape::Page, "text/html"),
            ("multipart/byteranges; boundary=a, text/html", Shape::Saved, "multipart/byteranges"),
            ("image/ png", Shape::Saved, "application/octet-stream"),
            ("image/", Shape::Saved, "application/octet-stream"),
            ("image/png/x", Shape::Saved, "application/octet-stream"),
        ] {
            assert_eq!(Shape::of(Some(content_type)), shape, "{content_type}");
            assert_eq!(shape.content_type(Some(content_type)), expected, "{content_type}");
        }
        assert_eq!(Shape::of(None).content_type(None), "application/octet-stream");
    }

    #[test]
    fn only_listed_response_fields_are_forwarded() {
        let origin = LocalOrigin::parse("http", "ship:8080").unwrap();
        let theirs = fields(&[
            ("set-cookie", "a=b"),
            ("clear-site-data", "*"),
            ("service-worker-allowed", "/"),
            ("strict-transport-security", "max-age=9"),
            ("alt-svc", "h3=\":443\""),
            ("refresh", "0; url=/control/online"),
            ("link", "</x>; rel=preload"),
            ("access-control-allow-origin", "*"),
            ("content-security-policy", "sandbox allow-scripts"),
            ("x-frame-options", "ALLOWALL"),
            ("www-authenticate", "Basic"),
            ("location", "/control/online"),
            ("content-location", "/x"),
            ("content-disposition", "inline; filename=a"),
            ("content-type", "text/html"),
            ("etag", "\"1\""),
        ]);
        let passed = response_fields(&theirs, Shape::Page, &origin);
        let mut names: Vec<_> = passed.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "content-security-policy",
                "content-type",
                "cross-origin-opener-policy",
                "cross-origin-resource-policy",
                "etag",
                "referrer-policy",
                "x-content-type-options",
                "x-dns-prefetch-control"
            ]
        );
        let policy = passed[CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("sandbox ") && !policy.contains("allow-scripts"));
        assert!(!policy.contains("allow-same-origin") && !policy.contains("'self'"), "{policy}");
        let saved = response_fields(&theirs, Shape::Saved, &origin);
        assert_eq!(saved[CONTENT_DISPOSITION], "attachment");
        for (shape, whose) in [
            (Shape::Page, "same-origin"),
            (Shape::AsIs, "cross-origin"),
            (Shape::Svg, "cross-origin"),
            (Shape::Sheet, "cross-origin"),
            (Shape::Font, "cross-origin"),
        ] {
            let passed = response_fields(&theirs, shape, &origin);
            assert_eq!(passed["cross-origin-resource-policy"], whose, "{shape:?}");
        }
        let theirs = fields(&[("content-disposition", "attachment; filename=a")]);
        let saved = response_fields(&theirs, Shape::Page, &origin);
        assert_eq!(saved[CONTENT_DISPOSITION], "attachment; filename=a");
    }

    #[test]
    fn attachments_are_not_shown() {
        let origin = LocalOrigin::parse("http", "ship:8080").unwrap();
        for (theirs, of_page, of_saved) in [
            (&[][..], None, "attachment"),
            (&["inline; filename=a"], None, "attachment"),
            (&["attachment; filename=a"], Some("attachment; filename=a"), "attachment; filename=a"),
            (&["Attachment ;filename=a"], Some("Attachment ;filename=a"), "Attachment ;filename=a"),
            (&["attachment=x"], None, "attachment"),
            (&["attachmentfoo"], None, "attachment"),
            // A repeated field is ambiguous.
            (&["attachment; filename=a", "inline"], Some("attachment"), "attachment"),
            (&["inline", "attachment"], Some("attachment"), "attachment"),
        ] {
            let pairs: Vec<_> = theirs.iter().map(|one| ("content-disposition", *one)).collect();
            let disposition_of = |shape| {
                let passed = response_fields(&fields(&pairs), shape, &origin);
                let all = passed.get_all(CONTENT_DISPOSITION).into_iter();
                let all: Vec<_> = all.map(|value| value.to_str().unwrap().to_owned()).collect();
                all.join(" and ")
            };
            assert_eq!(disposition_of(Shape::Page), of_page.unwrap_or_default(), "{theirs:?}");
            assert_eq!(disposition_of(Shape::Saved), of_saved, "{theirs:?}");
        }
    }

    #[test]
    fn our_own_fields_are_not_sent_to_an_origin() {
        let html = ("accept", "text/html,*/*;q=0.8");
        for (method, given, want) in [
            (
                Method::GET,
                &[
                    html,
                    ("cookie", "a=b"),
                    ("authorization", "Basic x"),
                    ("origin", "null"),
                    ("range", "bytes=1-"),
                ][..],
                &["accept"][..],
            ),
            (Method::GET, &[("referer", "http://ship/"), ("content-length", "3")], &[]),
            (
                Method::GET,
                &[("accept", "*/*"), ("range", "bytes=0-")],
                &["accept", "range", "sec-fetch-dest audio"],
            ),
            (Method::GET, &[("accept", "image/avif,image/*")], &["accept", "sec-fetch-dest image"]),
            (Method::GET, &[("accept", "text/css,*/*;q=0.1")], &["accept", "sec-fetch-dest style"]),
            (
                Method::GET,
                &[("accept", "*/*"), ("origin", "null")],
                &["accept", "sec-fetch-dest font"],
            ),
            (Method::GET, &[("accept", "*/*")], &["accept"]),
            (
                Method::GET,
                &[html, ("sec-fetch-dest", "iframe"), ("sec-fetch-site", "cross-site")],
                &["accept", "sec-fetch-dest iframe"],
            ),
            (
                Method::POST,
                &[
                    html,
                    ("content-type", "a/b"),
                    ("transfer-encoding", "chunked"),
                    ("upgrade", "x"),
                ],
                &["accept", "content-type"],
            ),
        ] {
            let passed = request_fields(&method, &fields(given));
            let mut names: Vec<_> = passed
                .iter()
                .map(|(name, value)| match name.as_str() {
                    "sec-fetch-dest" => format!("{name} {}", value.to_str().unwrap()),
                    name => name.to_owned(),
                })
                .collect();
            names.sort_unstable();
            assert_eq!(names, want, "{given:?}");
        }
    }

    #[test]
    fn requests_by_scripts_are_refused() {
        for (dest, want) in [
            ("document", true),
            ("image", true),
            ("script", false),
            ("empty", false),
            ("serviceworker", false),
            ("xslt", false),
            ("", false),
        ] {
            assert_eq!(is_of_a_page(&fields(&[("sec-fetch-dest", dest)])), want, "{dest}");
        }
        assert!(is_of_a_page(&HeaderMap::new()));
    }
}
