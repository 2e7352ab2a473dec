//! What compressing and expanding have to keep to: room on the disk, and when to stop.

use std::fmt;

/// As much is left free whatever else is said, in bytes: others write at the same time.
const RESERVE: u64 = 8 << 20;

/// What came of [`crate::Spool::compress`] and [`crate::Spool::expand`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewritten {
    /// Its file has another length now; both in bytes.
    Done {
        /// What it had.
        before: u64,
        /// What it has.
        after: u64,
    },
    /// It was so already.
    Already,
    /// Compressed it would take as much of the disk, or hardly less: it stays as it is.
    NotWorth,
    /// Something else has come of the place meanwhile, which is as it came.
    Overtaken,
    /// There is too little room for it on the disk.
    NoRoom,
    /// It was not to go on. It is as it was.
    Stopped,
    /// There is no such entry or version, or it is damaged, and then set aside.
    Missing,
}

/// What a file is rewritten within. For a while both of its forms are on the disk.
pub struct Bounds<'a> {
    spare: u64,
    free: &'a dyn Fn() -> Option<u64>,
    go_on: &'a dyn Fn() -> bool,
}

impl fmt::Debug for Bounds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bounds").field("spare", &self.spare).finish_non_exhaustive()
    }
}

impl<'a> Bounds<'a> {
    /// As much as `spare` is to stay free, and some megabytes at least; `free` tells how much is, both in
    /// bytes, or that nobody knows. `go_on` is asked before each file, and again and again within a large one.
    #[must_use]
    pub fn new(
        spare: u64,
        free: &'a dyn Fn() -> Option<u64>,
        go_on: &'a dyn Fn() -> bool,
    ) -> Bounds<'a> {
        Bounds { spare: spare.max(RESERVE), free, go_on }
    }

    /// None: whatever is free, to the end.
    pub(crate) fn none() -> Bounds<'static> {
        Bounds { spare: 0, free: &|| None, go_on: &|| true }
    }

    /// Whether there is room for nothing at all.
    #[must_use]
    pub fn is_short(&self) -> bool {
        !self.has_room(0)
    }

    /// Whether there is room for a file of so many bytes.
    fn has_room(&self, len: u64) -> bool {
        (self.free)().is_none_or(|free| free >= self.spare.saturating_add(len))
    }

    /// Why nothing of `len` bytes is to be written; `None` where it may be.
    pub(crate) fn refuse(&self, len: u64) -> Option<Rewritten> {
        if !(self.go_on)() {
            return Some(Rewritten::Stopped);
        }
        (!self.has_room(len)).then_some(Rewritten::NoRoom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_begun_where_there_is_room_for_it_and_for_what_is_spared() {
        let mega = 1 << 20;
        for (spare, free, len, want) in [
            (0, None, u64::MAX, None),
            (0, Some(8 * mega), 0, None),
            (0, Some(8 * mega), 1, Some(Rewritten::NoRoom)),
            (100 * mega, Some(101 * mega), mega, None),
            (100 * mega, Some(101 * mega), mega + 1, Some(Rewritten::NoRoom)),
            (100 * mega, Some(99 * mega), 0, Some(Rewritten::NoRoom)),
        ] {
            let told = || free;
            let bounds = Bounds::new(spare, &told, &|| true);
            assert_eq!(bounds.refuse(len), want, "{spare} {free:?} {len}");
        }
        let stopped = Bounds::new(0, &|| Some(0), &|| false);
        assert_eq!(stopped.refuse(1), Some(Rewritten::Stopped));
    }
}
