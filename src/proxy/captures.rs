//! Captures of missing pages in web archives (RFC 7089).
//!
//! A person asks for them; nothing is sent on its own. [`look_up`] asks a TimeGate, and [`fetch`]
//! gets a capture, unmodified if the archive offers that. An archive learns the URL, so only URLs of
//! public hosts are sent ([`check_url`]).

mod memento;

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, HOST, HeaderName, HeaderValue, LINK, LOCATION, USER_AGENT,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use jiff::Timestamp;
use tokio::time::timeout;
use wwwoffle_config::{Config, UrlParts};
use wwwoffle_url::CanonicalUrl;

use self::memento::{
    MEMENTO_DATETIME, captured, is_public_name, is_same_page, original, original_fields, question,
    raw_address,
};
use super::ask::ProxyRequest;
use super::body::{self, Body};
use super::censor::OUR_USER_AGENT;
use super::protocols::allows_port;
use super::{rules, target};
use crate::base::clock;
use crate::base::owner::Owner;
use crate::net::upstream::{Answer, Failure, Outbound, Reach};
use crate::page::links;
use crate::proxy::context::ProxyContext;
use crate::proxy::quota;
use crate::storage::store::{StoredCopy, timestamp};
use crate::storage::versions::memento::{http_date, version_path};
use wwwoffle_http::head::CAPTURE;
use wwwoffle_http::media_type::content_essence;
use wwwoffle_http::redirect::location;

const ACCEPT_DATETIME: HeaderName = HeaderName::from_static("accept-datetime");

/// How long a look-up may take in one archive.
const LOOK_UP_WITHIN: Duration = Duration::from_secs(20);

/// How long a capture may take.
const FETCH_WITHIN: Duration = Duration::from_secs(120);

/// The largest number of redirects: a TimeGate redirects to a capture, an aggregator to an archive.
const MAX_REDIRECTS: usize = 5;

/// The largest body of a capture, in bytes. It is in memory until it is stored.
const MAX_CAPTURE: usize = 32 << 20;

/// The reason why there is no capture.
#[derive(Debug, thiserror::Error)]
pub enum CaptureFault {
    /// No archive is configured.
    #[error("no web archive is configured: set [web-archives] time-gates")]
    NoGates,
    /// The address is not one of the configured ones.
    #[error("the configuration names no such archive")]
    UnknownGate,
    /// The URL must not be sent to others.
    #[error("its address is not sent to others: it is not a page of a public host, or has a login")]
    Private,
    /// A rule of the configuration forbids it.
    #[error("a rule of the configuration blocks it, or never stores it")]
    Ruled,
    /// The mode is offline.
    #[error("the mode is offline: go online first")]
    Offline,
    /// The archive has no capture.
    #[error("the archive has no capture of this page")]
    Missing,
    /// The archive has a capture of another page only.
    #[error("the archive has a capture of another address: {0}")]
    OtherPage(String),
    /// The response of the archive is invalid.
    #[error("the archive answers with status {0} and without a capture")]
    NoMemento(u16),
    /// The capture is too large.
    #[error("the capture is longer than 32 MiB")]
    TooLarge,
    /// The archive did not respond in time.
    #[error("the archive did not answer in time")]
    Late,
    /// An address of the archive cannot be requested.
    #[error("an address of the archive cannot be requested")]
    Address,
    /// The archive cannot be reached.
    #[error("{}", .0.chain())]
    Failed(Failure),
}

/// A capture in a web archive.
#[derive(Clone, Debug)]
pub struct CaptureOffer {
    /// The address of the TimeGate.
    pub gate: String,
    /// The URL of the capture.
    pub memento: String,
    /// When the page was captured.
    pub captured: Timestamp,
}

/// A capture, ready to be stored.
#[derive(Debug)]
pub struct FetchedCapture {
    /// The capture.
    pub offer: CaptureOffer,
    /// The status of the original response.
    pub status: StatusCode,
    /// The fields of the original response, as far as the archive gives them.
    pub fields: HeaderMap,
    /// The body, which the archive may have modified.
    pub body: bytes::Bytes,
}

/// Whether captures of a page are offered.
#[must_use]
pub fn is_offered(context: &ProxyContext, config: &Config, url: &CanonicalUrl) -> bool {
    !config.web_archives.time_gates.addresses().is_empty()
        && *config.web_archives.offer.of(&UrlParts::of(url))
        && check_url(context, config, url).is_ok()
}

/// Checks whether the URL may be sent to web archives.
///
/// # Errors
///
/// [`CaptureFault::NoGates`], [`CaptureFault::Private`] or [`CaptureFault::Ruled`].
pub fn check_url(
    context: &ProxyContext,
    config: &Config,
    url: &CanonicalUrl,
) -> Result<(), CaptureFault> {
    if config.web_archives.time_gates.addresses().is_empty() {
        return Err(CaptureFault::NoGates);
    }
    let host = url.host();
    let is_inside =
        config.local_net.hosts.contains(host) || config.allowed_hosts.inside.contains(host);
    let is_public = matches!(url.protocol(), "http" | "https")
        && url.user().is_none()
        && !url.is_form_answer()
        && !url.is_local()
        && !context.base.local.has_name(host)
        && !is_inside
        && is_public_name(host);
    let parts = UrlParts::of(url);
    if !is_public {
        return Err(CaptureFault::Private);
    }
    let is_ruled = config.dont_get.urls.matches_parts(&parts).is_some()
        || config.dont_cache.urls.matches_parts(&parts).is_some();
    if is_ruled { Err(CaptureFault::Ruled) } else { Ok(()) }
}

/// Asks a TimeGate of the configuration for the capture of `url` that is closest to `at`, or the
/// latest one.
///
/// # Errors
///
/// [`CaptureFault`], if there is no capture.
pub async fn look_up(
    context: &Arc<ProxyContext>,
    owner: &Owner,
    url: &CanonicalUrl,
    gate: &str,
    at: Option<Timestamp>,
) -> Result<CaptureOffer, CaptureFault> {
    let asking = ArchiveRequest::new(context, owner, url, gate)?;
    let found = timeout(LOOK_UP_WITHIN, asking.find(at)).await;
    Ok(found.map_err(|_| CaptureFault::Late)??.0)
}

/// Fetches the capture of `url` that is closest to `at`.
///
/// # Errors
///
/// [`CaptureFault`], if there is no capture or it cannot be read.
pub async fn fetch(
    context: &Arc<ProxyContext>,
    owner: &Owner,
    url: &CanonicalUrl,
    gate: &str,
    at: Option<Timestamp>,
) -> Result<FetchedCapture, CaptureFault> {
    let asking = ArchiveRequest::new(context, owner, url, gate)?;
    let fetching = async {
        let (offer, answer) = asking.find(at).await?;
        let Some(raw) = raw_address(&offer.memento) else { return read(offer, answer).await };
        match asking.follow(raw, None).await {
            Ok((memento, raw)) if asking.check(&raw).is_ok() => {
                let captured = asking.check(&raw)?;
                read(CaptureOffer { memento, captured, ..offer }, raw).await
            }
            // The archive has only modified captures.
            _ => read(offer, answer).await,
        }
    };
    timeout(FETCH_WITHIN, fetching).await.map_err(|_| CaptureFault::Late)?
}

/// The question about one page to one archive.
struct ArchiveRequest<'a> {
    context: &'a Arc<ProxyContext>,
    config: Arc<Config>,
    owner: &'a Owner,
    url: &'a CanonicalUrl,
    gate: &'a str,
}

impl<'a> ArchiveRequest<'a> {
    fn new(
        context: &'a Arc<ProxyContext>,
        owner: &'a Owner,
        url: &'a CanonicalUrl,
        gate: &'a str,
    ) -> Result<Self, CaptureFault> {
        let config = context.base.config();
        check_url(context, &config, url)?;
        // The archive decides what is stored as a capture, so only those of the configuration are
        // asked.
        if !config.web_archives.time_gates.addresses().iter().any(|known| known == gate) {
            return Err(CaptureFault::UnknownGate);
        }
        if !context.base.mode.now().may_dial() {
            return Err(CaptureFault::Offline);
        }
        Ok(Self { context, config, owner, url, gate })
    }

    /// Negotiates with the TimeGate (§4.5). Also returns the response with the capture.
    async fn find(&self, at: Option<Timestamp>) -> Result<(CaptureOffer, Answer), CaptureFault> {
        let (memento, answer) = self.follow(question(self.gate, self.url.as_str()), at).await?;
        let captured = self.check(&answer)?;
        Ok((CaptureOffer { gate: self.gate.to_owned(), memento, captured }, answer))
    }

    /// The time of the capture in a response. It must be one of this page.
    fn check(&self, answer: &Answer) -> Result<Timestamp, CaptureFault> {
        let local = &self.context.base.local;
        let captured = captured_by(answer.headers(), timestamp(clock::now()));
        let page = original(answer.headers(), local);
        match (answer.status().as_u16(), captured, page) {
            (200, Some(captured), Some(page)) if is_same_page(&page, self.url) => Ok(captured),
            (200, Some(_), Some(page)) => {
                Err(CaptureFault::OtherPage(page.without_credentials().to_string()))
            }
            (200, ..) => Err(CaptureFault::NoMemento(200)),
            (404 | 410, ..) | (_, Some(_), _) => Err(CaptureFault::Missing),
            (status, None, _) => Err(CaptureFault::NoMemento(status)),
        }
    }

    /// Requests an address and follows its redirects. Returns the last address and its response.
    async fn follow(
        &self,
        mut address: String,
        at: Option<Timestamp>,
    ) -> Result<(String, Answer), CaptureFault> {
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.send(&address, at).await?;
            match location(&address, answer.status(), answer.headers()) {
                Some(next) => address = next,
                None => return Ok((address, answer)),
            }
        }
        Err(CaptureFault::Missing)
    }

    async fn send(&self, address: &str, at: Option<Timestamp>) -> Result<Answer, CaptureFault> {
        let base = &self.context.base;
        let mut resource =
            target::of_url(address, &base.local).map_err(|_| CaptureFault::Address)?;
        let is_web = matches!(resource.url.protocol(), "http" | "https");
        let is_blocked = rules::is_blocked(&self.config, address);
        if !is_web
            || is_blocked
            || !allows_port(&self.config, &resource.url, &UrlParts::of(&resource.url))
        {
            return Err(CaptureFault::Address);
        }
        resource.origin.via = rules::parent(base, &self.config, &resource.url);
        // The archive itself is named by the configuration. Other addresses come from outside.
        let gate = CanonicalUrl::parse(self.gate, &base.local);
        if gate.is_ok_and(|gate| gate.host_port() == resource.url.host_port()) {
            resource.origin.reach = Reach::All;
        } else if !is_public_name(resource.url.host()) {
            return Err(CaptureFault::Address);
        }
        let mut request = Request::builder()
            .method(Method::GET)
            .uri(resource.path.as_str())
            .header(HOST, resource.host)
            .header(ACCEPT, HeaderValue::from_static("*/*"))
            .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"))
            .header(USER_AGENT, HeaderValue::from_static(OUR_USER_AGENT));
        if let Some(at) = at {
            request = request.header(ACCEPT_DATETIME, http_date(at));
        }
        let request = request.body(()).map_err(|_| CaptureFault::Address)?;
        let sent = self.context.net.upstream.send(&resource.origin, request, Outbound::Empty, None);
        let answer = sent.await.map_err(CaptureFault::Failed)?;
        let account = quota::account(self.context, self.owner);
        Ok(answer.map(|body| body.metered(account)))
    }
}

/// The time of a capture. `None` if the response is not a capture, or claims to be one of the
/// future.
fn captured_by(fields: &HeaderMap, now: Timestamp) -> Option<Timestamp> {
    captured(fields).filter(|captured| *captured <= now)
}

/// Reads the body of a capture.
async fn read(offer: CaptureOffer, answer: Answer) -> Result<FetchedCapture, CaptureFault> {
    let (status, fields) = (answer.status(), original_fields(answer.headers()));
    let body = Limited::new(answer.into_body(), MAX_CAPTURE).collect().await;
    let body = body.map_err(|error| match error.downcast::<Failure>() {
        Ok(failure) => CaptureFault::Failed(*failure),
        Err(error) if error.is::<LengthLimitError>() => CaptureFault::TooLarge,
        Err(_) => CaptureFault::Failed(Failure::Abandoned),
    })?;
    Ok(FetchedCapture { offer, status, fields, body: body.to_bytes() })
}

/// The URL of the capture in its web archive. `None` if the copy came from its origin.
#[must_use]
pub fn capture_of(copy: &StoredCopy) -> Option<&str> {
    copy.request.get(CAPTURE)?.to_str().ok()
}

/// Responds with a stored capture of a web archive, so that it is never taken for the page of the
/// origin: a person gets the view of the version with its banner. `None` if the copy came from its
/// origin, or a program asks.
pub(super) fn redirect_to_version(
    context: &ProxyContext,
    ask: &ProxyRequest,
    copy: &StoredCopy,
) -> Option<Response<Body>> {
    if !ask.is_for_a_person() || ask.head.method != Method::GET {
        return None;
    }
    capture_of(copy)?;
    let version = (copy.entry.stored(), copy.entry.received());
    let path = view_path(copy.entry.url(), version, &copy.fields);
    let to = HeaderValue::try_from(format!("{}{path}", context.pages.origin.as_str())).ok()?;
    let mut response = super::reply::plain(StatusCode::FOUND.as_u16(), "");
    *response.body_mut() = body::empty();
    response.headers_mut().insert(LOCATION, to);
    Some(response)
}

/// The path of the page of ours that shows a capture as such: the version with its banner, or for
/// what cannot have a banner, the list of versions, which names the archive.
#[must_use]
pub fn view_path(url: &str, version: (Timestamp, Timestamp), fields: &HeaderMap) -> String {
    if content_essence(fields) == "text/html" {
        version_path(url, version)
    } else {
        links::history(url)
    }
}

/// Marks the fields of a capture for programs (§2.2).
pub(super) fn mark(fields: &mut HeaderMap, copy: &StoredCopy) {
    let Some(memento) = capture_of(copy) else { return };
    let date = http_date(copy.entry.received());
    let link = format!("<{memento}>; rel=\"memento\"; datetime=\"{date}\"");
    if let (Ok(date), Ok(link)) = (HeaderValue::try_from(date), HeaderValue::try_from(link)) {
        fields.insert(MEMENTO_DATETIME, date);
        fields.append(LINK, link);
    }
}
