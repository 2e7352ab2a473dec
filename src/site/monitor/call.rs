//! `/api/monitor`: the monitored pages.

use hyper::StatusCode;
use wwwoffle_spool::{ParseScheduleError, Schedule};

use super::super::caller::Caller;
use super::super::monitor::{item, list};
use crate::base::error_chain::error_chain;
use crate::fetch::WantError;
use crate::fetch::monitor::{self, MonitorSettings, report};
use crate::site::api::fault::CallFault;
use crate::site::api::{check_url_count, check_urls};
use crate::site::history::changes::{self, DiffError};
use crate::storage::versions::NotCompared;
use wwwoffle_api::scope::Scope;
use wwwoffle_api::{DeletedUrls, MonitorList, MonitorRequest, MonitorsToDelete, VersionDiff};

/// Returns the monitored pages.
pub(in crate::site) fn all(caller: &Caller) -> MonitorList {
    MonitorList { monitor: list(caller) }
}

/// Monitors pages. All URLs are validated first, so that one mistake does not leave the call half
/// done.
pub(in crate::site) async fn set(
    caller: &Caller,
    wanted: MonitorRequest,
) -> Result<MonitorList, CallFault> {
    let bad =
        |error: ParseScheduleError| CallFault::bad(format!("the schedule cannot be used: {error}"));
    let schedule: Schedule = wanted.schedule.parse().map_err(bad)?;
    let scope = match &wanted.within {
        Some(text) => Scope::parse(text).map_err(|error| CallFault::bad(error.to_string()))?,
        None => Scope::default(),
    };
    let report =
        report::check(&wanted.report).map_err(|error| CallFault::bad(error.to_string()))?;
    check_urls(caller, &wanted.urls)?;
    let mut set = Vec::new();
    for url in wanted.urls {
        let settings = MonitorSettings::new(url.clone(), schedule, wanted.versions)
            .following(wanted.depth, scope.clone())
            .with_parts(wanted.parts.clone())
            .reporting(report.clone());
        let (summary, _) = monitor::set(&caller.context.fetch, &caller.requester(), settings)
            .await
            .map_err(|error| match error {
                WantError::Spool(error) => CallFault::from(error),
                error => CallFault::url(&url, &error),
            })?;
        set.push(item(caller, &summary));
    }
    Ok(MonitorList { monitor: set })
}

/// Stops monitoring pages.
pub(in crate::site) async fn delete(
    caller: &Caller,
    wanted: MonitorsToDelete,
) -> Result<DeletedUrls, CallFault> {
    check_url_count(&wanted.urls)?;
    let mut gone = DeletedUrls::default();
    if wanted.all {
        for one in monitor::list(&caller.context.fetch, |place| caller.may_see_queued(place)) {
            if monitor::remove(&caller.context.fetch, one.place.key()).await? {
                gone.deleted.push(one.place.url().to_owned());
            }
        }
    }
    for url in wanted.urls {
        let key = caller.key_of(&url).map_err(|error| CallFault::url(&url, &error))?;
        let removed = monitor::remove(&caller.context.fetch, key).await?;
        if removed { &mut gone.deleted } else { &mut gone.missing }.push(url);
    }
    Ok(gone)
}

/// Returns the difference between two versions of a page.
pub(in crate::site) async fn diff(
    caller: &Caller,
    arguments: Option<&str>,
) -> Result<VersionDiff, CallFault> {
    changes::difference(caller, arguments).await.map_err(|error| match error {
        DiffError::Versions(NotCompared::Spool(error)) => CallFault::from(error),
        DiffError::Versions(NotCompared::NotKept | NotCompared::NoVersion) => {
            CallFault::new(StatusCode::NOT_FOUND, error.to_string())
        }
        error => CallFault::bad(error_chain(&error)),
    })
}
