//! Entries expire, and rows and objects are checked against each other.

use super::shared::pushed;
use crate::harness::engines::Engines;
use crate::harness::{Answer, Daemon, Origin, eventually};

fn url(number: usize) -> String {
    format!("http://h.example/{number}")
}

/// A node that has added some pages.
fn node(engines: &Engines, count: usize, more: &str) -> (Origin, Daemon) {
    let origin = Origin::start();
    let mut a = engines.node("a", origin.addr, more);
    a.up();
    for number in 0..count {
        origin.say(&url(number), Answer::html(number.to_string()));
        a.get(&url(number));
    }
    pushed(&a, engines, u64::try_from(count).unwrap());
    (origin, a)
}

fn count(engines: &Engines, table: &str) -> u64 {
    engines.count(&format!("SELECT count(*) FROM wwwoffle.{table}"))
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn entries_expire_and_their_objects_follow_a_day_later() {
    let engines = Engines::start();
    let (origin, mut a) = node(&engines, 3, "expire = \"8d\"\n");
    let week = "UPDATE wwwoffle.entries SET stored = stored - 9 * 86400000000::bigint";
    engines.sql(&format!("{week} WHERE url LIKE '%/0' OR url LIKE '%/1'"));
    a.restart();
    a.tells("removed expired entries from the archive tier expired=2");
    assert_eq!((count(&engines, "entries"), count(&engines, "unused")), (1, 2));
    a.ok(&["offline"]);
    assert_eq!(a.get(&url(0)).text(), "0", "the spool of the node has its own rules");
    let mut b = engines.node("b", origin.addr, "");
    b.up();
    b.ok(&["offline"]);
    super::shared::connected(&b);
    assert_eq!((b.get(&url(0)).status, b.get(&url(2)).status), (504, 200));
    b.down();
    engines.sql("UPDATE wwwoffle.unused SET since = since - interval '25 hours'");
    a.restart();
    eventually("their objects are removed", || engines.objects().len() == 1);
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_missing_object_is_reported_and_added_again_and_a_stray_one_is_removed() {
    let engines = Engines::start();
    let (_origin, mut a) = node(&engines, 3, "");
    let gone = engines.objects()[0].clone();
    std::fs::remove_file(&gone).unwrap();
    a.restart();
    a.tells("an object of the archive tier is missing, or has another length");
    eventually("it is listed", || count(&engines, "missing") == 1);
    assert_eq!(count(&engines, "entries"), 3, "the row stays");
    // A node that compares its entries with the catalogue adds the object again.
    a.kill9();
    a.up();
    eventually("the object is there again", || gone.exists());
    pushed(&a, &engines, 3);
    a.restart();
    eventually("it is not listed any more", || count(&engines, "missing") == 0);
    // An object that no row names.
    engines.sql("DELETE FROM wwwoffle.entries WHERE url LIKE '%/1'");
    a.restart();
    a.tells("objects without a row in the archive tier will be removed in a day unused=1");
    engines.sql("UPDATE wwwoffle.unused SET since = since - interval '25 hours'");
    a.restart();
    eventually("it is removed", || engines.objects().len() == 2);
    assert_eq!((count(&engines, "entries"), count(&engines, "unused")), (2, 0));
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_check_continues_where_another_node_stopped() {
    let engines = Engines::start();
    let (_origin, mut a) = node(&engines, 3, "");
    for object in engines.objects() {
        std::fs::remove_file(object).unwrap();
    }
    a.down();
    engines.sql(
        "INSERT INTO wwwoffle.checks (direction, position) \
         SELECT 'rows', encode(key, 'hex') || encode(variant, 'hex') FROM wwwoffle.entries \
         ORDER BY key, variant LIMIT 1 \
         ON CONFLICT (direction) DO UPDATE SET position = excluded.position",
    );
    a.up();
    eventually("the rest is checked", || count(&engines, "missing") == 2);
    eventually("the next check begins anew", || {
        engines.count(
            "SELECT count(*) FROM wwwoffle.checks WHERE direction = 'rows' AND position = ''",
        ) == 1
    });
    a.restart();
    eventually("all are checked", || count(&engines, "missing") == 3);
}
