//! The page `/undone/`, to which the undo button of the message page for a queued request
//! redirects. Because of the redirect, reloading the page does not remove another request from the
//! queue.

use hyper::{HeaderMap, Response};
use wwwoffle_url::{CanonicalUrl, url_decode_form_args};

use crate::base::owner::Places;
use crate::page::undone::page;
use crate::proxy::body::Body;
use crate::site::caller::Caller;

/// Shows the page for the URL in the arguments. If the URL is queued again, redirects to the queue.
pub(in crate::site) fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let context = &caller.context;
    let Some(url) = arguments.and_then(|arguments| arguments.strip_prefix("url=")) else {
        return caller.page(page(&caller.shell, "", false));
    };
    let url = url_decode_form_args(url.as_bytes());
    let url = String::from_utf8_lossy(&url);
    if let Ok(mut url) = CanonicalUrl::parse(&url, &context.base.local) {
        let queued = Places::of(&mut url, &HeaderMap::new(), &caller.owner).queued;
        if context.storage.store.spool().queue().summary(&queued.key()).is_some() {
            return caller.see_other("/queue/");
        }
    }
    caller.page(page(&caller.shell, &url, true))
}
