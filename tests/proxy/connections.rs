//! Connections to origins: reused, tunnelled, upgraded, and never opened in offline mode.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use crate::harness::client::request;
use crate::harness::faults::in_two;
use crate::harness::{After, Answer, Client, Daemon, Gate, Origin, eventually, site};

#[test]
fn connections_to_an_origin_are_reused() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for number in 0..20 {
        // The responses of pages with a number divisible by three keep the connection open.
        daemon.get(&origin.url(&format!("/page/{}.html", number * 3)));
        daemon.settle();
    }
    assert_eq!(origin.seen().len(), 20);
    assert!(origin.connections() <= 3, "{} connections for 20 requests", origin.connections());
}

#[test]
fn an_origin_that_closes_idle_connections_is_not_noticed() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    for number in 0..5 {
        assert_eq!(daemon.get(&origin.url(&format!("/page/{number}.html"))).status, 200);
        origin.restart();
    }
}

#[test]
fn connect_opens_a_tunnel() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let mut client = daemon.client();
    client.send(format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", origin.addr));
    assert_eq!(client.head().unwrap().unwrap().status, 200);
    for number in [0, 3] {
        // Byte for byte: the origin gets the client's bytes, without fields added by a proxy.
        client.send(format!("GET /page/{number}.html HTTP/1.1\r\nHost: there\r\n\r\n"));
        let response = client.receive("GET").whole();
        assert!(response.body == site::answer(&format!("/page/{number}.html")).unwrap().body);
        assert!(!response.fields.has("Via"));
    }
    assert_eq!(origin.seen()[0].head, "GET /page/0.html HTTP/1.1\r\nHost: there\r\n\r\n");
}

#[test]
fn a_tunnel_passes_each_half_close() {
    let daemon = Daemon::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        got.reverse();
        stream.write_all(&got).unwrap();
    });
    let mut client = daemon.client();
    client.send(format!("CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n\r\nabc"));
    assert_eq!(client.head().unwrap().unwrap().status, 200);
    client.send("def");
    client.finish_sending();
    let mut got = Vec::new();
    while let Ok(piece) = client.reader.some() {
        if piece.is_empty() {
            break;
        }
        got.extend(piece);
    }
    assert_eq!(String::from_utf8_lossy(&got), "fedcba");
    server.join().unwrap();
}

#[test]
#[ignore = "slow"]
fn connect_is_limited_to_allowed_ports() {
    let daemon = Daemon::configured("[tunnel]\nports = [\"443\", \"40000-40010\"]\n");
    let origin = Origin::start();
    for target in ["127.0.0.1:25", "127.0.0.1:80", "127.0.0.1:39999", "127.0.0.1:40011"] {
        let mut client = daemon.client();
        client.send(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"));
        assert_eq!(client.receive("CONNECT").status, 403, "{target}");
    }
    for target in ["127.0.0.1:40000", "127.0.0.1:40010"] {
        let mut client = daemon.client();
        client.send(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"));
        assert_ne!(client.receive("GET").status, 403, "{target}: no server there, but allowed");
    }
    for target in ["127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "http://127.0.0.1:443/", "a@b:443"] {
        let mut client = daemon.client();
        client.send(format!("CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert_eq!(client.receive("GET").status, 400, "{target}");
    }
    assert_eq!(origin.connections(), 0);
}

#[test]
#[ignore = "slow"]
fn connect_needs_an_explicit_rule_for_ports_of_other_protocols() {
    let chat = "CONNECT 127.0.0.1:6667 HTTP/1.1\r\nHost: 127.0.0.1:6667\r\n\r\n";
    for (config, is_open) in [
        ("", false),
        ("[tunnel]\nports = [\"1-65535\"]\n", false),
        ("[tunnel]\nports = [\"443\", \"6667\"]\n", true),
        ("[dont-get]\nallowed-ports = [\"6667\"]\n", true),
    ] {
        let daemon = Daemon::configured(config);
        let mut client = daemon.client();
        client.send(chat);
        assert_eq!(client.receive("GET").status != 403, is_open, "{config}");
    }
}

#[test]
fn an_upgrade_is_forwarded_in_both_directions() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/chat", |exchange| {
        assert_eq!(exchange.seen.fields.get("Upgrade"), Some("websocket"));
        exchange.send(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Accept: yes\r\n\r\nfirst",
        )?;
        while let Ok(piece) = exchange.reader.some() {
            if piece.is_empty() {
                break;
            }
            exchange.stream().write_all(&piece.to_ascii_uppercase())?;
        }
        Ok(After::Close)
    });
    let mut client = daemon.client();
    client.ask(
        &origin.url("/chat"),
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n",
    );
    let (_, head) = client.final_head().unwrap();
    assert_eq!(head.status, 101);
    assert_eq!(head.fields.get("Upgrade"), Some("websocket"));
    assert_eq!(head.fields.get("Sec-WebSocket-Accept"), Some("yes"));
    assert_eq!(client.reader.exactly(5).unwrap(), b"first");
    for word in ["one", "two", "\x00\x01\u{7f}"] {
        client.send(word);
        let echo = client.reader.exactly(word.len()).unwrap();
        assert_eq!(echo, word.to_ascii_uppercase().as_bytes());
    }
    drop(client);
    eventually("the origin's side is closed too", || origin.active() == 0);
}

#[test]
fn a_refused_upgrade_is_an_ordinary_response() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.say("/chat", Answer::html("no").with_status(426));
    let fields = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    let response = daemon.client().get_with(&origin.url("/chat"), fields).whole();
    assert_eq!((response.status, response.text().as_str()), (426, "no"));
}

#[test]
fn no_connection_is_opened_offline() {
    let passing = Daemon::configured("[https]\nintercept = false\n");
    let (daemon, origin) = (passing, Origin::start());
    daemon.ok(&["offline"]);
    for fields in ["", "Accept: text/html\r\n", "Cache-Control: no-cache\r\n"] {
        let response = daemon.client().get_with(&origin.url("/page/1.html"), fields).whole();
        assert_eq!(response.status, 504, "{fields}");
    }
    let requests = [
        format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", origin.addr),
        format!("HEAD {} HTTP/1.1\r\nHost: {}\r\n\r\n", origin.url("/h"), origin.addr),
        format!("DELETE {} HTTP/1.1\r\nHost: {}\r\n\r\n", origin.url("/d"), origin.addr),
        format!("OPTIONS {} HTTP/1.1\r\nHost: {}\r\n\r\n", origin.url("/o"), origin.addr),
        format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
            origin.url("/ws"),
            origin.addr
        ),
    ];
    for request in requests {
        let mut client = daemon.client();
        client.send(&request);
        let method = request.split(' ').next().unwrap();
        assert_eq!(client.receive(method).status, 504, "{request}");
    }
    let fetch = daemon.run(&["fetch", "--wait"]);
    assert_ne!(fetch.status, 0, "nothing can be fetched offline: {fetch:?}");
    assert_eq!(origin.connections(), 0, "an outgoing socket is open: {:?}", origin.seen());
}

#[test]
fn going_offline_completes_downloads_and_starts_none() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let mut client = daemon.client();
    assert_eq!(client.get(&origin.url("/page/0.html")).whole().status, 200);
    daemon.settle();
    let before = origin.seen().len();
    daemon.ok(&["offline"]);
    // A connection to the origin is still in the pool. It must not be used.
    assert_eq!(client.get(&origin.url("/page/3.html")).whole().status, 504);
    assert_eq!(origin.seen().len(), before);
}

#[test]
fn autodial_serves_stored_pages_and_fetches_the_others() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    origin.say("/kept", Answer::html("kept").field("Cache-Control", "no-cache"));
    daemon.get(&origin.url("/kept"));
    daemon.settle();
    daemon.ok(&["autodial"]);
    assert_eq!(daemon.status()["mode"], "autodial");
    let kept = daemon.get(&origin.url("/kept"));
    assert_eq!((kept.status, kept.text().as_str()), (200, "kept"));
    assert_eq!(origin.count("/kept"), 1, "the stored copy is served at once");
    assert_eq!(daemon.get(&origin.url("/page/1.html")).status, 200);
    assert_eq!(origin.count("/page/1.html"), 1);
    origin.stop();
    assert_eq!(daemon.get(&origin.url("/page/1.html")).status, 200);
}

#[test]
fn a_connection_is_reused_and_closed_on_request() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let mut client = daemon.client();
    for number in 0..5 {
        assert_eq!(client.get(&origin.url(&format!("/page/{number}.html"))).whole().status, 200);
    }
    let last = client.get_with(&origin.url("/page/5.html"), "Connection: close\r\n").whole();
    assert_eq!(last.field("Connection").to_ascii_lowercase(), "close");
    assert!(client.head().unwrap().is_none(), "the connection is closed");
}

#[test]
#[ignore = "slow"]
fn an_idle_connection_is_closed() {
    let daemon = Daemon::configured("[options]\nidle-timeout = \"1s\"\nhead-timeout = \"1s\"\n");
    let origin = Origin::start();
    let mut quiet = daemon.client();
    let mut used = daemon.client();
    used.get(&origin.url("/page/0.html"));
    let mut half: Client = daemon.client();
    half.send("GET http://127.0.0.1/ HTTP/1.1\r\nHos");
    assert!(matches!(quiet.head(), Ok(None)), "a client without a request");
    assert!(matches!(used.head(), Ok(None)), "a client with one request");
    match half.head() {
        Ok(Some(head)) => assert_eq!(head.status, 408),
        other => assert!(matches!(other, Ok(None)), "half a head: {other:?}"),
    }
}

#[test]
#[ignore = "slow"]
fn a_parked_connection_answers_its_next_requests() {
    let text = "[options]\nlog-level = \"debug\"\nidle-timeout = \"4s\"\n";
    let (daemon, origin) = (Daemon::configured(text), Origin::start());
    let parked = || daemon.log().matches("the connection is parked").count();
    let page = |number| origin.url(&format!("/page/{number}.html"));
    let mut client = daemon.client();
    assert_eq!(client.get(&page(0)).whole().status, 200);
    eventually("it is parked", || parked() == 1);
    // A request in two pieces, then two requests in one.
    let second = request("GET", &page(1), "");
    client.send(&second[..2]);
    client.send(&second[2..]);
    assert_eq!(client.receive("GET").whole().body, daemon.get(&page(1)).body);
    eventually("it is parked again", || parked() == 2);
    client.send(request("GET", &page(2), "") + &request("GET", &page(3), ""));
    for number in [2, 3] {
        assert_eq!(client.receive("GET").whole().body, daemon.get(&page(number)).body);
    }
    assert!(matches!(client.head(), Ok(None)), "an idle connection is closed");
    assert!(parked() >= 3);
}

#[test]
fn an_origin_that_closes_at_once_gets_a_502() {
    let daemon = Daemon::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.incoming().take(50).for_each(drop));
    for number in 0..50 {
        assert_eq!(daemon.get(&format!("http://{there}/{number}")).status, 502);
    }
}

#[test]
fn a_forwarded_response_returns_its_connection_to_the_pool() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/thing", |exchange| {
        exchange.body()?;
        exchange.answer(&Answer::html("done"))
    });
    origin.on("/sum", |exchange| exchange.answer(&Answer::html("sum").trailer("X-Sum", "3")));
    let mut client = daemon.client();
    for method in ["PUT", "PATCH", "DELETE"] {
        client.send(format!(
            "{method} {} HTTP/1.1\r\nHost: {}\r\nContent-Length: 2\r\n\r\n{{}}",
            origin.url("/thing"),
            origin.addr
        ));
        assert_eq!(client.receive(method).whole().text(), "done");
        client.get_with(&origin.url("/sum"), "TE: trailers\r\n").whole();
    }
    // A request at the moment when a connection returns to the pool may open another. Without a
    // pool there would be six connections.
    assert!(origin.connections() <= 2, "{}", origin.connections());
}

/// Serves a page whose second half is sent when the gate opens. Returns the gate and a client that
/// has received the head.
fn half_there(daemon: &Daemon, origin: &Origin) -> (Arc<Gate>, Client) {
    let gate = Gate::new();
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab";
    origin.on("/half", in_two(Arc::clone(&gate), head, "cd"));
    let mut client = daemon.client();
    client.ask(&origin.url("/half"), "");
    assert_eq!(client.final_head().unwrap().1.status, 200);
    (gate, client)
}

#[test]
fn a_returned_connection_is_closed_offline() {
    let (daemon, origin) =
        (Daemon::configured("[options]\nconnections-per-host = 1\n"), Origin::start());
    let (gate, _first) = half_there(&daemon, &origin);
    let mut second = daemon.client();
    second.ask(&origin.url("/page/1.html"), "");
    let waits = || daemon.status()["downloads"].as_array().is_some_and(|list| list.len() == 2);
    eventually("the second waits for the connection", waits);
    daemon.ok(&["offline"]);
    gate.open();
    assert_eq!(second.receive("GET").whole().status, 504);
    assert_eq!(origin.count("/page/1.html"), 0);
    eventually("the connection is closed", || origin.active() == 0);
}

#[test]
fn a_stop_does_not_wait_for_an_unused_connection() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    let (gate, client) = half_there(&daemon, &origin);
    daemon.signal("TERM");
    eventually("it stops", || daemon.log().contains("stopping"));
    gate.open();
    drop(client);
    assert!(daemon.ended().success());
    let log = daemon.whole_log();
    assert!(!log.contains("not everything ended in time"), "{log}");
}

#[test]
fn a_tunnel_counts_as_a_client() {
    let (daemon, origin) =
        (Daemon::configured("[startup]\nmax-connections = 2\n"), Origin::start());
    let mut tunnels = [daemon.client(), daemon.client()];
    for tunnel in &mut tunnels {
        tunnel.send(format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", origin.addr));
        assert_eq!(tunnel.head().unwrap().unwrap().status, 200);
    }
    eventually("both are counted", || daemon.status()["connections"] == 2);
    let mut late = daemon.client();
    late.ask(&origin.url("/page/1.html"), "");
    assert_eq!(daemon.status()["connections"], 2);
    drop(tunnels);
    assert_eq!(late.receive("GET").whole().status, 200);
}

/// A client that closes its sending half looks like one that has left, but may wait as long as any
/// other client.
#[test]
#[ignore = "slow"]
fn a_client_that_ended_its_half_waits_for_a_slow_origin() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/slow", |exchange| {
        std::thread::sleep(Duration::from_secs(12));
        exchange.answer(&Answer::html("slow"))
    });
    let mut client = daemon.client();
    client.ask(&origin.url("/slow"), "");
    client.finish_sending();
    assert_eq!(client.receive("GET").whole().text(), "slow");
}

#[test]
fn a_client_that_half_closes_gets_its_response() {
    let (daemon, origin, gate) = (Daemon::start(), Origin::start(), Gate::new());
    let held = Arc::clone(&gate);
    origin.on("/slow", move |exchange| {
        held.wait();
        exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst")?;
        exchange.send("again")?;
        Ok(After::Keep)
    });
    let mut client = daemon.client();
    client.ask(&origin.url("/slow"), "");
    client.finish_sending();
    eventually("the origin is asked", || origin.count("/slow") == 1);
    gate.open();
    assert_eq!(client.receive("GET").whole().text(), "firstagain");
    // The client still gets a stored copy. Then the connection ends.
    let mut client = daemon.client();
    client.ask(&origin.url("/slow"), "");
    client.finish_sending();
    assert_eq!(client.receive("GET").whole().text(), "firstagain");
    assert_eq!(client.reader.fill().unwrap(), 0);
}

#[test]
fn a_client_answered_early_can_finish_its_request() {
    let daemon = Daemon::start();
    let socket = Client::unix(&daemon.spool().join("control"));
    for (mut client, status) in [(socket, 400), (daemon.client(), 403)] {
        client.send(format!(
            "POST /api/entries/write?url=http%3A%2F%2Fmade.example%2F HTTP/1.1\r\n\
             Host: {}\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nno head\n\n\r\n",
            daemon.addr()
        ));
        assert_eq!(client.receive("POST").whole().status, status);
        for _ in 0..3 {
            client.send("5\r\nmore.\r\n");
        }
        client.send("0\r\n\r\n");
        assert!(client.head().unwrap().is_none());
    }
}
