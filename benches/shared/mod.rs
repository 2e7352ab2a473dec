//! Common code of the benchmarks that run the real daemon.

use std::time::Duration;

use crate::harness::Daemon;

/// The processor time of the daemon on all processors.
pub(crate) fn processor_time(daemon: &Daemon) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", daemon.pid())).unwrap();
    // The name is in brackets and may contain any character. `utime` is the 12th field after it.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    // A tick is 1/100 second on every Linux target of Rust.
    Duration::from_millis(ticks * 10)
}
