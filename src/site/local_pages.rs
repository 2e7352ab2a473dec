//! Our own pages, which change nothing.

use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use hyper::{Response, StatusCode};
use jiff::Timestamp;

use super::caller::Caller;
use super::certificate;
use super::control;
use super::gate;
use super::history;
use super::home;
use super::info;
use super::lists;
use super::metrics;
use super::missing;
use super::monitor;
use super::purge;
use super::queue;
use super::refresh;
use super::search;
use super::source;
use super::statistics;
use super::status;
use super::undone;
use super::versions;
use crate::base::clock;
use crate::page::gateway;
use crate::page::undone as undone_page;
use crate::page::ways;
use crate::page::{LocalOrigin, style};
use crate::proxy::body::{self, Body};
use crate::site::pages::authority::{self, Trust};
use crate::site::pages::{
    pac, queue as queue_page, search as search_page, statistics as statistics_page,
};
use crate::tls::ca::RENEW_BEFORE;

/// The type by which browsers and phones know that an authority is to be imported.
const CERTIFICATE: &str = "application/x-x509-ca-cert";

/// A page, or a file like one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Local {
    /// The mode and what goes on.
    Welcome,
    /// What can be switched and begun.
    Control,
    /// An address of 2.9 that leads to another page.
    Moved(&'static str),
    /// The outgoing queue.
    Queue,
    /// What was taken off it from a will-get page.
    Undone,
    /// How one of its requests is fetched.
    QueueEdit,
    /// An address of the queue in earlier versions, or one misspelled.
    QueueElsewhere,
    /// What is looked at on a schedule.
    Monitor,
    /// An address of that list in 2.9, or one misspelled.
    MonitorElsewhere,
    /// What was kept of a page over time.
    History,
    /// One version as it was.
    Version,
    /// All versions, for programs.
    TimeMap,
    /// What would go by its age.
    Purge,
    /// An address of that page, misspelled.
    PurgeElsewhere,
    /// What has changed of a page.
    Diff,
    /// All changes, as a feed.
    MonitorFeed,
    /// The form that monitors a page.
    MonitorOptions,
    /// What is fetched along links.
    Fetches,
    /// An address of that list in 2.9, or one misspelled.
    FetchesElsewhere,
    /// The form that fetches a page with its parts and along its links.
    RefreshOptions,
    /// A page anew.
    Refresh,
    /// The same with what the form would say.
    RefreshRecurse,
    /// Our certificate authority, and how to trust it.
    Authority,
    /// Its certificate in PEM.
    AuthorityPem,
    /// Its certificate in DER.
    AuthorityDer,
    /// What comes only to a browser that trusts it.
    AuthorityTest,
    /// A certificate that was refused, and how to allow it.
    Certificate,
    /// What is known of one URL.
    Info,
    /// Its source.
    Source,
    /// Its records.
    Warc,
    /// What the browser sends, and what an origin gets of it.
    InfoRequest,
    /// The daemon in numbers, for programs.
    Metrics,
    /// What the proxy has done.
    Statistics,
    /// The same with the hosts by name, for whoever owns the machine.
    StatisticsHosts,
    /// The address of that page misspelled.
    StatisticsElsewhere,
    /// What is kept that is like a URL.
    Missing,
    /// A list of what is kept.
    Lists,
    /// What is kept, by its words.
    Search,
    /// The address of that page misspelled.
    SearchElsewhere,
    /// How a browser adds it as a search engine.
    SearchDescription,
    /// The form for an address of the gateway.
    Gateway,
    /// The address of that form misspelled.
    GatewayElsewhere,
    /// The stylesheet.
    Style,
    /// How a browser reaches us.
    ProxySettings,
    /// What robots may have: nothing.
    Robots,
    /// Browsers ask for it; pages of ours have none.
    Icon,
}

impl Local {
    /// The page at a path.
    pub(super) fn at(path: &str) -> Option<Self> {
        Some(match path {
            "/" => Self::Welcome,
            control::PATH => Self::Control,
            "/control" => Self::Moved(control::PATH),
            "/control/status" => Self::Moved("/"),
            "/control/edit" | "/control/edit/" => Self::Moved("/configuration/"),
            "/queue/" => Self::Queue,
            queue_page::edit::EDIT => Self::QueueEdit,
            "/queue" | "/index/outgoing" | "/index/outgoing/" => Self::QueueElsewhere,
            // It says why, and has the buttons.
            "/index/failed" | "/index/failed/" => Self::Moved("/queue/?state=failed"),
            undone_page::PATH => Self::Undone,
            "/monitor/" => Self::Monitor,
            "/monitor" | "/index/monitor" | "/index/monitor/" => Self::MonitorElsewhere,
            purge::PAGE => Self::Purge,
            "/purge" => Self::PurgeElsewhere,
            "/history" | "/history/" => Self::History,
            "/history/version" | "/history/version/" => Self::Version,
            "/history/timemap" | "/history/timemap/" => Self::TimeMap,
            "/history/diff" | "/history/diff/" | "/monitor/diff" | "/monitor/diff/" => Self::Diff,
            "/monitor/feed" => Self::MonitorFeed,
            "/monitor-options" | "/monitor-options/" => Self::MonitorOptions,
            refresh::LIST => Self::Fetches,
            "/fetches" => Self::FetchesElsewhere,
            "/refresh-options" | "/refresh-options/" => Self::RefreshOptions,
            "/refresh" | "/refresh/" => Self::Refresh,
            "/refresh-recurse" | "/refresh-recurse/" => Self::RefreshRecurse,
            "/ca" | "/ca/" => Self::Authority,
            "/ca.pem" | "/certificates/root-cert.pem" => Self::AuthorityPem,
            "/ca.crt" => Self::AuthorityDer,
            authority::TEST => Self::AuthorityTest,
            "/certificate" => Self::Certificate,
            "/info" | "/info/" | "/info/url" | "/info/content" => Self::Info,
            "/info/source" => Self::Source,
            "/info/warc" => Self::Warc,
            info::REQUEST => Self::InfoRequest,
            metrics::PATH => Self::Metrics,
            statistics_page::PATH => Self::Statistics,
            statistics::HOSTS => Self::StatisticsHosts,
            "/statistics" => Self::StatisticsElsewhere,
            "/missing" | ways::MISSING => Self::Missing,
            crate::page::links::SEARCH => Self::Search,
            "/search" => Self::SearchElsewhere,
            search_page::DESCRIPTION => Self::SearchDescription,
            gateway::PATH => Self::Gateway,
            "/gateway" | "/http" | "/https" => Self::GatewayElsewhere,
            "/style.css" => Self::Style,
            "/proxy.pac" | "/wpad.dat" | "/wwwoffle.pac" => Self::ProxySettings,
            "/robots.txt" => Self::Robots,
            "/favicon.ico" => Self::Icon,
            path if lists::is_list(path) => Self::Lists,
            _ => return None,
        })
    }
}

/// Makes the page.
pub(super) async fn answer(
    caller: &Caller,
    page: Local,
    path: &str,
    arguments: Option<&str>,
) -> Response<Body> {
    let (context, shell) = (&caller.context, &caller.shell);
    match page {
        Local::Welcome => home::show(caller, arguments).await,
        Local::Control => control::show(caller),
        Local::Moved(path) => caller.see_other(path),
        Local::Queue => queue::show(caller, arguments),
        Local::QueueEdit => queue::edit::show(caller, arguments),
        Local::QueueElsewhere => caller.see_other("/queue/"),
        Local::Undone => undone::show(caller, arguments),
        Local::Monitor => monitor::show(caller).await,
        Local::MonitorElsewhere => caller.see_other("/monitor/"),
        Local::Purge => purge::show(caller).await,
        Local::PurgeElsewhere => caller.see_other(purge::PAGE),
        Local::History => history::show(caller, arguments).await,
        Local::Version => history::version(caller, arguments).await,
        Local::TimeMap => history::timemap(caller, arguments).await,
        Local::Diff => versions::show(caller, arguments).await,
        Local::MonitorFeed => versions::feed(caller).await,
        Local::MonitorOptions => monitor::options(caller, arguments).await,
        Local::Fetches => refresh::list(caller),
        Local::FetchesElsewhere => caller.see_other(refresh::LIST),
        Local::RefreshOptions => refresh::options(caller, arguments),
        Local::Refresh => refresh::refresh(caller, arguments).await,
        Local::RefreshRecurse => refresh::recurse(caller, arguments).await,
        Local::Authority => trust(caller),
        Local::AuthorityPem => {
            let pem = body::whole(context.proxy.clients.faces.authority.pem());
            caller.other(StatusCode::OK, Some(CERTIFICATE), pem)
        }
        Local::AuthorityDer => {
            let der = body::whole(context.proxy.clients.faces.authority.der().to_vec());
            caller.other(StatusCode::OK, Some(CERTIFICATE), der)
        }
        Local::AuthorityTest => caller.page(authority::test()),
        Local::Certificate => certificate::show(caller, arguments),
        Local::Info => info::show(caller, arguments).await,
        Local::Source => source::show(caller, arguments).await,
        Local::Warc => source::warc(caller, arguments).await,
        Local::InfoRequest => info::request(caller, arguments),
        Local::Metrics => metrics::show(caller).await,
        Local::StatisticsHosts if !caller.owns() => caller.see_other(statistics_page::PATH),
        Local::Statistics | Local::StatisticsHosts => statistics::show(caller),
        Local::StatisticsElsewhere => caller.see_other(statistics_page::PATH),
        Local::Missing => missing::show(caller, arguments).await,
        Local::Lists => lists::show(caller, path, arguments).await,
        Local::Search => search::show(caller, arguments).await,
        Local::SearchElsewhere => caller.see_other(crate::page::links::SEARCH),
        Local::SearchDescription => caller.page(search_page::description(shell)),
        Local::Gateway => gate::show(caller, arguments),
        Local::GatewayElsewhere => caller.see_other(gateway::PATH),
        Local::Style => caller.page(style(&context.pages.templates)),
        Local::ProxySettings => {
            let config = context.base.config();
            let names = config.local_host.names.as_slice().iter().map(String::as_str);
            caller.page(pac::page(&shell.origin, names))
        }
        Local::Robots => {
            let nothing = body::whole("User-agent: *\nDisallow: /\n");
            caller.other(StatusCode::OK, Some("text/plain; charset=utf-8"), nothing)
        }
        Local::Icon => caller.other(StatusCode::NOT_FOUND, None, body::empty()),
    }
}

fn trust(caller: &Caller) -> Response<Body> {
    let (context, shell) = (&caller.context, &caller.shell);
    let config = context.base.config();
    let (authority, used) = (&context.proxy.clients.faces.authority, &shell.origin);
    let secure = secured(used).unwrap_or_else(|| used.clone());
    let timestamp = |time| Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    let names = config.local_host.names.as_slice();
    let phone = authority::for_phones(used, names, &context.base.listening);
    let trust = Trust {
        name: authority.name(),
        fingerprint: &authority.fingerprint(),
        from: timestamp(authority.valid_from()),
        until: timestamp(authority.valid_until()),
        ends_soon: clock::now() + RENEW_BEFORE >= authority.valid_until(),
        intercept: config.https.intercept,
        secure: &secure,
        phone: phone.as_deref(),
        rejected: &status::rejections(context),
    };
    let mut response = caller.page(authority::page(&context.pages.templates, shell, &trust));
    // This page alone loads something: its test.
    if let Ok(policy) = HeaderValue::from_str(&shell.policy(&format!(" {secure}"))) {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Where we are over TLS: on the same port.
fn secured(used: &LocalOrigin) -> Option<LocalOrigin> {
    let host_port = used.host_port();
    let has_port = host_port.len() > used.host().len();
    let port = if has_port || used.as_str().starts_with("https:") { "" } else { ":80" };
    LocalOrigin::parse("https", &format!("{host_port}{port}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_on_the_same_port() {
        for (scheme, used, want) in [
            ("http", "localhost:8080", "https://localhost:8080"),
            ("http", "[::1]:8080", "https://[::1]:8080"),
            ("http", "ship", "https://ship:80"),
            ("https", "ship", "https://ship"),
        ] {
            let used = LocalOrigin::parse(scheme, used).unwrap();
            assert_eq!(secured(&used).unwrap().as_str(), want);
        }
    }
}
