//! Downloads: shared, resumed, stalled, and in ranges.

pub(crate) mod ranges;
mod resume;
mod segments;
mod sharing;
mod stalled;
