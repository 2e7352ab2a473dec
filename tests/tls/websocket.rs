//! WebSocket through intercepted connections, over HTTP/1.1 and over HTTP/2 (RFC 8441).

use std::io::{Read, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use h2::ext::Protocol;
use sha1::{Digest, Sha1};

use crate::harness::http2::{Http2, secure, tls, tunnel};
use crate::harness::{After, Answer, Origin, eventually};
use crate::tls::http2::Stage;

/// The origin's response to a key (RFC 6455 §4.2.2).
fn accept(key: &str) -> String {
    let joined = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    BASE64_STANDARD.encode(Sha1::digest(joined.as_bytes()))
}

/// A client frame with a short text, masked with zeros (RFC 6455 §5.2).
fn text(said: &str) -> Vec<u8> {
    let mut frame = vec![0x81, 0x80 | said.len() as u8, 0, 0, 0, 0];
    frame.extend_from_slice(said.as_bytes());
    frame
}

/// The same frame as the origin sends it back.
fn echoed(said: &str) -> Vec<u8> {
    let mut frame = vec![0x81, said.len() as u8];
    frame.extend_from_slice(said.as_bytes());
    frame
}

/// Makes the origin echo every frame, up to the close frame.
fn echo(origin: &Origin) {
    origin.on("/echo", |exchange| {
        let fields = &exchange.seen.fields;
        let key = fields.get("Sec-WebSocket-Key").unwrap_or_default();
        let mut head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Accept: {}\r\n",
            accept(key)
        );
        for (offered, chosen) in [
            ("Sec-WebSocket-Protocol", "Sec-WebSocket-Protocol: chat\r\n"),
            ("Sec-WebSocket-Extensions", "Sec-WebSocket-Extensions: x-test\r\n"),
        ] {
            if fields.has(offered) && !fields.get("Origin").unwrap_or_default().starts_with("http")
            {
                head.push_str(chosen);
            }
        }
        exchange.send(head + "\r\n")?;
        loop {
            let Ok(start) = exchange.reader.exactly(2) else { return Ok(After::Close) };
            let (first, length) = (start[0], usize::from(start[1] & 0x7f));
            let rest = exchange.reader.exactly(4 + length).unwrap();
            let unmasked = rest[4..].iter().zip(rest[..4].iter().cycle());
            let said: Vec<u8> = unmasked.map(|(byte, mask)| byte ^ mask).collect();
            let mut frame = vec![first, length as u8];
            frame.extend_from_slice(&said);
            exchange.stream().write_all(&frame)?;
            if first & 0x0f == 8 {
                return Ok(After::Close);
            }
        }
    });
}

/// An extended CONNECT and its response.
struct ConnectExchange {
    status: u16,
    head: hyper::HeaderMap,
    send: h2::SendStream<Bytes>,
    body: h2::RecvStream,
}

async fn connect(client: &Http2, path: &str, protocol: &'static str) -> ConnectExchange {
    let mut request = client.request(
        "CONNECT",
        path,
        &[
            ("sec-websocket-version", "13"),
            ("sec-websocket-protocol", "chat, other"),
            ("sec-websocket-extensions", "x-test"),
            ("origin", "null"),
        ],
    );
    request.extensions_mut().insert(Protocol::from_static(protocol));
    let (answer, send) = client.begin(request, false).await.unwrap();
    let (parts, body) = answer.await.unwrap().into_parts();
    ConnectExchange { status: parts.status.as_u16(), head: parts.headers, send, body }
}

/// Reads `count` bytes of a stream.
async fn exactly(body: &mut h2::RecvStream, count: usize) -> Vec<u8> {
    let mut got = Vec::new();
    while got.len() < count {
        got.extend_from_slice(&body.data().await.expect("more").expect("data"));
    }
    got
}

/// Whether a stream ends without further bytes.
async fn has_ended(body: &mut h2::RecvStream) -> bool {
    match body.data().await {
        None | Some(Err(_)) => true,
        Some(Ok(last)) => last.is_empty() && body.is_end_stream(),
    }
}

#[test]
fn frames_are_forwarded_both_ways_over_http_2() {
    let stage = Stage::set("");
    echo(&stage.site.origin);
    let client = stage.client();
    client.run(async {
        let mut asked = connect(&client, "/echo", "websocket").await;
        assert_eq!(asked.status, 200, "{:?}", asked.head);
        assert_eq!(asked.head["sec-websocket-protocol"], "chat");
        assert_eq!(asked.head["sec-websocket-extensions"], "x-test");
        for name in ["connection", "upgrade", "sec-websocket-accept"] {
            assert!(!asked.head.contains_key(name), "{name}");
        }
        for said in ["one", "two", "three"] {
            asked.send.send_data(text(said).into(), false).unwrap();
            assert_eq!(exactly(&mut asked.body, said.len() + 2).await, echoed(said));
        }
        asked.send.send_data(vec![0x88, 0x80, 0, 0, 0, 0].into(), false).unwrap();
        assert_eq!(exactly(&mut asked.body, 2).await, [0x88, 0]);
        assert!(has_ended(&mut asked.body).await);
    });
    let seen = &stage.site.origin.asked("/echo")[0];
    assert_eq!(seen.method, "GET");
    let fields = &seen.fields;
    assert_eq!(fields.get("Sec-WebSocket-Version"), Some("13"));
    assert_eq!(fields.get("Sec-WebSocket-Protocol"), Some("chat, other"));
    assert_eq!(fields.get("Upgrade"), Some("websocket"));
    assert!(fields.get("Via").unwrap().starts_with("2.0 "));
    assert_eq!(BASE64_STANDARD.decode(fields.get("Sec-WebSocket-Key").unwrap()).unwrap().len(), 16);
}

#[test]
fn frames_are_forwarded_both_ways_over_http_1_1() {
    let stage = Stage::set("");
    echo(&stage.site.origin);
    let config = tls(&stage.trust, &[b"http/1.1"]);
    let host = stage.host();
    let stream = tunnel(stage.daemon.addr(), &host);
    let mut inside = secure(stream, "127.0.0.1", config).unwrap();
    let key = "dGhlIHNhbXBsZSBub25jZQ==";
    let head = format!(
        "GET /echo HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
    );
    inside.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        inside.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    assert!(answer.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "not the origin's own: {answer}");
    inside.write_all(&text("hello")).unwrap();
    let mut got = [0; 7];
    inside.read_exact(&mut got).unwrap();
    assert_eq!(got, *echoed("hello"));
}

#[test]
fn a_failed_websocket_handshake_is_reported() {
    let stage = Stage::set("");
    let origin = &stage.site.origin;
    origin.say("/page", Answer::html("a page"));
    origin.say("/forbidden", Answer::new(403, "text/plain", "not you"));
    origin.on("/liar", |exchange| {
        exchange.send(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
        )?;
        Ok(After::Close)
    });
    let client = stage.client();
    // A stored page is not a valid response to a WebSocket request either, in any mode.
    assert_eq!(client.get("/page", &[]).whole().status, 200);
    stage.daemon.settle();
    for (mode, path, protocol, want) in [
        ("online", "/page", "websocket", 502),
        ("online", "/liar", "websocket", 502),
        ("online", "/forbidden", "websocket", 403),
        ("online", "/page", "connect-udp", 501),
        ("autodial", "/page", "websocket", 502),
        ("offline", "/page", "websocket", 504),
        ("offline", "/echo", "websocket", 504),
    ] {
        stage.daemon.ok(&[mode]);
        let status = client.run(async { connect(&client, path, protocol).await.status });
        assert_eq!(status, want, "{mode} {path} {protocol}");
    }
    assert_eq!(stage.daemon.queued(), [""; 0], "a WebSocket was queued");
}

#[test]
fn a_websocket_ends_when_the_mode_goes_offline() {
    let stage = Stage::set("");
    echo(&stage.site.origin);
    let client = stage.client();
    client.run(async {
        let mut asked = connect(&client, "/echo", "websocket").await;
        assert_eq!(asked.status, 200);
        stage.daemon.ok(&["offline"]);
        assert!(has_ended(&mut asked.body).await);
    });
    drop(client);
    eventually("no client is connected", || stage.daemon.status()["connections"] == 0);
}
