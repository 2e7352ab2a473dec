//! Downloads: sent to the client and to the spool at the same time, shared, completed if the client
//! leaves, and stored only if complete.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::harness::faults::{ALL, Fault, in_two};
use crate::harness::{After, Answer, Client, Daemon, Gate, Origin, eventually, site};

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";

/// A download in two halves, the second behind a gate.
fn two_halves(origin: &Origin, path: &str, chunked: bool) -> (Arc<Gate>, Vec<u8>) {
    let (gate, body) = (Gate::new(), site::noise(7, 20_000));
    let (first, second) = body.split_at(10_000);
    let (head, last) = if chunked {
        let piece = |piece: &[u8]| [b"2710\r\n", piece, b"\r\n"].concat();
        let head = [format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n").into_bytes(), piece(first)];
        (head.concat(), [piece(second), b"0\r\n\r\n".to_vec()].concat())
    } else {
        let head = [format!("{HEAD}Content-Length: 20000\r\n\r\n").as_bytes(), first].concat();
        (head, second.to_vec())
    };
    origin.on(path, in_two(Arc::clone(&gate), head, last));
    (gate, body)
}

/// Reads the head of a response, and waits for 10,000 further bytes: about the first half of the
/// body, with its framing.
#[track_caller]
fn first_half(client: &mut Client, url: &str, fields: &str) {
    client.ask(url, fields);
    let (_, head) = client.final_head().unwrap();
    assert_eq!(head.status, 200);
    // The bytes stay in the buffer of the reader, so that a later read gets the body with its
    // framing.
    let mut got = client.reader.waiting().len();
    while got < 10_000 {
        client.reader.fill().unwrap();
        got = client.reader.waiting().len();
    }
}

#[test]
fn bytes_are_forwarded_before_the_response_ends() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for chunked in [false, true] {
        let path = format!("/halves/{chunked}");
        let (gate, body) = two_halves(&origin, &path, chunked);
        let mut client = daemon.client();
        first_half(&mut client, &origin.url(&path), "");
        gate.open();
        daemon.settle();
        assert!(daemon.get(&origin.url(&path)).body == body);
    }
}

#[test]
fn a_second_client_joins_a_running_download() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for chunked in [false, true] {
        let path = format!("/shared/{chunked}");
        let (gate, body) = two_halves(&origin, &path, chunked);
        let url = origin.url(&path);
        let mut clients: Vec<_> = (0..8).map(|_| daemon.client()).collect();
        for client in &mut clients {
            client.ask(&url, "");
        }
        let heads: Vec<_> =
            clients.iter_mut().map(|client| client.final_head().unwrap().1).collect();
        assert_eq!(origin.count(&path), 1, "the origin was asked once");
        gate.open();
        for (client, head) in clients.iter_mut().zip(heads) {
            let mut got = Vec::new();
            let framing = Client::framing("GET", &head);
            client.reader.body(framing, |piece| got.extend_from_slice(piece)).unwrap();
            assert!(got == body, "{} bytes", got.len());
        }
        assert_eq!(origin.count(&path), 1);
    }
}

#[test]
fn a_client_with_another_cookie_does_not_join_a_download() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let gate = Gate::new();
    let held = Arc::clone(&gate);
    origin.on("/whose", move |exchange| {
        let whose = exchange.seen.fields.get("Cookie").unwrap_or("none").to_owned();
        held.wait();
        exchange.answer(&Answer::html(whose))
    });
    let url = origin.url("/whose");
    let rows = ["", "Cookie: who=a\r\n", "Cookie: who=b\r\n"];
    let mut clients: Vec<_> = rows
        .iter()
        .map(|fields| {
            let mut client = daemon.client();
            client.ask(&url, fields);
            client
        })
        .collect();
    eventually("each was requested separately", || origin.count("/whose") == 3);
    gate.open();
    for (client, body) in clients.iter_mut().zip(["none", "who=a", "who=b"]) {
        assert_eq!(client.receive("GET").whole().text(), body);
    }
}

#[test]
fn a_download_continues_when_its_client_leaves() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let (gate, body) = two_halves(&origin, "/left", true);
    let mut client = daemon.client();
    first_half(&mut client, &origin.url("/left"), "");
    drop(client);
    gate.open();
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
    assert!(daemon.get(&origin.url("/left")).body == body);
}

#[test]
fn a_download_ends_with_its_client_when_so_configured() {
    let daemon = Daemon::configured("[options]\nfinish-downloads = false\n");
    let origin = Origin::start();
    let ended = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ended);
    origin.on("/endless", move |exchange| {
        exchange.send(format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n"))?;
        let chunk = [b"2710\r\n", vec![b'x'; 10_000].as_slice(), b"\r\n"].concat();
        while exchange.send(&chunk).is_ok() {}
        count.fetch_add(1, Ordering::SeqCst);
        Ok(After::Close)
    });
    let mut client = daemon.client();
    first_half(&mut client, &origin.url("/endless"), "");
    drop(client);
    eventually("the origin's connection is closed", || ended.load(Ordering::SeqCst) == 1);
    daemon.settle();
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&origin.url("/endless")).status, 504, "half a page was stored");
}

#[test]
fn a_repeated_content_length_is_forwarded_once() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/twice", |exchange| {
        exchange.body()?;
        exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nwhole")?;
        Ok(After::Keep)
    });
    let response = daemon.get(&origin.url("/twice"));
    assert_eq!((response.text().as_str(), response.field("Content-Length")), ("whole", "5"));
}

#[test]
fn a_broken_response_is_never_stored_and_seen_as_broken() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    for fault in ALL {
        origin.on(&format!("/{fault:?}"), move |exchange| fault.act(exchange));
        let mut client = daemon.client();
        client.ask(&origin.url(&format!("/{fault:?}")), "Accept: text/html\r\n");
        let Ok(response) = client.try_receive("GET") else {
            assert!(fault.has_head(), "{fault:?}: not a message page");
            continue;
        };
        if fault.has_head() && response.status == 200 {
            assert!(response.whole.is_err(), "{fault:?} looks whole: {:?}", response.head);
        } else {
            assert!([502, 504].contains(&response.status), "{fault:?}: {:?}", response.head);
            assert!(response.shown().contains(&origin.addr.to_string()), "{fault:?}: named");
        }
    }
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
    for fault in ALL {
        let response = daemon.get(&origin.url(&format!("/{fault:?}")));
        assert_eq!(response.status, 504, "{fault:?} was stored");
    }
}

#[test]
#[ignore = "slow"]
fn a_broken_refresh_leaves_the_stored_page() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for fault in ALL {
        let path = format!("/{fault:?}");
        origin.say(&path, Answer::html("good"));
        daemon.get(&origin.url(&path));
        daemon.settle();
        origin.on(&path, move |exchange| fault.act(exchange));
        let mut client = daemon.client();
        client.ask(&origin.url(&path), "Cache-Control: no-cache\r\n");
        let _ = client.try_receive("GET");
        daemon.settle();
        daemon.ok(&["offline"]);
        assert_eq!(daemon.get(&origin.url(&path)).text(), "good", "{fault:?}");
        daemon.ok(&["online"]);
    }
}

#[test]
fn a_stale_page_is_revalidated() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let page = Answer::html("the same").field("ETag", "\"v1\"").field("Cache-Control", "no-cache");
    origin.say("/checked", page);
    let url = origin.url("/checked");
    for round in 1..=3 {
        let response = daemon.get(&url);
        assert_eq!((response.status, response.text().as_str()), (200, "the same"), "{round}");
        daemon.settle();
    }
    let asked = origin.asked("/checked");
    assert_eq!(asked.len(), 3);
    for seen in &asked[1..] {
        assert_eq!(seen.fields.get("If-None-Match"), Some("\"v1\""), "{}", seen.head);
    }
    origin.say("/checked", Answer::html("changed").field("ETag", "\"v2\""));
    assert_eq!(daemon.get(&url).text(), "changed");
    daemon.settle();
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&url).text(), "changed");
}

#[test]
fn a_conditional_request_is_answered_and_the_page_stored() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let url = origin.url("/tagged/4.txt");
    let answer = daemon.client().get_with(&url, "If-None-Match: \"tag-4\"\r\n").whole();
    assert_eq!((answer.status, answer.body.len()), (304, 0));
    daemon.settle();
    daemon.ok(&["offline"]);
    // The origin's 304 has no page, so offline the client gets the page only if the daemon has
    // fetched it.
    let answer = daemon.get(&url);
    assert!(answer.status == 504 || answer.body == b"tagged 4\n", "{:?}", answer.head);
}

#[test]
fn a_running_download_is_listed() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let (gate, _) = two_halves(&origin, "/listed", false);
    let mut client = daemon.client();
    first_half(&mut client, &origin.url("/listed"), "");
    let status = daemon.status();
    let download = &status["downloads"][0];
    assert_eq!(download["url"].as_str(), Some(origin.url("/listed").as_str()), "{status}");
    assert_eq!(
        (download["bytes"].as_u64(), download["total"].as_u64()),
        (Some(10_000), Some(20_000))
    );
    gate.open();
    daemon.settle();
}

#[test]
fn a_stop_waits_for_running_downloads() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    let (gate, body) = two_halves(&origin, "/finishing", false);
    let mut client = daemon.client();
    client.ask(&origin.url("/finishing"), "");
    let (_, head) = client.final_head().unwrap();
    daemon.signal("TERM");
    eventually("the port is closed", || std::net::TcpStream::connect(daemon.addr()).is_err());
    gate.open();
    let mut got = Vec::new();
    let framing = Client::framing("GET", &head);
    client.reader.body(framing, |piece| got.extend_from_slice(piece)).unwrap();
    assert!(got == body);
    assert!(daemon.ended().success());
}

#[test]
#[ignore = "slow"]
fn a_stop_waits_for_a_limited_time() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    let (_gate, _) = two_halves(&origin, "/stuck", false);
    let mut client = daemon.client();
    first_half(&mut client, &origin.url("/stuck"), "");
    assert!(daemon.down().success());
    daemon.up();
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&origin.url("/stuck")).status, 504);
}

#[test]
fn a_silent_close_on_a_used_connection_sends_no_post_twice() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/order", |exchange| Fault::Silence.act(exchange));
    daemon.get(&origin.url("/page/1.html"));
    let mut client = daemon.client();
    client.send(format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Length: 3\r\n\r\none",
        origin.url("/order"),
        origin.addr
    ));
    assert!([502, 504].contains(&client.receive("POST").status));
    assert_eq!(origin.count("/order"), 1, "a POST reaches the origin once");
}

#[test]
fn a_form_sent_twice_reaches_the_origin_twice() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let gate = Gate::new();
    let held = Arc::clone(&gate);
    origin.on("/buy", move |exchange| {
        exchange.body()?;
        held.wait();
        exchange.answer(&Answer::html("bought"))
    });
    let mut clients = [daemon.client(), daemon.client()];
    for client in &mut clients {
        client.send(format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Length: 5\r\n\r\none=1",
            origin.url("/buy"),
            origin.addr
        ));
    }
    eventually("each was sent", || origin.count("/buy") == 2);
    gate.open();
    for client in &mut clients {
        assert_eq!(client.receive("POST").whole().text(), "bought");
    }
}

#[test]
fn a_fresh_copy_in_an_unacceptable_coding_is_not_served() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let gate = Gate::new();
    let held = Arc::clone(&gate);
    let later = AtomicUsize::new(0);
    origin.on("/coded", move |exchange| {
        // Like a server that compresses each response while it sends it, the origin sends one weak
        // `ETag` for all codings.
        let fields = &exchange.seen.fields;
        let gzip = fields.get("Accept-Encoding").is_some_and(|codings| codings.contains("gzip"));
        if gzip && later.fetch_add(1, Ordering::SeqCst) > 0 {
            held.wait();
        }
        let body = if gzip { site::gzip(b"plain") } else { b"plain".to_vec() };
        let answer = Answer::html(body).field("ETag", "W/\"1\"");
        exchange.answer(&if gzip { answer.field("Content-Encoding", "gzip") } else { answer })
    });
    let url = origin.url("/coded");
    let coded = daemon.client().get_with(&url, "Accept-Encoding: gzip\r\n").whole();
    assert_eq!(coded.field("Content-Encoding"), "gzip");
    daemon.settle();
    let mut first = daemon.client();
    first.ask(&url, "Accept-Encoding: gzip\r\n");
    eventually("the stored copy is revalidated", || origin.count("/coded") == 2);
    let mut second = daemon.client();
    second.ask(&url, "");
    gate.open();
    let plain = second.receive("GET").whole();
    assert_eq!((plain.field("Content-Encoding"), plain.text().as_str()), ("", "plain"));
    first.receive("GET").whole();
    daemon.settle();
    daemon.client().get_with(&url, "Accept-Encoding: gzip\r\n").whole();
    daemon.settle();
    let alone = daemon.get(&url);
    assert_eq!((alone.field("Content-Encoding"), alone.text().as_str()), ("", "plain"));
}

#[test]
fn a_fresh_variant_is_not_served_for_another_language() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let gate = Gate::new();
    let held = Arc::clone(&gate);
    let later = AtomicUsize::new(0);
    origin.on("/spoken", move |exchange| {
        let language = exchange.seen.fields.get("Accept-Language").unwrap_or("en").to_owned();
        if later.fetch_add(1, Ordering::SeqCst) == 1 {
            held.wait();
        }
        let tag = format!("\"{language}\"");
        let answer = Answer::html(language).field("ETag", &tag);
        exchange.answer(&answer.field("Vary", "Accept-Language"))
    });
    let url = origin.url("/spoken");
    daemon.client().get_with(&url, "Accept-Language: en\r\n").whole();
    daemon.settle();
    let mut english = daemon.client();
    english.ask(&url, "Accept-Language: en\r\n");
    eventually("the stored copy is revalidated", || origin.count("/spoken") == 2);
    let mut german = daemon.client();
    german.ask(&url, "Accept-Language: de\r\n");
    gate.open();
    assert_eq!(german.receive("GET").whole().text(), "de");
    assert_eq!(english.receive("GET").whole().text(), "en");
}

#[test]
fn a_response_with_a_cookie_is_not_shared_or_replayed() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let (gate, number) = (Gate::new(), AtomicUsize::new(0));
    let held = Arc::clone(&gate);
    origin.on("/login", move |exchange| {
        let number = number.fetch_add(1, Ordering::SeqCst);
        held.wait();
        let cookie = format!("id={number}");
        exchange.answer(&Answer::html("in").field("Set-Cookie", &cookie).field("ETag", "\"in\""))
    });
    let mut clients = [daemon.client(), daemon.client()];
    for client in &mut clients {
        client.ask(&origin.url("/login"), "");
    }
    eventually("it was requested", || origin.count("/login") > 0);
    gate.open();
    let [one, other] =
        clients.each_mut().map(|client| client.receive("GET").field("Set-Cookie").to_owned());
    assert_ne!(one, other);
    daemon.settle();
    let again = daemon.get(&origin.url("/login"));
    assert_eq!((again.status, again.text().as_str()), (200, "in"));
    assert!(again.field("Cache-Status").contains("fwd-status=304"), "{again:?}");
    assert!(!again.fields.has("Set-Cookie"), "the browser may have a newer one: {again:?}");
}

#[test]
#[ignore = "slow"]
fn a_queued_request_is_not_answered_by_an_error_for_a_client() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for number in 0..20 {
        let path = format!("/trouble/{number}");
        let gate = Gate::new();
        let held = Arc::clone(&gate);
        origin.on(&path, move |exchange| {
            held.wait();
            exchange.answer(&Answer::html("trouble").with_status(503))
        });
        let mut client = daemon.client();
        client.ask(&origin.url(&path), "");
        eventually("the client's request arrived", || origin.count(&path) == 1);
        let mut command = Client::unix(&daemon.spool().join("control"));
        let body = format!("{{\"urls\":[\"{}\"],\"refresh\":true}}", origin.url(&path));
        command.send(format!(
            "POST /api/get HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        eventually("the queue waits for the same download", || {
            daemon.status()["queue"]["active"] == 1
        });
        gate.open();
        let answer = client.receive("GET").whole();
        assert_eq!((answer.status, answer.text().as_str()), (503, "trouble"), "{number}");
        daemon.api("POST", "/api/queue/delete", "{\"all\":true}");
    }
}

#[test]
fn upgrade_insecure_requests_is_forwarded_and_creates_no_variant() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let answer = Answer::html("plain").field("Vary", "Upgrade-Insecure-Requests");
    origin.say("/wish", answer.field("Strict-Transport-Security", "max-age=60"));
    let url = origin.url("/wish");
    let wish = "Upgrade-Insecure-Requests: 1\r\n";
    let response = daemon.client().get_with(&url, wish).whole();
    assert_eq!((response.status, response.text().as_str()), (200, "plain"));
    assert_eq!(origin.asked("/wish")[0].fields.get("Upgrade-Insecure-Requests"), Some("1"));
    daemon.settle();
    daemon.ok(&["offline"]);
    for fields in [wish, ""] {
        assert_eq!(daemon.client().get_with(&url, fields).whole().text(), "plain", "{fields:?}");
    }
    assert_eq!(daemon.ok(&["ls"]).lines().count(), 1);
    // Responses of our own pages do not have this field.
    assert!(!daemon.page("/").fields.has("Strict-Transport-Security"));
}

#[test]
fn fields_that_change_the_request_do_not_reach_the_origin_of_a_page() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.say("/page", Answer::html("true").field("Cache-Control", "max-age=60"));
    let forged = "X-Forwarded-Host: evil.test\r\nX-Original-URL: /admin\r\nX-Rewrite-URL: /admin\r\n\
                  X-HTTP-Method-Override: DELETE\r\nForwarded: host=evil.test\r\n\
                  X_Forwarded_Host: evil.test\r\nX-Scheme: https\r\n\
                  Proxy: evil.test\r\nX-Forwarded.Host: evil.test\r\n";
    daemon.client().get_with(&origin.url("/page"), &format!("{forged}X-Kept: 1\r\n")).whole();
    daemon.post(&origin.url("/page"), forged, "");
    let asked = origin.asked("/page");
    for name in [
        "X-Forwarded-Host",
        "X_Forwarded_Host",
        "X-Original-URL",
        "X-HTTP-Method-Override",
        "Forwarded",
        "X-Scheme",
        "Proxy",
        "X-Forwarded.Host",
    ] {
        let got = [0, 1].map(|request: usize| asked[request].fields.has(name));
        assert_eq!(got, [false, true], "{name}");
    }
    assert!(asked[0].fields.has("X-Kept") && !asked[0].fields.has("X-Rewrite-URL"));
}
