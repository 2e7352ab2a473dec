//! The page `/control/`, and the small pages at the addresses of its buttons, for which a link is not enough.

use hyper::Response;
use wwwoffle_spool::RequestKind;

use super::caller::Caller;
use super::{purge, status};
use crate::api::QueueCounts;
use crate::pages::control::question::{self, Doomed};
use crate::pages::control::{self as page, Action};
use crate::pages::queue::PATH as PATH_OF_QUEUE;
use crate::proxy::body::Body;

/// Where it is.
pub(super) const PATH: &str = page::PATH;

/// Takes all requests off the queue.
const EMPTY: &str = "/control/delete/req-all";

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
    Action::at(path).is_some() || matches!(path, "/control/purge" | EMPTY)
}

/// Asks whether the button is to be pressed: a link presses none, for then any page could.
pub(super) fn confirm(caller: &Caller, path: &str) -> Response<Body> {
    let daemon = &caller.daemon;
    let token = caller.token();
    if path == EMPTY {
        return empty(caller, &token);
    }
    let Some(action) = Action::at(path) else { return caller.see_other(purge::PAGE) };
    caller.page(page::confirm(&daemon.templates, &caller.shell, action, &token))
}

/// Tells what would go if the caller emptied the queue.
fn empty(caller: &Caller, token: &str) -> Response<Body> {
    let (daemon, mut counts, mut forms) = (&caller.daemon, QueueCounts::default(), 0_u64);
    daemon.store.spool().queue().visit(|request| {
        if caller.may_see_queued(&request.place) {
            counts.add(status::state(daemon, request));
            forms += u64::from(request.kind == RequestKind::Post);
        }
    });
    if counts == QueueCounts::default() {
        return caller.see_other(PATH_OF_QUEUE);
    }
    let doomed = Doomed::Queue { counts, forms };
    caller.page(question::page(&daemon.templates, &caller.shell, &doomed, token))
}
