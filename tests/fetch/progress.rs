//! The progress of fetches while they run: for programs, at the command line, and on a page.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{After, Answer, Daemon, Gate, Origin, PATIENCE, eventually};
use crate::security::owners;

/// An origin with a film of four million bytes. The second half is sent when the gate opens.
fn film(origin: &Origin, path: &str, gate: &Arc<Gate>) {
    const HALF: usize = 2_000_000;
    let held = Arc::clone(gate);
    origin.on(path, move |exchange| {
        let length = 2 * HALF;
        exchange.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"))?;
        exchange.send(vec![b'x'; HALF])?;
        held.wait();
        exchange.send(vec![b'y'; HALF])?;
        Ok(After::Keep)
    });
}

/// The stream of `GET /api/events`.
struct Steps(BufReader<TcpStream>);

impl Steps {
    fn of(daemon: &Daemon) -> Self {
        Self::with(daemon, "")
    }

    /// The stream for a request with additional header fields.
    fn with(daemon: &Daemon, fields: &str) -> Self {
        let mut stream = TcpStream::connect(daemon.addr()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // The request uses HTTP/1.0, so the response has no chunks.
        let host = daemon.addr();
        write!(stream, "GET /api/events HTTP/1.0\r\nHost: {host}\r\n{fields}\r\n").unwrap();
        let mut steps = Self(BufReader::new(stream));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(steps.0.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.contains(" 200 ") && head.contains("text/event-stream"), "{head}");
        steps
    }

    /// The next event that satisfies the condition.
    fn until(&mut self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let mut line = String::new();
        let mut last = String::new();
        loop {
            line.clear();
            let read = self.0.read_line(&mut line);
            assert!(
                read.is_ok_and(|read| read > 0),
                "timed out: {what}; the last event was {last}"
            );
            let Some(data) = line.strip_prefix("data: ") else {
                let is_known = ["\n", ":\n", "event: progress\n", "retry: 2000\n"];
                assert!(is_known.contains(&line.as_str()), "{line:?}");
                continue;
            };
            data.clone_into(&mut last);
            let step: Value = serde_json::from_str(data).unwrap();
            if holds(&step) {
                return step;
            }
        }
    }
}

#[test]
#[ignore = "slow"]
fn the_progress_stream_has_each_download_and_the_total() {
    let (daemon, origin, gate) = (Daemon::start(), Origin::start(), Gate::new());
    film(&origin, "/film", &gate);
    origin.say("/page", Answer::html("a page"));
    daemon.ok(&["offline"]);
    for path in ["/film", "/page"] {
        daemon.browse(&origin.url(path));
    }
    let mut steps = Steps::of(&daemon);
    let step = steps.until("both wait", |step| step["queue"]["waiting"] == 2);
    assert_eq!((&step["mode"], &step["whole"]["left"]), (&json!("offline"), &json!(2)));
    assert_eq!(step["whole"].get("seconds_left"), None, "it has no estimate");
    daemon.ok(&["online"]);
    let step = steps.until("half of it is here", |step| {
        // The numbers of the queue may be half a second older than the others.
        let whole = &step["whole"];
        step["downloads"][0]["bytes"] == 2_000_000 && whole["done"] == 1 && whole["left"] == 1
    });
    let download = &step["downloads"][0];
    assert_eq!(download["url"], origin.url("/film").as_str());
    assert_eq!((&download["total"], &step["more"]), (&json!(4_000_000), &json!(0)));
    let whole = &step["whole"];
    assert_eq!((&whole["left"], &whole["failed"]), (&json!(1), &json!(0)), "{whole}");
    assert_eq!(whole["bytes"], 2_000_006);
    steps.until("its rate is told", |step| step["downloads"][0]["rate"].is_number());
    gate.open();
    let step = steps.until("all is done", |step| step["whole"]["left"] == 0);
    assert_eq!((&step["whole"]["bytes"], &step["whole"]["done"]), (&json!(4_000_006), &json!(2)));
    steps.until("nothing comes any more", |step| step["downloads"] == json!([]));
}

#[test]
#[ignore = "slow"]
fn idle_progress_readers_do_not_block_fetching_or_a_stop() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let idle: Vec<_> = (0..5).map(|_| Steps::of(&daemon)).collect();
    for number in 0..100 {
        daemon.browse(&origin.url(&format!("/page/{number}.html")));
    }
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    assert_eq!(daemon.queue().len(), 0);
    let mut client = daemon.client();
    client.send(format!("POST /api/events HTTP/1.1\r\nHost: {}\r\n\r\n", daemon.addr()));
    assert_eq!(client.receive("POST").status, 405);
    // Idle readers of the stream do not prevent a stop either.
    daemon.down();
    drop(idle);
}

#[test]
#[ignore = "slow"]
fn a_recursive_fetch_is_reported_and_its_page_reloads() {
    let (daemon, origin, gate) = (Daemon::start(), Origin::start(), Gate::new());
    film(&origin, "/film", &gate);
    origin.say("/", Answer::html("<a href=/film>film</a><a href=/page>page</a>"));
    origin.say("/page", Answer::html("a page"));
    let mut steps = Steps::of(&daemon);
    let body = json!({"urls": [origin.url("/")], "aim": {"depth": 1}}).to_string();
    assert_eq!(daemon.api("POST", "/api/runs", &body).status, 200);
    let step = steps.until("the film is left", |step| {
        step["runs"][0]["whole"]["done"] == 2 && step["downloads"][0]["bytes"] == 2_000_000
    });
    let run = &step["runs"][0];
    assert_eq!((&run["start"], &run["whole"]["left"]), (&json!(origin.url("/")), &json!(1)));
    let page = daemon.page("/fetches/");
    assert_eq!(page.field("Refresh"), "", "the script keeps the page current");
    let text = page.text();
    assert!(text.contains("<noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>"));
    assert!(page.shown().contains("2.0 MB of 4.0 MB"), "{}", page.shown());
    gate.open();
    steps.until("it is over", |step| step["runs"] == json!([]));
    let reloads = || daemon.page("/fetches/").text().contains("http-equiv=\"refresh\"");
    eventually("the page stops reloading", || !reloads());
}

#[test]
fn json_output_has_one_line_for_each_event() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.say("/page", Answer::html("a page"));
    let got = daemon.run(&["get", "--json", &origin.url("/page")]);
    assert_eq!(got.status, 0, "{got:?}");
    let events: Vec<_> = got.lines().iter().map(|event| event["event"].clone()).collect();
    assert!(events.contains(&json!("done")), "{got:?}");
    assert_eq!(got.lines().last().unwrap()["fetched"], 1);
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/later"));
    let later = daemon.run(&["get", "--json", &origin.url("/later")]);
    assert_eq!(later.status, 10, "{later:?}");
    assert_eq!(later.lines()[0], json!({"event": "queued", "url": origin.url("/later")}));
    daemon.ok(&["online"]);
    let started = daemon.run(&["fetch", "--json"]);
    assert!(started.json()["started"].is_number(), "{started:?}");
    let done = daemon.run(&["fetch", "--wait", "--json"]);
    assert_eq!(done.lines().last().unwrap()["event"], "end", "{done:?}");
}

#[test]
fn the_end_of_the_whole_queue_agrees_with_the_report() {
    let (daemon, origin, gate) = (Daemon::start(), Origin::start(), Gate::new());
    let start = Answer::html("<a href=/gone.html>g</a><img src=/no.png>");
    for (path, answer) in [("/", start), ("/mine", Answer::html("no").with_status(404))] {
        let held = Arc::clone(&gate);
        origin.on(path, move |exchange| {
            held.wait();
            exchange.answer(&answer)
        });
    }
    origin.say("/gone.html", Answer::html("no").with_status(410));
    origin.say("/no.png", Answer::html("no").with_status(404));
    daemon.ok(&["offline"]);
    daemon.run(&["get", "-r", "1", &origin.url("/")]);
    daemon.browse(&origin.url("/mine"));
    daemon.ok(&["online"]);
    let mut fetching = daemon.command(&["fetch", "--wait", "--json"]);
    let mut fetching = fetching.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(fetching.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    gate.open();
    let told: Vec<_> = std::iter::once(first).chain(lines).collect();
    assert!(fetching.wait().unwrap().success(), "{told:?}");
    let end: Value = serde_json::from_str(told.last().unwrap()).unwrap();
    let want = json!({"event": "end", "fetched": 2, "failed": 0, "dead": 2, "waiting": 0});
    assert_eq!(end, want, "{told:?}");
    let run = daemon.run(&["runs", "--json"]).json();
    let counts = &run["runs"][0]["report"]["counts"];
    assert_eq!((&counts["failed"], &counts["dead"]), (&json!(0), &json!(2)), "{run:#}");
}

#[test]
fn the_progress_of_a_person_does_not_count_the_requests_of_others() {
    let (daemon, origin) = (owners::daemon(), Origin::start());
    origin.say("/page", Answer::html("a page"));
    daemon.ok(&["offline"]);
    owners::get(&daemon, "ada", &origin.url("/page"), "");
    let of = |user: &str| Steps::with(&daemon, &owners::login("Proxy-Authorization", user));
    let (mut ada, mut bob) = (of("ada"), of("bob"));
    ada.until("hers waits", |step| step["whole"]["left"] == 1);
    daemon.ok(&["online"]);
    daemon.settle();
    let is_over = |step: &Value| step["whole"]["done"] == 1 && step["whole"]["left"] == 0;
    let step = ada.until("hers is here", is_over);
    assert_eq!(step["whole"]["bytes"], 6);
    // A request of his own makes a message that comes after hers was counted.
    daemon.ok(&["offline"]);
    owners::get(&daemon, "bob", &origin.url("/his"), "");
    let step = bob.until("his waits", |step| step["whole"]["left"] == 1);
    let whole = &step["whole"];
    assert_eq!(
        (&whole["done"], &whole["failed"], &whole["bytes"]),
        (&json!(0), &json!(0), &json!(0))
    );
}
