//! Use of the disk, as a bar.

use serde::Serialize;

use crate::base::shown;

/// Width of the bar, in the units of its picture.
const WIDTH: u64 = 1_000;

/// Minimum distance of a line from the ends of the bar.
const LINE: u64 = 8;

/// Divisor of the total space, and a number of bytes. The disk is nearly full if the free space is
/// less than both the total space divided by 20 and 1 GB, or less than the configured minimum.
const SHORT: (u64, u64) = (20, 1_000_000_000);

/// Use of the disk, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// Number of stored entries.
    pub entries: u64,
    /// Size of the stored entries.
    pub kept: u64,
    /// Space that can still be used.
    pub free: u64,
    /// Total space.
    pub total: u64,
    /// Minimum free space, from the configuration.
    pub least: Option<u64>,
    /// Maximum size of the spool after a purge, from the configuration.
    pub most: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct DiskUseView {
    entries: u64,
    kept: String,
    other: String,
    free: String,
    /// SVG path of the stored entries, in a picture of [`WIDTH`] by 10.
    kept_path: String,
    /// SVG path of the other used space, in the same picture.
    other_path: String,
    /// SVG path of a line at the maximum size of the spool.
    most_path: Option<String>,
    /// The maximum size of the spool, as shown to the user.
    most: Option<String>,
    width: u64,
    pub(super) is_short: bool,
}

impl DiskUseView {
    pub(super) fn of(space: DiskUse) -> Self {
        let DiskUse { kept, free, total, .. } = space;
        let used = total.saturating_sub(free);
        // The lengths of the entries may add up to more than the used space, if the file system
        // compresses the files.
        let other = used.saturating_sub(kept);
        let ends_kept = part(kept.min(used), total);
        let ends_used = part(used, total).max(ends_kept);
        let (divisor, most) = SHORT;
        let least = space.least.unwrap_or_default().max((total / divisor).min(most));
        Self {
            entries: space.entries,
            kept: shown::bytes(kept),
            other: shown::bytes(other),
            free: shown::bytes(free),
            kept_path: path(0, ends_kept),
            other_path: path(ends_kept, ends_used),
            most_path: space.most.map(|most| line(part(most, total))),
            most: space.most.map(shown::bytes),
            width: WIDTH,
            is_short: free < least,
        }
    }
}

/// Returns the width of `bytes` in the bar. Unless `bytes` is 0, the width is large enough to be
/// visible.
pub(in crate::site) fn part(bytes: u64, total: u64) -> u64 {
    let part = u128::from(bytes) * u128::from(WIDTH) / u128::from(total.max(1));
    let part = u64::try_from(part).unwrap_or(WIDTH).min(WIDTH);
    if bytes > 0 { part.max(4) } else { part }
}

fn path(from: u64, to: u64) -> String {
    format!("M{from} 0H{to}V10H{from}Z")
}

/// Returns the path of a line across the bar, which is not cut off at either end.
fn line(at: u64) -> String {
    format!("M{} 0V10", at.clamp(LINE, WIDTH - LINE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_never_longer_than_the_disk() {
        for (kept, free, total, kept_path, other_path, is_short) in [
            (250, 500, 1_000, "M0 0H250V10H0Z", "M250 0H500V10H250Z", false),
            (0, 1_000, 1_000, "M0 0H0V10H0Z", "M0 0H0V10H0Z", false),
            (1, 999_998, 1_000_000, "M0 0H4V10H0Z", "M4 0H4V10H4Z", false),
            // The entries are larger than the used space, and the disk is full.
            (5_000, 0, 1_000, "M0 0H1000V10H0Z", "M1000 0H1000V10H1000Z", true),
            (u64::MAX, 0, u64::MAX, "M0 0H1000V10H0Z", "M1000 0H1000V10H1000Z", true),
            (5, 5, 0, "M0 0H0V10H0Z", "M0 0H0V10H0Z", false),
        ] {
            let view = DiskUseView::of(DiskUse { kept, free, total, ..DiskUse::default() });
            let got = (&*view.kept_path, &*view.other_path, view.is_short);
            assert_eq!(got, (kept_path, other_path, is_short), "{kept} {free} {total}");
        }
    }

    #[test]
    fn the_chart_marks_the_size_limit() {
        let of = |most, total| {
            let view = DiskUseView::of(DiskUse { total, most, ..DiskUse::default() });
            (view.most_path, view.most)
        };
        assert_eq!(of(None, 1_000), (None, None));
        for (most, total, path, words) in [
            (250_000, 1_000_000, "M250 0V10", "250 kB"),
            (0, 1_000_000, "M8 0V10", "0 B"),
            // Limits that are not less than the total space.
            (2_000_000, 1_000_000, "M992 0V10", "2.0 MB"),
            (u64::MAX, u64::MAX, "M992 0V10", &*shown::bytes(u64::MAX)),
            (5, 0, "M992 0V10", "5 B"),
        ] {
            let want = (Some(path.to_owned()), Some(words.to_owned()));
            assert_eq!(of(Some(most), total), want, "{most} of {total}");
        }
    }

    #[test]
    fn the_disk_is_short_of_space_below_the_minimum() {
        let of = |free, total, least| {
            DiskUseView::of(DiskUse { free, total, least, ..DiskUse::default() })
        };
        let (gb, tb) = (1_000_000_000, 1_000_000_000_000);
        assert!(!of(2 * gb, tb, None).is_short);
        assert!(of(gb - 1, tb, None).is_short);
        assert!(of(2 * gb, tb, Some(3 * gb)).is_short);
        assert!(of(4 * gb / 100, gb, None).is_short);
    }
}
