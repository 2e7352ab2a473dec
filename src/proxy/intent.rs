//! The intent of a request: a person opens a page, a page loads a sub-resource, or a program works
//! on its own.

use hyper::header::{ACCEPT, HeaderName, REFERER};
use hyper::{HeaderMap, Method};

use wwwoffle_http::fields::list;
use wwwoffle_http::media_type::has_essence;

/// `Sec-Fetch-Dest`: the browser's use of the response (Fetch Metadata §2.1).
pub const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The sender of a request, as far as its fields show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Intent {
    /// A person requests a page, which is shown in a window.
    Person,
    /// A page requests one of its sub-resources.
    Part,
    /// A program makes a request outside any page: `curl`, a feed reader.
    Program,
}

/// Destinations that are shown as a page in a window.
const WINDOWS: [&str; 1] = ["document"];

/// Determines the sender of a request from `Sec-Fetch-Dest`, else `Accept`, else `Referer`.
#[must_use]
pub fn intent(method: &Method, fields: &HeaderMap) -> Intent {
    if let Some(dest) = fields.get(SEC_FETCH_DEST).and_then(|value| value.to_str().ok()) {
        return if WINDOWS.contains(&dest) { Intent::Person } else { Intent::Part };
    }
    // Browsers without Fetch Metadata name HTML explicitly when a person navigates. Requests for
    // scripts and images, and command-line programs, send `*/*` or their own type.
    let html = |range: &str| {
        ["text/html", "application/xhtml+xml"].iter().any(|html| has_essence(range, html))
    };
    if list(fields, &ACCEPT).any(html) {
        Intent::Person
    } else if fields.contains_key(REFERER) && method != Method::POST {
        Intent::Part
    } else {
        Intent::Program
    }
}

/// Whether the client wants an event stream, like `EventSource` and similar clients.
#[must_use]
pub fn wants_event_stream(fields: &HeaderMap) -> bool {
    list(fields, &ACCEPT).any(|range| has_essence(range, "text/event-stream"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHROME: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

    #[test]
    fn the_fields_of_a_request_identify_its_intent() {
        use Intent::{Part, Person, Program};
        for (dest, accept, referer, want) in [
            (Some("document"), Some("*/*"), false, Person),
            (Some("document"), None, true, Person),
            (Some("image"), Some("image/avif,*/*"), true, Part),
            (Some("script"), None, false, Part),
            (Some("iframe"), Some(CHROME), true, Part),
            (Some("empty"), Some("text/html"), true, Part),
            (None, Some(CHROME), false, Person),
            (None, Some(CHROME), true, Person),
            (None, Some("TEXT/HTML;q=0.5"), false, Person),
            (None, Some("text/htmlx"), false, Program),
            (None, Some("image/png"), true, Part),
            (None, Some("*/*"), false, Program),
            (None, None, false, Program),
        ] {
            let mut fields = HeaderMap::new();
            for (name, value) in [
                (SEC_FETCH_DEST, dest),
                (ACCEPT, accept),
                (REFERER, referer.then_some("http://a/")),
            ] {
                if let Some(value) = value {
                    fields.insert(name, value.parse().unwrap());
                }
            }
            let found = intent(&Method::GET, &fields);
            assert_eq!(found, want, "dest {dest:?} accept {accept:?} referer {referer}");
        }
    }
}
