//! Judges by what has been seen whether the link works. Pure: time is an argument.
//!
//! ```text
//! the kernel: no way out ──────────────────────────────┐ for as long as `settle`
//! several hosts fail, none answers between them ─ probe ┤ it fails
//! probe, now and then: fails, once more: fails ─────────┴─→ offline
//! probe, more and more seldom: good ──────────────────────→ online
//! ```
//!
//! A single host never makes it offline, and nothing but a good probe makes it online again. Without a
//! URL to probe, a probe is a connection to hosts that somebody here has asked for, the last
//! one that answered before all: it tells a link from none, but not from a captive portal.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use super::kernel::{Gap, Standing};
use crate::base::shown;
use crate::base::text::{Text, count, say};
use crate::net::upstream::Origin;

/// How many hosts that fail are remembered.
const MAX_FAILED: usize = 16;

/// How many bad probes in a row make it offline, when nothing else speaks against the link.
const BAD_PROBES: u32 = 2;

/// The wait before the first probe offline, if that is not longer than the one online.
const FIRST_WAIT: Duration = Duration::from_secs(5);

/// How long it has to be online for the waits offline to begin anew. A link that comes and goes is
/// probed ever more seldom.
const STEADY: Duration = Duration::from_secs(60);

/// What the configuration says of judging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Whether there is a URL to probe.
    pub has_url: bool,
    /// How many hosts have to fail.
    pub failing_hosts: usize,
    /// Within which time.
    pub failing_within: Duration,
    /// How long the kernel's word has to hold.
    pub settle: Duration,
    /// From one probe to the next online.
    pub interval: Duration,
    /// The longest of these waits offline.
    pub longest: Duration,
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The link works.
    Good(Text),
    /// Somebody else answers in place of the one that was asked.
    Portal(Portal),
    /// It does not work, and why.
    Failed(Text),
}

/// A captive portal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portal {
    /// Where to log in.
    pub url: String,
    /// The hosts that are to be reached for that.
    pub hosts: Vec<String>,
}

/// Why it is judged as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing is known yet.
    Unknown,
    /// There is a way out, by this interface; empty where it has none.
    Way(String),
    /// The kernel says nothing, and nothing speaks against the link.
    Assumed,
    /// There is no way out.
    NoWay(Gap),
    /// A probe was good.
    Good(Text),
    /// A captive portal answers.
    Portal(Portal),
    /// Probes failed.
    Failed(Text),
    /// So many hosts failed, and then the probe.
    Hosts(usize, Text),
}

impl Reason {
    /// It in words, for pages; the log and the API have its English.
    #[must_use]
    pub fn text(&self) -> Text {
        match self {
            Self::Unknown => say("the link is being looked at"),
            Self::Way(by) => way(by),
            Self::Assumed => say("nothing speaks against the link"),
            Self::NoWay(gap) => gap.text(),
            Self::Good(what) => what.clone(),
            Self::Portal(portal) => say("a captive portal answers: log in at {url}")
                .with("url", shown::text(&portal.url)),
            Self::Failed(why) => say("the probe failed: {why}").with("why", why.clone()),
            Self::Hosts(many, why) => count(
                u64::try_from(*many).unwrap_or(u64::MAX),
                "{n} host failed, and then the probe: {why}",
                "{n} hosts in a row failed, and then the probe: {why}",
            )
            .with("why", why.clone()),
        }
    }
}

/// That there is a way out, by this interface if that is not empty.
pub(super) fn way(interface: &str) -> Text {
    if interface.is_empty() {
        return say("there is a way out");
    }
    say("there is a way out, by {interface}").with("interface", shown::text(interface))
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.text(), f)
    }
}

/// Something that was seen.
#[derive(Clone, Debug)]
pub enum News {
    /// The kernel says so.
    Kernel(Standing),
    /// An origin was reached, or answered.
    Reached(Origin),
    /// An origin could not be reached.
    Failed(Origin),
    /// A probe has ended.
    Probed(Finding),
}

/// The judge of the link. One for each time that the mode auto is chosen.
#[derive(Debug)]
pub struct Judge {
    terms: Terms,
    /// `None` until it is judged for the first time.
    online: Option<bool>,
    reason: Reason,
    /// Since when it is judged so.
    since: Instant,
    kernel: Standing,
    /// What the kernel says since then, which is not taken for sure yet.
    pending: Option<(Standing, Instant)>,
    /// The hosts that failed since one answered, the last one last.
    failed: VecDeque<(Instant, Origin)>,
    /// The last that answered.
    answered: Option<Origin>,
    bad_probes: u32,
    /// The wait offline after the next one.
    wait: Duration,
    /// When the next probe is due; never while one is under way.
    due: Option<Instant>,
}

impl Judge {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(terms: Terms, now: Instant) -> Self {
        Self {
            terms,
            online: None,
            reason: Reason::Unknown,
            since: now,
            kernel: Standing::Unknown,
            pending: None,
            failed: VecDeque::new(),
            answered: None,
            bad_probes: 0,
            wait: first_wait(&terms),
            due: None,
        }
    }

    /// Goes by other terms from here on.
    pub fn set_terms(&mut self, terms: Terms, now: Instant) {
        if self.terms == terms {
            return;
        }
        self.terms = terms;
        self.wait = first_wait(&terms);
        // What was due by the former terms may be much later.
        let wanted = terms.has_url || self.online == Some(false);
        self.due = wanted.then_some(now);
    }

    /// Whether the link works, or `None` while it has not been judged.
    #[must_use]
    pub fn is_online(&self) -> Option<bool> {
        self.online
    }

    /// Why it is judged so.
    #[must_use]
    pub fn reason(&self) -> &Reason {
        &self.reason
    }

    /// The hosts to connect to where there is no URL to probe: the last that answered, and those that
    /// failed last.
    #[must_use]
    pub fn hosts(&self) -> Vec<Origin> {
        let failed = self.failed.iter().rev().map(|(_, origin)| origin);
        let mut hosts: Vec<Origin> = Vec::new();
        for origin in self.answered.iter().chain(failed) {
            if !hosts.contains(origin) {
                hosts.push(origin.clone());
            }
        }
        hosts
    }

    /// When [`Self::pass`] has something to do, if nothing is seen before.
    #[must_use]
    pub fn next(&self, may_probe: bool) -> Option<Instant> {
        let settled = self.pending.as_ref().map(|(_, since)| *since + self.terms.settle);
        settled.into_iter().chain(self.due.filter(|_| may_probe)).min()
    }

    /// Takes what was seen.
    pub fn take(&mut self, news: News, now: Instant) {
        match news {
            News::Kernel(standing) => self.heard(standing, now),
            News::Reached(origin) => {
                self.failed.clear();
                self.answered = Some(origin);
            }
            News::Failed(origin) => self.missed(origin, now),
            News::Probed(finding) => self.probed(finding, now),
        }
    }

    /// Lets the time pass. Whether a probe is due, if one may begin: then it is under way until it is
    /// told of.
    pub fn pass(&mut self, may_probe: bool, now: Instant) -> bool {
        if let Some((standing, since)) = self.pending.take() {
            if now >= since + self.terms.settle {
                self.settled(standing, now);
            } else {
                self.pending = Some((standing, since));
            }
        }
        self.due.take_if(|due| may_probe && now >= *due).is_some()
    }

    fn heard(&mut self, standing: Standing, now: Instant) {
        if self.online.is_none() {
            // There is nothing to hold it against.
            self.settled(standing, now);
        } else if standing == self.kernel {
            self.pending = None;
        } else if self.pending.as_ref().is_none_or(|(pending, _)| *pending != standing) {
            self.pending = Some((standing, now));
        }
    }

    /// What the kernel says has held for long enough.
    fn settled(&mut self, standing: Standing, now: Instant) {
        let had_way = !matches!(self.kernel, Standing::Down(_));
        self.kernel = standing.clone();
        match standing {
            Standing::Down(why) => {
                self.failed.clear();
                self.become_offline(Reason::NoWay(why), now);
            }
            Standing::Up { .. } | Standing::Unknown if self.online == Some(true) => {
                // Another way may lead elsewhere, into a captive portal for one.
                self.due = self.terms.has_url.then_some(now);
            }
            Standing::Up { .. } | Standing::Unknown if self.terms.has_url => {
                self.wait = first_wait(&self.terms);
                self.due = Some(now);
            }
            // Whatever failed before did so by another way.
            Standing::Up { interface }
                if !had_way || self.online.is_none() || self.hosts().is_empty() =>
            {
                self.become_online(Reason::Way(interface), now);
            }
            Standing::Unknown if self.online.is_none() || self.hosts().is_empty() => {
                self.become_online(Reason::Assumed, now);
            }
            Standing::Up { .. } | Standing::Unknown => self.due = Some(now),
        }
    }

    fn missed(&mut self, origin: Origin, now: Instant) {
        if self.online == Some(false) {
            return;
        }
        let within = self.terms.failing_within;
        self.failed.retain(|(at, one)| {
            now.saturating_duration_since(*at) <= within && one.host != origin.host
        });
        if self.failed.len() >= MAX_FAILED {
            self.failed.pop_front();
        }
        self.failed.push_back((now, origin));
        if self.is_in_doubt() {
            self.due = Some(self.due.map_or(now, |due| due.min(now)));
        }
    }

    /// Whether so many hosts have failed that one bad probe is enough.
    fn is_in_doubt(&self) -> bool {
        self.failed.len() >= self.terms.failing_hosts.min(MAX_FAILED)
    }

    fn probed(&mut self, finding: Finding, now: Instant) {
        let reason = match finding {
            Finding::Good(what) => {
                self.bad_probes = 0;
                self.failed.clear();
                self.due = self.terms.has_url.then(|| now + self.terms.interval);
                if self.online != Some(true) {
                    self.become_online(Reason::Good(what), now);
                }
                return;
            }
            Finding::Portal(portal) => Reason::Portal(portal),
            Finding::Failed(why) if self.is_in_doubt() => Reason::Hosts(self.failed.len(), why),
            Finding::Failed(why) => Reason::Failed(why),
        };
        self.bad_probes = self.bad_probes.saturating_add(1);
        if self.online == Some(true) && self.bad_probes < BAD_PROBES && !self.is_in_doubt() {
            self.due = Some(now + self.terms.settle.min(self.terms.interval));
            return;
        }
        match &reason {
            // What the kernel says is nearer to the cause.
            Reason::Failed(_) | Reason::Hosts(..) if matches!(self.kernel, Standing::Down(_)) => {}
            reason if self.online == Some(false) => self.reason = reason.clone(),
            _ => {}
        }
        self.become_offline(reason, now);
        self.due = Some(now + self.wait);
        self.wait =
            self.wait.saturating_mul(2).min(self.terms.longest).max(first_wait(&self.terms));
    }

    fn become_online(&mut self, reason: Reason, now: Instant) {
        self.online = Some(true);
        (self.reason, self.since) = (reason, now);
        self.bad_probes = 0;
        self.failed.clear();
        self.due = self.terms.has_url.then(|| now + self.terms.interval);
    }

    fn become_offline(&mut self, reason: Reason, now: Instant) {
        if self.online == Some(false) {
            return;
        }
        if self.online.is_none() || now.saturating_duration_since(self.since) >= STEADY {
            self.wait = first_wait(&self.terms);
        }
        self.online = Some(false);
        (self.reason, self.since) = (reason, now);
        self.due = Some(now + self.wait);
    }
}

fn first_wait(terms: &Terms) -> Duration {
    FIRST_WAIT.min(terms.interval)
}

#[cfg(test)]
mod tests;
