//! Fetching the queue: its order, politeness to origins, limits of bytes, and times.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::harness::{After, Answer, Client, Daemon, Exchange, Gate, Origin, eventually};

/// One download at a time, with retries without a delay.
const ONE_BY_ONE: &str = "[fetch-options]\nper-host = 1\nat-once = 1\nretry-delay = \"1ms\"\n\
                          resume-delay = \"1ms\"\nattempts = 50\nresume-attempts = 50\n";

/// Requests a sub-resource of a page.
#[track_caller]
fn ask_as_part(client: &mut Client, url: &str, page: &str) {
    let fields = format!("Sec-Fetch-Dest: image\r\nSec-Fetch-Mode: no-cors\r\nReferer: {page}\r\n");
    assert_eq!(client.get_with(url, &fields).status, 504);
}

#[test]
fn people_are_served_first() {
    let (daemon, origin) = (Daemon::configured(ONE_BY_ONE), Origin::start());
    for path in ["/part-1", "/part-2", "/page-1", "/page-2", "/again"] {
        origin.say(path, Answer::html("body"));
    }
    daemon.get(&origin.url("/again"));
    daemon.ok(&["offline"]);
    assert_eq!(daemon.run(&["get", "--refresh", &origin.url("/again")]).status, 10);
    let (mut client, page) = (daemon.client(), origin.url("/page-1"));
    ask_as_part(&mut client, &origin.url("/part-1"), &page);
    ask_as_part(&mut client, &origin.url("/part-2"), &page);
    daemon.browse(&page);
    daemon.browse(&origin.url("/page-2"));
    // A person requests the same URL. Both requests become one entry of the queue.
    daemon.browse(&origin.url("/part-2"));
    assert_eq!(daemon.queue().len(), 5);
    daemon.ok(&["online"]);
    eventually("the queue is empty", || daemon.queue().is_empty());
    let order: Vec<_> = origin.seen().into_iter().map(|seen| seen.target).collect();
    assert_eq!(order, ["/again", "/part-2", "/page-1", "/page-2", "/part-1", "/again"]);
}

#[test]
fn retry_after_pauses_one_origin_and_not_others() {
    let config = "[fetch-options]\nper-host = 1\nretry-delay = \"1ms\"\n";
    let daemon = Daemon::configured(config);
    let (busy, calm) = (Origin::start(), Origin::start_at("127.0.0.2"));
    let tries = AtomicUsize::new(0);
    busy.on("/1", move |exchange| match tries.fetch_add(1, Ordering::SeqCst) {
        0 => {
            let answer = Answer::html("busy").with_status(503);
            exchange.answer(&answer.field("Retry-After", "3600"))
        }
        _ => exchange.answer(&Answer::html("at last")),
    });
    busy.say("/2", Answer::html("two"));
    calm.say("/1", Answer::html("calm"));
    daemon.ok(&["offline"]);
    for url in [busy.url("/1"), busy.url("/2"), calm.url("/1")] {
        daemon.browse(&url);
    }
    daemon.ok(&["online"]);
    eventually("the others are fetched", || {
        daemon.queue().iter().all(|item| item["state"] == "waiting") && calm.count("/1") == 1
    });
    eventually("the host is known to pause", || daemon.queue()[0]["not_before"].is_string());
    let queue = daemon.queue();
    assert_eq!((queue.len(), busy.count("/1"), busy.count("/2")), (2, 1, 0), "{queue:?}");
    // A person allows a new attempt now.
    let key = format!("{{\"key\":{}}}", queue[0]["key"]);
    assert_eq!(daemon.api("POST", "/api/queue/retry", &key).status, 200);
    eventually("the queue is empty", || daemon.queue().is_empty());
    assert_eq!((busy.count("/1"), busy.count("/2")), (2, 1));
}

#[test]
fn the_queue_waits_for_its_window_and_a_new_window_applies_at_once() {
    let (night, day) = (Origin::start(), Origin::start_at("127.0.0.2"));
    // The window opens twelve hours from now, so that it does not open during the test.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let hour = now.as_secs() / 3_600 % 24;
    let (from, until) = ((hour + 12) % 24, (hour + 13) % 24);
    let config = format!(
        "[fetch-options]\nwindows = \"{from:02}:00-{until:02}:00\"\n\
         [[fetch-options.for]]\nurl = \"{}\"\nwindows = \"always\"\n",
        day.url("/*")
    );
    let mut daemon = Daemon::prepare(Some(&config)).with_variable("TZ", "UTC");
    daemon.up();
    daemon.ok(&["offline"]);
    for origin in [&night, &day] {
        origin.say("/", Answer::html("body"));
        daemon.browse(&origin.url("/"));
    }
    daemon.ok(&["online"]);
    eventually("the other is fetched", || daemon.queue().len() == 1);
    daemon.ok(&["fetch"]);
    assert_eq!((night.seen().len(), day.seen().len()), (0, 1));
    let held = &daemon.queue()[0]["held"];
    assert_eq!(held["reason"], "window");
    assert!(held["until"].as_str().unwrap().ends_with(&format!("T{from:02}:00:00Z")), "{held}");
    let told = ", when fetching is allowed";
    assert!(daemon.page("/queue/").shown().contains(told));
    assert!(daemon.ok(&["queue"]).contains(told));
    // The command ends before the window opens.
    let waited = daemon.run(&["fetch", "--wait"]);
    assert_eq!(waited.status, 10, "{waited:?}");
    let held = waited.out.lines().find(|line| line.starts_with("held                   1: "));
    assert!(held.is_some_and(|line| line.ends_with(told)), "{waited:?}");
    daemon.ok(&["config", "set", "fetch-options.windows", "always"]);
    eventually("the queue is empty", || daemon.queue().is_empty());
    assert_eq!(night.seen().len(), 1);
}

#[test]
#[ignore = "slow"]
fn the_daily_budget_survives_a_restart() {
    let config = format!("{ONE_BY_ONE}budget-day = \"100 kB\"\n");
    let (mut daemon, origin) = (Daemon::configured(&config), Origin::start());
    daemon.ok(&["offline"]);
    for number in 0..5 {
        let path = format!("/{number}");
        origin.say(&path, Answer::html("x".repeat(60_000)));
        daemon.browse(&origin.url(&path));
    }
    daemon.ok(&["online"]);
    eventually("the budget is spent", || daemon.log().contains("the daily budget is used up"));
    eventually("no fetch is in progress", || {
        daemon.queue().iter().all(|item| item["state"] == "waiting")
    });
    let fetched = origin.seen().len();
    assert!((2..5).contains(&fetched), "{fetched}");
    let held = &daemon.queue()[0]["held"];
    assert_eq!(
        (&held["reason"], &held["of"], &held["metered"]),
        (&"budget".into(), &"day".into(), &false.into(),)
    );
    assert!(daemon.page("/queue/").shown().contains("the daily budget is used up"));
    daemon.restart();
    daemon.ok(&["fetch"]);
    eventually("it is saved", || daemon.log().matches("the daily budget is used up").count() >= 2);
    assert_eq!(origin.seen().len(), fetched);
    daemon.ok(&["config", "set", "fetch-options.budget-day", "none"]);
    eventually("the queue is empty", || daemon.queue().is_empty());
}

/// Sends a file with a validator: all of it, or the bytes from the requested offset. If not
/// `is_length_told`, the whole file is sent without its length.
fn file(exchange: &mut Exchange<'_>, body: &[u8], is_length_told: bool) -> std::io::Result<After> {
    let range = exchange.seen.fields.get("Range").map(str::to_owned);
    let from =
        range.and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
    let (kind, length) = ("Content-Type: application/x-tar\r\nETag: \"1\"", body.len());
    match from {
        Some(from) => {
            let (rest, last) = (&body[from..], length - 1);
            let told = rest.len();
            exchange.send(format!(
                "HTTP/1.1 206 Partial Content\r\n{kind}\r\nContent-Length: {told}\r\n\
                 Content-Range: bytes {from}-{last}/{length}\r\n\r\n"
            ))?;
            exchange.send(rest)?;
            Ok(After::Keep)
        }
        None if is_length_told => {
            exchange
                .send(format!("HTTP/1.1 200 OK\r\n{kind}\r\nContent-Length: {length}\r\n\r\n"))?;
            exchange.send(body)?;
            Ok(After::Keep)
        }
        None => {
            exchange.send(format!("HTTP/1.1 200 OK\r\n{kind}\r\nConnection: close\r\n\r\n"))?;
            exchange.send(body)?;
            Ok(After::Close)
        }
    }
}

#[test]
#[ignore = "slow"]
fn an_oversized_download_resumes_after_consent() {
    let config = format!("{ONE_BY_ONE}ask-above = \"1 MB\"\n");
    let (daemon, origin) = (Daemon::configured(&config), Origin::start());
    let body: Arc<Vec<u8>> = Arc::new((0..4_000_000_u32).map(|n| (n % 251) as u8).collect());
    for (path, is_length_told) in [("/told", true), ("/untold", false)] {
        let sent = Arc::clone(&body);
        // If the client leaves half-way, sending fails, and the origin closes the connection.
        origin.on(path, move |exchange| {
            Ok(file(exchange, &sent, is_length_told).unwrap_or(After::Close))
        });
        daemon.ok(&["offline"]);
        daemon.browse(&origin.url(path));
        daemon.ok(&["online"]);
        eventually("it asks for the file", || daemon.queue()[0]["state"] == "asking");
        let page = daemon.page("/queue/").shown();
        assert!(page.contains("Fetch it anyway"), "{page}");
        assert!(page.contains("so it is fetched only if you confirm"), "{page}");
        assert_eq!(daemon.queue()[0]["held"]["reason"], "asks");
        // Retrying all requests does not count as consent for this one.
        assert_eq!(
            daemon.api("POST", "/api/queue/retry", "{\"all\":true}").text().trim(),
            "{\"retried\":0}"
        );
        let key = format!("{{\"key\":{}}}", daemon.queue()[0]["key"]);
        assert_eq!(daemon.api("POST", "/api/queue/retry", &key).text().trim(), "{\"retried\":1}");
        eventually("the queue is empty", || daemon.queue().is_empty());
        assert!(daemon.get(&origin.url(path)).body == *body, "{path}");
        let ranges: Vec<_> =
            origin.seen().iter().map(|seen| seen.fields.get("Range").is_some()).collect();
        assert_eq!(ranges.last(), Some(&!is_length_told), "a stored page was requested again");
    }
}

#[test]
#[ignore = "slow"]
fn a_fetch_ends_with_its_budget_and_the_next_resumes() {
    // With this budget, the fetch that starts when the mode becomes online transfers next to
    // nothing.
    let config = format!("{ONE_BY_ONE}budget-fetch = \"1 kB\"\n");
    let (daemon, origin) = (Daemon::configured(&config), Origin::start());
    let body: Arc<Vec<u8>> = Arc::new((0..4_000_000_u32).map(|n| (n % 251) as u8).collect());
    let sent = Arc::clone(&body);
    // If the client leaves half-way, sending fails, and the origin closes the connection.
    origin.on("/film", move |exchange| Ok(file(exchange, &sent, true).unwrap_or(After::Close)));
    origin.say("/page", Answer::html("a page"));
    daemon.ok(&["offline"]);
    for path in ["/film", "/page"] {
        daemon.browse(&origin.url(path));
    }
    daemon.ok(&["online"]);
    eventually("the budget is spent", || daemon.log().contains("the budget is spent until"));
    let some = daemon.run(&["fetch", "--wait", "--json", "--budget", "500k"]);
    assert_eq!(some.status, 10, "{some:?}");
    let lines = some.lines();
    let held = serde_json::json!({"reason": "budget", "of": "fetch", "metered": false});
    let want = serde_json::json!({"event": "held", "held": held, "count": 2});
    assert!(lines.contains(&want), "{some:?}");
    assert!(lines.iter().any(|line| line["event"] == "whole"), "{some:?}");
    assert_eq!(lines.last().unwrap()["waiting"], 2, "{some:?}");
    assert_eq!(daemon.queue()[0]["held"], held);
    let told = "waits until the next fetch of the queue: the budget of this fetch is used up";
    assert!(daemon.page("/queue/").shown().contains(told));
    assert_eq!(origin.count("/page"), 0);

    let rest = daemon.run(&["fetch", "--wait", "--budget", "5M"]);
    assert_eq!(rest.status, 0, "{rest:?}");
    daemon.ok(&["offline"]);
    assert!(daemon.get(&origin.url("/film")).body == *body);
    let film: Vec<_> = origin.seen().into_iter().filter(|seen| seen.target == "/film").collect();
    assert!(film.len() >= 3, "{}", film.len());
    let begun: Vec<usize> = film
        .iter()
        .filter_map(|seen| seen.fields.get("Range")?.strip_prefix("bytes=")?.strip_suffix('-'))
        .map(|from| from.parse().unwrap())
        .collect();
    assert_eq!(begun.len(), film.len() - 1, "a stored page was requested again");
    assert!(begun.is_sorted() && *begun.last().unwrap() >= 500_000, "{begun:?}");
    let refused = daemon.run(&["fetch", "--budget", "much"]);
    assert_eq!(refused.status, 2, "{refused:?}");
}

#[test]
#[ignore = "slow"]
fn the_pause_of_an_origin_survives_a_restart() {
    let config = "[fetch-options]\nper-host = 1\nretry-delay = \"1ms\"\n";
    let (mut daemon, busy) = (Daemon::configured(config), Origin::start());
    let tries = AtomicUsize::new(0);
    busy.on("/1", move |exchange| match tries.fetch_add(1, Ordering::SeqCst) {
        0 => {
            let answer = Answer::html("busy").with_status(503);
            exchange.answer(&answer.field("Retry-After", "3600"))
        }
        _ => exchange.answer(&Answer::html("at last")),
    });
    busy.say("/2", Answer::html("two"));
    daemon.ok(&["offline"]);
    for path in ["/1", "/2"] {
        daemon.browse(&busy.url(path));
    }
    daemon.ok(&["online"]);
    let state = daemon.spool().join("state");
    eventually("the consent is saved", || {
        let text = std::fs::read_to_string(&state).unwrap_or_default();
        text.contains(&format!("left-alone = {} ", busy.addr))
            && daemon.queue()[0]["held"].is_object()
    });
    daemon.kill9();
    daemon.up();
    eventually("both are held", || {
        let queue = daemon.queue();
        queue.len() == 2 && queue.iter().all(|item| item["held"]["reason"] == "origin")
    });
    daemon.ok(&["fetch"]);
    let told = ", as its host asked";
    assert_eq!(daemon.page("/queue/").shown().matches(told).count(), 2);
    assert_eq!(daemon.ok(&["queue"]).matches(told).count(), 2);
    assert_eq!((busy.count("/1"), busy.count("/2")), (1, 0));
    // A person allows a new attempt now. The consent survives a restart.
    let key = format!("{{\"key\":{}}}", daemon.queue()[0]["key"]);
    assert_eq!(daemon.api("POST", "/api/queue/retry", &key).status, 200);
    eventually("the queue is empty", || daemon.queue().is_empty());
    assert_eq!((busy.count("/1"), busy.count("/2")), (2, 1));
    daemon.down();
    let text = std::fs::read_to_string(&state).unwrap();
    assert!(text.contains("left-alone = \n"), "{text}");
}

#[test]
#[ignore = "slow"]
fn a_broken_connection_and_two_kills_fetch_every_page_once() {
    const PAGES: usize = 30;
    let (mut daemon, origin) = (Daemon::configured(ONE_BY_ONE), Origin::start());
    let bodies: Vec<Vec<u8>> =
        (0..PAGES).map(|n| format!("{n} ").repeat(20_000).into_bytes()).collect();
    let (exchanges, wholes) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(HashMap::new())));
    let gates: Vec<_> = (0..2).map(|_| Gate::new()).collect();
    daemon.ok(&["offline"]);
    for (number, body) in bodies.iter().cloned().enumerate() {
        let path = format!("/{number}");
        let (exchanges, wholes) = (Arc::clone(&exchanges), Arc::clone(&wholes));
        let gates: Vec<_> = gates.iter().map(Arc::clone).collect();
        daemon.browse(&origin.url(&path));
        origin.on(&path, move |exchange| {
            let count = exchanges.fetch_add(1, Ordering::SeqCst);
            let held = [(7, &gates[0]), (25, &gates[1])].into_iter().find(|held| held.0 == count);
            if held.is_none() && count % 3 != 0 {
                let is_whole = exchange.seen.fields.get("Range").is_none();
                *wholes.lock().unwrap().entry(number).or_insert(0) += usize::from(is_whole);
                return file(exchange, &body, true);
            }
            // Half-way through the body, the connection is cut or the daemon is killed.
            let half = &body[..body.len() / 2];
            let length = body.len();
            exchange.send(format!(
                "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: {length}\r\n\r\n"
            ))?;
            exchange.send(half)?;
            if let Some((_, gate)) = held {
                gate.wait();
            }
            Ok(After::Close)
        });
    }
    daemon.ok(&["online"]);
    for (count, gate) in [(8, &gates[0]), (26, &gates[1])] {
        eventually("it is half-way", || exchanges.load(Ordering::SeqCst) == count);
        daemon.kill9();
        gate.open();
        daemon.up();
    }
    eventually("the queue is empty", || daemon.queue().is_empty());
    daemon.ok(&["offline"]);
    for (number, body) in bodies.iter().enumerate() {
        assert!(daemon.get(&origin.url(&format!("/{number}"))).body == *body, "{number}");
    }
    let wholes = wholes.lock().unwrap();
    assert!(wholes.values().all(|count| *count <= 1), "{wholes:?}");
}

/// Sends the requested part of `body` slowly, until the connection is cut. Adds the number of sent
/// bytes to `sent`. Also returns whether the whole body was sent.
fn slow(
    exchange: &mut Exchange<'_>,
    body: &[u8],
    sent: &AtomicUsize,
) -> std::io::Result<(After, bool)> {
    const PIECE: usize = 32 << 10;
    let range = exchange.seen.fields.get("Range").map(str::to_owned);
    let from = range.as_deref().and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-'));
    let from: usize = from.map_or(0, |from| from.parse().unwrap());
    let (rest, length) = (&body[from..], body.len());
    let status = match from {
        0 => "200 OK\r\n".to_owned(),
        _ => format!(
            "206 Partial Content\r\nContent-Range: bytes {from}-{}/{length}\r\n",
            length - 1
        ),
    };
    let told = rest.len();
    exchange.send(format!("HTTP/1.1 {status}ETag: \"1\"\r\nContent-Length: {told}\r\n\r\n"))?;
    for piece in rest.chunks(PIECE) {
        // The connection is slow, so all concurrent downloads are half-way when it breaks.
        std::thread::sleep(Duration::from_millis(100));
        exchange.send(piece)?;
        sent.fetch_add(piece.len(), Ordering::SeqCst);
    }
    Ok((After::Keep, from == 0))
}

#[test]
#[ignore = "slow"]
fn repeated_disconnections_and_two_kills_fetch_every_page_once() {
    const PAGES: usize = 12;
    const LENGTH: usize = 1_000_000;
    // The number of bytes after which the connection is cut. Six downloads together transfer them
    // in one second. Each download then has a third of its body.
    const UNBROKEN: usize = 2_000_000;
    let config = "[fetch-options]\nper-host = 6\nretry-delay = \"1ms\"\nresume-delay = \"1ms\"\n\
                  attempts = 50\nresume-attempts = 50\n";
    let (mut daemon, mut origin) = (Daemon::configured(config), Origin::start());
    let bodies: Vec<Vec<u8>> = (0..PAGES)
        .map(|page| (0..LENGTH).map(|at| ((at / 7 + page) % 251) as u8).collect())
        .collect();
    let (wholes, sent) = (Arc::new(Mutex::new(HashMap::new())), Arc::new(AtomicUsize::new(0)));
    daemon.ok(&["offline"]);
    for (number, body) in bodies.iter().cloned().enumerate() {
        let (path, wholes, sent) = (format!("/{number}"), Arc::clone(&wholes), Arc::clone(&sent));
        daemon.browse(&origin.url(&path));
        origin.on(&path, move |exchange| {
            let (after, was_whole) = slow(exchange, &body, &sent)?;
            *wholes.lock().unwrap().entry(number).or_insert(0) += usize::from(was_whole);
            Ok(after)
        });
    }
    daemon.ok(&["online"]);
    for round in 0.. {
        let before = sent.load(Ordering::SeqCst);
        eventually("further bytes arrived, or all", || {
            sent.load(Ordering::SeqCst) >= before + UNBROKEN || daemon.queue().is_empty()
        });
        if daemon.queue().is_empty() {
            assert!(round > 2, "the connection never broke");
            break;
        }
        assert!(round < 60, "it does not end: {:?}", daemon.queue());
        origin.restart();
        if round == 0 || round == 2 {
            daemon.kill9();
            daemon.up();
        }
    }
    daemon.ok(&["offline"]);
    for (number, body) in bodies.iter().enumerate() {
        assert!(daemon.get(&origin.url(&format!("/{number}"))).body == *body, "{number}");
    }
    let wholes = wholes.lock().unwrap();
    assert!(wholes.values().all(|count| *count <= 1), "{wholes:?}");
}
