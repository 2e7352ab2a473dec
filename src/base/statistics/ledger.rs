//! The ledger: bounded counts by day and by host.
//!
//! Days are in the local time zone. Counts move from the accounts to the ledger every minute and
//! before the ledger is read. They belong to the day on which they move. 400 days are stored.
//!
//! The 500 hosts with the most requests are stored. If another host appears and the table is full,
//! the host with the smallest weight is removed, and its counts are added to "the rest", so that
//! the sums stay exact. The weight of a host is the number of its requests plus the weight of the
//! host that it replaced ("Space-Saving", Metwally and others 2005). So a host with more than one
//! in 500 of all requests is certainly in the table. The counts of a host are exact from its entry
//! into the table. Its initial weight is an upper bound for its earlier requests.

use std::collections::BTreeMap;

use jiff::civil::Date;
use wwwoffle_spool::{Counts, HostCounts, MAX_DAYS, MAX_HOSTS, Statistics, is_host};

use super::outcome::Outcome;

/// The counts by day and by host.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    kept: Statistics,
    /// The sum since the program started.
    since_start: Counts,
    /// Whether the counts have changed since they were last written.
    is_news: bool,
}

impl Ledger {
    /// Adds the counts from the file to those since the start of the program.
    pub fn restore(&mut self, kept: Statistics) {
        let before = std::mem::replace(&mut self.kept, kept);
        let latest = before.days.last_key_value().or(self.kept.days.last_key_value());
        let latest = latest.map(|(day, _)| *day);
        for (day, counts) in before.days {
            self.kept.days.entry(day).or_default().add_all(&counts);
        }
        for (host, counts) in before.hosts {
            self.add_host_counts(&host, &counts.counts);
        }
        self.kept.rest.add_all(&before.rest);
        if let Some(today) = latest {
            self.forget(today);
        }
    }

    /// Adds the counts of a host. `None` stands for all hosts without a separate account.
    pub fn add_counts(&mut self, today: Date, host: Option<&str>, counts: &Counts) {
        if counts.is_empty() {
            return;
        }
        self.is_news = true;
        self.since_start.add_all(counts);
        self.kept.days.entry(today).or_default().add_all(counts);
        match host.filter(|host| is_host(host)) {
            Some(host) => self.add_host_counts(host, counts),
            None => self.kept.rest.add_all(counts),
        }
        self.forget(today);
    }

    fn add_host_counts(&mut self, host: &str, counts: &Counts) {
        if !self.kept.hosts.contains_key(host) {
            let before = self.make_place();
            self.kept.hosts.insert(host.to_owned(), HostCounts { before, ..HostCounts::default() });
        }
        if let Some(account) = self.kept.hosts.get_mut(host) {
            account.counts.add_all(counts);
        }
    }

    /// Removes a host if the table is full. Returns the initial weight of the host that takes its
    /// place.
    fn make_place(&mut self) -> u64 {
        if self.kept.hosts.len() < MAX_HOSTS {
            return 0;
        }
        let least = self.kept.hosts.iter().min_by_key(|(_, account)| weight(account));
        let Some(name) = least.map(|(name, _)| name.clone()) else { return 0 };
        let Some(gone) = self.kept.hosts.remove(&name) else { return 0 };
        self.kept.rest.add_all(&gone.counts);
        weight(&gone)
    }

    /// Removes the days farthest from today: old days, and days in the future that come from a
    /// wrong clock. Today always stays, even if the clock is wrong now.
    fn forget(&mut self, today: Date) {
        while self.kept.days.len() > MAX_DAYS {
            let distance = |day: &Date| day.duration_since(today).abs();
            let Some(farthest) = self.kept.days.keys().copied().max_by_key(distance) else {
                return;
            };
            self.kept.days.remove(&farthest);
        }
    }

    /// The counts by day.
    #[must_use]
    pub fn days(&self) -> &BTreeMap<Date, Counts> {
        &self.kept.days
    }

    /// The hosts, those with the most requests first.
    #[must_use]
    pub fn hosts(&self) -> Vec<(&str, &HostCounts)> {
        let mut hosts: Vec<_> =
            self.kept.hosts.iter().map(|(name, account)| (name.as_str(), account)).collect();
        hosts.sort_by_key(|(_, account)| std::cmp::Reverse(requests(&account.counts)));
        hosts
    }

    /// The counts of all other hosts.
    #[must_use]
    pub fn other_hosts(&self) -> &Counts {
        &self.kept.rest
    }

    /// The counts since the program started.
    #[must_use]
    pub fn since_start(&self) -> &Counts {
        &self.since_start
    }

    /// The counts to write, if they have changed since the last write.
    pub fn to_write(&mut self) -> Option<Statistics> {
        std::mem::take(&mut self.is_news).then(|| self.kept.clone())
    }

    /// Marks the counts as unwritten, after a failed write.
    pub fn not_written(&mut self) {
        self.is_news = true;
    }
}

/// The total number of requests.
#[must_use]
pub fn requests(counts: &Counts) -> u64 {
    Outcome::ALL.iter().fold(0, |sum, outcome| sum.saturating_add(counts.of(outcome.as_str())))
}

fn weight(account: &HostCounts) -> u64 {
    requests(&account.counts).saturating_add(account.before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(count: u64) -> Counts {
        let mut counts = Counts::default();
        counts.add("hit", count);
        counts
    }

    fn day(text: &str) -> Date {
        text.parse().unwrap()
    }

    #[test]
    #[ignore = "slow"]
    fn frequent_host_keeps_its_account_among_rare_ones() {
        let mut ledger = Ledger::default();
        let today = day("2026-11-22");
        let (mut all, mut much) = (0, 0);
        for round in 0..5_000_u64 {
            // Each of these hosts appears once, and would displace another rare host.
            ledger.add_counts(today, Some(&format!("once{round}.example")), &hits(1));
            all += 1;
            if round % 100 == 0 {
                ledger.add_counts(today, Some("much.example"), &hits(1));
                (all, much) = (all + 1, much + 1);
            }
        }
        assert!(ledger.kept.hosts.len() <= MAX_HOSTS);
        assert!(much > all / u64::try_from(MAX_HOSTS).unwrap());
        let account = &ledger.kept.hosts["much.example"];
        let counted = account.counts.of("hit");
        assert!(counted <= much && much <= counted + account.before, "{account:?}");
        // The sums stay exact.
        let sum = |ledger: &Ledger| {
            let of_hosts = ledger.kept.hosts.values().map(|host| host.counts.of("hit"));
            of_hosts.sum::<u64>() + ledger.other_hosts().of("hit")
        };
        assert_eq!(sum(&ledger), all);
        assert_eq!(ledger.days()[&today].of("hit"), all);
        assert_eq!(ledger.since_start().of("hit"), all);
        let text = ledger.to_write().unwrap().to_text();
        assert!(ledger.to_write().is_none());
        let mut again = Ledger::default();
        again.add_counts(today, Some("much.example"), &hits(2));
        again.add_counts(today, None, &hits(1));
        again.restore(Statistics::parse(text.as_bytes()).unwrap());
        assert_eq!((sum(&again), again.days()[&today].of("hit")), (all + 3, all + 3));
        assert_eq!(again.since_start().of("hit"), 3);
        assert_eq!(again.hosts()[0].1.counts.of("hit").max(3), again.hosts()[0].1.counts.of("hit"));
    }

    #[test]
    fn old_days_and_invalid_hosts_are_not_counted() {
        let mut ledger = Ledger::default();
        let first = day("2024-01-01");
        for at in 0..=MAX_DAYS {
            let days = jiff::Span::new().days(i64::try_from(at).unwrap());
            ledger.add_counts(first.checked_add(days).unwrap(), Some("a b"), &hits(1));
        }
        assert_eq!(ledger.days().len(), MAX_DAYS);
        assert!(!ledger.days().contains_key(&first));
        assert!(ledger.hosts().is_empty());
        // A wrong clock costs one day at most.
        let (ahead, last) = (day("2094-01-01"), *ledger.days().keys().last().unwrap());
        ledger.add_counts(ahead, None, &hits(1));
        assert!(ledger.days().contains_key(&ahead));
        ledger.add_counts(last, None, &hits(1));
        ledger.add_counts(last.tomorrow().unwrap(), None, &hits(1));
        assert!(!ledger.days().contains_key(&ahead));
        ledger.add_counts(first, None, &hits(1));
        assert!(
            ledger.days().contains_key(&first),
            "today stays, though it is long past by the others"
        );
        ledger.add_counts(first, Some(&"x".repeat(256)), &hits(1));
        ledger.add_counts(first, Some("nothing.example"), &Counts::default());
        assert!(ledger.hosts().is_empty());
    }
}
