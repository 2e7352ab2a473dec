//! Pages and files for setting up a browser.

pub mod pac;

use hyper::{Response, StatusCode};

use super::caller::Caller;
use crate::page::style;
use crate::proxy::body::{self, Body};

/// Responds with the style sheet of our pages.
pub(super) fn stylesheet(caller: &Caller) -> Response<Body> {
    caller.page(style(&caller.context.pages.templates))
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
