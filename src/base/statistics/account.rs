//! What is counted of one host, since it was last taken into the books.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wwwoffle_spool::Counts;

use super::outcome::Outcome;

/// The name of the bytes of bodies that clients got.
pub const GIVEN: &str = "given";

/// The name of the bytes of bodies that came from origins.
pub const FETCHED: &str = "fetched";

/// The name of those of [`GIVEN`] that did not have to come from an origin for their client.
pub const SAVED: &str = "saved";

/// What was done for one host. Counting is adding to one number; nobody waits for anybody.
#[derive(Debug, Default)]
pub struct Account {
    outcomes: [AtomicU64; Outcome::ALL.len()],
    given: AtomicU64,
    fetched: AtomicU64,
    saved: AtomicU64,
}

impl Account {
    /// Counts a request.
    pub fn count(&self, outcome: Outcome) {
        let at = Outcome::ALL.iter().position(|one| *one == outcome);
        if let Some(count) = at.and_then(|at| self.outcomes.get(at)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts bytes that a client got, and whether they were saved.
    pub fn gave(&self, bytes: usize, is_saved: bool) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.given.fetch_add(bytes, Ordering::Relaxed);
        if is_saved {
            self.saved.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Counts bytes that came from the origin.
    pub fn fetched(&self, bytes: usize) {
        self.fetched.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Takes out what was counted.
    pub(super) fn take(&self) -> Counts {
        let mut counts = Counts::default();
        for (outcome, count) in Outcome::ALL.iter().zip(&self.outcomes) {
            counts.add(outcome.as_str(), count.swap(0, Ordering::Relaxed));
        }
        for (name, count) in [(GIVEN, &self.given), (FETCHED, &self.fetched), (SAVED, &self.saved)]
        {
            counts.add(name, count.swap(0, Ordering::Relaxed));
        }
        counts
    }
}

/// One answer on its way to its client, as far as it is counted.
#[derive(Clone, Debug)]
pub struct Given {
    account: Arc<Account>,
    outcome: Outcome,
}

impl Given {
    /// Counts a request that is answered now; the bytes of its answer are counted as they go.
    #[must_use]
    pub fn begin(account: Arc<Account>, outcome: Outcome) -> Self {
        account.count(outcome);
        Self { account, outcome }
    }

    /// Counts bytes of it.
    pub fn gave(&self, bytes: usize) {
        self.account.gave(bytes, self.outcome.saves());
    }

    /// Counts the same request once more, that is answered by so many bytes.
    pub fn again(&self, bytes: usize) {
        self.account.count(self.outcome);
        self.gave(bytes);
    }
}
