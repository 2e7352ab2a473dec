//! The calls for the queue, for recursive fetches, and for the state that the next start needs.

use std::sync::{Arc, PoisonError};

use tracing::warn;
use wwwoffle_spool::{AddOutcome, Error, FinishOutcome, Outgoing, ProgramState, RunId};
use wwwoffle_url::Key;

use super::{Store, Unqueued};
use crate::base::mode::ModeSwitch;
use crate::base::owner::Owner;

impl Store {
    /// Adds a request to the queue. If the queue has a request with the same key, the two are
    /// combined.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full, or the request cannot be added: for example, the queue is
    /// full, or the request is invalid or too large.
    pub async fn enqueue(&self, outgoing: Outgoing) -> Result<AddOutcome, Error> {
        self.run(move |spool| spool.queue().add(&outgoing)).await
    }

    /// Adds the requests that follow from a queued request, before that request leaves the queue.
    /// Returns the requests that cannot be queued. Requests of guests are also returned if the
    /// queue is full, because guests may have filled it.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full, or the queue is full. The requests before the failed one are
    /// queued.
    pub async fn enqueue_next(&self, next: Vec<Outgoing>) -> Result<Vec<Unqueued>, Error> {
        self.run(move |spool| {
            let mut unqueued = Vec::new();
            for request in next {
                match spool.queue().add_next(&request) {
                    Ok(_) => {}
                    Err(error)
                        if error.is_too_large()
                            || error.is_invalid()
                            || error.is_share_used_up()
                            || error.is_quota_reached()
                            || error.is_queue_full() && is_guest(&request)
                            || error.is_spelling_refused() =>
                    {
                        unqueued.push(Unqueued { request, error });
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(unqueued)
        })
        .await
    }

    /// Removes a request from the queue after it was answered, unless it was changed after it was
    /// read.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn finish_queued(&self, seen: Outgoing) -> Result<FinishOutcome, Error> {
        self.run(move |spool| spool.queue().finish(&seen)).await
    }

    /// Reads a complete queued request; `None` if it has left the queue.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn queued(&self, key: Key) -> Result<Option<Outgoing>, Error> {
        self.run(move |spool| spool.queue().get(&key)).await
    }

    /// Rewrites a queued request. Returns false if it has left the queue.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full. The old record then stays.
    pub async fn requeue(&self, outgoing: Outgoing) -> Result<bool, Error> {
        self.run(move |spool| spool.queue().update(&outgoing)).await
    }

    /// Removes a request from the queue. Returns false if it was not queued.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn dequeue(&self, key: Key) -> Result<bool, Error> {
        self.run(move |spool| spool.queue().remove(&key)).await
    }

    /// The texts of all recursive fetches.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn runs(&self) -> Result<Vec<(RunId, String)>, Error> {
        self.run(move |spool| {
            let ids = spool.runs()?;
            let text = |id| spool.run(id).map(|text| text.map(|text| (id, text))).transpose();
            ids.into_iter().filter_map(text).collect()
        })
        .await
    }

    /// Writes the text of a recursive fetch.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full.
    pub async fn set_run(&self, id: RunId, text: String) -> Result<(), Error> {
        self.run(move |spool| spool.set_run(id, &text)).await
    }

    /// Removes the text of a recursive fetch. Returns false if there was none.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn remove_run(&self, id: RunId) -> Result<bool, Error> {
        self.run(move |spool| spool.remove_run(id)).await
    }

    /// Moves the text of a recursive fetch to `damaged/`.
    pub async fn set_run_aside(&self, id: RunId, reason: String) {
        // If the text cannot be moved, it stays where it was. The caller has logged that it is
        // damaged.
        let _told = self.run(move |spool| Ok(spool.set_run_aside(id, &reason))).await;
    }

    /// Removes the requests that only this recursive fetch wants from the queue. Returns their
    /// number.
    ///
    /// # Errors
    ///
    /// If the disk fails. The requests before the failed one are removed.
    pub async fn forget_run(&self, id: RunId) -> Result<u64, Error> {
        self.run(move |spool| spool.queue().forget_run(id)).await
    }

    /// Stores the chosen mode for the next start.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full. The next start then has the previous mode.
    pub async fn save_mode(&self, mode: &ModeSwitch) -> Result<(), Error> {
        let mode = mode.clone();
        // The choice is read under the lock. If several calls overlap, the last one writes the
        // latest choice.
        match self.change_state(move |state| state.set_mode(mode.chosen().as_str())).await {
            // With a read-only spool, the next start is always offline.
            Err(error) if error.is_read_only() => Ok(()),
            saved => saved,
        }
    }

    /// The value of a key in the state; `None` if the key has no value.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn remembered(&self, key: &'static str) -> Result<Option<String>, Error> {
        self.run(move |spool| Ok(spool.state()?.0.value(key).map(str::to_owned))).await
    }

    /// Stores a line of text under a key of the state.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full, or `value` is not a single line.
    pub async fn remember(&self, key: &'static str, value: String) -> Result<(), Error> {
        self.change_state(move |state| state.set_value(key, &value)).await
    }

    async fn change_state(
        &self,
        change: impl FnOnce(&mut ProgramState) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        let changing = Arc::clone(&self.changing_state);
        self.run(move |spool| {
            let _changing = changing.lock().unwrap_or_else(PoisonError::into_inner);
            let (mut state, damage) = spool.state()?;
            if let Some(damage) = damage {
                warn!(%damage, "the damaged state was moved to damaged/");
            }
            change(&mut state)?;
            spool.set_state(&state)
        })
        .await
    }
}

/// Whether the request belongs to another machine and was made without a login.
fn is_guest(request: &Outgoing) -> bool {
    matches!(Owner::of_queued(&request.summary.place), Some(Owner::Client(_)))
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use wwwoffle_spool::{Options, Spool};

    use super::*;
    use crate::base::mode::Mode;

    #[tokio::test]
    async fn the_mode_saved_last_is_in_force() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::new(Spool::open(root.path(), &Options::default()).unwrap().0);
        let mode = ModeSwitch::new(Mode::Online);
        mode.set(Mode::Offline);
        let mut saving = pin!(store.save_mode(&mode));
        {
            // Another caller chooses a mode while this call waits for the lock.
            let _first = store.changing_state.lock().unwrap();
            assert!(saving.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            mode.set(Mode::Autodial);
        }
        saving.await.unwrap();
        let (state, _) = store.spool().state().unwrap();
        assert_eq!(state.mode(), Some("autodial"));
    }
}
