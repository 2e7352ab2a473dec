//! The audience of our own messages. A sub-resource gets an empty body of the type that its page
//! expects.
//!
//! A browser would not show a message page in place of a picture, and would run it in place of a
//! script. The empty body has the status of the message. So a picture shows its alternative text, a
//! script reports the failure to its page, and `fetch` sees an error. Blocked sub-resources are
//! different: see [`Audience::blocked_replacement`].

use hyper::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Method, Response, StatusCode};

use super::body::{self, Body};
use super::intent::{Intent, SEC_FETCH_DEST, intent};
use super::saver::SaverKind;
use wwwoffle_http::fields::list;
use wwwoffle_http::media_type::essence;

/// A transparent picture of one pixel.
const NOTHING_TO_SEE: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\0\0\0!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

/// The substitute for a blocked sub-resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Blocked {
    /// The usual refusal: an empty body with the status of the message.
    Refused,
    /// A successful response with an empty body.
    Empty,
    /// A successful response with a transparent picture.
    Pixel,
}

/// A kind of sub-resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PartKind {
    /// The content type of the empty body. `None` if the kind is unknown.
    content_type: Option<&'static str>,
    /// The substitute if the request is blocked. For a picture, script, style sheet or frame it is
    /// a successful response, so that the page continues and shows no error. Other kinds get the
    /// refusal.
    blocked: Blocked,
}

/// A sub-resource of an unknown kind.
const UNKNOWN: PartKind = PartKind { content_type: None, blocked: Blocked::Refused };

/// All kinds of sub-resources: the request destinations of the Fetch Standard (§2.2.5), as
/// `Sec-Fetch-Dest` names them, each with the content type of an empty body and with its substitute
/// if it is blocked.
const KINDS: [(&str, &str, Blocked); 26] = [
    // A browser shows the alternative text if the body is not a picture, whatever the type.
    ("image", "image/gif", Blocked::Pixel),
    ("script", "text/javascript", Blocked::Empty),
    ("style", "text/css", Blocked::Empty),
    ("iframe", "text/html; charset=utf-8", Blocked::Empty),
    ("frame", "text/html; charset=utf-8", Blocked::Empty),
    ("fencedframe", "text/html; charset=utf-8", Blocked::Refused),
    // These elements show the fallback of the page, and no plug-in runs an empty body.
    ("object", "text/plain; charset=utf-8", Blocked::Refused),
    ("embed", "text/plain; charset=utf-8", Blocked::Refused),
    ("font", "font/woff2", Blocked::Refused),
    ("audio", "audio/mpeg", Blocked::Refused),
    ("video", "video/mp4", Blocked::Refused),
    ("track", "text/vtt; charset=utf-8", Blocked::Refused),
    ("manifest", "application/manifest+json", Blocked::Refused),
    ("json", "application/json", Blocked::Refused),
    ("worker", "text/javascript", Blocked::Refused),
    ("sharedworker", "text/javascript", Blocked::Refused),
    ("serviceworker", "text/javascript", Blocked::Refused),
    ("audioworklet", "text/javascript", Blocked::Refused),
    ("paintworklet", "text/javascript", Blocked::Refused),
    ("xslt", "application/xslt+xml", Blocked::Refused),
    ("report", "text/plain; charset=utf-8", Blocked::Refused),
    ("text", "text/plain; charset=utf-8", Blocked::Refused),
    ("dictionary", "text/plain; charset=utf-8", Blocked::Refused),
    ("webidentity", "application/json", Blocked::Refused),
    ("speculationrules", "application/speculationrules+json", Blocked::Refused),
    // Requests by scripts. Without a type, browsers would try to parse XML.
    ("empty", "text/plain; charset=utf-8", Blocked::Refused),
];

/// The audience of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audience {
    /// The sender of the request: a person, a page or a program.
    pub intent: Intent,
    /// The kind of the sub-resource. [`UNKNOWN`] if the response is for none.
    kind: PartKind,
}

impl Audience {
    /// Determines the audience of a request.
    #[must_use]
    pub fn of(method: &Method, fields: &HeaderMap) -> Self {
        let intent = intent(method, fields);
        Self { intent, kind: if intent == Intent::Part { part_kind(fields) } else { UNKNOWN } }
    }

    /// Whether the response is for a sub-resource of a page.
    #[must_use]
    pub fn is_part(self) -> bool {
        self.intent == Intent::Part
    }

    /// An empty response with the status of the message that it replaces.
    #[must_use]
    pub fn empty_response(self, status: u16) -> Response<Body> {
        self.empty(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), b"")
    }

    /// The kind of the sub-resource, for the data saver.
    pub(super) fn saver_kind(self) -> Option<SaverKind> {
        self.kind.content_type.filter(|_| self.is_part()).and_then(SaverKind::of_type)
    }

    /// The substitute for a blocked sub-resource. `None` if the response is for no sub-resource, or
    /// if the sub-resource gets the usual refusal.
    #[must_use]
    pub fn blocked_replacement(self) -> Option<Response<Body>> {
        match self.kind.blocked {
            _ if !self.is_part() => None,
            Blocked::Refused => None,
            Blocked::Empty => Some(self.empty(StatusCode::OK, b"")),
            Blocked::Pixel => Some(self.empty(StatusCode::OK, NOTHING_TO_SEE)),
        }
    }

    fn empty(self, status: StatusCode, bytes: &'static [u8]) -> Response<Body> {
        let body = if bytes.is_empty() { body::empty() } else { body::from_bytes(bytes) };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        let fields = response.headers_mut();
        fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(content_type) = self.kind.content_type {
            fields.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        response
    }
}

/// The kind of a sub-resource, from `Sec-Fetch-Dest`. For a browser that does not send this field,
/// `Accept` suggests the kind. This is only a guess, so blocked requests of such browsers are
/// refused.
fn part_kind(fields: &HeaderMap) -> PartKind {
    if let Some(dest) = fields.get(SEC_FETCH_DEST) {
        return dest.to_str().map_or(UNKNOWN, named);
    }
    let first = list(fields, &ACCEPT).next().unwrap_or_default();
    let likely = match essence(first).split_once('/') {
        Some(("text", "css")) => named("style"),
        Some((dest @ ("image" | "audio" | "video" | "font"), _)) => named(dest),
        _ => UNKNOWN,
    };
    PartKind { blocked: Blocked::Refused, ..likely }
}

fn named(name: &str) -> PartKind {
    let row = KINDS.iter().find(|(dest, ..)| *dest == name);
    row.map_or(UNKNOWN, |(_, content_type, blocked)| PartKind {
        content_type: Some(content_type),
        blocked: *blocked,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::mode::Mode;
    use crate::daemon::testing::TestDaemon;
    use crate::page::context::PageReader;
    use crate::page::message::tests::all;
    use crate::proxy::reply;
    use http_body_util::BodyExt;
    use wwwoffle_api::Chain;
    use wwwoffle_config::Config;

    /// The names of all kinds of sub-resources.
    fn destinations() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|(dest, ..)| *dest)
    }

    fn asking(dest: &str) -> Audience {
        let fields = [(SEC_FETCH_DEST, HeaderValue::from_bytes(dest.as_bytes()).unwrap())]
            .into_iter()
            .collect();
        Audience::of(&Method::GET, &fields)
    }

    #[test]
    fn each_destination_is_in_the_table_once() {
        for dest in destinations() {
            assert_eq!(destinations().filter(|other| *other == dest).count(), 1, "{dest}");
        }
    }

    #[test]
    fn blocked_sub_resources_get_a_placeholder() {
        for (dest, want) in [
            ("image", Some("image/gif")),
            ("script", Some("text/javascript")),
            ("style", Some("text/css")),
            ("iframe", Some("text/html; charset=utf-8")),
            ("frame", Some("text/html; charset=utf-8")),
            ("font", None),
            ("empty", None),
            ("document", None),
            ("what else", None),
        ] {
            let got = asking(dest).blocked_replacement();
            let kind =
                got.as_ref().map(|response| response.headers()[CONTENT_TYPE].to_str().unwrap());
            assert_eq!(kind, want, "{dest}");
            assert!(got.is_none_or(|response| response.status().is_success()));
        }
    }

    #[test]
    fn the_accept_field_identifies_requests_of_older_browsers() {
        for (accept, want) in [
            ("image/avif,image/webp,*/*;q=0.8", Some("image/gif")),
            ("text/css,*/*;q=0.1", Some("text/css")),
            ("VIDEO/webm;q=1, */*", Some("video/mp4")),
            ("*/*", None),
            ("", None),
        ] {
            let fields: HeaderMap = [
                (ACCEPT, accept.parse().unwrap()),
                (hyper::header::REFERER, "http://a/".parse().unwrap()),
            ]
            .into_iter()
            .collect();
            let audience = Audience::of(&Method::GET, &fields);
            assert!(audience.is_part() && audience.blocked_replacement().is_none(), "{accept}");
            let nothing = audience.empty_response(504);
            assert_eq!(nothing.status(), 504);
            let got = nothing.headers().get(CONTENT_TYPE).map(|kind| kind.to_str().unwrap());
            assert_eq!(got, want, "{accept}");
        }
    }

    #[tokio::test]
    async fn sub_resources_never_get_a_message_page() {
        let root = tempfile::tempdir().unwrap();
        let context = TestDaemon::new(&root, Config::default(), Mode::Offline).proxy();
        let reader = PageReader::of(Mode::Offline, &HeaderMap::new());
        let chain = Chain::default();
        for dest in destinations().chain(["what else"]) {
            let (audience, mut ways) = (asking(dest), 0);
            for (status, message) in all("http://a.example/<b>", &chain) {
                for answer in [reply::message_for, reply::page_or_empty] {
                    let response = answer(&context, &reader, audience, &message);
                    assert_eq!(response.status(), status, "{dest} {message:?}");
                    let kind = response.headers().get(CONTENT_TYPE).cloned();
                    let named = named(dest).content_type;
                    assert_eq!(kind, named.map(HeaderValue::from_static), "{dest} {message:?}");
                    let body = response.into_body().collect().await.unwrap().to_bytes();
                    assert!(body.is_empty(), "{dest} {message:?}: {body:?}");
                    ways += 1;
                }
            }
            assert!(ways > 80, "{ways}");
        }
        for (_, message) in all("http://a.example/<b>", &chain) {
            let page = reply::message_for(&context, &reader, asking("document"), &message);
            assert_eq!(page.headers()[CONTENT_TYPE], "text/html; charset=utf-8");
            let program = Audience::of(&Method::GET, &HeaderMap::new());
            let line = reply::message_for(&context, &reader, program, &message);
            assert_eq!(line.headers()[CONTENT_TYPE], "text/plain; charset=utf-8");
        }
    }
}
