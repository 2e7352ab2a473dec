//! A running recursive fetch: its fetch specification, the URLs it has seen, and its results.
//!
//! The remaining requests of a run are in the queue, where each names its run. The results are in
//! the spool. A run remembers which pages were considered, so that each is taken once. It also
//! contains the report. A run is pure: time is an argument, and the caller decides when to write
//! its text. The text may be some seconds old. Later results are found in the spool, and are
//! counted when their URLs are found again.

#[cfg(test)]
mod tests;
mod text;

use std::collections::HashMap;

use jiff::Timestamp;
use wwwoffle_spool::RunId;
use wwwoffle_url::{CanonicalUrl, Key};

use super::traps::{Trap, Traps};
use wwwoffle_api::fetch_spec::FetchSpec;

pub use text::BadRun;
pub use wwwoffle_api::report::{FailedUrl, FetchCounts, LeftOut, LeftOutLinks, Report};

/// The most URLs that one run remembers; further pages are left out.
pub const MAX_SEEN: usize = 500_000;

wwwoffle_url::named! {
    /// The outcome of one URL, and its letter in the text of a run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum UrlOutcome {
        /// The request waits in the queue.
        Waits = "w",
        /// The URL was fetched.
        Fetched = "f",
        /// The origin confirmed the stored copy.
        Unchanged = "u",
        /// The stored copy was fresh and needed no request.
        Kept = "k",
        /// The URL could not be fetched or stored.
        Failed = "x",
        /// A page refers to a URL that does not exist.
        Dead = "d",
        /// The `robots.txt` of the site forbids the URL. It does not count as a page of the run.
        LeftAlone = "r",
        /// The data saver leaves the sub-resource out. It does not count as one of the run, but a
        /// link may lead to the URL.
        Saved = "s",
        /// The page is beyond the requested depth. It does not count as a page of the run, but may
        /// become one.
        TooFar = "t",
    }
}

impl UrlOutcome {
    /// Whether a URL with this outcome counts as a page or sub-resource of the run.
    const fn is_taken(self) -> bool {
        !matches!(self, Self::LeftAlone | Self::Saved | Self::TooFar)
    }
}

/// The state of one URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    /// The number of links that may be followed from the URL; `None` for a sub-resource. A frame
    /// has the same number as its page.
    left: Option<u16>,
    outcome: UrlOutcome,
}

/// The number of links that may be followed from a URL that a run wants with this `depth`. `None`
/// for a sub-resource that is not a frame: only frames have a depth above 0.
pub(super) fn links_left(is_part: bool, depth: u16) -> Option<u16> {
    (!is_part || depth > 0).then_some(depth)
}

/// The decision of a run about a page or sub-resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunDecision {
    /// Fetch the URL.
    Fetch,
    /// The URL was fetched before over a longer path, so its links must now be followed too.
    Follow,
    /// Do nothing: the URL was seen before.
    Nothing,
}

/// A recursive fetch.
#[derive(Clone, Debug)]
pub struct Run {
    /// The identifier of the run.
    pub id: RunId,
    /// The owner, as in the queue.
    pub owner: Option<String>,
    /// The start page, and the targets of its redirects.
    starts: Vec<CanonicalUrl>,
    /// The requested depth, scope, sub-resources and limits.
    pub spec: FetchSpec,
    /// The start of the run. Entries that were checked since this time need no revalidation.
    pub begun: Timestamp,
    /// When the run ended, because nothing was left to do or it was stopped. `None` while it runs.
    pub ended: Option<Timestamp>,
    /// The result of the run.
    pub report: Report,
    seen: HashMap<Key, Seen>,
    /// The number of waiting URLs in `seen`.
    waiting: usize,
    traps: Traps,
}

impl Run {
    /// A run that starts `now` at the page `start`, without results.
    #[must_use]
    pub fn new(
        id: RunId,
        owner: Option<String>,
        start: CanonicalUrl,
        spec: FetchSpec,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            owner,
            starts: vec![start],
            spec,
            begun: now,
            ended: None,
            report: Report::default(),
            seen: HashMap::new(),
            waiting: 0,
            traps: Traps::default(),
        }
    }

    /// The start page, and the targets of its redirects.
    #[must_use]
    pub fn starts(&self) -> &[CanonicalUrl] {
        &self.starts
    }

    /// Records a redirect from `from` to `to`. If `from` is a start page, `to` becomes one too, so
    /// that the pages in its scope belong to the run.
    pub fn record_redirect(&mut self, from: &CanonicalUrl, to: &CanonicalUrl) {
        // An endless chain of redirects must not let the run grow without limit.
        const MAX_STARTS: usize = 8;
        if self.starts.contains(from) && !self.starts.contains(to) && self.starts.len() < MAX_STARTS
        {
            self.starts.push(to.clone());
        }
    }

    /// Takes the start page of the run.
    pub fn take_start_page(&mut self, key: Key) {
        self.count_waiting(key, Some(self.spec.depth));
    }

    /// Considers a page that a link leads to. `left` more links may be followed from the page.
    ///
    /// # Errors
    ///
    /// The reason why the page is not taken. It is counted as left out.
    pub fn page(
        &mut self,
        url: &CanonicalUrl,
        key: Key,
        left: u16,
        now: Timestamp,
    ) -> Result<RunDecision, LeftOut> {
        if self.knows(&key, left) {
            return Ok(RunDecision::Nothing);
        }
        if let Some(step) = self.extend(key, left) {
            return Ok(step);
        }
        self.may_be_taken(url, now).inspect_err(|why| self.count_left_out(*why, url.as_str()))?;
        self.reach(&key, url.as_str());
        // The data saver may have left the URL out as a sub-resource.
        self.seen.remove(&key);
        self.count_waiting(key, Some(left));
        Ok(RunDecision::Fetch)
    }

    /// Allows `left` links to be followed from a URL that was taken before. `None` if the URL was
    /// not taken.
    fn extend(&mut self, key: Key, left: u16) -> Option<RunDecision> {
        let seen = self.seen.get_mut(&key).filter(|seen| seen.outcome.is_taken())?;
        let before = std::mem::replace(seen, Seen { left: Some(left), outcome: UrlOutcome::Waits });
        if before.outcome == UrlOutcome::Waits {
            // The request is still in the queue. The caller queues it again, which raises its
            // number of links.
            return Some(RunDecision::Fetch);
        }
        self.waiting = self.waiting.saturating_add(1);
        self.take_back(before.outcome);
        Some(RunDecision::Follow)
    }

    /// Considers a sub-resource of a page. If it is a frame, `left` links may be followed from it.
    ///
    /// # Errors
    ///
    /// The reason why the sub-resource is not taken. It is counted as left out.
    pub fn part(
        &mut self,
        url: &str,
        key: Key,
        left: Option<u16>,
        now: Timestamp,
    ) -> Result<RunDecision, LeftOut> {
        if self.knows_part(&key, left) {
            return Ok(RunDecision::Nothing);
        }
        if let Some(left) = left
            && let Some(step) = self.extend(key, left)
        {
            return Ok(step);
        }
        let room = if self.seen.len() < MAX_SEEN { Ok(()) } else { Err(LeftOut::Memory) };
        room.and_then(|()| self.is_within(now))
            .inspect_err(|why| self.count_left_out(*why, url))?;
        self.reach(&key, url);
        // `robots.txt` may have forbidden the URL as the target of a link. It is fetched as a
        // sub-resource nevertheless.
        self.seen.remove(&key);
        self.count_waiting(key, left);
        Ok(RunDecision::Fetch)
    }

    /// Counts a link that is not followed, or a sub-resource that is not fetched.
    pub fn count_left_out(&mut self, why: LeftOut, url: &str) {
        self.report.leave_out(why, 1, url);
    }

    /// Counts a page beyond the requested depth, once, unless it belongs to the run.
    pub fn count_too_far(&mut self, key: Key, url: &str) {
        if self.seen.contains_key(&key) {
            return;
        }
        // The remaining memory is reserved for pages that are taken. Beyond this limit, a URL may
        // count more than once.
        if self.seen.len() < MAX_SEEN / 2 {
            self.seen.insert(key, Seen { left: None, outcome: UrlOutcome::TooFar });
        }
        self.count_left_out(LeftOut::Depth, url);
    }

    /// If a URL was counted as too far away, takes this back, because a shorter path leads to the
    /// URL.
    fn reach(&mut self, key: &Key, url: &str) {
        if self.outcome(key) == Some(UrlOutcome::TooFar) {
            self.seen.remove(key);
            self.report.take_back(LeftOut::Depth, url);
        }
    }

    /// Counts references of a page that are not valid URLs.
    pub fn count_invalid(&mut self, count: usize, page: &str) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.report.leave_out(LeftOut::Url, count, page);
    }

    /// Records the result for a URL, which replaces an earlier result. Adds `bytes` to the total.
    pub fn record(&mut self, key: &Key, outcome: UrlOutcome, bytes: u64) {
        let left = self.left(key);
        if let Some(before) = self.seen.insert(*key, Seen { left, outcome }) {
            self.take_back(before.outcome);
        }
        if let Some(count) = self.count(outcome) {
            *count = count.saturating_add(1);
        }
        self.report.counts.bytes = self.report.counts.bytes.saturating_add(bytes);
    }

    /// Records that a URL could not be fetched.
    pub fn failed(&mut self, key: &Key, failed: FailedUrl) {
        let is_dead_link = failed.dead && failed.from.is_some();
        self.record(key, if is_dead_link { UrlOutcome::Dead } else { UrlOutcome::Failed }, 0);
        self.report.add(failed);
    }

    /// Whether a page is within the scope of the run.
    #[must_use]
    pub fn is_in_scope(&self, url: &CanonicalUrl) -> bool {
        self.starts.iter().any(|start| self.spec.scope.has(start, url))
    }

    /// Whether nothing must be done for a page, because it was seen before and at least `left`
    /// links may already be followed from it.
    #[must_use]
    pub fn knows(&self, key: &Key, left: u16) -> bool {
        self.left(key).is_some_and(|known| known >= left)
    }

    /// Whether nothing must be done for a sub-resource, because it was taken before with at least
    /// `left` links, or the data saver leaves it out. Unlike in [`Self::knows`], a URL that
    /// `robots.txt` forbids as a page does not count.
    #[must_use]
    pub fn knows_part(&self, key: &Key, left: Option<u16>) -> bool {
        let seen = self.seen.get(key);
        seen.is_some_and(|seen| match seen.outcome {
            UrlOutcome::Saved => true,
            outcome => seen.left >= left && outcome.is_taken(),
        })
    }

    /// The recorded result for a URL; `None` if the URL was not seen.
    #[must_use]
    pub fn outcome(&self, key: &Key) -> Option<UrlOutcome> {
        self.seen.get(key).map(|seen| seen.outcome)
    }

    /// The number of links that may be followed from a page or frame; `None` for other URLs.
    #[must_use]
    pub fn left(&self, key: &Key) -> Option<u16> {
        self.seen.get(key)?.left
    }

    /// The number of URLs of the run that still wait.
    #[must_use]
    pub fn waiting_count(&self) -> usize {
        self.waiting
    }

    /// Whether a page is the start page or a target of its redirects.
    #[must_use]
    pub fn is_start(&self, url: &CanonicalUrl) -> bool {
        self.starts.contains(url)
    }

    /// Ends the run. The seen URLs are forgotten; the report stays.
    pub fn end(&mut self, now: Timestamp) {
        self.ended = Some(now);
        (self.seen, self.waiting, self.traps) = (HashMap::new(), 0, Traps::default());
    }

    /// Sets the waiting URLs to those in `queued`, each with the number of links that may be
    /// followed. All other waiting URLs are not in the queue: they were fetched or removed, or were
    /// never queued. They are forgotten, and considered again if they are found again.
    pub fn waits_for(&mut self, queued: HashMap<Key, Option<u16>>) {
        let gone = |(key, seen): (&Key, &Seen)| {
            (seen.outcome == UrlOutcome::Waits && !queued.contains_key(key)).then_some(*key)
        };
        let gone: Vec<_> = self.seen.iter().filter_map(gone).collect();
        for key in &gone {
            self.release_url(key);
        }
        for (key, left) in queued {
            if self.outcome(&key) != Some(UrlOutcome::Waits) {
                self.release_url(&key);
                self.count_waiting(key, left);
            }
        }
    }

    /// Forgets a URL and takes it out of the counts.
    pub fn release_url(&mut self, key: &Key) {
        let known = self.seen.remove(key);
        let Some(seen) = known.filter(|seen| seen.outcome.is_taken()) else { return };
        self.take_back(seen.outcome);
        let counts = &mut self.report.counts;
        let count = if seen.left.is_some() { &mut counts.pages } else { &mut counts.parts };
        *count = count.saturating_sub(1);
    }

    /// Records that a URL is left out that the run has taken. It is counted once, even if several
    /// links lead to it.
    pub fn record_exclusion(&mut self, key: &Key, url: &str, why: LeftOut) {
        let seen = match why {
            LeftOut::Saver => Seen { left: None, outcome: UrlOutcome::Saved },
            // With this number of links, the page counts as seen on every path of links, so it is
            // not considered again.
            _ => Seen { left: Some(u16::MAX), outcome: UrlOutcome::LeftAlone },
        };
        if self.outcome(key) == Some(seen.outcome) {
            return;
        }
        self.release_url(key);
        self.count_left_out(why, url);
        self.seen.insert(*key, seen);
    }

    fn count_waiting(&mut self, key: Key, left: Option<u16>) {
        let seen = Seen { left, outcome: UrlOutcome::Waits };
        if self.seen.insert(key, seen).is_none() {
            self.waiting = self.waiting.saturating_add(1);
            let counts = &mut self.report.counts;
            let count = if left.is_some() { &mut counts.pages } else { &mut counts.parts };
            *count = count.saturating_add(1);
        }
    }

    /// Takes one URL with this outcome out of the counts.
    fn take_back(&mut self, outcome: UrlOutcome) {
        if outcome == UrlOutcome::Waits {
            self.waiting = self.waiting.saturating_sub(1);
        } else if let Some(count) = self.count(outcome) {
            *count = count.saturating_sub(1);
        }
    }

    fn count(&mut self, outcome: UrlOutcome) -> Option<&mut u64> {
        let counts = &mut self.report.counts;
        match outcome {
            UrlOutcome::Waits | UrlOutcome::LeftAlone | UrlOutcome::Saved | UrlOutcome::TooFar => {
                None
            }
            UrlOutcome::Fetched => Some(&mut counts.fetched),
            UrlOutcome::Unchanged => Some(&mut counts.unchanged),
            UrlOutcome::Kept => Some(&mut counts.kept),
            UrlOutcome::Failed => Some(&mut counts.failed),
            UrlOutcome::Dead => Some(&mut counts.dead),
        }
    }

    fn may_be_taken(&mut self, url: &CanonicalUrl, now: Timestamp) -> Result<(), LeftOut> {
        if !self.is_in_scope(url) {
            return Err(LeftOut::Scope);
        }
        self.is_within(now)?;
        if self.report.counts.pages >= self.spec.limits.pages {
            return Err(LeftOut::Pages);
        }
        if self.seen.len() >= MAX_SEEN {
            return Err(LeftOut::Memory);
        }
        let year = now.to_zoned(jiff::tz::TimeZone::UTC).year();
        self.traps.take(url, year).map_err(|_: Trap| LeftOut::Endless)
    }

    /// Checks that the limits of the run allow it to continue at `now`.
    ///
    /// # Errors
    ///
    /// The limit that is reached.
    pub fn is_within(&self, now: Timestamp) -> Result<(), LeftOut> {
        let limits = &self.spec.limits;
        if limits.bytes.is_some_and(|most| self.report.counts.bytes >= most) {
            return Err(LeftOut::Bytes);
        }
        let passed = now.duration_since(self.begun).as_secs() / 60;
        let passed = u64::try_from(passed).unwrap_or_default();
        if limits.minutes.is_some_and(|most| passed >= most) {
            return Err(LeftOut::Time);
        }
        Ok(())
    }
}
