//! Which requests go next. Pure.

use std::collections::HashMap;

use jiff::Timestamp;
use wwwoffle_spool::{OutgoingSummary, RequestKind};
use wwwoffle_url::Key;

/// How much at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Requests to one host.
    pub(super) per_host: usize,
    /// Requests in all.
    pub(super) at_once: usize,
}

/// A request that waits, as far as the choice needs it.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    key: Key,
    host: String,
    rank: u8,
    queued: Timestamp,
    not_before: Option<Timestamp>,
}

/// What to do now, and when to look again.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Key and host of each request to start.
    pub(super) start: Vec<(Key, String)>,
    /// When the next delayed request is due.
    pub(super) next_due: Option<Timestamp>,
}

impl Waiting {
    pub(super) fn of(summary: &OutgoingSummary) -> Self {
        Self {
            key: summary.place.key(),
            host: host(summary.place.url()).to_owned(),
            rank: rank(summary.kind),
            queued: summary.queued,
            not_before: summary.not_before,
        }
    }
}

/// A page a person waits for goes first, then forms, then parts of pages, then refreshes.
fn rank(kind: RequestKind) -> u8 {
    match kind {
        RequestKind::Page => 0,
        RequestKind::Post => 1,
        RequestKind::Part => 2,
        RequestKind::Refresh => 3,
    }
}

/// Host and port of a canonical URL.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// Chooses what to start beside what is `active` (key and host), within `limits`.
pub(super) fn choose(
    mut waiting: Vec<Waiting>,
    active: &HashMap<Key, String>,
    limits: Limits,
    now: Timestamp,
) -> Plan {
    let mut next_due = None;
    waiting.retain(|request| {
        let due = request.not_before.is_none_or(|time| time <= now);
        if let Some(time) = request.not_before.filter(|_| !due) {
            next_due = Some(next_due.map_or(time, |next: Timestamp| next.min(time)));
        }
        due && !active.contains_key(&request.key)
    });
    waiting.sort_by(|one, other| {
        (one.rank, one.queued, &one.key).cmp(&(other.rank, other.queued, &other.key))
    });
    let mut busy: HashMap<String, usize> = HashMap::new();
    for host in active.values() {
        *busy.entry(host.clone()).or_default() += 1;
    }
    let mut free = limits.at_once.saturating_sub(active.len());
    let mut start = Vec::new();
    for request in waiting {
        if free == 0 {
            break;
        }
        let count = busy.entry(request.host.clone()).or_default();
        if *count < limits.per_host {
            *count += 1;
            free -= 1;
            start.push((request.key, request.host));
        }
    }
    Plan { start, next_due }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn waiting(name: u8, host: &str, kind: RequestKind, queued: i64) -> Waiting {
        Waiting {
            key: Key::from_bytes([name; 32]),
            host: host.to_owned(),
            rank: rank(kind),
            queued: at(queued),
            not_before: None,
        }
    }

    fn names(plan: &Plan) -> Vec<u8> {
        plan.start.iter().map(|(key, _)| key.as_bytes()[0]).collect()
    }

    #[test]
    fn people_come_first_then_the_oldest() {
        let all = vec![
            waiting(1, "a", RequestKind::Refresh, 1),
            waiting(2, "b", RequestKind::Part, 2),
            waiting(3, "c", RequestKind::Page, 9),
            waiting(4, "d", RequestKind::Page, 8),
            waiting(5, "e", RequestKind::Post, 3),
        ];
        let limits = Limits { per_host: 6, at_once: 10 };
        assert_eq!(names(&choose(all, &HashMap::new(), limits, at(100))), [4, 3, 5, 2, 1]);
    }

    #[test]
    fn no_host_gets_more_than_its_share_and_others_go_on() {
        let all: Vec<_> = (1..=9)
            .map(|name| waiting(name, "busy", RequestKind::Page, i64::from(name)))
            .chain([waiting(10, "calm", RequestKind::Page, 50)])
            .collect();
        let active = [(Key::from_bytes([1; 32]), "busy".to_owned())].into();
        let limits = Limits { per_host: 3, at_once: 5 };
        assert_eq!(names(&choose(all, &active, limits, at(100))), [2, 3, 10]);
    }

    #[test]
    fn no_more_than_the_limit_of_all_runs() {
        let all: Vec<_> =
            (0..20).map(|n| waiting(n, &n.to_string(), RequestKind::Page, 1)).collect();
        let active = (100..104).map(|n| (Key::from_bytes([n; 32]), n.to_string())).collect();
        let limits = Limits { per_host: 6, at_once: 10 };
        assert_eq!(choose(all, &active, limits, at(100)).start.len(), 6);
    }

    #[test]
    fn delayed_requests_wait_and_tell_when() {
        let mut late = waiting(1, "a", RequestKind::Page, 1);
        late.not_before = Some(at(200));
        let mut later = late.clone();
        later.not_before = Some(at(300));
        let limits = Limits { per_host: 6, at_once: 10 };
        let plan = choose(vec![later.clone(), late.clone()], &HashMap::new(), limits, at(100));
        assert_eq!(plan, Plan { start: vec![], next_due: Some(at(200)) });
        let plan = choose(vec![later, late], &HashMap::new(), limits, at(200));
        assert_eq!((names(&plan), plan.next_due), (vec![1], Some(at(300))));
    }

    #[test]
    fn hosts_are_told_from_canonical_urls() {
        for (url, want) in [
            ("http://h.example/x?y", "h.example"),
            ("http://h.example:81/", "h.example:81"),
            ("http://[::1]:81/", "[::1]:81"),
        ] {
            assert_eq!(host(url), want);
        }
    }
}
