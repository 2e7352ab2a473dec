//! The body of an entry while it is written.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::fs::DiskFile;
use crate::fs::size::at_most;

/// A reader of the body of an entry, up to the last written byte. It stays valid after the writer
/// has finished or discarded the entry.
#[derive(Debug, Clone)]
pub struct Tail {
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) path: Arc<Path>,
    pub(super) body_offset: u64,
    pub(super) visible: Arc<AtomicU64>,
}

impl Tail {
    /// The number of bytes of the body that can be read now.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.visible.load(Ordering::Acquire)
    }

    /// Reads at `offset` of the body, at most the length of `buffer`. Returns 0 where nothing is
    /// written yet.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let left = self.available().saturating_sub(offset);
        let Some(buffer) = at_most(buffer, left) else { return Ok(0) };
        let read = self.file.read_at(buffer, self.body_offset.saturating_add(offset));
        read.map_err(|error| Error::disk("read", &self.path, error))
    }
}
