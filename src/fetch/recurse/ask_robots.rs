//! The `robots.txt` files of sites, fetched and cached.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use lru::LruCache;
use tracing::debug;
use wwwoffle_config::UrlParts;
use wwwoffle_spool::{Outgoing, RequestKind, RunMembership};
use wwwoffle_url::CanonicalUrl;

use super::robots::{self, MAX_ROBOTS, Robots};
use super::runs::Runs;
use crate::base::clock;
use crate::base::mode::Mode;
use crate::base::owner::{Places, Requester};
use crate::fetch::attempt::{self, request_url};
use crate::fetch::context::FetchContext;
use crate::fetch::verdict::FetchVerdict;
use crate::fetch::want;
use crate::proxy::target::of_url;
use crate::storage::body_pieces::read_beginning;
use crate::storage::lookup::look_up;

/// The time for which a `robots.txt` is used (RFC 9309 §2.4).
const BELIEVED: Duration = Duration::from_secs(24 * 60 * 60);

/// The time before a failed request for a `robots.txt` is retried.
const UNREACHABLE_FOR: Duration = Duration::from_secs(5 * 60);

/// The largest number of origins with cached rules.
const MAX_ORIGINS: NonZeroUsize = NonZeroUsize::new(1_000).unwrap();

/// The largest number of redirects of a `robots.txt` (RFC 9309 §2.3.1.2).
const MAX_REDIRECTS: usize = 5;

/// Our product token in a `robots.txt`.
const PRODUCT: &str = "wwwoffle";

/// The cached rules of origins, by the URL of their `robots.txt`.
#[derive(Debug)]
pub(in crate::fetch) struct RobotsCache {
    rules: Mutex<LruCache<String, (Arc<Robots>, SystemTime)>>,
    /// For each file that is being requested, the lock that the requesting task holds.
    turns: Mutex<HashMap<String, Weak<RobotsTurn>>>,
}

type RobotsTurn = tokio::sync::Mutex<()>;

impl Default for RobotsCache {
    fn default() -> Self {
        Self { rules: Mutex::new(LruCache::new(MAX_ORIGINS)), turns: Mutex::default() }
    }
}

impl RobotsCache {
    /// Returns the cached rules of the file at `url`, or else the result of `ask`, which is then
    /// cached. If several callers need the same file, only one of them runs `ask`.
    async fn find_or(&self, url: String, ask: impl Future<Output = Robots>) -> Arc<Robots> {
        if let Some(known) = self.find(&url, clock::now()) {
            return known;
        }
        let turn = self.turn(&url);
        let _turn = turn.lock().await;
        let now = clock::now();
        if let Some(known) = self.find(&url, now) {
            return known;
        }
        let robots = Arc::new(ask.await);
        debug!(url, ?robots, "the robots.txt of a site was read");
        self.remember(url, &robots, now);
        robots
    }

    fn turn(&self, url: &str) -> Arc<RobotsTurn> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = turns.get(url).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::default();
        turns.insert(url.to_owned(), Arc::downgrade(&turn));
        turn
    }

    fn find(&self, url: &str, now: SystemTime) -> Option<Arc<Robots>> {
        let mut known = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let (robots, until) = known.get(url)?;
        if *until > now {
            return Some(Arc::clone(robots));
        }
        known.pop(url);
        None
    }

    fn remember(&self, url: String, robots: &Arc<Robots>, now: SystemTime) {
        let mut known = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let believed = if **robots == Robots::Nothing { UNREACHABLE_FOR } else { BELIEVED };
        known.put(url, (Arc::clone(robots), now + believed));
    }
}

/// Whether the `robots.txt` of the site forbids `outgoing`. Requests the file if its rules are not
/// cached. `false` if `robots.txt` does not apply to the request.
pub(in crate::fetch) async fn is_refused(context: &Arc<FetchContext>, outgoing: &Outgoing) -> bool {
    let runs = context.fetcher.runs();
    let Some(url) = robots_url(context, runs, outgoing) else { return false };
    let place = place(&url);
    let ask = fetch(context, outgoing, &place);
    let robots = context.fetcher.robots.find_or(place.clone(), ask).await;
    if let Some(delay) = robots.crawl_delay() {
        context.fetcher.set_minimum_delay(url.host_port(), delay);
    }
    !robots.allows(url.path_and_arguments())
}

/// Returns the URL of `outgoing` if `robots.txt` applies to the request: only runs want it, and all
/// of them respect `robots.txt`. `None` for the start page of a run, and for FTP. Also `None` for a
/// sub-resource, because a reader of the page needs it.
pub(in crate::fetch) fn robots_url(
    context: &FetchContext,
    runs: &Runs,
    outgoing: &Outgoing,
) -> Option<CanonicalUrl> {
    let summary = &outgoing.summary;
    // If a person has made the request too, its kind is not `Recursive`.
    let is_of_runs = summary.kind == RequestKind::Recursive && !summary.runs.is_empty();
    if !is_of_runs || summary.class.is_some() {
        return None;
    }
    let url = CanonicalUrl::parse(request_url(outgoing), &context.base.local).ok()?;
    if !matches!(url.protocol(), "http" | "https") {
        return None;
    }
    let config = context.base.config();
    let heeds = |member: &RunMembership| {
        runs.with_run(member.run, |run| {
            !run.is_start(&url) && robots::obeys_robots(&config, &url, &run.spec)
        })
    };
    // If one run ignores the rules, the URL may be fetched.
    outgoing.summary.runs.iter().all(|member| heeds(member) == Some(true)).then_some(url)
}

/// The rules of the site of `url`; `None` if they are not known without a request.
pub(in crate::fetch) async fn read_stored_robots(
    context: &FetchContext,
    outgoing: &Outgoing,
    url: &CanonicalUrl,
) -> Option<Arc<Robots>> {
    let place = place(url);
    if let Some(known) = context.fetcher.robots.find(&place, clock::now()) {
        return Some(known);
    }
    let request = request(context, outgoing, &place).ok()?;
    stored_robots(context, &request).await.map(Arc::new)
}

fn place(url: &CanonicalUrl) -> String {
    format!("{}://{}/robots.txt", url.protocol(), url.host_port())
}

/// The request for a `robots.txt`, in the name of the requester of `outgoing`.
///
/// # Errors
///
/// The rules that apply if the file cannot be requested.
fn request(context: &FetchContext, outgoing: &Outgoing, place: &str) -> Result<Outgoing, Robots> {
    let requester = Requester::of_queued(outgoing).ok_or(Robots::Nothing)?;
    let resource = of_url(place, &context.base.local).map_err(|_| Robots::Nothing)?;
    let ask = want::build_request(context, &requester, resource);
    // If the configuration forbids the URL, the file is not requested and counts as missing.
    if ask.start.config.dont_get.urls.matches_parts(&UrlParts::of(&ask.bare)).is_some() {
        return Err(Robots::Everything);
    }
    Ok(want::outgoing(context, &ask, RequestKind::Recursive))
}

/// Requests a `robots.txt`, stores it in the same way as a page, and returns its rules.
async fn fetch(context: &Arc<FetchContext>, outgoing: &Outgoing, place: &str) -> Robots {
    let mut next = match request(context, outgoing, place) {
        Ok(request) => request,
        Err(robots) => return robots,
    };
    for _ in 0..=MAX_REDIRECTS {
        match Box::pin(attempt::attempt(context, &next)).await {
            FetchVerdict::Done { status, led, .. } => match led.next.into_iter().next() {
                Some(successor) if status.is_redirection() => next = successor,
                _ => return stored_robots(context, &next).await.unwrap_or(Robots::Nothing),
            },
            FetchVerdict::Failed { status: Some(status), .. } => {
                return Robots::of_answer(Some(status), b"", PRODUCT);
            }
            _ => return Robots::Nothing,
        }
    }
    Robots::Everything
}

/// Reads the rules of a stored `robots.txt`. `None` if it is missing, cannot be read, or is a
/// redirect.
async fn stored_robots(context: &FetchContext, outgoing: &Outgoing) -> Option<Robots> {
    let places = Places::of_queued(&outgoing.summary.place, &context.base.local)?;
    let found = look_up(&context.storage.store, &places).await.ok()?;
    let copy = found.choose(Mode::Online).map(Arc::new)?;
    if copy.status.is_redirection() {
        return None;
    }
    let body = read_beginning(&context.storage.store, &copy, MAX_ROBOTS).await.ok()?;
    Some(Robots::of_answer(Some(copy.status.as_u16()), &body, PRODUCT))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn concurrent_callers_fetch_robots_rules_once() {
        let (known, asked) = (RobotsCache::default(), AtomicUsize::new(0));
        let find = |host: &str| {
            known.find_or(format!("http://{host}/robots.txt"), async {
                asked.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                Robots::Nothing
            })
        };
        tokio::join!(find("a"), find("b"), find("a"), find("a"));
        assert_eq!(asked.load(Ordering::SeqCst), 2);
        tokio::join!(find("a"), find("c"));
        assert_eq!(asked.load(Ordering::SeqCst), 3);
        assert_eq!(known.turns.lock().unwrap().len(), 1, "nobody waits for the others");
    }
}
