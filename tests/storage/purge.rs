//! Removing expired entries: by the command line with and without a daemon, on a page, by programs
//! and automatically. Also tests that the right entries stay while other changes are made.

use std::path::Path;

use serde_json::{Value, json};
use wwwoffle_spool::{Durability, NewEntry, Options, Place, Spool, Timestamp};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::harness::form::{Form, encode, form};
use crate::harness::origin::NAVIGATES;
use crate::harness::{Answer, Daemon, Origin, eventually, then};

/// The time at which the old entries of these tests were stored.
fn old() -> Timestamp {
    "2000-01-01T00:00:00Z".parse().unwrap()
}

fn place(url: &str) -> Place {
    Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap())
}

/// Stores responses of these types and sizes, with dates of the year 2000. The daemon must be
/// stopped. The age of an entry counts from now, when it is written, so only rules can remove it.
fn keep(daemon: &Daemon, all: &[(&str, &str, usize)]) {
    let options = Options { durability: Durability::None, ..Options::default() };
    let (spool, _) = Spool::open(daemon.spool(), &options).unwrap();
    for (url, content_type, size) in all {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n").into_bytes();
        let request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n".to_vec();
        let new = NewEntry { asked: old(), when: old(), head, request, connection: None };
        let mut writer = spool.begin(&place(url), new).unwrap();
        writer.write(&vec![b'x'; *size]).unwrap();
        writer.finish(None).unwrap();
    }
    spool.flush().unwrap();
}

fn kept(daemon: &Daemon) -> Vec<String> {
    let ran = daemon.run(&["ls", "--json"]);
    let mut urls: Vec<_> =
        ran.lines().iter().map(|one| one["url"].as_str().unwrap().to_owned()).collect();
    urls.sort();
    urls
}

fn sum(report: &Value, which: &str, why: &str) -> u64 {
    let all = report[which].as_array().unwrap();
    all.iter().find(|one| one["why"] == why).map_or(0, |one| one["entries"].as_u64().unwrap())
}

/// A configuration in which the entries of two hosts are removed whatever their age, and those of a
/// third host are never removed.
const RULES: &str = "[dont-get]\nurls = [\"*://ads.test/*\"]\n[dont-cache]\nurls = [\"*://live.test/*\"]\n\
     [purge]\n[[purge.for]]\nurl = \"*://keep.test/*\"\nage = \"never\"\n";

const KEPT: [(&str, &str, usize); 6] = [
    ("http://ads.test/x", "text/html", 10),
    ("http://live.test/x", "text/html", 10),
    ("http://live.test/pinned", "text/html", 10),
    ("http://keep.test/x", "text/html", 10),
    ("http://new.test/x", "text/html", 10),
    ("http://new.test/x.css", "text/css", 10),
];

/// The form that starts a purge. The page has it once the entries are listed.
fn purge_form(daemon: &Daemon) -> Form {
    let page = || daemon.page("/purge/").text();
    eventually("the entries are listed", || page().contains("/control/purge\""));
    form(&page(), "/control/purge")
}

#[test]
#[ignore = "slow"]
fn purge_is_the_same_with_and_without_a_daemon() {
    for with_daemon in [true, false] {
        let mut daemon = Daemon::prepare(Some(RULES));
        keep(&daemon, &KEPT);
        if with_daemon {
            daemon.up();
            daemon.ok(&["offline"]);
        }
        assert_eq!(daemon.ok(&["pin", "http://LIVE.test:80/pinned"]), "http://live.test/pinned\n");
        assert_eq!(daemon.ok(&["pin"]), "http://live.test/pinned\n");
        let plan = daemon.run(&["purge", "--dry-run", "--json"]).json();
        for (which, why, want) in [
            ("goes", "dont-get", 1),
            ("goes", "dont-cache", 1),
            ("stays", "pinned", 1),
            ("stays", "no-age", 1),
            ("stays", "recent", 2),
        ] {
            assert_eq!(sum(&plan, which, why), want, "{why}: {plan}");
        }
        assert_eq!(plan["removed"], Value::Null);
        assert_eq!(kept(&daemon).len(), KEPT.len(), "a plan removes nothing");
        let said = daemon.ok(&["purge"]);
        assert!(
            said.contains("blocked by the configuration now: 1 entry")
                && said.contains("removed 2 entries"),
            "{said}"
        );
        let want = [
            "http://keep.test/x",
            "http://live.test/pinned",
            "http://new.test/x",
            "http://new.test/x.css",
        ];
        assert_eq!(kept(&daemon), want);
        let info = daemon.run(&["info", "--json", "http://live.test/pinned"]).json();
        assert_eq!(info["pinned"], true);
        assert_eq!(daemon.ok(&["unpin", "http://live.test/pinned"]), "");
        let again = daemon.run(&["purge", "--json"]).json();
        assert_eq!(
            (&again["removed"]["entries"], again["scale"].as_u64()),
            (&json!(1), Some(1_000))
        );
        assert_eq!(daemon.run(&["pin", "http://a:99999/"]).status, 1);
    }
}

#[test]
fn ages_are_those_of_the_configuration() {
    let now = Timestamp::now();
    let text = "[purge]\nage = \"30d\"\n[[purge.for]]\nurl = \"*://short.test/*\"\nage = \"7d\"\n";
    let daemon = Daemon::prepare(Some(text));
    for (url, content_type, days) in [
        ("http://a.test/29", "text/html", 29),
        ("http://b.test/31", "text/html", 31),
        ("http://short.test/6", "text/html", 6),
        ("http://short.test/8", "text/html", 8),
        ("http://www.a.test/old.css", "text/css", 400),
        ("http://b.test/old.css", "text/css", 400),
    ] {
        let then = now - jiff::SignedDuration::from_hours(24 * days);
        then::keep(daemon.spool(), then, url, content_type, b"x");
    }
    let plan = daemon.run(&["purge", "--dry-run", "--json"]).json();
    assert_eq!(
        (sum(&plan, "goes", "old"), sum(&plan, "stays", "perhaps-needed")),
        (3, 1),
        "{plan}"
    );
    daemon.ok(&["purge"]);
    let want = ["http://a.test/29", "http://short.test/6", "http://www.a.test/old.css"];
    assert_eq!(kept(&daemon), want);
    // The limit is lower than the size of the entries that would stay. All age limits are scaled,
    // and the page that is nearest to its limit is removed.
    let most = sum_bytes(&plan, "stays") / 2;
    let config = text.replacen("[purge]\n", &format!("[purge]\nmax-size = \"{most} B\"\n"), 1);
    std::fs::write(daemon.config_file(), config).unwrap();
    let told = daemon.run(&["purge", "--json"]).json();
    assert!(told["scale"].as_u64().unwrap() < 1_000, "{told}");
    assert_eq!(sum(&told, "goes", "room"), 2, "the page and its sub-resource: {told}");
    assert_eq!(kept(&daemon), ["http://short.test/6"]);
}

fn sum_bytes(report: &Value, which: &str) -> u64 {
    report[which].as_array().unwrap().iter().map(|one| one["bytes"].as_u64().unwrap()).sum()
}

#[test]
fn purged_entries_are_not_served_and_the_others_are() {
    let (mut daemon, origin) = (Daemon::prepare(Some("[purge]\n")), Origin::start());
    let (going, staying) = (origin.url("/going"), origin.url("/staying"));
    keep(&daemon, &[(&going, "text/html", 500), (&staying, "text/html", 700)]);
    daemon.up();
    daemon.ok(&["offline"]);
    for _ in 0..3 {
        assert_eq!(daemon.get(&going).body.len(), 500, "it is in memory");
    }
    daemon.ok(&["config", "add", "dont-cache.urls", "*://*/going"]);
    daemon.ok(&["purge"]);
    assert_eq!(daemon.get(&going).status, 504);
    assert_eq!(daemon.get(&staying).body.len(), 700);
}

#[test]
fn the_purge_page_has_the_plan_and_a_protected_button() {
    let mut daemon = Daemon::prepare(Some(RULES));
    keep(&daemon, &KEPT);
    daemon.up();
    daemon.ok(&["offline"]);
    let page = daemon.page("/purge/");
    assert_eq!(page.status, 200);
    assert!(page.shown().contains("blocked by the configuration now: 1 entry"), "{}", page.shown());
    let button = form(&page.text(), "/control/purge");
    assert_eq!(daemon.submit(&button.clone().without("token")).status, 403);
    let link = daemon.page("/control/purge");
    assert_eq!((link.status, link.field("Location")), (303, "/purge/"));
    assert_eq!(kept(&daemon).len(), KEPT.len());
    let done = daemon.submit(&button);
    assert_eq!((done.status, done.field("Location")), (303, "/purge/"));
    eventually("it is done", || kept(&daemon).len() == KEPT.len() - 3);
    eventually("the page reports it", || {
        daemon.page("/purge/").shown().contains("3 entries were removed")
    });
    let told: Value = serde_json::from_slice(&daemon.api("GET", "/api/purge", "").body).unwrap();
    assert_eq!((&told["running"], &told["last"]["removed"]["entries"]), (&json!(false), &json!(3)));

    let info = daemon.page(&format!("/info/?{}", encode("http://new.test/x")));
    let pin = form(&info.text(), "/control/pin");
    assert_eq!(daemon.submit(&pin.clone().without("token")).status, 403);
    assert_eq!(daemon.submit(&pin).status, 303);
    assert_eq!(daemon.ok(&["pin"]), "http://new.test/x\n");
    let info = daemon.page(&format!("/info/?{}", encode("http://new.test/x")));
    assert_eq!(daemon.submit(&form(&info.text(), "/control/unpin")).status, 303);
    assert_eq!(daemon.ok(&["pin"]), "");
    for (path, body, status) in [
        ("/api/purge", "{\"dry_run\":1}", 400),
        ("/api/pins", "{\"urls\":[\"http://[/\"],\"pinned\":true}", 400),
    ] {
        assert_eq!(daemon.api("POST", path, body).status, status, "{path}");
    }
}

#[test]
fn unreadable_pins_prevent_a_purge() {
    let mut daemon = Daemon::prepare(Some(RULES));
    keep(&daemon, &KEPT);
    std::fs::write(daemon.spool().join("pins"), "wwwoffle-pins 1\nhttp://live.test/pi").unwrap();
    daemon.up();
    daemon.ok(&["offline"]);
    let ran = daemon.run(&["purge"]);
    assert!(ran.status == 1 && ran.err.contains("pins"), "{ran:?}");
    assert_eq!(kept(&daemon).len(), KEPT.len());
    daemon.down();
    assert_eq!(daemon.run(&["purge"]).status, 1);
    assert_eq!(kept(&daemon).len(), KEPT.len());
}

#[test]
fn a_spool_locked_by_another_process_is_not_purged() {
    let mut daemon = Daemon::prepare(Some(RULES));
    // The spool does not exist yet, and a purge creates none.
    assert_eq!(daemon.run(&["purge"]).status, 73);
    assert!(!daemon.spool().exists());
    keep(&daemon, &KEPT);
    let (spool, _) = Spool::open(daemon.spool(), &Options::default()).unwrap();
    // Another process has locked the spool and does not respond.
    assert_eq!(daemon.run(&["purge"]).status, 75);
    drop(spool);
    daemon.up();
    daemon.ok(&["purge"]);
}

#[test]
fn a_wrong_clock_prevents_automatic_purges() {
    let text = RULES.replace("[purge]\n", "[purge]\nevery = \"1d\"\n");
    let text = format!("[options]\nlog-level = \"debug\"\n{text}");
    let mut daemon = Daemon::prepare(Some(&text));
    keep(&daemon, &KEPT);
    let state = "wwwoffle-state 1\nmode = offline\npurged = 2999-01-01T00:00:00Z\n";
    std::fs::write(daemon.spool().join("state"), state).unwrap();
    daemon.up();
    daemon.tells("the last purge is recorded in the future");
    assert_eq!(kept(&daemon).len(), KEPT.len());
    daemon.down();
    let state = std::fs::read_to_string(daemon.spool().join("state")).unwrap();
    assert!(state.contains("purged = 2999-01-01T00:00:00Z"), "{state}");
}

#[test]
fn other_sites_cannot_start_a_plan() {
    let mut daemon = Daemon::prepare(Some(RULES));
    keep(&daemon, &KEPT);
    daemon.up();
    let plan =
        || -> Value { serde_json::from_slice(&daemon.api("GET", "/api/purge", "").body).unwrap() };
    let mut client = daemon.client();
    client.send(format!(
        "GET /purge/ HTTP/1.1\r\nHost: {}\r\nSec-Fetch-Site: cross-site\r\n{NAVIGATES}\r\n",
        daemon.addr()
    ));
    let sent = client.receive("GET").whole();
    assert!(sent.status == 200 && sent.shown().contains("See what a purge would remove"));
    assert_eq!(plan()["plan"], Value::Null);
    assert_eq!(daemon.page("/purge/").status, 200);
    assert_ne!(plan()["plan"], Value::Null);
}

#[test]
#[ignore = "slow"]
fn an_automatic_purge_runs_when_it_is_due() {
    let text = RULES.replace("[purge]\n", "[purge]\nevery = \"1d\"\n");
    let mut daemon = Daemon::prepare(Some(&text));
    keep(&daemon, &KEPT);
    // The last purge was long ago.
    let state = daemon.spool().join("state");
    std::fs::write(state, "wwwoffle-state 1\nmode = offline\npurged = 2020-01-01T00:00:00Z\n")
        .unwrap();
    daemon.up();
    eventually("it has purged", || kept(&daemon).len() == KEPT.len() - 3);
    eventually("the time is saved", || {
        let state = std::fs::read_to_string(daemon.spool().join("state")).unwrap();
        !state.contains("2020-01-01")
    });
}

/// The number of files below a directory in which some are being deleted.
fn left(directory: &Path) -> usize {
    let names = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let count = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => left(&entry.path()),
        Ok(_) => 1,
        Err(_) => 0,
    };
    names.map(count).sum()
}

#[test]
#[ignore = "slow"]
fn a_killed_purge_loses_no_remaining_entry() {
    let mut daemon = Daemon::prepare(Some(RULES));
    let stays = |number: usize| format!("http://stay{}.test/{number}", number % 7);
    for round in 0..20_u64 {
        let going: Vec<_> =
            (0..400).map(|number| format!("http://ads.test/{round}/{number}")).collect();
        let staying: Vec<_> = (0..60).map(stays).collect();
        let mut all: Vec<(&str, &str, usize)> = Vec::new();
        all.extend(going.iter().map(|url| (url.as_str(), "text/html", 200)));
        all.extend(staying.iter().map(|url| (url.as_str(), "text/html", 300)));
        keep(&daemon, &all);
        daemon.up();
        daemon.ok(&["offline"]);
        let button = purge_form(&daemon);
        daemon.submit(&button);
        // The purge is killed at another moment in each round: after this number of deletions.
        let some = 20 * round as usize;
        eventually("some are gone", || {
            let left = left(&daemon.spool().join("http/ads.test"));
            left + some <= going.len() || left == 0
        });
        daemon.kill9();
        daemon.up();
        for url in &staying {
            let page = daemon.get(url);
            assert_eq!((page.status, page.body.len()), (200, 300), "{url} in round {round}");
        }
        daemon.ok(&["purge"]);
        assert_eq!(kept(&daemon).len(), staying.len(), "round {round}");
        assert!(crate::harness::files(&daemon.spool().join("damaged")).is_empty());
        daemon.ok(&["pin", &staying[0]]);
        daemon.down();
        // The remaining entries are sound, and the pins are still set.
        daemon.ok(&["fsck", "--deep"]);
    }
}

#[test]
#[ignore = "slow"]
fn a_page_stored_during_its_purge_stays() {
    let (mut daemon, origin) = (Daemon::prepare(Some(RULES)), Origin::start());
    let many: Vec<_> = (0..300).map(|number| format!("http://ads.test/{number}")).collect();
    let all: Vec<_> = many.iter().map(|url| (url.as_str(), "text/html", 100)).collect();
    keep(&daemon, &all);
    daemon.up();
    let button = purge_form(&daemon);
    daemon.submit(&button);
    for number in 0..20 {
        let path = format!("/{number}");
        origin.say(&path, Answer::html("new"));
        assert_eq!(daemon.get(&origin.url(&path)).status, 200);
    }
    daemon.settle();
    eventually("it is done", || kept(&daemon).len() == 20);
    daemon.ok(&["offline"]);
    for number in 0..20 {
        assert_eq!(daemon.get(&origin.url(&format!("/{number}"))).text(), "new");
    }
}

/// The status and the body of a call to the API of pins.
fn pins(daemon: &Daemon, method: &str, body: &str) -> (u16, Value) {
    let response = daemon.api(method, "/api/pins", body);
    (response.status, serde_json::from_slice(&response.body).unwrap_or_default())
}

#[test]
#[ignore = "slow"]
fn programs_pin_urls_and_unpin_them() {
    let mut daemon = Daemon::prepare(Some(RULES));
    keep(&daemon, &KEPT);
    daemon.up();
    daemon.ok(&["offline"]);
    assert_eq!(pins(&daemon, "GET", ""), (200, json!({"pins": []})));
    // The URLs are canonical, sorted, and each occurs once. URLs without a stored copy can be
    // pinned too.
    let body = r#"{"urls":["http://LIVE.test:80/x","http://ads.test/%78","http://live.test/x","http://none.test/"],"pinned":true}"#;
    let all = json!({"pins": ["http://ads.test/x", "http://live.test/x", "http://none.test/"]});
    assert_eq!(pins(&daemon, "POST", body), (200, all.clone()));
    assert_eq!(pins(&daemon, "POST", body), (200, all.clone()), "a second time changes nothing");
    assert_eq!(pins(&daemon, "GET", ""), (200, all.clone()));
    // One invalid URL prevents the whole change. An invalid request changes nothing.
    for (body, status) in [
        (r#"{"urls":["http://new.test/x","http://[/"],"pinned":true}"#, 400),
        (r#"{"urls":["http://live.test/x","no URL"],"pinned":false}"#, 400),
        (r#"{"urls":["http://new.test/x"]}"#, 400),
        (r#"{"urls":"http://new.test/x","pinned":true}"#, 400),
        (r#"{"urls":[],"pinned":true,"more":1}"#, 400),
        ("", 400),
    ] {
        let (told, answer) = pins(&daemon, "POST", body);
        assert_eq!(told, status, "{body}: {answer}");
        assert_eq!(pins(&daemon, "GET", ""), (200, all.clone()), "{body}");
    }
    let many: Vec<String> = (0..=10_000).map(|one| format!("http://many.test/{one}")).collect();
    let (told, answer) = pins(&daemon, "POST", &json!({"urls": many, "pinned": true}).to_string());
    assert!([400, 413].contains(&told), "{told}: {answer}");
    assert_eq!(pins(&daemon, "PUT", body).0, 405);
    // Credentials are not part of a pin and are never shown.
    let login = r#"{"urls":["http://ada:secret@new.test/x"],"pinned":true}"#;
    let (_, told) = pins(&daemon, "POST", login);
    assert!(!told.to_string().contains("secret"), "{told}");
    // Pins survive a purge and a restart.
    daemon.restart();
    daemon.ok(&["purge"]);
    let left = kept(&daemon);
    assert!(left.contains(&"http://ads.test/x".to_owned()), "{left:?}");
    let body = r#"{"urls":["http://ads.test/x","http://unknown.test/"],"pinned":false}"#;
    let (_, told) = pins(&daemon, "POST", body);
    assert!(!told.to_string().contains("ads.test"), "{told}");
    daemon.ok(&["purge"]);
    assert!(!kept(&daemon).contains(&"http://ads.test/x".to_owned()));
}

#[test]
fn pins_are_shown_to_the_command_only() {
    let daemon = Daemon::start();
    daemon.ok(&["pin", "http://live.test/secret-interest"]);
    let page = daemon.page("/api/pins");
    assert_eq!(page.status, 403);
    assert!(!page.text().contains("secret-interest"), "{}", page.text());
    // A page of another site can neither read nor set pins.
    let mut client = daemon.client();
    let body = r#"{"urls":["http://a.test/"],"pinned":true}"#;
    for fields in ["", "Origin: http://evil.test\r\nSec-Fetch-Site: cross-site\r\n"] {
        client.send(format!(
            "POST /api/pins HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{fields}\
             Content-Length: {}\r\n\r\n{body}",
            daemon.addr(),
            body.len()
        ));
        assert_eq!(client.receive("POST").whole().status, 403, "{fields}");
    }
    assert_eq!(daemon.ok(&["pin"]), "http://live.test/secret-interest\n");
}
