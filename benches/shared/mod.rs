//! What the benchmarks of the real daemon have in common.

use std::time::Duration;

use crate::harness::Daemon;

/// Time that the daemon has had of all processors.
pub(crate) fn processor_time(daemon: &Daemon) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", daemon.pid())).unwrap();
    // Its name is in brackets and may hold anything; `utime` is the 12th field after it.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    // A hundred a second, on every Linux that Rust knows.
    Duration::from_millis(ticks * 10)
}
