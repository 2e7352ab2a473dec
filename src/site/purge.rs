//! The page about purging, its button, and the buttons that pin a page.

pub(super) mod call;
pub mod page;

use crate::page::links;
use std::sync::Arc;
use std::time::Duration;

use hyper::Response;
use tokio::time::timeout;
use wwwoffle_spool::Error;

use super::caller::Caller;
use super::forms::FormError;
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;
use crate::site::context::SiteContext;
use crate::storage::purge::{self, NotPurged, PurgeTask};
use crate::storage::store::timestamp;
use wwwoffle_api::PurgeStatus;

/// Path of the page.
pub(super) const PAGE: &str = "/purge/";

/// Maximum age of a plan; an older one is replaced when the page is opened.
const PLAN_HOLDS: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// Maximum time that a page waits for a plan; a large spool takes longer.
const WAITS: Duration = Duration::from_secs(1);

/// Shows the plan, and the report of the last purge. If another site caused the request, no plan is
/// made, because this may walk the whole spool.
pub(super) async fn show(caller: &Caller) -> Response<Body> {
    let context = &caller.context;
    let mut purging = context.storage.purging.status();
    if !purging.running && !has_plan(&purging) && !caller.is_sent_by_another_site() {
        // If another plan is already running, waits for that one.
        let _begun_or_not = begin(context, PurgeTask::Plan);
        let planned = async {
            while !has_plan(&context.storage.purging.status())
                && context.storage.purging.status().failure.is_none()
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        // The page says whether the plan is ready.
        let _in_time = timeout(WAITS, planned).await;
        purging = context.storage.purging.status();
    }
    caller.page(page::page(&caller.shell, &purging))
}

fn has_plan(purging: &PurgeStatus) -> bool {
    let now = timestamp(clock::now());
    purging.plan.as_ref().is_some_and(|plan| now.duration_since(plan.at) <= PLAN_HOLDS)
}

/// Starts a purge or a plan in the background; the result is stored. The right to run is taken
/// before this function returns, so that no other task can start in between. Returns
/// [`NotPurged::Busy`] if another task is running.
fn begin(context: &Arc<SiteContext>, what: PurgeTask) -> Result<(), NotPurged> {
    let (own, turn) = (Arc::clone(context), context.storage.purging.take_turn()?);
    context.base.tasks.spawn(async move {
        // The stored result includes the failure.
        if let Err(NotPurged::Spool(error)) = purge::run_in(&own.storage, turn, what).await {
            tracing::error!(error = error_chain(&error), "nothing was purged");
        }
    });
    Ok(())
}

/// Starts a purge, unless another purge or plan is running.
pub(super) fn submit(caller: &Caller) -> Result<Response<Body>, NotPurged> {
    begin(&caller.context, PurgeTask::Purge)?;
    Ok(caller.see_other(PAGE))
}

/// Pins or unpins the page in the field `url`.
pub(super) async fn pin(
    caller: &Caller,
    form: &SubmittedForm,
    pinned: bool,
) -> Result<Response<Body>, FormError> {
    let context = &caller.context;
    let url = purge::pinned_url(form.value("url").unwrap_or_default().trim(), &context.base.local);
    let url = url.map_err(|error| FormError::Bad(error_chain(&error)))?;
    set_pinned(context, vec![url.clone()], pinned).await?;
    Ok(caller.see_other(&links::info(&url)))
}

/// Pins or unpins URLs.
pub(super) async fn set_pinned(
    context: &SiteContext,
    urls: Vec<String>,
    pinned: bool,
) -> Result<bool, Error> {
    context.storage.store.run(move |spool| spool.set_pinned(&urls, pinned)).await
}

#[cfg(test)]
mod tests {
    use wwwoffle_config::Config;

    use super::*;
    use crate::base::mode::Mode;
    use crate::daemon::testing::TestDaemon;

    fn context(root: &tempfile::TempDir) -> Arc<SiteContext> {
        TestDaemon::new(root, Config::default(), Mode::Offline).site()
    }

    #[tokio::test]
    async fn a_promised_purge_runs() {
        let root = tempfile::tempdir().unwrap();
        let caller = Caller::over_socket(context(&root));
        let purging = &caller.context.storage.purging;
        let turn = purging.take_turn().unwrap();
        assert!(matches!(submit(&caller), Err(NotPurged::Busy)), "another is under way");
        drop(turn);
        assert_eq!(submit(&caller).unwrap().status(), 303);
        assert!(purging.status().running, "it has its turn before the answer is out");
        // A request during the purge starts no plan.
        assert_eq!(show(&caller).await.status(), 200);
        let purged = async {
            while purging.status().last.is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(60), purged).await.unwrap();
        assert!(!purging.status().running && submit(&caller).is_ok());
    }
}
