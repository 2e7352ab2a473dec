//! Quotas of users and clients: the check before a request to an origin.

use std::sync::Arc;

use hyper::Response;
use hyper::header::{HeaderValue, RETRY_AFTER};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::ask::ProxyRequest;
use super::body::Body;
use super::decide::{Decision, DecisionRefusal};
use super::plan::{RequestPlan, reads};
use super::reply;
use super::status::CacheStatus;
use crate::base::clock;
use crate::base::owner::Owner;
use crate::base::statistics::day;
use crate::base::statistics::usage::{QuotaUse, UsageAccount};
use crate::base::text::Text;
use crate::page;
use crate::page::message::Message;
use crate::proxy::context::ProxyContext;
use crate::storage::store::timestamp;

/// The option that the `Cache-Status` of a stored copy names if the quota is used up.
const BY: &str = "quotas";

/// Counts the request if `plan` asks the origin. If a quota is used up, the plan becomes to serve
/// the stored copy. Without a copy, returns the refusal.
pub(super) fn apply(
    context: &ProxyContext,
    ask: &mut ProxyRequest,
    plan: &mut RequestPlan,
) -> Option<Response<Body>> {
    use Decision::{Fetch, Pass, Revalidate, ServeAndRevalidate};
    if !matches!(plan.decision, Fetch | Pass | Revalidate | ServeAndRevalidate) {
        return None;
    }
    let reached = begin_request(context, &ask.owner).err()?;
    let is_readable = plan.copy.as_ref().is_some_and(|copy| reads(ask, copy));
    if is_readable && plan.decision != Pass {
        (plan.decision, ask.copy.overruled) = (Decision::Serve, Some(BY));
        return None;
    }
    let status = CacheStatus::Refused(DecisionRefusal::OverQuota);
    let response = reply::respond(context, ask, status, &Message::QuotaReached);
    Some(with_renewal(response, &reached))
}

/// Counts a request of `owner` to an origin.
///
/// # Errors
///
/// The quota that is used up. The request must not be sent.
pub(crate) fn begin_request(context: &ProxyContext, owner: &Owner) -> Result<(), QuotaUse> {
    let usage = context.storage.statistics.usage.with_limits(&context.base.config(), owner);
    usage.map_or(Ok(()), |usage| usage.begin_request())
}

/// The account of `owner`, if usage is counted.
pub(crate) fn account(context: &ProxyContext, owner: &Owner) -> Option<Arc<UsageAccount>> {
    context.storage.statistics.usage.of(&context.base.config(), owner)
}

/// The notice for `owner` about a quota of which little or nothing is left.
#[must_use]
pub(crate) fn notice(context: &ProxyContext, owner: &Owner) -> Option<Text> {
    let config = context.base.config();
    if config.usage.quotas.is_empty() {
        return None;
    }
    let usage = context.storage.statistics.usage.with_limits(&config, owner)?;
    page::quota::notice(&usage.uses())
}

/// The time at which a quota is renewed.
#[must_use]
pub(crate) fn renewal(reached: &QuotaUse) -> Timestamp {
    let now = clock::now();
    let midnight = reached.renewed(day(now)).to_zoned(TimeZone::system());
    midnight.map_or_else(|_| timestamp(now), |midnight| midnight.timestamp())
}

/// Adds `Retry-After` (RFC 9110 §10.2.3).
pub(super) fn with_renewal(mut response: Response<Body>, reached: &QuotaUse) -> Response<Body> {
    let seconds = renewal(reached).duration_since(timestamp(clock::now())).as_secs().max(1);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}
