//! Plans of fetches: `/api/runs/plan` and `/api/queue/plan`.

use crate::site::api::check_urls;
use hyper::StatusCode;

use crate::base::error_chain::error_chain;
use crate::fetch::plan::{NotPlanned, plan_queue, plan_runs};
use crate::site::api::fault::CallFault;
use crate::site::caller::Caller;
use wwwoffle_api::fetch_spec::RecursiveRequest;
use wwwoffle_api::plan::{QueuePlan, RunPlanRequest, RunPlans};

impl From<NotPlanned> for CallFault {
    fn from(error: NotPlanned) -> Self {
        let status = match error {
            NotPlanned::Busy => StatusCode::SERVICE_UNAVAILABLE,
            NotPlanned::NotBegun(_) => StatusCode::CONFLICT,
        };
        Self::new(status, error_chain(&error))
    }
}

/// Plans recursive fetches.
pub(in crate::site) async fn runs(
    caller: &Caller,
    wanted: RunPlanRequest,
) -> Result<RunPlans, CallFault> {
    check_urls(caller, &wanted.urls)?;
    let asked = |url| RecursiveRequest { url, spec: wanted.spec.clone() };
    let asked: Vec<_> = wanted.urls.into_iter().map(asked).collect();
    Ok(RunPlans { plans: plan_runs(&caller.context.fetch, &caller.requester(), &asked).await? })
}

/// Plans a fetch of those queued requests that the caller may see.
pub(in crate::site) async fn queue(caller: &Caller) -> Result<QueuePlan, CallFault> {
    Ok(plan_queue(&caller.context.fetch, |place| caller.may_see_queued(place)).await?)
}
