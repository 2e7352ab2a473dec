//! The limits for compressing and expanding: free disk space, and when to stop.

use std::fmt;

/// The least number of bytes that a caller of [`RewriteBounds::new`] leaves free on the disk,
/// because other programs write at the same time.
const RESERVE: u64 = 8 << 20;

/// The result of [`crate::Spool::compress`] and [`crate::Spool::expand`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewriteOutcome {
    /// The file was rewritten. Both lengths are in bytes.
    Done {
        /// The old length.
        before: u64,
        /// The new length.
        after: u64,
    },
    /// The file already had the requested form.
    Already,
    /// Compression would save too little disk space. The file is unchanged.
    NotWorth,
    /// The entry of the place was changed in the meantime. The changed entry is not rewritten.
    Overtaken,
    /// The disk has too little free space.
    NoRoom,
    /// `go_on` of [`RewriteBounds::new`] returned false before the end. The file is unchanged.
    Stopped,
    /// There is no such entry or version, or it is damaged. If its body is damaged, it was set
    /// aside.
    Missing,
}

/// The limits for rewriting a file. During the rewrite, both the old and the new file are on the
/// disk.
pub struct RewriteBounds<'a> {
    spare: u64,
    free: &'a dyn Fn() -> Option<u64>,
    go_on: &'a dyn Fn() -> bool,
}

impl fmt::Debug for RewriteBounds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bounds").field("spare", &self.spare).finish_non_exhaustive()
    }
}

impl<'a> RewriteBounds<'a> {
    /// Creates limits that keep at least `spare` bytes free, and never less than 8 MiB. `free`
    /// returns the free bytes of the disk, or `None` if they are unknown; then the space is not
    /// limited. `go_on` is called before each file, and repeatedly within a large one; when it
    /// returns false, the work stops.
    #[must_use]
    pub fn new(
        spare: u64,
        free: &'a dyn Fn() -> Option<u64>,
        go_on: &'a dyn Fn() -> bool,
    ) -> RewriteBounds<'a> {
        RewriteBounds { spare: spare.max(RESERVE), free, go_on }
    }

    pub(crate) fn unlimited() -> RewriteBounds<'static> {
        RewriteBounds { spare: 0, free: &|| None, go_on: &|| true }
    }

    /// Whether the disk already has less free space than must stay free.
    #[must_use]
    pub fn is_short(&self) -> bool {
        !self.has_room(0)
    }

    /// Whether there is room for a file of this length.
    fn has_room(&self, len: u64) -> bool {
        (self.free)().is_none_or(|free| free >= self.spare.saturating_add(len))
    }

    /// Returns why a file of `len` bytes must not be written, or `None` if it may be.
    pub(crate) fn refuse(&self, len: u64) -> Option<RewriteOutcome> {
        if !(self.go_on)() {
            return Some(RewriteOutcome::Stopped);
        }
        (!self.has_room(len)).then_some(RewriteOutcome::NoRoom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewrite_needs_space_for_the_file_and_the_reserve() {
        let mega = 1 << 20;
        for (spare, free, len, want) in [
            (0, None, u64::MAX, None),
            (0, Some(8 * mega), 0, None),
            (0, Some(8 * mega), 1, Some(RewriteOutcome::NoRoom)),
            (100 * mega, Some(101 * mega), mega, None),
            (100 * mega, Some(101 * mega), mega + 1, Some(RewriteOutcome::NoRoom)),
            (100 * mega, Some(99 * mega), 0, Some(RewriteOutcome::NoRoom)),
        ] {
            let available = || free;
            let bounds = RewriteBounds::new(spare, &available, &|| true);
            assert_eq!(bounds.refuse(len), want, "{spare} {free:?} {len}");
        }
        let stopped = RewriteBounds::new(0, &|| Some(0), &|| false);
        assert_eq!(stopped.refuse(1), Some(RewriteOutcome::Stopped));
    }
}
