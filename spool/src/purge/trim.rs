//! Limits for segments and damaged files. The oldest files are removed first. Files set aside
//! recently stay, whatever their size, because a person may want to inspect or repair them.
//!
//! The clock may be wrong, now or when a file was written, so an impossible age is ignored.

use crate::durability::Root;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use crate::durability::{DAMAGED, aside};
use crate::error::{Error, Result};
use crate::fs::FileKind;
use crate::fs::names::names_if_any;
use crate::tree::Tree;
use crate::tree::segments::{PartialList, files};

/// The largest size of `partial/`, in bytes.
pub const MAX_PARTIAL_BYTES: u64 = 16 << 30;

/// Segments of a body to which nothing was added for this long are removed.
pub const MAX_PARTIAL_AGE: SignedDuration = SignedDuration::from_hours(60 * 24);

/// The largest size of `damaged/`, in bytes, not counting recent files.
pub const MAX_DAMAGED_BYTES: u64 = 4 << 30;

/// Files that were set aside longer ago than this are removed.
pub const MAX_DAMAGED_AGE: SignedDuration = SignedDuration::from_hours(365 * 24);

/// Files that were set aside more recently than this stay, whatever their size.
pub const MIN_DAMAGED_AGE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The largest plausible age. A greater age comes from a wrong clock.
const MAX_PLAUSIBLE_AGE: SignedDuration = SignedDuration::from_hours(10 * 365 * 24);

/// The largest number of items held in memory. The remaining ones wait for the next call.
const MAX_HELD: usize = 100_000;

/// The result of [`crate::Spool::trim`].
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct TrimReport {
    /// The number of places whose segments were removed.
    pub partial: u64,
    /// The number of files removed from `damaged/`, without notes.
    pub damaged: u64,
    /// The number of bytes removed.
    pub bytes: u64,
    /// The number of bytes in `damaged/` above the limit that stay because they are recent.
    pub damaged_over: u64,
}

/// Limits for age and size.
#[derive(Debug, Clone, Copy)]
struct TrimBounds {
    bytes: u64,
    age: SignedDuration,
    /// Items younger than this stay, whatever their size.
    spared: Option<SignedDuration>,
}

/// Selects the items to remove. `all` has the time and length of each, in no order. Also returns by
/// how many bytes the remaining items exceed the limit.
fn surplus<T>(
    mut all: Vec<(Timestamp, u64, T)>,
    bounds: TrimBounds,
    now: Timestamp,
) -> (Vec<(u64, T)>, u64) {
    all.sort_by_key(|(time, ..)| *time);
    let mut total = all.iter().fold(0_u64, |sum, (_, len, _)| sum.saturating_add(*len));
    let mut gone = Vec::new();
    for (time, len, one) in all {
        let age = Some(now.duration_since(time)).filter(|age| *age <= MAX_PLAUSIBLE_AGE);
        let is_too_old = age.is_some_and(|age| age > bounds.age);
        let is_spared = bounds.spared.is_some_and(|spared| age.is_none_or(|age| age <= spared));
        if is_too_old || (total > bounds.bytes && !is_spared) {
            total = total.saturating_sub(len);
            gone.push((len, one));
        }
    }
    (gone, total.saturating_sub(bounds.bytes))
}

/// Removes the segments and damaged files that exceed their limits.
pub(crate) fn trim(tree: &Tree) -> Result<TrimReport> {
    let (mut trimmed, now) = (TrimReport::default(), tree.root.disk.now());
    let mut parts = Vec::new();
    for summary in PartialList::new(tree.root.disk.clone(), &tree.root.path)?.take(MAX_HELD) {
        let summary = summary?;
        parts.push((summary.stored, summary.file_len, summary));
    }
    let bounds = TrimBounds { bytes: MAX_PARTIAL_BYTES, age: MAX_PARTIAL_AGE, spared: None };
    for (len, summary) in surplus(parts, bounds, now).0 {
        // Segments added in the meantime stay.
        let after = summary.stored.checked_add(SignedDuration::from_micros(1)).ok();
        if files::remove(tree, &summary.place, after)? {
            trimmed.partial += 1;
            trimmed.bytes = trimmed.bytes.saturating_add(len);
        }
    }
    let (bytes, age) = (MAX_DAMAGED_BYTES, MAX_DAMAGED_AGE);
    let bounds = TrimBounds { bytes, age, spared: Some(MIN_DAMAGED_AGE) };
    let (gone, over) = surplus(damaged(&tree.root)?, bounds, now);
    trimmed.damaged_over = over;
    for (len, path) in gone {
        if tree.root.remove_file(&path)? {
            trimmed.damaged += 1;
            trimmed.bytes = trimmed.bytes.saturating_add(len);
        }
        tree.root.remove_file(&aside::note_of(&path))?;
    }
    Ok(trimmed)
}

/// The files in `damaged/`, with time and length. Foreign names and directories are left out.
fn damaged(root: &Root) -> Result<Vec<(Timestamp, u64, PathBuf)>> {
    let directory = root.join(DAMAGED);
    let mut found = Vec::new();
    for name in names_if_any(&*root.disk, &directory)? {
        let name = name?;
        let Some(time) = name.to_str().and_then(time_of) else { continue };
        let path = directory.join(&name);
        let about = root.disk.about(&path);
        let about = about.map_err(|error| Error::disk("look at", &path, error))?;
        if let Some(about) = about.filter(|about| about.kind != FileKind::Directory) {
            found.push((time, about.len, path));
        }
        if found.len() == MAX_HELD {
            break;
        }
    }
    Ok(found)
}

fn time_of(name: &str) -> Option<Timestamp> {
    let is_note = Path::new(name).extension().is_some_and(|extension| extension == "reason");
    let time = aside::time_of(name).filter(|_| !is_note)?;
    Timestamp::from_microsecond(time).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_files_are_removed_until_the_limits_are_met() {
        let at = |day: i64| Timestamp::from_second(day * 86_400).unwrap();
        let days = |many: i64| SignedDuration::from_hours(24 * many);
        let all =
            || vec![(at(30), 10, 'c'), (at(10), 10, 'a'), (at(40), 10, 'd'), (at(20), 10, 'b')];
        for (bytes, age, spared, now, want, over) in [
            (40, days(90), None, 50, "", 0),
            (39, days(90), None, 50, "a", 0),
            (20, days(90), None, 50, "ab", 0),
            (0, days(90), None, 50, "abcd", 0),
            (40, days(25), None, 50, "ab", 0),
            (15, days(25), None, 50, "abc", 0),
            // Recent files stay even above the limit.
            (20, days(90), Some(days(30)), 50, "a", 10),
            (0, days(25), Some(days(10)), 50, "abc", 10),
            // A file with a time in the future, from a clock that was set back, counts as recent.
            (40, days(25), None, 1, "", 0),
            (0, days(25), Some(days(10)), 1, "", 40),
            // The clock is decades ahead, so ages are ignored.
            (40, days(25), None, 30_000, "", 0),
            (0, days(25), Some(days(10)), 30_000, "", 40),
            (20, days(25), None, 30_000, "ab", 0),
        ] {
            let bounds = TrimBounds { bytes, age, spared };
            let (gone, still) = surplus(all(), bounds, at(now));
            let gone: String = gone.into_iter().map(|(_, one)| one).collect();
            assert_eq!((&*gone, still), (want, over), "{bounds:?} {now}");
        }
    }
}
