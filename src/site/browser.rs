//! Pages and files for setting up a browser.

pub mod pac;

use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::{Response, StatusCode};

use super::caller::Caller;
use super::route::PageRequest;
use crate::page::{RenderedPage, Templates, asset_paths, script, style};
use crate::proxy::body::{self, Body};

/// `Cache-Control` of a response whose URL changes with its content.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// Responds with the style sheet of our pages.
pub(super) fn stylesheet(caller: &Caller) -> Response<Body> {
    caller.page(style(&caller.context.pages.templates))
}

/// Returns the function that renders the style sheet or the script at a path with the hash of its
/// text.
fn asset_at(path: &str) -> Option<fn(&Templates) -> RenderedPage> {
    let is = |name: &str, ending: &str| {
        path.strip_prefix(name).is_some_and(|rest| rest.strip_suffix(ending).is_some())
    };
    if is("/style-", ".css") {
        Some(style)
    } else if is("/live-", ".js") {
        Some(script)
    } else {
        None
    }
}

/// Whether a path is that of the style sheet or the script with the hash of its text.
pub(super) fn is_asset(path: &str) -> bool {
    asset_at(path).is_some()
}

/// Responds with the style sheet or the script of our pages, which a browser may keep for ever. The
/// path of an earlier one leads to the present one, for a page that was opened before an update.
pub(super) fn asset(caller: &Caller, at: PageRequest<'_>) -> Response<Body> {
    let templates = &caller.context.pages.templates;
    let Some(render) = asset_at(at.path) else { return no_icon(caller) };
    let mut response = caller.page(render(templates));
    if asset_paths(templates).contains(&at.path) {
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(FOR_EVER));
    }
    response
}

/// Responds with the proxy auto-configuration file.
pub(super) fn proxy_settings(caller: &Caller) -> Response<Body> {
    let config = caller.context.base.config();
    let names = config.local_host.names.as_slice().iter().map(String::as_str);
    caller.page(pac::page(&caller.shell.origin, names))
}

/// Responds with a `robots.txt` that excludes all robots.
pub(super) fn robots(caller: &Caller) -> Response<Body> {
    let nothing = body::from_bytes("User-agent: *\nDisallow: /\n");
    caller.other(StatusCode::OK, Some("text/plain; charset=utf-8"), nothing)
}

/// Responds with `404` and no page, for `/favicon.ico`.
pub(super) fn no_icon(caller: &Caller) -> Response<Body> {
    caller.other(StatusCode::NOT_FOUND, None, body::empty())
}
