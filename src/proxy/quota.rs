//! Quotas of users and clients: the check before a request to an origin, and the count and the rate
//! of the bytes that arrive.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use hyper::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use hyper::header::{HeaderValue, RETRY_AFTER};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::time::{Sleep, sleep};

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
use crate::net::upstream::{BoxError, Failure};
use crate::page;
use crate::page::message::Message;
use crate::proxy::context::ProxyContext;
use crate::storage::store::timestamp;
use http_body_util::BodyExt;

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

/// Counts the bytes that are fetched for an owner, and slows them down to the owner's rate.
#[derive(Debug)]
pub(super) struct UsageMeter {
    account: Arc<UsageAccount>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl UsageMeter {
    pub(super) fn new(account: Arc<UsageAccount>) -> Self {
        Self { account, pause: None }
    }

    /// Waits until the rate permits to read further bytes.
    pub(super) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        Poll::Ready(())
    }

    /// Counts bytes that have arrived.
    ///
    /// # Errors
    ///
    /// [`Failure::OverQuota`] if the quota is used up.
    pub(super) fn count(&mut self, bytes: usize) -> Result<(), Failure> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let rest = self.account.pace(bytes, Instant::now());
        self.pause = (!rest.is_zero()).then(|| Box::pin(sleep(rest)));
        if self.account.count_fetched(bytes) { Ok(()) } else { Err(Failure::OverQuota) }
    }
}

/// A body of an origin that is counted for its client.
struct MeteredBody {
    body: Body,
    meter: UsageMeter,
}

/// Counts `body` for `account`, if there is one.
pub(super) fn metered(body: Body, account: Option<Arc<UsageAccount>>) -> Body {
    match account {
        Some(account) => MeteredBody { body, meter: UsageMeter::new(account) }.boxed_unsync(),
        None => body,
    }
}

impl HttpBody for MeteredBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        ready!(self.meter.poll_ready(cx));
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let Some(Ok(piece)) = &frame else { return Poll::Ready(frame) };
        let length = piece.data_ref().map_or(0, Bytes::len);
        // The last bytes have already arrived.
        Poll::Ready(match self.meter.count(length) {
            Err(failure) if !self.body.is_end_stream() => Some(Err(failure.into())),
            _ => frame,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
