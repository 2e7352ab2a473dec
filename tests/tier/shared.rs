//! What one node stores, another finds.

use crate::harness::engines::Engines;
use crate::harness::{Answer, Daemon, Origin, eventually};

/// Waits until a node has pushed everything.
#[track_caller]
pub(super) fn pushed(node: &Daemon, engines: &Engines, rows: u64) {
    eventually("everything is in the tier", || {
        let tier = &node.status()["tier"];
        tier["backlog"] == 0
            && tier["scanning"] == false
            && engines.sql("SELECT 1 FROM wwwoffle.meta").contains("1 row")
            && engines.count("SELECT count(*) FROM wwwoffle.entries") >= rows
    });
}

/// Waits until a node is connected to the catalogue.
#[track_caller]
pub(super) fn connected(node: &Daemon) {
    eventually("the node is connected", || node.status()["tier"]["connected"] == true);
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_page_read_at_one_node_is_a_hit_at_another() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let large = vec![b'x'; 3 << 20];
    let fields =
        |answer: Answer| answer.field("Cache-Control", "max-age=3600").field("ETag", "\"1\"");
    origin.say("http://h.example/page", fields(Answer::html("from A")));
    origin.say("http://h.example/large", fields(Answer::new(200, "image/png", large.clone())));
    let [mut a, mut b] = ["a", "b"].map(|name| engines.node(name, origin.addr, ""));
    a.up();
    b.up();
    assert_eq!(a.get("http://h.example/page").text(), "from A");
    assert_eq!(a.get("http://h.example/large").body, large);
    pushed(&a, &engines, 2);
    let asked = origin.seen().len();
    b.ok(&["offline"]);
    let page = b.get("http://h.example/page");
    assert_eq!((page.status, page.text().as_str()), (200, "from A"));
    assert_eq!(b.get("http://h.example/large").body, large);
    // A range of it comes from the copy that B now has.
    let part = b.client().get_with("http://h.example/large", "Range: bytes=5-9\r\n").whole();
    assert_eq!((part.status, part.text().as_str()), (206, "xxxxx"));
    assert_eq!(origin.seen().len(), asked, "no origin was asked");
    assert_eq!(b.status()["tier"]["pulled"], 2);
    // Now the engines are not needed any more.
    assert_eq!(b.get("http://h.example/page").text(), "from A");
    // The entry counts as stored when A stored it, so B does not push it again.
    pushed(&b, &engines, 2);
    assert_eq!(engines.count("SELECT count(*) FROM wwwoffle.entries WHERE node = 'a'"), 2);
    let said = b.ok(&["status"]);
    assert!(said.contains("tier         b: connected\n"), "{said}");
    assert!(said.contains("0 waiting, 0 added\n") && said.contains("2 read from it\n"), "{said}");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn online_a_stale_page_of_another_node_is_revalidated() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let page =
        |text: &str| Answer::html(text).field("ETag", "\"1\"").field("Cache-Control", "no-cache");
    origin.say("http://h.example/page", page("from A"));
    let [mut a, mut b] = ["a", "b"].map(|name| engines.node(name, origin.addr, ""));
    a.up();
    a.get("http://h.example/page");
    pushed(&a, &engines, 1);
    b.up();
    eventually("B is connected", || b.status()["tier"]["connected"] == true);
    origin.say("http://h.example/page", Answer::new(304, "text/html", "").field("ETag", "\"1\""));
    assert_eq!(b.get("http://h.example/page").text(), "from A");
    let asked = origin.asked("http://h.example/page");
    assert_eq!(asked[1].fields.get("If-None-Match"), Some("\"1\""));
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn nothing_private_leaves_its_node() {
    let (engines, origin) = (Engines::start(), Origin::start());
    origin.say("http://h.example/public", Answer::html("for all").field("Set-Cookie", "id=SECRET"));
    origin.say("http://h.example/open", Answer::html("for all"));
    origin.say("http://h.example/cookie", Answer::html("for Ada"));
    origin
        .say("http://h.example/private", Answer::html("for Ada").field("Cache-Control", "private"));
    origin.say("http://intranet/page", Answer::html("for the school"));
    origin.say("http://h.example/last", Answer::html("for all"));
    origin.say("http://h.example/not/this", Answer::html("excluded"));
    let rules = "[[tier.for]]\nurl = \"http://h.example/not/*\"\nshare = false\n";
    let [mut a, mut b] = ["a", "b"].map(|name| engines.node(name, origin.addr, rules));
    a.up();
    b.up();
    let more = "User-Agent: SECRET\r\nReferer: http://h.example/?SECRET\r\n";
    for path in [
        "h.example/public",
        "h.example/open",
        "h.example/private",
        "intranet/page",
        "h.example/not/this",
    ] {
        assert_eq!(a.client().get_with(&format!("http://{path}"), more).whole().status, 200);
    }
    let cookie = a.client().get_with("http://h.example/cookie", "Cookie: id=SECRET\r\n").whole();
    assert_eq!(cookie.text(), "for Ada");
    let login =
        a.client().get_with("http://h.example/open?x", "Authorization: Basic QTpT\r\n").whole();
    assert_eq!(login.status, 200);
    // Entries are looked at in their order, so all others were when this one is there.
    a.get("http://h.example/last");
    pushed(&a, &engines, 2);
    assert_eq!(engines.sql("SELECT url FROM wwwoffle.entries").matches("http://").count(), 2);
    assert!(engines.sql("SELECT url FROM wwwoffle.entries").contains("http://h.example/open\n"));
    b.ok(&["offline"]);
    for path in [
        "h.example/public",
        "h.example/private",
        "h.example/cookie",
        "intranet/page",
        "h.example/not/this",
    ] {
        assert_eq!(b.get(&format!("http://{path}")).status, 504, "{path}");
    }
    assert_eq!(b.get("http://h.example/open").text(), "for all");
    let all: Vec<u8> =
        engines.objects().iter().flat_map(|path| std::fs::read(path).unwrap()).collect();
    assert!(!all.is_empty() && !String::from_utf8_lossy(&all).contains("SECRET"));
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_newer_copy_never_loses_to_an_older_one() {
    let (mut engines, origin) = (Engines::start(), Origin::start());
    let [mut old, mut new, mut third] =
        ["old", "new", "third"].map(|name| engines.node(name, origin.addr, ""));
    origin.say("http://h.example/page", Answer::html("the older"));
    // The older copy is stored first, and pushed last.
    engines.kill_postgres();
    old.up();
    old.tells("the catalogue of the archive tier cannot be used");
    old.get("http://h.example/page");
    old.settle();
    old.kill9();
    engines.start_postgres();
    origin.say("http://h.example/page", Answer::html("the newer"));
    new.up();
    new.get("http://h.example/page");
    pushed(&new, &engines, 1);
    old.up();
    pushed(&old, &engines, 1);
    third.up();
    third.ok(&["offline"]);
    eventually("the third node is connected", || third.status()["tier"]["connected"] == true);
    assert_eq!(third.get("http://h.example/page").text(), "the newer");
    assert_eq!(engines.count("SELECT count(*) FROM wwwoffle.entries WHERE node = 'new'"), 1);
    // A later copy replaces it, and the object of the former one is recorded for removal.
    origin.say("http://h.example/page", Answer::html("the newest"));
    let reload = "Cache-Control: no-cache\r\n";
    assert_eq!(old.client().get_with("http://h.example/page", reload).whole().text(), "the newest");
    eventually("the row is replaced", || {
        engines.count("SELECT count(*) FROM wwwoffle.entries WHERE node = 'old'") == 1
    });
    // A check may list the new object for a moment, too.
    eventually("the former object is unused", || {
        engines.count("SELECT count(*) FROM wwwoffle.unused") == 1
    });
    assert_eq!(engines.objects().len(), 2);
    // A day later it is removed.
    engines.sql("UPDATE wwwoffle.unused SET since = since - interval '25 hours'");
    old.restart();
    old.tells("removed unused objects from the archive tier");
    assert_eq!(engines.count("SELECT count(*) FROM wwwoffle.unused"), 0);
    assert_eq!(engines.objects().len(), 1);
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn variants_are_shared_and_chosen_as_at_home() {
    let (engines, origin) = (Engines::start(), Origin::start());
    origin.on("http://h.example/page", |exchange| {
        let german = exchange.seen.fields.get("Accept-Language") == Some("de");
        let page = Answer::html(if german { "deutsch" } else { "english" });
        exchange.answer(&page.field("Vary", "Accept-Language"))
    });
    let [mut a, mut b] = ["a", "b"].map(|name| engines.node(name, origin.addr, ""));
    a.up();
    for language in ["de", "en"] {
        a.client()
            .get_with("http://h.example/page", &format!("Accept-Language: {language}\r\n"))
            .whole();
    }
    pushed(&a, &engines, 2);
    b.up();
    b.ok(&["offline"]);
    eventually("B is connected", || b.status()["tier"]["connected"] == true);
    for (language, text) in [("en", "english"), ("de", "deutsch")] {
        let fields = format!("Accept-Language: {language}\r\n");
        assert_eq!(b.client().get_with("http://h.example/page", &fields).whole().text(), text);
    }
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_read_only_node_adds_nothing() {
    let (engines, origin) = (Engines::start(), Origin::start());
    origin.say("http://h.example/page", Answer::html("from A"));
    origin.say("http://h.example/other", Answer::html("from B"));
    let (mut a, mut b) = (
        engines.node("a", origin.addr, ""),
        engines.node("b", origin.addr, "role = \"read-only\"\n"),
    );
    b.up();
    b.tells("this node only reads; start a node that may write");
    a.up();
    a.get("http://h.example/page");
    pushed(&a, &engines, 1);
    b.get("http://h.example/other");
    eventually("B is connected", || b.status()["tier"]["connected"] == true);
    b.ok(&["offline"]);
    assert_eq!(b.get("http://h.example/page").text(), "from A");
    b.down();
    assert_eq!(engines.count("SELECT count(*) FROM wwwoffle.entries"), 1);
}
