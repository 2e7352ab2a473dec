//! Budgets for each fetch of the queue and for each day, over all connections and over metered
//! connections. Pure except for the meter, which downloads share.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use wwwoffle_config::{FetchOptions, SizeLimit};

use crate::net::link::LinkClass;
use crate::proxy::download::Meter;
use wwwoffle_api::{BudgetOf, Hold};

/// The key of the saved counts in the state of the spool.
pub(super) const STATE: &str = "fetched-today";

/// The bytes fetched and the remaining budgets.
///
/// Bytes over a metered connection count twice: for all connections and for metered connections.
/// Bytes over any other connection do not use up the metered budgets.
#[derive(Debug, Default)]
pub(super) struct Budget {
    meter: Arc<Meter>,
    /// The day for which bytes are counted, in the local time zone.
    day: Date,
    all: BytesUsed,
    over_metered: BytesUsed,
    /// Whether the current connection is metered.
    is_metered: bool,
    /// The budget in bytes chosen for this fetch only, if any. It replaces the configured budgets
    /// for a fetch.
    only_now: Option<u64>,
    /// The budget that was used up at the last [`apply_limits`](Self::apply_limits), if any.
    spent: Option<ExhaustedBudget>,
    is_changed: bool,
}

/// Received bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct BytesUsed {
    /// Since the last start of fetching the queue.
    fetch: u64,
    /// On this day.
    day: u64,
}

impl BytesUsed {
    fn add(&mut self, bytes: u64) {
        self.fetch = self.fetch.saturating_add(bytes);
        self.day = self.day.saturating_add(bytes);
    }
}

/// The configured budgets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Allowed {
    /// Over all connections.
    pub(super) all: BudgetLimits,
    /// Over metered connections. `None` if the current connection is not metered.
    pub(super) over_metered: Option<BudgetLimits>,
}

/// Budgets in bytes, for a fetch and for a day; `None` if unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BudgetLimits {
    pub(super) fetch: Option<u64>,
    pub(super) day: Option<u64>,
}

impl Allowed {
    /// The budgets in `options` for a connection of this class.
    pub(super) fn of(options: &FetchOptions, class: LinkClass) -> Self {
        let bytes = |limit: SizeLimit| match limit {
            SizeLimit::At(size) => Some(size.bytes()),
            SizeLimit::None => None,
        };
        let most = |fetch, day| BudgetLimits { fetch: bytes(fetch), day: bytes(day) };
        let is_metered = options.metered || class == LinkClass::Metered;
        let metered = most(options.budget_fetch_metered, options.budget_day_metered);
        Self {
            all: most(options.budget_fetch, options.budget_day),
            over_metered: is_metered.then_some(metered),
        }
    }
}

/// The budget that is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExhaustedBudget {
    /// Whether it is a budget for metered connections.
    pub(super) metered: bool,
    /// The start of the next day; `None` if the budget is renewed only at the next fetch of the
    /// queue.
    pub(super) until: Option<Timestamp>,
}

impl ExhaustedBudget {
    /// The used-up budget as a reason that holds requests back.
    pub(super) fn held(self) -> Hold {
        let of = if self.until.is_some() { BudgetOf::Day } else { BudgetOf::Fetch };
        Hold::Budget { of, metered: self.metered, until: self.until }
    }
}

impl Budget {
    /// The meter for downloads.
    pub(super) fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.meter)
    }

    /// Starts a fetch of the queue. `only_now` is a budget for this fetch only.
    pub(super) fn start_fetch(&mut self, only_now: Option<u64>) {
        self.count();
        (self.all.fetch, self.over_metered.fetch, self.only_now) = (0, 0, only_now);
        self.spent = None;
    }

    /// Sets the meter to the smallest remaining budget. At the beginning of a day, the counts of
    /// the day start again at zero. Returns the exhausted budget, if any. If several are exhausted,
    /// returns the one that is renewed last.
    pub(super) fn apply_limits(
        &mut self,
        allowed: Allowed,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Option<ExhaustedBudget> {
        // The bytes received so far came over the former connection.
        self.count();
        self.is_metered = allowed.over_metered.is_some();
        let now = now.to_zoned(zone.clone());
        if self.day != now.date() {
            (self.day, self.is_changed) = (now.date(), true);
            (self.all.day, self.over_metered.day) = (0, 0);
        }
        let mut all = allowed.all;
        let mut metered = allowed.over_metered.unwrap_or_default();
        if self.only_now.is_some() {
            (all.fetch, metered.fetch) = (self.only_now, None);
        }
        let left = |most: Option<u64>, used| most.map(|most: u64| most.saturating_sub(used));
        let rows = [
            (left(metered.fetch, self.over_metered.fetch), false, true),
            (left(all.fetch, self.all.fetch), false, false),
            (left(metered.day, self.over_metered.day), true, true),
            (left(all.day, self.all.day), true, false),
        ];
        self.meter.allow(rows.iter().filter_map(|(left, ..)| *left).min());
        let tomorrow = || {
            let start = now.tomorrow().and_then(|tomorrow| tomorrow.start_of_day());
            start.map_or(Timestamp::MAX, |time| time.timestamp())
        };
        // The budgets for one fetch come first: only a person renews them, which may be after
        // midnight.
        let spent = rows.iter().find(|(left, ..)| *left == Some(0));
        self.spent = spent.map(|(_, is_of_day, metered)| ExhaustedBudget {
            metered: *metered,
            until: is_of_day.then(tomorrow),
        });
        self.spent
    }

    /// The budget that was used up at the last [`apply_limits`](Self::apply_limits), if any.
    pub(super) fn spent(&self) -> Option<ExhaustedBudget> {
        self.spent
    }

    /// The smallest remaining daily budget in bytes; `None` if unlimited. Valid after
    /// [`apply_limits`](Self::apply_limits).
    pub(super) fn left_of_day(&self, allowed: Allowed) -> Option<u64> {
        let left = |most: Option<u64>, used| most.map(|most: u64| most.saturating_sub(used));
        let over_metered = allowed.over_metered.and_then(|most| most.day);
        let rows = [left(allowed.all.day, self.all.day), left(over_metered, self.over_metered.day)];
        rows.into_iter().flatten().min()
    }

    /// The bytes received since the last start of fetching the queue.
    pub(super) fn of_fetch(&mut self) -> u64 {
        self.count();
        self.all.fetch
    }

    /// The text to store for the next start, if it has changed since the last call.
    pub(super) fn changed(&mut self) -> Option<String> {
        self.count();
        let (all, metered) = (self.all.day, self.over_metered.day);
        std::mem::take(&mut self.is_changed).then(|| format!("{} {all} {metered}", self.day))
    }

    /// Restores the stored text. Invalid text counts as zero.
    pub(super) fn restore(&mut self, text: &str) {
        let mut words = text.split(' ');
        let (Some(Ok(day)), Some(Ok(all))) =
            (words.next().map(str::parse::<Date>), words.next().map(str::parse::<u64>))
        else {
            return;
        };
        // An earlier version of the program did not record whether the connection was metered. In
        // this case all bytes count as metered, so that the metered budgets are not exceeded.
        let metered = words.next().and_then(|word| word.parse().ok()).unwrap_or(all);
        (self.day, self.all.day, self.over_metered.day) = (day, all, metered);
    }

    fn count(&mut self) {
        let used = self.meter.take_used();
        self.all.add(used);
        if self.is_metered {
            self.over_metered.add(used);
        }
        self.is_changed |= used > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::download::Allowance;
    use std::path::Path;
    use wwwoffle_config::Config;

    fn come(budget: &Budget, bytes: u64) {
        let allowance = Allowance { meter: Some(budget.meter()), ..Allowance::default() };
        let _may_be_over = allowance.check_progress(bytes, bytes, None, false);
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn all(fetch: Option<u64>, day: Option<u64>) -> Allowed {
        Allowed { all: BudgetLimits { fetch, day }, over_metered: None }
    }

    const FETCH: ExhaustedBudget = ExhaustedBudget { metered: false, until: None };

    fn day(until: Timestamp) -> ExhaustedBudget {
        ExhaustedBudget { metered: false, until: Some(until) }
    }

    #[test]
    fn a_budget_day_ends_at_local_midnight() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let allowed = all(None, Some(100));
        let mut budget = Budget::default();
        let evening = at("2026-03-28T22:30:00Z");
        assert_eq!(budget.apply_limits(allowed, evening, &zone), None);
        come(&budget, 60);
        assert_eq!(budget.apply_limits(allowed, evening, &zone), None);
        come(&budget, 60);
        let midnight = at("2026-03-28T23:00:00Z");
        assert_eq!(budget.apply_limits(allowed, evening, &zone), Some(day(midnight)));
        assert_eq!(budget.spent(), Some(day(midnight)));
        assert!(budget.meter().is_empty());
        let remembered = budget.changed().unwrap();
        assert_eq!((remembered.as_str(), budget.changed()), ("2026-03-28 120 0", None));
        let mut again = Budget::default();
        again.restore(&remembered);
        assert_eq!(again.apply_limits(allowed, evening, &zone), Some(day(midnight)));
        assert_eq!(again.apply_limits(allowed, midnight, &zone), None);
        assert!(!again.meter().is_empty());
        for text in ["", "2026-03-28", "2026-03-28 x", "x 5", "x 5 5"] {
            let mut budget = Budget::default();
            budget.restore(text);
            assert_eq!(budget.apply_limits(allowed, evening, &zone), None, "{text:?}");
        }
    }

    #[test]
    fn each_fetch_may_have_its_own_budget() {
        let (zone, now) = (TimeZone::UTC, at("2026-03-28T12:00:00Z"));
        let midnight = at("2026-03-29T00:00:00Z");
        let allowed = all(Some(100), Some(200));
        let mut budget = Budget::default();
        come(&budget, 100);
        assert_eq!(budget.apply_limits(allowed, now, &zone), Some(FETCH));
        budget.start_fetch(None);
        assert_eq!((budget.spent(), budget.of_fetch()), (None, 0));
        assert_eq!(budget.apply_limits(allowed, now, &zone), None);
        budget.start_fetch(Some(10));
        come(&budget, 10);
        assert_eq!(budget.apply_limits(allowed, now, &zone), Some(FETCH));
        assert_eq!(budget.of_fetch(), 10);
        budget.start_fetch(Some(1_000));
        come(&budget, 200);
        assert_eq!(budget.apply_limits(allowed, now, &zone), Some(day(midnight)));
        assert_eq!(budget.apply_limits(Allowed::default(), now, &zone), None);
    }

    #[test]
    fn unmetered_transfers_do_not_use_metered_budgets() {
        let (zone, now) = (TimeZone::UTC, at("2026-03-28T12:00:00Z"));
        let midnight = Some(at("2026-03-29T00:00:00Z"));
        let (usual, mut budget) = (all(None, Some(1_000)), Budget::default());
        let most = BudgetLimits { fetch: Some(30), day: Some(50) };
        let metered = Allowed { over_metered: Some(most), ..usual };
        assert_eq!(budget.apply_limits(usual, now, &zone), None);
        come(&budget, 500);
        assert_eq!(budget.apply_limits(metered, now, &zone), None);
        come(&budget, 30);
        let fetch = ExhaustedBudget { metered: true, until: None };
        assert_eq!(budget.apply_limits(metered, now, &zone), Some(fetch));
        // Fetching continues as soon as the connection is not metered.
        assert_eq!(budget.apply_limits(usual, now, &zone), None);
        come(&budget, 100);
        assert_eq!(budget.changed().unwrap(), "2026-03-28 630 30");
        budget.start_fetch(None);
        assert_eq!(budget.apply_limits(metered, now, &zone), None);
        come(&budget, 20);
        let day = ExhaustedBudget { metered: true, until: midnight };
        assert_eq!(budget.apply_limits(metered, now, &zone), Some(day));
        // A budget chosen for one fetch holds over every connection; the day's budget stays.
        budget.start_fetch(Some(5_000));
        assert_eq!(budget.apply_limits(metered, now, &zone), Some(day));
        // An earlier version did not distinguish connections.
        let mut former = Budget::default();
        former.restore("2026-03-28 60");
        assert_eq!(former.apply_limits(metered, now, &zone), Some(day));
        assert_eq!(former.apply_limits(usual, now, &zone), None);
    }

    #[test]
    fn a_link_is_metered_by_its_interface_or_by_the_option() {
        let options = |text: &str| {
            let text = format!(
                "[fetch-options]\nbudget-fetch-metered = \"1 kB\"\nbudget-day-metered = \"2 kB\"\n{text}"
            );
            Config::parse(&text, Path::new("test.conf")).unwrap()
        };
        let most = BudgetLimits { fetch: Some(1_000), day: Some(2_000) };
        for (text, class, want) in [
            ("", LinkClass::Usual, None),
            ("", LinkClass::Metered, Some(most)),
            ("metered = true", LinkClass::Usual, Some(most)),
        ] {
            let allowed = Allowed::of(&options(text).fetch_options, class);
            assert_eq!(
                (allowed.over_metered, allowed.all),
                (want, BudgetLimits::default()),
                "{text}"
            );
        }
    }
}
