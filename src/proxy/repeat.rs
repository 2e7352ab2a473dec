//! Whether a response may be repeated for an identical request, and for how long.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hyper::header::RANGE;
use tracing::Level;
use wwwoffle_config::Config;

use super::ask::ProxyRequest;
use super::decide::Decision;
use super::plan::RequestPlan;
use super::verdict::exchange;
use crate::base::mode::Mode;
use crate::proxy::context::ProxyContext;
use crate::storage::store::{CachedLookup, StoredCopy};
use wwwoffle_http::caching::control::RequestControl;
use wwwoffle_http::caching::freshness::current_age;
use wwwoffle_http::caching::reuse::Reuse;

/// The state on which a response depends, in addition to its request. The response may be repeated
/// only while that state is the same.
#[derive(Clone, Debug)]
pub struct ReplayConditions {
    /// The configuration when the response was made.
    pub config: Arc<Config>,
    /// The mode when the response was made.
    pub mode: Mode,
    /// The time when connections to origins were last enabled.
    pub dials_since: SystemTime,
    /// The cached lookups that contained the stored copies.
    pub lookups: [Arc<CachedLookup>; 2],
    /// The time when the response was made.
    pub made: SystemTime,
    /// The time when the `Age` of the response changes.
    pub until: SystemTime,
}

impl ReplayConditions {
    /// Whether the state is still the same when a request arrives now.
    #[must_use]
    pub fn hold(&self, context: &ProxyContext, now: SystemTime) -> bool {
        self.made <= now
            && now < self.until
            && Arc::ptr_eq(&self.config, &context.base.config())
            && self.mode == context.base.mode.now()
            && self.dials_since == context.base.mode.online_since()
            && self.lookups.iter().all(|one| context.storage.store.is_current(one))
    }
}

/// The state on which the response to `ask` depends. `None` if the response depends on more than
/// this state.
pub(super) fn replay_conditions(
    context: &ProxyContext,
    ask: &ProxyRequest,
    plan: &RequestPlan,
) -> Option<ReplayConditions> {
    // A debug log and the access log must contain every request, and a repeated response is not
    // logged.
    let is_told = tracing::enabled!(Level::DEBUG) || context.traffic.access_log.is_some();
    if plan.decision != Decision::Serve || ask.copy.near.is_some() || is_told {
        return None;
    }
    let (copy, lookups) = (plan.copy.as_deref()?, plan.found.lookups()?);
    let is_anybody = !ask.is_personal() && ask.start.config.allowed_users.users.is_empty();
    // A range may be served from segments, which a cached lookup does not contain.
    let is_plain =
        !ask.head.fields.contains_key(RANGE) && ask.copy.control == RequestControl::default();
    if !is_anybody || !is_plain || !stays_servable(ask, copy) {
        return None;
    }
    let age = current_age(&copy.fields, exchange(copy), ask.start.now).at_least;
    Some(ReplayConditions {
        config: ask.start.config.clone(),
        mode: ask.start.mode,
        dials_since: context.base.mode.online_since(),
        lookups: lookups.clone(),
        made: ask.start.now,
        until: same_age_until(age, ask.start.now),
    })
}

/// Whether the stored copy may still be served one second later.
fn stays_servable(ask: &ProxyRequest, copy: &StoredCopy) -> bool {
    if copy.status.is_server_error() {
        return false;
    }
    match ask.start.mode {
        Mode::Offline | Mode::Autodial => true,
        Mode::Online => ask.copy.verdict.is_some_and(|verdict| {
            let is_by_the_book = verdict.by.is_none() && ask.copy.overruled.is_none();
            verdict.reuse == Reuse::Fresh && is_by_the_book && verdict.freshness.ttl() >= 1
        }),
    }
}

/// The time at which the `Age` of a response (now `age`) increases by a second.
fn same_age_until(age: Duration, now: SystemTime) -> SystemTime {
    let into = Duration::from_nanos(u64::from(age.subsec_nanos()));
    now + Duration::from_secs(1).saturating_sub(into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_valid_until_the_next_second() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_250);
        for (age, lasts) in [(0, 1_000), (10, 990), (999, 1), (1_000, 1_000), (61_400, 600)] {
            let until = same_age_until(Duration::from_millis(age), now);
            assert_eq!(until.duration_since(now).unwrap(), Duration::from_millis(lasts), "{age}");
        }
    }
}
