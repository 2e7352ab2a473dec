//! How far an entry is on its way out: by itself, and for the sake of others.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use super::{Because, Candidate, Excluded, GRACE, Limit, Limits, ONE, Why};

/// A clock that says an earlier time had not been set (that of a machine without a battery begins in 1970 or
/// 1980): 1990-01-01.
const CLOCK_IS_SET: Timestamp = Timestamp::constant(631_152_000, 0);

/// How far an entry is on its way. The smaller stays longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Expiry {
    /// It never goes.
    Never(Because),
    /// At a share.
    Share(u32),
    /// It goes in any case.
    Now(Why),
}

/// Reasons that never go, by their place in a [`ExpiryMark`], in the order of [`Because`].
const NEVER: [Because; 3] = [Because::Recent, Because::NoAge, Because::Pinned];

/// As many marks are before that of the smallest share.
const BEFORE: u32 = 3;

/// The same of those that go in any case, from the last mark that is one backwards.
const NOW: [Why; 2] = [Why::NeverKept, Why::NeverGot];

/// A way, or none, in four bytes and the same order; none is last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ExpiryMark(u32);

impl Default for ExpiryMark {
    fn default() -> ExpiryMark {
        ExpiryMark::NONE
    }
}

impl fmt::Debug for ExpiryMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.way().fmt(f)
    }
}

impl ExpiryMark {
    pub(super) const NONE: ExpiryMark = ExpiryMark(u32::MAX);

    pub(super) fn way(self) -> Option<Expiry> {
        let at = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
        // Shares lie between both.
        let from_end = (u32::MAX - self.0).checked_sub(1)?;
        let now = NOW.get(at(from_end)).map(|why| Expiry::Now(*why));
        let never = NEVER.get(at(self.0)).map(|because| Expiry::Never(*because));
        now.or(never).or_else(|| Some(Expiry::Share(self.0.saturating_sub(BEFORE))))
    }

    /// The one of both that is there, or stays longer.
    pub(super) fn or_longer(self, other: ExpiryMark) -> ExpiryMark {
        self.min(other)
    }

    pub(super) fn or(self, other: ExpiryMark) -> ExpiryMark {
        if self == ExpiryMark::NONE { other } else { self }
    }
}

impl From<Expiry> for ExpiryMark {
    fn from(way: Expiry) -> ExpiryMark {
        match way {
            Expiry::Never(because) => {
                // What stays for the sake of others is no way of its own.
                let at = NEVER.iter().position(|one| *one == because).unwrap_or_default();
                ExpiryMark(u32::try_from(at).unwrap_or_default())
            }
            Expiry::Share(share) => ExpiryMark(share.min(MAX_SHARE) + BEFORE),
            Expiry::Now(Why::NeverGot) => ExpiryMark(u32::MAX - 2),
            Expiry::Now(_) => ExpiryMark(u32::MAX - 1),
        }
    }
}

/// The largest share that is told from others: that of what is four thousand times as old as it may be.
const MAX_SHARE: u32 = u32::MAX - 8;

/// The way of what lives as long as others do. What is never got or kept is of no use to them either.
pub(super) fn as_long_as(own: Expiry, others: ExpiryMark) -> Expiry {
    match (own, others.way()) {
        (Expiry::Share(_), Some(others)) => own.min(others),
        _ => own,
    }
}

/// How old an entry is, by its last use or by when it was stored.
#[must_use]
pub fn age(candidate: &Candidate, by_stored: bool, now: Timestamp) -> Duration {
    let stored = candidate.stored;
    let since = if by_stored { stored } else { stored.max(candidate.used) };
    // What is from the future is new, and so is what a clock dated that had not been set.
    let is_dated = (if by_stored { stored } else { candidate.used }) >= CLOCK_IS_SET;
    let age = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    if is_dated { age } else { Duration::ZERO }
}

/// The way of an entry by itself.
pub(super) fn way(candidate: &Candidate, limits: &Limits, now: Timestamp) -> Expiry {
    if candidate.is_pinned {
        return Expiry::Never(Because::Pinned);
    }
    let age = age(candidate, limits.by_stored, now);
    match candidate.limit {
        Limit::Excluded(Excluded::NeverGot) => Expiry::Now(Why::NeverGot),
        Limit::Excluded(Excluded::NeverKept) => Expiry::Now(Why::NeverKept),
        Limit::Never => Expiry::Never(Because::NoAge),
        Limit::At(_) if age < GRACE => Expiry::Never(Because::Recent),
        Limit::At(limit) => {
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
    fn a_mark_is_a_way_in_the_same_order() {
        let ways = [
            Expiry::Never(Because::Recent),
            Expiry::Never(Because::NoAge),
            Expiry::Never(Because::Pinned),
            Expiry::Share(0),
            Expiry::Share(ONE),
            Expiry::Share(MAX_SHARE),
            Expiry::Now(Why::NeverGot),
            Expiry::Now(Why::NeverKept),
        ];
        assert!(ways.is_sorted());
        let marks = ways.map(ExpiryMark::from);
        assert!(marks.is_sorted() && marks[7] < ExpiryMark::NONE);
        assert_eq!(marks.map(|mark| mark.way().unwrap()), ways);
        assert_eq!(ExpiryMark::NONE.way(), None);
    }
}
