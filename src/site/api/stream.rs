//! Responses that report line by line while the queue is fetched: `POST /api/get` and `POST
//! /api/fetch`.
//!
//! The state of each request is known from the queue; the events of the fetcher only report it
//! sooner. So a client that reads too slowly, and loses events, still learns how each request
//! ended.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use wwwoffle_spool::{Error, Place, RequestState};
use wwwoffle_url::{CanonicalUrl, Key};

use super::line_report::{EventInbox, LineReport, ReportTrigger, body};
use super::sum::{OverallProgress, held_events, progress};
use crate::base::error_chain::error_chain;
use crate::base::mode::Mode;
use crate::base::owner::{Owner, Places, Requester};
use crate::fetch::{self, FormDraft, WantOutcome, failure_reason, hold};
use crate::proxy::body::Body;
use crate::site::context::SiteContext;
use crate::storage::lookup::look_up;
use crate::storage::store::StoredCopy;
use wwwoffle_api::{Event, Hold};
use wwwoffle_http::redirect::{location, shown_location};

/// Number of consecutive looks at the queue that must find a request settled before the stream
/// reports its end. Until then, the event about its end may still arrive.
const LOOKS_TO_SETTLE: u8 = 2;

/// Maximum number of URLs that one `get` follows, including redirects.
const MOST_FOLLOWED: usize = 20_000;

/// The request to make for each URL.
#[derive(Debug)]
pub(in crate::site) enum WantedRequest {
    /// The page, unless it is stored.
    Page,
    /// The page, even if it is stored.
    NewPage,
    /// A form.
    Form(FormDraft),
}

/// Fetches `urls` into the spool for `requester`, and reports on each URL until its request is
/// settled.
pub(in crate::site) fn get(
    context: &Arc<SiteContext>,
    requester: Requester,
    urls: Vec<String>,
    what: WantedRequest,
) -> Body {
    let (wanted, settled, what) = (urls.into(), HashSet::new(), Arc::new(what));
    body(RequestFollower::new(context, FollowScope::Get { requester, wanted, what, settled }))
}

/// Fetches the queue, at most `budget` bytes if that is given. Reports until every request is
/// settled or blocked for a long time.
pub(in crate::site) fn fetch(context: &Arc<SiteContext>, budget: Option<u64>) -> Body {
    let mut follow = RequestFollower::new(context, FollowScope::WorkOff);
    // Called before any request leaves the queue, so that all requests are reported.
    follow.look_at_queue();
    context.fetch.fetcher.begin(budget);
    body(follow)
}

/// The requests to follow.
#[derive(Debug)]
enum FollowScope {
    /// These URLs and the targets of their redirects.
    Get {
        requester: Requester,
        wanted: VecDeque<String>,
        what: Arc<WantedRequest>,
        settled: HashSet<String>,
    },
    /// All waiting requests of the queue.
    WorkOff,
}

/// A request that is not settled.
#[derive(Debug)]
struct FollowedRequest {
    place: Place,
    /// Number of consecutive looks that found the request settled.
    found_settled: u8,
    /// Last reported size, in bytes.
    bytes: u64,
    /// Whether the URL was queued as a link or sub-resource of a page.
    is_link: bool,
}

impl FollowedRequest {
    fn new(place: Place, is_link: bool) -> Self {
        Self { place, found_settled: 0, bytes: 0, is_link }
    }
}

#[derive(Debug)]
struct RequestFollower {
    inbox: EventInbox,
    task: FollowScope,
    /// The requests that are not settled, by URL, because events contain the URL.
    open: HashMap<String, FollowedRequest>,
    fetched: u64,
    failed: u64,
    dead: u64,
    sum: OverallProgress,
}

/// The queued requests that wait or are followed. The value is `None` while the request waits or is
/// being fetched, and the reason and status of the failure once it has failed.
type QueueLookup = HashMap<Key, Option<(String, Option<u16>)>>;

impl LineReport for RequestFollower {
    fn inbox(&mut self) -> &mut EventInbox {
        &mut self.inbox
    }

    async fn advance(&mut self) {
        if let Some((requester, url, what)) = self.next_wanted() {
            self.request_url(&requester, &url, &what).await;
            return self.handle_pending_events();
        }
        if self.is_settled() {
            return self.end().await;
        }
        if !self.inbox.ready.is_empty() {
            return;
        }
        match self.inbox.wait_for_event().await {
            ReportTrigger::Event(event) => self.handle_event(event),
            ReportTrigger::Look => self.update().await,
            ReportTrigger::Other => {}
        }
    }
}

impl RequestFollower {
    fn new(context: &Arc<SiteContext>, task: FollowScope) -> Self {
        let (inbox, sum) = (EventInbox::new(context), OverallProgress::default());
        Self { inbox, task, open: HashMap::new(), fetched: 0, failed: 0, dead: 0, sum }
    }

    fn next_wanted(&mut self) -> Option<(Requester, String, Arc<WantedRequest>)> {
        match &mut self.task {
            FollowScope::Get { requester, wanted, what, .. } => {
                wanted.pop_front().map(|url| (requester.clone(), url, Arc::clone(what)))
            }
            FollowScope::WorkOff => None,
        }
    }

    async fn request_url(&mut self, requester: &Requester, text: &str, what: &WantedRequest) {
        let Ok(url) = CanonicalUrl::parse(text, &self.inbox.context.base.local) else { return };
        // The queued request of a followed URL may be for another spelling only. So the URL is
        // requested even if it is followed.
        let is_known = self.is_known(url.as_str());
        let context = &self.inbox.context.fetch;
        let outcome = match what {
            WantedRequest::Page => fetch::request_page(context, requester, text, false).await,
            WantedRequest::NewPage => fetch::request_page(context, requester, text, true).await,
            WantedRequest::Form(form) => fetch::send_form(context, requester, text, form).await,
        };
        match outcome {
            Ok(WantOutcome::Kept { .. }) if is_known => {}
            Ok(WantOutcome::Kept { url: shown, place, .. }) => {
                self.report_missed_end(shown, &place, None).await;
            }
            Ok(WantOutcome::Queued { url: shown, place }) => self.follow(shown, place, false),
            Err(error) => {
                let (url, error) = (url.as_str().to_owned(), error_chain(&error));
                if is_known {
                    // The URL is still followed for its other spellings.
                    self.failed += 1;
                    self.inbox.ready.push_back(Event::Failed { url, status: None, error });
                } else {
                    self.send_failure(url, None, error);
                }
            }
        }
    }

    fn follow(&mut self, url: String, place: Place, is_link: bool) {
        self.open.entry(url).or_insert(FollowedRequest::new(place, is_link));
    }

    /// Whether `url` is or was followed.
    fn is_known(&self, url: &str) -> bool {
        let was = match &self.task {
            FollowScope::Get { settled, .. } => settled.contains(url),
            FollowScope::WorkOff => false,
        };
        was || self.open.contains_key(url)
    }

    /// Whether the limit of followed URLs is reached.
    fn is_full(&self) -> bool {
        match &self.task {
            FollowScope::Get { wanted, settled, .. } => {
                wanted.len() + settled.len() + self.open.len() >= MOST_FOLLOWED
            }
            FollowScope::WorkOff => false,
        }
    }

    fn unfollow(&mut self, url: &str) {
        self.open.remove(url);
        if let FollowScope::Get { settled, .. } = &mut self.task {
            settled.insert(url.to_owned());
        }
    }

    fn send_failure(&mut self, url: String, status: Option<u16>, error: String) {
        self.count(&url, status, true);
        self.unfollow(&url);
        self.inbox.ready.push_back(Event::Failed { url, status, error });
    }

    /// Counts a settled request. As in the report of a recursive fetch, a link that leads to a 404
    /// or 410 counts as dead. A request that was added and finished between two looks counts as a
    /// link.
    fn count(&mut self, url: &str, status: Option<u16>, has_failed: bool) {
        let is_link = self.open.get(url).is_none_or(|open| open.is_link);
        let count = match status {
            Some(404 | 410) if is_link => &mut self.dead,
            _ if has_failed => &mut self.failed,
            _ => &mut self.fetched,
        };
        *count += 1;
    }

    /// Handles the events received so far, so that few are lost while URLs are still being queued.
    fn handle_pending_events(&mut self) {
        while let Some(event) = self.inbox.event() {
            self.handle_event(event);
        }
    }

    fn handle_event(&mut self, event: Event) {
        let (Event::Start { url }
        | Event::Retry { url, .. }
        | Event::Browser { url, .. }
        | Event::Done { url, .. }
        | Event::Failed { url, .. }
        | Event::Redirect { url, .. }) = &event
        else {
            return;
        };
        // While the whole queue is fetched, an event may be about a request that was not followed,
        // because it was added and finished between two looks. Such an event is reported, too.
        if !matches!(self.task, FollowScope::WorkOff) && !self.open.contains_key(url) {
            return;
        }
        let mut next = None;
        match &event {
            Event::Done { url, status, bytes } => {
                self.count(url, Some(*status), false);
                self.sum.add_settled(*bytes);
                self.unfollow(url);
            }
            Event::Failed { url, status, .. } => {
                self.count(url, *status, true);
                self.unfollow(url);
            }
            Event::Redirect { location, .. } => next.clone_from(location),
            _ => {}
        }
        self.inbox.ready.push_back(event);
        if let Some(location) = next {
            self.redirect(&location);
        }
    }

    /// Follows the target of a redirect. If the target must be fetched, the fetcher has already
    /// queued it.
    fn redirect(&mut self, location: &str) {
        let Ok(url) = CanonicalUrl::parse(location, &self.inbox.context.base.local) else {
            return;
        };
        let shown = url.as_str().to_owned();
        if self.is_full() || self.is_known(&shown) {
            return;
        }
        // The target may be queued under another key, with the credentials of the requester.
        let mut found = None;
        self.inbox.context.storage.store.spool().queue().visit(|request| {
            if request.place.url() == shown {
                let is_link = request.page.is_some();
                found = Some((request.place.clone(), is_link, request.fetching.state.clone()));
            }
        });
        match found {
            Some((place, is_link, state)) => {
                self.follow(shown.clone(), place, is_link);
                if let Some((reason, status)) = failure_reason(&state) {
                    self.send_failure(shown, status, reason);
                }
            }
            None if matches!(self.task, FollowScope::WorkOff) => {}
            // The target is already stored, or was fetched since the redirect. The next look, or an
            // event, will show this.
            None => {
                let mut followed = FollowedRequest::new(self.queued_place(&url), false);
                followed.found_settled = LOOKS_TO_SETTLE.saturating_sub(1);
                self.open.insert(shown, followed);
            }
        }
    }

    /// Returns the place under which a request for `url` would be queued.
    fn queued_place(&self, url: &CanonicalUrl) -> Place {
        let owner = match &self.task {
            FollowScope::Get { requester, .. } => &requester.owner,
            FollowScope::WorkOff => &Owner::Local,
        };
        Places::of_url(url, owner).queued
    }

    /// Whether nothing more will happen: all requests are settled, or blocked for a long time.
    fn is_settled(&mut self) -> bool {
        self.handle_pending_events();
        if self.open.is_empty() {
            self.look_at_queue();
        }
        if self.open.is_empty() {
            return true;
        }
        let may_dial = self.inbox.may_dial();
        let fetcher = &self.inbox.context.fetch.fetcher;
        if may_dial && fetcher.active_count() > 0 {
            return false;
        }
        !self.open.values().any(|open| fetcher.is_active(&open.place.key()))
            && (!may_dial || self.all_held().is_some())
    }

    /// Returns the reasons why all followed requests are blocked. `None` if one of them is not
    /// blocked, or not for a long time.
    fn all_held(&self) -> Option<Vec<(Hold, u64)>> {
        hold::all_held(&self.inbox.context.fetch, self.open.values().map(|open| &open.place))
    }

    async fn end(&mut self) {
        self.failed += u64::from(!self.inbox.flush().await);
        if matches!(self.task, FollowScope::Get { .. }) {
            let mut waiting: Vec<_> = self.open.keys().cloned().collect();
            waiting.sort_unstable();
            self.inbox.ready.extend(waiting.into_iter().map(|url| Event::Queued { url }));
        }
        self.inbox.ready.extend(held_events(self.all_held()));
        let waiting = u64::try_from(self.open.len()).unwrap_or(u64::MAX);
        let (fetched, failed, dead) = (self.fetched, self.failed, self.dead);
        self.inbox.end(Event::End { fetched, failed, dead, waiting });
    }

    /// Reads the queue. If the whole queue is being fetched, follows the waiting requests.
    fn look_at_queue(&mut self) -> QueueLookup {
        let (open, task, context) = (&mut self.open, &self.task, &self.inbox.context);
        let mut on_queue = QueueLookup::new();
        context.storage.store.spool().queue().visit(|request| {
            let (url, key) = (request.place.url(), request.place.key());
            let is_open = open.contains_key(url);
            // A form that is being sent counts as failed on the queue, so that it is not sent
            // twice.
            let waits = request.fetching.state == RequestState::Waiting
                || context.fetch.fetcher.is_active(&key);
            if !is_open && !waits {
                return;
            }
            let failure = if waits { None } else { failure_reason(&request.fetching.state) };
            if matches!(task, FollowScope::WorkOff) && failure.is_none() && !is_open {
                let followed = FollowedRequest::new(request.place.clone(), request.page.is_some());
                open.insert(url.to_owned(), followed);
            }
            on_queue.insert(key, failure);
        });
        on_queue
    }

    /// Reports progress, and settles requests that left the queue without an event.
    async fn update(&mut self) {
        self.report_progress();
        let mut on_queue = self.look_at_queue();
        let fetcher = &self.inbox.context.fetch.fetcher;
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
            self.report_missed_end(url, &place, failure).await;
        }
    }

    /// Reports how a request without an event ended: with `failure`, or else as the spool shows.
    async fn report_missed_end(
        &mut self,
        url: String,
        place: &Place,
        failure: Option<(String, Option<u16>)>,
    ) {
        if let Some((error, status)) = failure {
            return self.send_failure(url, status, error);
        }
        match self.stored_copy(place).await {
            Ok(Some(copy)) => {
                let (status, bytes) = (copy.status.as_u16(), copy.entry.body_len());
                self.count(&url, Some(status), false);
                self.unfollow(&url);
                self.follow_stored_redirect(&url, &copy);
                self.sum.add_settled(bytes);
                self.inbox.ready.push_back(Event::Done { url, status, bytes });
            }
            // Another caller removed the request from the queue.
            Ok(None) if matches!(self.task, FollowScope::WorkOff) => {
                self.unfollow(&url);
            }
            Ok(None) => self.send_failure(url, None, "it was removed from the queue".to_owned()),
            Err(error) => self.send_failure(url, None, error_chain(&error)),
        }
    }

    /// Returns the stored copy that answers a request queued for `place`.
    async fn stored_copy(&self, place: &Place) -> Result<Option<StoredCopy>, Error> {
        let Some(places) = Places::of_queued(place, &self.inbox.context.base.local) else {
            return Ok(None);
        };
        Ok(look_up(&self.inbox.context.storage.store, &places).await?.choose(Mode::Online))
    }

    /// If the stored `copy` is a redirect, also fetches its target. The fetcher follows the
    /// redirects that it fetches, but not those that are already stored.
    fn follow_stored_redirect(&mut self, url: &str, copy: &StoredCopy) {
        let location = location(url, copy.status, &copy.fields);
        let Some(location) = location.filter(|_| !self.is_full()) else { return };
        if let FollowScope::Get { wanted, .. } = &mut self.task {
            let (url, status) = (url.to_owned(), copy.status.as_u16());
            let redirect = Event::Redirect {
                url,
                status,
                location: shown_location(&location, &self.inbox.context.base.local),
            };
            self.inbox.ready.push_back(redirect);
            wanted.push_back(location);
        }
    }

    fn report_progress(&mut self) {
        for download in self.inbox.context.proxy.traffic.downloads.list() {
            let shown = download.progress();
            if let Some(open) = self.open.get_mut(download.url())
                && shown.bytes != open.bytes
            {
                open.bytes = shown.bytes;
                self.inbox.ready.push_back(progress(download.url(), &shown));
            }
        }
        let under_way = self.open.values().map(|open| open.bytes).sum();
        let left = u64::try_from(self.open.len()).unwrap_or(u64::MAX);
        let moves = self.inbox.may_dial();
        let failed = self.failed + self.dead;
        let whole = self.sum.update(self.fetched, failed, left, under_way, moves);
        self.inbox.ready.extend(whole.map(Event::Whole));
    }
}

#[cfg(test)]
mod tests;
