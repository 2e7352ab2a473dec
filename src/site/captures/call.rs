//! `POST /api/captures` and `POST /api/captures/store`.

use hyper::StatusCode;

use super::{CaptureError, find_all, parse, turn};
use crate::base::error_chain::error_chain;
use crate::fetch::capture::{self, StoreCaptureError, StoredVersion};
use crate::proxy::captures::{CaptureFault, CaptureOffer};
use crate::site::api::fault::CallFault;
use crate::site::caller::Caller;
use wwwoffle_api::{
    Capture, CaptureList, CaptureOutcome, CaptureRequest, GateResult, StoredCapture,
};

/// Looks a page up in web archives.
pub(in crate::site) async fn find(
    caller: &Caller,
    wanted: CaptureRequest,
) -> Result<CaptureList, CallFault> {
    let url = parse(caller, &wanted.url).map_err(|error| CallFault::url(&wanted.url, &error))?;
    let found = find_all(caller, &url, wanted.gate.as_deref(), wanted.at).await?;
    let result = |(gate, found): (String, Result<_, CaptureFault>)| match found {
        Ok(offer) => GateResult { gate, capture: Some(offered(offer)), error: None },
        Err(fault) => GateResult { gate, capture: None, error: Some(fault.to_string()) },
    };
    Ok(CaptureList { url: url.as_str().to_owned(), gates: found.into_iter().map(result).collect() })
}

fn offered(offer: CaptureOffer) -> Capture {
    Capture { memento: offer.memento, captured: offer.captured }
}

/// Stores the capture that is closest to the requested time, or the latest one, with its
/// sub-resources. While offline, it is queued.
pub(in crate::site) async fn keep(
    caller: &Caller,
    wanted: CaptureRequest,
) -> Result<CaptureOutcome, CallFault> {
    let url = parse(caller, &wanted.url).map_err(|error| CallFault::url(&wanted.url, &error))?;
    let fetch = &caller.context.fetch;
    if !caller.mode().may_dial() {
        let queued = capture::queue(fetch, &caller.requester(), &url, wanted.at).await;
        queued.map_err(CaptureError::from)?;
        return Ok(CaptureOutcome::Queued { queued: url.as_str().to_owned() });
    }
    let found = find_all(caller, &url, wanted.gate.as_deref(), wanted.at).await?;
    let best = capture::best(found, wanted.at).map_err(CaptureError::from)?;
    let _turn = turn(caller)?;
    let stored = capture::store(fetch, &caller.owner, &url, &best.gate, Some(best.captured)).await;
    let StoredVersion { capture: fetched, stored } = stored.map_err(CaptureError::from)?;
    let parts = capture::store_parts(fetch, &caller.owner, &url, &fetched).await;
    Ok(CaptureOutcome::Stored(StoredCapture {
        url: url.as_str().to_owned(),
        stored,
        bytes: u64::try_from(fetched.body.len()).unwrap_or(u64::MAX),
        parts: parts.stored,
        missing: parts.missing,
        capture: offered(fetched.offer),
    }))
}

impl From<CaptureError> for CallFault {
    fn from(error: CaptureError) -> Self {
        let status = match error {
            CaptureError::Url(_) => StatusCode::BAD_REQUEST,
            CaptureError::Busy => StatusCode::SERVICE_UNAVAILABLE,
            CaptureError::Store(StoreCaptureError::Spool(error)) => return Self::from(error),
            CaptureError::Store(StoreCaptureError::NotStored(_)) => StatusCode::CONFLICT,
            CaptureError::Store(StoreCaptureError::Capture(ref fault)) => match fault {
                CaptureFault::Missing | CaptureFault::OtherPage(_) => StatusCode::NOT_FOUND,
                CaptureFault::NoGates | CaptureFault::Offline => StatusCode::CONFLICT,
                CaptureFault::Private | CaptureFault::Ruled | CaptureFault::UnknownGate => {
                    StatusCode::BAD_REQUEST
                }
                CaptureFault::Late => StatusCode::GATEWAY_TIMEOUT,
                _ => StatusCode::BAD_GATEWAY,
            },
        };
        Self::new(status, error_chain(&error))
    }
}
