//! The page about purging, its button, and those that pin a page.

use crate::page::links;
use std::sync::Arc;
use std::time::Duration;

use hyper::Response;
use tokio::time::timeout;
use wwwoffle_spool::Error;

use super::caller::Caller;
use crate::api::Purging;
use crate::base::clock;
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;
use crate::site::context::SiteContext;
use crate::site::pages::purge as pages;
use crate::storage::purge::{self, NotPurged, What};
use crate::storage::store::timestamp;

/// Where it is.
pub(super) const PAGE: &str = "/purge/";

/// A plan that is older is made anew when somebody looks.
const PLAN_HOLDS: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// How long a page waits for a plan; a larger spool takes longer.
const WAITS: Duration = Duration::from_secs(5);

/// Shows what would go, and what went last. For what another site made the browser ask for no plan is made:
/// that is a walk over the whole spool.
pub(super) async fn show(caller: &Caller) -> Response<Body> {
    let context = &caller.context;
    let mut told = context.storage.purging.told();
    if !told.running && !has_plan(&told) && !caller.is_sent_by_another_site() {
        // Where another has begun meanwhile, its plan is waited for.
        let _begun_or_not = begin(context, What::Plan);
        let planned = async {
            while !has_plan(&context.storage.purging.told())
                && context.storage.purging.told().failure.is_none()
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        // Whether it has come or not, the page says.
        let _in_time = timeout(WAITS, planned).await;
        told = context.storage.purging.told();
    }
    let token = context.pages.tokens.general();
    caller.page(pages::page(&context.pages.templates, &caller.shell, &told, &token))
}

fn has_plan(told: &Purging) -> bool {
    let now = timestamp(clock::now());
    told.plan.as_ref().is_some_and(|plan| now.duration_since(plan.at) <= PLAN_HOLDS)
}

/// Begins it in a task of its own; what comes of it is remembered. It has its turn before this returns, so
/// that nothing else comes between; [`NotPurged::Busy`] where another has it.
fn begin(context: &Arc<SiteContext>, what: What) -> Result<(), NotPurged> {
    let (own, turn) = (Arc::clone(context), context.storage.purging.turn()?);
    context.base.tasks.spawn(async move {
        // Why not is remembered too.
        if let Err(NotPurged::Spool(error)) = purge::run_in(&own.storage, turn, what).await {
            tracing::error!(
                error = crate::base::error_chain::error_chain(&error),
                "nothing was purged"
            );
        }
    });
    Ok(())
}

/// Purges, as the button says, unless another purge or plan is under way.
pub(super) fn submit(caller: &Caller) -> Result<Response<Body>, NotPurged> {
    begin(&caller.context, What::Purge)?;
    Ok(caller.see_other(PAGE))
}

/// Pins the page of the field `url`, or unpins it.
pub(super) async fn pin(
    caller: &Caller,
    form: &SubmittedForm,
    pinned: bool,
) -> Result<Response<Body>, Pin> {
    let context = &caller.context;
    let url = purge::pinned_url(form.value("url").unwrap_or_default().trim(), &context.base.local);
    let url = url.map_err(Pin::Url)?;
    set_pinned(context, url.clone(), pinned).await.map_err(Pin::Spool)?;
    Ok(caller.see_other(&links::info(&url)))
}

/// Why a page is not pinned.
pub(super) enum Pin {
    Url(wwwoffle_url::ParseError),
    Spool(Error),
}

/// Pins a URL, or unpins it.
pub(super) async fn set_pinned(
    context: &SiteContext,
    url: String,
    pinned: bool,
) -> Result<bool, Error> {
    context.storage.store.run(move |spool| spool.set_pinned(&url, pinned)).await
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
    async fn a_purge_that_is_promised_has_its_turn() {
        let root = tempfile::tempdir().unwrap();
        let caller = Caller::over_socket(context(&root));
        let purging = &caller.context.storage.purging;
        let turn = purging.turn().unwrap();
        assert!(matches!(submit(&caller), Err(NotPurged::Busy)), "another is under way");
        drop(turn);
        assert_eq!(submit(&caller).unwrap().status(), 303);
        assert!(purging.told().running, "it has its turn before the answer is out");
        // Who looks now makes no plan in its place.
        assert_eq!(show(&caller).await.status(), 200);
        let purged = async {
            while purging.told().last.is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(60), purged).await.unwrap();
        assert!(!purging.told().running && submit(&caller).is_ok());
    }
}
