//! Conversion of sizes between memory and files.

/// Converts a size in memory to a size in a file.
pub(crate) fn wide(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

/// Converts a size in a file to a size in memory, if it fits.
pub(crate) fn narrow(size: u64) -> Result<usize, &'static str> {
    usize::try_from(size).map_err(|_| "a length is too large")
}

/// Returns the beginning of `buffer` that `left` bytes can fill. `None` if it is empty.
pub(crate) fn at_most(buffer: &mut [u8], left: u64) -> Option<&mut [u8]> {
    let most = narrow(left).unwrap_or(usize::MAX).min(buffer.len());
    buffer.get_mut(..most).filter(|buffer| !buffer.is_empty())
}
