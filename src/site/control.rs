//! The page `/control/`, and the small pages at the addresses of its buttons, for which a link is not enough.

use hyper::Response;
use wwwoffle_spool::RequestKind;
use wwwoffle_url::CanonicalUrl;

use super::caller::Caller;
use super::{forms, monitor, purge, refresh, status};
use crate::api::QueueCounts;
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;
use crate::site::pages::control as page;
use crate::site::pages::control::Action;
use crate::site::pages::control::question::{self, Doomed};
use crate::site::pages::lists::ROOT;
use crate::site::pages::queue::PATH as QUEUE;

/// Where it is.
pub(super) const PATH: &str = page::PATH;

/// What is monitored.
const MONITOR: &str = "/monitor/";

/// Addresses of forms of 2.9, at which a link leads to a page that asks, or that has the form.
const OTHERS: [&str; 8] = [
    "/control/purge",
    "/control/delete/req",
    "/control/delete/req-all",
    "/control/delete/url",
    "/control/delete/mon",
    "/control/delete/mon-all",
    "/refresh-request/",
    "/monitor-request/",
];

/// Shows all buttons.
pub(super) fn show(caller: &Caller) -> Response<Body> {
    let context = &caller.context;
    let counts = status::own_counts(caller);
    let told = page::Told {
        chosen: context.base.mode.chosen(),
        link: status::link_shown(context),
        counts,
    };
    let token = caller.token();
    caller.page(page::page(&context.pages.templates, &caller.shell, &told, &token))
}

/// Whether a link to this address of a form leads to a page that asks.
pub(super) fn has_button(path: &str) -> bool {
    Action::at(path).is_some() || OTHERS.contains(&path)
}

/// Asks whether the button is to be pressed: a link presses none, for then any page could.
pub(super) async fn confirm(
    caller: &Caller,
    path: &str,
    arguments: Option<&str>,
) -> Response<Body> {
    let context = &caller.context;
    if let Some(action) = Action::at(path) {
        let token = caller.token();
        return caller.page(page::confirm(&context.pages.templates, &caller.shell, action, &token));
    }
    let text = arguments.unwrap_or_default().replace(';', "&");
    let form = SubmittedForm::parse(Some("application/x-www-form-urlencoded"), text.as_bytes());
    let form = form.unwrap_or_default();
    match path {
        "/refresh-request/" => refresh::by_link(caller, &form, &text),
        "/monitor-request/" => monitor::by_link(caller, &form).await,
        "/control/delete/req-all" => all_requests(caller),
        "/control/delete/req" => request(caller, &form),
        "/control/delete/mon-all" => match monitor::list(caller).len() {
            0 => caller.see_other(MONITOR),
            pages => ask(caller, &Doomed::Monitors(u64::try_from(pages).unwrap_or(u64::MAX))),
        },
        "/control/delete/mon" => monitored(caller, &form),
        "/control/delete/url" => entry(caller, &form),
        _ => caller.see_other(purge::PAGE),
    }
}

fn ask(caller: &Caller, doomed: &Doomed<'_>) -> Response<Body> {
    let (context, token) = (&caller.context, caller.token());
    caller.page(question::page(&context.pages.templates, &caller.shell, doomed, &token))
}

/// Tells what would go if the caller emptied the queue.
fn all_requests(caller: &Caller) -> Response<Body> {
    let (context, mut counts, mut forms) = (&caller.context, QueueCounts::default(), 0_u64);
    context.storage.store.spool().queue().visit(|request| {
        if caller.may_see_queued(&request.place) {
            counts.add(status::state(context, request));
            forms += u64::from(request.kind == RequestKind::Post);
        }
    });
    if counts == QueueCounts::default() {
        return caller.see_other(QUEUE);
    }
    ask(caller, &Doomed::Queue { counts, forms })
}

/// The request of the argument `key` or `url`; without one, or where it is not there, the queue.
fn request(caller: &Caller, form: &SubmittedForm) -> Response<Body> {
    let key = match (form.value("key"), form.value("url")) {
        (Some(key), _) => key.parse().ok(),
        (None, Some(url)) => forms::key_of(caller, url).ok(),
        (None, None) => None,
    };
    let queue = caller.context.storage.store.spool().queue();
    let known = key.and_then(|key| queue.summary(&key));
    match known.filter(|known| caller.may_see_queued(&known.place)) {
        Some(known) => {
            let (url, key) = (known.place.url(), known.place.key().to_string());
            ask(caller, &Doomed::Request { url, key: &key })
        }
        None => caller.see_other(QUEUE),
    }
}

/// The monitored page of the argument `key` or `url`; without one, or where it is not monitored, the list.
fn monitored(caller: &Caller, form: &SubmittedForm) -> Response<Body> {
    let key = match (form.value("key"), form.value("url")) {
        (Some(key), _) => Some(key.to_owned()),
        (None, Some(url)) => monitor::key_of(caller, url).ok().map(|key| key.to_string()),
        (None, None) => None,
    };
    let list = monitor::list(caller);
    match list.iter().find(|item| Some(&item.key) == key.as_ref()) {
        Some(item) => ask(caller, &Doomed::Monitor { url: &item.url, key: &item.key }),
        None => caller.see_other(MONITOR),
    }
}

/// What is kept of the argument `url`; without one the lists.
fn entry(caller: &Caller, form: &SubmittedForm) -> Response<Body> {
    let url = form.value("url").unwrap_or_default().trim();
    match CanonicalUrl::parse(url, &caller.context.base.local) {
        Ok(known) if !known.is_local() => ask(caller, &Doomed::Entry { url }),
        _ => caller.see_other(ROOT),
    }
}
