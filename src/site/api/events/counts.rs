//! The numbers of the queue for the event streams, counted once for all streams of a viewer.

use std::collections::HashMap;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::LOOK_EVERY;
use crate::site::caller::Caller;
use crate::site::status;
use wwwoffle_api::QueueCounts;

/// The last counts of each viewer: an owner, or `None` for administrators, who see all requests.
/// At most one stream at a time counts; older counts than [`LOOK_EVERY`] are discarded.
#[derive(Debug, Default)]
pub(in crate::site) struct SharedCounts(Mutex<HashMap<Option<String>, (Instant, QueueCounts)>>);

impl SharedCounts {
    /// Returns the numbers of those queued requests that the caller may see. They are at most
    /// [`LOOK_EVERY`] old. `None` if they cannot be counted, because the daemon stops.
    pub(super) async fn for_caller(&self, caller: &Caller) -> Option<QueueCounts> {
        let viewer = (!caller.is_administrator()).then(|| caller.owner.to_string());
        let viewing = caller.clone();
        // A queue may be long, so it is not counted on a thread that serves requests.
        let count =
            caller.context.storage.store.run(move |_| Ok(status::counts_for_caller(&viewing)));
        self.count_once(viewer, async { count.await.ok() }).await
    }

    /// Returns the counts of `viewer`. Awaits `count` if there are none of this tick.
    async fn count_once(
        &self,
        viewer: Option<String>,
        count: impl Future<Output = Option<QueueCounts>>,
    ) -> Option<QueueCounts> {
        let mut counted = self.0.lock().await;
        let now = Instant::now();
        counted.retain(|_, (at, _)| now.duration_since(*at) < LOOK_EVERY);
        if let Some((_, counts)) = counted.get(&viewer) {
            return Some(*counts);
        }
        let counts = count.await?;
        counted.insert(viewer, (now, counts));
        Some(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn streams_of_a_viewer_share_the_counts_of_a_tick() {
        let shared = SharedCounts::default();
        let count = async |viewer: Option<&str>, waiting: u64| {
            let counts = QueueCounts { waiting, ..QueueCounts::default() };
            let found = shared.count_once(viewer.map(str::to_owned), async { Some(counts) }).await;
            found.map(|counts| counts.waiting)
        };
        assert_eq!(count(Some("user:ada"), 1).await, Some(1));
        assert_eq!(count(Some("user:ada"), 2).await, Some(1), "the same tick");
        assert_eq!(count(Some("user:bob"), 3).await, Some(3), "another person");
        assert_eq!(count(None, 4).await, Some(4), "an administrator");
        tokio::time::advance(LOOK_EVERY).await;
        assert_eq!(count(Some("user:ada"), 5).await, Some(5), "the next tick");
        assert_eq!(shared.0.lock().await.len(), 1, "old counts are discarded");
    }
}
