//! A page that a person deletes is gone from the tier, and does not come back.

use super::shared::{connected, pushed};
use crate::harness::engines::Engines;
use crate::harness::{Answer, Origin, eventually};

const PAGE: &str = "http://h.example/page";

fn rows(engines: &Engines) -> u64 {
    engines.count("SELECT count(*) FROM wwwoffle.entries")
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_deleted_page_is_found_at_no_node() {
    let (engines, origin) = (Engines::start(), Origin::start());
    origin.say(PAGE, Answer::html("of yesterday"));
    let [mut a, mut b] = ["a", "b"].map(|name| engines.node(name, origin.addr, ""));
    a.up();
    a.get(PAGE);
    pushed(&a, &engines, 1);
    a.ok(&["offline"]);
    a.ok(&["rm", PAGE]);
    assert_eq!(a.get(PAGE).status, 504, "it does not come back from the tier");
    eventually("it is removed from the catalogue", || rows(&engines) == 0);
    assert_eq!(engines.count("SELECT count(*) FROM wwwoffle.unused"), 1);
    b.up();
    b.ok(&["offline"]);
    connected(&b);
    assert_eq!(b.get(PAGE).status, 504);
    assert_eq!(a.get(PAGE).status, 504);
    // A later copy is shared again.
    origin.say(PAGE, Answer::html("of today"));
    a.ok(&["online"]);
    assert_eq!(a.get(PAGE).text(), "of today");
    pushed(&a, &engines, 1);
    assert_eq!(b.get(PAGE).text(), "of today");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_deletion_survives_a_crash_and_missing_engines() {
    let (mut engines, origin) = (Engines::start(), Origin::start());
    let other = "http://h.example/other";
    origin.say(PAGE, Answer::html("page"));
    origin.say(other, Answer::html("other"));
    let [mut a, mut b] = ["a", "b"].map(|name| engines.node(name, origin.addr, ""));
    a.up();
    a.get(PAGE);
    a.get(other);
    pushed(&a, &engines, 2);
    // Another node has the page, and would add it again.
    b.up();
    b.ok(&["offline"]);
    connected(&b);
    assert_eq!(b.get(PAGE).text(), "page");
    b.down();
    engines.kill_postgres();
    a.tells("the catalogue of the archive tier cannot be used");
    a.ok(&["rm", PAGE]);
    a.kill9();
    // While no daemon runs, too.
    a.ok(&["rm", other]);
    engines.start_postgres();
    a.up();
    eventually("both are removed from the catalogue", || rows(&engines) == 0);
    // After a crash, a node offers everything that it has.
    b.up();
    b.kill9();
    b.up();
    eventually("B has compared its entries", || {
        let tier = &b.status()["tier"];
        tier["connected"] == true && tier["scanning"] == false && tier["backlog"] == 0
    });
    assert_eq!(rows(&engines), 0, "what was removed later does not come back");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn the_catalogue_itself_keeps_the_order() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let mut a = engines.node("a", origin.addr, "");
    a.up();
    connected(&a);
    eventually("the schema is there", || {
        engines.sql("SELECT 1 FROM wwwoffle.meta").contains("1 row")
    });
    let key = "sha256('k')";
    let add = |object: &str, minutes: i64| {
        let stored = format!("((extract(epoch FROM now()) + {minutes} * 60) * 1000000)::bigint");
        let object = format!("sha256('{object}')");
        engines.sql(&format!(
            "INSERT INTO wwwoffle.unused (object, key, variant) VALUES ({object}, {key}, {key}) \
             ON CONFLICT DO NOTHING"
        ));
        let done = engines.sql(&format!(
            "SELECT wwwoffle.add_entry({key}, {key}, 'http://h.example/', '', {stored}, 200::smallint, \
             '', NULL, 1, {object}, 1, 'a', 'h.example')"
        ));
        done.lines().nth(2).unwrap_or(&done).trim().to_owned()
    };
    let unused = |object: &str| {
        engines.count(&format!(
            "SELECT count(*) FROM wwwoffle.unused WHERE object = sha256('{object}')"
        ))
    };
    assert_eq!(add("future", 60), "future");
    assert_eq!((add("first", -30), unused("first")), ("added".to_owned(), 0));
    assert_eq!(add("older", -40), "older");
    // The object of the loser is listed, so that it is removed later.
    assert_eq!(unused("older"), 1);
    assert_eq!((add("newer", -20), unused("first")), ("added".to_owned(), 1));
    assert_eq!(add("newer", -20), "known");
    assert_eq!(unused("newer"), 0);
    let removed = engines.sql(&format!(
        "SELECT wwwoffle.remove_entries({key}, ((extract(epoch FROM now()) - 600) * 1000000)::bigint)"
    ));
    assert!(removed.contains("(1 row)"), "{removed}");
    assert_eq!((rows(&engines), unused("newer")), (0, 1));
    assert_eq!(add("newer", -20), "removed");
    assert_eq!(add("latest", -5), "added");
}
