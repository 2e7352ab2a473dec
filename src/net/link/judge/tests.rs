//! Tables for the judge: seconds, an observation, and the expected result.

use super::*;
use crate::net::upstream::Scheme;

fn terms(has_url: bool) -> Terms {
    Terms {
        has_url,
        failing_hosts: 3,
        failing_within: Duration::from_secs(120),
        settle: Duration::from_secs(2),
        interval: Duration::from_secs(100),
        longest: Duration::from_secs(30),
    }
}

fn origin(host: &str) -> Origin {
    Origin::here(Scheme::Http, host, 80)
}

/// The observation that a word of a table stands for. The word `tick` only lets time pass.
fn news(word: &str) -> Option<Observation> {
    let (what, host) = word.split_once(':').unwrap_or((word, ""));
    Some(match what {
        "tick" => return None,
        "up" => Observation::Kernel(Connectivity::Up { interface: host.to_owned() }),
        "down" => Observation::Kernel(Connectivity::Down(Gap::NoRoute)),
        "deaf" => Observation::Kernel(Connectivity::Unknown),
        "reached" => Observation::Reached(origin(host)),
        "failed" => Observation::Failed(origin(host)),
        "good" => Observation::Probed(ProbeResult::Good(tr("{fact}").with("fact", "fine"))),
        "bad" => Observation::Probed(ProbeResult::Failed(tr("{fact}").with("fact", "dead"))),
        "portal" => {
            let hosts = vec!["p".to_owned()];
            Observation::Probed(ProbeResult::Portal(Portal { url: "http://p/".to_owned(), hosts }))
        }
        _ => panic!("no such word: {word}"),
    })
}

/// Runs rows of the form `second word -> result`. The result is online, offline or unknown, then
/// `probe` if a probe is due at once, then the reason in brackets if the row has one.
fn run(has_url: bool, rows: &str) {
    let begin = Instant::now();
    let mut judge = LinkJudge::new(terms(has_url), begin);
    let mut under_way = false;
    for row in rows.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let (given, want) = row.split_once("->").unwrap();
        let (second, word) = given.trim().split_once(' ').unwrap();
        let now = begin + Duration::from_secs_f64(second.parse().unwrap());
        if let Some(news) = news(word) {
            under_way &= !matches!(news, Observation::Probed(_));
            judge.take(news, now);
        }
        let begins = judge.pass(!under_way, now);
        under_way |= begins;
        let found = match judge.is_online() {
            None => "unknown",
            Some(true) => "online",
            Some(false) => "offline",
        };
        let probe = if begins { " probe" } else { "" };
        let reason = judge.reason();
        let reason = if want.contains('(') { format!(" ({reason})") } else { String::new() };
        let got = format!("{found}{probe}{reason}");
        assert_eq!(got, want.trim(), "{row}");
    }
}

#[test]
fn several_failed_hosts_and_a_failed_probe_set_offline() {
    run(
        false,
        "0 up:eth0    -> online (connected over eth0)
         1 failed:a   -> online
         2 failed:a   -> online
         3 failed:a   -> online
         4 failed:b   -> online
         5 reached:c  -> online
         6 failed:a   -> online
         7 failed:b   -> online
         8 failed:d   -> online probe
         9 tick       -> online
         10 bad       -> offline (3 hosts in a row failed, then the network check failed: dead)
         14 tick      -> offline
         15 tick      -> offline probe
         16 bad       -> offline
         25 tick      -> offline
         26 tick      -> offline probe
         27 good      -> online (fine)",
    );
}

#[test]
fn a_response_or_a_good_probe_clears_the_failures() {
    run(
        false,
        "0 deaf       -> online (the network seems to work)
         1 failed:a   -> online
         2 failed:b   -> online
         3 failed:c   -> online probe
         4 good       -> online
         5 failed:a   -> online
         6 failed:b   -> online
         200 failed:c -> online
         201 failed:d -> online
         202 failed:e -> online probe",
    );
}

#[test]
fn kernel_report_must_last_before_it_counts() {
    run(
        false,
        "0 up:eth0    -> online
         10 down      -> online
         11 up:eth0   -> online
         13 tick      -> online
         20 down      -> online
         21 tick      -> online
         22 tick      -> offline (not connected: there is no default route)
         23 up:wlan0  -> offline
         24 down      -> offline
         26 up:wlan0  -> offline
         28 tick      -> online (connected over wlan0)",
    );
    // The first report of the kernel counts at once, because there is no earlier state.
    run(
        false,
        "0 down -> offline (not connected: there is no default route)\n 5 tick -> offline probe\n 6 bad -> offline (not connected: there is no default route)",
    );
    run(
        false,
        "0 down     -> offline
         1 deaf     -> offline
         3 tick     -> online (the network seems to work)",
    );
}

#[test]
fn a_url_is_probed_periodically_and_twice_before_offline() {
    run(
        true,
        "0 up:eth0    -> unknown probe
         1 good       -> online (fine)
         100 tick     -> online
         101 tick     -> online probe
         102 bad      -> online
         103 tick     -> online
         104 tick     -> online probe
         105 good     -> online
         205 tick     -> online probe
         206 bad      -> online
         208 tick     -> online probe
         209 bad      -> offline (the network check failed: dead)
         214 tick     -> offline probe
         215 bad      -> offline
         224 tick     -> offline
         225 tick     -> offline probe
         226 bad      -> offline
         246 tick     -> offline probe
         247 bad      -> offline
         277 tick     -> offline probe
         278 bad      -> offline
         307 tick     -> offline
         308 tick     -> offline probe
         309 good     -> online (fine)",
    );
}

#[test]
fn an_unstable_link_is_probed_less_often() {
    run(
        true,
        "0 up:eth0    -> unknown probe
         0 bad        -> offline
         5 tick       -> offline probe
         5 bad        -> offline
         15 tick      -> offline probe
         15 good      -> online
         16 failed:a  -> online
         16 failed:b  -> online
         16 failed:c  -> online probe
         16 bad       -> offline
         35 tick      -> offline
         36 tick      -> offline probe",
    );
}

#[test]
fn a_portal_is_reported_until_the_login_succeeds() {
    run(
        true,
        "0 up:wlan0   -> unknown probe
         1 portal     -> offline (this network needs a login at http://p/)
         6 tick       -> offline probe
         7 bad        -> offline (the network check failed: dead)
         17 tick      -> offline probe
         18 portal    -> offline (this network needs a login at http://p/)
         38 tick      -> offline probe
         39 good      -> online (fine)",
    );
}

#[test]
fn a_new_route_is_probed_at_once() {
    run(
        true,
        "0 up:eth0    -> unknown probe
         1 good       -> online
         10 up:wlan0  -> online
         12 tick      -> online probe
         13 portal    -> online
         15 tick      -> online probe
         16 portal    -> offline
         20 up:eth0   -> offline
         22 tick      -> offline probe
         23 good      -> online",
    );
}

#[test]
fn without_a_default_route_a_good_probe_is_believed() {
    run(
        true,
        "0 down       -> offline
         5 tick       -> offline probe
         6 good       -> online (fine)
         8 tick       -> online",
    );
}

#[test]
fn hosts_to_try_are_the_last_that_answered_and_those_that_failed() {
    let now = Instant::now();
    let mut judge = LinkJudge::new(terms(false), now);
    judge.take(news("up:eth0").unwrap(), now);
    assert!(judge.hosts().is_empty());
    for word in ["reached:a", "failed:b", "failed:a", "failed:c"] {
        judge.take(news(word).unwrap(), now);
    }
    let hosts: Vec<String> = judge.hosts().into_iter().map(|origin| origin.host).collect();
    assert_eq!(hosts, ["a", "c", "b"]);
    for number in 0..100 {
        judge.take(news(&format!("failed:{number}")).unwrap(), now);
    }
    assert_eq!(judge.hosts().len(), MAX_FAILED + 1);
    assert_eq!(judge.next(true), Some(now));
    assert_eq!(judge.next(false), None);
}

#[test]
fn changed_link_options_apply_at_once() {
    let now = Instant::now();
    let mut judge = LinkJudge::new(terms(false), now);
    judge.take(news("up:eth0").unwrap(), now);
    assert_eq!(judge.next(true), None);
    judge.set_terms(terms(true), now);
    assert!(judge.pass(true, now));
    judge.take(news("bad").unwrap(), now);
    judge.set_terms(terms(false), now);
    assert_eq!(judge.is_online(), Some(true));
}
