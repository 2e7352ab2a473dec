//! The calls of a spool about what is kept in part.

use super::Partial;
use crate::error::Result;
use crate::tree::writer::Writer;

impl Writer {
    /// Adds what is kept of the body from its first byte on, so that the rest can follow: a download that
    /// broke off and is taken up again. Gives how many bytes that is.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_invalid`] when it is of another place or body than this one, which was begun with
    /// [`Spool::begin_resumable`], or something was written already; then nothing was added.
    /// [`crate::Error::is_damaged`] when what is kept is not what was stored; those of [`Writer::write`].
    /// In either case the entry should be begun anew.
    pub fn write_prefix(&mut self, partial: &Partial) -> Result<u64> {
        let is_its = self.part().is_some_and(|part| part.whole.agrees(&partial.whole));
        if !is_its || self.place() != partial.place() || self.written() > 0 {
            let why = "is not the beginning of what is written";
            return Err(crate::error::Error::invalid(
                "what is kept in part",
                why,
                partial.validator(),
            ));
        }
        let prefix = partial.prefix();
        super::copy(&mut partial.verified(), 0..prefix, |piece| self.write(piece))?;
        Ok(prefix)
    }
}
