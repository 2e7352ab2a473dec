//! Downloads: responses on their way in, shared by all their clients.
//!
//! A download runs in a task of its own, so that it survives the client that started it. Another
//! client joins it if its request has the same key, cookie, credentials and range, and, once the
//! head is known, the same values of the fields in `Vary`. With a cookie or credentials it must be
//! the same person, too. A form is never joined: two people who send the same form want two
//! actions. A reload never joins an earlier download, and no client joins a stalled one.
//!
//! A body that breaks off is resumed in the same download: its readers see one body, however often
//! the connection broke (`resume` decides when that is allowed). The bytes of an abandoned download
//! are saved as a segment, never as a response, and the next request resumes from it. A body that
//! has changed in the meantime ends for its readers, because two versions are never mixed. Another
//! download then starts in its place.
//!
//! ```text
//! run ── begin ── transfer ── the spool, the feed
//!          │          └───── resume, leaving: if it breaks off, or all clients have left
//!          ├── part, if an earlier attempt has left a segment
//!          └── another download, if the page has changed
//! ```

mod allowance;
mod begin;
#[cfg(test)]
mod faulty;
mod file;
mod gather;
mod leaving;
#[cfg(test)]
mod model;
mod outdated;
mod part;
mod progress;
mod resume;
mod run;
mod running;
mod transfer;
mod unread;
#[cfg(test)]
mod world;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue, IF_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE};
use hyper::{HeaderMap, Method, Request, StatusCode, Version};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use wwwoffle_spool::Place;
use wwwoffle_url::Key;

pub use allowance::{Allowance, Meter};
pub use leaving::{LeavingAction, LeavingRules};
pub use progress::{ProgressSnapshot, RetryWait};
pub use run::run;
pub use running::{Downloads, JoinOutcome};

use progress::LiveProgress;

use super::choose::Revalidation;
use super::freshen::ConfirmedCopy;
use super::keep::{NotKept, StorageRules};
use crate::base::owner::{Places, ResponseOwner, is_personal};
use crate::base::spelling::Spelling;
use crate::net::upstream::{Answer, Failure, Interim, LinePosition, Origin};
use crate::storage::feed::{BodyEnd, Feed, FeedReader};
use crate::storage::store::EntryIdentity;
use wwwoffle_http::caching::vary::{Vary, VaryRules};
use wwwoffle_http::head::write_secrets;

/// How long a client waits before it joins the successor of a broken download. If the successor has
/// not broken off by then, its connection counts as stable.
const HOLD: Duration = Duration::from_secs(5);

/// The input of a download.
#[derive(Debug)]
pub struct DownloadJob {
    /// The places where the response may be stored. The head of the response decides between them.
    pub places: Arc<Places>,
    /// The origin to ask.
    pub origin: Origin,
    /// The request to send, without conditions.
    pub head: Request<()>,
    /// The body of a POST.
    pub body: Option<Bytes>,
    /// The status of the stored copy, if there is one.
    pub stored_status: Option<StatusCode>,
    /// The rules for storing the response.
    pub storage_rules: StorageRules,
    /// The exceptions from `Vary`.
    pub vary_rules: VaryRules,
    /// The places of a GET of the same URL, if the response to this POST may also answer that GET.
    pub get_places: Option<Arc<Places>>,
    /// The revalidation to request.
    pub revalidation: Revalidation,
    /// What to do if no client reads the download, or if the connection to its origin breaks.
    pub leaving_rules: LeavingRules,
    /// The limits while no client reads the download.
    pub allowance: Allowance,
    /// The channel for interim responses.
    pub interim: Option<mpsc::Sender<Interim>>,
}

impl DownloadJob {
    /// Whether the missing bytes may be requested if the body breaks off: the request is a GET,
    /// which is safe (RFC 9110 §9.2.1), and requests the whole page.
    fn may_resume(&self) -> bool {
        self.head.method() == Method::GET
            && self.body.is_none()
            && !self.head.headers().contains_key(RANGE)
    }
}

/// The result of the request, available once the head has arrived.
#[derive(Clone, Debug)]
pub enum HeadOutcome {
    /// A response that is being stored; its body is in [`Download::feed`].
    Keeping(Arc<AnswerHead>),
    /// `304`: the stored copy is still valid.
    Unchanged(ConfirmedCopy),
    /// A response that is not stored: only the first client gets it, from [`Download::take`].
    Passing(NotKept),
    /// No response.
    Failed(Arc<Failure>),
}

/// The head of a response, without its hop-by-hop fields.
#[derive(Clone, Debug)]
pub struct AnswerHead {
    /// The status.
    pub status: StatusCode,
    /// The HTTP version of the response.
    pub version: Version,
    /// The fields.
    pub fields: HeaderMap,
    /// The length of its body in bytes, if the origin declared it.
    pub length: Option<u64>,
    /// Whether the spool stores the response, as far as known when the head is published.
    pub is_stored: bool,
    /// Whether the body starts with the segment of an earlier attempt.
    pub resumed: bool,
    /// The owner for whom the response is stored.
    pub whose: ResponseOwner,
}

/// The key by which requests share a download.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct JoinKey {
    place: Key,
    spelling: Spelling,
    /// The cookies and credentials of the request, as field lines.
    secrets: Vec<u8>,
    /// The requested range, and its conditions.
    range: [Vec<HeaderValue>; 4],
    /// The owner of the request, if the request is personal.
    owner: Option<Key>,
    /// The revalidated copies: a `304` of the origin applies to them only.
    about: Vec<EntryIdentity>,
}

impl JoinKey {
    fn of(places: &Places, fields: &HeaderMap, about: Vec<EntryIdentity>) -> Self {
        let all = |name: HeaderName| fields.get_all(name).iter().cloned().collect();
        let personal = is_personal(fields) || places.credentials;
        Self {
            place: places.public.key(),
            spelling: places.spelling.clone(),
            secrets: write_secrets(fields),
            range: [RANGE, IF_RANGE, IF_MATCH, IF_UNMODIFIED_SINCE].map(all),
            owner: personal.then(|| places.own.key()),
            about,
        }
    }
}

/// A response on its way in.
#[derive(Debug)]
pub struct Download {
    id: u64,
    request: DownloadRequest,
    headed: watch::Sender<Option<HeadOutcome>>,
    feed: Arc<Feed>,
    progress: LiveProgress,
    /// How far the request has come on its way to its origin.
    line: LinePosition,
    passing: Mutex<Option<Answer>>,
    ended: watch::Sender<Option<FinalState>>,
    /// Whether a user has stopped the download.
    is_stopped: watch::Sender<bool>,
    /// When the response became invalid; set while the downloads are locked.
    outdated: OnceLock<SystemTime>,
    /// Whether a newer download for the same key has started.
    is_replaced: AtomicBool,
}

/// The request that started a download.
#[derive(Clone, Debug)]
struct DownloadRequest {
    key: JoinKey,
    /// The owner's own place. The URL has no credentials.
    own: Place,
    started: SystemTime,
    /// The fields, to compare with `Vary`.
    fields: HeaderMap,
    /// Whether the download replaces one that broke off.
    succeeds: bool,
}

impl DownloadRequest {
    fn new(key: JoinKey, places: &Places, fields: &HeaderMap, started: SystemTime) -> Self {
        Self { key, own: places.own.clone(), started, fields: fields.clone(), succeeds: false }
    }
}

/// The last state of a download.
#[derive(Clone, Debug)]
enum FinalState {
    /// The download has ended.
    Outcome(DownloadEnd),
    /// The page changed during the download, and another download has replaced this one.
    Next(Arc<Download>),
}

/// The end of a download.
#[derive(Clone, Debug)]
pub enum DownloadEnd {
    /// The response is stored whole, or the stored copy is still valid.
    Kept(StatusCode),
    /// The response was forwarded and not stored.
    NotKept(StatusCode, NotKept),
    /// The spool could not store the response.
    Unkeepable(Arc<wwwoffle_spool::Error>),
    /// No response, or an incomplete one.
    Failed(Arc<Failure>),
}

impl Download {
    /// The number that identifies the download while it runs.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Ends the download, also for its readers. Returns false if it was already stopped.
    pub fn stop(&self) -> bool {
        !self.is_stopped.send_replace(true)
    }

    /// The URL, without credentials.
    #[must_use]
    pub fn url(&self) -> &str {
        self.request.own.url()
    }

    /// When the download started.
    #[must_use]
    pub fn started(&self) -> SystemTime {
        self.request.started
    }

    /// The progress.
    #[must_use]
    pub fn progress(&self) -> ProgressSnapshot {
        self.progress.snapshot()
    }

    /// The body. A reader that starts before the head has arrived misses nothing.
    #[must_use]
    pub fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// Waits for the head of the response. Dropping the future has no effect.
    pub async fn head(&self) -> HeadOutcome {
        let mut headed = self.headed.subscribe();
        match headed.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(headed)) => headed.clone(),
            // Unreachable: the sender is in `self`.
            Ok(None) | Err(_) => HeadOutcome::Failed(Arc::new(Failure::HeadTimeout)),
        }
    }

    /// Waits until a new client may join, and returns its reader.
    ///
    /// If this download replaces one that just broke off, other clients already have the start of
    /// that body. Then the new client waits until this download ends, but at most for `HOLD`, and
    /// gets the last of the successors. Returns `None` if the download can no longer be joined, or
    /// breaks off while the client waits. In this case the client should send a new request: the
    /// bytes of the broken download are already saved, so the new request resumes from them.
    ///
    /// Dropping the future has no effect.
    pub async fn join(self: Arc<Self>) -> Option<(Arc<Self>, FeedReader)> {
        let until = Instant::now() + HOLD;
        let mut download = self;
        loop {
            // The reader is created before the wait, so that it gets the body even if the body
            // completes during the wait.
            let reader = download.feed.read();
            let is_here = if reader.is_some() {
                !download.request.succeeds
            } else {
                !download.feed.is_closed()
            };
            if is_here {
                return reader.map(|reader| (download, reader));
            }
            let mut ended = download.ended.subscribe();
            let last = tokio::select! {
                biased;
                // Unreachable: the sender is in the download.
                last = ended.wait_for(Option::is_some) => last.ok().and_then(|last| last.clone()),
                () = download.progress.wait_for_interruption(), if reader.is_some() => return None,
                () = sleep_until(until) => None,
            };
            match last {
                Some(FinalState::Next(next)) => download = next,
                Some(FinalState::Outcome(_)) | None => {
                    return reader.map(|reader| (download, reader));
                }
            }
        }
    }

    /// Whether a connection has taken the request, so that the request may have arrived.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.line.is_sent()
    }

    /// The response itself, if it is not stored; only the first caller gets it.
    pub fn take(&self) -> Option<Answer> {
        self.passing.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Waits for the end of this download and of all its successors. Returns the last of them with
    /// its outcome. Dropping the future has no effect.
    pub async fn outcome(self: &Arc<Self>) -> (Arc<Self>, DownloadEnd) {
        let mut download = Arc::clone(self);
        loop {
            let mut ended = download.ended.subscribe();
            let last = ended.wait_for(Option::is_some).await.map(|last| last.clone());
            match last {
                Ok(Some(FinalState::Next(next))) => download = next,
                Ok(Some(FinalState::Outcome(outcome))) => return (download, outcome),
                // Unreachable: the sender is in the download.
                Ok(None) | Err(_) => {
                    return (download, DownloadEnd::Failed(Arc::new(Failure::HeadTimeout)));
                }
            }
        }
    }

    /// Whether new clients should not join the download: it has stalled for `limit`, or it has no
    /// head and neither a client nor the queue waits for it.
    fn is_stuck(&self, limit: Duration) -> bool {
        let has_head = self.headed.borrow().is_some();
        self.progress.stalled_for() >= limit || (self.is_unwanted() && !has_head)
    }

    /// Whether all clients have left, and the queue does not wait for the download.
    fn is_unwanted(&self) -> bool {
        self.feed.is_left() && !self.is_awaited()
    }

    /// Whether the queue waits for the end of the download.
    fn is_awaited(&self) -> bool {
        self.ended.receiver_count() > 0
    }

    /// Whether the owner of `places` has started the download.
    #[must_use]
    pub fn is_of(&self, places: &Places) -> bool {
        self.request.own.key() == places.own.key()
    }

    /// The own place of the person who started the download.
    #[must_use]
    pub fn own(&self) -> &Place {
        &self.request.own
    }

    /// Whether the download is personal: its request has a cookie or credentials.
    #[must_use]
    pub fn is_personal(&self) -> bool {
        self.request.key.owner.is_some()
    }

    /// Whether `request` would have got the same response, as far as `Vary` shows (RFC 9111 §4.1).
    /// The coding is ignored, because each client gets one that it accepts.
    #[must_use]
    pub fn serves(&self, request: &HeaderMap, answer: &HeaderMap) -> bool {
        let vary = Vary::of(answer);
        vary.text(request).is_some_and(|text| vary.text(&self.request.fields) == Some(text))
    }
}

/// A guard that ends a download for all its clients when it is dropped, even if the task of the
/// download panics. Otherwise clients would join the download and never get a response.
struct DownloadGuard<'a> {
    downloads: &'a Downloads,
    download: Arc<Download>,
}

impl Drop for DownloadGuard<'_> {
    fn drop(&mut self) {
        self.downloads.leave(&self.download);
        if self.download.ended.borrow().is_some() {
            return;
        }
        let failure = Arc::new(Failure::Ours);
        self.download.feed.finish(BodyEnd::Broken(Arc::clone(&failure)));
        self.download.headed.send_if_modified(|headed| {
            let is_missing = headed.is_none();
            headed.get_or_insert_with(|| HeadOutcome::Failed(Arc::clone(&failure)));
            is_missing
        });
        self.download.end(DownloadEnd::Failed(failure));
    }
}

impl Download {
    fn new(id: u64, request: DownloadRequest) -> Self {
        Self {
            id,
            request,
            headed: watch::Sender::new(None),
            feed: Feed::new(),
            progress: LiveProgress::default(),
            line: LinePosition::default(),
            passing: Mutex::new(None),
            ended: watch::Sender::new(None),
            is_stopped: watch::Sender::new(false),
            outdated: OnceLock::new(),
            is_replaced: AtomicBool::new(false),
        }
    }

    /// A new download for the request of `former`.
    fn after(former: &Self, id: u64) -> Self {
        let next = Self::new(id, DownloadRequest { succeeds: true, ..former.request.clone() });
        // The new response may also have been sent before the unsafe request that made the former
        // response invalid.
        Self { outdated: former.outdated.clone(), ..next }
    }

    fn set_head(&self, headed: HeadOutcome) {
        self.headed.send_replace(Some(headed));
    }

    fn pass_answer(&self, answer: Answer, headed: HeadOutcome) {
        *self.passing.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        self.set_head(headed);
    }

    fn end(&self, outcome: DownloadEnd) {
        self.ended.send_replace(Some(FinalState::Outcome(outcome)));
    }

    fn end_before(&self, next: Arc<Download>) {
        self.ended.send_replace(Some(FinalState::Next(next)));
    }
}

#[cfg(test)]
mod tests;
