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
    // An object that no row names may be the only copy, if an older catalogue was restored.
    engines.sql("DELETE FROM wwwoffle.entries WHERE url LIKE '%/1'");
    a.restart();
    a.tells("the catalogue of the archive tier has no rows for some objects; they stay strays=1");
    eventually("it is listed", || count(&engines, "strays") == 1);
    a.kill9();
    a.up();
    pushed(&a, &engines, 3);
    a.restart();
    eventually("its row is there again", || count(&engines, "strays") == 0);
    // An administrator may release it.
    a.down();
    engines.sql("DELETE FROM wwwoffle.entries WHERE url LIKE '%/1'");
    a.up();
    eventually("it is listed again", || count(&engines, "strays") == 1);
    engines.sql(
        "INSERT INTO wwwoffle.unused (object, key, variant, since) \
         SELECT object, '', '', now() - interval '25 hours' FROM wwwoffle.strays",
    );
    a.restart();
    eventually("it is removed", || engines.objects().len() == 2);
    assert_eq!((count(&engines, "entries"), count(&engines, "unused")), (2, 0));
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn variants_of_a_page_are_bounded() {
    let engines = Engines::start();
    let (_origin, a) = node(&engines, 1, "");
    engines.sql(
        "INSERT INTO wwwoffle.entries SELECT e.key, sha256(n::text::bytea), e.url, 'accept: ' || n, \
         e.stored - n, 200, e.media, NULL, 1, e.object, 1, 'a' FROM wwwoffle.entries AS e, \
         generate_series(1, 50) AS n",
    );
    assert_eq!(count(&engines, "entries"), 32, "the newest stay");
    let older = engines.sql(
        "SELECT wwwoffle.add_entry(key, sha256('older'), url, 'accept: older', stored - 1000, 200::smallint, \
         media, NULL, 1, sha256('its object'), 1, 'a', 'h.example') FROM wwwoffle.entries LIMIT 1",
    );
    assert!(older.contains("older"), "{older}");
    // Their rows name one object, which does not keep a deletion away.
    a.ok(&["rm", &url(0)]);
    eventually("all are removed", || count(&engines, "entries") == 0);
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn an_object_that_the_store_keeps_does_not_hold_up_the_others() {
    let engines = Engines::start();
    let (_origin, mut a) = node(&engines, 2, "");
    let objects = engines.objects();
    // The store cannot remove a directory.
    std::fs::remove_file(&objects[0]).unwrap();
    std::fs::create_dir(&objects[0]).unwrap();
    std::fs::write(objects[0].join("file"), "kept").unwrap();
    engines.sql(
        "WITH old AS (DELETE FROM wwwoffle.entries RETURNING object) \
         INSERT INTO wwwoffle.unused (object, key, variant, since) \
         SELECT object, '', '', now() - interval '25 hours' FROM old",
    );
    a.restart();
    a.tells("the object store does not remove some unused objects refused=1");
    eventually("the other one is removed", || !objects[1].exists());
    assert_eq!(count(&engines, "unused"), 1);
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

#[test]
#[ignore = "needs postgresql and s3rver"]
fn one_node_at_a_time_checks_until_its_lease_ends() {
    let engines = Engines::start();
    let (_origin, mut a) = node(&engines, 1, "");
    a.down();
    std::fs::remove_file(&engines.objects()[0]).unwrap();
    let lease = |node: &str| {
        let put = "INSERT INTO wwwoffle.leases VALUES ('check'";
        engines.sql(&format!("{put}, '{node}', now() + interval '10 min')"));
    };
    lease("another node");
    a.ok(&["config", "set", "options.log-level", "debug"]);
    a.up();
    a.tells("another node checks the archive tier now");
    assert_eq!(count(&engines, "missing"), 0);
    engines.sql("UPDATE wwwoffle.leases SET until = now()");
    a.restart();
    eventually("the lease is taken over", || count(&engines, "missing") == 1);
    eventually("and given back", || count(&engines, "leases") == 0);
    a.down();
    // A node that was killed with a lease takes it again.
    lease(std::fs::read_to_string(a.spool().join("tier/node")).unwrap().trim_end());
    engines.sql("DELETE FROM wwwoffle.missing");
    a.up();
    eventually("it checks again", || count(&engines, "missing") == 1);
}
