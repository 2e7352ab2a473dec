//! The routes of our own site in one table: all pages, forms, API calls and former addresses.
//!
//! The first row that matches path and method is used, so rows with a pattern come last.
//! `tests/security/routes.txt` lists the table for the end-to-end tests.

use std::future::ready;

use wwwoffle_spool::Priority::{First, Last, Usual};

use super::api::{events, json_later, json_now, json_of_body, lines_later, lines_of_body};
use super::certificates::authority;
use super::configuration::{call as config, form as config_form};
use super::entries::{compress, edit, import};
use super::forms::run;
use super::history::{VersionAction, changes};
use super::info::source;
use super::lists::EntryAction::{self, Export};
use super::lists::export::ExportFormat::{Wacz, Warc};
use super::lists::removed;
use super::permission::Permission::{self, Administer, Change, Request};
use super::queue::{RequestAction, undone};
use super::route::{
    ButtonToken, CallHandler, FormHandler, Guard, Handler, PageHandler, Paths, Route, now,
};
use super::statistics::metrics;
use super::{
    browser, captures, certificates, collections, configuration, control, entries, fetches, former,
    gateway, history, home, info, lists, local_files, missing, monitor, purge, queue, search,
    statistics, status, usage,
};
use crate::base::mode::ModeSetting::{Auto, Autodial, Offline, Online};
use wwwoffle_api::{EntriesToCompress, Queue, ReindexRequest};

type PathList = &'static [&'static str];

/// Returns the route of a page with [`Guard::Reader`].
const fn page(paths: PathList, show: PageHandler) -> Route {
    guarded(paths, Guard::Reader, show)
}

/// Returns the route of a page with another guard.
const fn guarded(paths: PathList, guard: Guard, show: PageHandler) -> Route {
    Route { paths: Paths::These(paths), guard, handler: Handler::Page(show) }
}

/// Returns the route of an address whose response is a page or a file, depending on the stored
/// entries.
const fn download(paths: PathList, show: PageHandler) -> Route {
    guarded(paths, Guard::Download, show)
}

/// Returns the route of pages whose paths match a pattern.
const fn pages(is_match: fn(&str) -> bool, guard: Guard, show: PageHandler) -> Route {
    Route { paths: Paths::Like(is_match), guard, handler: Handler::Page(show) }
}

/// Returns the route of an address that redirects to another.
const fn moved(paths: PathList, to: &'static str) -> Route {
    Route { paths: Paths::These(paths), guard: Guard::Reader, handler: Handler::Moved(to) }
}

/// Returns the route of a form on our own pages.
const fn form(paths: PathList, needed: Permission, submit: FormHandler) -> Route {
    Route {
        paths: Paths::These(paths),
        guard: Guard::OurPage(needed),
        handler: Handler::Form(submit),
    }
}

/// Returns the route of a form on our own pages and on message pages.
const fn button(paths: PathList, token: ButtonToken, submit: FormHandler) -> Route {
    Route {
        paths: Paths::These(paths),
        guard: Guard::Button(token),
        handler: Handler::Form(submit),
    }
}

/// Returns the route of an API call that reads.
const fn query(paths: PathList, answer: CallHandler) -> Route {
    Route { paths: Paths::These(paths), guard: Guard::Reader, handler: Handler::Call(answer) }
}

/// Returns the route of an API call that changes something.
const fn call(paths: PathList, needed: Permission, answer: CallHandler) -> Route {
    Route {
        paths: Paths::These(paths),
        guard: Guard::OurPage(needed),
        handler: Handler::Call(answer),
    }
}

/// Makes a page handler of a synchronous function. With `arguments`, the function gets the
/// arguments of the address.
macro_rules! show {
    ($show:path) => {
        |caller, _| now($show(caller))
    };
    ($show:path, arguments) => {
        |caller, at| now($show(caller, at.arguments))
    };
}

/// Like [`show`], for an asynchronous function.
macro_rules! show_later {
    ($show:path) => {
        |caller, _| Box::pin($show(caller))
    };
    ($show:path, arguments) => {
        |caller, at| Box::pin($show(caller, at.arguments))
    };
}

/// Makes a form handler of an asynchronous function, which also gets the `action`, if one is given.
macro_rules! submit {
    ($submit:path $(, $action:expr)?) => {
        |caller, sent| run($submit(caller, $($action,)? sent.form))
    };
}

/// Makes a call handler of an asynchronous function. The function gets the body of the call, and
/// its result is sent as JSON.
macro_rules! answer {
    ($answer:path) => {
        |caller, call| json_of_body(caller, call, $answer)
    };
}

/// Makes a call handler of an asynchronous function. The function gets the arguments of the
/// address, and its result is sent as JSON.
macro_rules! answer_query {
    ($answer:path) => {
        |caller, call| json_later(caller, $answer(caller, call.arguments))
    };
}

/// The routes, in the order in which they are tried.
pub(super) const ROUTES: &[Route] = &[
    // The start page and control.
    page(&["/"], |caller, at| Box::pin(home::show(caller, at.arguments, at.fields))),
    page(&["/control/"], show!(control::show)),
    moved(&["/control"], "/control/"),
    moved(&["/control/status"], "/"),
    moved(&["/control/edit", "/control/edit/"], "/configuration/"),
    page(control::BUTTONS, |caller, at| now(control::ask_button(caller, at.path))),
    form(&["/control/online"], Change, |caller, _| run(control::switch(caller, Online))),
    form(&["/control/offline"], Change, |caller, _| run(control::switch(caller, Offline))),
    form(&["/control/autodial"], Change, |caller, _| run(control::switch(caller, Autodial))),
    form(&["/control/auto"], Change, |caller, _| run(control::switch(caller, Auto))),
    form(&["/control/fetch"], Change, |caller, _| now(Ok(control::fetch(caller)))),
    form(&["/control/hold"], Change, |caller, _| now(Ok(control::hold(caller)))),
    form(&["/control/reload", "/control/config"], Change, |caller, _| run(control::reload(caller))),
    query(&["/api/status"], |caller, _| json_now(caller, &status::status(caller))),
    call(&["/api/mode"], Change, answer!(control::call::mode)),
    call(&["/api/fetch"], Change, |caller, call| {
        Box::pin(async move { fetches::call::fetch(caller, call.read(caller).await?) })
    }),
    call(&["/api/flush"], Change, |caller, _| json_later(caller, control::call::flush(caller))),
    call(&["/api/stop"], Change, |caller, _| json_now(caller, &control::call::stop(caller))),
    query(&["/api/events"], |caller, call| now(Ok(events::answer(caller, &call.parts.method)))),
    // The queue.
    page(&["/queue/"], show!(queue::show, arguments)),
    page(&["/queue/edit"], show!(queue::edit::show, arguments)),
    moved(&["/queue", "/index/outgoing", "/index/outgoing/"], "/queue/"),
    // The queue replaces the list of failed requests: it shows the reason of each failure, and
    // buttons.
    moved(&["/index/failed", "/index/failed/"], "/queue/?state=failed"),
    page(&["/undone/"], show!(undone::show, arguments)),
    form(&["/control/queue/edit"], Request, submit!(queue::edit::save)),
    form(&["/control/retry"], Request, submit!(queue::retry)),
    form(&["/control/retry-multiple"], Request, submit!(queue::submit, RequestAction::Retry)),
    page(&["/control/delete/req"], show!(control::ask_request, arguments)),
    button(&["/control/delete/req"], queue::delete_token, |caller, sent| {
        Box::pin(queue::delete(caller, sent))
    }),
    form(&["/control/delete-multiple/req"], Request, submit!(queue::submit, RequestAction::Delete)),
    page(&["/control/delete/req-all"], show!(control::ask_all_requests, arguments)),
    form(&["/control/delete/req-all"], Request, submit!(queue::delete_all)),
    button(
        &["/control/queue/first"],
        queue::priority_token,
        submit!(queue::submit, RequestAction::Prioritize(First)),
    ),
    button(
        &["/control/queue/usual"],
        queue::priority_token,
        submit!(queue::submit, RequestAction::Prioritize(Usual)),
    ),
    button(
        &["/control/queue/last"],
        queue::priority_token,
        submit!(queue::submit, RequestAction::Prioritize(Last)),
    ),
    query(&["/api/queue"], |caller, _| json_now(caller, &Queue { queue: status::queue(caller) })),
    query(&["/api/queue/plan"], |caller, _| json_later(caller, fetches::plan_call::queue(caller))),
    call(&["/api/queue/retry"], Request, answer!(queue::call::retry)),
    call(&["/api/queue/delete"], Request, answer!(queue::call::delete)),
    call(&["/api/queue/priority"], Request, answer!(queue::call::prioritize)),
    call(&["/api/get"], Request, |caller, call| {
        Box::pin(async move { fetches::call::get(caller, call.read(caller).await?) })
    }),
    // Fetches.
    page(&["/fetches/"], show!(fetches::list)),
    moved(&["/fetches"], "/fetches/"),
    page(&["/refresh-options", "/refresh-options/"], show!(fetches::options, arguments)),
    page(&["/refresh", "/refresh/"], show_later!(fetches::refresh, arguments)),
    page(&["/refresh-recurse", "/refresh-recurse/"], show_later!(fetches::recurse, arguments)),
    page(&["/refresh-request/"], show!(fetches::show_for_link, arguments)),
    button(&["/refresh-request/"], fetches::token, |caller, sent| {
        Box::pin(fetches::confirm(caller, sent))
    }),
    form(&["/refresh-plan/"], Request, submit!(fetches::plan)),
    form(&["/control/fetch/stop"], Request, submit!(fetches::stop)),
    form(&["/control/download/end"], Change, |caller, sent| {
        now(Ok(fetches::end_download(caller, sent.form)))
    }),
    query(&["/api/runs"], |caller, _| json_now(caller, &fetches::call::all(caller))),
    call(&["/api/runs"], Request, |caller, call| {
        Box::pin(async move { fetches::call::start(caller, call.read(caller).await?).await })
    }),
    call(&["/api/runs/plan"], Request, answer!(fetches::plan_call::runs)),
    call(&["/api/runs/stop"], Request, answer!(fetches::call::stop)),
    call(&["/api/downloads/end"], Change, |caller, call| {
        json_of_body(caller, call, |caller, wanted| {
            ready(fetches::call::end_download(caller, wanted))
        })
    }),
    // Monitored pages.
    page(&["/monitor/"], show_later!(monitor::show)),
    moved(&["/monitor", "/index/monitor", "/index/monitor/"], "/monitor/"),
    page(&["/monitor-options", "/monitor-options/"], show_later!(monitor::options, arguments)),
    page(&["/monitor/feed"], show_later!(changes::feed)),
    page(&["/monitor-request/"], show_later!(monitor::show_for_link, arguments)),
    form(&["/monitor-request/"], Change, submit!(monitor::set)),
    page(&["/control/delete/mon"], show!(control::ask_monitor, arguments)),
    form(&["/control/delete/mon"], Change, submit!(monitor::delete)),
    page(&["/control/delete/mon-all"], show!(control::ask_all_monitors)),
    form(&["/control/delete/mon-all"], Change, |caller, _| run(monitor::delete_all(caller))),
    query(&["/api/monitor"], |caller, _| json_now(caller, &monitor::call::all(caller))),
    call(&["/api/monitor"], Change, answer!(monitor::call::set)),
    query(&["/api/monitor/diff"], answer_query!(monitor::call::diff)),
    call(&["/api/monitor/delete"], Change, answer!(monitor::call::delete)),
    // Older versions.
    page(&["/history", "/history/"], show_later!(history::show, arguments)),
    download(&["/history/version", "/history/version/"], show_later!(history::version, arguments)),
    download(&["/history/marked", "/history/marked/"], show_later!(history::marked, arguments)),
    download(&["/history/timemap", "/history/timemap/"], show_later!(history::timemap, arguments)),
    page(
        &["/history/diff", "/history/diff/", "/monitor/diff", "/monitor/diff/"],
        show_later!(changes::show, arguments),
    ),
    form(&["/control/history/restore"], Change, submit!(history::perform, VersionAction::Restore)),
    form(&["/control/history/delete"], Change, submit!(history::perform, VersionAction::Remove)),
    query(&["/api/history"], answer_query!(history::call::list)),
    call(&["/api/history/restore"], Change, answer!(history::call::restore)),
    call(&["/api/history/delete"], Change, answer!(history::call::delete)),
    // Purging and pins.
    page(&["/purge/"], show_later!(purge::show)),
    moved(&["/purge", "/control/purge"], "/purge/"),
    form(&["/control/purge"], Change, |caller, _| run(ready(purge::submit(caller)))),
    form(&["/control/pin"], Change, |caller, sent| run(purge::pin(caller, sent.form, true))),
    form(&["/control/unpin"], Change, |caller, sent| run(purge::pin(caller, sent.form, false))),
    query(&["/api/purge"], |caller, _| json_now(caller, &caller.context.storage.purging.status())),
    call(&["/api/purge"], Change, |caller, call| lines_of_body(caller, call, purge::call::start)),
    query(&["/api/pins"], |caller, _| json_later(caller, purge::call::pins(caller))),
    call(&["/api/pins"], Change, answer!(purge::call::pin)),
    // Copies in web archives.
    page(&["/captures", "/captures/"], show!(captures::show, arguments)),
    form(&["/control/captures/find"], Request, submit!(captures::find)),
    form(&["/control/captures/store"], Request, submit!(captures::keep)),
    call(&["/api/captures"], Request, answer!(captures::call::find)),
    call(&["/api/captures/store"], Request, answer!(captures::call::keep)),
    // One URL.
    page(&["/info", "/info/", "/info/url", "/info/content"], show_later!(info::show, arguments)),
    download(&["/info/source"], show_later!(source::show, arguments)),
    download(&["/info/warc"], show_later!(source::warc, arguments)),
    page(&["/info/request"], show!(info::request, arguments)),
    page(&["/missing", "/missing/"], show_later!(missing::show, arguments)),
    query(&["/api/info"], answer_query!(entries::info)),
    // Stored entries.
    page(&["/control/delete/url"], show!(control::ask_entry, arguments)),
    form(
        &["/control/delete/url", "/control/delete-multiple/url"],
        Change,
        submit!(lists::perform, EntryAction::Delete),
    ),
    form(&["/control/refresh-multiple"], Request, submit!(lists::perform, EntryAction::Refresh)),
    form(&["/control/pin-multiple"], Change, submit!(lists::perform, EntryAction::Pin)),
    form(&["/control/pin-list"], Change, submit!(lists::whole::pin)),
    form(&["/control/monitor-multiple"], Change, submit!(lists::perform, EntryAction::Monitor)),
    form(&["/control/export-multiple/warc"], Request, submit!(lists::perform, Export(Warc))),
    form(&["/control/export-multiple/wacz"], Request, submit!(lists::perform, Export(Wacz))),
    form(&["/control/export-list/warc"], Request, submit!(lists::whole::send, Warc)),
    form(&["/control/export-list/wacz"], Request, submit!(lists::whole::send, Wacz)),
    page(&["/control/delete/url-all"], show_later!(lists::whole::show, arguments)),
    form(&["/control/delete/url-all"], Change, submit!(lists::whole::delete)),
    form(&["/control/undo"], Change, submit!(removed::undo)),
    query(&["/api/entries"], |caller, call| {
        lines_later(caller, entries::list(caller, call.arguments))
    }),
    call(&["/api/entries/delete"], Change, answer!(edit::forget)),
    call(&["/api/entries/compress"], Change, |caller, call| {
        lines_of_body(caller, call, |caller, wanted: EntriesToCompress| {
            compress::start(caller, &wanted)
        })
    }),
    call(&["/api/entries/move"], Administer, answer!(edit::rename)),
    call(&["/api/entries/write"], Administer, |caller, call| {
        json_later(caller, edit::write(caller, call.arguments, call.incoming))
    }),
    call(&["/api/import"], Administer, |caller, call| lines_of_body(caller, call, import::start)),
    call(&["/api/import/upload"], Administer, |caller, call| {
        lines_later(caller, import::upload(caller, call.arguments, call.incoming))
    }),
    // Collections.
    page(&[collections::PATH], show_later!(collections::list, arguments)),
    moved(&["/collections"], collections::PATH),
    page(&["/collections/show"], show_later!(collections::show, arguments)),
    page(&["/collections/edit"], show_later!(collections::form, arguments)),
    page(&["/collections/add"], show_later!(collections::choose::show, arguments)),
    download(&["/collections/definition"], show_later!(collections::share::definition, arguments)),
    page(&["/control/delete/collection"], show_later!(collections::ask_delete, arguments)),
    form(&["/control/delete/collection"], Request, submit!(collections::delete)),
    form(&["/control/collections/save"], Request, submit!(collections::save)),
    form(&["/control/collections/choose"], Request, submit!(collections::choose::submit)),
    form(&["/control/collections/add"], Request, submit!(collections::add)),
    form(&["/control/collections/remove"], Request, submit!(collections::remove)),
    form(&["/control/collections/restore"], Request, submit!(collections::restore)),
    form(&["/control/collections/fetch"], Request, submit!(collections::fetch)),
    form(&["/control/collections/schedule"], Change, submit!(collections::schedule::submit)),
    form(&["/control/collections/import"], Request, submit!(collections::share::submit)),
    form(&["/control/collections/export/warc"], Request, submit!(collections::share::export, Warc)),
    form(&["/control/collections/export/wacz"], Request, submit!(collections::share::export, Wacz)),
    query(&["/api/collections"], |caller, _| json_later(caller, collections::call::all(caller))),
    query(&["/api/collections/one"], answer_query!(collections::call::one)),
    query(&["/api/collections/definition"], answer_query!(collections::call::definition)),
    call(&["/api/collections"], Request, answer!(collections::call::save)),
    call(&["/api/collections/members"], Request, answer!(collections::call::members)),
    call(&["/api/collections/delete"], Request, answer!(collections::call::delete)),
    call(&["/api/collections/restore"], Request, answer!(collections::call::restore)),
    call(&["/api/collections/fetch"], Request, answer!(collections::call::fetch)),
    call(&["/api/collections/schedule"], Change, answer!(collections::call::schedule)),
    call(&["/api/collections/import"], Request, answer!(collections::call::import)),
    // Lists and search.
    page(&["/search/"], show_later!(search::show, arguments)),
    moved(&["/search"], "/search/"),
    page(&["/search/opensearch.xml"], show!(search::describe)),
    query(&["/api/index"], answer_query!(search::call::list)),
    query(&["/api/search"], answer_query!(search::call::search)),
    call(&["/api/reindex"], Administer, |caller, call| {
        lines_of_body(caller, call, |caller, wanted: ReindexRequest| {
            Ok(search::call::reindex(caller, &wanted))
        })
    }),
    // The configuration.
    page(&["/configuration/"], show_later!(configuration::show_index, arguments)),
    moved(&["/configuration", "/README.CONF.html"], "/configuration/"),
    page(&["/configuration/changed"], show_later!(configuration::show_last_change, arguments)),
    page(&["/configuration/preset"], show_later!(configuration::show_preset, arguments)),
    form(&["/configuration/preset"], Change, submit!(config_form::submit_preset)),
    page(&["/configuration/url"], show!(configuration::show_url, arguments)),
    page(&["/configuration/editurl"], show!(configuration::show_builder, arguments)),
    form(&["/configuration/editurl"], Change, |caller, sent| {
        now(Ok(config_form::specification(caller, sent.form)))
    }),
    form(&["/configuration/undo"], Change, submit!(config_form::submit_undo)),
    form(&["/configuration/reload"], Change, |caller, _| Box::pin(config_form::reload(caller))),
    query(&["/api/config"], |caller, _| Box::pin(config::state(caller))),
    call(&["/api/config"], Change, |caller, call| Box::pin(config::edit(caller, call))),
    query(&["/api/config/schema"], |caller, _| now(Ok(config::schema(caller)))),
    query(&["/api/config/versions"], |caller, _| Box::pin(config::versions(caller))),
    call(&["/api/config/undo"], Change, |caller, call| Box::pin(config::undo(caller, call))),
    call(&["/api/config/reload"], Change, |caller, _| Box::pin(config::reload(caller))),
    pages(configuration::is_section, Guard::Reader, |caller, at| {
        Box::pin(configuration::show_section(caller, at.path, at.arguments))
    }),
    pages(configuration::is_option, Guard::Reader, |caller, at| {
        Box::pin(configuration::show_option(caller, at.path, at.arguments))
    }),
    Route {
        paths: Paths::Like(configuration::is_option),
        guard: Guard::OurPage(Change),
        handler: Handler::Form(|caller, sent| {
            Box::pin(config_form::submit_option(caller, sent.path, sent.form))
        }),
    },
    // Statistics.
    page(&["/statistics/"], show!(statistics::show)),
    moved(&["/statistics"], "/statistics/"),
    guarded(&["/statistics/hosts"], Guard::Owner, show!(statistics::show_hosts)),
    guarded(&["/metrics"], Guard::Owner, show_later!(metrics::show)),
    page(&[usage::page::PATH], show_later!(usage::show)),
    moved(&["/usage"], usage::page::PATH),
    download(&["/usage/usage.csv"], show_later!(usage::csv, arguments)),
    guarded(&["/usage/all"], Guard::Owner, show_later!(usage::show_all)),
    guarded(&["/usage/all.csv"], Guard::Owner, show_later!(usage::csv, arguments)),
    query(&["/api/usage"], answer_query!(usage::report)),
    query(&["/api/statistics"], |caller, _| json_now(caller, &statistics::statistics(caller))),
    // Certificates.
    guarded(&["/ca", "/ca/"], Guard::Open, show!(authority::show)),
    guarded(&["/ca.pem", "/certificates/root-cert.pem"], Guard::Public, show!(authority::pem)),
    guarded(&["/ca.crt"], Guard::Public, show!(authority::der)),
    // A browser sends no password for a sub-resource from another origin.
    guarded(&["/ca/trusted.css"], Guard::Public, show!(authority::test)),
    page(&["/certificate"], show!(certificates::show, arguments)),
    form(&["/control/certificate/allow"], Administer, submit!(certificates::allow)),
    // Gateway and browsers.
    page(&["/gateway/"], show!(gateway::show, arguments)),
    moved(&["/gateway", "/http", "/https"], "/gateway/"),
    guarded(&["/style.css"], Guard::Public, show!(browser::stylesheet)),
    guarded(
        &["/proxy.pac", "/wpad.dat", "/wwwoffle.pac"],
        Guard::Public,
        show!(browser::proxy_settings),
    ),
    guarded(&["/robots.txt"], Guard::Public, show!(browser::robots)),
    guarded(&["/favicon.ico"], Guard::Public, show!(browser::no_icon)),
    // Addresses of WWWOFFLE 2.9.
    moved(&["/index.html", "/Welcome.html"], "/"),
    moved(&["/FAQ.html"], "/?help=1"),
    moved(
        &["/certificates", "/certificates/", "/certificates/root", "/certificates/trusted"],
        "/ca",
    ),
    page(&["/certificates/server", "/certificates/fake", "/certificates/real"], |caller, at| {
        now(caller.see_other(&former::site(at.arguments)))
    }),
    pages(browser::is_asset, Guard::Public, |caller, at| now(browser::asset(caller, at))),
    pages(former::has_moved, Guard::Reader, |caller, at| now(former::show(caller, at))),
    // Lists, and files of the user's own.
    pages(lists::is_list, Guard::Reader, |caller, at| {
        Box::pin(lists::show(caller, at.path, at.arguments))
    }),
    pages(local_files::has, Guard::Sandboxed, |caller, at| {
        Box::pin(local_files::serve(caller, at.path, at.fields))
    }),
];

#[cfg(test)]
mod tests;
