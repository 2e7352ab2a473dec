//! Chooses the next request. Pure: the caller passes the time.
//!
//! Each host has its own ordered list of requests. One common list contains the first request of
//! each host that may be contacted now. So the cost of choosing or removing a request grows only
//! with the logarithm of the number of requests.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use wwwoffle_spool::{OutgoingSummary, QueuePosition, RequestKind, RequestState};
use wwwoffle_url::Key;

/// The limits of concurrent requests. Each concurrent request uses one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScheduleLimits {
    /// Requests to one host.
    pub(super) per_host: usize,
    /// Requests in all.
    pub(super) at_once: usize,
}

/// The maximum number of active requests that have given up their slot.
const MAX_ASIDE: usize = 64;

/// The requests of the queue, in the order in which they are sent.
#[derive(Debug, Default)]
pub(super) struct FetchSchedule {
    requests: HashMap<Key, ScheduledRequest>,
    hosts: HashMap<Arc<str>, ScheduledHost>,
    /// For each host that may be contacted now, the first request.
    ready: BTreeSet<(QueuePosition, Arc<str>)>,
    /// The times at which to check hosts again.
    alarms: BTreeSet<(Timestamp, Arc<str>)>,
    /// Requests that were deferred for a reason that a change of the configuration may remove.
    put_off: BTreeSet<Key>,
    active: usize,
    /// How many of the active requests have given up their slot.
    aside: usize,
    per_host: usize,
    /// Whether the rest times of origins have changed since the last query.
    rests_changed: bool,
}

/// The times until which the host of a request must rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rests {
    /// The origin asked to wait until this time.
    pub(super) closed: Option<Timestamp>,
    /// The end of the delay for requests without a waiting client.
    pub(super) polite: Option<Timestamp>,
}

#[derive(Debug)]
struct ScheduledRequest {
    host: Arc<str>,
    turn: QueuePosition,
    not_before: Option<Timestamp>,
    /// Whether the request waits in the queue.
    waits: bool,
    active: bool,
    /// Whether the origin has responded, so that the rest of the work needs no slot.
    aside: bool,
}

#[derive(Debug, Default)]
struct ScheduledHost {
    /// Requests with a waiting client in `due`, requests without one in `polite`, and delayed
    /// requests in `later`.
    due: BTreeSet<QueuePosition>,
    polite: BTreeSet<QueuePosition>,
    later: BTreeSet<(Timestamp, Key)>,
    active: usize,
    /// The origin asked to wait until this time.
    closed_until: Option<Timestamp>,
    /// The earliest time of the next request without a waiting client.
    polite_from: Option<Timestamp>,
    /// The minimum delay between requests without a waiting client, whatever the configuration
    /// says.
    distance: Duration,
    /// The host's current entries in `ready` and `alarms`.
    ready: Option<QueuePosition>,
    alarm: Option<Timestamp>,
}

impl FetchSchedule {
    /// Records that a request is in the queue, new or changed.
    pub(super) fn is(&mut self, summary: &OutgoingSummary) {
        let key = summary.place.key();
        let waits = summary.fetching.state == RequestState::Waiting;
        let known = self.take_out(&key);
        let host = Arc::from(host(summary.place.url()));
        let request = ScheduledRequest {
            host,
            turn: summary.position(),
            not_before: summary.fetching.not_before,
            waits,
            active: known.as_ref().is_some_and(|known| known.active),
            aside: known.is_some_and(|known| known.aside),
        };
        self.put_in(key, request);
    }

    /// Records that a request has left the queue.
    pub(super) fn remove_request(&mut self, key: &Key) {
        if let Some(request) = self.take_out(key) {
            if request.active {
                // The request stays in the schedule until it has ended.
                self.put_in(*key, ScheduledRequest { waits: false, ..request });
            } else {
                self.refresh(&request.host);
            }
        }
    }

    /// Chooses the next request to start, which counts as active from now on. `None` if no request
    /// may start.
    pub(super) fn next(&mut self, limits: ScheduleLimits, now: Timestamp) -> Option<Key> {
        if self.per_host != limits.per_host {
            self.per_host = limits.per_host;
            let hosts: Vec<_> = self.hosts.keys().cloned().collect();
            for host in &hosts {
                self.refresh(host);
            }
        }
        self.release_due(now);
        if self.active - self.aside >= limits.at_once {
            return None;
        }
        let key = self.ready.first()?.0.key;
        let mut request = self.take_out(&key)?;
        request.active = true;
        self.put_in(key, request);
        Some(key)
    }

    /// Records that a chosen request starts. If no client waits for it, other such requests to its
    /// host are delayed.
    pub(super) fn record_start(&mut self, key: &Key, distance: Duration, now: Timestamp) {
        let Some(request) = self.requests.get(key).filter(|request| is_polite(request.turn)) else {
            return;
        };
        let name = Arc::clone(&request.host);
        if let Some(host) = self.hosts.get_mut(&name) {
            let distance = distance.max(host.distance);
            host.polite_from = (!distance.is_zero()).then(|| time_after(now, distance));
        }
        self.refresh(&name);
    }

    /// Frees the slot of an active request that sends nothing more to its origin, unless
    /// [`MAX_ASIDE`] active requests have freed theirs. Returns whether the slot was freed.
    pub(super) fn step_aside(&mut self, key: &Key) -> bool {
        let may = self.requests.get(key).is_some_and(|request| request.active && !request.aside);
        if !may || self.aside >= MAX_ASIDE {
            return false;
        }
        if let Some(request) = self.take_out(key) {
            self.put_in(*key, ScheduledRequest { aside: true, ..request });
        }
        true
    }

    /// Records that a chosen request has ended, or was not started.
    pub(super) fn record_end(&mut self, key: &Key) {
        if let Some(request) = self.take_out(key) {
            let name = Arc::clone(&request.host);
            if request.waits {
                self.put_in(*key, ScheduledRequest { active: false, aside: false, ..request });
            }
            self.refresh(&name);
        }
    }

    /// Defers a chosen request until this time, according to the present configuration.
    pub(super) fn put_off(&mut self, key: &Key, until: Timestamp) {
        if let Some(request) = self.take_out(key) {
            let not_before = Some(request.not_before.map_or(until, |time| time.max(until)));
            let request = ScheduledRequest { active: false, aside: false, not_before, ..request };
            self.put_in(*key, request);
            self.put_off.insert(*key);
        }
    }

    /// Makes deferred requests available again, so that the changed configuration decides about
    /// them.
    pub(super) fn recheck_postponed(&mut self) {
        for key in std::mem::take(&mut self.put_off) {
            if let Some(request) = self.take_out(&key) {
                self.put_in(key, ScheduledRequest { not_before: None, ..request });
            }
        }
    }

    /// Records that the origin of this request wants no other request before this time.
    pub(super) fn close(&mut self, key: &Key, until: Timestamp) {
        let Some(name) = self.requests.get(key).map(|request| Arc::clone(&request.host)) else {
            return;
        };
        self.close_host(&name, until);
    }

    /// Records that this origin (with its port, as in a canonical URL) wants no request before this
    /// time.
    pub(super) fn close_host(&mut self, name: &Arc<str>, until: Timestamp) {
        let host = self.hosts.entry(Arc::clone(name)).or_default();
        self.rests_changed |= host.closed_until < Some(until);
        host.closed_until = host.closed_until.max(Some(until));
        self.refresh(name);
    }

    /// The origins that must rest after `now`, each with the end of its rest. `None` if nothing has
    /// changed since the last call.
    pub(super) fn take_delays(&mut self, now: Timestamp) -> Option<Vec<(Arc<str>, Timestamp)>> {
        let closed = |(name, host): (&Arc<str>, &ScheduledHost)| {
            Some((Arc::clone(name), host.closed_until?))
        };
        let is_to_come = |(_, until): &(Arc<str>, Timestamp)| *until > now;
        std::mem::take(&mut self.rests_changed)
            .then(|| self.hosts.iter().filter_map(closed).filter(is_to_come).collect())
    }

    /// The times until which the host of this request must rest.
    pub(super) fn host_rests(&self, key: &Key) -> Rests {
        let found = self.requests.get(key);
        let found = found.and_then(|request| Some((request, self.hosts.get(&request.host)?)));
        found.map_or_else(Rests::default, |(request, host)| Rests {
            closed: host.closed_until,
            polite: host.polite_from.filter(|_| is_polite(request.turn)),
        })
    }

    /// Ends the wait that the origin of this request asked for.
    pub(super) fn open(&mut self, key: &Key) {
        let Some(name) = self.requests.get(key).map(|request| Arc::clone(&request.host)) else {
            return;
        };
        if let Some(host) = self.hosts.get_mut(&name) {
            self.rests_changed |= host.closed_until.take().is_some();
        }
        self.refresh(&name);
    }

    /// Sets the minimum delay between requests to this host without a waiting client. The delay
    /// applies until no requests to the host are left. `host` includes the port, as in a canonical
    /// URL.
    pub(super) fn set_minimum_delay(&mut self, host: &str, distance: Duration, now: Timestamp) {
        let Some((name, known)) = self.hosts.get_key_value(host) else { return };
        if known.distance >= distance {
            return;
        }
        let name = Arc::clone(name);
        if let Some(host) = self.hosts.get_mut(&name) {
            host.distance = distance;
            host.polite_from = host.polite_from.max(Some(time_after(now, distance)));
        }
        self.refresh(&name);
    }

    /// The time until which `host` asked to wait, and the delay it wants between requests without a
    /// waiting client. `host` includes the port, as in a canonical URL.
    pub(super) fn host_delays(&self, host: &str) -> (Option<Timestamp>, Duration) {
        let known = self.hosts.get(host);
        known.map_or_else(Default::default, |host| (host.closed_until, host.distance))
    }

    /// The next time at which a request that cannot start now may be able to start. `None` if no
    /// request waits for a time.
    pub(super) fn next_alarm(&self) -> Option<Timestamp> {
        self.alarms.first().map(|(time, _)| *time)
    }

    /// Whether this request was started and has not ended.
    pub(super) fn is_active(&self, key: &Key) -> bool {
        self.requests.get(key).is_some_and(|request| request.active)
    }

    /// The number of active requests.
    pub(super) fn active(&self) -> usize {
        self.active
    }

    /// Makes requests available whose time has come.
    fn release_due(&mut self, now: Timestamp) {
        while let Some((time, name)) = self.alarms.first().cloned() {
            if time > now {
                return;
            }
            self.alarms.pop_first();
            let Some(host) = self.hosts.get_mut(&name) else { continue };
            host.alarm = None;
            let is_over = |time: &mut Timestamp| *time <= now;
            host.closed_until.take_if(is_over);
            host.polite_from.take_if(is_over);
            while let Some((time, key)) = host.later.first().copied() {
                if time > now {
                    break;
                }
                host.later.pop_first();
                if let Some(request) = self.requests.get_mut(&key) {
                    request.not_before = None;
                    host.line(request.turn).insert(request.turn);
                }
                self.put_off.remove(&key);
            }
            self.refresh(&name);
        }
    }

    fn put_in(&mut self, key: Key, request: ScheduledRequest) {
        let host = self.hosts.entry(Arc::clone(&request.host)).or_default();
        if request.active {
            let count = if request.aside { &mut self.aside } else { &mut host.active };
            *count += 1;
            self.active += 1;
        } else if request.waits {
            match request.not_before {
                Some(time) => host.later.insert((time, key)),
                None => host.line(request.turn).insert(request.turn),
            };
        }
        let name = Arc::clone(&request.host);
        self.requests.insert(key, request);
        self.refresh(&name);
    }

    /// Removes a request from the list of its host. The caller must refresh the host.
    fn take_out(&mut self, key: &Key) -> Option<ScheduledRequest> {
        let request = self.requests.remove(key)?;
        self.put_off.remove(key);
        if request.active {
            self.active = self.active.saturating_sub(1);
        }
        if request.active && request.aside {
            self.aside = self.aside.saturating_sub(1);
        }
        if let Some(host) = self.hosts.get_mut(&request.host) {
            if request.active && !request.aside {
                host.active = host.active.saturating_sub(1);
            }
            host.line(request.turn).remove(&request.turn);
            if let Some(time) = request.not_before {
                host.later.remove(&(time, *key));
            }
        }
        Some(request)
    }

    /// Updates the entries of a host in the common lists. Forgets a host without any state.
    fn refresh(&mut self, name: &Arc<str>) {
        let Some(host) = self.hosts.get_mut(name) else { return };
        let is_free = host.active < self.per_host && host.closed_until.is_none();
        let ready = host.first().filter(|_| is_free);
        if host.ready != ready {
            if let Some(turn) = std::mem::replace(&mut host.ready, ready) {
                self.ready.remove(&(turn, Arc::clone(name)));
            }
            self.ready.extend(ready.map(|turn| (turn, Arc::clone(name))));
        }
        let later = host.later.first().map(|(time, _)| *time);
        let alarm = [later, host.closed_until, host.polite_from].into_iter().flatten().min();
        if host.alarm != alarm {
            if let Some(time) = std::mem::replace(&mut host.alarm, alarm) {
                self.alarms.remove(&(time, Arc::clone(name)));
            }
            self.alarms.extend(alarm.map(|time| (time, Arc::clone(name))));
        }
        let is_empty = host.due.is_empty() && host.polite.is_empty();
        if host.active == 0 && is_empty && alarm.is_none() {
            self.hosts.remove(name);
        }
    }
}

impl ScheduledHost {
    /// The list for a request at this position.
    fn line(&mut self, turn: QueuePosition) -> &mut BTreeSet<QueuePosition> {
        if is_polite(turn) { &mut self.polite } else { &mut self.due }
    }

    /// The request that may start first, if any. Other requests do not wait behind a delayed one.
    fn first(&self) -> Option<QueuePosition> {
        let polite = self.polite.first().filter(|_| self.polite_from.is_none());
        self.due.first().into_iter().chain(polite).min().copied()
    }
}

/// Whether no client waits for the request. The delay protects the host, so priority is irrelevant.
fn is_polite(turn: QueuePosition) -> bool {
    turn.rank >= RequestKind::Recursive.rank()
}

/// The time `pause` after `now`.
pub(super) fn time_after(now: Timestamp, pause: Duration) -> Timestamp {
    now.saturating_add(pause).unwrap_or(Timestamp::MAX)
}

/// Host and port of a canonical URL.
pub(super) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or(rest)
}

#[cfg(test)]
mod tests;
