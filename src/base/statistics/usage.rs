//! The usage of each user and client, and their quotas.
//!
//! ```text
//! a request ── account of its owner ── counts of today, and of the month before today
//!                    │  every five seconds, if they have changed, and at the end
//!              <spool>/usage/2026-11-22
//! ```
//!
//! Accounts exist only if the configuration counts usage or has quotas. Counting is an atomic
//! addition. A quota is checked only when a request needs the connection or the queue, so a stored
//! page is never refused.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jiff::civil::Date;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use wwwoffle_config::{Config, QuotaLimit, QuotaMeasure, QuotaPeriod};
use wwwoffle_spool::{Counts, MAX_HOSTS, QueueMeter, Statistics as StoredUsage, is_host};

use super::lock;
use super::outcome::Outcome;
use crate::base::context::BaseContext;
use crate::base::owner::Owner;

/// The maximum number of accounts of clients without a login. The other accounts, up to
/// [`MAX_HOSTS`], are reserved for users. Further owners share one account.
const MAX_CLIENTS: usize = MAX_HOSTS - 100;

/// The bytes that may arrive at once before a rate slows them down, as a part of a second.
const BURST: Duration = Duration::from_millis(250);

/// Characters that a name in the file must not contain.
const NOT_PLAIN: &AsciiSet = &CONTROLS.add(b' ').add(b'%');

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
    pub(super) fn count(&self, outcome: Outcome) {
        self.add(UsageCount::Requests, 1);
        if outcome.saves() {
            self.add(UsageCount::Saved, 1);
        }
    }

    /// Counts bytes sent to the client.
    pub(super) fn count_sent_bytes(&self, bytes: usize) {
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

    fn before(&self, count: UsageCount) -> u64 {
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
    fn charge(&self, limits: &[QuotaLimit], measure: QuotaMeasure) -> bool {
        let most = self.most(limits, measure).unwrap_or(u64::MAX);
        let more = |count: u64| (count < most).then(|| count.saturating_add(1));
        of(&self.today, UsageCount::of(measure)).fetch_update(Relaxed, Relaxed, more).is_ok()
    }

    /// Counts a request to an origin, unless a quota is used up.
    ///
    /// # Errors
    ///
    /// The quota that is used up.
    fn begin_request(&self, limits: &[QuotaLimit], rate: Option<u64>) -> Result<(), QuotaUse> {
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
    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for (count, number) in UsageCount::ALL.iter().zip(&self.today) {
            counts.add(count.as_str(), number.load(Relaxed));
        }
        counts
    }

    fn restore(&self, counts: &Counts, is_today: bool) {
        let to = if is_today { &self.today } else { &self.before };
        for (count, number) in UsageCount::ALL.iter().zip(to) {
            number.fetch_add(counts.of(count.as_str()), Relaxed);
        }
    }

    fn reset(&self) {
        for count in self.today.iter().chain(&self.before) {
            count.store(0, Relaxed);
        }
    }

    fn is_unused(&self) -> bool {
        self.today.iter().chain(&self.before).all(|count| count.load(Relaxed) == 0)
    }
}

/// The accounts of all owners.
#[derive(Debug, Default)]
pub struct Usage {
    accounts: RwLock<HashMap<String, Arc<UsageAccount>>>,
    /// The account of all owners without a separate one.
    others: Arc<UsageAccount>,
    /// The day of the counts, once its file has been read.
    day: Mutex<Option<Date>>,
    /// The counts as last written.
    written: Mutex<StoredUsage>,
    /// Whether the file of the day has been read. Otherwise it must not be overwritten.
    may_write: AtomicBool,
}

/// The account of an owner, with its limits in the configuration in force.
#[derive(Clone, Debug)]
pub struct OwnerUsage {
    /// The account.
    pub account: Arc<UsageAccount>,
    limits: Vec<QuotaLimit>,
    rate: Option<u64>,
}

impl OwnerUsage {
    /// Counts a request to an origin.
    ///
    /// # Errors
    ///
    /// The quota that is used up. The request must not be sent.
    pub fn begin_request(&self) -> Result<(), QuotaUse> {
        self.account.begin_request(&self.limits, self.rate)
    }

    /// The use of each quota.
    #[must_use]
    pub fn uses(&self) -> Vec<QuotaUse> {
        self.account.uses(&self.limits)
    }

    /// The quota that lets no request to an origin begin.
    #[must_use]
    pub fn reached(&self) -> Option<QuotaUse> {
        let is_needed = |used: &QuotaUse| used.limit.measure != QuotaMeasure::Queued;
        self.uses().into_iter().find(|used| is_needed(used) && used.is_reached())
    }
}

/// The limits of an owner.
fn limits(config: &Config, owner: &Owner) -> (Vec<QuotaLimit>, Option<u64>) {
    let quotas = &config.usage.quotas;
    let (user, client): (Option<&str>, Option<IpAddr>) = match owner {
        Owner::Local => (None, None),
        Owner::User(name) => (Some(name), None),
        Owner::Client(address) => (None, Some(*address)),
    };
    (quotas.limits(user, client), quotas.rate(user, client))
}

impl Usage {
    /// The account of an owner. `None` if the configuration neither counts usage nor has quotas.
    #[must_use]
    pub fn of(&self, config: &Config, owner: &Owner) -> Option<Arc<UsageAccount>> {
        let is_counted = config.usage.count || !config.usage.quotas.is_empty();
        is_counted.then(|| self.account(&wwwoffle_spool::share_name(&owner.to_string())))
    }

    /// The account and the limits of an owner. `None` if nothing is counted.
    #[must_use]
    pub fn with_limits(&self, config: &Config, owner: &Owner) -> Option<OwnerUsage> {
        let account = self.of(config, owner)?;
        let (limits, rate) = limits(config, owner);
        Some(OwnerUsage { account, limits, rate })
    }

    fn account(&self, name: &str) -> Arc<UsageAccount> {
        let accounts = self.accounts.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = accounts.get(name) {
            return Arc::clone(account);
        }
        drop(accounts);
        let mut accounts = self.accounts.write().unwrap_or_else(PoisonError::into_inner);
        let most = if name.starts_with("client:") { MAX_CLIENTS } else { MAX_HOSTS };
        if !accounts.contains_key(name) && (accounts.len() >= most || !is_host(&encode(name))) {
            return Arc::clone(&self.others);
        }
        Arc::clone(accounts.entry(name.to_owned()).or_default())
    }

    /// The day of the counts. `None` before the file of a day has been read.
    #[must_use]
    pub fn day(&self) -> Option<Date> {
        *lock(&self.day)
    }

    /// The counts of today, by owner.
    #[must_use]
    pub fn counts(&self) -> StoredUsage {
        let accounts = self.accounts.read().unwrap_or_else(PoisonError::into_inner);
        let mut usage = StoredUsage { rest: self.others.counts(), ..StoredUsage::default() };
        for (name, account) in accounts.iter() {
            let counts = account.counts();
            if !counts.is_empty() {
                usage.hosts.entry(encode(name)).or_default().counts = counts;
            }
        }
        usage
    }

    /// The counts to write, if they have changed since the last write, and their day.
    pub fn to_write(&self) -> Option<(Date, StoredUsage)> {
        let day = self.day().filter(|_| self.may_write.load(Relaxed))?;
        let counts = self.counts();
        let mut written = lock(&self.written);
        if *written == counts {
            return None;
        }
        written.clone_from(&counts);
        Some((day, counts))
    }

    /// Marks the counts as unwritten, after a failed write.
    pub fn not_written(&self) {
        *lock(&self.written) = StoredUsage::default();
    }

    /// Whether the counts of the day were read.
    #[must_use]
    pub fn is_restored(&self) -> bool {
        self.may_write.load(Relaxed)
    }

    /// Begins a day with the stored counts of its month. `None` stands for counts that could not be
    /// read, and are not overwritten. Returns the last counts of the day before, to write them.
    pub fn begin_day(
        &self,
        day: Date,
        month: Option<&[(Date, StoredUsage)]>,
    ) -> Option<(Date, StoredUsage)> {
        // Before the first day, the accounts only have counts that were not restored yet.
        // A day begins again after its file could not be read. Its counts then go on.
        let ended = lock(&self.day).replace(day).filter(|ended| *ended != day).map(|ended| {
            let counts = self.counts();
            let accounts = self.accounts.read().unwrap_or_else(PoisonError::into_inner);
            accounts.values().for_each(|account| account.reset());
            self.others.reset();
            (ended, counts)
        });
        let ended = ended.filter(|_| self.may_write.load(Relaxed));
        self.may_write.store(month.is_some(), Relaxed);
        for (stored, usage) in month.unwrap_or_default() {
            for (name, counts) in &usage.hosts {
                self.account(&decode(name)).restore(&counts.counts, *stored == day);
            }
            self.others.restore(&usage.rest, *stored == day);
        }
        self.not_written();
        // An account in use may count at any time.
        let is_used =
            |account: &Arc<UsageAccount>| Arc::strong_count(account) > 1 || !account.is_unused();
        let mut accounts = self.accounts.write().unwrap_or_else(PoisonError::into_inner);
        accounts.retain(|_, account| is_used(account));
        ended
    }
}

/// The name of an owner in a file.
fn encode(name: &str) -> String {
    utf8_percent_encode(name, NOT_PLAIN).to_string()
}

/// The owner's name that stands in a file.
#[must_use]
pub fn decode(name: &str) -> String {
    percent_decode_str(name).decode_utf8_lossy().into_owned()
}

/// Counts the requests of the queue, and refuses those beyond a quota.
#[derive(Debug)]
pub struct QueueQuota {
    /// The accounts.
    pub usage: Arc<super::Statistics>,
    /// The context with the configuration in force.
    pub base: Arc<BaseContext>,
}

impl QueueQuota {
    fn of(&self, owner: Option<&str>) -> Option<OwnerUsage> {
        let owner = owner.map_or(Ok(Owner::Local), str::parse).ok()?;
        self.usage.usage.with_limits(&self.base.config(), &owner)
    }
}

impl QueueMeter for QueueQuota {
    fn count_added(&self, owner: Option<&str>) -> bool {
        self.of(owner).is_none_or(|of| of.account.charge(&of.limits, QuotaMeasure::Queued))
    }

    fn uncount(&self, owner: Option<&str>) {
        if let Some(of_owner) = self.of(owner) {
            let less = |count: u64| count.checked_sub(1);
            let queued = of(&of_owner.account.today, UsageCount::Queued);
            let _was_zero = queued.fetch_update(Relaxed, Relaxed, less);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(measure: QuotaMeasure, period: QuotaPeriod, most: u64) -> QuotaLimit {
        QuotaLimit { measure, period, most }
    }

    fn date(text: &str) -> Date {
        text.parse().unwrap()
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

    fn counts(name: &str, number: u64) -> Counts {
        let mut counts = Counts::default();
        counts.add(name, number);
        counts
    }

    #[test]
    fn days_begin_with_their_stored_counts() {
        let usage = Usage::default();
        let (first, second) = (date("2026-11-22"), date("2026-11-23"));
        let mut stored = StoredUsage::default();
        stored.hosts.entry("user:a%20b".to_owned()).or_default().counts = counts("requests", 5);
        assert_eq!(usage.begin_day(first, Some(&[(first, stored.clone())])), None);
        usage.account("user:a b").count(Outcome::Hit);
        let (day, written) = usage.to_write().unwrap();
        let requests = |usage: &StoredUsage| usage.hosts["user:a%20b"].counts.of("requests");
        assert_eq!((day, requests(&written)), (first, 6));
        assert_eq!(usage.to_write(), None, "nothing has changed");
        usage.not_written();
        assert!(usage.to_write().is_some());
        // The clock may go back to a day that has counts already.
        for (day, month, want) in [
            (second, vec![(first, written.clone())], (0, 6)),
            (first, vec![(first, written.clone())], (6, 0)),
        ] {
            let ended = usage.begin_day(day, Some(&month));
            assert_ne!(ended.unwrap().0, day);
            let account = usage.account("user:a b");
            let today = of(&account.today, UsageCount::Requests).load(Relaxed);
            assert_eq!((today, account.before(UsageCount::Requests)), want, "{day}");
        }
        assert!(usage.begin_day(second, None).is_some());
        usage.account("local").count(Outcome::Hit);
        assert_eq!(usage.to_write(), None, "a file that cannot be read is not overwritten");
        assert!(!usage.is_restored());
        assert_eq!(usage.begin_day(second, Some(&[])), None, "the same day goes on");
        let (day, written) = usage.to_write().unwrap();
        assert_eq!((day, written.hosts["local"].counts.of("requests")), (second, 1));
    }

    #[test]
    fn the_number_of_accounts_is_bounded() {
        let usage = Usage::default();
        for number in 0..2 * MAX_HOSTS {
            usage.account(&format!("client:{number}")).count(Outcome::Hit);
        }
        for number in 0..2 * MAX_HOSTS {
            usage.account(&format!("user:{number}")).count(Outcome::Hit);
        }
        usage.account(&"user:x".repeat(MAX_HOSTS)).count(Outcome::Hit);
        let counts = usage.counts();
        let of_clients = counts.hosts.keys().filter(|name| name.starts_with("client:")).count();
        assert_eq!((counts.hosts.len(), of_clients), (MAX_HOSTS, MAX_CLIENTS));
        let others = u64::try_from(3 * MAX_HOSTS + 1).unwrap();
        assert_eq!(counts.rest.of("requests"), others);
        assert!(counts.to_text().len() < wwwoffle_spool::MAX_STATISTICS);
    }
}
