//! Counts requests by outcome, and the bytes of bodies, by day and by host.
//!
//! ```text
//! a request ── account of its host ── count, bytes      one atomic number each, never blocks
//!                    │  every minute, and before it is shown
//!                  ledger ── days, hosts, the rest ───── /statistics/  /metrics
//!                    │  every five minutes, and at the end
//!              <spool>/statistics
//! ```
//!
//! A request for a resource of an origin is counted if the response to the client has a
//! `Cache-Status`. Tunnels are counted too. Requests for our own pages and the API are not counted.
//! Bytes are those of bodies as sent and as received, without heads and without the overhead of
//! encryption.

mod account;
mod ledger;
mod outcome;
pub mod usage;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

pub use self::account::{Account, FETCHED, GIVEN, ResponseCounter, SAVED, UNFETCHED, UNSENT};
pub use self::ledger::{Ledger, requests};
pub use self::outcome::Outcome;
use self::usage::Usage;

/// The number of shards of the accounts, each with its own lock.
const PARTS: usize = 16;

/// The maximum number of accounts of a shard between two transfers to the ledger. Further hosts
/// share one account.
const MAX_ACCOUNTS: usize = 256;

type Accounts = HashMap<Box<str>, Arc<Account>>;

/// The counters of the daemon.
#[derive(Debug, Default)]
pub struct Statistics {
    parts: [Mutex<Accounts>; PARTS],
    hasher: RandomState,
    /// The account of all hosts without a separate one.
    others: Arc<Account>,
    ledger: Mutex<Ledger>,
    /// Whether the file has been read. Before that, it must not be overwritten. Locked during a
    /// write, so that no older one follows a newer one.
    may_write: Mutex<bool>,
    /// The usage of each user and client.
    pub usage: Usage,
}

impl Statistics {
    /// The account of a host.
    #[must_use]
    pub fn account(&self, host: &str) -> Arc<Account> {
        let mut accounts = self.part(host);
        if let Some(account) = accounts.get(host) {
            return Arc::clone(account);
        }
        if accounts.len() >= MAX_ACCOUNTS || host.len() > wwwoffle_spool::MAX_HOST {
            return Arc::clone(&self.others);
        }
        let account = Arc::<Account>::default();
        accounts.insert(host.into(), Arc::clone(&account));
        account
    }

    /// Allows writing, once the counts in the file have been read.
    pub(crate) fn begin_writing(&self) {
        *lock(&self.may_write) = true;
    }

    /// Writes the ledger with `write`, if it has changed since the last write. Blocks during another
    /// write.
    pub(crate) fn write_changes<E>(
        &self,
        now: SystemTime,
        write: impl FnOnce(&wwwoffle_spool::Statistics) -> Result<(), E>,
    ) -> Result<(), E> {
        let may_write = lock(&self.may_write);
        let changed = if *may_write { self.ledger(now).to_write() } else { None };
        let Some(changed) = changed else { return Ok(()) };
        write(&changed).inspect_err(|_| self.ledger(now).not_written())
    }

    fn part(&self, host: &str) -> MutexGuard<'_, Accounts> {
        let [byte, ..] = self.hasher.hash_one(host).to_le_bytes();
        let [first, rest @ ..] = &self.parts;
        let at = (usize::from(byte) % PARTS).checked_sub(1);
        lock(at.and_then(|at| rest.get(at)).unwrap_or(first))
    }

    /// The ledger, with everything that was counted until `now`.
    pub fn ledger(&self, now: SystemTime) -> MutexGuard<'_, Ledger> {
        let today = day(now);
        let mut ledger = lock(&self.ledger);
        for part in &self.parts {
            lock(part).retain(|host, account| {
                // Current holders may count at any time, so this looks for holders before it takes
                // the counts. The lock prevents others from acquiring the account.
                let is_in_hand = Arc::strong_count(account) > 1;
                let counts = account.take();
                ledger.add_counts(today, Some(host), &counts);
                // Accounts that are unused and empty are removed, so that other hosts can get one.
                is_in_hand || !counts.is_empty()
            });
        }
        ledger.add_counts(today, None, &self.others.take());
        ledger
    }
}

/// The day of a time, in the local time zone.
#[must_use]
pub fn day(now: SystemTime) -> Date {
    let now = Timestamp::try_from(now).unwrap_or(Timestamp::UNIX_EPOCH);
    now.to_zoned(TimeZone::system()).date()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Counts stay valid after a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_transferred_once() {
        let statistics = Statistics::default();
        let now = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_763_800_000);
        let given = ResponseCounter::begin(statistics.account("a.example"), Outcome::Hit, None);
        given.count_sent_bytes(10);
        given.count_repeat(5);
        statistics.account("a.example").fetched(7);
        ResponseCounter::begin(statistics.account("b.example"), Outcome::Queued, None)
            .count_sent_bytes(1);
        for _ in 0..2 {
            let books = statistics.ledger(now);
            let counts = &books.days()[&day(now)];
            let of = |name| counts.of(name);
            assert_eq!((of("hit"), of("queued"), requests(counts)), (2, 1, 3));
            assert_eq!((of(GIVEN), of(SAVED), of(FETCHED)), (16, 15, 7));
            assert_eq!(books.hosts()[0].0, "a.example");
        }
        // An account in use continues to count after a transfer.
        given.count_sent_bytes(1);
        assert_eq!(statistics.ledger(now).since_start().of(GIVEN), 17);
    }

    #[test]
    #[ignore = "slow"]
    fn the_number_of_accounts_is_limited() {
        let statistics = Statistics::default();
        let now = SystemTime::UNIX_EPOCH;
        let many = 2 * PARTS * MAX_ACCOUNTS;
        for at in 0..many {
            statistics.account(&format!("h{at}.example")).count(Outcome::Hit);
        }
        let held = || statistics.parts.iter().map(|part| lock(part).len()).sum::<usize>();
        assert!(held() <= PARTS * MAX_ACCOUNTS);
        let count = statistics.ledger(now).since_start().of("hit");
        assert_eq!(count, u64::try_from(many).unwrap());
        drop(statistics.ledger(now));
        assert_eq!(held(), 0);
    }
}
