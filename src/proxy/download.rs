//! Answers on their way in, shared by all who want them.
//!
//! A download runs in a task of its own, so that it does not end with the client that asked first.
//! Whoever asks for the same thing meanwhile joins it: the same key, the same cookie, the same
//! credentials, and, once the head is known, the same values of what the answer varies with; and the
//! same range, if any. With a cookie or credentials it is the same person, too. A form is never joined:
//! two people who send the same words both want it done. A reload joins nothing that began before it, and
//! no client joins a download that stands still.
//!
//! A body that breaks off is taken up again where it ended, in the same download: its readers see one
//! body, however often the line was cut (`resume` says when that may be). What came of one that was
//! given up is kept aside, never as an answer, and the next request for it begins with that. A body that
//! has changed meanwhile ends for its readers, for two are never mixed, and begins anew as another download in its
//! place.
//!
//! ```text
//! run ── begin ── transfer ── the spool, the feed
//!          │          └───── resume, leaving: what is to be done when it breaks off, or all have left
//!          ├── part, when an earlier attempt has left something
//!          └── another download, when the page has changed
//! ```

mod allowance;
mod begin;
#[cfg(test)]
mod faulty;
mod feed;
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
use hyper::header::{
    AUTHORIZATION, COOKIE, HeaderName, HeaderValue, IF_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE,
};
use hyper::{HeaderMap, Method, Request, StatusCode, Version};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use wwwoffle_spool::Place;
use wwwoffle_url::Key;

pub use allowance::{Allowance, Meter};
pub use feed::{End, Feed, FeedReader};
pub use leaving::{Leaving, Then};
pub use progress::{Shown, Waiting};
pub use run::run;
pub use running::{Downloads, Joined};

use progress::Progress;

use super::choose::About;
use super::freshen::Confirmed;
use super::keep::{Keeping, NotKept};
use crate::base::owner::{Places, Whose, is_personal};
use crate::base::spelling::Spelling;
use crate::net::upstream::{Answer, Failure, Interim, Origin};
use crate::storage::store::Identity;
use wwwoffle_http::caching::vary::Vary;

/// How long whoever joins a download that took the place of a broken one is kept waiting to see whether
/// the way holds this time. Longer ones are worth joining: they have brought something meanwhile.
const HOLD: Duration = Duration::from_secs(5);

/// Everything a download needs to know.
#[derive(Debug)]
pub struct Job {
    /// Where the answer may be kept; its head decides.
    pub places: Arc<Places>,
    /// Whom to ask.
    pub origin: Origin,
    /// The request as it will be sent, without conditions.
    pub head: Request<()>,
    /// The body of a POST.
    pub body: Option<Bytes>,
    /// The status of what is kept already.
    pub kept: Option<StatusCode>,
    /// What is kept of the answer.
    pub keeping: Keeping,
    /// Where GET looks for its answer, of a POST whose answer may be that too.
    pub answers: Option<Arc<Places>>,
    /// What the origin is asked about.
    pub about: About,
    /// What becomes of it when no client reads it, or the way to its origin breaks.
    pub leaving: Leaving,
    /// How much of it may come while no client reads it.
    pub allowance: Allowance,
    /// Where interim answers go.
    pub interim: Option<mpsc::Sender<Interim>>,
}

impl Job {
    /// Whether its rest may be asked for if it breaks off: to ask twice does no harm (RFC 9110 §9.2.1),
    /// and all of the page was asked for.
    fn may_resume(&self) -> bool {
        self.head.method() == Method::GET
            && self.body.is_none()
            && !self.head.headers().contains_key(RANGE)
    }
}

/// What came of the request, as soon as the head is here.
#[derive(Clone, Debug)]
pub enum Headed {
    /// An answer that is being kept; its body is in [`Download::feed`].
    Keeping(Arc<AnswerHead>),
    /// `304`: what is kept still holds.
    Unchanged(Confirmed),
    /// An answer that is not kept: only the first who asked gets it, from [`Download::take`].
    Passing(NotKept),
    /// An answer that should be kept and cannot: the spool failed. As with `Passing`.
    Unkeepable(Arc<wwwoffle_spool::Error>),
    /// No answer.
    Failed(Arc<Failure>),
}

/// The head of an answer, less the fields of one hop.
#[derive(Clone, Debug)]
pub struct AnswerHead {
    /// Its status.
    pub status: StatusCode,
    /// The version of HTTP that it came by.
    pub version: Version,
    /// Its fields.
    pub fields: HeaderMap,
    /// The length of its body in bytes, if the origin told.
    pub length: Option<u64>,
    /// Whether the body begins with what an earlier attempt has left.
    pub resumed: bool,
    /// For whom it is kept.
    pub whose: Whose,
}

/// Which requests are one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct JoinKey {
    place: Key,
    spelling: Spelling,
    cookie: Vec<HeaderValue>,
    credentials: Vec<HeaderValue>,
    /// Which part was asked for, and of which answer.
    range: [Vec<HeaderValue>; 4],
    /// Whose request it is, where that can matter.
    owner: Option<Key>,
    /// What the origin is asked about: its `304` is about nothing else.
    about: Vec<Identity>,
}

impl JoinKey {
    fn of(places: &Places, fields: &HeaderMap, about: Vec<Identity>) -> Self {
        let all = |name: HeaderName| fields.get_all(name).iter().cloned().collect();
        let personal = is_personal(fields) || places.credentials;
        Self {
            place: places.public.key(),
            spelling: places.spelling.clone(),
            cookie: all(COOKIE),
            credentials: all(AUTHORIZATION),
            range: [RANGE, IF_RANGE, IF_MATCH, IF_UNMODIFIED_SINCE].map(all),
            owner: personal.then(|| places.own.key()),
            about,
        }
    }
}

/// One answer on its way in.
#[derive(Debug)]
pub struct Download {
    id: u64,
    key: JoinKey,
    /// The owner's own place.
    own: Place,
    /// Without credentials.
    url: String,
    started: SystemTime,
    /// The fields of the request, for what the answer may vary with.
    request: HeaderMap,
    /// Whether it took the place of one that broke off.
    succeeds: bool,
    headed: watch::Sender<Option<Headed>>,
    feed: Arc<Feed>,
    progress: Progress,
    passing: Mutex<Option<Answer>>,
    ended: watch::Sender<Option<Last>>,
    /// Whether a person has ended it.
    is_stopped: watch::Sender<bool>,
    /// Since when its answer is no longer valid; set while the downloads are locked.
    outdated: OnceLock<SystemTime>,
    /// Whether a newer download of the same thing has begun.
    is_replaced: AtomicBool,
}

/// What became of a download.
#[derive(Clone, Debug)]
enum Last {
    /// Its end.
    Outcome(Outcome),
    /// The page changed while it came: another download has begun in its place.
    Next(Arc<Download>),
}

/// How a download ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The answer is kept whole, or what was kept still holds.
    Kept(StatusCode),
    /// The answer was passed on and not kept.
    NotKept(StatusCode, NotKept),
    /// The spool could not keep it.
    Unkeepable(Arc<wwwoffle_spool::Error>),
    /// No answer, or not all of it.
    Failed(Arc<Failure>),
}

impl Download {
    /// Its number, by which it is known while it runs.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Ends it, also for the clients that read it; false where it was told to end before.
    pub fn stop(&self) -> bool {
        !self.is_stopped.send_replace(true)
    }

    /// The URL, without credentials.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// When it began.
    #[must_use]
    pub fn started(&self) -> SystemTime {
        self.started
    }

    /// How far it has come.
    #[must_use]
    pub fn progress(&self) -> Shown {
        self.progress.shown()
    }

    /// The body, once it comes. A reader taken before the head is here misses nothing.
    #[must_use]
    pub fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// Waits for the head of the answer. Dropping it is free.
    pub async fn head(&self) -> Headed {
        let mut headed = self.headed.subscribe();
        match headed.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(headed)) => headed.clone(),
            // The sender is in `self`.
            Ok(None) | Err(_) => Headed::Failed(Arc::new(Failure::HeadTimeout)),
        }
    }

    /// A reader of it for somebody who joins. The page that this one brings may have broken off just
    /// before, with a body of which others have got a part: then it is given once this one has ended, or
    /// has come on for `HOLD`, and it is that of the last in its place. `None` when it cannot be joined
    /// any more, or breaks off meanwhile: whoever asks now is better off asking anew. What has come of
    /// one that ends broken is kept aside by then, so that it is begun with.
    ///
    /// Dropping the future is free.
    pub async fn join(self: Arc<Self>) -> Option<(Arc<Self>, FeedReader)> {
        let until = Instant::now() + HOLD;
        let mut download = self;
        loop {
            // Taken first: what is whole soon is read from here then.
            let reader = download.feed.read();
            let is_here =
                if reader.is_some() { !download.succeeds } else { !download.feed.is_closed() };
            if is_here {
                return reader.map(|reader| (download, reader));
            }
            let mut ended = download.ended.subscribe();
            let last = tokio::select! {
                biased;
                // The sender is in the download.
                last = ended.wait_for(Option::is_some) => last.ok().and_then(|last| last.clone()),
                () = download.progress.broke_off(), if reader.is_some() => return None,
                () = sleep_until(until) => None,
            };
            match last {
                Some(Last::Next(next)) => download = next,
                Some(Last::Outcome(_)) | None => return reader.map(|reader| (download, reader)),
            }
        }
    }

    /// The answer itself, where it is not kept; the first caller has it.
    pub fn take(&self) -> Option<Answer> {
        self.passing.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Waits for the end, and that of the downloads that take its place; the last of them comes with its
    /// outcome. Dropping it is free.
    pub async fn outcome(self: &Arc<Self>) -> (Arc<Self>, Outcome) {
        let mut download = Arc::clone(self);
        loop {
            let mut ended = download.ended.subscribe();
            let last = ended.wait_for(Option::is_some).await.map(|last| last.clone());
            match last {
                Ok(Some(Last::Next(next))) => download = next,
                Ok(Some(Last::Outcome(outcome))) => return (download, outcome),
                // The sender is in the download.
                Ok(None) | Err(_) => {
                    return (download, Outcome::Failed(Arc::new(Failure::HeadTimeout)));
                }
            }
        }
    }

    /// Whether a new client should not join it: it has stood still for so long, or it has no head and its
    /// clients have left.
    fn is_stuck(&self, limit: Duration) -> bool {
        let is_left = self.feed.is_left() && !self.is_awaited();
        let has_head = self.headed.borrow().is_some();
        self.progress.still() >= limit || (is_left && !has_head)
    }

    /// Whether the queue waits for its end.
    fn is_awaited(&self) -> bool {
        self.ended.receiver_count() > 0
    }

    /// Whether it was begun for the person that `places` are of.
    #[must_use]
    pub fn is_of(&self, places: &Places) -> bool {
        self.own.key() == places.own.key()
    }

    /// Where the own answer of the person lies for whom it was begun.
    #[must_use]
    pub fn own(&self) -> &Place {
        &self.own
    }

    /// Whether it is nobody else's business: the request has a cookie or credentials.
    #[must_use]
    pub fn is_personal(&self) -> bool {
        self.key.owner.is_some()
    }

    /// Whether `request` would have got the same answer, as far as `Vary` tells (RFC 9111 §4.1). Its
    /// coding does not matter here: each client gets that which it takes.
    #[must_use]
    pub fn serves(&self, request: &HeaderMap, answer: &HeaderMap) -> bool {
        let vary = Vary::of(answer);
        vary.text(request).is_some_and(|text| vary.text(&self.request) == Some(text))
    }
}

/// Sees to it that a download ends for all who wait for it, also when its task panics: else it
/// would be joined for ever, and answer nobody.
struct Watch<'a> {
    downloads: &'a Downloads,
    download: Arc<Download>,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.downloads.leave(&self.download);
        if self.download.ended.borrow().is_some() {
            return;
        }
        let failure = Arc::new(Failure::Ours);
        self.download.feed.finish(End::Broken(Arc::clone(&failure)));
        self.download.headed.send_if_modified(|headed| {
            let is_missing = headed.is_none();
            headed.get_or_insert_with(|| Headed::Failed(Arc::clone(&failure)));
            is_missing
        });
        self.download.end(Outcome::Failed(failure));
    }
}

impl Download {
    fn new(id: u64, key: JoinKey, places: &Places, request: &HeaderMap, now: SystemTime) -> Self {
        Self::of((id, key), places.own.clone(), request.clone(), now, false)
    }

    /// One for the same request, of which nothing has come.
    fn after(former: &Self, id: u64) -> Self {
        let (own, request) = (former.own.clone(), former.request.clone());
        let next = Self::of((id, former.key.clone()), own, request, former.started, true);
        // Its answer may be here already.
        Self { outdated: former.outdated.clone(), ..next }
    }

    fn of(
        (id, key): (u64, JoinKey),
        own: Place,
        request: HeaderMap,
        started: SystemTime,
        succeeds: bool,
    ) -> Self {
        Self {
            id,
            key,
            url: own.url().to_owned(),
            own,
            started,
            request,
            succeeds,
            headed: watch::Sender::new(None),
            feed: Feed::new(),
            progress: Progress::default(),
            passing: Mutex::new(None),
            ended: watch::Sender::new(None),
            is_stopped: watch::Sender::new(false),
            outdated: OnceLock::new(),
            is_replaced: AtomicBool::new(false),
        }
    }

    fn set_head(&self, headed: Headed) {
        self.headed.send_replace(Some(headed));
    }

    fn pass(&self, answer: Answer, headed: Headed) {
        *self.passing.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        self.set_head(headed);
    }

    fn end(&self, outcome: Outcome) {
        self.ended.send_replace(Some(Last::Outcome(outcome)));
    }

    fn end_before(&self, next: Arc<Download>) {
        self.ended.send_replace(Some(Last::Next(next)));
    }
}

#[cfg(test)]
mod tests;
