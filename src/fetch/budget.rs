//! How much may be fetched: each time that the queue is worked off, and in a day. Pure, but for the
//! meter that downloads share.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use wwwoffle_config::{FetchOptions, SizeLimit};

use crate::proxy::download::Meter;

/// The key in the state of the spool.
pub(super) const STATE: &str = "fetched-today";

/// What was fetched, and what that leaves.
#[derive(Debug, Default)]
pub(super) struct Budget {
    meter: Arc<Meter>,
    /// What is counted for a day, and which.
    day: Date,
    of_day: u64,
    /// What has come since the queue was last begun to be worked off.
    of_fetch: u64,
    /// What was said for this time alone.
    only_now: Option<u64>,
    is_changed: bool,
}

/// What the configuration allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Allowed {
    pub(super) fetch: Option<u64>,
    pub(super) day: Option<u64>,
}

impl Allowed {
    pub(super) fn of(options: &FetchOptions) -> Self {
        let bytes = |limit: SizeLimit| match limit {
            SizeLimit::At(size) => Some(size.bytes()),
            SizeLimit::None => None,
        };
        let metered = options.metered.then(|| bytes(options.budget_day_metered)).flatten();
        let day = bytes(options.budget_day);
        Self { fetch: bytes(options.budget_fetch), day: least([day, metered]) }
    }
}

/// Why nothing is fetched, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spent {
    /// Until the queue is worked off the next time.
    Fetch,
    /// Until the next day begins.
    Day(Timestamp),
}

impl Budget {
    /// What downloads count with.
    pub(super) fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.meter)
    }

    /// The queue is worked off from now on, perhaps with another budget than the configuration's.
    pub(super) fn begins(&mut self, only_now: Option<u64>) {
        self.count();
        (self.of_fetch, self.only_now) = (0, only_now);
    }

    /// Sets the meter to what is left; says if that is nothing.
    pub(super) fn settle(
        &mut self,
        allowed: Allowed,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Option<Spent> {
        self.count();
        let now = now.to_zoned(zone.clone());
        if self.day != now.date() {
            (self.day, self.of_day, self.is_changed) = (now.date(), 0, true);
        }
        let of_fetch = self.only_now.or(allowed.fetch);
        let fetch = of_fetch.map(|most| most.saturating_sub(self.of_fetch));
        let day = self.left_of_day(allowed);
        self.meter.allow(least([fetch, day]));
        if day == Some(0) {
            let tomorrow = now.tomorrow().and_then(|tomorrow| tomorrow.start_of_day());
            return Some(Spent::Day(tomorrow.map_or(Timestamp::MAX, |time| time.timestamp())));
        }
        (fetch == Some(0)).then_some(Spent::Fetch)
    }

    /// What is left of a day in which `allowed` may come; to be asked after [`settle`](Self::settle).
    pub(super) fn left_of_day(&self, allowed: Allowed) -> Option<u64> {
        allowed.day.map(|most| most.saturating_sub(self.of_day))
    }

    /// What is to be remembered for the next start, if that has changed since this was last asked.
    pub(super) fn changed(&mut self) -> Option<String> {
        self.count();
        std::mem::take(&mut self.is_changed).then(|| format!("{} {}", self.day, self.of_day))
    }

    /// Goes on with what was remembered; what cannot be read counts as nothing.
    pub(super) fn remember(&mut self, text: &str) {
        if let Some((day, bytes)) = text.split_once(' ')
            && let (Ok(day), Ok(bytes)) = (day.parse(), bytes.parse())
        {
            (self.day, self.of_day) = (day, bytes);
        }
    }

    fn count(&mut self) {
        let used = self.meter.take_used();
        self.of_day = self.of_day.saturating_add(used);
        self.of_fetch = self.of_fetch.saturating_add(used);
        self.is_changed |= used > 0;
    }
}

fn least(limits: [Option<u64>; 2]) -> Option<u64> {
    limits.into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::download::Allowance;

    fn come(budget: &Budget, bytes: u64) {
        let allowance = Allowance { ceiling: None, meter: Some(budget.meter()) };
        let _may_be_over = allowance.comes(bytes, bytes, None, false);
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_day_ends_at_midnight_where_the_user_is() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let allowed = Allowed { fetch: None, day: Some(100) };
        let mut budget = Budget::default();
        let evening = at("2026-03-28T22:30:00Z");
        assert_eq!(budget.settle(allowed, evening, &zone), None);
        come(&budget, 60);
        assert_eq!(budget.settle(allowed, evening, &zone), None);
        come(&budget, 60);
        let midnight = at("2026-03-28T23:00:00Z");
        assert_eq!(budget.settle(allowed, evening, &zone), Some(Spent::Day(midnight)));
        assert!(budget.meter().is_empty());
        let remembered = budget.changed().unwrap();
        assert_eq!((remembered.as_str(), budget.changed()), ("2026-03-28 120", None));
        let mut again = Budget::default();
        again.remember(&remembered);
        assert_eq!(again.settle(allowed, evening, &zone), Some(Spent::Day(midnight)));
        assert_eq!(again.settle(allowed, midnight, &zone), None);
        assert!(!again.meter().is_empty());
        for text in ["", "2026-03-28", "2026-03-28 x", "x 5"] {
            let mut budget = Budget::default();
            budget.remember(text);
            assert_eq!(budget.settle(allowed, evening, &zone), None, "{text:?}");
        }
    }

    #[test]
    fn each_time_has_its_own_budget_and_may_be_given_another() {
        let (zone, now) = (TimeZone::UTC, at("2026-03-28T12:00:00Z"));
        let allowed = Allowed { fetch: Some(100), day: Some(200) };
        let mut budget = Budget::default();
        come(&budget, 100);
        assert_eq!(budget.settle(allowed, now, &zone), Some(Spent::Fetch));
        budget.begins(None);
        assert_eq!(budget.settle(allowed, now, &zone), None);
        budget.begins(Some(10));
        come(&budget, 10);
        assert_eq!(budget.settle(allowed, now, &zone), Some(Spent::Fetch));
        budget.begins(Some(1_000));
        come(&budget, 200);
        assert!(matches!(budget.settle(allowed, now, &zone), Some(Spent::Day(_))));
        assert_eq!(budget.settle(Allowed::default(), now, &zone), None);
    }
}
