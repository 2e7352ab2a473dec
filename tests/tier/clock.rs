//! A node whose clock is wrong does not use the tier, says so, and nothing of it is lost.

use std::path::{Path, PathBuf};

use super::shared::{connected, pushed};
use crate::harness::engines::Engines;
use crate::harness::{Answer, Daemon, Origin, cannot_run, eventually};

/// The library that changes the time of a program.
fn library() -> PathBuf {
    let triple = format!("{}-linux-gnu", std::env::consts::ARCH);
    let path = Path::new("/usr/lib").join(triple).join("faketime/libfaketime.so.1");
    if !path.is_file() {
        cannot_run("libfaketime is not installed");
    }
    path
}

/// Sets the clock of a node, as an offset to that of this machine.
fn set_clock(file: &Path, offset: &str) {
    // A reader never sees a part of it.
    let new = file.with_extension("new");
    std::fs::write(&new, offset).unwrap();
    std::fs::rename(new, file).unwrap();
}

fn fault(node: &Daemon) -> String {
    node.status()["tier"]["fault"].to_string()
}

#[test]
#[ignore = "needs postgresql, s3rver and libfaketime"]
fn a_clock_that_is_wrong_by_a_year_is_reported_and_nothing_is_lost() {
    let (engines, origin) = (Engines::start(), Origin::start());
    let page = |number: u32| format!("http://h.example/{number}");
    for number in 0..3 {
        origin.say(&page(number), Answer::html(format!("first {number}")));
    }
    let a = engines.node("a", origin.addr, "");
    let clock = a.home().join("clock");
    set_clock(&clock, "+0");
    let mut a = a
        .with_variable("LD_PRELOAD", library().to_str().unwrap())
        .with_variable("FAKETIME_TIMESTAMP_FILE", clock.to_str().unwrap())
        .with_variable("FAKETIME_NO_CACHE", "1")
        .with_variable("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    a.up();
    a.get(&page(0));
    pushed(&a, &engines, 1);
    // The clock jumps while the node is connected. What it stores now would seem to be older than
    // everything in the tier.
    for (offset, word) in [("-365d", "behind"), ("+365d", "ahead of")] {
        set_clock(&clock, offset);
        let number = if offset.starts_with('-') { 1 } else { 2 };
        assert_eq!(a.get(&page(number)).text(), format!("first {number}"));
        eventually("the node says so", || fault(&a).contains(word));
        eventually("no connection is kept", || a.status()["tier"]["connected"] == false);
        assert_eq!(engines.count("SELECT count(*) FROM wwwoffle.entries"), 1);
    }
    set_clock(&clock, "+0");
    connected(&a);
    // Under the clock of the past, the page seemed to be of the future: the next start adds it. The
    // other one is of the future now, and its next copy is added.
    a.restart();
    pushed(&a, &engines, 2);
    assert_eq!(a.client().get_with(&page(2), "Cache-Control: no-cache\r\n").whole().status, 200);
    pushed(&a, &engines, 3);
    let now = "SELECT count(*) FROM wwwoffle.entries WHERE abs(stored / 1000000 - \
               extract(epoch FROM now())) < 3600";
    assert_eq!(engines.count(now), 3);
}
