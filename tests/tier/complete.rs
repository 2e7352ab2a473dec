//! Nothing is left out: each way in which the record "everything is pushed" could be wrong.

use super::shared::{connected, pushed};
use crate::harness::engines::Engines;
use crate::harness::{Answer, Daemon, Origin, eventually};

/// A node that has pushed one page and was stopped.
fn stopped(engines: &Engines, origin: &Origin) -> Daemon {
    origin.say("http://h.example/1", Answer::html("1"));
    origin.say("http://h.example/2", Answer::html("2"));
    let mut a = engines.node("a", origin.addr, "");
    a.up();
    a.get("http://h.example/1");
    pushed(&a, engines, 1);
    a.down();
    a
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn pages_stored_without_the_tier_stay_until_they_are_fetched_again() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let mut a = stopped(&engines, &origin);
    let config = std::fs::read_to_string(a.config_file()).unwrap();
    let without = config.replace("objects =", "#objects =").replace("catalogue =", "#catalogue =");
    std::fs::write(a.config_file(), without).unwrap();
    a.up();
    a.get("http://h.example/2");
    a.down();
    std::fs::write(a.config_file(), config).unwrap();
    a.up();
    connected(&a);
    pushed(&a, &engines, 1);
    assert_eq!(engines.count("SELECT count(*) FROM wwwoffle.entries"), 1);
    a.client().get_with("http://h.example/2", "Cache-Control: no-cache\r\n").whole();
    pushed(&a, &engines, 2);
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn pages_stored_by_a_read_only_node_are_added_when_it_may_write() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let mut a = stopped(&engines, &origin);
    let config = std::fs::read_to_string(a.config_file()).unwrap();
    let reading = config.replace("node = \"a\"", "node = \"a\"\nrole = \"read-only\"");
    std::fs::write(a.config_file(), reading).unwrap();
    a.up();
    a.get("http://h.example/2");
    a.down();
    std::fs::write(a.config_file(), config).unwrap();
    a.up();
    pushed(&a, &engines, 2);
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn another_catalogue_gets_everything() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let mut a = stopped(&engines, &origin);
    engines.sql("DROP SCHEMA wwwoffle CASCADE");
    a.up();
    pushed(&a, &engines, 1);
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn relaxed_rules_take_effect_at_once() {
    let (engines, origin) = (Engines::start(), Origin::start());
    origin.say("http://h.example/1", Answer::html("1"));
    let rule = "[[tier.for]]\nurl = \"*://h.example/*\"\nshare = false\n";
    let mut a = engines.node("a", origin.addr, rule);
    a.up();
    a.get("http://h.example/1");
    connected(&a);
    eventually("everything was looked at", || {
        a.status()["tier"]["backlog"] == 0 && a.status()["tier"]["scanning"] == false
    });
    let config = std::fs::read_to_string(a.config_file()).unwrap();
    std::fs::write(a.config_file(), config.replace(rule, "")).unwrap();
    a.ok(&["config", "reload"]);
    pushed(&a, &engines, 1);
}
