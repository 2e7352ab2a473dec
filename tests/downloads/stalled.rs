//! Downloads that stall or have no reader do not delay other requests, and end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::harness::form::form;
use crate::harness::wire::Framing;
use crate::harness::{After, Answer, Client, Daemon, Gate, Origin, eventually};

/// An origin that answers the first request for `path` when the gate opens. It answers all other
/// requests at once.
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
    assert_eq!(daemon.get(&url).text(), "answer 2", "the older response has replaced a newer one");
}

#[test]
fn a_download_abandoned_before_its_head_is_not_joined() {
    let (daemon, origin, gate) = (Daemon::start(), Origin::start(), Gate::new());
    hangs_once(&origin, "/page", &gate);
    let url = origin.url("/page");
    let mut first = daemon.client();
    first.ask(&url, "");
    eventually("the origin is asked", || origin.count("/page") == 1);
    // The client sends nothing more, but can still receive the response.
    first.finish_sending();
    eventually("another request is served", || {
        let mut second = daemon.client();
        second.patience(Duration::from_millis(200));
        second.ask(&url, "");
        second.try_receive("GET").is_ok_and(|answer| answer.text() == "answer 2")
    });
    gate.open();
    assert_eq!(first.receive("GET").whole().text(), "answer 1");
}

/// An origin whose body at `path` has no length and no end. It opens the returned gate when the
/// proxy stops reading.
fn endless(origin: &Origin, path: &str) -> Arc<Gate> {
    let ended = Gate::new();
    let told = Arc::clone(&ended);
    origin.on(path, move |exchange| {
        exchange.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")?;
        let sent = loop {
            if let Err(error) = exchange.send([b'x'; 4_096]) {
                break Err(error);
            }
        };
        told.open();
        sent
    });
    ended
}

/// An origin with a body of two million bytes. The second half is sent when the gate opens.
fn film(origin: &Origin, path: &str, gate: &Arc<Gate>) {
    let held = Arc::clone(gate);
    origin.on(path, move |exchange| {
        exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\nETag: \"1\"\r\n\r\n")?;
        exchange.send(vec![b'x'; 1_000_000])?;
        held.wait();
        exchange.send(vec![b'y'; 1_000_000])?;
        Ok(After::Keep)
    });
}

/// A client that has requested `url` and received the head of the response.
fn reading(daemon: &Daemon, url: &str) -> Client {
    let mut client = daemon.client();
    client.ask(url, "");
    client.head().unwrap();
    client
}

/// Reads the body of a film and returns its length in bytes. `None` if the body is truncated.
fn rest(client: &mut Client) -> Option<usize> {
    let mut length = 0;
    let read = client.reader.body(Framing::Length(2_000_000), |piece| length += piece.len());
    read.ok().map(|_| length)
}

fn downloads(daemon: &Daemon) -> Vec<serde_json::Value> {
    daemon.status()["downloads"].as_array().unwrap().clone()
}

#[test]
#[ignore = "slow"]
fn an_endless_body_ends_after_its_client_has_left() {
    for bound in ["unread-size = \"200 kB\"", "unread-time = \"1s\""] {
        let daemon = Daemon::configured(&format!("[options]\n{bound}\n"));
        let origin = Origin::start();
        let ended = endless(&origin, "/stream");
        let client = reading(&daemon, &origin.url("/stream"));
        assert!(!ended.is_open(), "{bound}: it continues while it is read");
        drop(client);
        eventually(&format!("{bound}: it ends"), || ended.is_open());
        daemon.settle();
        daemon.ok(&["offline"]);
        assert_eq!(daemon.get(&origin.url("/stream")).status, 504, "it looks complete");
    }
}

#[test]
fn the_queue_asks_before_it_continues_an_endless_body() {
    let daemon = Daemon::configured("[options]\nunread-size = \"200 kB\"\n");
    let origin = Origin::start();
    let ended = endless(&origin, "/stream");
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/stream"));
    daemon.ok(&["online"]);
    eventually("it ends", || ended.is_open());
    eventually("the page asks for confirmation", || daemon.queue()[0]["state"] == "asking");
}

#[test]
fn going_offline_ends_downloads_without_readers() {
    let (daemon, origin, gate) = (Daemon::start(), Origin::start(), Gate::new());
    for path in ["/left", "/read"] {
        film(&origin, path, &gate);
    }
    let (left, mut read) =
        (reading(&daemon, &origin.url("/left")), reading(&daemon, &origin.url("/read")));
    drop(left);
    daemon.ok(&["offline"]);
    eventually("one continues", || {
        let running = downloads(&daemon);
        running.len() == 1 && running[0]["url"] == origin.url("/read").as_str()
    });
    gate.open();
    assert_eq!(rest(&mut read), Some(2_000_000));
}

#[test]
fn downloads_without_readers_yield_connections_to_waiting_clients() {
    let settings = "[options]\nconnections-per-host = 2\nhead-timeout = \"20s\"\n";
    let (daemon, origin, gate) = (Daemon::configured(settings), Origin::start(), Gate::new());
    let urls = ["/older", "/newer"].map(|path| {
        film(&origin, path, &gate);
        let url = origin.url(path);
        drop(reading(&daemon, &url));
        url
    });
    eventually("both have all bytes that the origin sends at first", || {
        let running = downloads(&daemon);
        running.len() == 2 && running.iter().all(|one| one["bytes"] == 1_000_000)
    });
    assert_eq!(daemon.get(&origin.url("/page/0.html")).status, 200);
    eventually("only the newer one continues", || {
        let running = downloads(&daemon);
        running.len() == 1 && running[0]["url"] == urls[1].as_str()
    });
    // The older download has lost its connection. The next request for it resumes from its segment.
    let mut client = daemon.client();
    client.ask(&urls[0], "");
    eventually("the rest is requested", || origin.count("/older") == 2);
    let rest = &origin.seen()[3].head;
    assert!(rest.contains("Range: bytes=1000000-"), "{rest}");
    gate.open();
}

#[test]
#[ignore = "slow"]
fn an_abandoned_waiting_request_is_not_sent() {
    let settings = "[options]\nconnections-per-host = 1\nhead-timeout = \"20s\"\n";
    let (daemon, origin, gate) = (Daemon::configured(settings), Origin::start(), Gate::new());
    film(&origin, "/film", &gate);
    let mut reading = reading(&daemon, &origin.url("/film"));
    let mut leaving = daemon.client();
    leaving.ask(&origin.url("/left"), "");
    eventually("it waits for the connection", || downloads(&daemon).len() == 2);
    leaving.reset();
    eventually("it leaves the line", || downloads(&daemon).len() == 1);
    gate.open();
    assert_eq!(rest(&mut reading), Some(2_000_000));
    assert_eq!(origin.count("/left"), 0);
}

#[test]
fn a_download_is_ended_by_a_command_or_button() {
    let (daemon, origin, gate) = (Daemon::start(), Origin::start(), Gate::new());
    for path in ["/line", "/page"] {
        film(&origin, path, &gate);
        let mut client = reading(&daemon, &origin.url(path));
        eventually("it is listed", || downloads(&daemon).len() == 1);
        if path == "/line" {
            let listed = daemon.run(&["downloads", "--json"]).json();
            let id = listed[0]["id"].to_string();
            let ended = daemon.run(&["downloads", "--end", &id]);
            assert_eq!(ended.out.trim_end(), format!("ended: {}", origin.url(path)));
            assert_ne!(daemon.run(&["downloads", "--end", &id]).status, 0, "it has ended");
        } else {
            let button = form(&daemon.page("/fetches/").text(), "/control/download/end");
            assert_eq!(daemon.submit(&button).status, 303);
        }
        assert_eq!(rest(&mut client), None, "{path}: its reader does not notice the truncation");
        daemon.settle();
    }
    gate.open();
}

/// The head of a small response is held back for its body, so that it can say whether the response
/// was stored.
#[test]
fn the_head_of_a_small_response_does_not_wait_for_a_late_body() {
    let (daemon, origin, gate) = (Daemon::start(), Origin::start(), Gate::new());
    let held = Arc::clone(&gate);
    origin.on("/late", move |exchange| {
        exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nETag: \"1\"\r\n\r\n")?;
        held.wait();
        exchange.send("late")?;
        Ok(After::Keep)
    });
    let url = origin.url("/late");
    let mut client = reading(&daemon, &url);
    gate.open();
    assert_eq!(client.reader.exactly(4).unwrap(), b"late");
    daemon.settle();
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&url).text(), "late");
}

/// If a body breaks off before its first byte, nothing of the response has been sent, so the client
/// gets an error instead of a truncated response.
#[test]
fn a_small_response_without_its_body_is_an_error() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/cut", |exchange| {
        exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")?;
        Ok(After::Close)
    });
    assert_eq!(daemon.get(&origin.url("/cut")).whole().status, 502);
}
