//! One queue: what a node without a connection wants, another one fetches.

use std::sync::Arc;

use super::shared::connected;
use crate::harness::engines::Engines;
use crate::harness::{After, Answer, Daemon, Gate, Origin, eventually};

const PAGE: &str = "http://h.example/page";

/// An offline and an online node.
fn two(engines: &Engines, origin: &Origin) -> (Daemon, Daemon) {
    let [mut a, mut b] = ["a", "b"].map(|name| engines.node(name, origin.addr, ""));
    a.up();
    connected(&a);
    a.ok(&["offline"]);
    b.up();
    connected(&b);
    (a, b)
}

fn requests(engines: &Engines) -> u64 {
    engines.count("SELECT count(*) FROM wwwoffle.requests")
}

/// Waits until the catalogue has this many requests.
#[track_caller]
fn posted(engines: &Engines, count: u64) {
    eventually("the requests are in the catalogue", || requests(engines) == count);
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn what_an_offline_node_wants_another_node_fetches() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let page = Answer::html("<img src=\"/picture.png\"><p>wanted").field("Vary", "User-Agent");
    origin.say(PAGE, page);
    let picture = "http://h.example/picture.png";
    origin.say(picture, Answer::new(200, "image/png", b"picture".to_vec()));
    let (a, b) = two(&engines, &origin);
    let fields =
        "Accept-Language: de\r\nUser-Agent: SECRET\r\nReferer: http://p.example/SECRET\r\n";
    assert_eq!(a.client().get_with(PAGE, fields).whole().status, 504);
    eventually("the answer reaches the node that asked", || {
        a.queued_by_browser().iter().all(|url| url != PAGE)
    });
    assert!(a.get(PAGE).text().contains("wanted"));
    eventually("its picture comes too", || a.get(picture).text() == "picture");
    let asked = origin.asked(PAGE);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].fields.get("Accept-Language"), Some("de"));
    let all = engines.sql("SELECT * FROM wwwoffle.requests") + &b.log();
    assert!(!all.contains("SECRET"), "{all}");
    assert!(origin.seen().iter().all(|seen| !format!("{:?}", seen.fields).contains("SECRET")));
    eventually("nothing is left", || {
        a.queued_by_browser().is_empty() && b.queued_by_browser().is_empty()
    });
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn requests_of_one_person_and_forms_stay() {
    let (engines, origin) = (Engines::start(), Origin::start());
    origin.on("*", |exchange| exchange.answer(&Answer::html("answer")));
    let mut a = engines.node("a", origin.addr, "");
    a.up();
    connected(&a);
    a.ok(&["offline"]);
    for (url, fields) in [
        ("http://h.example/cookie", "Cookie: id=SECRET\r\n"),
        ("http://h.example/login", "Authorization: Basic QTpT\r\n"),
        ("http://h.example/key", "X-Api-Key: SECRET\r\n"),
        ("http://h.example/a?access_token=SECRET", ""),
        ("http://intranet/page", ""),
        ("http://10.1.2.3/", ""),
        ("http://wiki.corp/", ""),
    ] {
        assert_eq!(a.client().get_with(url, fields).whole().status, 504, "{url}");
    }
    a.run(&["get", "--data", "a=SECRET", "http://h.example/form"]);
    a.get(PAGE);
    posted(&engines, 1);
    let urls = engines.sql("SELECT url FROM wwwoffle.requests");
    assert!(urls.contains(PAGE) && urls.contains("(1 row)"), "{urls}");
    // The node sends them itself, each once.
    a.ok(&["online"]);
    posted(&engines, 0);
    for path in ["cookie", "login", "key", "form"] {
        let target = format!("http://h.example/{path}");
        eventually("its own node sends it", || origin.count(&target) == 1);
        eventually("it has left the queue", || {
            !a.queued().iter().any(|url| url.starts_with(&target))
        });
        assert_eq!(origin.count(&target), 1, "{path}");
    }
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn each_request_is_fetched_by_one_node() {
    let (engines, origin) = (Engines::start(), Origin::start());
    origin.on("*", |exchange| exchange.answer(&Answer::html(exchange.seen.target.clone())));
    let (a, b) = two(&engines, &origin);
    let mut c = engines.node("c", origin.addr, "");
    c.up();
    connected(&c);
    let urls: Vec<String> = (0..60).map(|number| format!("http://h.example/{number}")).collect();
    for url in &urls {
        assert_eq!(a.get(url).status, 504);
    }
    eventually("all are answered", || a.queued_by_browser().is_empty());
    for url in &urls {
        assert_eq!(a.get(url).text(), *url);
        assert_eq!(origin.count(url), 1, "{url}");
    }
    eventually("nothing is left", || requests(&engines) == 0);
    for node in [&a, &b, &c] {
        assert_eq!(
            (&node.status()["tier"]["given"], &node.status()["tier"]["taken"]),
            (&0.into(), &0.into())
        );
    }
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_request_of_a_lost_node_is_taken_again_when_its_lease_ends() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let gate = Gate::new();
    let held = Arc::clone(&gate);
    origin.on(PAGE, move |exchange| {
        if !held.is_open() {
            held.wait();
            return Ok(After::Close);
        }
        exchange.answer(&Answer::html("wanted"))
    });
    let (a, mut b) = two(&engines, &origin);
    a.get(PAGE);
    eventually("B fetches it", || origin.count(PAGE) == 1);
    b.kill9();
    gate.open();
    let mut c = engines.node("c", origin.addr, "");
    c.up();
    connected(&c);
    let name = std::fs::read_to_string(b.spool().join("tier/node")).unwrap();
    let node = engines.sql("SELECT node FROM wwwoffle.requests");
    assert!(node.contains(name.trim_end()), "{node}");
    engines.sql("UPDATE wwwoffle.requests SET lease = '-infinity'; NOTIFY wwwoffle_requests");
    eventually("C has fetched it", || a.get(PAGE).text() == "wanted");
    assert_eq!(origin.count(PAGE), 2);
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_response_that_is_not_public_stays_and_the_node_that_asked_learns_it() {
    let (engines, origin) = (Engines::start(), Origin::start());
    origin.say(PAGE, Answer::html("for one person").field("Cache-Control", "private"));
    let (a, b) = two(&engines, &origin);
    a.get(PAGE);
    eventually("A learns why", || {
        a.queue().iter().any(|one| one.to_string().contains("its response is not public"))
    });
    assert_eq!(a.get(PAGE).status, 504);
    assert!(b.queued_by_browser().is_empty());
    assert_eq!(engines.count("SELECT count(*) FROM wwwoffle.entries"), 0);
    // It asks itself when it can.
    a.ok(&["online"]);
    eventually("A has fetched it", || a.queued_by_browser().is_empty());
    assert_eq!(a.get(PAGE).text(), "for one person");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_page_that_its_origin_confirms_ends_the_request_for_it() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let page = Answer::html("unchanged").field("ETag", "\"1\"").field("Cache-Control", "no-cache");
    origin.say(PAGE, page);
    let (a, b) = two(&engines, &origin);
    assert_eq!(b.get(PAGE).text(), "unchanged");
    super::shared::pushed(&b, &engines, 1);
    assert_eq!(a.get(PAGE).text(), "unchanged");
    origin.say(PAGE, Answer::new(304, "text/html", "").field("ETag", "\"1\""));
    let reload = "Accept: text/html\r\nCache-Control: no-cache\r\n";
    assert_eq!(a.client().get_with(PAGE, reload).whole().text(), "unchanged");
    assert_eq!(a.queued_by_browser(), [PAGE]);
    eventually("the request has ended", || a.queued_by_browser().is_empty());
    assert_eq!(origin.asked(PAGE).last().unwrap().fields.get("If-None-Match"), Some("\"1\""));
    assert_eq!(a.get(PAGE).text(), "unchanged");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_node_with_a_connection_takes_its_requests_back() {
    let (mut engines, origin) = (Engines::start(), Origin::start());
    origin.say(PAGE, Answer::html("fetched here"));
    let mut a = engines.node("a", origin.addr, "");
    a.up();
    connected(&a);
    a.ok(&["offline"]);
    a.get(PAGE);
    posted(&engines, 1);
    // Without the catalogue, the request is still in the queue of its node.
    engines.kill_postgres();
    a.tells("the catalogue of the archive tier cannot be used");
    assert_eq!(a.queued_by_browser(), [PAGE]);
    a.ok(&["online"]);
    eventually("it is fetched", || a.queued_by_browser().is_empty());
    engines.start_postgres();
    connected(&a);
    posted(&engines, 0);
    assert_eq!(origin.count(PAGE), 1, "it is fetched once");
    assert_eq!(a.get(PAGE).text(), "fetched here");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_foreign_request_reaches_no_inner_host_and_breaks_nothing() {
    let (engines, origin) = (Engines::start(), Origin::start());
    origin.on("*", |exchange| exchange.answer(&Answer::html("answer")));
    let mut b = engines.node("b", origin.addr, "");
    b.up();
    connected(&b);
    let insert = |url: &str, key: &str, fields: &str, class: &str| {
        let done = engines.sql(&format!(
            "INSERT INTO wwwoffle.requests (key, url, fields, class, queued) \
             VALUES ({key}, '{url}', {fields}, {class}, 1)"
        ));
        assert!(done.contains("INSERT 0 1"), "{done}");
    };
    let own = |url: &str| format!("sha256('{url}')");
    let bad = [
        "http://127.0.0.1/",
        "http://intranet/",
        "http://h.example/?access_token=x",
        "file:///etc/passwd",
        "not a url",
    ];
    for url in bad {
        insert(url, &own(url), "''", "NULL");
    }
    insert("http://h.example/other", &own("http://h.example/key"), "''", "NULL");
    insert("http://h.example/class", &own("http://h.example/class"), "''", "'NOT A CLASS'");
    insert(
        "http://h.example/cookie",
        &own("http://h.example/cookie"),
        "E'cookie: a=b\\r\\n'",
        "NULL",
    );
    engines.sql("NOTIFY wwwoffle_requests");
    eventually("all are looked at", || {
        engines.count(
            "SELECT count(*) FROM wwwoffle.requests WHERE answered IS NULL AND error IS NULL",
        ) == 0
    });
    let seen = origin.seen();
    assert!(seen.iter().all(|one| one.target == "http://h.example/cookie"), "{seen:?}");
    assert!(seen.iter().all(|one| one.fields.get("Cookie").is_none()), "{seen:?}");
    assert!(b.queued_by_browser().is_empty());
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_page_that_has_changed_replaces_the_older_copy_of_the_node_that_asked() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let page = |text: &str| Answer::html(text).field("Cache-Control", "no-cache");
    origin.say(PAGE, page("yesterday"));
    let (a, b) = two(&engines, &origin);
    assert_eq!(b.get(PAGE).text(), "yesterday");
    super::shared::pushed(&b, &engines, 1);
    assert_eq!(a.get(PAGE).text(), "yesterday");
    origin.say(PAGE, page("today"));
    let reload = "Accept: text/html\r\nCache-Control: no-cache\r\n";
    assert_eq!(a.client().get_with(PAGE, reload).whole().text(), "yesterday");
    eventually("the request has ended", || a.queued_by_browser().is_empty());
    assert_eq!(a.get(PAGE).text(), "today");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_node_whose_rules_exclude_a_page_leaves_its_request_to_others() {
    let (engines, origin) = (Engines::start(), Origin::start());
    origin.say(PAGE, Answer::html("wanted"));
    let rule = "[[tier.for]]\nurl = \"*://*/*\"\nshare = false\n";
    let [mut a, mut b] =
        [("a", ""), ("b", rule)].map(|(name, more)| engines.node(name, origin.addr, more));
    a.up();
    b.up();
    for node in [&a, &b] {
        connected(node);
    }
    a.ok(&["offline"]);
    b.ok(&["config", "set", "options.log-level", "debug"]);
    a.get(PAGE);
    posted(&engines, 1);
    eventually("B has given it back", || {
        let untouched = "SELECT count(*) FROM wwwoffle.requests WHERE lease <> '-infinity' \
                         AND node IS NULL AND attempts = 0 AND error IS NULL";
        engines.count(untouched) == 1
    });
    let mut c = engines.node("c", origin.addr, "");
    c.up();
    connected(&c);
    eventually("C has fetched it", || a.get(PAGE).text() == "wanted");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn nodes_of_one_name_do_not_take_requests_from_each_other() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let [mut a, mut b] = ["pi", "pi"].map(|name| engines.node(name, origin.addr, ""));
    for node in [&mut a, &mut b] {
        node.up();
        connected(node);
        node.ok(&["offline"]);
        node.get(PAGE);
    }
    let waiting = || engines.count("SELECT count(*) FROM wwwoffle.waiting");
    eventually("both wait", || waiting() == 2);
    b.ok(&["autodial"]);
    eventually("B does not wait any more", || waiting() == 1);
    posted(&engines, 1);
}
