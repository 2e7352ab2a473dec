//! A page of the queue in a browser, so that what its scripts load is kept, too.
//!
//! After its own answer is kept, and before it leaves the queue, the page is opened in a browser of the
//! user's own without a window, which asks this proxy for everything. So all of it is kept as if
//! somebody had looked at the page: by the same rules, and what is kept and fresh is used again. When
//! it is [quiet](visit) the browser ends. One that fails costs the page nothing.
//!
//! The browser comes over loopback, as the person at this machine does, and its requests are that
//! person's. So pages that somebody else has asked for are not opened: their cookies would be mixed.

mod pipe;
mod process;
mod turns;
mod visit;

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use hyper::header::{ACCEPT_LANGUAGE, CONTENT_TYPE, COOKIE, USER_AGENT};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{debug, warn};
use wwwoffle_config::UrlParts;
use wwwoffle_spool::{Outgoing, RequestKind};

use self::pipe::Framing;
pub(crate) use self::process::remove_leftovers;
use self::process::{GRACE, Process, Profile};
pub(super) use self::turns::Turns;
use self::visit::{Cookie, Ended, Next, Visit};
use super::attempt::{base, owner};
use super::follow::Answered;
use crate::api::Event;
use crate::base::owner::Owner;
use crate::base::process_group::text;
use crate::base::small_file::{IN_SPOOL, is_program, lies_in};
use crate::fetch::chromium;
use crate::fetch::context::FetchContext;
use crate::net::upstream::Scheme;
use crate::proxy::censor::OUR_USER_AGENT;
use crate::proxy::target::of_url;

/// The height of the window, in pixels: several screens, for what is loaded only when it is seen.
const HEIGHT: usize = 4_096;

/// The most cookies that a page is opened with.
const MAX_COOKIES: usize = 200;

/// The longest field of a request that a browser is told, in bytes.
const MAX_FIELD: usize = 1_024;

/// The longest of what a browser says that is told on, in characters.
const MAX_SAID: usize = 300;

/// What Chromium says when it is run by root.
const NO_SANDBOX: &str = "Running as root without --no-sandbox";

/// What can be done about that.
const AS_ROOT: &str = "a browser of the Chromium family does not run as root with its sandbox: let [startup] \
    run-uid name another user, or browser a program that starts it with --no-sandbox";

/// Whether a page may leave the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opened {
    /// It was opened, or need not or cannot be.
    Over,
    /// The line has gone, or the daemon stops, before that was over.
    Interrupted,
}

/// Opens a page whose answer is kept, if the configuration says so. Dropping it ends the browser.
pub(super) async fn open(
    context: &Arc<FetchContext>,
    outgoing: &Outgoing,
    answered: &Answered<'_>,
) -> Opened {
    if !is_page(outgoing, answered) {
        return Opened::Over;
    }
    let Ok(resource) = of_url(base(outgoing), &context.base.local) else { return Opened::Over };
    let url = resource.url.without_credentials();
    let config = context.base.config();
    let options = &config.fetch_options;
    let Some(program) = options.browser.of(&UrlParts::of(&url)).path() else { return Opened::Over };
    let request = answered.request;
    let path = request.uri.path_and_query().map_or("/", |path| path.as_str());
    let protocol = if resource.origin.scheme == Scheme::Https { "https" } else { "http" };
    let spelled = format!("{protocol}://{}{path}", resource.origin);
    // It waits for its turn, and then asks through the proxy as anybody does.
    context.fetcher.step_aside(&outgoing.place.key());
    let mut mode = context.base.mode.watch();
    let opened = async {
        let proxy = proxy_for(context, outgoing, answered)?;
        let most = || context.base.config().fetch_options.browsers_at_once.get();
        let _turn = context.fetcher.browsers.take(most).await;
        if !is_program(program) {
            let program = program.display();
            return Err(format!(
                "there is no program {program} that may be run: install Chromium, or set [fetch-options] \
                 browser to where it is"
            ));
        }
        let key = context.proxy.clients.faces.authority.spki_hash();
        let width = options.window_width.get();
        let told = Told { program, request, proxy, key: &key, width };
        let visit = Visit::begin(spelled, cookies(&request.headers), Instant::now());
        browse(context, &told, visit, options.browser_time).await
    };
    let opened = tokio::select! {
        () = context.base.tasks.stopping() => return Opened::Interrupted,
        _gone = mode.wait_for(|mode| !mode.may_dial()) => return Opened::Interrupted,
        opened = opened => opened,
    };
    let url = outgoing.place.url().to_owned();
    match opened {
        Ok(ended) => debug!(url, ?ended, "opened in the browser"),
        Err(error) => {
            warn!(url, error, "a page was fetched, but not opened in the browser");
            context.fetcher.tell(Event::Browser { url, error });
        }
    }
    Opened::Over
}

/// Whether it is what people look at: not a part of it, not a form, and no image.
fn is_page(outgoing: &Outgoing, answered: &Answered<'_>) -> bool {
    let is_of_kind = match outgoing.kind {
        RequestKind::Page
        | RequestKind::Refresh
        | RequestKind::Recursive
        | RequestKind::Monitored => true,
        RequestKind::Part | RequestKind::Post => false,
    };
    let kind = answered.fields.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    is_of_kind
        && outgoing.class.is_none()
        && answered.request.method == Method::GET
        && answered.status.is_success()
        && ["text/html", "application/xhtml+xml"].iter().any(|html| kind.eq_ignore_ascii_case(html))
}

/// Where the browser reaches us as the one who asked.
///
/// # Errors
///
/// Why it cannot.
fn proxy_for(
    context: &FetchContext,
    outgoing: &Outgoing,
    answered: &Answered<'_>,
) -> Result<SocketAddr, String> {
    let owner = owner(outgoing)?;
    if owner != Owner::Local {
        return Err(format!(
            "{owner} has asked for it, and the browser is that of who sits at this machine"
        ));
    }
    if !context.base.config().allowed_users.users.is_empty() {
        return Err("the proxy asks for passwords, and the browser has none".to_owned());
    }
    if answered.places.credentials {
        return Err("it is asked for with a password, which the browser is not told".to_owned());
    }
    here(&context.base.listening).ok_or_else(|| {
        "the proxy listens on no address of this machine's own, such as 127.0.0.1".to_owned()
    })
}

/// The address by which this machine reaches itself, of those that are listened on.
fn here(listening: &[SocketAddr]) -> Option<SocketAddr> {
    listening.iter().find_map(|address| match address.ip() {
        ip if ip.is_loopback() => Some(*address),
        IpAddr::V4(ip) if ip.is_unspecified() => Some((Ipv4Addr::LOCALHOST, address.port()).into()),
        IpAddr::V6(ip) if ip.is_unspecified() => Some((Ipv6Addr::LOCALHOST, address.port()).into()),
        _ => None,
    })
}

/// What a browser is started with.
struct Told<'a> {
    program: &'a Path,
    /// The request that was recorded: whose cookies, and what browser it was.
    request: &'a Parts,
    proxy: SocketAddr,
    key: &'a str,
    width: usize,
}

impl Told<'_> {
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

/// The languages in `Accept-Language`, without their weights, which the browser gives by itself.
fn languages(field: &str) -> String {
    let is_of_one = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let names = field.split(',').filter_map(|item| item.split(';').next()).map(str::trim);
    let names: Vec<_> =
        names.filter(|name| !name.is_empty() && name.bytes().all(is_of_one)).collect();
    names.join(",")
}

/// The cookies in the fields of a request.
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
/// Why the page was not seen.
async fn browse(
    context: &FetchContext,
    told: &Told<'_>,
    visit: (Visit, Next),
    time: std::time::Duration,
) -> Result<Ended, String> {
    if lies_in(told.program, context.storage.store.spool().root()) {
        return Err(format!("the browser cannot be started: {IN_SPOOL}"));
    }
    let profile = Profile::make().map_err(|error| format!("no profile can be made: {error}"))?;
    let arguments = told.arguments(profile.path());
    let mut process = Process::start(told.program, profile, &arguments)
        .map_err(|error| format!("the browser cannot be started: {error}"))?;
    // It is read as long as it runs, or the browser would wait for that.
    let said = text(process.said.take());
    let visited = async {
        let ended = timeout(time, converse(context, &mut process, visit)).await;
        process.end().await;
        ended.unwrap_or(Some(Ok(Ended::OutOfTime)))
    };
    let (visited, said) = tokio::join!(visited, timeout(time + 4 * GRACE, said));
    visited.unwrap_or_else(|| {
        let said = said.unwrap_or_default();
        if said.contains(NO_SANDBOX) {
            return Err(AS_ROOT.to_owned());
        }
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        let why = last.map_or_else(|| "it does not say why".to_owned(), shown);
        Err(format!("the browser has ended: {why}"))
    })
}

/// Speaks with a browser until the visit is over; `None` when it has ended before.
async fn converse(
    context: &FetchContext,
    process: &mut Process,
    (mut visit, mut next): (Visit, Next),
) -> Option<Result<Ended, String>> {
    let (mut framing, mut piece) = (Framing::default(), vec![0; 64 << 10]);
    let meter = context.fetcher.meter();
    loop {
        if meter.count(next.bytes) {
            return Some(Ok(Ended::OverBudget));
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
        next = Next::default();
        tokio::select! {
            () = quiet => next = visit.look(Instant::now()),
            got = process.read(&mut piece) => {
                let got = got.ok().filter(|got| *got > 0)?;
                let now = Instant::now();
                framing.take(piece.get(..got)?, |message| next.and(visit.take(&message, now)));
            }
        }
    }
}

/// A line of the browser's as it may stand in a message.
fn shown(line: &str) -> String {
    line.chars().filter(|character| !character.is_control()).take(MAX_SAID).collect()
}

#[cfg(test)]
mod tests;
