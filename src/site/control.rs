//! The page `/control/`, and confirmation pages at the addresses of its buttons, because a link
//! alone must not act.

pub(super) mod call;
pub mod page;

use hyper::Response;
use wwwoffle_spool::{Error, RequestKind};
use wwwoffle_url::CanonicalUrl;

use self::page::question::{self, DeletionTarget};
use self::page::{ControlAction, PATH};
use super::caller::Caller;
use super::{monitor, status};
use crate::base::mode::ModeSetting;
use crate::page::form::SubmittedForm;
use crate::page::links::CONFIGURATION;
use crate::proxy::body::Body;
use crate::site::lists::page::ROOT;
use crate::site::queue::page::{PATH as QUEUE, state_in};
use wwwoffle_api::QueueCounts;

/// Path of the monitored pages.
const MONITOR: &str = "/monitor/";

/// Paths of buttons. A GET of such a path shows a page that asks for confirmation.
pub(super) const BUTTONS: &[&str] = &[
    "/control/online",
    "/control/offline",
    "/control/autodial",
    "/control/auto",
    "/control/fetch",
    "/control/hold",
    "/control/reload",
    "/control/config",
];

/// Shows all buttons.
pub(super) fn show(caller: &Caller) -> Response<Body> {
    let context = &caller.context;
    let counts = status::counts_for_caller(caller);
    let state = page::ControlPage {
        chosen: context.base.mode.chosen(),
        link: status::link_report(context),
        counts,
    };
    caller.page(page::page(&caller.shell, &state))
}

/// Asks for confirmation of the button at `path`. A link must not have the effect of the button,
/// because any page could contain that link.
pub(super) fn ask_button(caller: &Caller, path: &str) -> Response<Body> {
    let Some(action) = ControlAction::at(path) else { return caller.see_other(PATH) };
    caller.page(page::confirm(&caller.shell, action))
}

/// Changes the mode.
pub(super) async fn switch(caller: &Caller, choice: ModeSetting) -> Result<Response<Body>, Error> {
    caller.context.storage.switch(choice).await?;
    Ok(caller.see_other("/"))
}

/// Starts fetching the queue.
pub(super) fn fetch(caller: &Caller) -> Response<Body> {
    caller.context.fetch.fetcher.begin(None);
    caller.see_other(QUEUE)
}

/// Stops fetching the queue.
pub(super) fn hold(caller: &Caller) -> Response<Body> {
    caller.context.fetch.fetcher.stop_fetching();
    caller.see_other(QUEUE)
}

/// Reloads the configuration, and redirects to the configuration page, which shows the errors.
pub(super) async fn reload(caller: &Caller) -> Result<Response<Body>, Error> {
    let _in_force_or_not = caller.context.base.reload().await;
    Ok(caller.see_other(CONFIGURATION))
}

/// Returns the arguments of a link to a form of WWWOFFLE 2.9, separated by `&` even if the link
/// separates them by `;`.
pub(super) fn former_arguments(arguments: Option<&str>) -> String {
    arguments.unwrap_or_default().replace(';', "&")
}

/// Parses the arguments of a link to a form of WWWOFFLE 2.9. Invalid arguments give an empty form.
pub(super) fn former_form(arguments: Option<&str>) -> SubmittedForm {
    SubmittedForm::of_former_arguments(arguments).unwrap_or_default()
}

/// Asks for confirmation before all monitors that the caller may see are deleted.
pub(super) fn ask_all_monitors(caller: &Caller) -> Response<Body> {
    match monitor::list(caller).len() {
        0 => caller.see_other(MONITOR),
        pages => {
            confirm(caller, &DeletionTarget::Monitors(u64::try_from(pages).unwrap_or(u64::MAX)))
        }
    }
}

fn confirm(caller: &Caller, doomed: &DeletionTarget<'_>) -> Response<Body> {
    caller.page(question::page(&caller.shell, doomed))
}

/// Asks for confirmation before all requests that the caller may see are deleted, or those in the
/// state that the arguments name.
pub(super) fn ask_all_requests(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let (context, mut counts, mut forms) = (&caller.context, QueueCounts::default(), 0_u64);
    let only = state_in(&former_form(arguments));
    context.storage.store.spool().queue().visit(|request| {
        let state = status::state(context, request);
        if caller.may_see_queued(&request.place) && only.is_none_or(|only| only == state) {
            counts.add(state);
            forms += u64::from(request.kind == RequestKind::Post);
        }
    });
    if counts == QueueCounts::default() {
        return caller.see_other(QUEUE);
    }
    confirm(caller, &DeletionTarget::Queue { counts, forms, only })
}

/// Asks for confirmation before the request named by `key` or `url` is deleted. If there is no such
/// request, redirects to the queue.
pub(super) fn ask_request(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let form = former_form(arguments);
    let queue = caller.context.storage.store.spool().queue();
    let known = caller.named_key(&form).and_then(|key| queue.summary(&key));
    match known.filter(|known| caller.may_see_queued(&known.place)) {
        Some(known) => {
            let (url, key) = (known.place.url(), known.place.key().to_string());
            confirm(caller, &DeletionTarget::Request { url, key: &key })
        }
        None => caller.see_other(QUEUE),
    }
}

/// Asks for confirmation before the monitor named by `key` or `url` is deleted. If there is no such
/// monitor, redirects to the list.
pub(super) fn ask_monitor(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let form = former_form(arguments);
    let key = caller.named_key(&form).map(|key| key.to_string());
    let list = monitor::list(caller);
    match list.iter().find(|item| Some(&item.key) == key.as_ref()) {
        Some(item) => confirm(caller, &DeletionTarget::Monitor { url: &item.url, key: &item.key }),
        None => caller.see_other(MONITOR),
    }
}

/// Asks for confirmation before the stored copy of the argument `url` is deleted. Without a valid
/// URL, redirects to the lists.
pub(super) fn ask_entry(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let form = former_form(arguments);
    let url = form.value("url").unwrap_or_default().trim();
    match CanonicalUrl::parse(url, &caller.context.base.local) {
        Ok(known) if !known.is_local() => confirm(caller, &DeletionTarget::Entry { url }),
        _ => caller.see_other(ROOT),
    }
}
