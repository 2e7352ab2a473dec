//! Gateway addresses that a page of another site may have opened in a window. Such a window gets a
//! page with a link instead of a file to save. With the file, the window would stay at its page,
//! and the other site would learn from this that the file is stored.

use hyper::header::{CACHE_CONTROL, CONTENT_DISPOSITION, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};

use crate::page::isolation::isolate;
use crate::page::message::{Message, page};
use crate::page::{LocalOrigin, Shell};
use crate::proxy::body::Body;
use crate::proxy::intent::{Intent, intent};
use crate::proxy::opener::may_be_another_site;
use crate::proxy::reply;
use wwwoffle_http::media_type::content_essence;

/// The types that every browser shows in a window. A browser offers other types as downloads, or
/// passes them to another program.
const SHOWN: [&str; 12] = [
    "text/html",
    "text/plain",
    "text/css",
    "image/svg+xml",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/avif",
    "image/bmp",
    "image/x-icon",
    "image/vnd.microsoft.icon",
];

/// The window for which a request was sent.
#[derive(Clone, Debug)]
pub(super) struct OpenedWindow {
    /// The address that the window opens, without scheme and host.
    address: String,
    /// Whether a page of another site may have opened the window.
    is_unproven: bool,
}

impl OpenedWindow {
    /// The window of a request. `None` if the request is for a sub-resource, or from a program.
    pub(super) fn of(parts: &Parts, address: &str, ours: &LocalOrigin) -> Option<Self> {
        let is_window = intent(&parts.method, &parts.headers) == Intent::Person;
        is_window.then(|| Self {
            address: address.to_owned(),
            is_unproven: may_be_another_site(&parts.method, &parts.headers, ours),
        })
    }

    /// The response for this window. If the window would not show `response`, and a page of another
    /// site may have opened the window, returns a page with a link instead.
    pub(super) fn receive(&self, shell: &Shell, mut response: Response<Body>) -> Response<Body> {
        if is_shown(&response) {
            return response;
        }
        if !self.is_unproven {
            // Otherwise the browser would use this response from its cache when another site opens
            // the address.
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            return response;
        }
        let message = Message::OpenedElsewhere { address: &self.address };
        let mut response = reply::render(shell, page(shell, &message));
        isolate(response.headers_mut(), false);
        response
    }
}

/// Whether a window that gets the response shows it.
fn is_shown(response: &Response<Body>) -> bool {
    let (status, fields) = (response.status(), response.headers());
    // With these two statuses, the window stays at its page (HTML §7.4.2.2).
    let is_empty = matches!(status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT);
    let is_page = SHOWN.contains(&content_essence(fields).as_str())
        && !fields.contains_key(CONTENT_DISPOSITION);
    !is_empty && (is_page || status.is_redirection())
}

#[cfg(test)]
mod tests {
    use hyper::header::CONTENT_TYPE;

    use super::*;
    use crate::proxy::body;

    #[test]
    fn windows_show_pages_and_pictures() {
        for (status, content_type, disposition, want) in [
            (200, "text/html; charset=utf-8", None, true),
            (404, "text/plain", None, true),
            (200, "image/png", None, true),
            (200, "image/png", Some("attachment"), false),
            (200, "image/tiff", None, false),
            (200, "video/mp4", None, false),
            (200, "application/pdf", None, false),
            (204, "text/html", None, false),
            (302, "", None, true),
            (200, "", None, false),
        ] {
            let mut response = Response::new(body::empty());
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            if let Some(value) = disposition {
                let value = HeaderValue::from_static(value);
                response.headers_mut().insert(CONTENT_DISPOSITION, value);
            }
            assert_eq!(is_shown(&response), want, "{status} {content_type}");
        }
    }
}
