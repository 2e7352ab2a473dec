//! The page `/control/`, and the small pages at the addresses of its buttons, for which a link is not enough.

use hyper::Response;

use super::caller::Caller;
use super::{purge, status};
use crate::pages::control::{self as page, Action};
use crate::proxy::body::Body;

/// Where it is.
pub(super) const PATH: &str = page::PATH;

/// Shows all buttons.
pub(super) fn show(caller: &Caller) -> Response<Body> {
    let daemon = &caller.daemon;
    let counts = status::own_counts(caller);
    let told =
        page::Told { chosen: daemon.mode.chosen(), link: status::link_shown(daemon), counts };
    let token = caller.token();
    caller.page(page::page(&daemon.templates, &caller.shell, &told, &token))
}

/// Whether a link to this address of a form leads to a page that asks.
pub(super) fn has_button(path: &str) -> bool {
    Action::at(path).is_some() || path == "/control/purge"
}

/// Asks whether the button is to be pressed: a link presses none, for then any page could.
pub(super) fn confirm(caller: &Caller, path: &str) -> Response<Body> {
    let Some(action) = Action::at(path) else { return caller.see_other(purge::PAGE) };
    let daemon = &caller.daemon;
    let token = caller.token();
    caller.page(page::confirm(&daemon.templates, &caller.shell, action, &token))
}
