//! `POST /api/captures` and `POST /api/captures/store`.

use hyper::StatusCode;

use super::{CaptureError, find_all, parse, store};
use crate::base::error_chain::error_chain;
use crate::proxy::captures::CaptureFault;
use crate::site::api::fault::CallFault;
use crate::site::caller::Caller;
use wwwoffle_api::{Capture, CaptureList, CaptureRequest, GateResult, StoredCapture};

/// Looks a page up in web archives.
pub(in crate::site) async fn find(
    caller: &Caller,
    wanted: CaptureRequest,
) -> Result<CaptureList, CallFault> {
    let url = parse(caller, &wanted.url).map_err(|error| CallFault::url(&wanted.url, &error))?;
    let found = find_all(caller, &url, wanted.gate.as_deref(), wanted.at).await?;
    let result = |(gate, found): (String, Result<_, CaptureFault>)| match found {
        Ok(offer) => GateResult { gate, capture: Some(capture(offer)), error: None },
        Err(fault) => GateResult { gate, capture: None, error: Some(fault.to_string()) },
    };
    Ok(CaptureList { url: url.as_str().to_owned(), gates: found.into_iter().map(result).collect() })
}

fn capture(offer: crate::proxy::captures::CaptureOffer) -> Capture {
    Capture { memento: offer.memento, captured: offer.captured }
}

/// Stores the capture that is closest to the requested time, or the latest one.
pub(in crate::site) async fn keep(
    caller: &Caller,
    wanted: CaptureRequest,
) -> Result<StoredCapture, CallFault> {
    let url = parse(caller, &wanted.url).map_err(|error| CallFault::url(&wanted.url, &error))?;
    let found = find_all(caller, &url, wanted.gate.as_deref(), wanted.at).await?;
    let distance = |at: jiff::Timestamp| match wanted.at {
        Some(wanted) => at.duration_since(wanted).abs(),
        None => jiff::Timestamp::MAX.duration_since(at),
    };
    let mut faults = Vec::new();
    let mut offers = Vec::new();
    for (_, found) in found {
        match found {
            Ok(offer) => offers.push(offer),
            Err(fault) => faults.push(fault),
        }
    }
    let best = offers.into_iter().min_by_key(|offer| distance(offer.captured));
    let Some(best) = best else {
        return Err(CaptureError::from(faults.pop().unwrap_or(CaptureFault::Missing)).into());
    };
    Ok(store(caller, &url, &best.gate, Some(best.captured)).await?.0)
}

impl From<CaptureError> for CallFault {
    fn from(error: CaptureError) -> Self {
        let status = match error {
            CaptureError::Spool(error) => return Self::from(error),
            CaptureError::Url(_) => StatusCode::BAD_REQUEST,
            CaptureError::Busy => StatusCode::SERVICE_UNAVAILABLE,
            CaptureError::NotStored(_) => StatusCode::CONFLICT,
            CaptureError::Capture(ref fault) => match fault {
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
