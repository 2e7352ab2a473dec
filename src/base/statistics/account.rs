//! The counts of one host since the last transfer to the ledger.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wwwoffle_spool::Counts;

use super::outcome::Outcome;
use super::usage::UsageAccount;

/// The name of the count of body bytes sent to clients.
pub const GIVEN: &str = "given";

/// The name of the count of body bytes received from origins.
pub const FETCHED: &str = "fetched";

/// The name of the count of those [`GIVEN`] bytes that did not have to be fetched from an origin.
pub const SAVED: &str = "saved";

/// The name of the count of body bytes that the data saver did not fetch, as far as known.
pub const UNFETCHED: &str = "unfetched";

/// The name of the count of body bytes that were not sent because pictures were recompressed.
pub const UNSENT: &str = "unsent";

/// The counts of one host. Counting is an atomic addition and never blocks.
#[derive(Debug, Default)]
pub struct Account {
    outcomes: [AtomicU64; Outcome::ALL.len()],
    given: AtomicU64,
    fetched: AtomicU64,
    saved: AtomicU64,
    unfetched: AtomicU64,
    unsent: AtomicU64,
}

impl Account {
    /// Counts a request.
    pub fn count(&self, outcome: Outcome) {
        let at = Outcome::ALL.iter().position(|one| *one == outcome);
        if let Some(count) = at.and_then(|at| self.outcomes.get(at)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts bytes sent to a client. `is_saved` says that they did not have to be fetched.
    pub fn count_sent_bytes(&self, bytes: usize, is_saved: bool) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.given.fetch_add(bytes, Ordering::Relaxed);
        if is_saved {
            self.saved.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Counts bytes received from the origin.
    pub fn fetched(&self, bytes: usize) {
        self.fetched.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Counts bytes that the data saver did not fetch.
    pub fn count_unfetched(&self, bytes: u64) {
        add_saturating(&self.unfetched, bytes);
    }

    /// Counts bytes that were not sent because a picture was recompressed.
    pub fn count_unsent(&self, bytes: u64) {
        add_saturating(&self.unsent, bytes);
    }

    /// Returns the counts and resets them.
    pub(super) fn take(&self) -> Counts {
        let mut counts = Counts::default();
        for (outcome, count) in Outcome::ALL.iter().zip(&self.outcomes) {
            counts.add(outcome.as_str(), count.swap(0, Ordering::Relaxed));
        }
        for (name, count) in [
            (GIVEN, &self.given),
            (FETCHED, &self.fetched),
            (SAVED, &self.saved),
            (UNFETCHED, &self.unfetched),
            (UNSENT, &self.unsent),
        ] {
            counts.add(name, count.swap(0, Ordering::Relaxed));
        }
        counts
    }
}

/// Adds to a count of bytes that an origin declares, which must not begin at zero again.
fn add_saturating(count: &AtomicU64, more: u64) {
    let add = |count: u64| Some(count.saturating_add(more));
    // The function always returns a value.
    let _always_added = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
}

/// The counter of one response on its way to its client.
#[derive(Clone, Debug)]
pub struct ResponseCounter {
    account: Arc<Account>,
    outcome: Outcome,
    /// The account of the owner, if usage is counted.
    usage: Option<Arc<UsageAccount>>,
}

impl ResponseCounter {
    /// Counts a request whose response begins now. The bytes of the response are counted later, as
    /// they are sent.
    #[must_use]
    pub fn begin(
        account: Arc<Account>,
        outcome: Outcome,
        usage: Option<Arc<UsageAccount>>,
    ) -> Self {
        let counter = Self { account, outcome, usage };
        counter.count_request();
        counter
    }

    fn count_request(&self) {
        self.account.count(self.outcome);
        if let Some(usage) = &self.usage {
            usage.count(self.outcome);
        }
    }

    /// Counts bytes of the response.
    pub fn count_sent_bytes(&self, bytes: usize) {
        self.account.count_sent_bytes(bytes, self.outcome.saves());
        if let Some(usage) = &self.usage {
            usage.count_sent_bytes(bytes);
        }
    }

    /// Counts one more request with the same outcome, whose response has `bytes` bytes.
    pub fn count_repeat(&self, bytes: usize) {
        self.count_request();
        self.count_sent_bytes(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_declared_bytes_does_not_wrap() {
        let account = Account::default();
        account.count_unfetched(u64::MAX);
        account.count_unfetched(5);
        let counts = account.take();
        assert!(counts.iter().any(|count| count == (UNFETCHED, u64::MAX)));
    }
}
