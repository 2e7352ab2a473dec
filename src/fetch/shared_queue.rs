//! The queue that the nodes of an archive tier share: offline, other nodes fetch what this one has
//! queued; online, this one fetches for them.
//!
//! The requests of this node stay in its own queue. So it fetches them itself if it gets a
//! connection before another node has fetched them.

mod given;
mod taken;

use std::sync::Arc;
use std::time::Duration;

use self::given::GivenRequests;
use self::taken::TakenRequests;
use crate::fetch::context::FetchContext;
use crate::tier::{QueueRole, Tier};

/// The interval at which the shared queue is looked at without news of a change.
const POLL: Duration = Duration::from_secs(30);

/// The shortest interval between two looks.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// Shares the queue until the daemon stops.
pub async fn share(context: Arc<FetchContext>, tier: Arc<Tier>) {
    tokio::select! {
        () = context.base.tasks.stopping() => {}
        () = share_for_ever(&context, &tier) => {}
    }
}

async fn share_for_ever(context: &Arc<FetchContext>, tier: &Arc<Tier>) {
    let (mut given, mut taken) = (GivenRequests::default(), TakenRequests::default());
    let mut mode = context.base.mode.watch();
    loop {
        tier.wait_for_queue().await;
        match tier.queue_role() {
            QueueRole::Waits => {
                taken.give_back_all(context, tier).await;
                given.look(context, tier).await;
            }
            QueueRole::Fetches => {
                given.withdraw_all(tier).await;
                taken.look(context, tier).await;
            }
            QueueRole::Apart => {
                given.withdraw_all(tier).await;
                taken.give_back_all(context, tier).await;
            }
        }
        tier.count_requests(given.len(), taken.len());
        tokio::time::sleep(LOOK_AFTER).await;
        tokio::select! {
            () = tier.requests_changed() => {}
            () = context.fetcher.queue_changed() => {}
            // The daemon owns the sender of the mode, so the channel stays open.
            _changed = mode.changed() => {}
            () = tokio::time::sleep(POLL) => {}
        }
    }
}
