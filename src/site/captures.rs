//! Captures of missing pages in web archives: the page that looks them up, and the form that stores
//! one.

pub(super) mod call;
pub mod page;

use std::sync::Arc;

use hyper::Response;
use jiff::Timestamp;
use tokio::sync::OwnedSemaphorePermit;
use wwwoffle_url::{CanonicalUrl, ParseError};

use self::page::CapturesPage;
use super::caller::Caller;
use super::forms::FormError;
use crate::base::error_chain::error_chain;
use crate::fetch::capture::{self, GateOutcomes, StoreCaptureError, StoredVersion};
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;
use crate::proxy::captures::{CaptureFault, check_url, view_path};
use crate::site::address::{AddressPage, url_in};

/// Maximum number of look-ups and fetches at the same time.
pub(super) const AT_ONCE: usize = 4;

/// The reason why no capture was stored.
#[derive(Debug, thiserror::Error)]
pub(super) enum CaptureError {
    /// The URL is invalid.
    #[error("no URL")]
    Url(#[from] ParseError),
    /// Too many look-ups are running.
    #[error("too many look-ups in web archives are running: try again later")]
    Busy,
    /// There is no capture, or it cannot be stored.
    #[error(transparent)]
    Store(#[from] StoreCaptureError),
}

impl From<CaptureFault> for CaptureError {
    fn from(fault: CaptureFault) -> Self {
        Self::Store(fault.into())
    }
}

impl From<CaptureError> for FormError {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::Store(StoreCaptureError::Spool(error)) => Self::Spool(error),
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

/// Stores the capture that a form names, and shows it. Its sub-resources follow. While offline, the
/// capture is queued.
pub(super) async fn keep(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, CaptureError> {
    let url = parse(caller, form.value("url").unwrap_or_default().trim())?;
    let at = form.value("at").and_then(|at| at.parse().ok());
    let fetch = &caller.context.fetch;
    if !caller.mode().may_dial() {
        capture::queue(fetch, &caller.requester(), &url, at).await?;
        return Ok(caller.see_other("/queue/"));
    }
    let gate = form.value("gate").unwrap_or_default();
    let turn = turn(caller)?;
    let StoredVersion { capture, stored } =
        capture::store(fetch, &caller.owner, &url, gate, at).await?;
    let path = view_path(url.as_str(), (stored, capture.offer.captured), &capture.fields);
    drop(turn);
    // While others are fetched, pressing the button again fetches them.
    if let Ok(turn) = Arc::clone(&caller.context.limits.capture_parts).try_acquire_owned() {
        let (context, owner) = (Arc::clone(fetch), caller.owner.clone());
        caller.context.base.tasks.spawn(async move {
            capture::store_parts(&context, &owner, &url, &capture).await;
            drop(turn);
        });
    }
    Ok(caller.see_other(&path))
}

fn turn(caller: &Caller) -> Result<OwnedSemaphorePermit, CaptureError> {
    let captures = Arc::clone(&caller.context.limits.captures);
    captures.try_acquire_owned().map_err(|_| CaptureError::Busy)
}

/// Asks all TimeGates, or one of them. Each has its own result.
async fn find_all(
    caller: &Caller,
    url: &CanonicalUrl,
    only: Option<&str>,
    at: Option<Timestamp>,
) -> Result<GateOutcomes, CaptureError> {
    let _turn = turn(caller)?;
    Ok(capture::look_up_all(&caller.context.fetch, &caller.owner, url, only, at).await?)
}
