//! The statistics file: it is read again, and a damaged one is set aside.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests look at and spoil the files themselves"
)]

mod support;

use std::fs;

use support::open;
use wwwoffle_spool::{Durability, MAX_STATISTICS, Statistics};

#[test]
fn counts_outlive_the_spool() {
    let root = tempfile::tempdir().unwrap();
    let mut some = Statistics::default();
    some.days.entry("2026-11-22".parse().unwrap()).or_default().add("hit", 3);
    some.hosts.entry("www.example.org".to_owned()).or_default().counts.add("hit", 2);
    some.rest.add("hit", 1);
    let spool = open(root.path(), Durability::Batch);
    assert_eq!(spool.statistics().unwrap(), (Statistics::default(), None));
    spool.set_statistics(&some).unwrap();
    drop(spool);
    let spool = open(root.path(), Durability::Batch);
    assert_eq!(spool.statistics().unwrap(), (some, None));
    let text = fs::read_to_string(root.path().join("statistics")).unwrap();
    let want =
        "wwwoffle-statistics 1\nday 2026-11-22 hit=3\nhost www.example.org +0 hit=2\nrest hit=1\n";
    assert_eq!(text, want);
}

#[test]
fn damaged_statistics_are_moved_aside_and_reset() {
    let file = |root: &tempfile::TempDir| root.path().join("statistics");
    let long = vec![b'\n'; MAX_STATISTICS + 1];
    for damaged in [&b""[..], b"wwwoffle-statistics 1\nday 2026", b"\xff\0", &long] {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), Durability::Batch);
        fs::write(file(&root), damaged).unwrap();
        let (statistics, damage) = spool.statistics().unwrap();
        assert_eq!(statistics, Statistics::default());
        let moved_to = damage.unwrap().moved_to.unwrap();
        assert_eq!(fs::read(moved_to).unwrap(), damaged);
        assert!(!file(&root).exists());
        spool.set_statistics(&Statistics::default()).unwrap();
        assert_eq!(spool.statistics().unwrap(), (Statistics::default(), None));
    }
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    fs::create_dir(file(&root)).unwrap();
    assert!(spool.statistics().unwrap().1.is_some());
}
