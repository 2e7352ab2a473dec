//! The page about purging, its button, and those that pin a page.

use std::sync::Arc;
use std::time::Duration;

use hyper::Response;
use tokio::time::timeout;
use wwwoffle_spool::Error;

use super::caller::Caller;
use crate::api::Purging;
use crate::clock;
use crate::daemon::Daemon;
use crate::pages::form::Form;
use crate::pages::{info, purge as pages};
use crate::proxy::body::Body;
use crate::purge::{self, NotPurged, What};
use crate::store::timestamp;

/// Where it is.
pub(super) const PAGE: &str = "/purge/";

/// A plan that is older is made anew when somebody looks.
const PLAN_HOLDS: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// How long a page waits for a plan; a larger spool takes longer.
const WAITS: Duration = Duration::from_secs(5);

/// Shows what would go, and what went last. For what another site made the browser ask for no plan is made:
/// that is a walk over the whole spool.
pub(super) async fn show(caller: &Caller) -> Response<Body> {
    let daemon = &caller.daemon;
    let mut told = daemon.purging.told();
    if !told.running && !has_plan(&told) && !caller.is_sent_by_another_site() {
        begin(daemon, What::Plan);
        let planned = async {
            while !has_plan(&daemon.purging.told()) && daemon.purging.told().failure.is_none() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        // Whether it has come or not, the page says.
        let _in_time = timeout(WAITS, planned).await;
        told = daemon.purging.told();
    }
    let token = daemon.tokens.general();
    caller.page(pages::page(&daemon.templates, &caller.shell, &told, &token))
}

fn has_plan(told: &Purging) -> bool {
    let now = timestamp(clock::now());
    told.plan.as_ref().is_some_and(|plan| now.duration_since(plan.at) <= PLAN_HOLDS)
}

/// Begins it in a task of its own; what comes of it is remembered.
fn begin(daemon: &Arc<Daemon>, what: What) {
    let own = Arc::clone(daemon);
    daemon.tasks.spawn(async move {
        // Why not is remembered too, but for another that is under way.
        if let Err(NotPurged::Spool(error)) = purge::run(&own, what).await {
            tracing::error!(error = crate::error_chain::error_chain(&error), "nothing was purged");
        }
    });
}

/// Purges, as the button says.
pub(super) fn submit(caller: &Caller) -> Response<Body> {
    begin(&caller.daemon, What::Purge);
    caller.see_other(PAGE)
}

/// Pins the page of the field `url`, or unpins it.
pub(super) async fn pin(caller: &Caller, form: &Form, pinned: bool) -> Result<Response<Body>, Pin> {
    let daemon = &caller.daemon;
    let url = purge::pinned_url(form.value("url").unwrap_or_default().trim(), &daemon.local);
    let url = url.map_err(Pin::Url)?;
    set_pinned(daemon, url.clone(), pinned).await.map_err(Pin::Spool)?;
    Ok(caller.see_other(&info::path_of(&url)))
}

/// Why a page is not pinned.
pub(super) enum Pin {
    Url(wwwoffle_url::ParseError),
    Spool(Error),
}

/// Pins a URL, or unpins it.
pub(super) async fn set_pinned(daemon: &Daemon, url: String, pinned: bool) -> Result<bool, Error> {
    daemon.store.run(move |spool| spool.set_pinned(&url, pinned)).await
}
