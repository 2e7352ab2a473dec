//! HTTP/2 to origins. Responses are stored, served and counted as with HTTP/1.1, over one
//! connection.

use crate::harness::http2_front::CAME_OVER;
use crate::harness::wire::Framing;
use crate::harness::{
    After, Answer, Authority, Daemon, Manners, Speaks, TlsOrigin, eventually, heavy, site,
};

const HTTP2: Manners =
    Manners { speaks: Speaks::Http2, hangs_up: false, old: false, wants_client: false };

fn start() -> (Daemon, TlsOrigin) {
    start_with(HTTP2, "")
}

fn start_with(manners: Manners, config: &str) -> (Daemon, TlsOrigin) {
    let authority = Authority::new();
    let identity = authority.identity(&["localhost", "127.0.0.1"]);
    let origin = TlsOrigin::with_manners(identity, manners);
    (authority.daemon(config), origin)
}

#[test]
fn many_pages_are_fetched_over_one_connection_and_stored() {
    let (daemon, mut origin) = start();
    let paths: Vec<String> = (0..40).map(|number| format!("/page/{number}.html")).collect();
    let urls: Vec<String> = paths.iter().map(|path| origin.url_at("localhost", path)).collect();
    // All requests start at once. One of them opens the connection, and the others wait for it.
    std::thread::scope(|scope| {
        for url in &urls {
            scope.spawn(|| assert_eq!(daemon.get(url).status, 200));
        }
    });
    daemon.settle();
    assert_eq!(origin.handshakes(), 1);
    assert_eq!(origin.named(), [(Some("localhost".to_owned()), Some(b"h2".to_vec()))]);
    let host = format!("localhost:{}", origin.addr.port());
    for seen in origin.origin.seen() {
        assert_eq!(seen.fields.get(CAME_OVER), Some("h2"));
        assert_eq!(seen.fields.all("Host"), [&host]);
        assert!(!seen.fields.has("Connection"));
    }
    origin.stop();
    daemon.ok(&["offline"]);
    for (url, path) in urls.iter().zip(&paths) {
        let page = daemon.get(url);
        assert!(page.body == site::answer(path).unwrap().body, "{path}");
        assert!(page.field("Cache-Status").contains("hit"), "{:?}", page.fields);
    }
}

#[test]
fn an_origin_without_http2_is_contacted_over_http1() {
    let (daemon, origin) = start_with(Manners::default(), "");
    std::thread::scope(|scope| {
        for number in 0..12 {
            let url = origin.url(&format!("/page/{number}.html"));
            scope.spawn(|| assert_eq!(daemon.get(&{ url }).status, 200));
        }
    });
    assert!(origin.named().iter().all(|(_, protocol)| protocol.as_deref() == Some(b"http/1.1")));
}

#[test]
fn responses_of_both_versions_are_stored_alike() {
    let authority = Authority::new();
    let daemon = authority.daemon("");
    let kept = [HTTP2, Manners::default()].map(|manners| {
        let origin = TlsOrigin::with_manners(authority.identity(&["127.0.0.1"]), manners);
        let answer = Answer::html("alike").field("X-Some-Thing", "1");
        origin.origin.say("/p", answer);
        origin.origin.say("/odd", Answer::html("odd").with_status(299));
        origin.origin.say("/sum", Answer::html("sum").trailer("X-Sum", "3"));
        ["/p", "/odd", "/sum"].map(|path| {
            let url = origin.url(path);
            let got = daemon.get(&url);
            daemon.settle();
            let via = if manners.speaks == Speaks::Http2 { "2.0 " } else { "1.1 " };
            assert!(got.field("Via").starts_with(via), "{:?}", got.fields);
            let kept = daemon.ok(&["cat", "--headers", &url]);
            let lines = kept.lines().filter(|line| !line.starts_with("Date: "));
            lines.collect::<Vec<_>>().join("\n")
        })
    });
    assert_eq!(kept[0], kept[1]);
}

#[test]
fn forms_are_forwarded_completely() {
    let (daemon, origin) = start();
    origin.origin.on("/form", |exchange| {
        let body = exchange.body()?.to_vec();
        exchange.answer(&Answer::new(200, "application/octet-stream", body))
    });
    let body = site::noise(1, 5 * 1024 * 1024);
    for chunked in [false, true] {
        let mut client = daemon.client();
        let framing = if chunked {
            "Transfer-Encoding: chunked".to_owned()
        } else {
            format!("Content-Length: {}", body.len())
        };
        client.send(format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\n{framing}\r\n\r\n",
            origin.url("/form"),
            origin.addr
        ));
        if chunked {
            client.send(format!("{:x}\r\n", body.len()));
        }
        client.send(&body);
        if chunked {
            client.send("\r\n0\r\n\r\n");
        }
        let answer = client.receive("POST").whole();
        assert_eq!(answer.status, 200);
        assert!(answer.body == body, "{chunked}");
    }
    assert_eq!(origin.handshakes(), 1);
}

#[test]
fn interim_responses_are_forwarded() {
    let (daemon, origin) = start();
    origin.origin.on("/hints", |exchange| {
        exchange.send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n")?;
        exchange.answer(&Answer::html("hinted"))
    });
    let mut client = daemon.client();
    client.ask(&origin.url("/hints"), "");
    let (interims, head) = client.final_head().unwrap();
    assert_eq!(head.status, 200);
    assert_eq!(interims.len(), 1, "{interims:?}");
    assert_eq!(interims[0].status, 103);
    assert_eq!(interims[0].fields.get("Link"), Some("</a.css>; rel=preload"));
}

#[test]
fn trailers_are_forwarded_and_stored() {
    let (daemon, origin) = start();
    let sum = Answer::html("sum").field("Trailer", "X-Sum").trailer("X-Sum", "3");
    origin.origin.say("/sum", sum);
    for mode in ["online", "offline"] {
        daemon.ok(&[mode]);
        let response = daemon.client().get_with(&origin.url("/sum"), "TE: trailers\r\n").whole();
        assert_eq!(response.trailers.get("X-Sum"), Some("3"), "{mode}: {:?}", response.head);
        daemon.settle();
    }
}

#[test]
fn a_truncated_response_is_never_stored_as_complete() {
    let (daemon, origin) = start();
    origin.origin.on("/short", |exchange| {
        exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it")?;
        Ok(After::Close)
    });
    origin.origin.on("/chunks", |exchange| {
        exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")?;
        Ok(After::Close)
    });
    for path in ["/short", "/chunks"] {
        let mut client = daemon.client();
        client.ask(&origin.url(path), "");
        // If a reset arrives together with the head, the head is lost. Then the response is a
        // message page.
        match client.try_receive("GET") {
            Ok(answer) => {
                assert!(answer.status == 502 || answer.whole.is_err(), "{path}: {answer:?}");
            }
            Err(error) => drop(error),
        }
        daemon.settle();
        assert!(!daemon.ok(&["ls"]).contains(&origin.url(path)), "{path}");
    }
    // The connection can still be used.
    assert_eq!(daemon.get(&origin.url("/page/1.html")).status, 200);
    assert_eq!(origin.handshakes(), 1);
}

#[test]
fn an_upgrade_uses_a_separate_http1_connection() {
    let (daemon, origin) = start();
    assert_eq!(daemon.get(&origin.url("/page/1.html")).status, 200);
    origin.origin.on("/upgrade", |exchange| {
        exchange.send("HTTP/1.1 101 Said\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")?;
        let said = exchange
            .reader
            .exactly(5)
            .map_err(|broken| std::io::Error::other(format!("{broken:?}")))?;
        exchange.send(said)?;
        Ok(After::Close)
    });
    let mut client = daemon.client();
    client.ask(&origin.url("/upgrade"), "Connection: upgrade\r\nUpgrade: echo\r\n");
    let (_, head) = client.final_head().unwrap();
    assert_eq!(head.status, 101);
    client.send("hello");
    assert_eq!(client.reader.exactly(5).unwrap(), b"hello");
    let protocols: Vec<_> = origin.named().into_iter().filter_map(|(_, named)| named).collect();
    assert_eq!(protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
}

#[test]
fn the_stream_limit_of_the_origin_is_respected() {
    let (daemon, origin) = start_with(Manners { speaks: Speaks::FewStreams(3), ..HTTP2 }, "");
    std::thread::scope(|scope| {
        for number in 0..30 {
            let url = origin.url(&format!("/page/{number}.html"));
            scope.spawn(|| assert_eq!(daemon.get(&{ url }).status, 200));
        }
    });
    assert!(origin.streams.most_at_once() <= 3, "{}", origin.streams.most_at_once());
    assert_eq!(origin.handshakes(), 1);
}

#[test]
#[ignore = "slow"]
fn two_hundred_queued_requests_use_one_connection() {
    let config = "[fetch-options]\nat-once = 50\nper-host = 50\n";
    let (daemon, origin) = start_with(HTTP2, config);
    daemon.ok(&["offline"]);
    let urls: Vec<String> =
        (0..200).map(|number| origin.url(&format!("/page/{number}.html"))).collect();
    for url in &urls {
        daemon.browse(url);
    }
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    assert!(daemon.queue().is_empty(), "{:?}", daemon.queue());
    assert_eq!(origin.handshakes(), 1);
    let seen = origin.origin.seen();
    let pages = seen.iter().filter(|seen| seen.target.starts_with("/page/"));
    assert_eq!(pages.count(), 200, "each page once, and their common sub-resources");
}

#[test]
fn going_offline_closes_the_connection_and_sends_nothing() {
    let (daemon, origin) = start();
    assert_eq!(daemon.get(&origin.url("/page/0.html")).status, 200);
    daemon.settle();
    let sockets = daemon.open_sockets();
    daemon.ok(&["offline"]);
    eventually("the connection is closed", || daemon.open_sockets() < sockets);
    let asked = origin.origin.seen().len();
    assert_eq!(daemon.get(&origin.url("/page/3.html")).status, 504);
    assert_eq!((origin.origin.seen().len(), origin.handshakes()), (asked, 1));
    daemon.ok(&["online"]);
    assert_eq!(daemon.get(&origin.url("/page/3.html")).status, 200);
    assert_eq!(origin.handshakes(), 2);
}

#[test]
fn a_stop_does_not_wait_for_an_unused_connection() {
    let (mut daemon, origin) = start();
    assert_eq!(daemon.get(&origin.url("/page/0.html")).status, 200);
    assert!(daemon.down().success());
    let log = daemon.whole_log();
    assert!(!log.contains("not everything ended in time"), "{log}");
}

#[test]
fn an_origin_that_requires_a_client_certificate_is_reported() {
    let (daemon, origin) =
        start_with(Manners { wants_client: true, ..HTTP2 }, "[fetch-options]\nattempts = 1\n");
    let page = daemon.browse(&origin.url("/p"));
    assert_eq!(page.status, 502);
    assert!(page.text().contains("it requires a certificate of the client"), "{}", page.text());
}

/// Size of the bodies whose memory is measured, in bytes.
const LARGE: u64 = 64 << 20;

/// Limit of the daemon's peak memory during the test, in KiB.
const MEMORY: u64 = 36 * 1024;

#[test]
#[ignore = "slow"]
fn large_bodies_are_forwarded_both_ways_in_little_memory() {
    let _alone = heavy();
    let (daemon, origin) = start();
    let mut check = site::Check::new();
    let mut client = daemon.client();
    client.ask(&origin.url(&format!("/big/{LARGE}")), "");
    let answer = client.try_stream("GET", |piece| check.take(piece)).unwrap();
    assert!(answer.whole.is_ok(), "{:?}", answer.whole);
    assert_eq!((check.seen, check.wrong), (LARGE, None));

    origin.origin.on("/take", |exchange| {
        let framing = exchange.seen.fields.framing(Framing::Length(0));
        let mut length = 0;
        let read = exchange.reader.body(framing, |piece| length += piece.len());
        read.map_err(|broken| std::io::Error::other(format!("{broken:?}")))?;
        let said = format!("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{length:8}");
        exchange.send(said)?;
        Ok(After::Keep)
    });
    let mut client = daemon.client();
    client.send(format!(
        "PUT {} HTTP/1.1\r\nHost: {}\r\nContent-Length: {LARGE}\r\n\r\n",
        origin.url("/take"),
        origin.addr
    ));
    let piece = site::noise(7, 1 << 20);
    for _ in 0..LARGE >> 20 {
        client.send(&piece);
    }
    assert_eq!(client.receive("PUT").whole().text(), LARGE.to_string());
    assert_eq!(origin.handshakes(), 1);
    let memory = daemon.peak_kib();
    eprintln!("{LARGE} bytes each way over HTTP/2: {memory} KiB at most");
    assert!(memory < MEMORY, "{memory} KiB");
}

#[test]
fn a_client_that_stops_reading_stops_no_other() {
    let _alone = heavy();
    let (daemon, origin) = start();
    // The response to a GET with a body is not stored, so it is sent at the speed of the client.
    let stuck: Vec<_> = (0..8)
        .map(|_| {
            let mut client = daemon.client();
            client.ask(&origin.url(&format!("/big/{LARGE}")), "Content-Length: 1\r\n");
            client.send("x");
            client
        })
        .collect();
    eventually("all are in progress", || origin.origin.active() == stuck.len());
    for number in 0..20 {
        let path = format!("/page/{number}.html");
        let page = daemon.get(&origin.url(&path));
        assert!(page.body == site::answer(&path).unwrap().body, "{path}");
    }
    assert!(daemon.peak_kib() < MEMORY, "{} KiB", daemon.peak_kib());
    drop(stuck);
    eventually("unread downloads are aborted", || origin.origin.active() == 0);
    assert_eq!(origin.handshakes(), 1);
}

#[test]
fn an_abandoned_form_is_cancelled() {
    let (daemon, origin) = start();
    origin.origin.on("/form", |exchange| {
        exchange.body()?;
        exchange.answer(&Answer::html("whole"))
    });
    let mut client = daemon.client();
    client.send(format!(
        "PUT {} HTTP/1.1\r\nHost: {}\r\nContent-Length: 100\r\n\r\nhalf of it",
        origin.url("/form"),
        origin.addr
    ));
    eventually("it is in progress", || origin.origin.active() == 1);
    drop(client);
    eventually("it is aborted", || origin.origin.active() == 0);
    assert_eq!(daemon.get(&origin.url("/page/0.html")).status, 200);
    assert_eq!(origin.handshakes(), 1);
}

/// Requests of several people share an HTTP/2 connection, so no request may log the connection in
/// (RFC 4559).
#[test]
fn a_connection_login_is_not_sent_over_http2() {
    let (daemon, origin) = start();
    let url = origin.url("/page/1.html");
    for (fields, version) in [("", Some("h2")), ("Authorization: Negotiate x\r\n", None)] {
        let fields = format!("{fields}Cache-Control: no-cache\r\n");
        assert_eq!(daemon.client().get_with(&url, &fields).whole().status, 200);
        daemon.settle();
        let seen = origin.origin.seen();
        assert_eq!(seen.last().unwrap().fields.get(CAME_OVER), version, "{fields}");
    }
}
