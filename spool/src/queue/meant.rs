//! Taking a request off the queue only where it is the one that is meant.

use wwwoffle_url::Key;

use super::Queue;
use crate::error::Result;
use crate::outgoing::OutgoingSummary;
use crate::store::lock;

impl Queue {
    /// Takes a request off the queue if that is what is meant, as it is now: one that has come, or was
    /// asked for once more, since somebody looked stays. False when nothing was taken off. `is_meant`
    /// must not call the queue.
    ///
    /// # Errors
    ///
    /// Those of [`Queue::remove`].
    pub fn remove_if(
        &self,
        key: &Key,
        is_meant: impl FnOnce(&OutgoingSummary) -> bool,
    ) -> Result<bool> {
        let _changing = lock(&self.store.outbox.changing);
        if !self.summary(key).is_some_and(|known| is_meant(&known)) {
            return Ok(false);
        }
        self.remove_file(key)
    }
}
