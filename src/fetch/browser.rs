//! Opens a queued page in a browser, so that everything its scripts load is stored too.
//!
//! When the response of a page is stored, the page is opened in the configured browser without a
//! window, before its request leaves the queue. The browser sends all its requests through this
//! proxy, so the responses are stored by the same rules as if a person viewed the page, and fresh
//! copies are reused. When the page is [quiet](visit), the browser ends. A failure does not affect
//! the stored page.
//!
//! The browser connects over loopback, so its requests belong to the person at this machine. Pages
//! requested by other people are not opened, because cookies of several people would be mixed.

mod pipe;
mod process;
mod program;
mod turns;
mod visit;

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use hyper::header::{ACCEPT_LANGUAGE, COOKIE, USER_AGENT};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{debug, warn};
use wwwoffle_config::UrlParts;
use wwwoffle_spool::{Outgoing, RequestKind};

use self::pipe::MessageSplitter;
pub(crate) use self::process::remove_leftovers;
use self::process::{GRACE, Process, Profile};
pub(super) use self::turns::BrowserTurns;
use self::visit::{Cookie, Visit, VisitActions, VisitEnd};
use super::attempt::{owner, request_url};
use super::follow::StoredAnswer;
use crate::base::owner::Owner;
use crate::base::process_group::text;
use crate::base::small_file::{IN_SPOOL, is_inside, is_program};
use crate::fetch::chromium;
use crate::fetch::context::FetchContext;
use crate::net::upstream::Scheme;
use crate::proxy::censor::OUR_USER_AGENT;
use crate::proxy::download::Meter;
use crate::proxy::target::of_url;
use wwwoffle_api::Event;
use wwwoffle_http::media_type::content_essence;

/// The height of the window, in pixels: several screens, for images that are loaded when they
/// become visible.
const HEIGHT: usize = 4_096;

/// The largest number of cookies set before a page is opened.
const MAX_COOKIES: usize = 200;

/// The longest value of a request field that is given to a browser, in bytes.
const MAX_FIELD: usize = 1_024;

/// The longest message of a browser that is reported, in characters.
const MAX_SAID: usize = 300;

/// The message of Chromium when root starts it.
const NO_SANDBOX: &str = "Running as root without --no-sandbox";

/// The message in place of [`NO_SANDBOX`], which tells the user what to change.
const AS_ROOT: &str = "Chromium does not run as root with its sandbox: set [startup] run-uid to \
    another user, or browser to a program that starts it with --no-sandbox";

/// The outcome of opening a page, which says whether its request may leave the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VisitOutcome {
    /// The request may leave the queue. The page was opened, or need not or cannot be opened.
    Over,
    /// The request stays in the queue. The proxy went offline, or the daemon stops.
    Interrupted,
}

/// Opens a page whose response is stored, if configured. Dropping the future ends the browser.
pub(super) async fn open(
    context: &Arc<FetchContext>,
    outgoing: &Outgoing,
    answered: &StoredAnswer<'_>,
) -> VisitOutcome {
    if !is_page(outgoing, answered) {
        return VisitOutcome::Over;
    }
    let Ok(resource) = of_url(request_url(outgoing), &context.base.local) else {
        return VisitOutcome::Over;
    };
    let url = resource.url.without_credentials();
    let config = context.base.config();
    let options = &config.fetch_options;
    let Some(program) = options.browser.of(&UrlParts::of(&url)).path() else {
        return VisitOutcome::Over;
    };
    let request = answered.request;
    let path = request.uri.path_and_query().map_or("/", |path| path.as_str());
    let scheme = resource.origin.scheme;
    if matches!(scheme, Scheme::Ftp | Scheme::Finger) {
        // Browsers speak neither.
        return VisitOutcome::Over;
    }
    let spelled = format!("{}://{}{path}", scheme.as_str(), resource.origin);
    // From here on, this request sends nothing to its origin, so it frees its slot while the page
    // waits for a browser. The browser sends its own requests, like any other client.
    context.fetcher.step_aside(&outgoing.summary.place.key());
    let mut mode = context.base.mode.watch();
    let opened = async {
        let proxy = proxy_for(context, outgoing, answered)?;
        let most = || context.base.config().fetch_options.browsers_at_once.get();
        let _turn = context.fetcher.browsers.take(most).await;
        if !is_program(program) {
            let program = program.display();
            return Err(format!(
                "{program} is not an executable program: install Chromium, or set [fetch-options] \
                 browser to its path"
            ));
        }
        let key = context.proxy.clients.tls.authority.spki_hash();
        let width = options.window_width.get();
        let meter = context.fetcher.meter(outgoing.summary.place.owner());
        let parameters = BrowserParameters { program, request, proxy, key: &key, width, meter };
        let visit = Visit::begin(spelled, cookies(&request.headers), Instant::now());
        browse(context, &parameters, visit, options.browser_time).await
    };
    let opened = tokio::select! {
        () = context.base.tasks.stopping() => return VisitOutcome::Interrupted,
        _gone = mode.wait_for(|mode| !mode.may_dial()) => return VisitOutcome::Interrupted,
        opened = opened => opened,
    };
    let url = outgoing.summary.place.url().to_owned();
    match opened {
        Ok(ended) => debug!(url, ?ended, "opened in the browser"),
        Err(error) => {
            warn!(url, error, "a page was fetched, but could not be opened in the browser");
            let owner = outgoing.summary.place.owner();
            context.fetcher.send_event(owner, Event::Browser { url, error });
        }
    }
    VisitOutcome::Over
}

/// Whether the response is an HTML page for people to view, not a sub-resource or the response to a
/// form.
fn is_page(outgoing: &Outgoing, answered: &StoredAnswer<'_>) -> bool {
    let kind = content_essence(answered.fields);
    !matches!(outgoing.summary.kind, RequestKind::Part | RequestKind::Post)
        && outgoing.summary.class.is_none()
        && answered.request.method == Method::GET
        && answered.status.is_success()
        && ["text/html", "application/xhtml+xml"].contains(&kind.as_str())
}

/// The address at which the browser connects so that its requests belong to the requester.
///
/// # Errors
///
/// The reason why there is no such address.
fn proxy_for(
    context: &FetchContext,
    outgoing: &Outgoing,
    answered: &StoredAnswer<'_>,
) -> Result<SocketAddr, String> {
    let owner = owner(outgoing)?;
    if owner != Owner::Local {
        return Err(format!(
            "it was requested by {owner}, but the browser belongs to the person at this machine"
        ));
    }
    if !context.base.config().allowed_users.users.is_empty() {
        return Err("the proxy requires a password, and the browser has none".to_owned());
    }
    if answered.places.credentials {
        return Err("it needs a password, which the browser does not get".to_owned());
    }
    own_address(&context.base.listening).ok_or_else(|| {
        "the proxy does not listen on a loopback address, such as 127.0.0.1".to_owned()
    })
}

/// The loopback address at which the daemon accepts connections. `None` if no address in
/// `listening` is a loopback address or a wildcard.
fn own_address(listening: &[SocketAddr]) -> Option<SocketAddr> {
    listening.iter().find_map(|address| match address.ip() {
        ip if ip.is_loopback() => Some(*address),
        IpAddr::V4(ip) if ip.is_unspecified() => Some((Ipv4Addr::LOCALHOST, address.port()).into()),
        IpAddr::V6(ip) if ip.is_unspecified() => Some((Ipv6Addr::LOCALHOST, address.port()).into()),
        _ => None,
    })
}

/// The parameters of a browser for one page.
struct BrowserParameters<'a> {
    program: &'a Path,
    /// The recorded request, with its cookies and user agent.
    request: &'a Parts,
    proxy: SocketAddr,
    key: &'a str,
    width: usize,
    /// Counts what the browser loads.
    meter: Arc<Meter>,
}

impl BrowserParameters<'_> {
    fn arguments(&self, profile: &Path) -> Vec<OsString> {
        let mut arguments = chromium::arguments(self.proxy, profile, self.key);
        arguments.push(format!("--window-size={},{HEIGHT}", self.width).into());
        let field = |name| {
            let text = self.request.headers.get(name)?.to_str().ok()?;
            (text.len() <= MAX_FIELD).then_some(text)
        };
        if let Some(agent) = field(USER_AGENT).filter(|agent| *agent != OUR_USER_AGENT) {
            arguments.push(format!("--user-agent={agent}").into());
        }
        if let Some(languages) = field(ACCEPT_LANGUAGE).map(languages).filter(|it| !it.is_empty()) {
            arguments.push(format!("--accept-lang={languages}").into());
        }
        arguments
    }
}

/// The languages in `Accept-Language` without weights, which the browser adds itself.
fn languages(field: &str) -> String {
    let is_of_one = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let names = field.split(',').filter_map(|item| item.split(';').next()).map(str::trim);
    let names: Vec<_> =
        names.filter(|name| !name.is_empty() && name.bytes().all(is_of_one)).collect();
    names.join(",")
}

/// The cookies of a request.
fn cookies(fields: &HeaderMap) -> Vec<Cookie> {
    let fields = fields.get_all(COOKIE).iter().filter_map(|field| field.to_str().ok());
    let pairs = fields.flat_map(|field| field.split(';')).filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        Some(Cookie { name: name.to_owned(), value: value.to_owned() })
    });
    pairs.take(MAX_COOKIES).collect()
}

/// Runs a browser for one visit.
///
/// # Errors
///
/// The reason why the page was not opened.
async fn browse(
    context: &FetchContext,
    parameters: &BrowserParameters<'_>,
    visit: (Visit, VisitActions),
    time: std::time::Duration,
) -> Result<VisitEnd, String> {
    if is_inside(parameters.program, context.storage.store.spool().root()) {
        return Err(format!("the browser cannot be started: {IN_SPOOL}"));
    }
    let profile =
        Profile::make().map_err(|error| format!("the profile cannot be created: {error}"))?;
    let arguments = parameters.arguments(profile.path());
    let mut process = Process::start(parameters.program, profile, &arguments)
        .map_err(|error| format!("the browser cannot be started: {error}"))?;
    // The messages of the browser are read while it runs; otherwise it would block.
    let said = text(process.said.take());
    let visited = async {
        let ended = timeout(time, drive_visit(&parameters.meter, &mut process, visit)).await;
        process.end().await;
        ended.unwrap_or(Some(Ok(VisitEnd::OutOfTime)))
    };
    let (visited, said) = tokio::join!(visited, timeout(time + 4 * GRACE, said));
    visited.unwrap_or_else(|| {
        let said = said.unwrap_or_default();
        if said.contains(NO_SANDBOX) {
            return Err(AS_ROOT.to_owned());
        }
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        let why = last.map_or_else(|| "it gave no reason".to_owned(), printable);
        Err(format!("the browser has ended: {why}"))
    })
}

/// Exchanges messages with a browser until the visit is over, and returns its end. `None` if the
/// browser exits first.
async fn drive_visit(
    meter: &Meter,
    process: &mut Process,
    (mut visit, mut next): (Visit, VisitActions),
) -> Option<Result<VisitEnd, String>> {
    let (mut framing, mut piece) = (MessageSplitter::default(), vec![0; 64 << 10]);
    loop {
        if meter.count(next.bytes) {
            return Some(Ok(VisitEnd::OverBudget));
        }
        for message in &next.send {
            process.send(message).await.ok()?;
        }
        if next.over.is_some() {
            return next.over;
        }
        let quiet = async {
            match visit.quiet_at() {
                Some(quiet) => sleep_until(quiet).await,
                None => std::future::pending().await,
            }
        };
        next = VisitActions::default();
        tokio::select! {
            () = quiet => next = visit.check_state(Instant::now()),
            got = process.read(&mut piece) => {
                let got = got.ok().filter(|got| *got > 0)?;
                let now = Instant::now();
                framing.split_messages(piece.get(..got)?, |message| {
                    next.and(visit.handle_message(&message, now));
                });
            }
        }
    }
}

/// A line of the browser without control characters, for a message.
fn printable(line: &str) -> String {
    line.chars().filter(|character| !character.is_control()).take(MAX_SAID).collect()
}

#[cfg(test)]
mod tests;
