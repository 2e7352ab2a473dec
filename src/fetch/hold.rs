//! The reasons that hold queued requests back.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use wwwoffle_config::Config;
use wwwoffle_spool::{OutgoingSummary, Place, RequestState};

use super::budget::ExhaustedBudget;
use super::schedule::Rests;
use super::work::{may_start, quota_renewal};
use crate::base::clock;
use crate::fetch::context::FetchContext;
use crate::storage::store::timestamp;
use wwwoffle_api::Hold;

/// The state by which queued requests are judged. Create a new one for each check.
#[derive(Debug)]
pub struct HoldState<'a> {
    context: &'a FetchContext,
    config: Arc<Config>,
    zone: TimeZone,
    now: Timestamp,
    may_dial: bool,
    spent: Option<ExhaustedBudget>,
}

impl<'a> HoldState<'a> {
    /// Reads the current state.
    #[must_use]
    pub fn new(context: &'a FetchContext) -> Self {
        Self {
            context,
            config: context.base.config(),
            zone: TimeZone::system(),
            now: timestamp(clock::now()),
            may_dial: context.base.mode.now().may_dial(),
            spent: context.fetcher.spent_budget(),
        }
    }

    /// The reason that holds a request back. `None` if the request is running, will start soon, or
    /// was given up.
    #[must_use]
    pub fn held(&self, request: &OutgoingSummary) -> Option<Hold> {
        let key = request.place.key();
        if self.context.fetcher.is_active(&key) {
            return None;
        }
        let attempts = u64::from(request.fetching.attempts);
        let most = u64::try_from(self.config.fetch_options.attempts.get()).unwrap_or(u64::MAX);
        judge(
            &request.fetching.state,
            &HoldFacts {
                now: self.now,
                may_dial: self.may_dial,
                spent: self.spent,
                quota: quota_renewal(self.context, &self.config, request),
                window: may_start(self.context, &self.config, &self.zone, request, self.now).err(),
                rests: self.context.fetcher.host_rests(&key),
                not_before: request.fetching.not_before,
                is_last: attempts >= most,
            },
        )
    }
}

/// The facts about a request and the current state.
#[derive(Clone, Copy, Debug, Default)]
struct HoldFacts {
    now: Timestamp,
    may_dial: bool,
    spent: Option<ExhaustedBudget>,
    quota: Option<Timestamp>,
    window: Option<Timestamp>,
    rests: Rests,
    not_before: Option<Timestamp>,
    /// Whether all regular attempts have failed, so that only the last one (`last-try`) is left.
    is_last: bool,
}

/// The reason that lasts longest. Reasons without an end, such as the mode, count as the longest.
/// `None` if nothing holds the request back, or it was given up. Pure.
fn judge(state: &RequestState, facts: &HoldFacts) -> Option<Hold> {
    match state {
        RequestState::Failed { .. } => return None,
        RequestState::Asking { bytes } => return Some(Hold::Asks { bytes: *bytes }),
        RequestState::Waiting => {}
    }
    if !facts.may_dial {
        return Some(Hold::Mode);
    }
    if let Some(spent) = facts.spent.filter(|spent| spent.until.is_none()) {
        return Some(spent.held());
    }
    let again = facts.not_before.map(|until| {
        (until, if facts.is_last { Hold::LastTry { until } } else { Hold::Retry { until } })
    });
    // If two reasons end together, the one that comes first here is returned, because it is the
    // more specific one: for example, the `Retry-After` of the host rather than the distance
    // between requests.
    [
        facts.rests.closed.map(|until| (until, Hold::Origin { until })),
        again,
        facts.quota.map(|until| (until, Hold::Quota { until })),
        facts.window.map(|until| (until, Hold::Window { until })),
        facts.spent.and_then(|spent| Some((spent.until?, spent.held()))),
        facts.rests.polite.map(|until| (until, Hold::Distance { until })),
    ]
    .into_iter()
    .flatten()
    .filter(|(until, _)| *until > facts.now)
    .reduce(|longest, next| if next.0 > longest.0 { next } else { longest })
    .map(|(_, held)| held)
}

/// The reasons that hold back the waiting requests at these places, with their counts. `None` if
/// any of the requests is not held back, is held back only for a short time, or has left the queue.
#[must_use]
pub fn all_held<'a>(
    context: &FetchContext,
    places: impl Iterator<Item = &'a Place>,
) -> Option<Vec<(Hold, u64)>> {
    let (hold_state, mut causes) = (HoldState::new(context), BTreeMap::<Hold, u64>::new());
    let queue = context.storage.store.spool().queue();
    for place in places {
        // If the request has left the queue, nothing holds it back, and its event follows soon.
        let held = queue.summary(&place.key()).and_then(|request| hold_state.held(&request))?;
        if !held.lasts() {
            return None;
        }
        *causes.entry(held).or_default() += 1;
    }
    Some(causes.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wwwoffle_api::BudgetOf;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_longest_lasting_hold_is_reported() {
        let free = HoldFacts { now: at(100), may_dial: true, ..HoldFacts::default() };
        let day = ExhaustedBudget { metered: true, until: Some(at(900)) };
        let fetch = ExhaustedBudget { metered: false, until: None };
        let closed = |until| Rests { closed: Some(at(until)), polite: None };
        let polite = Rests { closed: None, polite: Some(at(105)) };
        let budget = |of, metered, until| Some(Hold::Budget { of, metered, until });
        for (facts, want) in [
            (free, None),
            (HoldFacts { may_dial: false, spent: Some(day), ..free }, Some(Hold::Mode)),
            (HoldFacts { window: Some(at(500)), ..free }, Some(Hold::Window { until: at(500) })),
            (
                HoldFacts { window: Some(at(500)), spent: Some(day), ..free },
                budget(BudgetOf::Day, true, Some(at(900))),
            ),
            (
                HoldFacts { window: Some(at(5_000)), spent: Some(fetch), ..free },
                budget(BudgetOf::Fetch, false, None),
            ),
            (
                HoldFacts { window: Some(at(5_000)), spent: Some(day), ..free },
                Some(Hold::Window { until: at(5_000) }),
            ),
            (HoldFacts { rests: polite, ..free }, Some(Hold::Distance { until: at(105) })),
            (
                HoldFacts { not_before: Some(at(110)), rests: closed(110), ..free },
                Some(Hold::Origin { until: at(110) }),
            ),
            (
                HoldFacts { not_before: Some(at(120)), rests: closed(110), ..free },
                Some(Hold::Retry { until: at(120) }),
            ),
            (
                HoldFacts { not_before: Some(at(120)), is_last: true, ..free },
                Some(Hold::LastTry { until: at(120) }),
            ),
            // A reason that has passed holds nothing back.
            (HoldFacts { not_before: Some(at(100)), rests: closed(99), ..free }, None),
        ] {
            assert_eq!(judge(&RequestState::Waiting, &facts), want, "{facts:?}");
            let asks = RequestState::Asking { bytes: Some(7) };
            assert_eq!(judge(&asks, &facts), Some(Hold::Asks { bytes: Some(7) }));
            let failed = RequestState::Failed { reason: String::new(), status: None };
            assert_eq!(judge(&failed, &facts), None);
        }
    }
}
