//! Answers that come line by line while the queue is worked off: `POST /api/get` and
//! `POST /api/fetch`.
//!
//! What is followed is known from the queue itself; the events of the fetcher only tell of it
//! sooner. So a client that reads too slowly, for whom events are dropped, still learns how
//! everything ended.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::HeaderMap;
use hyper::body::Frame;
use tokio::sync::{broadcast, watch};
use tokio::time::{Interval, MissedTickBehavior, interval};
use wwwoffle_spool::{Error, Place, RequestState, Spool};
use wwwoffle_url::{CanonicalUrl, Key};

use super::push_line;
use super::sum::{Sum, held_back, progress};
use crate::api::{Event, Held};
use crate::daemon::Daemon;
use crate::error_chain::error_chain;
use crate::fetch::{self, Wanted, held, why_it_rests};
use crate::mode::Mode;
use crate::proxy::body::Body;
use crate::proxy::lookup::look_up;
use crate::proxy::owner::{Owner, Places, Requester};
use crate::store::Kept;
use crate::upstream::BoxError;

/// How often progress is told, and the queue looked at for what no event told.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How many looks in a row must find a request settled before that is told without an event: the
/// event may still be on its way.
const LOOKS_TO_SETTLE: u8 = 2;

/// How many URLs of one `get` are followed, redirects included.
const MOST_FOLLOWED: usize = 20_000;

/// Gets `urls` into the spool for `requester`, and tells of each until it is settled.
pub(super) fn get(
    daemon: &Arc<Daemon>,
    requester: Requester,
    urls: Vec<String>,
    refresh: bool,
) -> Body {
    let (wanted, settled) = (urls.into(), HashSet::new());
    body(Follow::new(daemon, Task::Get { requester, wanted, refresh, settled }))
}

/// Works the queue off, and tells of it until nothing waits.
pub(super) fn fetch(daemon: &Arc<Daemon>, budget: Option<u64>) -> Body {
    let mut follow = Follow::new(daemon, Task::WorkOff);
    // Before anything leaves the queue, so that all of it is told of.
    follow.look_at_queue();
    daemon.fetcher.begin(budget);
    body(follow)
}

/// Dropping the body ends the following, and nothing else.
fn body(follow: Follow) -> Body {
    let frames = stream::unfold(follow, |mut follow| async move {
        let lines = follow.lines().await?;
        Some((Ok::<_, BoxError>(Frame::data(lines)), follow))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// What is followed.
#[derive(Debug)]
enum Task {
    /// These URLs and where they redirect to.
    Get { requester: Requester, wanted: VecDeque<String>, refresh: bool, settled: HashSet<String> },
    /// All that waits on the queue.
    WorkOff,
}

/// A request that is not settled.
#[derive(Debug)]
struct Open {
    place: Place,
    /// How many looks in a row found it settled.
    found_settled: u8,
    /// Bytes that were told of.
    bytes: u64,
}

#[derive(Debug)]
struct Follow {
    daemon: Arc<Daemon>,
    task: Task,
    events: broadcast::Receiver<Event>,
    mode: watch::Receiver<Mode>,
    look: Interval,
    /// By URL, for that is what events have.
    open: HashMap<String, Open>,
    /// What is to be told next.
    ready: VecDeque<Event>,
    fetched: u64,
    failed: u64,
    sum: Sum,
    ended: bool,
}

/// What the queue has: requests that wait, and those that were followed and failed, with the reason.
type OnQueue = HashMap<Key, Option<(String, Option<u16>)>>;

impl Follow {
    fn new(daemon: &Arc<Daemon>, task: Task) -> Self {
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            // Before anything is put on the queue, so that nothing is missed.
            events: daemon.fetcher.events(),
            mode: daemon.mode.watch(),
            daemon: Arc::clone(daemon),
            task,
            look,
            open: HashMap::new(),
            ready: VecDeque::new(),
            fetched: 0,
            failed: 0,
            sum: Sum::default(),
            ended: false,
        }
    }

    /// The next lines; `None` after the last, or when the daemon stops.
    async fn lines(&mut self) -> Option<Bytes> {
        while self.ready.is_empty() {
            if self.ended || self.daemon.tasks.is_stopping() {
                return None;
            }
            if let Some((requester, url, refresh)) = self.next_wanted() {
                self.want(&requester, &url, refresh).await;
                self.take_all();
            } else if self.is_settled() {
                self.end().await;
            } else if self.ready.is_empty() {
                self.wait().await;
            }
        }
        let mut lines = Vec::new();
        for event in self.ready.drain(..) {
            push_line(&mut lines, &event);
        }
        Some(lines.into())
    }

    /// Waits for news.
    async fn wait(&mut self) {
        tokio::select! {
            () = self.daemon.tasks.stopping() => {}
            // The switch is in the daemon, so the mode never ends.
            _changed = self.mode.changed() => {}
            event = self.events.recv() => match event {
                Ok(event) => self.take(event),
                // What was missed is learned from the queue. The fetcher itself never ends.
                Err(_missed) => {}
            },
            _now = self.look.tick() => self.look().await,
        }
    }

    fn next_wanted(&mut self) -> Option<(Requester, String, bool)> {
        match &mut self.task {
            Task::Get { requester, wanted, refresh, .. } => {
                wanted.pop_front().map(|url| (requester.clone(), url, *refresh))
            }
            Task::WorkOff => None,
        }
    }

    async fn want(&mut self, requester: &Requester, text: &str, refresh: bool) {
        let Ok(url) = CanonicalUrl::parse(text, &self.daemon.local) else { return };
        if self.is_known(url.as_str()) {
            return;
        }
        match fetch::want(&self.daemon, requester, text, refresh).await {
            Ok(Wanted::Kept { url: shown, place, .. }) => {
                self.settle_unheard(shown, &place, None).await;
            }
            Ok(Wanted::Queued { url: shown, place }) => self.follow(shown, place),
            Err(error) => self.fail(url.as_str().to_owned(), None, error_chain(&error)),
        }
    }

    fn follow(&mut self, url: String, place: Place) {
        self.open.entry(url).or_insert(Open { place, found_settled: 0, bytes: 0 });
    }

    /// Whether a URL is followed or was.
    fn is_known(&self, url: &str) -> bool {
        let was = match &self.task {
            Task::Get { settled, .. } => settled.contains(url),
            Task::WorkOff => false,
        };
        was || self.open.contains_key(url)
    }

    /// Whether no more redirects are followed.
    fn is_full(&self) -> bool {
        match &self.task {
            Task::Get { wanted, settled, .. } => {
                wanted.len() + settled.len() + self.open.len() >= MOST_FOLLOWED
            }
            Task::WorkOff => false,
        }
    }

    /// Follows a URL no longer.
    fn settle(&mut self, url: &str) {
        self.open.remove(url);
        if let Task::Get { settled, .. } = &mut self.task {
            settled.insert(url.to_owned());
        }
    }

    fn fail(&mut self, url: String, status: Option<u16>, error: String) {
        self.settle(&url);
        self.failed += 1;
        self.ready.push_back(Event::Failed { url, status, error });
    }

    /// Takes the events that have come, so that few are missed while URLs are still being queued.
    fn take_all(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.take(event);
        }
    }

    fn take(&mut self, event: Event) {
        let (Event::Start { url }
        | Event::Retry { url, .. }
        | Event::Browser { url, .. }
        | Event::Done { url, .. }
        | Event::Failed { url, .. }
        | Event::Redirect { url, .. }) = &event
        else {
            return;
        };
        // One that comes and goes between two looks belongs to the queue all the same.
        if !matches!(self.task, Task::WorkOff) && !self.open.contains_key(url) {
            return;
        }
        let mut next = None;
        match &event {
            Event::Done { url, bytes, .. } => {
                self.fetched += 1;
                self.sum.came(*bytes);
                self.settle(url);
            }
            Event::Failed { url, .. } => {
                self.failed += 1;
                self.settle(url);
            }
            Event::Redirect { location, .. } => next.clone_from(location),
            _ => {}
        }
        self.ready.push_back(event);
        if let Some(location) = next {
            self.redirect(&location);
        }
    }

    /// Follows a redirect, which the fetcher has put on the queue if it is to be fetched.
    fn redirect(&mut self, location: &str) {
        let Ok(mut url) = CanonicalUrl::parse(location, &self.daemon.local) else { return };
        let shown = url.as_str().to_owned();
        if self.is_full() || self.is_known(&shown) {
            return;
        }
        // It may be there under another key, with the credentials of who asked.
        let mut found = None;
        self.daemon.store.spool().queue().visit(|request| {
            if request.place.url() == shown {
                found = Some((request.place.clone(), request.state.clone()));
            }
        });
        match found {
            Some((place, state)) => match why_it_rests(&state) {
                Some((reason, status)) => self.fail(shown, status, reason),
                None => self.follow(shown, place),
            },
            None if matches!(self.task, Task::WorkOff) => {}
            // Kept already, or fetched meanwhile: the next look, or an event, will tell.
            None => {
                let found_settled = LOOKS_TO_SETTLE.saturating_sub(1);
                let place = self.queued_place(&mut url);
                self.open.insert(shown, Open { place, found_settled, bytes: 0 });
            }
        }
    }

    /// Where a request for `url` waits, if one does.
    fn queued_place(&self, url: &mut CanonicalUrl) -> Place {
        let owner = match &self.task {
            Task::Get { requester, .. } => &requester.owner,
            Task::WorkOff => &Owner::Local,
        };
        Places::of(url, &HeaderMap::new(), owner).queued
    }

    /// Whether nothing more will happen: all is settled, or held back for long.
    fn is_settled(&mut self) -> bool {
        self.take_all();
        if self.open.is_empty() {
            self.look_at_queue();
        }
        if self.open.is_empty() {
            return true;
        }
        let fetcher = &self.daemon.fetcher;
        let may_dial = self.mode.borrow_and_update().may_dial();
        if may_dial && fetcher.active_count() > 0 {
            return false;
        }
        !self.open.values().any(|open| fetcher.is_active(&open.place.key()))
            && (!may_dial || self.all_rest().is_some())
    }

    /// What holds back all that is open, if that lasts.
    fn all_rest(&self) -> Option<Vec<(Held, u64)>> {
        held::all_rest(&self.daemon, self.open.values().map(|open| &open.place))
    }

    async fn end(&mut self) {
        // What was told to be in the spool is there for whoever looks now.
        if let Err(error) = self.daemon.store.run(Spool::flush).await {
            let error = error_chain(&error);
            tracing::error!(error, "fetched pages are not kept");
            self.failed += 1;
        }
        if matches!(self.task, Task::Get { .. }) {
            let mut waiting: Vec<_> = self.open.keys().cloned().collect();
            waiting.sort_unstable();
            self.ready.extend(waiting.into_iter().map(|url| Event::Queued { url }));
        }
        self.ready.extend(held_back(self.all_rest()));
        let waiting = u64::try_from(self.open.len()).unwrap_or(u64::MAX);
        let (fetched, failed) = (self.fetched, self.failed);
        self.ready.push_back(Event::End { fetched, failed, waiting });
        self.ended = true;
    }

    /// Reads the queue; when it is to be worked off, follows what waits there.
    fn look_at_queue(&mut self) -> OnQueue {
        let (open, task) = (&mut self.open, &self.task);
        let mut on_queue = OnQueue::new();
        self.daemon.store.spool().queue().visit(|request| {
            let url = request.place.url();
            let is_open = open.contains_key(url);
            if !is_open && request.state != RequestState::Waiting {
                return;
            }
            let failure = why_it_rests(&request.state);
            if matches!(task, Task::WorkOff) && failure.is_none() && !is_open {
                let place = request.place.clone();
                open.insert(url.to_owned(), Open { place, found_settled: 0, bytes: 0 });
            }
            on_queue.insert(request.place.key(), failure);
        });
        on_queue
    }

    /// Tells progress, and settles what has left the queue without an event.
    async fn look(&mut self) {
        self.tell_progress();
        let mut on_queue = self.look_at_queue();
        let fetcher = &self.daemon.fetcher;
        let mut settled = Vec::new();
        for (url, open) in &mut self.open {
            let key = open.place.key();
            if fetcher.is_active(&key) || matches!(on_queue.get(&key), Some(None)) {
                open.found_settled = 0;
                continue;
            }
            open.found_settled = open.found_settled.saturating_add(1);
            if open.found_settled >= LOOKS_TO_SETTLE {
                settled.push((url.clone(), open.place.clone()));
            }
        }
        for (url, place) in settled {
            let failure = on_queue.remove(&place.key()).flatten();
            self.settle_unheard(url, &place, failure).await;
        }
    }

    /// Tells from the spool how a request ended.
    async fn settle_unheard(
        &mut self,
        url: String,
        place: &Place,
        failure: Option<(String, Option<u16>)>,
    ) {
        if let Some((error, status)) = failure {
            return self.fail(url, status, error);
        }
        match self.kept(place).await {
            Ok(Some(kept)) => {
                self.settle(&url);
                self.fetched += 1;
                self.want_location(&url, &kept);
                let (status, bytes) = (kept.status.as_u16(), kept.entry.body_len());
                self.sum.came(bytes);
                self.ready.push_back(Event::Done { url, status, bytes });
            }
            // Somebody has taken it off the queue.
            Ok(None) if matches!(self.task, Task::WorkOff) => {
                self.settle(&url);
            }
            Ok(None) => self.fail(url, None, "it was taken off the queue".to_owned()),
            Err(error) => self.fail(url, None, error_chain(&error)),
        }
    }

    /// What is kept for a request that was queued for `place`.
    async fn kept(&self, place: &Place) -> Result<Option<Kept>, Error> {
        let Some(places) = Places::of_queued(place, &self.daemon.local) else { return Ok(None) };
        Ok(look_up(&self.daemon.store, &places).await?.choose(Mode::Online))
    }

    /// Where a kept redirect leads is wanted too: the fetcher, which follows the others, has nothing
    /// to do with this one.
    fn want_location(&mut self, url: &str, kept: &Kept) {
        let location = fetch::location(url, kept.status, &kept.fields);
        let Some(location) = location.filter(|_| !self.is_full()) else { return };
        if let Task::Get { wanted, .. } = &mut self.task {
            let (url, status) = (url.to_owned(), kept.status.as_u16());
            let told =
                Event::Redirect { url, status, location: fetch::shown(&self.daemon, &location) };
            self.ready.push_back(told);
            wanted.push_back(location);
        }
    }

    fn tell_progress(&mut self) {
        for download in self.daemon.downloads.list() {
            let shown = download.progress();
            if let Some(open) = self.open.get_mut(download.url())
                && shown.bytes != open.bytes
            {
                open.bytes = shown.bytes;
                self.ready.push_back(progress(download.url(), &shown));
            }
        }
        let under_way = self.open.values().map(|open| open.bytes).sum();
        let left = u64::try_from(self.open.len()).unwrap_or(u64::MAX);
        let moves = self.mode.borrow().may_dial();
        let whole = self.sum.whole(self.fetched, self.failed, left, under_way, moves);
        self.ready.extend(whole.map(Event::Whole));
    }
}

#[cfg(test)]
mod tests;
