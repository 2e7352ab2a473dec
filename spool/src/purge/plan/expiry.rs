//! The expiry of an entry: its own expiry, and the expiry that results from the entries that need
//! it.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use super::{
    EntryLimit, Exclusion, GRACE, KeepReason, ONE, PurgeCandidate, PurgeLimits, PurgeReason,
};

/// 1990-01-01. A clock that shows an earlier time was never set: machines without a battery start
/// in 1970 or 1980.
const CLOCK_IS_SET: Timestamp = Timestamp::constant(631_152_000, 0);

/// The expiry of an entry. An entry with a smaller value stays longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Expiry {
    /// The entry is never purged.
    Never(KeepReason),
    /// The age of the entry divided by its limit, times [`ONE`]. The entry is purged if the plan
    /// purges at this share or a smaller one.
    Share(u32),
    /// The entry is always purged.
    Now(PurgeReason),
}

/// The reasons why an entry is never purged. Their positions are the first values of an
/// [`ExpiryMark`], in the order of [`KeepReason`].
const NEVER: [KeepReason; 3] = [KeepReason::Recent, KeepReason::NoAge, KeepReason::Pinned];

/// The number of values of an [`ExpiryMark`] before the smallest share: one for each of [`NEVER`].
const BEFORE: u32 = 3;

/// The reasons why an entry is always purged. Their positions are the last values of an
/// [`ExpiryMark`], counted from the end.
const NOW: [PurgeReason; 2] = [PurgeReason::NeverKept, PurgeReason::NeverGot];

/// An optional expiry in four bytes. Values have the order of expiries; the last value means no
/// expiry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ExpiryMark(u32);

impl Default for ExpiryMark {
    fn default() -> ExpiryMark {
        ExpiryMark::NONE
    }
}

impl fmt::Debug for ExpiryMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expiry().fmt(f)
    }
}

impl ExpiryMark {
    pub(super) const NONE: ExpiryMark = ExpiryMark(u32::MAX);

    pub(super) fn expiry(self) -> Option<Expiry> {
        let at = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
        // The values between both ends are shares.
        let from_end = (u32::MAX - self.0).checked_sub(1)?;
        let now = NOW.get(at(from_end)).map(|why| Expiry::Now(*why));
        let never = NEVER.get(at(self.0)).map(|because| Expiry::Never(*because));
        now.or(never).or_else(|| Some(Expiry::Share(self.0.saturating_sub(BEFORE))))
    }

    pub(super) fn or(self, other: ExpiryMark) -> ExpiryMark {
        if self == ExpiryMark::NONE { other } else { self }
    }
}

impl From<Expiry> for ExpiryMark {
    fn from(expiry: Expiry) -> ExpiryMark {
        match expiry {
            Expiry::Never(because) => {
                // Other reasons, for example that other entries need the entry, never occur in an
                // [`Expiry`].
                let at = NEVER.iter().position(|one| *one == because).unwrap_or_default();
                ExpiryMark(u32::try_from(at).unwrap_or_default())
            }
            Expiry::Share(share) => ExpiryMark(share.min(MAX_SHARE) + BEFORE),
            Expiry::Now(PurgeReason::NeverGot) => ExpiryMark(u32::MAX - 2),
            Expiry::Now(_) => ExpiryMark(u32::MAX - 1),
        }
    }
}

/// The largest share: the age of the entry is four thousand times its limit.
const MAX_SHARE: u32 = u32::MAX - 8;

/// The expiry of an entry that lives at least as long as the entries that need it. An entry that
/// would never be fetched or stored is useless to them, so they do not extend its life.
pub(super) fn as_long_as(own: Expiry, others: ExpiryMark) -> Expiry {
    match (own, others.expiry()) {
        (Expiry::Share(_), Some(others)) => own.min(others),
        _ => own,
    }
}

/// The time since an entry was last used or stored, or since it was stored if `by_stored`.
#[must_use]
pub fn age(candidate: &PurgeCandidate, by_stored: bool, now: Timestamp) -> Duration {
    let stored = candidate.stored;
    let since = if by_stored { stored } else { stored.max(candidate.used) };
    // A time in the future counts as now, and so does a time from a clock that was not set.
    let is_dated = (if by_stored { stored } else { candidate.used }) >= CLOCK_IS_SET;
    let age = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    if is_dated { age } else { Duration::ZERO }
}

/// The expiry of an entry alone, ignoring the entries that need it.
pub(super) fn own_expiry(
    candidate: &PurgeCandidate,
    limits: &PurgeLimits,
    now: Timestamp,
) -> Expiry {
    if candidate.is_pinned {
        return Expiry::Never(KeepReason::Pinned);
    }
    let age = age(candidate, limits.by_stored, now);
    match candidate.limit {
        EntryLimit::Excluded(Exclusion::NeverGot) => Expiry::Now(PurgeReason::NeverGot),
        EntryLimit::Excluded(Exclusion::NeverKept) => Expiry::Now(PurgeReason::NeverKept),
        EntryLimit::Never => Expiry::Never(KeepReason::NoAge),
        EntryLimit::At(_) if age < GRACE => Expiry::Never(KeepReason::Recent),
        EntryLimit::At(limit) => {
            let (age, limit) = (u128::from(age.as_secs()), u128::from(limit.as_secs().max(1)));
            let share = u32::try_from(age * u128::from(ONE) / limit).unwrap_or(MAX_SHARE);
            Expiry::Share(share.min(MAX_SHARE))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiry_marks_preserve_order() {
        let expiries = [
            Expiry::Never(KeepReason::Recent),
            Expiry::Never(KeepReason::NoAge),
            Expiry::Never(KeepReason::Pinned),
            Expiry::Share(0),
            Expiry::Share(ONE),
            Expiry::Share(MAX_SHARE),
            Expiry::Now(PurgeReason::NeverGot),
            Expiry::Now(PurgeReason::NeverKept),
        ];
        assert!(expiries.is_sorted());
        let marks = expiries.map(ExpiryMark::from);
        assert!(marks.is_sorted() && marks[7] < ExpiryMark::NONE);
        assert_eq!(marks.map(|mark| mark.expiry().unwrap()), expiries);
        assert_eq!(ExpiryMark::NONE.expiry(), None);
    }
}
