//! The scale that reduces age limits to free space. See [the rule](super).

use super::expiry::Expiry;
use super::{ONE, PurgeLimits};

/// The number of bits in the lower half of a share. Shares are counted first by their upper half
/// and then by their lower half, so that few sums are needed.
const HALF: u32 = 10;

/// The scale for the limits of a purge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scaling {
    /// Entries with this share or a larger one are purged.
    pub(super) share: u32,
    /// The number of bytes that are still missing at that share.
    pub(super) missing: u64,
}

/// Finds the share for the limits. `expiries` yields the expiry and size of each entry.
pub(super) fn find_scaling(
    expiries: &(impl Iterator<Item = (Expiry, u64)> + Clone),
    limits: &PurgeLimits,
) -> Scaling {
    let add = |sum: u64, (_, size): (Expiry, u64)| sum.saturating_add(size);
    let total = expiries.clone().fold(0, add);
    let going = expiries.clone().filter(|(expiry, _)| is_purged_anyway(*expiry)).fold(0, add);
    let above = limits.max_size.map_or(0, |most| total.saturating_sub(most));
    let below = limits.min_free.map_or(0, |(least, free)| least.saturating_sub(free));
    if above.max(below) <= going {
        return Scaling { share: ONE, missing: 0 };
    }
    let share_for = |to_free: u64| find_share(expiries.clone(), going, to_free);
    let (for_size, _) = share_for(above);
    let for_room = match share_for(below) {
        (share, 0) => share,
        // Purging every entry would not free enough, so no entry is purged to free space.
        _ => ONE,
    };
    let share = for_size.min(for_room);
    let goes = |expiry: Expiry| {
        matches!(expiry, Expiry::Share(own) if own >= share) || is_purged_anyway(expiry)
    };
    let freed = expiries.clone().filter(|(expiry, _)| goes(*expiry)).fold(0, add);
    Scaling { share, missing: above.max(below).saturating_sub(freed) }
}

fn is_purged_anyway(expiry: Expiry) -> bool {
    match expiry {
        Expiry::Now(_) => true,
        Expiry::Share(share) => share >= ONE,
        Expiry::Never(_) => false,
    }
}

/// The largest share, at most 1, that frees `to_free` bytes. Also returns how many bytes are
/// missing even at share 0. `going` bytes are freed in any case.
fn find_share(
    expiries: impl Iterator<Item = (Expiry, u64)> + Clone,
    going: u64,
    to_free: u64,
) -> (u32, u64) {
    let young = expiries.filter_map(|(expiry, size)| match expiry {
        Expiry::Share(share) if share < ONE => Some((share, size)),
        _ => None,
    });
    if going >= to_free {
        return (ONE, 0);
    }
    let upper = young.clone().map(|(share, size)| (share >> HALF, size));
    let (half, freed) = find_bucket(upper, ONE >> HALF, going, to_free);
    let Some(half) = half else { return (0, to_free.saturating_sub(freed)) };
    let lower = young.filter(|(share, _)| share >> HALF == half);
    let lower = lower.map(|(share, size)| (share & ((1 << HALF) - 1), size));
    let (rest, _) = find_bucket(lower, 1 << HALF, freed, to_free);
    ((half << HALF) + rest.unwrap_or_default(), 0)
}

/// Counts down from the last bucket. Returns the bucket that reaches `to_free`, and the bytes freed
/// without it; or `None`, and the bytes freed by all buckets.
fn find_bucket(
    sizes: impl Iterator<Item = (u32, u64)>,
    count: u32,
    going: u64,
    to_free: u64,
) -> (Option<u32>, u64) {
    let mut sums = vec![0_u64; usize::try_from(count).unwrap_or_default()];
    for (at, size) in sizes {
        if let Some(sum) = usize::try_from(at).ok().and_then(|at| sums.get_mut(at)) {
            *sum = sum.saturating_add(size);
        }
    }
    let mut freed = going;
    for (at, sum) in (0..count).zip(&sums).rev() {
        let with_it = freed.saturating_add(*sum);
        if with_it >= to_free {
            return (Some(at), freed);
        }
        freed = with_it;
    }
    (None, freed)
}
