//! A machine whose clock was never set.

use std::process::Command;

use crate::harness::{Answer, Daemon, Origin};

/// The C source of a library that replaces the clock of the C library, which Rust uses. Its clock
/// shows the year 1969.
const SHIM: &str = r"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *time) {
    int failed = syscall(SYS_clock_gettime, id, time);
    if (id == CLOCK_REALTIME) time->tv_sec = -86400;
    return failed;
}
";

#[test]
#[ignore = "needs cc"]
fn a_clock_before_1970_causes_no_panic() {
    let origin = Origin::start();
    origin.say("/page", Answer::html("<title>Page</title>"));
    let url = origin.url("/page");
    let mut daemon = Daemon::start();
    assert_eq!(daemon.get(&url).text(), "<title>Page</title>");
    daemon.down();

    let (source, shim) = (daemon.home().join("clock.c"), daemon.home().join("clock.so"));
    std::fs::write(&source, SHIM).unwrap();
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&shim).arg(&source).status();
    assert!(built.unwrap().success());
    let daemon = daemon.with_variable("LD_PRELOAD", shim.to_str().unwrap());
    let refused = daemon.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status, 1, "{}", refused.err);
    assert!(refused.err.contains("the clock of this machine shows a year before 1970"));
    // Commands that need no daemon work.
    assert_eq!(daemon.ok(&["cat", &url]), "<title>Page</title>");
    for command in [&["ls"][..], &["fsck", "--deep"], &["purge"], &["ca", "renew"]] {
        let ran = daemon.run(command);
        assert_eq!(ran.status, 0, "{command:?}: {}", ran.err);
    }
}
