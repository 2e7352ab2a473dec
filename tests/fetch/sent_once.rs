//! Forms of the queue are sent once, and each is sent.

use std::sync::Arc;

use crate::fetch::forms::queue_form;
use crate::harness::{After, Answer, Daemon, Gate, Origin, eventually};

/// Makes the origin read the form and send the head and a part of the body. The rest comes when the
/// gate opens.
fn answer_in_two_parts(origin: &Origin, path: &str) -> Arc<Gate> {
    let gate = Gate::new();
    let shut = Arc::clone(&gate);
    origin.on(path, move |exchange| {
        exchange.body()?;
        let bytes = Answer::html("ordered").bytes("POST");
        let (start, rest) = bytes.split_at(bytes.len() - 3);
        exchange.send(start)?;
        shut.wait();
        exchange.send(rest)?;
        Ok(After::Keep)
    });
    gate
}

/// Whether the first part of the body has arrived.
fn has_body(daemon: &Daemon) -> bool {
    let status = daemon.status();
    status["downloads"].as_array().unwrap().iter().any(|download| download["bytes"] == 4)
}

/// The states of the forms for this origin.
fn states(daemon: &Daemon, origin: &Origin) -> Vec<String> {
    let at = origin.url("/");
    let queue = daemon.queue().into_iter();
    let queue = queue.filter(|entry| entry["url"].as_str().unwrap().starts_with(&at));
    let mut states: Vec<_> =
        queue.map(|entry| entry["state"].as_str().unwrap().to_owned()).collect();
    states.sort_unstable();
    states
}

/// The mode becomes offline before and during the response, and while a form waits for a
/// connection. Later the daemon stops during the response.
#[test]
fn a_form_that_may_have_arrived_is_not_sent_again() {
    let mut daemon = Daemon::configured("[options]\nconnections-per-host = 1\n");
    let (silent, half) = (Origin::start(), Origin::start_at("127.0.0.2"));
    let gate = Gate::new();
    let shut = Arc::clone(&gate);
    silent.on("*", move |exchange| {
        exchange.body()?;
        shut.wait();
        exchange.answer(&Answer::html("ordered"))
    });
    let rest = answer_in_two_parts(&half, "/order");
    daemon.ok(&["offline"]);
    for (origin, path) in [(&silent, "/order?1"), (&silent, "/order?2"), (&half, "/order")] {
        queue_form(&daemon, origin, path);
    }
    daemon.ok(&["online"]);
    eventually("each is in progress", || {
        let is_active = daemon.status()["queue"]["active"] == 3;
        is_active && silent.seen().len() == 1 && has_body(&daemon)
    });
    daemon.ok(&["offline"]);
    eventually("each has ended", || daemon.status()["queue"]["active"] == 0);
    assert_eq!(states(&daemon, &half), ["failed"]);
    assert_eq!(states(&daemon, &silent), ["failed", "waiting"], "one was never sent");
    assert!(daemon.ok(&["queue"]).contains("it may have arrived"));
    gate.open();
    rest.open();
    daemon.ok(&["online"]);
    daemon.run(&["fetch", "--wait"]);
    let sent: Vec<_> = silent.seen().into_iter().map(|seen| seen.target).collect();
    assert!(sent.len() == 2 && sent[0] != sent[1], "{sent:?}");
    assert_eq!((states(&daemon, &silent), half.count("/order")), (vec!["failed".to_owned()], 1));

    let rest = answer_in_two_parts(&half, "/stop");
    daemon.ok(&["offline"]);
    queue_form(&daemon, &half, "/stop");
    daemon.ok(&["online"]);
    eventually("it is in progress", || has_body(&daemon));
    daemon.down();
    rest.open();
    daemon.up();
    daemon.run(&["fetch", "--wait"]);
    assert_eq!((states(&daemon, &half), half.count("/stop")), (vec!["failed".to_owned(); 2], 1));
}

#[test]
fn a_quota_does_not_end_the_response_to_a_form() {
    let config = "[usage]\nquotas = [\"127.0.0.1: 100 kB per day\"]\n";
    let (daemon, origin) = (Daemon::configured(config), Origin::start());
    let answer = Answer::html("x".repeat(2_000_000));
    origin.on("/order", move |exchange| exchange.answer(&answer));
    daemon.ok(&["offline"]);
    queue_form(&daemon, &origin, "/order");
    daemon.ok(&["online"]);
    eventually("it has ended", || {
        origin.count("/order") == 1 && daemon.status()["queue"]["active"] == 0
    });
    assert!(daemon.queue().is_empty(), "{:?}", daemon.queue());
    let usage = daemon.run(&["usage", "--json"]).json();
    assert!(usage["usage"][0]["fetched"].as_u64() >= Some(2_000_000), "{usage}");
}

#[test]
fn a_redirected_form_is_sent_even_if_it_was_answered_before() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.say("/old", Answer::redirect(308, "/new"));
    origin.say("/new", Answer::html("ordered"));
    for times in [1, 2] {
        daemon.ok(&["offline"]);
        queue_form(&daemon, &origin, "/old");
        daemon.ok(&["online"]);
        eventually("the queue is empty", || daemon.queue().is_empty());
        assert_eq!((origin.count("/old"), origin.count("/new")), (times, times));
    }
}
