//! Captures of missing pages in web archives: the page that looks them up, and the form that stores
//! one.

pub(super) mod call;
pub mod page;

use std::io::Write as _;

use futures_util::future::join_all;
use hyper::{HeaderMap, Response};
use jiff::Timestamp;
use tempfile::NamedTempFile;
use wwwoffle_archive::{ImportControl, ImportOptions, MAX_BODY, PersonalOwner, import};
use wwwoffle_spool::{Error, Spool};
use wwwoffle_url::{CanonicalUrl, ParseError};

use self::page::CapturesPage;
use super::caller::Caller;
use super::forms::FormError;
use super::info::InfoError;
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;
use crate::proxy::captures::{
    CaptureFault, CaptureOffer, FetchedCapture, check_url, fetch, look_up, view_path,
};
use crate::site::address::{AddressPage, url_in};
use crate::site::entries::exchange::Placer;
use crate::site::history;
use crate::storage::store::timestamp;
use wwwoffle_api::{Capture, StoredCapture};
use wwwoffle_http::head::{CAPTURE, with_field, write_response};

/// Maximum number of look-ups and fetches at the same time.
pub(super) const AT_ONCE: usize = 4;

/// The reason why no capture was stored.
#[derive(Debug, thiserror::Error)]
pub(super) enum CaptureError {
    /// The URL is invalid.
    #[error("no URL")]
    Url(#[from] ParseError),
    /// There is no capture.
    #[error(transparent)]
    Capture(#[from] CaptureFault),
    /// Too many look-ups are running.
    #[error("too many look-ups in web archives are running: try again later")]
    Busy,
    /// The capture cannot be stored.
    #[error("the capture cannot be stored: {0}")]
    NotStored(String),
    /// The spool failed.
    #[error(transparent)]
    Spool(#[from] Error),
}

impl From<CaptureError> for FormError {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::Spool(error) => Self::Spool(error),
            CaptureError::Busy => Self::Busy(error.to_string()),
            error => Self::Bad(error_chain(&error)),
        }
    }
}

/// Shows the page for the URL in the arguments. It sends nothing: only its button does.
pub(super) fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let typed = url_in(arguments);
    match parse(caller, &typed) {
        Ok(url) => shown(caller, &url, None),
        Err(_) => caller.ask_for_address(AddressPage::Captures, &typed),
    }
}

fn parse(caller: &Caller, text: &str) -> Result<CanonicalUrl, ParseError> {
    Ok(CanonicalUrl::parse(text, &caller.context.base.local)?.without_credentials())
}

type GateOutcome = (String, Result<Timestamp, CaptureFault>);

fn shown(caller: &Caller, url: &CanonicalUrl, results: Option<&[GateOutcome]>) -> Response<Body> {
    let config = caller.context.base.config();
    let mut fault = check_url(&caller.context.proxy, &config, url).err();
    if results.is_none() && fault.is_none() && !caller.mode().may_dial() {
        fault = Some(CaptureFault::Offline);
    }
    let page = CapturesPage {
        url: url.as_str(),
        gates: config.web_archives.time_gates.addresses(),
        fault: fault.as_ref(),
        results,
    };
    caller.page(page::page(&caller.shell, &page))
}

/// Looks the URL of a form up in all archives, and shows the result.
pub(super) async fn find(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, CaptureError> {
    let url = parse(caller, form.value("url").unwrap_or_default().trim())?;
    let found = find_all(caller, &url, None, None).await?;
    let results: Vec<GateOutcome> =
        found.into_iter().map(|(gate, found)| (gate, found.map(|offer| offer.captured))).collect();
    Ok(shown(caller, &url, Some(&results)))
}

/// Stores the capture that a form names, and shows it.
pub(super) async fn keep(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, CaptureError> {
    let url = parse(caller, form.value("url").unwrap_or_default().trim())?;
    let gate = form.value("gate").unwrap_or_default();
    let at = form.value("at").and_then(|at| at.parse().ok());
    let (stored, fields) = store(caller, &url, gate, at).await?;
    let version = (stored.stored, stored.capture.captured);
    Ok(caller.see_other(&view_path(&stored.url, version, &fields)))
}

/// Asks all TimeGates, or one of them. Each has its own result.
async fn find_all(
    caller: &Caller,
    url: &CanonicalUrl,
    only: Option<&str>,
    at: Option<Timestamp>,
) -> Result<Vec<(String, Result<CaptureOffer, CaptureFault>)>, CaptureError> {
    let config = caller.context.base.config();
    check_url(&caller.context.proxy, &config, url)?;
    let _turn = caller.context.limits.captures.try_acquire().map_err(|_| CaptureError::Busy)?;
    let gates = config.web_archives.time_gates.addresses().iter();
    let asks = gates.filter(|gate| only.is_none_or(|only| only == *gate)).map(|gate| async move {
        let found = look_up(&caller.context.proxy, &caller.owner, url, gate, at).await;
        (gate.clone(), found)
    });
    let found = join_all(asks).await;
    if found.is_empty() { Err(CaptureFault::UnknownGate.into()) } else { Ok(found) }
}

/// Fetches a capture and stores it for everyone, as a version of the page. Also returns its fields.
async fn store(
    caller: &Caller,
    url: &CanonicalUrl,
    gate: &str,
    at: Option<Timestamp>,
) -> Result<(StoredCapture, HeaderMap), CaptureError> {
    let context = &caller.context;
    let turn = context.limits.captures.try_acquire().map_err(|_| CaptureError::Busy)?;
    let capture = fetch(&context.proxy, &caller.owner, url, gate, at).await?;
    let (offer, bytes) = (capture.offer.clone(), capture.body.len());
    let fields = capture.fields.clone();
    let (archive, local) = (warc(url, &capture), context.base.local.clone());
    drop(capture);
    let options = ImportOptions {
        replace: false,
        dry_run: false,
        private: PersonalOwner::Everyone,
        max_body: MAX_BODY,
        scheme: "https".to_owned(),
        local,
        now: timestamp(clock::now()),
    };
    let kept = context.storage.store.run(move |spool| Ok(import_one(spool, &archive, &options)));
    kept.await??;
    drop(turn);
    let history = history::of(context, &caller.owner, url.as_str()).await;
    let (history, found) = history.map_err(|error| match error {
        InfoError::Url(error) => CaptureError::Url(error),
        InfoError::Spool(error) => CaptureError::Spool(error),
    })?;
    let version = history.versions.iter().find(|version| version.received == offer.captured);
    let version = version.ok_or_else(|| {
        not_stored("the same response, or another one of that time, is stored already")
    })?;
    if let Some(found) = found {
        // A purge would otherwise remove it by the age of the capture.
        let place = found.current.entry.place();
        context.storage.index.record_use(place, timestamp(clock::now()));
    }
    let stored = StoredCapture {
        url: url.as_str().to_owned(),
        capture: Capture { memento: offer.memento, captured: offer.captured },
        stored: version.stored,
        bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
    };
    Ok((stored, fields))
}

fn not_stored(why: &str) -> CaptureError {
    CaptureError::NotStored(why.to_owned())
}

/// The capture as a WARC with the records of one exchange. The request has the mark of a capture.
fn warc(url: &CanonicalUrl, capture: &FetchedCapture) -> Vec<u8> {
    let (target, host) = (url.path_and_arguments(), url.host_port());
    let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let request = with_field(request.as_bytes(), &CAPTURE, &capture.offer.memento);
    let mut block = write_response(capture.status, &capture.fields);
    block.extend_from_slice(&capture.body);
    let mut bytes = Vec::with_capacity(block.len() + request.len() + 1_000);
    for (kind, block) in [("request", &request), ("response", &block)] {
        let head = format!(
            "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: {}\r\n\
             Content-Type: application/http; msgtype={kind}\r\nContent-Length: {}\r\n\r\n",
            capture.offer.captured,
            block.len(),
        );
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend_from_slice(block);
        bytes.extend_from_slice(b"\r\n\r\n");
    }
    bytes
}

/// Imports the archive of one exchange.
fn import_one(spool: &Spool, archive: &[u8], options: &ImportOptions) -> Result<(), CaptureError> {
    let written = NamedTempFile::with_prefix_in("capture-", spool.root().join("tmp"))
        .and_then(|mut file| file.write_all(archive).map(|()| file));
    let file = written.map_err(|error| CaptureError::NotStored(error_chain(&error)))?;
    let mut go_on = |_: &_| ImportControl::Continue;
    let report = import(spool, file.path(), options, &Placer::default(), &mut go_on)
        .map_err(|error| CaptureError::NotStored(error_chain(&error)))?;
    if let Some(refused) = report.refusals.first() {
        return Err(not_stored(&refused.reason));
    }
    if report.outdated > 0 {
        return Err(not_stored(
            "a newer copy is stored, and [caching] keep-versions stores no older versions",
        ));
    }
    Ok(())
}
