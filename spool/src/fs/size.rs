//! Conversion of sizes between memory and files.

/// Converts a size in memory to a size in a file.
pub(crate) fn wide(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

/// Converts a size in a file to a size in memory, if it fits.
pub(crate) fn narrow(size: u64) -> Result<usize, &'static str> {
    usize::try_from(size).map_err(|_| "a length is too large")
}
