//! What sites ask of programs: their `robots.txt`, fetched and remembered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tracing::debug;
use wwwoffle_config::UrlParts;
use wwwoffle_spool::{Outgoing, RequestKind};
use wwwoffle_url::CanonicalUrl;

use super::robots::{self, MAX_ROBOTS, Robots};
use super::run::LeftOut;
use crate::clock;
use crate::daemon::Daemon;
use crate::fetch::attempt::{self, base};
use crate::fetch::verdict::Verdict;
use crate::fetch::want;
use crate::mode::Mode;
use crate::proxy::lookup::look_up;
use crate::proxy::owner::{Places, Requester};
use crate::proxy::target::of_url;

/// How long a `robots.txt` is believed (RFC 9309 §2.4).
const BELIEVED: Duration = Duration::from_secs(24 * 60 * 60);

/// How long it is believed that one cannot be had.
const UNREACHABLE_FOR: Duration = Duration::from_secs(5 * 60);

/// Of so many origins the rules are remembered.
const MAX_ORIGINS: usize = 1_000;

/// How many redirects of a `robots.txt` are followed (RFC 9309 §2.3.1.2).
const MAX_REDIRECTS: usize = 5;

/// What our requests are called in a `robots.txt`.
const PRODUCT: &str = "wwwoffle";

/// What origins ask of programs, by the URL of their `robots.txt`.
#[derive(Debug, Default)]
pub(in crate::fetch) struct Known(Mutex<HashMap<String, (Arc<Robots>, SystemTime)>>);

impl Known {
    fn find(&self, url: &str, now: SystemTime) -> Option<Arc<Robots>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (robots, until) = known.get(url)?;
        if *until > now {
            return Some(Arc::clone(robots));
        }
        known.remove(url);
        None
    }

    fn remember(&self, url: String, robots: &Arc<Robots>, now: SystemTime) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_ORIGINS {
            known.clear();
        }
        let believed = if **robots == Robots::Nothing { UNREACHABLE_FOR } else { BELIEVED };
        known.insert(url, (Arc::clone(robots), now + believed));
    }
}

/// Whether those who want `outgoing` leave it alone because its site asks for that. A page that was asked
/// for itself is not a matter of `robots.txt`, nor are the parts of pages: whoever reads a page needs them.
pub(in crate::fetch) async fn is_refused(daemon: &Arc<Daemon>, outgoing: &Outgoing) -> bool {
    if outgoing.wishes.is_empty() || outgoing.class.is_some() {
        return false;
    }
    let Ok(url) = CanonicalUrl::parse(base(outgoing), &daemon.local) else { return false };
    let config = daemon.config();
    let heeds = |wish: &wwwoffle_spool::Wish| {
        daemon.fetcher.runs().look(wish.run, |run| {
            !run.is_start(&url) && robots::are_heeded(&config, &url, &run.aim)
        })
    };
    // What anybody wants regardless is fetched.
    if outgoing.wishes.iter().any(|wish| heeds(wish) != Some(true)) {
        return false;
    }
    let robots = robots_of(daemon, outgoing, &url).await;
    if let Some(delay) = robots.crawl_delay() {
        daemon.fetcher.keep_distance(url.host_port(), delay);
    }
    if let Some(delay) = robots.crawl_delay() {
        daemon.fetcher.keep_distance(url.host_port(), delay);
    }
    if robots.allows(url.path_and_arguments()) {
        return false;
    }
    for wish in &outgoing.wishes {
        daemon.fetcher.runs().change(wish.run, |run| {
            run.leave_out(LeftOut::Robots, url.as_str());
        });
    }
    true
}

async fn robots_of(daemon: &Arc<Daemon>, outgoing: &Outgoing, url: &CanonicalUrl) -> Arc<Robots> {
    let place = format!("{}://{}/robots.txt", url.protocol(), url.host_port());
    let now = clock::now();
    if let Some(known) = daemon.fetcher.robots().find(&place, now) {
        return known;
    }
    let robots = Arc::new(fetch(daemon, outgoing, &place).await);
    debug!(place, ?robots, "what the site asks of programs");
    daemon.fetcher.robots().remember(place, &robots, now);
    robots
}

/// Gets a `robots.txt`, by the way that any page comes, into the spool.
async fn fetch(daemon: &Arc<Daemon>, outgoing: &Outgoing, place: &str) -> Robots {
    let nothing = || Robots::of_answer(None, b"", PRODUCT);
    let Some(requester) = Requester::of_queued(outgoing) else { return nothing() };
    let Ok(resource) = of_url(place, &daemon.local) else { return nothing() };
    let ask = want::ask(daemon, &requester, resource);
    let options = &ask.config.dont_get;
    // What the configuration never gets is not there to be read.
    if options.urls.matches_parts(&UrlParts::of(&ask.bare)).is_some() {
        return Robots::Everything;
    }
    let mut next = want::outgoing(daemon, &ask, RequestKind::Recursive);
    for _ in 0..=MAX_REDIRECTS {
        match Box::pin(attempt::attempt(daemon, &next)).await {
            Verdict::Done { status, led, .. } => match led.next.into_iter().next() {
                Some(successor) if status.is_redirection() => next = successor,
                _ => return read(daemon, &next).await,
            },
            Verdict::Failed { status: Some(status), .. } => {
                return Robots::of_answer(Some(status), b"", PRODUCT);
            }
            _ => return nothing(),
        }
    }
    Robots::Everything
}

/// Reads a `robots.txt` that is kept.
async fn read(daemon: &Daemon, outgoing: &Outgoing) -> Robots {
    let nothing = || Robots::of_answer(None, b"", PRODUCT);
    let Some(places) = Places::of_queued(&outgoing.place, &daemon.local) else { return nothing() };
    let Ok(found) = look_up(&daemon.store, &places).await else { return nothing() };
    let Some(kept) = found.choose(Mode::Online).map(Arc::new) else { return nothing() };
    let Ok(body) = super::read::beginning(&daemon.store, &kept, MAX_ROBOTS).await else {
        return nothing();
    };
    Robots::of_answer(Some(kept.status.as_u16()), &body, PRODUCT)
}
