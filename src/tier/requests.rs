//! The shared queue: what a node without a connection wants, another one fetches.
//!
//! ```text
//! without a connection   queue ── post ── requests (catalogue)     answered ── pull ── spool
//! with a connection                take ── queue ── spool ── push ── entries (answer the request)
//! ```
//!
//! A request leaves its node only if its response could be an entry of the tier: the URL is public,
//! the request has no owner, no secrets and no body. So a form never leaves its node, which sends
//! it once. Of the fields, only those that begin with `Accept` are given away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::HeaderMap;
use hyper::header::HeaderValue;
use jiff::Timestamp;
use tracing::debug;
use wwwoffle_http::head;
use wwwoffle_spool::{
    Entry, Key, Outgoing, OutgoingSummary, Place, RequestKind, RequestState, Secrets,
};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::Tier;
use super::catalogue::{AnswerRow, FoundRow, RequestRow};
use super::error::TierError;
use super::find::Others;
use super::shared;
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::mode::Mode;
use crate::storage::store::timestamp;

/// The time for which a node has a request that it took.
const LEASE: Duration = Duration::from_secs(10 * 60);

/// The largest number of requests that are remembered because this node does not fetch them.
const MAX_REFUSED: usize = 1_000;

/// The longest field lines of a request, in bytes.
const MAX_FIELDS: usize = 4 << 10;

/// The longest URL of a request, in bytes: each is read by all nodes.
const MAX_SHARED_URL: usize = 8 << 10;

/// The longest reason of a failure, in characters.
const MAX_REASON: usize = 200;

/// A request that another node wants, checked.
#[derive(Debug)]
pub struct TakenRequest {
    /// Its place in the queue.
    pub place: Place,
    /// The URL.
    pub url: CanonicalUrl,
    /// The fields that select the response.
    pub fields: HeaderMap,
    /// The type of a sub-resource; `None` for a page.
    pub class: Option<String>,
    /// When it was queued at the other node; never in the future.
    pub queued: Timestamp,
}

/// What became of a request of this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestAnswer {
    /// The key of the request.
    pub key: Key,
    /// The result.
    pub result: AnswerResult,
}

/// The result of a request of this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerResult {
    /// The tier has the response.
    Stored,
    /// The last attempt has failed, for this reason.
    Failed(String),
}

/// The result of reading an answer from the tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerPull {
    /// The spool has it now.
    Stored,
    /// The tier does not have it any more.
    Gone,
    /// It cannot be read now.
    Later,
}

/// Whether this node has a connection for the requests of others, or needs one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueRole {
    /// It fetches for others.
    Fetches,
    /// Others fetch for it.
    Waits,
    /// Neither: the queue is not shared now.
    Apart,
}

/// What is said in the log if a call of the shared queue fails.
const FAILED: &str = "the shared queue of the archive tier is used later";

fn done<T>(result: Result<T, TierError>) -> Option<T> {
    result.inspect_err(|error| debug!(error = error_chain(error), "{FAILED}")).ok()
}

impl Tier {
    /// This node's part in the shared queue now.
    #[must_use]
    pub fn queue_role(&self) -> QueueRole {
        let is_used = self.writes()
            && self.net.base.config().tier.share_queue
            && self.permission.is_granted()
            && !self.permission.is_metered();
        match self.net.base.mode.now() {
            Mode::Online if is_used => QueueRole::Fetches,
            Mode::Offline if is_used => QueueRole::Waits,
            _ => QueueRole::Apart,
        }
    }

    /// Waits until the shared queue can be used. Dropping the future has no effect.
    pub async fn wait_for_queue(&self) {
        self.catalogue.wait_for_queue().await;
    }

    /// Waits until the shared queue may have changed. A change may be missed. Dropping the future
    /// has no effect.
    pub async fn requests_changed(&self) {
        self.catalogue.requests_changed().await;
    }

    /// Whether a queued request may leave this node, as far as its summary tells.
    #[must_use]
    pub fn may_share_request(&self, request: &OutgoingSummary) -> bool {
        // A recursive fetch obeys robots.txt, which only its own node reads.
        let is_plain =
            matches!(request.kind, RequestKind::Page | RequestKind::Part | RequestKind::Refresh);
        is_plain
            && request.runs.is_empty()
            && request.line.method == "GET"
            && request.fetching.state == RequestState::Waiting
            && request.has_canonical_target()
            && shared::url_of(&request.place).is_some_and(|url| self.is_request_url(&url))
    }

    fn is_request_url(&self, url: &CanonicalUrl) -> bool {
        url.as_str().len() <= MAX_SHARED_URL
            && shared::is_shared_url(&self.net.base.config(), url)
            && !shared::has_token(url.as_str())
    }

    /// The row for a queued request. `None` if the request must stay.
    fn request_row(&self, outgoing: &Outgoing) -> Option<RequestRow> {
        let is_public = self.may_share_request(&outgoing.summary)
            && outgoing.secrets == Secrets::None
            && outgoing.options.is_none()
            && outgoing.body.is_empty();
        let sent = is_public.then(|| head::read_request(&outgoing.head, b""))?.ok()?;
        if head::has_credentials(&sent.headers) {
            return None;
        }
        let fields = String::from_utf8(head::write_lines(&selecting(&sent.headers))).ok()?;
        (fields.len() <= MAX_FIELDS).then(|| RequestRow {
            key: *outgoing.summary.place.key().as_bytes(),
            url: outgoing.summary.place.url().to_owned(),
            fields,
            class: outgoing.summary.class.clone(),
            queued: outgoing.summary.queued.as_microsecond(),
        })
    }

    /// Gives queued requests to the other nodes. Returns the keys of those that the catalogue has
    /// now: the others must stay. `None` if it does not answer.
    pub async fn post_requests(&self, requests: &[Outgoing]) -> Option<Vec<Key>> {
        let mut rows: Vec<RequestRow> =
            requests.iter().filter_map(|request| self.request_row(request)).collect();
        rows.sort_by_key(|row| row.key);
        if !rows.is_empty() {
            done(self.catalogue.post(&self.queue.node_id, &rows).await)?;
        }
        Some(rows.into_iter().map(|row| Key::from_bytes(row.key)).collect())
    }

    /// Of these keys, those with entries in the tier, and when the newest was stored.
    pub async fn stored(&self, keys: &[Key]) -> Option<Vec<(Key, Timestamp)>> {
        let rows = done(self.catalogue.stored(keys).await)?;
        let read =
            |(key, stored)| Some((Key::from_bytes(key), Timestamp::from_microsecond(stored).ok()?));
        Some(rows.into_iter().filter_map(read).collect())
    }

    /// What became of the requests that this node has given away.
    pub async fn request_answers(&self) -> Vec<RequestAnswer> {
        let rows = done(self.catalogue.answers(&self.queue.node_id).await).unwrap_or_default();
        let read = |row: AnswerRow| {
            let result = match (row.is_answered, row.error) {
                (true, _) => AnswerResult::Stored,
                (false, Some(error)) => AnswerResult::Failed(plain(&error)),
                (false, None) => return None,
            };
            Some(RequestAnswer { key: Key::from_bytes(row.key), result })
        };
        rows.into_iter().filter_map(read).collect()
    }

    /// Takes back requests that this node has given away.
    pub async fn withdraw_requests(&self, keys: &[Key]) -> bool {
        keys.is_empty() || done(self.catalogue.withdraw(&self.queue.node_id, keys).await).is_some()
    }

    /// Takes back everything that this node has given away, also before its last start.
    pub async fn withdraw_all_requests(&self) -> bool {
        done(self.catalogue.withdraw_all(&self.queue.node_id).await).is_some()
    }

    /// Reads the response to a request of this node from the tier into the spool, unless the spool
    /// has one that is as new.
    pub async fn pull_answer(self: &Arc<Self>, outgoing: &Outgoing) -> AnswerPull {
        let place = outgoing.summary.place.clone();
        let Some(url) = shared::url_of(&place) else { return AnswerPull::Gone };
        let Some(rows) = done(self.catalogue.rows_of(&place.key()).await) else {
            return AnswerPull::Later;
        };
        if rows.is_empty() {
            done(self.catalogue.reopen(&place.key()).await);
            return AnswerPull::Gone;
        }
        let fields = head::read_request(&outgoing.head, b"").map(|sent| sent.headers);
        let Some(row) = self.choose(rows, &fields.unwrap_or_default(), Others::Missing) else {
            return AnswerPull::Later;
        };
        if self.has_as_new(&place, &row).await {
            return AnswerPull::Stored;
        }
        if self.is_removed(&place, &row).await {
            return AnswerPull::Later;
        }
        let Some(pull) = self.pull(&place, url, row, false) else { return AnswerPull::Later };
        if pull.ended().await { AnswerPull::Stored } else { AnswerPull::Later }
    }

    /// Whether the spool has an entry in place of this row that is at least as new.
    async fn has_as_new(&self, place: &Place, row: &FoundRow) -> bool {
        let copies = self.storage.store.entries(place).await.unwrap_or_default();
        copies.iter().any(|copy| {
            copy.entry.place().variant_text() == row.varies
                && copy.entry.stored().as_microsecond() >= row.stored
        })
    }

    /// Takes requests of other nodes. They are this node's until their lease ends; see
    /// [`Tier::renew_requests`]. Requests that it must not fetch are given back.
    pub async fn take_requests(&self, most: usize) -> Vec<TakenRequest> {
        let except = self.queue.refused.keys();
        let taken = self.catalogue.take(&self.queue.node_id, LEASE, (most, &except)).await;
        let mut checked = Vec::new();
        for row in done(taken).unwrap_or_default() {
            let key = Key::from_bytes(row.key);
            match check_taken(row) {
                Some(request) if self.is_request_url(&request.url) => checked.push(request),
                Some(_) => self.refuse_request(&key).await,
                None => self.give_back(&key, Some("no node fetches this URL")).await,
            }
        }
        checked
    }

    /// Gives a request back that this node does not fetch, because of its configuration or its
    /// state. Other nodes may take it at once, and this one does not for some time.
    pub async fn refuse_request(&self, key: &Key) {
        self.queue.refused.add(*key);
        self.give_back(key, None).await;
    }

    /// Renews the leases of requests. Returns those that this node still has. `None` if the
    /// catalogue does not answer.
    pub async fn renew_requests(&self, keys: &[Key]) -> Option<Vec<Key>> {
        if keys.is_empty() {
            return Some(Vec::new());
        }
        done(self.catalogue.renew(&self.queue.node_id, keys, LEASE).await)
    }

    /// Answers a request with the entry that the tier has, because its origin has confirmed it.
    /// Returns false if the tier does not have it yet.
    pub async fn confirm_request(&self, key: &Key) -> bool {
        done(self.catalogue.confirm(&self.queue.node_id, key).await).unwrap_or_default()
    }

    /// Gives a taken request back: for the next node at once, or for a later attempt if it failed.
    pub async fn give_back(&self, key: &Key, error: Option<&str>) {
        let error = error.map(plain);
        done(self.catalogue.give_back(&self.queue.node_id, key, error.as_deref()).await);
    }

    /// Whether an entry of the spool belongs in the tier, or came from it.
    #[must_use]
    pub fn shares_entry(&self, entry: &Entry) -> bool {
        let config = self.net.base.config();
        shared::check_entry(&config, entry, timestamp(clock::now())).is_ok()
            || shared::is_from_tier(entry)
    }

    /// Sets the number of requests that this node has given away, and of those that it has taken.
    pub fn count_requests(&self, given: usize, taken: usize) {
        self.pushed.set_requests(given, taken);
    }
}

/// A request of another node, if any node may fetch it.
fn check_taken(row: RequestRow) -> Option<TakenRequest> {
    let url = CanonicalUrl::parse(&row.url, &LocalHost::default()).ok()?;
    let place = Place::of(&url);
    let is_same = url.as_str() == row.url && *place.key().as_bytes() == row.key;
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
    let is_class = |class: &String| !class.is_empty() && class.bytes().all(is_letter);
    let may_fetch = is_same
        && row.fields.len() <= MAX_FIELDS
        && row.class.as_ref().is_none_or(is_class)
        && shared::is_public_url(&url)
        && !shared::has_token(url.as_str());
    if !may_fetch {
        return None;
    }
    let fields = selecting(&head::read_lines(row.fields.as_bytes()).ok()?);
    let queued = Timestamp::from_microsecond(row.queued).ok()?.min(timestamp(clock::now()));
    Some(TakenRequest { place, url, fields, class: row.class, queued })
}

/// The requests of others that this node does not fetch, until when.
#[derive(Debug, Default)]
pub(super) struct RefusedRequests(Mutex<HashMap<Key, Instant>>);

impl RefusedRequests {
    fn add(&self, key: Key) {
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < MAX_REFUSED {
            refused.insert(key, Instant::now() + LEASE);
        }
    }

    fn keys(&self) -> Vec<Key> {
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        refused.retain(|_, until| *until > now);
        refused.keys().copied().collect()
    }
}

/// The fields that a request may give away.
fn selecting(fields: &HeaderMap) -> HeaderMap {
    let is_given =
        |value: &HeaderValue| value.as_bytes().iter().all(|byte| (32..127).contains(byte));
    let given = fields
        .iter()
        .filter(|(name, value)| name.as_str().starts_with("accept") && is_given(value));
    given.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// A reason of another node, of limited length and without control characters.
fn plain(reason: &str) -> String {
    reason.chars().filter(|one| !one.is_control()).take(MAX_REASON).collect()
}
