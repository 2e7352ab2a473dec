//! Taking a request off the queue, or changing it, only where it is the one that is meant.

use wwwoffle_url::Key;

use super::{Queue, RequestLookup};
use crate::durability::outbox::request_path;
use crate::entry::warc::Reason;
use crate::error::{Error, Result};
use crate::fs::parallel::lock;
use crate::queue::outgoing::{Outgoing, OutgoingSummary};

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
        let _changing = lock(&self.tree.outbox.changing);
        if !self.summary(key).is_some_and(|known| is_meant(&known)) {
            return Ok(false);
        }
        self.remove_file(key)
    }

    /// Changes a request as it is now, durably: `change` tells what it is from then on, or nothing where it is
    /// not the one that is meant. False when nothing was changed. `change` must not call the queue.
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
        // One that is answered may have its file still.
        if self.summary(key).is_none() {
            return Ok(false);
        }
        let known = match self.read(key)? {
            RequestLookup::Request(known) => known,
            RequestLookup::Missing => return Ok(false),
            RequestLookup::Bad(reason) => return Err(self.set_aside(key, reason)),
        };
        let Some(changed) = change(known) else { return Ok(false) };
        self.write(&changed)?;
        Ok(true)
    }

    /// Sets the file of a request aside that is none, and forgets the request. `changing` is held.
    pub(super) fn set_aside(&self, key: &Key, reason: Reason) -> Error {
        self.tree.outbox.forget(&self.tree.root, key);
        lock(&self.index).remove(key);
        Error::damaged(self.tree.root.move_aside(&request_path(&self.tree.root.path, key), reason))
    }
}
