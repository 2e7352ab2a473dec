//! What is answered in place of a URL that has become another one, or that is never got.

use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use hyper::{Method, Response};
use tracing::debug;
use wwwoffle_config::Place;

use super::ask::Ask;
use super::body::{self, Body};
use super::intent::{Intent, SEC_FETCH_DEST};
use super::reply;
use super::status::CacheStatus;
use crate::daemon::Daemon;
use crate::pages::message::{Message, Ruled};
use crate::server::connection::Visitor;

/// A picture of one pixel that nobody sees.
const NOTHING_TO_SEE: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\0\0\0!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

/// Sends the browser to what the URL has become; a form is sent there as it is.
pub(super) fn moved(daemon: &Daemon, ask: &Ask, to: &str, by: &Place) -> Response<Body> {
    debug!(url = ask.resource.url.as_str(), to, %by, "an alias");
    let status = if is_safe(&ask.method) { 302 } else { 307 };
    redirect(daemon, ask, status, to, CacheStatus::Moved)
}

/// Says that the URL is never got, in the form that fits who asked. `by` is told to this machine
/// alone: what the owner blocks, and where the file is, is nobody else's business.
pub(super) fn blocked(
    daemon: &Daemon,
    visitor: &Visitor,
    ask: &Ask,
    by: &Place,
    replacement: Option<&str>,
) -> Response<Body> {
    let url = ask.resource.url.as_str();
    debug!(url, %by, replacement, "blocked");
    if let Some(with) = replacement.filter(|_| is_safe(&ask.method)) {
        let own = || format!("{}{with}", daemon.origin);
        let to = if with.starts_with('/') { own() } else { with.to_owned() };
        return redirect(daemon, ask, 302, &to, CacheStatus::Blocked);
    }
    if ask.asked.intent == Intent::Part
        && let Some(response) = empty_part(&ask.fields)
    {
        return reply::with_status(response, CacheStatus::Blocked);
    }
    let place = by.to_string();
    let place = visitor.peer.ip().to_canonical().is_loopback().then_some(place.as_str());
    let told = Message::Ruled { url, ruled: Ruled::Blocked, place };
    reply::instead(daemon, ask, CacheStatus::Blocked, &told)
}

/// What a page can do best with in place of a blocked part: nothing, of the kind that it expects.
/// What a script asks for itself has no such kind: it is told of the refusal.
fn empty_part(fields: &HeaderMap) -> Option<Response<Body>> {
    let (kind, bytes): (_, &'static [u8]) = match fields.get(SEC_FETCH_DEST)?.to_str().ok()? {
        "image" => ("image/gif", NOTHING_TO_SEE),
        "script" => ("text/javascript", b""),
        "style" => ("text/css", b""),
        "iframe" | "frame" => ("text/html; charset=utf-8", b""),
        _ => return None,
    };
    let mut response = Response::new(body::whole(bytes));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Some(response)
}

fn redirect(
    daemon: &Daemon,
    ask: &Ask,
    status: u16,
    to: &str,
    told: CacheStatus,
) -> Response<Body> {
    let Ok(to) = HeaderValue::from_str(to) else {
        return reply::instead(daemon, ask, told, &Message::Internal);
    };
    let mut response = reply::plain(status, "");
    response.headers_mut().insert(LOCATION, to);
    reply::with_status(response, told)
}

/// Methods that ask for nothing but an answer (RFC 9110 §9.2.1).
fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_get_nothing_of_the_kind_they_expect() {
        for (dest, want) in [
            ("image", Some("image/gif")),
            ("script", Some("text/javascript")),
            ("style", Some("text/css")),
            ("iframe", Some("text/html; charset=utf-8")),
            ("empty", None),
            ("document", None),
        ] {
            let fields = [(SEC_FETCH_DEST, dest.parse().unwrap())].into_iter().collect();
            let got = empty_part(&fields);
            let kind =
                got.as_ref().map(|response| response.headers()[CONTENT_TYPE].to_str().unwrap());
            assert_eq!(kind, want, "{dest}");
            assert!(got.is_none_or(|response| response.status().is_success()));
        }
    }
}
