//! The requests of this node that other nodes fetch.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, timeout};
use tracing::{info, warn};
use wwwoffle_spool::Outgoing;
use wwwoffle_url::Key;

use crate::base::error_chain::error_chain;
use crate::fetch::context::FetchContext;
use crate::fetch::one;
use crate::tier::{AnswerPull, AnswerResult, Tier};

/// The largest number of requests that other nodes have at once.
const MAX_GIVEN: usize = 1_000;

/// The number of requests that are given away in one query.
const BATCH: usize = 64;

/// The time for which a response is waited for.
const PULL_WITHIN: Duration = Duration::from_secs(30);

/// The interval at which a request is given away again, in case that the catalogue lost it.
const AGAIN: Duration = Duration::from_secs(10 * 60);

/// A request that another node may fetch.
#[derive(Clone, Copy)]
struct SharableRequest {
    queued: Timestamp,
    /// Whether only a response from after this time counts.
    renew: bool,
}

/// A request that was looked at.
struct GivenRequest {
    queued: Timestamp,
    at: Instant,
    /// Whether the catalogue has it. If not, it must stay at this node.
    is_given: bool,
}

/// The requests that were given away, and those that must stay.
#[derive(Default)]
pub(super) struct GivenRequests {
    looked_at: HashMap<Key, GivenRequest>,
    /// Whether the catalogue has nothing of this node, also not from before its start.
    is_withdrawn: bool,
}

impl GivenRequests {
    pub(super) fn len(&self) -> usize {
        self.looked_at.values().filter(|request| request.is_given).count()
    }

    /// Takes everything back: this node fetches itself.
    pub(super) async fn withdraw_all(&mut self, tier: &Tier) {
        if !self.is_withdrawn && tier.withdraw_all_requests().await {
            self.looked_at.clear();
            self.is_withdrawn = true;
        }
    }

    /// Reads the answers, and gives away what is new.
    pub(super) async fn look(&mut self, context: &Arc<FetchContext>, tier: &Arc<Tier>) {
        self.is_withdrawn = false;
        let wanted = sharable(context, tier);
        let gone: Vec<Key> =
            self.looked_at.keys().filter(|key| !wanted.contains_key(*key)).copied().collect();
        if tier.withdraw_requests(&gone).await {
            self.looked_at.retain(|key, _| !gone.contains(key));
        }
        let mut stale = Vec::new();
        for answer in tier.request_answers().await {
            match answer.result {
                _ if !wanted.contains_key(&answer.key) => stale.push(answer.key),
                AnswerResult::Stored => {
                    self.accept(context, tier, answer.key).await;
                }
                AnswerResult::Failed(reason) => note_failure(context, answer.key, &reason).await,
            }
        }
        tier.withdraw_requests(&stale).await;
        self.give(context, tier, &wanted).await;
    }

    /// Gives away the requests that the catalogue does not have, unless it has their responses.
    async fn give(
        &mut self,
        context: &Arc<FetchContext>,
        tier: &Arc<Tier>,
        wanted: &HashMap<Key, SharableRequest>,
    ) {
        let is_due = |(key, request): &(&Key, &SharableRequest)| {
            self.looked_at
                .get(*key)
                .is_none_or(|given| given.queued != request.queued || given.at.elapsed() >= AGAIN)
        };
        let due: Vec<Key> = wanted.iter().filter(is_due).map(|(key, _)| *key).collect();
        for keys in due.chunks(BATCH) {
            let Some(stored) = tier.stored(keys).await else { return };
            let stored: HashMap<Key, Timestamp> = stored.into_iter().collect();
            let mut requests = Vec::new();
            for key in keys {
                let Some(wish) = wanted.get(key) else { continue };
                let answers = |time: &Timestamp| !wish.renew || *time >= wish.queued;
                let is_there = stored.get(key).is_some_and(answers);
                if is_there && self.accept(context, tier, *key).await {
                    continue;
                }
                if let Some(request) = queued(context, *key).await {
                    requests.push(request);
                }
            }
            let Some(given) = tier.post_requests(&requests).await else { return };
            for request in requests {
                let (key, queued) = (request.summary.place.key(), request.summary.queued);
                let is_given = given.contains(&key);
                self.looked_at.insert(key, GivenRequest { queued, at: Instant::now(), is_given });
            }
        }
    }

    /// Reads a response from the tier, and ends its request. Returns false if it cannot be read.
    async fn accept(&mut self, context: &Arc<FetchContext>, tier: &Arc<Tier>, key: Key) -> bool {
        let Some(outgoing) = queued(context, key).await else { return true };
        // A pull that takes longer goes on, and the next look finds its entry.
        let pulled = timeout(PULL_WITHIN, tier.pull_answer(&outgoing)).await;
        if pulled != Ok(AnswerPull::Stored) {
            return false;
        }
        match one::finish_answered(context, key).await {
            Ok(Some(event)) => {
                info!(url = outgoing.summary.place.url(), "another node has fetched it");
                context.fetcher.send_event(outgoing.summary.place.owner(), event);
            }
            Ok(None) => {}
            Err(error) => warn!(error = error_chain(&error), "a response cannot be recorded"),
        }
        let has_ended = queued(context, key).await.is_none();
        if has_ended && tier.withdraw_requests(&[key]).await {
            self.looked_at.remove(&key);
        }
        has_ended
    }
}

/// The requests that may be given away, the first ones of the queue.
fn sharable(context: &FetchContext, tier: &Tier) -> HashMap<Key, SharableRequest> {
    let mut found = Vec::new();
    context.storage.store.spool().queue().visit(|request| {
        if tier.may_share_request(request) {
            let wish = SharableRequest { queued: request.queued, renew: request.renew };
            found.push((request.position(), request.place.key(), wish));
        }
    });
    if found.len() > MAX_GIVEN {
        found.sort_by_key(|(position, ..)| *position);
        found.truncate(MAX_GIVEN);
    }
    found.into_iter().map(|(_, key, wish)| (key, wish)).collect()
}

/// Records why other nodes have not fetched a request. It still waits for a connection.
async fn note_failure(context: &FetchContext, key: Key, reason: &str) {
    let Some(mut outgoing) = queued(context, key).await else { return };
    let error = format!("another node could not fetch it: {reason}");
    if outgoing.summary.fetching.last_error.as_ref() == Some(&error) {
        return;
    }
    outgoing.summary.fetching.last_error = Some(error);
    if let Err(error) = context.storage.store.requeue(outgoing).await {
        warn!(error = error_chain(&error), "the reason of a failure cannot be recorded");
    }
}

async fn queued(context: &FetchContext, key: Key) -> Option<Outgoing> {
    let read = context.storage.store.queued(key).await;
    read.unwrap_or_else(|error| {
        warn!(error = error_chain(&error), "a request for the archive tier cannot be read");
        None
    })
}
