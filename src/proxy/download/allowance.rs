//! The limits on responses: those of the data saver, and those while no client reads them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hyper::{HeaderMap, StatusCode};

use crate::base::statistics::usage::UsageAccount;
use crate::net::upstream::{Failure, LeftOutFile};
use crate::proxy::saver::SaverRules;

/// The limits of a download. All except `saver` apply while no client reads it.
#[derive(Clone, Debug, Default)]
pub struct Allowance {
    /// Maximum bytes of a body; `None` means no limit.
    pub ceiling: Option<u64>,
    /// A limit shared with other downloads.
    pub meter: Option<Arc<Meter>>,
    /// The account of the owner for whom the body is fetched, if usage is counted.
    pub usage: Option<Arc<UsageAccount>>,
    /// Whether any length is permitted, even an unknown one, because a person has confirmed it.
    pub is_unbounded: bool,
    /// Whether the request cannot be sent again after the quota is renewed. So the quota does not
    /// end its response.
    pub is_sent_once: bool,
    /// The rules of the data saver, if the response is a sub-resource.
    pub saver: Option<SaverRules>,
}

/// A counter of the bytes of several downloads against a common limit.
#[derive(Debug)]
pub struct Meter {
    used: AtomicU64,
    left: AtomicU64,
    /// The meter that also counts these downloads, and has the limit.
    whole: Option<Arc<Meter>>,
}

impl Default for Meter {
    fn default() -> Self {
        Self { used: AtomicU64::new(0), left: AtomicU64::new(u64::MAX), whole: None }
    }
}

impl Meter {
    /// Returns a meter for some of the downloads that `whole` counts and limits.
    #[must_use]
    pub fn part_of(whole: Arc<Meter>) -> Self {
        Self { whole: Some(whole), ..Self::default() }
    }

    /// Whether another meter also counts these downloads.
    #[must_use]
    pub fn is_part(&self) -> bool {
        self.whole.is_some()
    }

    /// Returns the number of bytes counted since the last call of [`take_used`](Self::take_used).
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Sets how many more bytes may arrive; `None` means no limit.
    pub fn allow(&self, bytes: Option<u64>) {
        self.left.store(bytes.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Returns the number of bytes counted since the last call.
    pub fn take_used(&self) -> u64 {
        self.used.swap(0, Ordering::Relaxed)
    }

    /// Whether the limit is reached.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        if let Some(whole) = &self.whole {
            return whole.is_empty();
        }
        self.left.load(Ordering::Relaxed) == 0
    }

    /// Counts `bytes`. Returns whether the limit is reached.
    pub fn count(&self, bytes: u64) -> bool {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            return whole.count(bytes);
        }
        let less = |left: u64| (left < u64::MAX).then(|| left.saturating_sub(bytes));
        // `u64::MAX` means that there is no limit, so it is not reduced.
        let _unlimited = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        self.is_empty()
    }
}

impl Allowance {
    /// The file that the data saver leaves out, if the response with this head is one.
    pub(super) fn left_out(
        &self,
        status: StatusCode,
        fields: &HeaderMap,
    ) -> Option<Box<LeftOutFile>> {
        self.saver?.check_head(status, fields).err()
    }

    /// Checks the length `total` of a body, if it is known, before any byte has arrived.
    ///
    /// # Errors
    ///
    /// [`Failure::TooLong`] if `total` exceeds the ceiling.
    pub(super) fn check_start(&self, total: Option<u64>) -> Result<(), Failure> {
        match total {
            Some(total) if self.ceiling.is_some_and(|ceiling| total > ceiling) => {
                Err(Failure::TooLong(Some(total)))
            }
            _ => Ok(()),
        }
    }

    /// Counts `new` bytes for the owner of the download. Returns how long to wait before further
    /// bytes are read.
    ///
    /// # Errors
    ///
    /// [`Failure::OverQuota`] if the quota of the owner is used up.
    pub(super) fn count_usage(&self, new: u64) -> Result<Duration, Failure> {
        let Some(usage) = &self.usage else { return Ok(Duration::ZERO) };
        if usage.count_fetched(new) || self.is_sent_once {
            Ok(usage.pace(new, Instant::now()))
        } else {
            Err(Failure::OverQuota)
        }
    }

    /// Checks a body after `new` further bytes have arrived. `here` is the number of bytes so far,
    /// `total` the declared length. A body that `is_read` by a client may always continue.
    ///
    /// # Errors
    ///
    /// [`Failure::TooLong`] if the body exceeds the ceiling. [`Failure::OverBudget`] if the shared
    /// limit is reached.
    pub(crate) fn check_progress(
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
    fn an_oversized_body_is_detected_before_and_during_transfer() {
        let allowance = Allowance { ceiling: Some(100), ..Allowance::default() };
        for (total, is_refused) in [(None, false), (Some(100), false), (Some(101), true)] {
            assert_eq!(allowance.check_start(total).is_err(), is_refused, "{total:?}");
        }
        assert!(allowance.check_progress(100, 100, None, false).is_ok());
        assert!(matches!(
            allowance.check_progress(1, 101, None, false),
            Err(Failure::TooLong(None))
        ));
        assert!(allowance.check_progress(1, 101, None, true).is_ok(), "somebody reads it");
        assert!(Allowance::default().check_start(Some(u64::MAX)).is_ok());
    }

    #[test]
    fn a_shared_budget_ends_for_all_downloads() {
        let meter = Arc::new(Meter::default());
        let allowance = Allowance { meter: Some(Arc::clone(&meter)), ..Allowance::default() };
        assert!(allowance.check_progress(1 << 50, 1 << 50, None, false).is_ok());
        assert_eq!((meter.take_used(), meter.take_used()), (1 << 50, 0));
        meter.allow(Some(10));
        assert!(allowance.check_progress(9, 9, None, false).is_ok());
        assert!(allowance.check_progress(5, 14, None, true).is_ok(), "it counts nevertheless");
        assert!(matches!(allowance.check_progress(0, 14, None, false), Err(Failure::OverBudget)));
        assert!(meter.is_empty());
        assert_eq!(meter.take_used(), 14);
        meter.allow(None);
        assert!(allowance.check_progress(1, 15, None, false).is_ok());
    }
}
