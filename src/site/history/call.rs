//! `/api/history`: the stored versions of a page.

use hyper::StatusCode;

use super::super::caller::Caller;
use super::super::history::{self, VersionActionError};
use super::super::info::InfoError;
use crate::base::error_chain::error_chain;
use crate::site::api::fault::CallFault;
use crate::site::entries::{owner, requested_url};
use wwwoffle_api::{History, VersionRequest};

/// Returns the list of versions.
pub(in crate::site) async fn list(
    caller: &Caller,
    arguments: Option<&str>,
) -> Result<History, CallFault> {
    let (url, owner) = requested_url(caller, arguments)?;
    current_history(caller, &owner, &url).await
}

/// Makes a version the current one. Returns the new list.
pub(in crate::site) async fn restore(
    caller: &Caller,
    wanted: VersionRequest,
) -> Result<History, CallFault> {
    let owner = owner(caller, wanted.owner.as_deref())?;
    let done = history::restore(&caller.context, &owner, &wanted.url, wanted.stored).await;
    done.map_err(|error| not_done(&wanted.url, error))?;
    current_history(caller, &owner, &wanted.url).await
}

/// Deletes a version. Returns the new list.
pub(in crate::site) async fn delete(
    caller: &Caller,
    wanted: VersionRequest,
) -> Result<History, CallFault> {
    let owner = owner(caller, wanted.owner.as_deref())?;
    let done = history::remove(&caller.context, &owner, &wanted.url, wanted.stored).await;
    done.map_err(|error| not_done(&wanted.url, error))?;
    current_history(caller, &owner, &wanted.url).await
}

async fn current_history(
    caller: &Caller,
    owner: &crate::base::owner::Owner,
    url: &str,
) -> Result<History, CallFault> {
    let listed = history::of(&caller.context, owner, url).await;
    listed.map(|(history, _)| history).map_err(|error| fault(url, error))
}

fn not_done(url: &str, error: VersionActionError) -> CallFault {
    match error {
        VersionActionError::Url(error) => fault(url, error),
        VersionActionError::Missing => CallFault::new(StatusCode::NOT_FOUND, error.to_string()),
        VersionActionError::Overtaken => CallFault::new(StatusCode::CONFLICT, error.to_string()),
        VersionActionError::Time => CallFault::bad(error_chain(&error)),
    }
}

/// Returns the fault of a call whose URL `url` is invalid, or for which the spool failed.
pub(in crate::site) fn fault(url: &str, error: InfoError) -> CallFault {
    match error {
        InfoError::Url(error) => CallFault::url(url, &error),
        InfoError::Spool(error) => CallFault::from(error),
    }
}
