//! Removing or changing a request only if a condition is true.

use wwwoffle_url::Key;

use super::Queue;
use super::files::RequestFile;
use crate::durability::outbox::request_path;
use crate::entry::warc::Reason;
use crate::error::{Error, Result};
use crate::fs::parallel::lock;
use crate::queue::outgoing::{Outgoing, OutgoingSummary};

impl Queue {
    /// Removes a request if `is_meant` is true for its present state. So a request that was added
    /// or renewed since the caller read it stays. Returns false if nothing was removed. `is_meant`
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
        let _changing = lock(&self.tree.outbox.changing);
        if !self.summary(key).is_some_and(|known| is_meant(&known)) {
            return Ok(false);
        }
        self.remove_file(key)
    }

    /// Changes a request, durably: `change` returns its new form, or `None` to leave it unchanged.
    /// Returns false if nothing was changed. `change` must not call the queue.
    ///
    /// # Errors
    ///
    /// Those of [`Queue::get`] and [`Queue::update`].
    pub fn change_if(
        &self,
        key: &Key,
        change: impl FnOnce(Outgoing) -> Option<Outgoing>,
    ) -> Result<bool> {
        let _changing = lock(&self.tree.outbox.changing);
        // The file of a finished request may still exist.
        if self.summary(key).is_none() {
            return Ok(false);
        }
        let known = match self.read(key)? {
            RequestFile::Valid(known) => known,
            RequestFile::Missing => return Ok(false),
            RequestFile::Invalid(reason) => return Err(self.set_aside(key, reason)),
        };
        let Some(changed) = change(known) else { return Ok(false) };
        self.write(&changed)?;
        Ok(true)
    }

    /// Sets the invalid file of a request aside, and removes the request. The caller holds
    /// `changing`.
    pub(super) fn set_aside(&self, key: &Key, reason: Reason) -> Error {
        self.tree.outbox.cancel(&self.tree.root, key);
        lock(&self.index).remove(key);
        Error::damaged(self.tree.root.move_aside(&request_path(&self.tree.root.path, key), reason))
    }
}
