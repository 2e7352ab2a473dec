//! A node without its engines works alone, and loses nothing.

use super::shared::pushed;
use crate::harness::engines::Engines;
use crate::harness::{Answer, Daemon, Origin, eventually};

#[test]
#[ignore = "needs postgresql and s3rver"]
fn without_engines_a_node_works_alone_and_says_so_once() {
    let (mut engines, origin) = (Engines::start(), Origin::start());
    for number in 0..20 {
        origin.say(&format!("http://h.example/{number}"), Answer::html(number.to_string()));
    }
    let [mut a, mut b] = ["a", "b"].map(|name| engines.node(name, origin.addr, ""));
    a.up();
    a.get("http://h.example/0");
    pushed(&a, &engines, 1);
    engines.kill_postgres();
    engines.kill_store();
    a.tells("the catalogue of the archive tier cannot be used");
    for number in 1..20 {
        let page = a.get(&format!("http://h.example/{number}"));
        assert_eq!((page.status, page.text()), (200, number.to_string()));
    }
    a.ok(&["offline"]);
    assert_eq!(a.get("http://h.example/missing").status, 504);
    assert_eq!(a.get("http://h.example/7").text(), "7");
    let status = a.ok(&["status"]);
    assert!(
        status.contains("tier         a: catalogue: ") && status.contains("19 waiting since"),
        "{status}"
    );
    let catalogue = "WARN the catalogue of the archive tier cannot be used";
    let said = a.log();
    let reasons: Vec<&str> = said.lines().filter(|line| line.contains("cannot be used")).collect();
    // Once when the connection ends, and once because it is refused; not once for each request.
    assert!(reasons.len() <= 2, "{catalogue}: {reasons:?}");
    // Killed with a full outbox: nothing is lost.
    a.kill9();
    engines.start_postgres();
    engines.start_store();
    a.up();
    pushed(&a, &engines, 20);
    b.up();
    b.ok(&["offline"]);
    eventually("B is connected", || b.status()["tier"]["connected"] == true);
    for number in 0..20 {
        assert_eq!(b.get(&format!("http://h.example/{number}")).text(), number.to_string());
    }
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_lost_connection_is_made_again() {
    let (mut engines, origin) = (Engines::start(), Origin::start());
    origin.say("http://h.example/1", Answer::html("1"));
    origin.say("http://h.example/2", Answer::html("2"));
    let mut a = engines.node("a", origin.addr, "");
    a.up();
    a.get("http://h.example/1");
    pushed(&a, &engines, 1);
    engines.kill_postgres();
    a.tells("the catalogue of the archive tier cannot be used");
    a.get("http://h.example/2");
    engines.start_postgres();
    a.tells("the catalogue of the archive tier answers again");
    pushed(&a, &engines, 2);
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn each_start_adds_what_is_missing_but_nothing_older_than_the_tier() {
    let (engines, origin) = (Engines::start(), Origin::start());
    for number in 0..100 {
        origin.say(&format!("http://h.example/{number}"), Answer::html(number.to_string()));
    }
    origin.say("http://h.example/before", Answer::html("perhaps of this network"));
    let config = format!("[proxy]\nproxy = \"{}\"\n", origin.addr);
    let mut before = Daemon::configured(&config);
    before.get("http://h.example/before");
    before.down();
    let mut a = engines.node("a", origin.addr, "").with_spool(before.spool());
    a.up();
    for number in 0..100 {
        a.get(&format!("http://h.example/{number}"));
    }
    pushed(&a, &engines, 100);
    assert_eq!(engines.count("SELECT count(*) FROM wwwoffle.entries"), 100);
    // After a clean stop with an empty outbox, the next start compares nothing.
    a.down();
    engines.sql("DELETE FROM wwwoffle.entries");
    a.up();
    eventually("A is connected", || a.status()["tier"]["connected"] == true);
    assert_eq!(a.status()["tier"]["scanning"], false);
    // After a crash it compares everything.
    a.kill9();
    a.up();
    pushed(&a, &engines, 100);
}

#[test]
fn without_a_tier_nothing_of_it_is_there() {
    let daemon = Daemon::start();
    assert!(daemon.status().get("tier").is_none());
    assert!(!daemon.ok(&["status"]).contains("tier"));
    assert!(!daemon.log().contains("tier"));
}
