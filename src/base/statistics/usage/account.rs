//! The counts of one owner, and their quotas.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use jiff::civil::Date;
use wwwoffle_config::{QuotaLimit, QuotaMeasure, QuotaPeriod};
use wwwoffle_spool::Counts;

use super::super::lock;
use super::super::outcome::Outcome;

/// The bytes that may arrive at once before a rate slows them down, as a part of a second.
const BURST: Duration = Duration::from_millis(250);

wwwoffle_url::named! {
    /// A count of an account.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum UsageCount {
        /// Requests for resources of origins.
        Requests = "requests",
        /// Those that were served without fetching the whole response.
        Saved = "spool",
        /// Bytes of bodies sent to the client.
        Given = "given",
        /// Bytes of bodies fetched from origins.
        Fetched = "fetched",
        /// Requests to origins, and tunnels.
        Asked = "asked",
        /// Requests added to the queue.
        Queued = "queued",
    }
}

impl UsageCount {
    fn of(measure: QuotaMeasure) -> Self {
        match measure {
            QuotaMeasure::Bytes => Self::Fetched,
            QuotaMeasure::Requests => Self::Asked,
            QuotaMeasure::Queued => Self::Queued,
        }
    }
}

type CountArray = [AtomicU64; UsageCount::ALL.len()];

/// The usage of one owner.
#[derive(Debug, Default)]
pub struct UsageAccount {
    today: CountArray,
    /// The counts of this month before today.
    before: CountArray,
    /// The number of fetched bytes of today at which downloads end; 0 without a limit.
    most_fetched: AtomicU64,
    /// The rate in bytes per second; 0 without a limit.
    rate: AtomicU64,
    /// When the bytes so far would have arrived at the rate.
    due: Mutex<Option<Instant>>,
}

/// A quota, and how much of it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaUse {
    /// The quota.
    pub limit: QuotaLimit,
    /// The used amount.
    pub used: u64,
}

impl QuotaUse {
    /// Whether nothing is left.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.used >= self.limit.most
    }

    /// Whether at most a fifth is left.
    #[must_use]
    pub fn is_near(&self) -> bool {
        self.used >= self.limit.most - self.limit.most / 5
    }

    /// The first day on which the quota is renewed.
    #[must_use]
    pub fn renewed(&self, today: Date) -> Date {
        match self.limit.period {
            QuotaPeriod::Day => today.tomorrow(),
            QuotaPeriod::Month => today.last_of_month().tomorrow(),
        }
        .unwrap_or(today)
    }
}

fn of(counts: &CountArray, count: UsageCount) -> &AtomicU64 {
    let [first, rest @ ..] = counts;
    let at = UsageCount::ALL.iter().position(|one| *one == count).unwrap_or_default();
    at.checked_sub(1).and_then(|at| rest.get(at)).unwrap_or(first)
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

impl UsageAccount {
    fn add(&self, count: UsageCount, more: u64) {
        of(&self.today, count).fetch_add(more, Relaxed);
    }

    /// Counts a request.
    pub(in super::super) fn count(&self, outcome: Outcome) {
        self.add(UsageCount::Requests, 1);
        if outcome.saves() {
            self.add(UsageCount::Saved, 1);
        }
    }

    /// Counts bytes sent to the client.
    pub(in super::super) fn count_sent_bytes(&self, bytes: usize) {
        self.add(UsageCount::Given, length(bytes));
    }

    /// Counts bytes fetched for this owner. Returns false if the quota is used up.
    #[must_use]
    pub fn count_fetched(&self, bytes: u64) -> bool {
        let fetched = of(&self.today, UsageCount::Fetched).fetch_add(bytes, Relaxed);
        let most = self.most_fetched.load(Relaxed);
        most == 0 || fetched.saturating_add(bytes) < most
    }

    /// Counts bytes at the rate. Returns how long to wait before further bytes are read.
    pub fn pace(&self, bytes: u64, now: Instant) -> Duration {
        let rate = self.rate.load(Relaxed);
        let Some(micros) = bytes.saturating_mul(1_000_000).checked_div(rate) else {
            return Duration::ZERO;
        };
        let mut due = lock(&self.due);
        let next = due.map_or(now, |due| due.max(now)) + Duration::from_micros(micros);
        *due = Some(next);
        next.saturating_duration_since(now).saturating_sub(BURST)
    }

    /// The use of each quota.
    #[must_use]
    pub fn uses(&self, limits: &[QuotaLimit]) -> Vec<QuotaUse> {
        limits.iter().map(|limit| QuotaUse { limit: *limit, used: self.used(limit) }).collect()
    }

    fn used(&self, limit: &QuotaLimit) -> u64 {
        let count = UsageCount::of(limit.measure);
        let today = of(&self.today, count).load(Relaxed);
        match limit.period {
            QuotaPeriod::Day => today,
            QuotaPeriod::Month => today.saturating_add(self.before(count)),
        }
    }

    pub(super) fn before(&self, count: UsageCount) -> u64 {
        of(&self.before, count).load(Relaxed)
    }

    /// The count of today at which the limits for `measure` are reached.
    fn most(&self, limits: &[QuotaLimit], measure: QuotaMeasure) -> Option<u64> {
        let limits = limits.iter().filter(|limit| limit.measure == measure);
        let most = limits.map(|limit| match limit.period {
            QuotaPeriod::Day => limit.most,
            QuotaPeriod::Month => limit.most.saturating_sub(self.before(UsageCount::of(measure))),
        });
        most.min()
    }

    /// Counts one more, unless a quota is used up.
    pub(super) fn charge(&self, limits: &[QuotaLimit], measure: QuotaMeasure) -> bool {
        let most = self.most(limits, measure).unwrap_or(u64::MAX);
        let more = |count: u64| (count < most).then(|| count.saturating_add(1));
        of(&self.today, UsageCount::of(measure)).fetch_update(Relaxed, Relaxed, more).is_ok()
    }

    /// Takes back one count of [`charge`](Self::charge).
    pub(super) fn uncharge(&self, measure: QuotaMeasure) {
        let less = |count: u64| count.checked_sub(1);
        let count = of(&self.today, UsageCount::of(measure));
        let _was_zero = count.fetch_update(Relaxed, Relaxed, less);
    }

    /// Counts a request to an origin, unless a quota is used up.
    ///
    /// # Errors
    ///
    /// The quota that is used up.
    pub(super) fn begin_request(
        &self,
        limits: &[QuotaLimit],
        rate: Option<u64>,
    ) -> Result<(), QuotaUse> {
        let most = self.most(limits, QuotaMeasure::Bytes);
        // 0 stands for no limit. A quota of no bytes ends every body at its first byte.
        self.most_fetched.store(most.map_or(0, |most| most.max(1)), Relaxed);
        self.rate.store(rate.unwrap_or_default(), Relaxed);
        let is_needed = |used: &QuotaUse| used.limit.measure != QuotaMeasure::Queued;
        let reached = |used: &QuotaUse| is_needed(used) && used.is_reached();
        match self.uses(limits).into_iter().find(reached) {
            Some(reached) => Err(reached),
            None if self.charge(limits, QuotaMeasure::Requests) => Ok(()),
            None => self.uses(limits).into_iter().find(reached).map_or(Ok(()), Err),
        }
    }

    /// The counts of today.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for (count, number) in UsageCount::ALL.iter().zip(&self.today) {
            counts.add(count.as_str(), number.load(Relaxed));
        }
        counts
    }

    pub(super) fn restore(&self, counts: &Counts, is_today: bool) {
        let to = if is_today { &self.today } else { &self.before };
        for (count, number) in UsageCount::ALL.iter().zip(to) {
            number.fetch_add(counts.of(count.as_str()), Relaxed);
        }
    }

    pub(super) fn reset(&self) {
        for count in self.today.iter().chain(&self.before) {
            count.store(0, Relaxed);
        }
    }

    pub(super) fn is_unused(&self) -> bool {
        self.today.iter().chain(&self.before).all(|count| count.load(Relaxed) == 0)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn limit(measure: QuotaMeasure, period: QuotaPeriod, most: u64) -> QuotaLimit {
        QuotaLimit { measure, period, most }
    }

    pub(in super::super) fn date(text: &str) -> Date {
        text.parse().unwrap()
    }

    pub(in super::super) fn counts(name: &str, number: u64) -> Counts {
        let mut counts = Counts::default();
        counts.add(name, number);
        counts
    }

    #[test]
    fn a_quota_admits_as_many_requests_as_it_says() {
        let account = UsageAccount::default();
        let limits = [limit(QuotaMeasure::Requests, QuotaPeriod::Day, 10)];
        let admitted: usize = std::thread::scope(|scope| {
            let one = || (0..10).filter(|_| account.begin_request(&limits, None).is_ok()).count();
            let all: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
            all.into_iter().map(|one| one.join().unwrap()).sum()
        });
        assert_eq!(admitted, 10);
        let [used] = account.uses(&limits).try_into().unwrap();
        assert!(used.is_reached() && used.used == 10);
        // Without a limit, requests are only counted.
        assert!(account.begin_request(&[], None).is_ok());
        assert_eq!(of(&account.today, UsageCount::Asked).load(Relaxed), 11);
    }

    #[test]
    fn bytes_count_for_the_day_and_the_month() {
        let account = UsageAccount::default();
        account.restore(&counts("fetched", 60), false);
        let limits = [
            limit(QuotaMeasure::Bytes, QuotaPeriod::Day, 50),
            limit(QuotaMeasure::Bytes, QuotaPeriod::Month, 100),
        ];
        assert!(account.begin_request(&limits, None).is_ok());
        assert!(account.count_fetched(39));
        assert!(account.begin_request(&limits, None).is_ok());
        assert!(!account.count_fetched(1), "the month is used up before the day");
        let reached = account.begin_request(&limits, None).unwrap_err();
        assert_eq!((reached.used, reached.limit), (100, limits[1]));
        assert_eq!(reached.renewed(date("2026-12-30")), date("2027-01-01"));
        let day = QuotaUse { limit: limits[0], used: 40 };
        assert!(day.is_near() && !day.is_reached());
        assert!(!QuotaUse { used: 39, ..day }.is_near());
        assert_eq!(day.renewed(date("2026-12-31")), date("2027-01-01"));
    }

    #[test]
    fn bytes_wait_for_the_rate_of_all_downloads() {
        let (account, now) = (UsageAccount::default(), Instant::now());
        assert_eq!(account.pace(1 << 40, now), Duration::ZERO, "no rate");
        assert!(account.begin_request(&[], Some(1_000)).is_ok());
        assert_eq!(account.pace(250, now), Duration::ZERO, "the burst");
        assert_eq!(account.pace(1_000, now), Duration::from_secs(1));
        assert_eq!(account.pace(1_000, now), Duration::from_secs(2));
        // Unused time is not saved up.
        assert_eq!(account.pace(1_250, now + Duration::from_secs(60)), Duration::from_secs(1));
    }
}
