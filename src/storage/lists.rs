//! Lists and searches in the daemon.
//!
//! The index itself is in `wwwoffle-index`, and all its calls block. Here they run outside the
//! runtime's threads ([`call_index`]), and the index gets the data that it cannot know itself: the
//! texts of pages and the online sessions.

pub mod deletions;
pub mod describe;
pub mod document;
pub mod found;
pub mod query;
pub mod recorded;
pub mod sessions;
pub mod whole;

use std::sync::Arc;

use tracing::{info, warn};
use wwwoffle_index::{Error, Index, ReindexScope, Viewer};

use crate::base::blocking::blocking;
use crate::base::error_chain::error_chain;
use crate::base::owner::Owner;
use crate::storage::context::StorageContext;

/// The maximum number of simultaneous readers, which is the number that the index serves.
pub const READERS: usize = 4;

/// Interval between checks for faults of the index.
const LOOK_FOR_FAULTS: std::time::Duration = std::time::Duration::from_secs(5);

/// The longest time that a response waits until the index has the latest changes.
const LEVEL_WITHIN: std::time::Duration = std::time::Duration::from_secs(1);

/// The time that the index gets for writing when the daemon stops.
const STOP_WITHIN: std::time::Duration = std::time::Duration::from_secs(5);

/// The view of an owner; `None` for the operator of the spool.
#[must_use]
pub fn viewer(owner: Option<&Owner>) -> Viewer {
    owner.map_or(Viewer::Operator, |owner| Viewer::Person(owner.to_string()))
}

/// Calls the index outside the runtime's own threads.
///
/// # Errors
///
/// Those of `ask`.
pub async fn call_index<T: Send + 'static>(
    context: &StorageContext,
    ask: impl FnOnce(&Index) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let index = context.index.clone();
    // Waiting here does not occupy a thread that reads pages from the disk.
    let _place = context.index_readers.acquire().await;
    blocking(move || ask(&index)).await
}

/// Rebuilds the index, or searches for changes by other programs. This may take minutes. During
/// that time the index still serves lists.
///
/// # Errors
///
/// If the index or the spool cannot be read or written.
pub async fn rebuild(context: &StorageContext, what: ReindexScope) -> Result<(), Error> {
    let index = context.index.clone();
    blocking(move || index.reindex(what)).await
}

/// Waits for a short time until the index has all changes so far. If they take longer, or while the
/// index is being rebuilt, lists show an older state.
pub async fn level(context: &StorageContext) {
    let index = context.index.clone();
    let wait = move || index.is_level_within(LEVEL_WITHIN);
    let _level_or_not = tokio::task::spawn_blocking(wait).await;
}

/// Makes the index write its state, and waits for a short time. The next start indexes the rest.
pub async fn stop(context: &StorageContext) {
    let index = context.index.clone();
    let stopped = tokio::task::spawn_blocking(move || index.stop());
    let _stopped_or_late = tokio::time::timeout(STOP_WITHIN, stopped).await;
}

/// Maintains the index while the daemon runs: logs its faults, and records the online sessions and
/// the changes of the mode.
pub async fn maintain_index(context: Arc<StorageContext>) {
    let mut tick = tokio::time::interval(LOOK_FOR_FAULTS);
    let (mut was_ready, changes) = (false, context.lock_online().mode_changes());
    loop {
        tokio::select! {
            () = context.base.tasks.stopping() => return,
            _ = tick.tick() => {}
            () = changes.notified() => {}
        }
        for fault in context.index.faults() {
            warn!(
                error = error_chain(&fault),
                "the index of the spool is being rebuilt or checked"
            );
        }
        let is_ready = context.index.progress().is_ready;
        if is_ready && !was_ready {
            info!("the index of the spool is ready");
        }
        was_ready = is_ready;
        sessions::store_mode_changes(&context).await;
        sessions::record_session(&context).await;
    }
}
