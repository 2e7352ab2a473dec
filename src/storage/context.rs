//! The context of `storage`: spool, index and their maintenance.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;
use tracing::info;
use wwwoffle_index::Index;

use super::lists;
use super::lists::deletions::Deletions;
use super::lists::sessions::Online;
use super::purge::PurgeState;
use super::store::Store;
use crate::base::context::BaseContext;
use crate::base::mode::ModeSetting;
use crate::base::statistics::Statistics;

/// The context of spool, index and their maintenance.
#[derive(Debug)]
pub struct StorageContext {
    /// The context that all layers share.
    pub base: Arc<BaseContext>,
    /// The spool.
    pub store: Store,
    /// Lists and full-text search of the spool.
    pub index: Index,
    /// Limits how many requests read the index at once.
    pub(crate) index_readers: Semaphore,
    /// The running deletion of a whole list, if any.
    pub deletions: Deletions,
    /// The online sessions, which some lists use.
    online: Mutex<Online>,
    /// The state of purging.
    pub purging: PurgeState,
    /// Counts requests and bytes.
    pub statistics: Arc<Statistics>,
}

impl StorageContext {
    /// The context of this spool and its index.
    #[must_use]
    pub fn new(
        base: Arc<BaseContext>,
        store: Store,
        index: Index,
        statistics: Arc<Statistics>,
    ) -> Self {
        Self {
            base,
            store,
            index,
            index_readers: Semaphore::new(lists::READERS),
            deletions: Deletions::default(),
            online: Mutex::default(),
            purging: PurgeState::default(),
            statistics,
        }
    }

    /// Changes the mode and stores it for the next start. Returns the previous choice.
    ///
    /// # Errors
    ///
    /// If the disk fails. The mode has changed nevertheless, but the next start will use the old
    /// mode.
    pub async fn switch(&self, choice: ModeSetting) -> Result<ModeSetting, wwwoffle_spool::Error> {
        let chosen = self.base.mode.set(choice).0;
        if chosen != choice {
            info!(mode = %choice, was = %chosen, "the mode has changed");
        }
        self.store.save_mode(&self.base.mode).await?;
        Ok(chosen)
    }

    /// Locks the known online sessions.
    pub(crate) fn lock_online(&self) -> MutexGuard<'_, Online> {
        self.online.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
