//! Resuming a download from its segments.

use super::Partial;
use crate::error::Result;
use crate::tree::writer::Writer;

impl Writer {
    /// Adds the leading bytes of the body from segments, to resume a download that broke off.
    /// Returns their number. The entry must be begun with [`crate::Spool::begin_resumable`].
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_invalid`] if the segments are of another place or body than this entry,
    /// or if bytes were written already; nothing is then added. [`crate::Error::is_damaged`] if a
    /// segment is damaged; those of [`Writer::write`]. In the last two cases begin the entry again.
    pub fn write_prefix(&mut self, partial: &Partial) -> Result<u64> {
        let is_its = self.part().is_some_and(|part| part.whole.is_compatible_with(&partial.whole));
        if !is_its || self.place() != partial.place() || self.written() > 0 {
            let why = "do not belong to the entry being written";
            return Err(crate::error::Error::invalid("the segments", why, partial.validator()));
        }
        let prefix = partial.prefix();
        partial.verified().copy_to(0..prefix, |piece| self.write(piece))?;
        Ok(prefix)
    }
}
