//! `/api/purge` and `/api/pins`.

use std::sync::Arc;

use hyper::StatusCode;

use super::super::caller::Caller;
use super::super::purge::set_pinned;
use crate::base::error_chain::error_chain;
use crate::proxy::body::Body;
use crate::site::api::fault::CallFault;
use crate::site::api::{check_url_count, one_line};
use crate::storage::purge::{self, NotPurged, PurgeTask};
use wwwoffle_api::{PinRequest, Pins, PurgeEvent, PurgeRequest};

impl From<NotPurged> for CallFault {
    fn from(error: NotPurged) -> Self {
        match error {
            NotPurged::Spool(error) => CallFault::from(error),
            error => CallFault::new(StatusCode::CONFLICT, error.to_string()),
        }
    }
}

/// Starts a purge, or only plans it. The response is one line, sent when the task ends. The task
/// may take long.
pub(in crate::site) fn start(caller: &Caller, wanted: PurgeRequest) -> Result<Body, CallFault> {
    if caller.context.storage.purging.status().running {
        return Err(NotPurged::Busy.into());
    }
    let what = if wanted.dry_run { PurgeTask::Plan } else { PurgeTask::Purge };
    let context = Arc::clone(&caller.context);
    Ok(one_line(async move {
        match purge::run(&context.storage, what).await {
            Ok(report) => PurgeEvent::Done(Box::new(report)),
            Err(error) => PurgeEvent::Failed(error_chain(&error)),
        }
    }))
}

/// Returns the pins of all owners, to callers that may see the entries of all owners.
pub(in crate::site) async fn pins(caller: &Caller) -> Result<Pins, CallFault> {
    if !caller.is_administrator() {
        let error =
            "pinned pages are only shown to the command line, and with the control password";
        return Err(CallFault::new(StatusCode::FORBIDDEN, error));
    }
    let pins = caller.context.storage.store.run(wwwoffle_spool::Spool::pins).await?;
    Ok(Pins { pins: pins.into_iter().collect() })
}

/// Pins or unpins URLs. All URLs are validated first, so that one mistake does not leave the call
/// half done.
pub(in crate::site) async fn pin(caller: &Caller, wanted: PinRequest) -> Result<Pins, CallFault> {
    check_url_count(&wanted.urls)?;
    let local = &caller.context.base.local;
    let mut urls = Vec::new();
    for text in &wanted.urls {
        urls.push(purge::pinned_url(text, local).map_err(|error| CallFault::url(text, &error))?);
    }
    set_pinned(&caller.context, urls.clone(), wanted.pinned).await?;
    if caller.is_administrator() {
        return pins(caller).await;
    }
    // The caller must not learn the pins of others.
    Ok(Pins { pins: if wanted.pinned { urls } else { Vec::new() } })
}
