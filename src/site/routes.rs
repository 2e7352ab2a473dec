//! The routes of our own site in one table: all pages, forms, API calls and former addresses.
//!
//! The first row that matches path and method is used, so rows with a pattern come last.
//! `tests/security/routes.txt` lists the table for the end-to-end tests.

use std::future::ready;

use wwwoffle_spool::Priority;

use super::api::{events, json_later, json_now, json_of_body, lines_later, lines_of_body};
use super::certificates::authority;
use super::entries::{by_hand, compress, import};
use super::forms::run;
use super::history::{VersionAction, changes};
use super::info::source;
use super::lists::export::ExportFormat::{Wacz, Warc};
use super::lists::{EntryAction, removed};
use super::permission::Permission::{self, Administer, Change, Request};
use super::queue::undone;
use super::route::{
    ButtonToken, CallHandler, FormHandler, Guard, Handler, PageHandler, Paths, Route, now,
};
use super::statistics::metrics;
use super::{
    browser, certificates, configuration, control, entries, fetches, former, gateway, history,
    home, info, lists, local_files, missing, monitor, purge, queue, search, statistics, status,
};
use crate::api::{EntriesToCompress, Queue, ReindexRequest};
use crate::base::mode::Choice;

type PathList = &'static [&'static str];

/// A page for callers with [`Permission::Read`].
const fn page(paths: PathList, show: PageHandler) -> Route {
    guarded(paths, Guard::Reader, show)
}

/// A page with another guard.
const fn guarded(paths: PathList, guard: Guard, show: PageHandler) -> Route {
    Route { paths: Paths::These(paths), guard, handler: Handler::Page(show) }
}

/// Pages whose paths match a pattern.
const fn pages(is_match: fn(&str) -> bool, guard: Guard, show: PageHandler) -> Route {
    Route { paths: Paths::Like(is_match), guard, handler: Handler::Page(show) }
}

/// An address that redirects to another.
const fn moved(paths: PathList, to: &'static str) -> Route {
    Route { paths: Paths::These(paths), guard: Guard::Reader, handler: Handler::Moved(to) }
}

/// A form of our own pages.
const fn form(paths: PathList, needed: Permission, submit: FormHandler) -> Route {
    Route {
        paths: Paths::These(paths),
        guard: Guard::OurPage(needed),
        handler: Handler::Form(submit),
    }
}

/// A form of our own pages and of message pages.
const fn button(paths: PathList, token: ButtonToken, submit: FormHandler) -> Route {
    Route {
        paths: Paths::These(paths),
        guard: Guard::Button(token),
        handler: Handler::Form(submit),
    }
}

/// A call of the API that reads.
const fn query(paths: PathList, answer: CallHandler) -> Route {
    Route { paths: Paths::These(paths), guard: Guard::Reader, handler: Handler::Call(answer) }
}

/// A call of the API that changes something.
const fn call(paths: PathList, needed: Permission, answer: CallHandler) -> Route {
    Route {
        paths: Paths::These(paths),
        guard: Guard::OurPage(needed),
        handler: Handler::Call(answer),
    }
}

/// The table.
pub(super) const ROUTES: &[Route] = &[
    // The start page and control.
    page(&["/"], |caller, at| Box::pin(home::show(caller, at.arguments))),
    page(&["/control/"], |caller, _| now(control::show(caller))),
    moved(&["/control"], "/control/"),
    moved(&["/control/status"], "/"),
    moved(&["/control/edit", "/control/edit/"], "/configuration/"),
    page(control::BUTTONS, |caller, at| now(control::ask_button(caller, at.path))),
    form(&["/control/online"], Change, |caller, _| run(control::switch(caller, Choice::Online))),
    form(&["/control/offline"], Change, |caller, _| run(control::switch(caller, Choice::Offline))),
    form(&["/control/autodial"], Change, |caller, _| {
        run(control::switch(caller, Choice::Autodial))
    }),
    form(&["/control/auto"], Change, |caller, _| run(control::switch(caller, Choice::Auto))),
    form(&["/control/fetch"], Change, |caller, _| now(Ok(control::fetch(caller)))),
    form(&["/control/hold"], Change, |caller, _| now(Ok(control::hold(caller)))),
    form(&["/control/reload", "/control/config"], Change, |caller, _| run(control::reload(caller))),
    query(&["/api/status"], |caller, _| json_now(caller, &status::status(caller))),
    call(&["/api/mode"], Change, |caller, call| json_of_body(caller, call, control::call::mode)),
    call(&["/api/fetch"], Change, |caller, call| {
        Box::pin(async move { fetches::call::fetch(caller, call.read(caller).await?) })
    }),
    call(&["/api/flush"], Change, |caller, _| json_later(caller, control::call::flush(caller))),
    call(&["/api/stop"], Change, |caller, _| json_now(caller, &control::call::stop(caller))),
    query(&["/api/events"], |caller, call| now(Ok(events::answer(caller, &call.parts.method)))),
    // The queue.
    page(&["/queue/"], |caller, at| now(queue::show(caller, at.arguments))),
    page(&["/queue/edit"], |caller, at| now(queue::edit::show(caller, at.arguments))),
    moved(&["/queue", "/index/outgoing", "/index/outgoing/"], "/queue/"),
    // The queue shows the reason of each failure, and the buttons.
    moved(&["/index/failed", "/index/failed/"], "/queue/?state=failed"),
    page(&["/undone/"], |caller, at| now(undone::show(caller, at.arguments))),
    form(&["/control/queue/edit"], Request, |caller, sent| {
        run(queue::edit::save(caller, sent.form))
    }),
    form(&["/control/retry"], Request, |caller, sent| Box::pin(queue::retry(caller, sent.form))),
    form(&["/control/retry-multiple"], Request, |caller, sent| {
        Box::pin(queue::submit(caller, queue::RequestAction::Retry, sent.form))
    }),
    page(&["/control/delete/req"], |caller, at| now(control::ask_request(caller, at.arguments))),
    button(&["/control/delete/req"], queue::delete_token, |caller, sent| {
        Box::pin(queue::delete(caller, sent))
    }),
    form(&["/control/delete-multiple/req"], Request, |caller, sent| {
        Box::pin(queue::submit(caller, queue::RequestAction::Delete, sent.form))
    }),
    page(&["/control/delete/req-all"], |caller, _| now(control::ask_all_requests(caller))),
    form(&["/control/delete/req-all"], Request, |caller, _| run(queue::delete_all(caller))),
    button(&["/control/queue/first"], queue::priority_token, |caller, sent| {
        Box::pin(queue::submit(
            caller,
            queue::RequestAction::Prioritize(Priority::First),
            sent.form,
        ))
    }),
    button(&["/control/queue/usual"], queue::priority_token, |caller, sent| {
        Box::pin(queue::submit(
            caller,
            queue::RequestAction::Prioritize(Priority::Usual),
            sent.form,
        ))
    }),
    button(&["/control/queue/last"], queue::priority_token, |caller, sent| {
        Box::pin(queue::submit(caller, queue::RequestAction::Prioritize(Priority::Last), sent.form))
    }),
    query(&["/api/queue"], |caller, _| json_now(caller, &Queue { queue: status::queue(caller) })),
    query(&["/api/queue/plan"], |caller, _| json_later(caller, fetches::plan_call::queue(caller))),
    call(&["/api/queue/retry"], Request, |caller, call| {
        json_of_body(caller, call, queue::call::retry)
    }),
    call(&["/api/queue/delete"], Request, |caller, call| {
        json_of_body(caller, call, queue::call::delete)
    }),
    call(&["/api/queue/priority"], Request, |caller, call| {
        json_of_body(caller, call, queue::call::prioritize)
    }),
    call(&["/api/get"], Request, |caller, call| {
        Box::pin(async move { fetches::call::get(caller, call.read(caller).await?) })
    }),
    // Fetches.
    page(&["/fetches/"], |caller, _| now(fetches::list(caller))),
    moved(&["/fetches"], "/fetches/"),
    page(&["/refresh-options", "/refresh-options/"], |caller, at| {
        now(fetches::options(caller, at.arguments))
    }),
    page(&["/refresh", "/refresh/"], |caller, at| Box::pin(fetches::refresh(caller, at.arguments))),
    page(&["/refresh-recurse", "/refresh-recurse/"], |caller, at| {
        Box::pin(fetches::recurse(caller, at.arguments))
    }),
    page(&["/refresh-request/"], |caller, at| now(fetches::show_for_link(caller, at.arguments))),
    button(&["/refresh-request/"], fetches::token, |caller, sent| {
        Box::pin(fetches::confirm(caller, sent))
    }),
    form(&["/refresh-plan/"], Request, |caller, sent| run(fetches::plan(caller, sent.form))),
    form(&["/control/fetch/stop"], Request, |caller, sent| run(fetches::stop(caller, sent.form))),
    form(&["/control/download/end"], Change, |caller, sent| {
        now(Ok(fetches::end_download(caller, sent.form)))
    }),
    query(&["/api/runs"], |caller, _| json_now(caller, &fetches::call::all(caller))),
    call(&["/api/runs"], Request, |caller, call| {
        Box::pin(async move { fetches::call::start(caller, call.read(caller).await?).await })
    }),
    call(&["/api/runs/plan"], Request, |caller, call| {
        json_of_body(caller, call, fetches::plan_call::runs)
    }),
    call(&["/api/runs/stop"], Request, |caller, call| {
        json_of_body(caller, call, fetches::call::stop)
    }),
    call(&["/api/downloads/end"], Change, |caller, call| {
        json_of_body(caller, call, |caller, wanted| {
            ready(fetches::call::end_download(caller, wanted))
        })
    }),
    // Monitored pages.
    page(&["/monitor/"], |caller, _| Box::pin(monitor::show(caller))),
    moved(&["/monitor", "/index/monitor", "/index/monitor/"], "/monitor/"),
    page(&["/monitor-options", "/monitor-options/"], |caller, at| {
        Box::pin(monitor::options(caller, at.arguments))
    }),
    page(&["/monitor/feed"], |caller, _| Box::pin(changes::feed(caller))),
    page(&["/monitor-request/"], |caller, at| {
        Box::pin(monitor::show_for_link(caller, at.arguments))
    }),
    form(&["/monitor-request/"], Change, |caller, sent| run(monitor::set(caller, sent.form))),
    page(&["/control/delete/mon"], |caller, at| now(control::ask_monitor(caller, at.arguments))),
    form(&["/control/delete/mon"], Change, |caller, sent| run(monitor::delete(caller, sent.form))),
    page(&["/control/delete/mon-all"], |caller, _| now(control::ask_all_monitors(caller))),
    form(&["/control/delete/mon-all"], Change, |caller, _| run(monitor::delete_all(caller))),
    query(&["/api/monitor"], |caller, _| json_now(caller, &monitor::call::all(caller))),
    call(&["/api/monitor"], Change, |caller, call| json_of_body(caller, call, monitor::call::set)),
    query(&["/api/monitor/diff"], |caller, call| {
        json_later(caller, monitor::call::diff(caller, call.arguments))
    }),
    call(&["/api/monitor/delete"], Change, |caller, call| {
        json_of_body(caller, call, monitor::call::delete)
    }),
    // Older versions.
    page(&["/history", "/history/"], |caller, at| Box::pin(history::show(caller, at.arguments))),
    page(&["/history/version", "/history/version/"], |caller, at| {
        Box::pin(history::version(caller, at.arguments))
    }),
    page(&["/history/timemap", "/history/timemap/"], |caller, at| {
        Box::pin(history::timemap(caller, at.arguments))
    }),
    page(&["/history/diff", "/history/diff/", "/monitor/diff", "/monitor/diff/"], |caller, at| {
        Box::pin(changes::show(caller, at.arguments))
    }),
    form(&["/control/history/restore"], Change, |caller, sent| {
        run(history::press(caller, VersionAction::Restore, sent.form))
    }),
    form(&["/control/history/delete"], Change, |caller, sent| {
        run(history::press(caller, VersionAction::Remove, sent.form))
    }),
    query(&["/api/history"], |caller, call| {
        json_later(caller, history::call::list(caller, call.arguments))
    }),
    call(&["/api/history/restore"], Change, |caller, call| {
        json_of_body(caller, call, history::call::restore)
    }),
    call(&["/api/history/delete"], Change, |caller, call| {
        json_of_body(caller, call, history::call::delete)
    }),
    // Purging and pins.
    page(&["/purge/"], |caller, _| Box::pin(purge::show(caller))),
    moved(&["/purge", "/control/purge"], "/purge/"),
    form(&["/control/purge"], Change, |caller, _| run(ready(purge::submit(caller)))),
    form(&["/control/pin"], Change, |caller, sent| run(purge::pin(caller, sent.form, true))),
    form(&["/control/unpin"], Change, |caller, sent| run(purge::pin(caller, sent.form, false))),
    query(&["/api/purge"], |caller, _| json_now(caller, &caller.context.storage.purging.told())),
    call(&["/api/purge"], Change, |caller, call| lines_of_body(caller, call, purge::call::start)),
    query(&["/api/pins"], |caller, _| json_later(caller, purge::call::pins(caller))),
    call(&["/api/pins"], Change, |caller, call| json_of_body(caller, call, purge::call::pin)),
    // One URL.
    page(&["/info", "/info/", "/info/url", "/info/content"], |caller, at| {
        Box::pin(info::show(caller, at.arguments))
    }),
    page(&["/info/source"], |caller, at| Box::pin(source::show(caller, at.arguments))),
    page(&["/info/warc"], |caller, at| Box::pin(source::warc(caller, at.arguments))),
    page(&["/info/request"], |caller, at| now(info::request(caller, at.arguments))),
    page(&["/missing", "/missing/"], |caller, at| Box::pin(missing::show(caller, at.arguments))),
    query(&["/api/info"], |caller, call| json_later(caller, entries::info(caller, call.arguments))),
    // Stored entries.
    page(&["/control/delete/url"], |caller, at| now(control::ask_entry(caller, at.arguments))),
    form(&["/control/delete/url", "/control/delete-multiple/url"], Change, |caller, sent| {
        Box::pin(lists::press(caller, EntryAction::Delete, sent.form))
    }),
    form(&["/control/refresh-multiple"], Request, |caller, sent| {
        Box::pin(lists::press(caller, EntryAction::Refresh, sent.form))
    }),
    form(&["/control/pin-multiple"], Change, |caller, sent| {
        Box::pin(lists::press(caller, EntryAction::Pin, sent.form))
    }),
    form(&["/control/monitor-multiple"], Change, |caller, sent| {
        Box::pin(lists::press(caller, EntryAction::Monitor, sent.form))
    }),
    form(&["/control/export-multiple/warc"], Request, |caller, sent| {
        Box::pin(lists::press(caller, EntryAction::Export(Warc), sent.form))
    }),
    form(&["/control/export-multiple/wacz"], Request, |caller, sent| {
        Box::pin(lists::press(caller, EntryAction::Export(Wacz), sent.form))
    }),
    form(&["/control/export-list/warc"], Request, |caller, sent| {
        Box::pin(lists::export_list(caller, Warc, sent.form))
    }),
    form(&["/control/export-list/wacz"], Request, |caller, sent| {
        Box::pin(lists::export_list(caller, Wacz, sent.form))
    }),
    page(&["/control/delete/url-all"], |caller, at| {
        Box::pin(lists::whole::ask(caller, at.arguments))
    }),
    form(&["/control/delete/url-all"], Change, |caller, sent| {
        Box::pin(lists::delete_list(caller, sent.form))
    }),
    form(&["/control/undo"], Change, |caller, sent| run(removed::undo(caller, sent.form))),
    query(&["/api/entries"], |caller, call| {
        lines_later(caller, entries::list(caller, call.arguments))
    }),
    call(&["/api/entries/delete"], Change, |caller, call| {
        json_of_body(caller, call, by_hand::forget)
    }),
    call(&["/api/entries/compress"], Change, |caller, call| {
        lines_of_body(caller, call, |caller, wanted: EntriesToCompress| {
            compress::start(caller, &wanted)
        })
    }),
    call(&["/api/entries/move"], Administer, |caller, call| {
        json_of_body(caller, call, by_hand::rename)
    }),
    call(&["/api/entries/write"], Administer, |caller, call| {
        json_later(caller, by_hand::write(caller, call.arguments, call.incoming))
    }),
    call(&["/api/import"], Administer, |caller, call| lines_of_body(caller, call, import::start)),
    // Lists and search.
    page(&["/search/"], |caller, at| Box::pin(search::show(caller, at.arguments))),
    moved(&["/search"], "/search/"),
    page(&["/search/opensearch.xml"], |caller, _| now(search::describe(caller))),
    query(&["/api/index"], |caller, call| {
        json_later(caller, search::call::list(caller, call.arguments))
    }),
    query(&["/api/search"], |caller, call| {
        json_later(caller, search::call::search(caller, call.arguments))
    }),
    call(&["/api/reindex"], Administer, |caller, call| {
        lines_of_body(caller, call, |caller, wanted: ReindexRequest| {
            Ok(search::call::reindex(caller, &wanted))
        })
    }),
    // The configuration.
    page(&["/configuration/"], |caller, at| {
        Box::pin(configuration::show_index(caller, at.arguments))
    }),
    moved(&["/configuration", "/README.CONF.html"], "/configuration/"),
    page(&["/configuration/changed"], |caller, at| {
        Box::pin(configuration::show_last_change(caller, at.arguments))
    }),
    page(&["/configuration/url"], |caller, at| now(configuration::show_url(caller, at.arguments))),
    page(&["/configuration/editurl"], |caller, at| {
        now(configuration::show_builder(caller, at.arguments))
    }),
    form(&["/configuration/editurl"], Change, |caller, sent| {
        now(Ok(configuration::form::specification(caller, sent.form)))
    }),
    form(&["/configuration/undo"], Change, |caller, sent| {
        Box::pin(configuration::form::submit_undo(caller, sent.form))
    }),
    form(&["/configuration/reload"], Change, |caller, _| {
        Box::pin(configuration::form::reload(caller))
    }),
    query(&["/api/config"], |caller, _| Box::pin(configuration::call::state(caller))),
    call(&["/api/config"], Change, |caller, call| {
        Box::pin(configuration::call::edit(caller, call))
    }),
    query(&["/api/config/schema"], |caller, _| now(Ok(configuration::call::schema(caller)))),
    query(&["/api/config/versions"], |caller, _| Box::pin(configuration::call::versions(caller))),
    call(&["/api/config/undo"], Change, |caller, call| {
        Box::pin(configuration::call::undo(caller, call))
    }),
    call(&["/api/config/reload"], Change, |caller, _| {
        Box::pin(configuration::call::reload(caller))
    }),
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
            Box::pin(configuration::form::submit_option(caller, sent.path, sent.form))
        }),
    },
    // Statistics.
    page(&["/statistics/"], |caller, _| now(statistics::show(caller))),
    moved(&["/statistics"], "/statistics/"),
    guarded(&["/statistics/hosts"], Guard::Owner, |caller, _| now(statistics::show_hosts(caller))),
    guarded(&["/metrics"], Guard::Owner, |caller, _| Box::pin(metrics::show(caller))),
    query(&["/api/statistics"], |caller, _| json_now(caller, &statistics::statistics(caller))),
    // Certificates.
    guarded(&["/ca", "/ca/"], Guard::Open, |caller, _| now(authority::show(caller))),
    guarded(&["/ca.pem", "/certificates/root-cert.pem"], Guard::Public, |caller, _| {
        now(authority::pem(caller))
    }),
    guarded(&["/ca.crt"], Guard::Public, |caller, _| now(authority::der(caller))),
    // A browser sends no password for a sub-resource from another origin.
    guarded(&["/ca/trusted.css"], Guard::Public, |caller, _| now(authority::test(caller))),
    page(&["/certificate"], |caller, at| now(certificates::show(caller, at.arguments))),
    form(&["/control/certificate/allow"], Administer, |caller, sent| {
        run(certificates::allow(caller, sent.form))
    }),
    // Gateway and browsers.
    page(&["/gateway/"], |caller, at| now(gateway::show(caller, at.arguments))),
    moved(&["/gateway", "/http", "/https"], "/gateway/"),
    guarded(&["/style.css"], Guard::Public, |caller, _| now(browser::stylesheet(caller))),
    guarded(&["/proxy.pac", "/wpad.dat", "/wwwoffle.pac"], Guard::Public, |caller, _| {
        now(browser::proxy_settings(caller))
    }),
    guarded(&["/robots.txt"], Guard::Public, |caller, _| now(browser::robots(caller))),
    guarded(&["/favicon.ico"], Guard::Public, |caller, _| now(browser::no_icon(caller))),
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
