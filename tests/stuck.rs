//! Downloads that stand still or have no reader hold nobody up and have an end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::harness::{Answer, Daemon, Gate, Origin, eventually};

/// An origin that answers the first request for `path` when the gate is open, the others at once.
fn hangs_once(origin: &Origin, path: &str, gate: &Arc<Gate>) {
    let (asked, held) = (AtomicUsize::new(0), Arc::clone(gate));
    origin.on(path, move |exchange| {
        let number = asked.fetch_add(1, Ordering::SeqCst) + 1;
        if number == 1 {
            held.wait();
        }
        exchange.answer(&Answer::html(format!("answer {number}")))
    });
}

#[test]
fn a_reload_does_not_join_a_download_that_hangs() {
    let (daemon, origin, gate) = (Daemon::start(), Origin::start(), Gate::new());
    hangs_once(&origin, "/page", &gate);
    let url = origin.url("/page");
    let mut first = daemon.client();
    first.ask(&url, "");
    eventually("the origin is asked", || origin.count("/page") == 1);
    let reload = daemon.client().get_with(&url, "Cache-Control: no-cache\r\n").whole();
    assert_eq!(reload.text(), "answer 2");
    gate.open();
    assert_eq!(first.receive("GET").whole().text(), "answer 1");
    daemon.settle();
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&url).text(), "answer 2", "the older answer replaces no newer one");
}

#[test]
fn nobody_joins_a_download_whose_client_left_before_its_head() {
    let (daemon, origin, gate) = (Daemon::start(), Origin::start(), Gate::new());
    hangs_once(&origin, "/page", &gate);
    let url = origin.url("/page");
    let mut first = daemon.client();
    first.ask(&url, "");
    eventually("the origin is asked", || origin.count("/page") == 1);
    drop(first);
    eventually("another request is answered", || {
        let mut second = daemon.client();
        second.patience(Duration::from_millis(200));
        second.ask(&url, "");
        second.try_receive("GET").is_ok_and(|answer| answer.text() != "answer 1")
    });
    gate.open();
}
