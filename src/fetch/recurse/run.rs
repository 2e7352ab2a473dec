//! A recursive fetch under way: what it was asked to bring, what it has seen, what came of it.
//!
//! What there is still to do is not here but on the outgoing queue, where each request names its run;
//! what was brought is in the spool. This is the memory of which pages were considered, so that each is
//! taken once, and the report. It is pure: time comes as an argument, and whoever has it decides when
//! its text is written. A text that is some seconds old is good enough: what was brought since is found
//! in the spool, and counted when it is met again.

mod text;

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use wwwoffle_spool::RunId;
use wwwoffle_url::{CanonicalUrl, Key};

use super::aim::Aim;
use super::traps::{Trap, Traps};

pub use text::{BadRun, MAX_RUN_TEXT};

/// The most URLs that one run remembers; further pages are left out.
pub const MAX_SEEN: usize = 500_000;

/// The most failures, and links that lead nowhere, that are told one by one.
const MAX_TOLD: usize = 1_000;

/// The most URLs that are told of those left out for one reason.
const MAX_EXAMPLES: usize = 10;

/// The longest reason of a failure that is told, in bytes.
const MAX_REASON: usize = 300;

/// What became of one URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It waits on the queue.
    Waits,
    /// It was brought.
    Fetched,
    /// The origin said that what is kept is as it was.
    Unchanged,
    /// It was kept, and so good that nobody was asked.
    Kept,
    /// It was not to be had, or not to be kept.
    Failed,
}

/// What is known of one URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    /// How many links may be followed from it; `None` for a part of a page.
    left: Option<u16>,
    outcome: Outcome,
}

/// Why a link is not followed, or a part not fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOut {
    /// It is a link more than was asked for.
    Depth,
    /// It is outside of what was asked for.
    Scope,
    /// It is one of endless many.
    Endless,
    /// So many pages were asked for, and are there.
    Pages,
    /// So many bytes were asked for, and are there.
    Bytes,
    /// So much time was asked for, and is over.
    Time,
    /// The site asks programs not to get it.
    Robots,
    /// The page asks programs not to follow the link.
    NoFollow,
    /// The configuration says that it is not got, or not kept.
    Rule,
    /// It is of a class of parts that was not asked for.
    Class,
    /// More is known of than can be remembered.
    Memory,
}

impl LeftOut {
    /// The reason, in words for a person.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Depth => "they are further away than was asked for",
            Self::Scope => "they are outside of what was asked for",
            Self::Endless => "there is no end of pages like them",
            Self::Pages => "as many pages as were asked for are there",
            Self::Bytes => "as many bytes as were asked for are there",
            Self::Time => "the time that was given is over",
            Self::Robots => "the site asks programs not to get them (robots.txt)",
            Self::NoFollow => "the page asks programs not to follow the link (nofollow)",
            Self::Rule => "the configuration says so",
            Self::Class => "parts of this class were not asked for",
            Self::Memory => "there are more than can be remembered",
        }
    }
}

/// What is to be done about a page that a link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is fetched.
    Fetch,
    /// It was fetched before, at the end of a longer way: now its links are to be followed too.
    Follow,
    /// Nothing: it was seen.
    Nothing,
}

/// How many of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Counts {
    /// Pages that were considered and taken.
    pub pages: u64,
    /// Parts of pages that were taken.
    pub parts: u64,
    /// Of both, those that were brought.
    pub fetched: u64,
    /// Those that were as they were.
    pub unchanged: u64,
    /// Those that nobody was asked about.
    pub kept: u64,
    /// Those that were not to be had.
    pub failed: u64,
    /// The bytes of the bodies that were brought.
    pub bytes: u64,
}

/// Those that were left out for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Left {
    /// How many links; one URL may count more than once.
    pub count: u64,
    /// Some of them.
    pub examples: Vec<String>,
}

/// A URL that was not to be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Which, without credentials.
    pub url: String,
    /// The page that refers to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Why, in words for a person.
    pub reason: String,
    /// Whether there is nothing where the link leads: the origin says so, or there is none.
    #[serde(default)]
    pub dead: bool,
}

/// What a run brought, so far or in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Report {
    /// How many of what.
    pub counts: Counts,
    /// What was left out, by reason.
    pub left_out: BTreeMap<LeftOut, Left>,
    /// The URLs that were not to be had: the first thousand.
    pub failed: Vec<Failed>,
}

/// A recursive fetch.
#[derive(Clone, Debug)]
pub struct Run {
    /// What it is known by.
    pub id: RunId,
    /// Whose it is, as the queue says it.
    pub owner: Option<String>,
    /// Where it began: the page that was asked for, and where that has moved.
    starts: Vec<CanonicalUrl>,
    /// What it is to bring.
    pub aim: Aim,
    /// When it began: what was checked since then need not be asked about again.
    pub begun: Timestamp,
    /// When nothing of it was left to do.
    pub ended: Option<Timestamp>,
    /// What it brought.
    pub report: Report,
    seen: HashMap<Key, Seen>,
    /// How many of those wait.
    waiting: usize,
    traps: Traps,
}

impl Run {
    /// A run that begins `now` at `start`, with nothing done.
    #[must_use]
    pub fn new(
        id: RunId,
        owner: Option<String>,
        start: CanonicalUrl,
        aim: Aim,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            owner,
            starts: vec![start],
            aim,
            begun: now,
            ended: None,
            report: Report::default(),
            seen: HashMap::new(),
            waiting: 0,
            traps: Traps::default(),
        }
    }

    /// Where it began.
    #[must_use]
    pub fn starts(&self) -> &[CanonicalUrl] {
        &self.starts
    }

    /// Whether a page at this URL was asked for itself, and has moved to `to`: then what belongs to `to`
    /// belongs to the run as well.
    pub fn moved(&mut self, from: &CanonicalUrl, to: &CanonicalUrl) {
        // One page that moves on and on cannot make the run grow without end.
        const MAX_STARTS: usize = 8;
        if self.starts.contains(from) && !self.starts.contains(to) && self.starts.len() < MAX_STARTS
        {
            self.starts.push(to.clone());
        }
    }

    /// Takes the page that it begins at.
    pub fn begin(&mut self, key: Key) {
        self.take(key, Some(self.aim.depth));
    }

    /// Considers a page that a link leads to, from which `left` more links may be followed.
    ///
    /// # Errors
    ///
    /// Why it is not taken. It is counted as left out.
    pub fn page(
        &mut self,
        url: &CanonicalUrl,
        key: Key,
        left: u16,
        now: Timestamp,
    ) -> Result<Step, LeftOut> {
        if let Some(seen) = self.seen.get_mut(&key) {
            let known = seen.left;
            if known.is_some_and(|known| known >= left) {
                return Ok(Step::Nothing);
            }
            let before =
                std::mem::replace(seen, Seen { left: Some(left), outcome: Outcome::Waits });
            if before.outcome == Outcome::Waits {
                // The request learns of it where it waits.
                return Ok(Step::Fetch);
            }
            self.waiting = self.waiting.saturating_add(1);
            if let Some(count) = self.count(before.outcome) {
                *count = count.saturating_sub(1);
            }
            return Ok(Step::Follow);
        }
        self.may_be_taken(url, now).inspect_err(|why| self.leave_out(*why, url.as_str()))?;
        self.take(key, Some(left));
        Ok(Step::Fetch)
    }

    /// Considers a part of a page.
    ///
    /// # Errors
    ///
    /// Why it is not taken. It is counted as left out.
    pub fn part(&mut self, url: &str, key: Key, now: Timestamp) -> Result<Step, LeftOut> {
        if self.seen.contains_key(&key) {
            return Ok(Step::Nothing);
        }
        let room = if self.seen.len() < MAX_SEEN { Ok(()) } else { Err(LeftOut::Memory) };
        room.and_then(|()| self.is_within(now)).inspect_err(|why| self.leave_out(*why, url))?;
        self.take(key, None);
        Ok(Step::Fetch)
    }

    /// Counts a link that is not followed, or a part that is not fetched.
    pub fn leave_out(&mut self, why: LeftOut, url: &str) {
        let left = self.report.left_out.entry(why).or_default();
        left.count = left.count.saturating_add(1);
        if left.examples.len() < MAX_EXAMPLES && !left.examples.iter().any(|known| known == url) {
            left.examples.push(url.to_owned());
        }
    }

    /// Records what came of a URL, and how many bytes of body it brought. What was recorded before
    /// counts no more.
    pub fn came(&mut self, key: &Key, outcome: Outcome, bytes: u64) {
        let left = self.left(key);
        match self.seen.insert(*key, Seen { left, outcome }).map(|before| before.outcome) {
            Some(Outcome::Waits) => self.waiting = self.waiting.saturating_sub(1),
            Some(before) => {
                if let Some(count) = self.count(before) {
                    *count = count.saturating_sub(1);
                }
            }
            None => {}
        }
        if let Some(count) = self.count(outcome) {
            *count = count.saturating_add(1);
        }
        self.report.counts.bytes = self.report.counts.bytes.saturating_add(bytes);
    }

    /// Records that a URL was not to be had.
    pub fn failed(&mut self, key: &Key, mut failed: Failed) {
        self.came(key, Outcome::Failed, 0);
        let end = (0..=MAX_REASON).rfind(|&end| failed.reason.is_char_boundary(end));
        failed.reason.truncate(end.unwrap_or_default());
        let list = &mut self.report.failed;
        list.retain(|known| known.url != failed.url);
        if list.len() < MAX_TOLD {
            list.push(failed);
        }
    }

    /// What was recorded of a URL.
    #[must_use]
    pub fn outcome(&self, key: &Key) -> Option<Outcome> {
        self.seen.get(key).map(|seen| seen.outcome)
    }

    /// How many links may be followed from a page that was taken.
    #[must_use]
    pub fn left(&self, key: &Key) -> Option<u16> {
        self.seen.get(key)?.left
    }

    /// How many of what it has taken still wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether a page was there before any link was followed: it was asked for, or is where that has
    /// moved.
    #[must_use]
    pub fn is_start(&self, url: &CanonicalUrl) -> bool {
        self.starts.contains(url)
    }

    /// Records that there is nothing left to do. What was seen is forgotten, the report stays.
    pub fn end(&mut self, now: Timestamp) {
        self.ended = Some(now);
        (self.seen, self.waiting, self.traps) = (HashMap::new(), 0, Traps::default());
    }

    /// What is `queued` waits, with how many links may be followed from it, and nothing else does. The
    /// rest of what waited has left the queue: it was brought, or somebody has taken it off, or it never
    /// got there. It is forgotten; met again, it is considered anew, and what was brought is found to be
    /// there.
    pub fn waits_for(&mut self, queued: HashMap<Key, Option<u16>>) {
        let gone = |(key, seen): (&Key, &Seen)| {
            (seen.outcome == Outcome::Waits && !queued.contains_key(key)).then_some(*key)
        };
        let gone: Vec<_> = self.seen.iter().filter_map(gone).collect();
        for key in &gone {
            self.untake(key);
        }
        for (key, left) in queued {
            if self.outcome(&key) != Some(Outcome::Waits) {
                self.untake(&key);
                self.take(key, left);
            }
        }
    }

    /// Takes back that a URL was taken: it did not get onto the queue.
    pub fn untake(&mut self, key: &Key) {
        let Some(seen) = self.seen.remove(key) else { return };
        if seen.outcome == Outcome::Waits {
            self.waiting = self.waiting.saturating_sub(1);
        } else if let Some(count) = self.count(seen.outcome) {
            *count = count.saturating_sub(1);
        }
        let counts = &mut self.report.counts;
        let count = if seen.left.is_some() { &mut counts.pages } else { &mut counts.parts };
        *count = count.saturating_sub(1);
    }

    fn take(&mut self, key: Key, left: Option<u16>) {
        let seen = Seen { left, outcome: Outcome::Waits };
        if self.seen.insert(key, seen).is_none() {
            self.waiting = self.waiting.saturating_add(1);
            let counts = &mut self.report.counts;
            let count = if left.is_some() { &mut counts.pages } else { &mut counts.parts };
            *count = count.saturating_add(1);
        }
    }

    fn count(&mut self, outcome: Outcome) -> Option<&mut u64> {
        let counts = &mut self.report.counts;
        match outcome {
            Outcome::Waits => None,
            Outcome::Fetched => Some(&mut counts.fetched),
            Outcome::Unchanged => Some(&mut counts.unchanged),
            Outcome::Kept => Some(&mut counts.kept),
            Outcome::Failed => Some(&mut counts.failed),
        }
    }

    fn may_be_taken(&mut self, url: &CanonicalUrl, now: Timestamp) -> Result<(), LeftOut> {
        if !self.starts.iter().any(|start| self.aim.scope.has(start, url)) {
            return Err(LeftOut::Scope);
        }
        self.is_within(now)?;
        if self.report.counts.pages >= self.aim.limits.pages {
            return Err(LeftOut::Pages);
        }
        if self.seen.len() >= MAX_SEEN {
            return Err(LeftOut::Memory);
        }
        let year = now.to_zoned(jiff::tz::TimeZone::UTC).year();
        self.traps.take(url, year).map_err(|_: Trap| LeftOut::Endless)
    }

    /// Whether its limits let it go on.
    ///
    /// # Errors
    ///
    /// Which of them does not.
    pub fn is_within(&self, now: Timestamp) -> Result<(), LeftOut> {
        let limits = &self.aim.limits;
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

#[cfg(test)]
mod tests {
    use wwwoffle_url::LocalHost;

    use super::super::aim::Limits;
    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text, &LocalHost::default()).unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn run(aim: Aim) -> Run {
        let start = url("http://h.example/");
        let mut run = Run::new(RunId::from_number(7), None, start.clone(), aim, at(1000));
        run.begin(start.key());
        run
    }

    fn page(run: &mut Run, text: &str, left: u16) -> Result<Step, LeftOut> {
        let url = url(text);
        run.page(&url, url.key(), left, at(1001))
    }

    #[test]
    fn each_page_is_taken_once_unless_a_shorter_way_leads_to_it() {
        let mut run = run(Aim { depth: 3, ..Aim::default() });
        assert_eq!(page(&mut run, "http://h.example/", 2), Ok(Step::Nothing));
        assert_eq!(page(&mut run, "http://h.example/a", 0), Ok(Step::Fetch));
        assert_eq!(page(&mut run, "http://h.example/a", 0), Ok(Step::Nothing));
        assert_eq!(page(&mut run, "http://h.example/a", 1), Ok(Step::Fetch), "it waits still");
        run.came(&url("http://h.example/a").key(), Outcome::Fetched, 10);
        assert_eq!(page(&mut run, "http://h.example/a", 1), Ok(Step::Nothing));
        assert_eq!(page(&mut run, "http://h.example/a", 2), Ok(Step::Follow));
        assert_eq!((run.report.counts.pages, run.waiting()), (2, 2));
        run.came(&url("http://h.example/a").key(), Outcome::Fetched, 0);
        assert_eq!((run.report.counts.fetched, run.report.counts.bytes), (1, 10));
        assert_eq!(run.waiting(), 1);
        run.waits_for([(url("http://h.example/b").key(), Some(1))].into());
        assert_eq!((run.report.counts.pages, run.waiting()), (2, 1));
        assert_eq!(page(&mut run, "http://h.example/b", 1), Ok(Step::Nothing));
    }

    #[test]
    fn limits_end_it() {
        let limits = Limits { pages: 2, bytes: Some(100), minutes: Some(1) };
        let aim = Aim { depth: 1, limits, ..Aim::default() };
        let mut run = run(aim);
        assert_eq!(page(&mut run, "http://other.example/", 0), Err(LeftOut::Scope));
        assert_eq!(page(&mut run, "http://h.example/2099/01", 0), Err(LeftOut::Endless));
        assert_eq!(page(&mut run, "http://h.example/a", 0), Ok(Step::Fetch));
        assert_eq!(page(&mut run, "http://h.example/b", 0), Err(LeftOut::Pages));
        let part = url("http://cdn.example/x.png");
        assert_eq!(run.part(part.as_str(), part.key(), at(1059)), Ok(Step::Fetch));
        assert_eq!(run.part(part.as_str(), part.key(), at(1059)), Ok(Step::Nothing));
        let late = url("http://cdn.example/y.png");
        assert_eq!(run.part(late.as_str(), late.key(), at(1060)), Err(LeftOut::Time));
        run.came(&part.key(), Outcome::Fetched, 100);
        assert_eq!(run.part(late.as_str(), late.key(), at(1001)), Err(LeftOut::Bytes));
        let left: Vec<_> =
            run.report.left_out.iter().map(|(why, left)| (*why, left.count)).collect();
        let want =
            [LeftOut::Scope, LeftOut::Endless, LeftOut::Pages, LeftOut::Bytes, LeftOut::Time];
        assert_eq!(left, want.map(|why| (why, 1)));
    }

    #[test]
    fn where_the_first_page_has_moved_belongs_to_it() {
        let mut run = run(Aim { depth: 1, ..Aim::default() });
        assert_eq!(page(&mut run, "https://www.h.example/a", 0), Err(LeftOut::Scope));
        run.moved(&url("http://elsewhere.example/"), &url("https://www.h.example/"));
        assert_eq!(page(&mut run, "https://www.h.example/a", 0), Err(LeftOut::Scope));
        run.moved(&url("http://h.example/"), &url("https://www.h.example/"));
        assert_eq!(page(&mut run, "https://www.h.example/a", 0), Ok(Step::Fetch));
        assert_eq!(page(&mut run, "http://h.example/a", 0), Ok(Step::Fetch));
    }

    #[test]
    fn what_is_told_is_bounded() {
        let mut run = run(Aim::default());
        for number in 0..2_000 {
            let url = url(&format!("http://h.example/{number}"));
            let failed = Failed {
                url: url.as_str().to_owned(),
                from: None,
                reason: "ä".repeat(1_000),
                dead: true,
            };
            run.failed(&url.key(), failed.clone());
            run.failed(&url.key(), failed);
            run.leave_out(LeftOut::Scope, url.as_str());
        }
        assert_eq!(run.report.failed.len(), MAX_TOLD);
        assert_eq!(run.report.failed[0].reason.len(), MAX_REASON);
        assert_eq!(run.report.counts.failed, 2_000);
        let left = &run.report.left_out[&LeftOut::Scope];
        assert_eq!((left.count, left.examples.len()), (2_000, MAX_EXAMPLES));
    }
}
