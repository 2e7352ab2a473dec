//! Engines that hang, and modes that do not allow them: no client waits for them.

use std::net::TcpListener;

use super::shared::{connected, pushed};
use crate::harness::engines::Engines;
use crate::harness::{Answer, Daemon, Origin, eventually};

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_catalogue_that_hangs_is_left_alone_and_used_again() {
    let (engines, origin) = (Engines::start(), Origin::start());
    for number in 0..6 {
        origin.say(&format!("http://h.example/{number}"), Answer::html(number.to_string()));
    }
    let [mut a, mut b] = ["a", "b"].map(|name| engines.node(name, origin.addr, ""));
    a.up();
    a.get("http://h.example/0");
    pushed(&a, &engines, 1);
    b.up();
    connected(&b);
    engines.freeze_postgres("STOP");
    for number in 1..6 {
        let page = b.get(&format!("http://h.example/{number}"));
        assert_eq!(page.text(), number.to_string(), "the origin answers");
    }
    b.tells("the catalogue of the archive tier cannot be used");
    eventually("the connection is given up", || b.status()["tier"]["connected"] == false);
    engines.freeze_postgres("CONT");
    connected(&b);
    b.ok(&["offline"]);
    // A lookup in time ends the pauses, and a connection does not.
    eventually("the page is found", || b.get("http://h.example/0").status == 200);
    assert_eq!(b.get("http://h.example/0").text(), "0");
    b.tells("the catalogue of the archive tier answers again");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_store_that_accepts_and_says_nothing_does_not_hold_a_client() {
    let (mut engines, origin) = (Engines::start(), Origin::start());
    origin.say("http://h.example/page", Answer::html("from the origin"));
    let [mut a, mut b] = ["a", "b"].map(|name| engines.node(name, origin.addr, ""));
    a.up();
    a.get("http://h.example/page");
    pushed(&a, &engines, 1);
    a.down();
    engines.kill_store();
    let silent = TcpListener::bind(engines.objects).unwrap();
    b.up();
    connected(&b);
    assert_eq!(b.get("http://h.example/page").text(), "from the origin");
    b.tells("the object store of the archive tier cannot be used");
    drop(silent);
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn without_local_net_the_tier_is_used_online_only() {
    let (mut engines, origin) = (Engines::start(), Origin::start());
    // The store is named by another host, which [local-net] does not list.
    engines.name_store("localhost");
    origin.say("http://h.example/page", Answer::html("page"));
    let mut a = engines.node("a", origin.addr, "");
    a.up();
    a.get("http://h.example/page");
    pushed(&a, &engines, 1);
    for mode in ["autodial", "offline"] {
        a.ok(&[mode]);
        eventually("the connections end", || {
            a.status()["tier"]["connected"] == false
                && engines.count(
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'wwwoffle a'",
                ) == 0
        });
        let fault = a.status()["tier"]["fault"].to_string();
        assert!(fault.contains("[local-net] does not list"), "{fault}");
        // A change of the mode wakes it; it does not wait for a pause to end.
        a.ok(&["online"]);
        connected(&a);
    }
    assert!(!a.log().contains("cannot be used"), "{}", a.log());
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_wrong_object_is_not_read_again_and_again() {
    let (engines, origin) = (Engines::start(), Origin::start());
    origin.say("http://h.example/page", Answer::html("page"));
    let [mut a, mut b] = ["a", "b"].map(|name| engines.node(name, origin.addr, ""));
    a.up();
    a.get("http://h.example/page");
    pushed(&a, &engines, 1);
    std::fs::write(&engines.objects()[0], "garbage").unwrap();
    b.up();
    b.ok(&["offline"]);
    connected(&b);
    for _ in 0..3 {
        assert_eq!(b.get("http://h.example/page").status, 504);
    }
    let log = b.log();
    assert_eq!(log.matches("an object of the archive tier is not used").count(), 1, "{log}");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn an_older_program_waits_for_a_migration_and_then_leaves_the_schema_alone() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let mut other = engines.session();
    other.send("BEGIN; SELECT pg_advisory_xact_lock(x'777777'::integer, x'6f66666c'::integer);");
    eventually("the lock is taken", || {
        engines.count("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted") == 1
    });
    let mut a = engines.node("a", origin.addr, "");
    a.up();
    eventually("A waits for the lock", || {
        engines.count("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
            > 0
    });
    other.send(
        "CREATE SCHEMA wwwoffle; CREATE TABLE wwwoffle.meta (version integer, id uuid); \
         INSERT INTO wwwoffle.meta VALUES (99, gen_random_uuid()); COMMIT;",
    );
    a.tells("the catalogue has version 99 of the schema");
    assert_eq!(engines.count("SELECT version FROM wwwoffle.meta"), 99);
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn the_owner_of_an_empty_schema_needs_no_right_on_the_database() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let made = engines.sql(
        "CREATE ROLE limited LOGIN PASSWORD 'of-the-test'; CREATE SCHEMA wwwoffle AUTHORIZATION limited",
    );
    assert!(made.contains("CREATE SCHEMA"), "{made}");
    let mut a = engines.node("a", origin.addr, "");
    let config = std::fs::read_to_string(a.config_file()).unwrap();
    std::fs::write(a.config_file(), config.replace("//wwwoffle@", "//limited@")).unwrap();
    origin.say("http://h.example/page", Answer::html("page"));
    a.up();
    a.get("http://h.example/page");
    pushed(&a, &engines, 1);
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_missing_right_is_tried_again_with_pauses() {
    let (engines, origin) = (Engines::start(), Origin::start());
    engines.sql(
        "CREATE ROLE limited LOGIN PASSWORD 'of-the-test'; CREATE SCHEMA wwwoffle AUTHORIZATION limited",
    );
    let mut a = engines.node("a", origin.addr, "");
    let config = std::fs::read_to_string(a.config_file()).unwrap();
    std::fs::write(a.config_file(), config.replace("//wwwoffle@", "//limited@")).unwrap();
    origin.say("http://h.example/page", Answer::html("page"));
    a.up();
    connected(&a);
    engines.sql("REVOKE INSERT ON wwwoffle.unused FROM limited");
    let failures =
        || engines.count("SELECT xact_rollback FROM pg_stat_database WHERE datname = 'archive'");
    let before = failures();
    a.get("http://h.example/page");
    eventually("it is tried again", || failures() > before + 1);
    let told = a.status()["tier"]["fault"].to_string();
    assert!(told.contains("permission denied"), "{told}");
    let granted = engines.sql("GRANT INSERT ON wwwoffle.unused TO limited");
    assert!(granted.contains("GRANT"), "{granted}");
    pushed(&a, &engines, 1);
    assert!(failures() < before + 20, "{} failures", failures() - before);
}

#[test]
#[ignore = "slow"]
fn a_password_never_goes_without_tls_to_a_far_host() {
    let config = "[tier]\nobjects = \"s3://pages\"\n\
                  catalogue = \"postgresql://w@db.example/a?sslmode=disable\"\n";
    let daemon = Daemon::prepare(Some(config));
    let refused = daemon.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(
        refused.status != 0 && refused.err.contains("sends the password without TLS"),
        "{refused:?}"
    );
}
