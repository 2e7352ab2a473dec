use wwwoffle_spool::{Outgoing, Place, Priority};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::*;
use RequestKind::{Monitored, Page, Part, Post, Recursive, Refresh};

const WIDE: ScheduleLimits = ScheduleLimits { per_host: 6, at_once: 10 };

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn request(url: &str, kind: RequestKind, queued: i64) -> OutgoingSummary {
    let url = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
    let head = b"GET / HTTP/1.1\r\n\r\n".to_vec();
    Outgoing::new(Place::of(&url), head, kind, at(queued)).summary
}

fn key(url: &str) -> Key {
    request(url, Page, 0).place.key()
}

/// Starts all requests that may start now.
fn started(schedule: &mut FetchSchedule, limits: ScheduleLimits, now: i64) -> Vec<Key> {
    std::iter::from_fn(|| schedule.next(limits, at(now))).collect()
}

fn keys(urls: &[&str]) -> Vec<Key> {
    urls.iter().map(|url| key(url)).collect()
}

#[test]
fn requests_by_people_precede_older_ones() {
    let mut schedule = FetchSchedule::default();
    for (url, kind, queued) in [
        ("http://a/", Monitored, 1),
        ("http://b/", Recursive, 1),
        ("http://c/", Refresh, 1),
        ("http://d/", Part, 2),
        ("http://e/", Page, 9),
        ("http://f/", Page, 8),
        ("http://g/", Post, 3),
        // The same order applies to requests to one host.
        ("http://a/page", Page, 10),
    ] {
        schedule.is(&request(url, kind, queued));
    }
    let order = ["http://f/", "http://e/", "http://a/page", "http://g/", "http://d/", "http://c/"];
    let order = keys(&[&order[..], &["http://b/", "http://a/"]].concat());
    assert_eq!(started(&mut schedule, WIDE, 100), order);
}

#[test]
fn a_priority_set_by_a_person_decides_the_order() {
    let mut schedule = FetchSchedule::default();
    let said =
        |url, kind, queued, priority| OutgoingSummary { priority, ..request(url, kind, queued) };
    for request in [
        said("http://a/1", Page, 1, Priority::Usual),
        said("http://a/2", Page, 0, Priority::Last),
        said("http://a/3", Monitored, 9, Priority::First),
        said("http://b/1", Recursive, 9, Priority::First),
        said("http://c/1", Post, 1, Priority::Usual),
    ] {
        schedule.is(&request);
    }
    // A later priority applies from then on.
    schedule.is(&said("http://c/1", Post, 1, Priority::Last));
    let order = ["http://b/1", "http://a/3", "http://a/1", "http://a/2", "http://c/1"];
    assert_eq!(started(&mut schedule, WIDE, 100), keys(&order));
}

#[test]
fn a_prioritized_request_respects_the_pause_of_its_host() {
    let mut schedule = FetchSchedule::default();
    let first = |number| OutgoingSummary {
        priority: Priority::First,
        ..request(&format!("http://a/{number}"), Recursive, number)
    };
    schedule.is(&first(1));
    schedule.is(&first(2));
    schedule.is(&request("http://a/person", Page, 9));
    let one = schedule.next(WIDE, at(100)).unwrap();
    assert_eq!(one, key("http://a/1"));
    schedule.record_start(&one, Duration::from_secs(5), at(100));
    assert_eq!(started(&mut schedule, WIDE, 101), keys(&["http://a/person"]));
    assert_eq!(schedule.next_alarm(), Some(at(105)));
    assert_eq!(started(&mut schedule, WIDE, 105), keys(&["http://a/2"]));
}

#[test]
fn requests_per_host_are_limited_without_blocking_others() {
    let mut schedule = FetchSchedule::default();
    for number in 1..=9 {
        schedule.is(&request(&format!("http://busy/{number}"), Page, number));
    }
    schedule.is(&request("http://calm/", Page, 50));
    let limits = ScheduleLimits { per_host: 3, at_once: 5 };
    let first = keys(&["http://busy/1", "http://busy/2", "http://busy/3", "http://calm/"]);
    assert_eq!(started(&mut schedule, limits, 100), first);
    assert_eq!(schedule.active(), 4);
    schedule.record_end(&key("http://busy/2"));
    // The request still waits, because it was not removed from the queue.
    assert_eq!(started(&mut schedule, limits, 100), keys(&["http://busy/2"]));
    schedule.remove_request(&key("http://busy/2"));
    assert!(schedule.is_active(&key("http://busy/2")), "until it is over");
    schedule.record_end(&key("http://busy/2"));
    assert!(!schedule.is_active(&key("http://busy/2")));
    assert_eq!(started(&mut schedule, limits, 100), keys(&["http://busy/4"]));
    let narrow = ScheduleLimits { per_host: 1, at_once: 5 };
    schedule.record_end(&key("http://calm/"));
    schedule.remove_request(&key("http://calm/"));
    assert_eq!(started(&mut schedule, narrow, 100), []);
    assert_eq!(started(&mut schedule, WIDE, 100).len(), 3);
}

#[test]
fn the_total_number_of_active_requests_is_limited() {
    let mut schedule = FetchSchedule::default();
    for number in 0..20 {
        schedule.is(&request(&format!("http://h{number}/"), Page, 1));
    }
    assert_eq!(started(&mut schedule, WIDE, 100).len(), 10);
}

#[test]
fn delayed_requests_wait_until_their_alarm() {
    let mut schedule = FetchSchedule::default();
    for (url, time) in [("http://a/late", 200), ("http://a/later", 300)] {
        let mut request = request(url, Page, 1);
        request.fetching.not_before = Some(at(time));
        schedule.is(&request);
    }
    assert_eq!(started(&mut schedule, WIDE, 100), []);
    assert_eq!(schedule.next_alarm(), Some(at(200)));
    assert_eq!(started(&mut schedule, WIDE, 200), keys(&["http://a/late"]));
    assert_eq!(schedule.next_alarm(), Some(at(300)));
    // A person has requested an immediate fetch.
    schedule.is(&request("http://a/later", Page, 1));
    assert_eq!(started(&mut schedule, WIDE, 200), keys(&["http://a/later"]));
    assert_eq!(schedule.next_alarm(), None);
}

#[test]
fn a_request_that_fails_while_active_is_not_restarted() {
    let mut schedule = FetchSchedule::default();
    let mut failing = request("http://a/", Page, 1);
    schedule.is(&failing);
    assert_eq!(started(&mut schedule, WIDE, 1).len(), 1);
    failing.fetching.state = RequestState::Failed { reason: String::new(), status: None };
    schedule.is(&failing);
    assert!(schedule.is_active(&key("http://a/")));
    schedule.record_end(&key("http://a/"));
    assert_eq!((started(&mut schedule, WIDE, 1).len(), schedule.active()), (0, 0));
    failing.fetching.state = RequestState::Waiting;
    schedule.is(&failing);
    assert_eq!(started(&mut schedule, WIDE, 1).len(), 1);
}

#[test]
fn only_background_requests_wait_between_fetches() {
    let mut schedule = FetchSchedule::default();
    for number in 1..=3 {
        schedule.is(&request(&format!("http://a/{number}"), Recursive, number));
    }
    let first = schedule.next(WIDE, at(100)).unwrap();
    schedule.record_start(&first, Duration::from_secs(5), at(100));
    assert_eq!(started(&mut schedule, WIDE, 100), []);
    schedule.is(&request("http://a/person", Page, 100));
    schedule.is(&request("http://b/", Recursive, 100));
    assert_eq!(started(&mut schedule, WIDE, 101), keys(&["http://a/person", "http://b/"]));
    schedule.record_start(&key("http://a/person"), Duration::from_secs(50), at(101));
    assert_eq!(schedule.next_alarm(), Some(at(105)));
    let second = schedule.next(WIDE, at(105)).unwrap();
    assert_eq!(second, key("http://a/2"));
    schedule.record_start(&second, Duration::from_secs(5), at(105));
    // During a fetch the site asks for a longer delay.
    schedule.set_minimum_delay("a", Duration::from_secs(20), at(106));
    schedule.set_minimum_delay("unknown", Duration::from_secs(20), at(106));
    assert_eq!((schedule.next(WIDE, at(110)), schedule.next_alarm()), (None, Some(at(126))));
    let third = schedule.next(WIDE, at(126)).unwrap();
    assert_eq!(third, key("http://a/3"));
    schedule.is(&request("http://a/4", Recursive, 4));
    schedule.record_start(&third, Duration::from_secs(5), at(126));
    assert_eq!((schedule.next(WIDE, at(145)), schedule.next_alarm()), (None, Some(at(146))));
}

#[test]
fn a_closed_origin_gets_no_requests() {
    let mut schedule = FetchSchedule::default();
    for number in 1..=3 {
        schedule.is(&request(&format!("http://a/{number}"), Page, number));
    }
    let first = schedule.next(WIDE, at(100)).unwrap();
    schedule.close(&first, at(130));
    schedule.close(&first, at(120));
    schedule.record_end(&first);
    assert_eq!((schedule.next(WIDE, at(129)), schedule.next_alarm()), (None, Some(at(130))));
    let closed = Rests { closed: Some(at(130)), polite: None };
    assert_eq!(schedule.host_rests(&key("http://a/3")), closed);
    assert_eq!(schedule.host_rests(&key("http://b/")), Rests::default());
    assert_eq!(started(&mut schedule, WIDE, 130).len(), 3);
}

#[test]
fn host_delays_survive_a_restart() {
    let mut schedule = FetchSchedule::default();
    assert_eq!(schedule.take_delays(at(1)), None);
    schedule.is(&request("http://a/1", Page, 1));
    schedule.is(&request("http://b:81/", Page, 1));
    for url in ["http://a/1", "http://b:81/"] {
        schedule.close(&key(url), at(200));
    }
    let mut rests = schedule.take_delays(at(100)).unwrap();
    rests.sort();
    assert_eq!(rests, [(Arc::from("a"), at(200)), (Arc::from("b:81"), at(200))]);
    assert_eq!(schedule.take_delays(at(100)), None, "they are told once");
    schedule.close(&key("http://a/1"), at(150));
    assert_eq!(schedule.take_delays(at(100)), None, "nothing is new");

    let mut again = FetchSchedule::default();
    again.is(&request("http://a/1", Page, 1));
    again.is(&request("http://c/", Page, 2));
    // One of the hosts has no waiting requests left.
    for (name, until) in &rests {
        again.close_host(name, *until);
    }
    assert_eq!(started(&mut again, WIDE, 199), keys(&["http://c/"]));
    // The user allows requests to one of the hosts.
    again.open(&key("http://a/1"));
    assert_eq!(again.take_delays(at(199)), Some(vec![("b:81".into(), at(200))]));
    assert_eq!(started(&mut again, WIDE, 200), keys(&["http://a/1"]));
    assert!(!again.hosts.contains_key("b:81"), "what is over is forgotten");
}

#[test]
fn held_requests_start_after_a_configuration_change() {
    let mut schedule = FetchSchedule::default();
    schedule.is(&request("http://a/", Page, 1));
    let chosen = schedule.next(WIDE, at(100)).unwrap();
    schedule.put_off(&chosen, at(1_000));
    assert_eq!((schedule.next(WIDE, at(999)), schedule.active()), (None, 0));
    schedule.recheck_postponed();
    assert_eq!(schedule.next(WIDE, at(999)), Some(chosen));
    schedule.put_off(&chosen, at(1_000));
    assert_eq!(schedule.next(WIDE, at(1_000)), Some(chosen));
}

#[test]
fn finished_hosts_use_no_memory() {
    let mut schedule = FetchSchedule::default();
    for number in 0..1_000 {
        schedule.is(&request(&format!("http://h{number}/"), Recursive, 1));
    }
    let limits = ScheduleLimits { per_host: 1, at_once: 7 };
    let mut count = 0;
    while let Some(key) = schedule.next(limits, at(100 + count)) {
        schedule.record_start(&key, Duration::from_secs(1), at(100 + count));
        schedule.remove_request(&key);
        schedule.record_end(&key);
        count += 1;
    }
    assert_eq!(count, 1_000);
    assert_eq!(schedule.next(limits, at(9_999)), None);
    assert!(schedule.hosts.is_empty() && schedule.requests.is_empty());
    assert!(schedule.alarms.is_empty() && schedule.ready.is_empty());
}

#[test]
fn the_host_is_read_from_a_canonical_url() {
    for (url, want) in [
        ("http://h.example/x?y", "h.example"),
        ("http://h.example:81/", "h.example:81"),
        ("http://[::1]:81/", "[::1]:81"),
    ] {
        assert_eq!(host(url), want);
    }
}

#[test]
fn request_that_yields_its_place_uses_no_slot() {
    let mut schedule = FetchSchedule::default();
    let limits = ScheduleLimits { per_host: 1, at_once: 1 };
    for number in 1..=3 {
        schedule.is(&request(&format!("http://a/{number}"), Page, number));
    }
    let [one, two, three] = ["http://a/1", "http://a/2", "http://a/3"].map(key);
    assert!(!schedule.step_aside(&one), "it has not begun");
    assert_eq!(started(&mut schedule, limits, 9), [one]);
    assert!(schedule.step_aside(&one) && !schedule.step_aside(&one), "once");
    assert_eq!(started(&mut schedule, limits, 9), [two]);
    assert_eq!((schedule.active(), schedule.is_active(&one)), (2, true), "it is on its way still");
    // The request is changed while it is active, and then ends.
    schedule.is(&request("http://a/1", Page, 1));
    assert_eq!(started(&mut schedule, limits, 9), []);
    schedule.remove_request(&one);
    schedule.record_end(&one);
    assert_eq!((schedule.active(), started(&mut schedule, limits, 9)), (1, vec![]));
    // A request that is queued again waits in line like any other.
    assert!(schedule.step_aside(&two));
    schedule.record_end(&two);
    assert_eq!(started(&mut schedule, limits, 9), [two]);
    schedule.remove_request(&two);
    schedule.record_end(&two);
    assert_eq!(started(&mut schedule, limits, 9), [three]);
    schedule.remove_request(&three);
    schedule.record_end(&three);
    assert_eq!(schedule.active(), 0);
}

#[test]
fn number_of_yielding_requests_is_limited() {
    let mut schedule = FetchSchedule::default();
    let limits = ScheduleLimits { per_host: 1, at_once: 1 };
    for number in 0..=100 {
        schedule.is(&request(&format!("http://a/{number}"), Page, number));
    }
    let mut aside = 0;
    while let Some(key) = schedule.next(limits, at(900)) {
        aside += usize::from(schedule.step_aside(&key));
    }
    assert_eq!((aside, schedule.active()), (MAX_ASIDE, MAX_ASIDE + 1));
}
