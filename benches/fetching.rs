//! The cost of fetching the queue: the time compared with what the limits allow, and the daemon's
//! processor time and memory.
//!
//! ```text
//! cargo bench --bench fetching           the table, in the form of docs/performance.md
//! ```
//!
//! The daemon is the real one. Its origins are threads of this process, each of which waits before
//! it responds, like a slow connection. The ideal time is that wait times the number of pages,
//! divided by the number of concurrent requests. Only the ratio can be compared between machines.
#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::format_collect,
    clippy::format_push_string,
    clippy::disallowed_methods,
    reason = "a benchmark fails by panicking, and uses a part of what the tests stand on"
)]

#[path = "../tests"]
mod tests {
    pub(crate) mod harness;
}
mod shared;

use std::time::{Duration, Instant};

use shared::processor_time;
use tests::harness;
use tests::harness::{Answer, Daemon, Origin};

/// The number of pages.
const PAGES: usize = 400;

/// The wait of an origin before it responds.
const LATENCY: Duration = Duration::from_millis(50);

/// The default limits of concurrent requests: to one host, and in all.
const PER_HOST: usize = 6;
const AT_ONCE: usize = 32;

fn main() {
    println!(
        "| {PAGES} pages, {} ms each | ideal | taken | ratio | CPU a page | memory |",
        LATENCY.as_millis()
    );
    println!("|---|---|---|---|---|---|");
    measure("one host", 1, PER_HOST);
    measure("forty hosts", 40, AT_ONCE.min(40 * PER_HOST));
}

fn measure(what: &str, hosts: usize, at_once: usize) {
    let daemon = Daemon::start();
    let origins: Vec<_> =
        (0..hosts).map(|host| Origin::start_at(&format!("127.0.1.{}", host + 1))).collect();
    daemon.ok(&["offline"]);
    for number in 0..PAGES {
        let (origin, path) = (&origins[number % hosts], format!("/{number}"));
        let body = "text ".repeat(2_000);
        origin.on(&path, move |exchange| {
            std::thread::sleep(LATENCY);
            exchange.answer(&Answer::html(body.clone()))
        });
        daemon.browse(&origin.url(&path));
    }
    daemon.settle();
    let (before, memory) = (processor_time(&daemon), daemon.memory_kib());
    let begun = Instant::now();
    daemon.ok(&["online"]);
    let seen = || -> usize { origins.iter().map(|origin| origin.seen().len()).sum() };
    // The daemon is polled only when nearly all is fetched, since polling takes time that is
    // measured.
    while seen() < PAGES {
        std::thread::sleep(Duration::from_millis(5));
    }
    while is_busy(&daemon) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let taken = begun.elapsed();
    let own = processor_time(&daemon).saturating_sub(before).as_secs_f64() * 1_000.0 / PAGES as f64;
    let ideal = LATENCY.mul_f64((PAGES as f64 / at_once as f64).ceil());
    assert_eq!(seen(), PAGES, "each page once");
    println!(
        "| {what} | {:.2} s | {:.2} s | {:.2} | {own:.2} ms | {} KiB more |",
        ideal.as_secs_f64(),
        taken.as_secs_f64(),
        taken.as_secs_f64() / ideal.as_secs_f64(),
        daemon.memory_kib().saturating_sub(memory),
    );
}

/// Whether any entry is queued or being fetched.
fn is_busy(daemon: &Daemon) -> bool {
    let queue = &daemon.status()["queue"];
    queue["waiting"] != 0 || queue["active"] != 0
}
