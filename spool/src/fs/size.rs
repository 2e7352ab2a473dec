//! Sizes in memory and in files.

/// A size in memory as a size of a file.
pub(crate) fn wide(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

/// A size of a file as one in memory, or why it cannot be one.
pub(crate) fn narrow(size: u64) -> Result<usize, &'static str> {
    usize::try_from(size).map_err(|_| "a length too large")
}
