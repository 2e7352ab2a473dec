//! How much of an answer may come that nobody reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::net::upstream::Failure;

/// What a download may bring, for as long as no client reads it.
#[derive(Clone, Debug, Default)]
pub struct Allowance {
    /// A body may have so many bytes; `None`: as many as it has.
    pub ceiling: Option<u64>,
    /// What is shared with others.
    pub meter: Option<Arc<Meter>>,
    /// It may have any length, and none need be known: a person has said so.
    pub is_unbounded: bool,
}

/// Counts what many downloads bring together, and says when it is enough.
#[derive(Debug)]
pub struct Meter {
    used: AtomicU64,
    left: AtomicU64,
}

impl Default for Meter {
    fn default() -> Self {
        Self { used: AtomicU64::new(0), left: AtomicU64::new(u64::MAX) }
    }
}

impl Meter {
    /// Says how many bytes may come from now on; `None`: any number.
    pub fn allow(&self, bytes: Option<u64>) {
        self.left.store(bytes.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// How many bytes have come since this was last asked.
    pub fn take_used(&self) -> u64 {
        self.used.swap(0, Ordering::Relaxed)
    }

    /// Whether nothing more may come.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// So many bytes have come. Says whether that was the last that may.
    pub fn count(&self, bytes: u64) -> bool {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        let less = |left: u64| (left < u64::MAX).then(|| left.saturating_sub(bytes));
        // Without a limit nothing changes.
        let _unlimited = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        self.is_empty()
    }
}

impl Allowance {
    /// Judges a body that has so many bytes in all, if that is known, before any of it has come.
    ///
    /// # Errors
    ///
    /// Why it may not come.
    pub(super) fn begins(&self, total: Option<u64>) -> Result<(), Failure> {
        match total {
            Some(total) if self.ceiling.is_some_and(|ceiling| total > ceiling) => {
                Err(Failure::TooLong(Some(total)))
            }
            _ => Ok(()),
        }
    }

    /// Judges what has come: `new` bytes of it just now, `here` in all, of a body that has `total`. What
    /// `is_read` by a client may go on in any case.
    ///
    /// # Errors
    ///
    /// Why no more may come.
    pub(crate) fn comes(
        &self,
        new: u64,
        here: u64,
        total: Option<u64>,
        is_read: bool,
    ) -> Result<(), Failure> {
        if let Some(meter) = &self.meter {
            meter.count(new);
        }
        if is_read {
            return Ok(());
        }
        if self.ceiling.is_some_and(|ceiling| here > ceiling) {
            return Err(Failure::TooLong(total));
        }
        match &self.meter {
            Some(meter) if meter.is_empty() => Err(Failure::OverBudget),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_above_the_ceiling_is_noticed_before_and_while_it_comes() {
        let allowance = Allowance { ceiling: Some(100), ..Allowance::default() };
        for (total, is_refused) in [(None, false), (Some(100), false), (Some(101), true)] {
            assert_eq!(allowance.begins(total).is_err(), is_refused, "{total:?}");
        }
        assert!(allowance.comes(100, 100, None, false).is_ok());
        assert!(matches!(allowance.comes(1, 101, None, false), Err(Failure::TooLong(None))));
        assert!(allowance.comes(1, 101, None, true).is_ok(), "somebody reads it");
        assert!(Allowance::default().begins(Some(u64::MAX)).is_ok());
    }

    #[test]
    fn a_meter_runs_out_for_all_who_share_it() {
        let meter = Arc::new(Meter::default());
        let allowance = Allowance { meter: Some(Arc::clone(&meter)), ..Allowance::default() };
        assert!(allowance.comes(1 << 50, 1 << 50, None, false).is_ok());
        assert_eq!((meter.take_used(), meter.take_used()), (1 << 50, 0));
        meter.allow(Some(10));
        assert!(allowance.comes(9, 9, None, false).is_ok());
        assert!(allowance.comes(5, 14, None, true).is_ok(), "it counts nevertheless");
        assert!(matches!(allowance.comes(0, 14, None, false), Err(Failure::OverBudget)));
        assert!(meter.is_empty());
        assert_eq!(meter.take_used(), 14);
        meter.allow(None);
        assert!(allowance.comes(1, 15, None, false).is_ok());
    }
}
