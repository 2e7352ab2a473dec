//! The page `/undone/`, to which the undo button of the message page for a queued request
//! redirects. Because of the redirect, reloading the page does not remove another request from the
//! queue.

use hyper::Response;

use crate::page::undone::page;
use crate::proxy::body::Body;
use crate::site::address::decoded;
use crate::site::caller::Caller;

/// Shows the page for the URL in the arguments. If the URL is queued again, redirects to the queue.
pub(in crate::site) fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let Some(url) = arguments.and_then(|arguments| arguments.strip_prefix("url=")) else {
        return caller.page(page(&caller.shell, "", false));
    };
    let (url, queue) = (decoded(url), caller.context.storage.store.spool().queue());
    if caller.key_of(&url).is_ok_and(|key| queue.summary(&key).is_some()) {
        return caller.see_other("/queue/");
    }
    caller.page(page(&caller.shell, &url, true))
}
