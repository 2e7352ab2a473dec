//! Judges from observations whether the link works. Pure: time is an argument.
//!
//! ```text
//! the kernel: no default route ─────────────────────────┐ for as long as `settle`
//! several hosts fail, none answers between them ─ probe ┤ it fails
//! probe, periodically: fails, then fails again ─────────┴─→ offline
//! probe, less and less often: good ───────────────────────→ online
//! ```
//!
//! Failed hosts alone never make the link offline: a probe must fail too. The link becomes online
//! again by a good probe or, without a URL to probe, by a new default route. Without such a URL, a
//! probe connects to hosts that clients requested, beginning with the host that answered last. A
//! probe of this kind recognises a missing link, but not a captive portal.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use super::kernel::{Connectivity, Gap};
use crate::base::shown;
use crate::base::text::{Text, count, tr};
use crate::net::upstream::Origin;

/// The largest number of failed hosts remembered.
const MAX_FAILED: usize = 16;

/// The number of consecutive failed probes that make the link offline without other evidence.
const BAD_PROBES: u32 = 2;

/// The delay before the first probe while offline. If the delay while online is shorter, the
/// shorter delay is used.
const FIRST_WAIT: Duration = Duration::from_secs(5);

/// If the link was online for at least this time, the delays while offline start again at
/// [`FIRST_WAIT`]. After a shorter time online the delays continue to grow, so an unstable link is
/// probed less and less often.
const STEADY: Duration = Duration::from_secs(60);

/// The configured parameters of judging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Whether there is a URL to probe.
    pub has_url: bool,
    /// The number of hosts that must fail within `failing_within` before a probe is made at once.
    pub failing_hosts: usize,
    /// The time within which `failing_hosts` hosts must fail.
    pub failing_within: Duration,
    /// The time for which a report of the kernel must hold before it counts. While online, a failed
    /// probe is also repeated after this time, or after `interval` if that is shorter.
    pub settle: Duration,
    /// The delay between probes while online.
    pub interval: Duration,
    /// The longest delay between probes while offline.
    pub longest: Duration,
}

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeResult {
    /// The link works.
    Good(Text),
    /// A captive portal answered in place of the probed host.
    Portal(Portal),
    /// The link does not work, for this reason.
    Failed(Text),
}

/// A captive portal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portal {
    /// The login page.
    pub url: String,
    /// The hosts that must be reachable for the login.
    pub hosts: Vec<String>,
}

/// The reason for a judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkReason {
    /// There is no observation yet.
    Unknown,
    /// There is a default route through this interface. The name may be empty.
    Way(String),
    /// The kernel reports nothing, and there is no evidence against the link.
    Assumed,
    /// There is no usable default route.
    NoWay(Gap),
    /// A probe succeeded.
    Good(Text),
    /// A captive portal answers.
    Portal(Portal),
    /// Probes failed.
    Failed(Text),
    /// This number of hosts failed, and then the probe failed.
    Hosts(usize, Text),
}

impl LinkReason {
    /// The text for pages. The log and the API use its English form.
    #[must_use]
    pub fn text(&self) -> Text {
        match self {
            Self::Unknown => tr("the network is being checked"),
            Self::Way(by) => route_text(by),
            Self::Assumed => tr("the network seems to work"),
            Self::NoWay(gap) => gap.text(),
            Self::Good(what) => what.clone(),
            Self::Portal(portal) => {
                tr("this network needs a login at {url}").with("url", shown::text(&portal.url))
            }
            Self::Failed(why) => tr("the network check failed: {why}").with("why", why.clone()),
            Self::Hosts(many, why) => count(
                u64::try_from(*many).unwrap_or(u64::MAX),
                "{n} host failed, then the network check failed: {why}",
                "{n} hosts in a row failed, then the network check failed: {why}",
            )
            .with("why", why.clone()),
        }
    }
}

/// The text for a working default route through this interface, which may be empty.
pub(super) fn route_text(interface: &str) -> Text {
    if interface.is_empty() {
        return tr("connected");
    }
    tr("connected over {interface}").with("interface", shown::text(interface))
}

impl fmt::Display for LinkReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.text(), f)
    }
}

/// An observation.
#[derive(Clone, Debug)]
pub enum Observation {
    /// The kernel reported a state.
    Kernel(Connectivity),
    /// An origin was reached, or it answered a request.
    Reached(Origin),
    /// An origin could not be reached.
    Failed(Origin),
    /// A probe has ended.
    Probed(ProbeResult),
}

/// The judge of the link. A new one is created each time the mode auto is chosen.
#[derive(Debug)]
pub struct LinkJudge {
    terms: Terms,
    /// Whether the link works. `None` until the first judgement.
    online: Option<bool>,
    reason: LinkReason,
    /// The time when `online` last changed, or when the judge was created.
    since: Instant,
    kernel: Connectivity,
    /// A newer report of the kernel that has not held for long enough yet.
    pending: Option<(Connectivity, Instant)>,
    /// The hosts that failed since the last answer of any host, oldest first.
    failed: VecDeque<(Instant, Origin)>,
    /// The last host that answered.
    answered: Option<Origin>,
    bad_probes: u32,
    /// The delay, while offline, that will be used next. Each failed probe doubles it, up to the
    /// longest delay.
    wait: Duration,
    /// The time of the next probe; `None` if no probe is planned.
    due: Option<Instant>,
}

impl LinkJudge {
    /// A judge without observations.
    #[must_use]
    pub fn new(terms: Terms, now: Instant) -> Self {
        Self {
            terms,
            online: None,
            reason: LinkReason::Unknown,
            since: now,
            kernel: Connectivity::Unknown,
            pending: None,
            failed: VecDeque::new(),
            answered: None,
            bad_probes: 0,
            wait: first_wait(&terms),
            due: None,
        }
    }

    /// Sets new parameters, which are used from now on.
    pub fn set_terms(&mut self, terms: Terms, now: Instant) {
        if self.terms == terms {
            return;
        }
        self.terms = terms;
        self.wait = first_wait(&terms);
        // With the old parameters, the next probe might be much later.
        let wanted = terms.has_url || self.online == Some(false);
        self.due = wanted.then_some(now);
    }

    /// Whether the link works. `None` before the first judgement.
    #[must_use]
    pub fn is_online(&self) -> Option<bool> {
        self.online
    }

    /// The reason for the judgement.
    #[must_use]
    pub fn reason(&self) -> &LinkReason {
        &self.reason
    }

    /// The hosts to which a probe connects if there is no URL to probe: the host that answered
    /// last, then the hosts that failed, the latest first.
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

    /// The time at which [`Self::pass`] must be called if nothing is observed before. Planned
    /// probes count only if `may_probe`. `None` if nothing is planned.
    #[must_use]
    pub fn next(&self, may_probe: bool) -> Option<Instant> {
        let settled = self.pending.as_ref().map(|(_, since)| *since + self.terms.settle);
        settled.into_iter().chain(self.due.filter(|_| may_probe)).min()
    }

    /// Processes an observation.
    pub fn take(&mut self, news: Observation, now: Instant) {
        match news {
            Observation::Kernel(standing) => self.record_connectivity(standing, now),
            Observation::Reached(origin) => {
                self.failed.clear();
                self.answered = Some(origin);
            }
            Observation::Failed(origin) => self.record_failure(origin, now),
            Observation::Probed(finding) => self.record_probe(finding, now),
        }
    }

    /// Advances the time to `now`. Returns whether a probe must be started now; always `false`
    /// unless `may_probe`. The caller gives the result of the probe to [`Self::take`].
    pub fn pass(&mut self, may_probe: bool, now: Instant) -> bool {
        if let Some((standing, since)) = self.pending.take() {
            if now >= since + self.terms.settle {
                self.apply_connectivity(standing, now);
            } else {
                self.pending = Some((standing, since));
            }
        }
        self.due.take_if(|due| may_probe && now >= *due).is_some()
    }

    fn record_connectivity(&mut self, standing: Connectivity, now: Instant) {
        if self.online.is_none() {
            // There is no earlier state to compare with, so the report counts at once.
            self.apply_connectivity(standing, now);
        } else if standing == self.kernel {
            self.pending = None;
        } else if self.pending.as_ref().is_none_or(|(pending, _)| *pending != standing) {
            self.pending = Some((standing, now));
        }
    }

    /// Judges by a report of the kernel that has held for long enough.
    fn apply_connectivity(&mut self, standing: Connectivity, now: Instant) {
        let had_way = !matches!(self.kernel, Connectivity::Down(_));
        self.kernel = standing.clone();
        match standing {
            Connectivity::Down(why) => {
                self.failed.clear();
                self.become_offline(LinkReason::NoWay(why), now);
            }
            Connectivity::Up { .. } | Connectivity::Unknown if self.online == Some(true) => {
                // If there is a URL to probe, a probe is due at once: a new route may lead into a
                // captive portal, for example.
                self.due = self.terms.has_url.then_some(now);
            }
            Connectivity::Up { .. } | Connectivity::Unknown if self.terms.has_url => {
                self.wait = first_wait(&self.terms);
                self.due = Some(now);
            }
            // If there was no default route before, earlier failures used another route and do not
            // count. Without a host to probe, the link is assumed to work.
            Connectivity::Up { interface }
                if !had_way || self.online.is_none() || self.hosts().is_empty() =>
            {
                self.become_online(LinkReason::Way(interface), now);
            }
            Connectivity::Unknown if self.online.is_none() || self.hosts().is_empty() => {
                self.become_online(LinkReason::Assumed, now);
            }
            Connectivity::Up { .. } | Connectivity::Unknown => self.due = Some(now),
        }
    }

    fn record_failure(&mut self, origin: Origin, now: Instant) {
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

    /// Whether enough hosts have failed, so that one failed probe makes the link offline.
    fn is_in_doubt(&self) -> bool {
        self.failed.len() >= self.terms.failing_hosts.min(MAX_FAILED)
    }

    fn record_probe(&mut self, finding: ProbeResult, now: Instant) {
        let reason = match finding {
            ProbeResult::Good(what) => {
                self.bad_probes = 0;
                self.failed.clear();
                self.due = self.terms.has_url.then(|| now + self.terms.interval);
                if self.online != Some(true) {
                    self.become_online(LinkReason::Good(what), now);
                }
                return;
            }
            ProbeResult::Portal(portal) => LinkReason::Portal(portal),
            ProbeResult::Failed(why) if self.is_in_doubt() => {
                LinkReason::Hosts(self.failed.len(), why)
            }
            ProbeResult::Failed(why) => LinkReason::Failed(why),
        };
        self.bad_probes = self.bad_probes.saturating_add(1);
        if self.online == Some(true) && self.bad_probes < BAD_PROBES && !self.is_in_doubt() {
            self.due = Some(now + self.terms.settle.min(self.terms.interval));
            return;
        }
        match &reason {
            // While offline, the reason that the kernel reported stays: it is closer to the cause
            // than a failed probe or host.
            LinkReason::Failed(_) | LinkReason::Hosts(..)
                if matches!(self.kernel, Connectivity::Down(_)) => {}
            reason if self.online == Some(false) => self.reason = reason.clone(),
            _ => {}
        }
        self.become_offline(reason, now);
        self.due = Some(now + self.wait);
        self.wait =
            self.wait.saturating_mul(2).min(self.terms.longest).max(first_wait(&self.terms));
    }

    fn become_online(&mut self, reason: LinkReason, now: Instant) {
        self.online = Some(true);
        (self.reason, self.since) = (reason, now);
        self.bad_probes = 0;
        self.failed.clear();
        self.due = self.terms.has_url.then(|| now + self.terms.interval);
    }

    fn become_offline(&mut self, reason: LinkReason, now: Instant) {
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
