//! The requests of other nodes that this node fetches.
//!
//! They are in the queue of this node like its own, without an owner, and reach only public
//! addresses. After a crash they are simply requests of this node: their lease ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use tracing::{debug, warn};
use wwwoffle_http::head;
use wwwoffle_spool::{
    AddOutcome, Entry, Outgoing, Place, RequestKind, RequestState, RequesterLocation, Secrets,
};
use wwwoffle_url::Key;

use crate::base::error_chain::error_chain;
use crate::base::owner::{Owner, Requester};
use crate::fetch::context::FetchContext;
use crate::fetch::want;
use crate::tier::{TakenRequest, Tier};

/// The largest number of requests of other nodes at once.
const MAX_TAKEN: usize = 32;

/// The time after which a request is given back that has no response yet.
const HELD_FOR: Duration = Duration::from_secs(60 * 60);

/// The reason if the response stays at this node.
const NOT_SHARED: &str = "its response is not public";

/// A request that was taken.
struct HeldRequest {
    place: Place,
    since: Instant,
    /// When the other node has queued it. An older response does not answer it.
    queued: Timestamp,
}

/// The requests that were taken.
#[derive(Default)]
pub(super) struct TakenRequests(HashMap<Key, HeldRequest>);

/// How far a taken request is.
enum TakenState {
    /// It waits in the queue, or for its entry to be added to the tier.
    Running,
    /// The tier has its entry.
    Stored,
    /// It has failed.
    Failed(String),
}

impl TakenRequests {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Gives everything back: this node has no connection any more.
    pub(super) async fn give_back_all(&mut self, context: &FetchContext, tier: &Tier) {
        for key in std::mem::take(&mut self.0).into_keys() {
            tier.give_back(&key, None).await;
            leave_queue(context, key).await;
        }
    }

    /// Reports the results, and takes more if there is room.
    pub(super) async fn look(&mut self, context: &Arc<FetchContext>, tier: &Arc<Tier>) {
        self.renew(context, tier).await;
        self.report(context, tier).await;
        let room = MAX_TAKEN.saturating_sub(self.0.len());
        if room == 0 || context.fetcher.spent_budget().is_some() {
            return;
        }
        for request in tier.take_requests(room).await {
            let (key, place, queued) = (request.place.key(), request.place.clone(), request.queued);
            if enqueue(context, request).await {
                self.0.insert(key, HeldRequest { place, since: Instant::now(), queued });
                context.fetcher.wake();
            } else {
                tier.refuse_request(&key).await;
            }
        }
    }

    /// Renews the leases, and forgets requests that are not this node's any more.
    async fn renew(&mut self, context: &FetchContext, tier: &Tier) {
        let keys: Vec<Key> = self.0.keys().copied().collect();
        let Some(kept) = tier.renew_requests(&keys).await else { return };
        for key in keys {
            if !kept.contains(&key) && self.0.remove(&key).is_some() {
                leave_queue(context, key).await;
            }
        }
    }

    async fn report(&mut self, context: &FetchContext, tier: &Tier) {
        let keys: Vec<Key> = self.0.keys().copied().collect();
        for key in keys {
            let Some(held) = self.0.get(&key) else { continue };
            match state(context, tier, &key, held).await {
                TakenState::Running => continue,
                TakenState::Stored => {
                    if !tier.confirm_request(&key).await {
                        continue;
                    }
                }
                TakenState::Failed(reason) => tier.give_back(&key, Some(&reason)).await,
            }
            self.0.remove(&key);
            leave_queue(context, key).await;
        }
    }
}

async fn state(context: &FetchContext, tier: &Tier, key: &Key, held: &HeldRequest) -> TakenState {
    let is_late = held.since.elapsed() >= HELD_FOR;
    if let Some(request) = context.storage.store.spool().queue().summary(key) {
        return match request.fetching.state {
            // The reason itself may name a parent proxy or an address of this network.
            RequestState::Failed { status, .. } => TakenState::Failed(status.map_or_else(
                || "its origin cannot be reached from there".to_owned(),
                |status| format!("its origin responded with {status}"),
            )),
            RequestState::Asking { .. } => TakenState::Failed(
                "it is larger than `ask-above` at the node that fetched it".to_owned(),
            ),
            RequestState::Waiting if is_late && !context.fetcher.is_active(key) => {
                TakenState::Failed("it waited too long".to_owned())
            }
            RequestState::Waiting => TakenState::Running,
        };
    }
    let copies = match context.storage.store.entries(&held.place).await {
        Ok(copies) => copies,
        Err(error) => {
            warn!(error = error_chain(&error), "a response for another node cannot be read");
            return TakenState::Running;
        }
    };
    let newest = copies.iter().map(|copy| &copy.entry).max_by_key(|entry| entry.stored());
    let is_answer = |entry: &&Entry| entry.checked() >= held.queued && tier.shares_entry(entry);
    let Some(newest) = newest.filter(is_answer) else {
        return TakenState::Failed(NOT_SHARED.to_owned());
    };
    let stored = tier.stored(&[*key]).await.unwrap_or_default();
    let in_tier: Option<Timestamp> = stored.first().map(|(_, time)| *time);
    match in_tier {
        Some(time) if time >= newest.stored() => TakenState::Stored,
        _ if is_late => TakenState::Failed("its response was not added to the tier".to_owned()),
        _ => TakenState::Running,
    }
}

/// Queues a request of another node. Returns false if this node does not fetch it for others. That
/// says nothing about other nodes.
async fn enqueue(context: &Arc<FetchContext>, request: TakenRequest) -> bool {
    let url = request.url.as_str();
    if context.storage.store.spool().queue().summary(&request.place.key()).is_some() {
        debug!(url, "this node fetches it for itself; its response answers the others, too");
        return false;
    }
    let Some(outgoing) = prepare(context, &request) else {
        debug!(url, "not fetched for others");
        return false;
    };
    match context.storage.store.enqueue(outgoing).await {
        Ok(added) => added == AddOutcome::New,
        Err(error) => {
            warn!(error = error_chain(&error), url, "a request of another node cannot be queued");
            false
        }
    }
}

fn prepare(context: &Arc<FetchContext>, request: &TakenRequest) -> Option<Outgoing> {
    let requester = Requester { owner: Owner::Local, asked_from: RequesterLocation::Elsewhere };
    let kind = if request.class.is_some() { RequestKind::Part } else { RequestKind::Page };
    let made = want::request(context, &requester, request.url.as_str(), kind);
    let mut outgoing = made.ok()?;
    // An alias leads to another URL, and a login of this node is not for others.
    if outgoing.summary.place != request.place || outgoing.secrets != Secrets::None {
        return None;
    }
    let mut sent = head::read_request(&outgoing.head, b"").ok()?;
    for (name, value) in &request.fields {
        sent.headers.insert(name, value.clone());
    }
    outgoing.head = head::write_request(&sent);
    outgoing.summary.class.clone_from(&request.class);
    outgoing.summary.queued = request.queued;
    outgoing.summary.renew = true;
    Some(outgoing)
}

/// Removes a failed request that was queued for another node. A waiting one stays: a person here
/// may have asked for the same page since.
async fn leave_queue(context: &FetchContext, key: Key) {
    let known = context.storage.store.spool().queue().summary(&key);
    let has_failed =
        known.is_some_and(|known| matches!(known.fetching.state, RequestState::Failed { .. }));
    if !has_failed {
        return;
    }
    if let Err(error) = context.storage.store.dequeue(key).await {
        warn!(error = error_chain(&error), "a request of another node cannot be removed");
    }
}
