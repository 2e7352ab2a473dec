//! Malicious HTTP/2 clients. Each is stopped or limited, and other clients are served.

use std::time::Duration;

use bytes::Bytes;

use crate::harness::frames::{
    CALM, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, Frames, GOAWAY, HEADERS, PING,
    PROTOCOL, RST_STREAM, SETTINGS, WINDOW_UPDATE, frame, hpack,
};
use crate::harness::http2::Http2;
use crate::harness::{After, Answer, Gate, eventually, heavy};
use crate::tls::http2::Stage;

/// Memory limit of the daemon during an attack, in KiB.
const MEMORY: u64 = 72 * 1024;

/// The head of a GET for `path` at `host`, in HPACK.
fn get(host: &str, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let pseudo = [(":method", "GET"), (":scheme", "https"), (":authority", host), (":path", path)];
    hpack(&[&pseudo, more].concat())
}

fn frames(stage: &Stage) -> Frames {
    Frames::inside(stage.daemon.addr(), &stage.host(), &stage.trust)
}

#[track_caller]
fn others_are_served(stage: &Stage) {
    stage.site.origin.say("/other", Answer::html("other"));
    assert_eq!(stage.client().get("/other", &[]).whole().text(), "other");
    assert!(stage.daemon.memory_kib() < MEMORY, "{} KiB", stage.daemon.memory_kib());
}

/// `count` requests, each followed by its `RST_STREAM`.
fn taken_back(host: &str, count: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in 0..count {
        let head = get(host, &format!("/r/{number}"), &[]);
        bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, &head));
        bytes.extend(frame(RST_STREAM, 0, 2 * number + 1, &8_u32.to_be_bytes()));
    }
    bytes
}

#[test]
fn rapid_resets_end_the_connection_and_reach_few_origins() {
    let stage = Stage::set("");
    let (mut client, host) = (frames(&stage), stage.host());
    client.send(&taken_back(&host, 60)).unwrap();
    assert_eq!(client.until(GOAWAY).error(), CALM);
    let mut client = frames(&stage);
    // The daemon closes the connection before everything is sent or read.
    let _cut = client.send(&taken_back(&host, 5_000));
    while client.next().is_some() {}
    stage.daemon.settle();
    let asked = stage.site.origin.seen().len();
    assert!(asked < 600, "{asked} requests reached the origin");
    others_are_served(&stage);
}

#[test]
fn single_stream_resets_end_the_connection() {
    let _alone = heavy();
    let stage = Stage::set("[options]\nfinish-downloads = false\n");
    let client = stage.client();
    let gone = client.run(async {
        for number in 0..5_000 {
            let request = client.request("GET", &format!("/r/{number}"), &[]);
            let Ok((answer, mut stream)) = client.begin(request, true).await else { return true };
            stream.send_reset(h2::Reason::CANCEL);
            if answer.await.is_err_and(|error| error.is_io() || error.is_go_away()) {
                return true;
            }
        }
        // The daemon reads this request after all the others.
        let last = client.request("GET", "/last", &[]);
        let Ok((answer, _stream)) = client.begin(last, true).await else { return true };
        answer.await.is_err()
    });
    assert!(gone, "5000 requests were reset without an error");
    others_are_served(&stage);
}

/// A stream that is reset after the head of its response counts as well. Other resets do not count.
#[test]
fn resets_after_the_response_head_end_the_connection() {
    let (stage, gate) = (Stage::set(""), Gate::new());
    let waits = std::sync::Arc::clone(&gate);
    stage.site.origin.on("/waits", move |exchange| {
        exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal")?;
        waits.wait();
        exchange.send("f of it")?;
        Ok(After::Close)
    });
    let (mut client, host) = (frames(&stage), stage.host());
    let mut resets = 0;
    let ended = (0..2_000_u32).any(|number| {
        let head = get(&host, "/waits", &[]);
        let stream = 2 * number + 1;
        if client.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &head)).is_err() {
            return true;
        }
        let is_answer = |frame: &Frame| frame.kind == HEADERS && frame.stream == stream;
        let Some(_answer) = std::iter::from_fn(|| client.next()).find(is_answer) else {
            return true;
        };
        resets += 1;
        client.send(&frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes())).is_err()
    });
    assert!(ended && resets > 400, "after {resets} resets");
    gate.open();
    others_are_served(&stage);
}

#[test]
fn provoked_resets_end_the_connection() {
    let stage = Stage::set("");
    let (mut client, host) = (frames(&stage), stage.host());
    let mut bytes = Vec::new();
    for number in 0..1_000 {
        let head = get(&host, &format!("/m/{number}"), &[]);
        bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, &head));
        // A WINDOW_UPDATE of zero is a stream error (RFC 9113 §6.9).
        bytes.extend(frame(WINDOW_UPDATE, 0, 2 * number + 1, &0_u32.to_be_bytes()));
    }
    let _cut = client.send(&bytes);
    while client.next().is_some() {}
    stage.daemon.settle();
    let asked = stage.site.origin.seen().len();
    assert!(asked < 300, "{asked} requests reached the origin");
    others_are_served(&stage);
    eventually("no client is connected", || stage.daemon.status()["connections"] == 0);
}

#[test]
fn a_header_block_without_end_is_cut_off() {
    let stage = Stage::set("");
    let (mut client, host) = (frames(&stage), stage.host());
    client.send(&frame(HEADERS, END_STREAM, 1, &get(&host, "/flood", &[]))).unwrap();
    for number in 0..100_000 {
        let more = hpack(&[(&format!("x-{number}"), "more")]);
        if client.send(&frame(CONTINUATION, 0, 1, &more)).is_err() {
            break;
        }
        if number == 20 {
            // At this point the limit is exceeded.
            assert_eq!(client.until(GOAWAY).error(), CALM);
            break;
        }
    }
    others_are_served(&stage);
    assert_eq!(stage.site.origin.count("/flood"), 0);
}

#[test]
fn the_size_of_a_header_list_is_limited() {
    let stage = Stage::set("");
    stage.site.origin.say("/large", Answer::html("large"));
    let value = "v".repeat(1_000);
    let names: Vec<String> = (0..200).map(|number| format!("x-{number}")).collect();
    let fields: Vec<_> = names.iter().map(|name| (name.as_str(), value.as_str())).collect();
    let client = stage.client();
    assert_eq!(client.get("/large", &fields[..50]).whole().status, 200);
    let refused = client.exchange(client.request("GET", "/large", &fields), None);
    assert!(refused.is_err() || refused.is_ok_and(|response| response.status == 431));
    assert_eq!(stage.site.origin.count("/large"), 1);
    others_are_served(&stage);
}

#[test]
fn floods_of_settings_and_pings_cost_no_memory() {
    let stage = Stage::set("");
    for flood in [frame(SETTINGS, 0, 0, b""), frame(PING, 0, 0, b"12345678")] {
        let mut client = frames(&stage);
        let bytes = flood.repeat(1_000);
        // The client reads nothing, so at some point the daemon stops reading too.
        client.patience(Duration::from_millis(500));
        for _ in 0..200 {
            if client.send(&bytes).is_err() {
                break;
            }
        }
        others_are_served(&stage);
    }
}

#[test]
fn an_invalid_http_2_request_is_refused() {
    let stage = Stage::set("");
    stage.site.origin.say("/fine", Answer::html("fine"));
    let (mut client, host) = (frames(&stage), stage.host());
    let pseudo = |fields: &[(&str, &str)]| hpack(fields);
    let whole = [
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", host.as_str()),
        (":path", "/fine"),
    ];
    let without = |name: &str| {
        hpack(&whole.iter().copied().filter(|(found, _)| *found != name).collect::<Vec<_>>())
    };
    let bad = [
        get(&host, "/fine", &[("connection", "close")]),
        get(&host, "/fine", &[("transfer-encoding", "chunked")]),
        get(&host, "/fine", &[("upgrade", "websocket")]),
        get(&host, "/fine", &[("keep-alive", "5")]),
        get(&host, "/fine", &[("proxy-connection", "keep-alive")]),
        get(&host, "/fine", &[("te", "gzip")]),
        get(&host, "/fine", &[("X-Upper", "case")]),
        get(&host, "/fine", &[(":path", "/again")]),
        get(&host, "/fine", &[("content-length", "5")]),
        get(&host, "", &[]),
        pseudo(&[("x", "y"), whole[0], whole[1], whole[2], whole[3]]),
        pseudo(&[whole[0], whole[1], whole[2], whole[3], (":status", "200")]),
        pseudo(&[whole[0], whole[1], whole[2], whole[3], (":strange", "x")]),
        without(":method"),
        without(":scheme"),
        without(":path"),
    ];
    let (mut stream, mut ended) = (1, 0);
    for head in &bad {
        client.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, head)).unwrap();
        let refused = client.until_refused();
        assert_eq!(refused.error(), PROTOCOL, "{}", String::from_utf8_lossy(head));
        stream += 2;
        if refused.kind == GOAWAY {
            (client, stream, ended) = (frames(&stage), 1, ended + 1);
        }
    }
    assert_eq!(stage.site.origin.count("/fine"), 0);
    assert!(ended < 4, "most keep the connection open: {ended}");
    // More or fewer bytes than the declared length.
    for (said, sent) in [("2", &b"abc"[..]), ("4", b"abc")] {
        let head = get(&host, "/fine", &[("content-length", said)]);
        client.send(&frame(HEADERS, END_HEADERS, stream, &head)).unwrap();
        client.send(&frame(DATA, END_STREAM, stream, sent)).unwrap();
        assert_eq!(client.until(RST_STREAM).stream, stream, "{said}");
        stream += 2;
    }
    let head = get(&host, "/fine", &[]);
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &head)).unwrap();
    assert_eq!(client.until(DATA).payload, b"fine");
}

#[test]
#[ignore = "slow"]
fn an_unread_stream_is_reset_without_affecting_others() {
    let stage = Stage::set("[options]\nsocket-timeout = \"2s\"\n");
    let door = Gate::new();
    let wait = std::sync::Arc::clone(&door);
    stage.site.origin.on("/held", move |exchange| {
        wait.wait();
        exchange.answer(&Answer::html("held"))
    });
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(0);
    let stream = crate::harness::http2::tunnel(stage.daemon.addr(), &stage.host());
    let client = Http2::built(stream, &stage.host(), &stage.trust, &builder);
    let big = format!("/big/{}", 30_000_000);
    client.run(async {
        let mut bodies = Vec::new();
        for _ in 0..20 {
            let (answer, _) = client.begin(client.request("GET", &big, &[]), true).await.unwrap();
            bodies.push(answer.await.unwrap().into_body());
        }
        for mut body in bodies {
            // The client has opened no window, so the stream is reset at the end.
            let error = body.data().await.expect("an end").expect_err("no window was given");
            assert!(error.is_reset(), "{error}");
        }
        // The connection can still be used.
        let (answer, _) = client.begin(client.request("HEAD", &big, &[]), true).await.unwrap();
        assert_eq!(answer.await.unwrap().status(), 200);
    });
    assert!(stage.daemon.peak_kib() < MEMORY, "{} KiB", stage.daemon.peak_kib());
    stage.daemon.settle();
    let downloads =
        stage.site.origin.asked(&big).iter().filter(|seen| seen.method == "GET").count();
    assert_eq!(downloads, 1, "the download itself is complete");
    door.open();
}

#[test]
#[ignore = "slow"]
fn an_unread_tunnel_ends() {
    let stage = Stage::set("[options]\nsocket-timeout = \"1s\"\nidle-timeout = \"1s\"\n");
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(0);
    let (proxy, origin) = (stage.daemon.addr(), stage.site.origin.addr);
    let own = format!("localhost:{}", proxy.port());
    let stream = std::net::TcpStream::connect(proxy).unwrap();
    let client = Http2::built(stream, &own, &stage.trust, &builder);
    client.run(async {
        let request = hyper::Request::connect(origin.to_string()).body(()).unwrap();
        let (answer, mut send) = client.begin(request, false).await.unwrap();
        let mut body = answer.await.unwrap().into_body();
        let asked = format!("GET /big/30000000 HTTP/1.1\r\nHost: {origin}\r\n\r\n");
        send.send_data(Bytes::from(asked), false).unwrap();
        let end = body.data().await.expect("an end").expect_err("no window was given");
        assert!(end.is_reset() || end.is_go_away(), "{end}");
    });
    eventually("no client is connected", || stage.daemon.status()["connections"] == 0);
}

#[test]
#[ignore = "slow"]
fn many_unread_streams_take_bounded_memory() {
    let _alone = heavy();
    let stage = Stage::set("");
    let big = "/big/30000000";
    assert_eq!(stage.client().get(big, &[]).whole().body.len(), 30_000_000);
    stage.daemon.settle();
    stage.daemon.ok(&["offline"]);
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(0);
    let before = stage.daemon.memory_kib();
    let mut held = Vec::new();
    for _ in 0..4 {
        let stream = crate::harness::http2::tunnel(stage.daemon.addr(), &stage.host());
        let client = Http2::built(stream, &stage.host(), &stage.trust, &builder);
        let bodies = client.run(async {
            let mut bodies = Vec::new();
            for _ in 0..100 {
                let request = client.request("GET", big, &[]);
                let (answer, _) = client.begin(request, true).await.unwrap();
                bodies.push(answer.await.unwrap().into_body());
            }
            bodies
        });
        held.push((client, bodies));
    }
    assert_eq!(stage.client().get(big, &[]).whole().body.len(), 30_000_000, "others are served");
    let each = stage.daemon.memory_kib().saturating_sub(before) / 400;
    eprintln!("a stream that is not read takes {each} KiB");
    assert!(each < 256, "{each} KiB for each stream");
}

#[test]
#[ignore = "slow"]
fn a_missing_request_body_times_out() {
    let stage = Stage::set("[options]\nsocket-timeout = \"1s\"\nhead-timeout = \"1s\"\n");
    stage.site.origin.on("/form", |exchange| {
        let body = exchange.body()?.to_vec();
        exchange.answer(&Answer::new(200, "text/plain", body))
    });
    let client = stage.client();
    for (fields, want) in [(&[("content-length", "10")][..], 408), (&[], 504)] {
        let status = client.run(async {
            let request = client.request("POST", "/form", fields);
            let (answer, mut stream) = client.begin(request, false).await.unwrap();
            stream.reserve_capacity(3);
            std::future::poll_fn(|cx| stream.poll_capacity(cx)).await.unwrap().unwrap();
            stream.send_data(Bytes::from_static(b"abc"), false).unwrap();
            answer.await.unwrap().status().as_u16()
        });
        assert_eq!(status, want, "{fields:?}");
    }
    others_are_served(&stage);
}

#[test]
#[ignore = "slow"]
fn an_idle_connection_ends_with_goaway() {
    let stage = Stage::set("[options]\nidle-timeout = \"1s\"\n");
    let mut client = frames(&stage);
    assert_eq!(client.until(GOAWAY).error(), 0);
    // The daemon also sends a PING, and the client does not answer it.
    eventually("the connection is closed", || stage.daemon.status()["connections"] == 0);
    // A client that sends nothing after its handshake.
    let _silent = crate::harness::http2::secure(
        crate::harness::http2::tunnel(stage.daemon.addr(), &stage.host()),
        "127.0.0.1",
        crate::harness::http2::tls(&stage.trust, &[b"h2"]),
    )
    .unwrap();
    eventually("the other is closed", || stage.daemon.status()["connections"] == 0);
}

#[test]
fn a_stop_waits_for_open_streams() {
    let mut stage = Stage::set("");
    let door = Gate::new();
    let wait = std::sync::Arc::clone(&door);
    stage.site.origin.on("/held", move |exchange| {
        wait.wait();
        exchange.answer(&Answer::html("held"))
    });
    let client = stage.client();
    let text = client.run(async {
        let (answer, _) = client.begin(client.request("GET", "/held", &[]), true).await.unwrap();
        eventually("it is requested", || stage.site.origin.count("/held") == 1);
        stage.daemon.signal("TERM");
        eventually("it stops", || stage.daemon.log().contains("stopping"));
        door.open();
        crate::harness::http2::receive(answer.await.unwrap()).await.text()
    });
    assert_eq!(text, "held");
    assert!(stage.daemon.ended().success());
}
