use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use super::Gate;
use crate::server::client_io::ClientIo;

macro_rules! get {
    ($fields:literal) => {
        concat!("GET http://h/ HTTP/1.1\r\nHost: h\r\n", $fields)
    };
}
macro_rules! post {
    ($fields:literal) => {
        concat!("POST http://h/ HTTP/1.1\r\nHost: h\r\n", $fields)
    };
}
macro_rules! chunked {
    ($body:literal) => {
        concat!("POST http://h/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", $body)
    };
}

/// What passes, whole and unchanged.
const SOUND: &[&str] = &[
    get!("\r\n"),
    get!("X-A:\r\nX-B: \t a b \t\r\nX-C: \u{e9}\r\n\r\n"),
    "GET / HTTP/1.0\r\n\r\n",
    "GET / HTTP/1.1\r\nhOsT:\t h:80 \t\r\n\r\n",
    "GET / HTTP/1.1\r\nHost:\r\n\r\n",
    "GET http://[::1]/ HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n",
    "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
    "\r\n\r\nFROB / HTTP/1.1\r\nHost: h\r\n\r\n",
    // Pipelined, with and without bodies.
    get!("\r\nGET http://h/2 HTTP/1.1\r\nHost: h\r\n\r\n"),
    post!("Content-Length: 5\r\n\r\nhello\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    post!("Content-Length: 5\r\n\r\n\0\r\n\0\nPOST / HTTP/1.0\r\nContent-Length: 0\r\n\r\n"),
    post!("Content-Length:  0005 \r\n\r\nhello"),
    post!("transfer-encoding: cHuNkEd \r\n\r\n5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.0\r\n\r\n"),
    chunked!("5;a=b;c=\"d\"\r\nhello\r\nA ;x\r\n0123456789\r\n0\r\n\r\n"),
    chunked!("00000a\r\n\0\r\n\r\n\0\r\n\0\0\r\n0\r\nHost: x\r\nX-Trailer: 1\r\n\r\n"),
    // Another protocol's bytes.
    "CONNECT h:443 HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n\0\n\0 not HTTP",
    get!("Connection: upgrade\r\nUpgrade: websocket\r\n\r\n\0\n\0 not HTTP"),
    post!("Upgrade: x\r\nContent-Length: 2\r\n\r\nab\0\n\0 not HTTP"),
];

/// Heads that are refused, and why.
const BAD_HEADS: &[(&str, &str)] = &[
    (post!("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "both"),
    (post!("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n"), "both"),
    (post!("Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"), "two lengths"),
    (post!("Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"), "two lengths"),
    (post!("Content-Length: 3, 3\r\n\r\nabc"), "cannot hold"),
    (post!("Content-Length: +3\r\n\r\nabc"), "cannot hold"),
    (post!("Content-Length: -3\r\n\r\nabc"), "cannot hold"),
    (post!("Content-Length: 0x3\r\n\r\nabc"), "cannot hold"),
    (post!("Content-Length: 1 0\r\n\r\n0123456789"), "cannot hold"),
    (post!("Content-Length: \r\n\r\n"), "not a number"),
    (post!("Content-Length:\u{b}5\r\n\r\nhello"), "control"),
    (post!("Content-Length: 9223372036854775808\r\n\r\n"), "too large"),
    (post!("Content-Length: 18446744073709551617\r\n\r\nx"), "too large"),
    (post!("Content-Length: 00000000000000000000000000000000000000001\r\n\r\nx"), "not a number"),
    (post!("Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"), "other than chunked"),
    (post!("Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"), "cannot hold"),
    (post!("Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), "cannot hold"),
    (post!("Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"), "cannot hold"),
    (post!("Transfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n"), "cannot hold"),
    (post!("Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"), "cannot hold"),
    (post!("Transfer-Encoding:\r\n\r\n"), "other than chunked"),
    (
        post!("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        "two transfer",
    ),
    ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "in HTTP/1.0"),
    ("CONNECT h:1 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello", "CONNECT with"),
    ("CONNECT h:1 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", "CONNECT with"),
    (get!("X-A: a\r\n b\r\n\r\n"), "white space before"),
    (get!("X-A: a\r\n\tb\r\n\r\n"), "white space before"),
    ("GET / HTTP/1.1\r\n Host: h\r\n\r\n", "white space before"),
    ("GET / HTTP/1.1\r\nHost : h\r\n\r\n", "name"),
    (get!(": value\r\n\r\n"), "name"),
    (get!("X@Bad: v\r\n\r\n"), "name"),
    (get!("X-B\u{e4}d: v\r\n\r\n"), "name"),
    (get!("no colon\r\n\r\n"), "name"),
    (get!("X-A: a\rX-B: b\r\n\r\n"), "CR without"),
    (get!("X-A: a\0b\r\n\r\n"), "control"),
    (get!("X-A: a\u{7f}b\r\n\r\n"), "control"),
    (get!("X-A: a\nX-B: b\r\n\r\n"), "LF without"),
    (get!("\n"), "name"),
    (get!("\r\r\n"), "CR without"),
    ("GET / HTTP/1.1\nHost: h\n\n", "version"),
    ("GET / HTTP/1.1\rHost: h\r\r", "CR without"),
    ("GET / HTTP/1.1\r\n\r\n", "no host"),
    ("GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", "two hosts"),
    ("GET / HTTP/1.0\r\nHost: h\r\nHost: i\r\n\r\n", "two hosts"),
    ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "cannot hold"),
    ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "cannot hold"),
    ("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", "cannot hold"),
    (" GET / HTTP/1.1\r\nHost: h\r\n\r\n", "method"),
    ("\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", "method"),
    ("\rGET / HTTP/1.1\r\nHost: h\r\n\r\n", "CR without"),
    ("\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", "method"),
    ("G(ET / HTTP/1.1\r\nHost: h\r\n\r\n", "method"),
    (
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\r\n\r\n",
        "method is too long",
    ),
    ("GET\t/\tHTTP/1.1\r\nHost: h\r\n\r\n", "method"),
    ("GET HTTP/1.1\r\nHost: h\r\n\r\n", "target"),
    ("GET  / HTTP/1.1\r\nHost: h\r\n\r\n", "target"),
    ("GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n", "target"),
    ("GET /\r\n", "target"),
    ("GET / x HTTP/1.1\r\nHost: h\r\n\r\n", "version"),
    ("GET / HTTP/1.1 \r\nHost: h\r\n\r\n", "version"),
    ("GET / HTTP/1.2\r\nHost: h\r\n\r\n", "version"),
    ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", "version"),
    ("GET / HTTP/1.10\r\nHost: h\r\n\r\n", "version"),
    ("GET / HTTP/1.\r\nHost: h\r\n\r\n", "version"),
    ("GET / http/1.1\r\nHost: h\r\n\r\n", "version"),
    ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "version"),
    ("\u{5}\u{1}\0", "method"),
    (post!("Upgrade: x\r\nContent-Length: 3, 3\r\n\r\nabc"), "cannot hold"),
];

/// Bodies that are refused, and why.
const BAD_BODIES: &[(&str, &str)] = &[
    (chunked!("g\r\n"), "not a number"),
    (chunked!("\r\n"), "not a number"),
    (chunked!(";a\r\n"), "not a number"),
    (chunked!(" 5\r\nhello\r\n0\r\n\r\n"), "not a number"),
    (chunked!("+5\r\nhello\r\n0\r\n\r\n"), "not a number"),
    (chunked!("-5\r\nhello\r\n0\r\n\r\n"), "not a number"),
    (chunked!("0x5\r\nhello\r\n0\r\n\r\n"), "not a number"),
    (chunked!("5 \r\nhello\r\n0\r\n\r\n"), "beside"),
    (chunked!("1000000000000000\r\n"), "too long"),
    (chunked!("5\nhello\r\n0\r\n\r\n"), "not a number"),
    (chunked!("5;a\nhello\r\n0\r\n\r\n"), "beside"),
    (chunked!("5;a\rb\r\nhello\r\n0\r\n\r\n"), "CRLF"),
    (chunked!("5;a\0\r\nhello\r\n0\r\n\r\n"), "beside"),
    (chunked!("3\r\nhello\r\n0\r\n\r\n"), "CRLF"),
    (chunked!("5\r\nhello0\r\n\r\n"), "CRLF"),
    (chunked!("5\r\nhelloXX0\r\n\r\n"), "CRLF"),
    (chunked!("5\r\nhello\n0\r\n\r\n"), "CRLF"),
    (chunked!("0\r\nX-T : 1\r\n\r\n"), "name"),
    (chunked!("0\r\nX-T: 1\r\n 2\r\n\r\n"), "white space before"),
    (chunked!("0\r\nX-T: 1\n\r\n"), "LF without"),
];

/// What comes out when `sent` comes in as these pieces, and why it was refused.
fn through<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, Option<&'static str>) {
    let (mut gate, mut out) = (Gate::default(), Vec::new());
    for piece in pieces {
        let mut piece = piece.to_vec();
        let passed = gate.pass(&mut piece);
        assert!(gate.refused().is_some() || passed == piece.len());
        out.extend_from_slice(&piece[..passed]);
    }
    (out, gate.refused())
}

/// All ways in which bytes may come: whole, one by one, and cut in two anywhere.
fn ways(bytes: &[u8]) -> Vec<Vec<&[u8]>> {
    let cut = |at| {
        let (left, right) = bytes.split_at(at);
        vec![left, right]
    };
    let mut ways: Vec<_> = (0..=bytes.len()).map(cut).collect();
    ways.push(bytes.chunks(1).collect());
    ways
}

#[test]
fn sound_requests_pass_unchanged_however_they_are_cut() {
    for row in SOUND {
        for pieces in ways(row.as_bytes()) {
            assert_eq!(through(pieces.clone()), (row.as_bytes().to_vec(), None), "{pieces:?}");
        }
    }
}

#[test]
fn unsound_requests_are_stopped_at_a_nul_however_they_are_cut() {
    for (row, want) in BAD_HEADS.iter().chain(BAD_BODIES) {
        for pieces in ways(row.as_bytes()) {
            let (out, why) = through(pieces.clone());
            assert!(why.is_some_and(|why| why.contains(want)), "{row:?}: {why:?}");
            let (last, before) = out.split_last().unwrap();
            assert_eq!(*last, 0, "{pieces:?}");
            assert!(row.as_bytes().starts_with(before), "{pieces:?}");
        }
    }
}

#[test]
fn a_bad_request_behind_sound_ones_is_stopped() {
    for (bad, _) in BAD_HEADS.iter().filter(|(bad, _)| !bad.starts_with('\r')) {
        for sound in [get!("\r\n"), chunked!("5\r\nhello\r\n0\r\n\r\n")] {
            let (out, why) = through([format!("{sound}{bad}").as_bytes()]);
            assert!(why.is_some() && out.starts_with(sound.as_bytes()), "{sound:?} {bad:?}");
        }
    }
}

#[test]
fn long_parts_pass() {
    let body = vec![b'\n'; 1_000_000];
    let mut sent = Vec::new();
    sent.extend_from_slice(post!("Content-Length: 1000000\r\n\r\n").as_bytes());
    sent.extend_from_slice(&body);
    sent.extend_from_slice(chunked!("F4240\r\n").as_bytes());
    sent.extend_from_slice(&body);
    sent.extend_from_slice(b"\r\n0\r\n\r\nGET /");
    sent.extend(std::iter::repeat_n(b'a', 1_000_000));
    sent.extend_from_slice(b" HTTP/1.1\r\nHost: h\r\nX: ");
    sent.extend(std::iter::repeat_n(b'a', 1_000_000));
    sent.extend_from_slice(b"\r\n\r\n");
    for size in [1, 7, 8192, sent.len()] {
        assert!(through(sent.chunks(size)) == (sent.clone(), None), "pieces of {size}");
    }
}

#[test]
fn an_extension_has_an_end() {
    let sent = |length| format!("{}{}\r\n", chunked!("1;"), "a".repeat(length));
    assert_eq!(through([sent(1024).as_bytes()]).1, None);
    for size in [1, 100, 10_000] {
        assert!(through(sent(1025).as_bytes().chunks(size)).1.is_some());
    }
}

/// Steps through all of a small space, rather than at random: every failure can be run again.
#[test]
fn what_the_parser_takes_and_is_sound_passes_unchanged() {
    let methods = ["GET", "HEAD", "POST", "OPTIONS", "M-SEARCH", "x!#$%&'*+-.^_`|~"];
    let targets = ["/", "*", "http://h/?a=b&c=%20", "http://u:p@h:1/{}|\\^`\"<>", "/\u{e9}"];
    let hosts = ["Host: h", "HOST:h.example:65535", "host: \t[2001:db8::1]:1\t"];
    let others =
        ["", "A: b\r\n", "Content-Length-X: -1\r\n", "X: \t\"q\\\"\" \u{fc}\t\r\nTE: t\r\n"];
    let bodies =
        ["\r\n", "Content-Length: 3\r\n\r\nabc", "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n"];
    for (method, target) in methods.iter().flat_map(|m| targets.map(|t| (m, t))) {
        for (host, other) in hosts.iter().flat_map(|h| others.map(|o| (h, o))) {
            for body in bodies {
                let sent = format!("{method} {target} HTTP/1.1\r\n{other}{host}\r\n{other}{body}");
                let mut fields = [httparse::EMPTY_HEADER; 8];
                let taken = httparse::Request::new(&mut fields).parse(sent.as_bytes());
                assert!(taken.is_ok_and(|taken| taken.is_complete()), "{sent:?}");
                let twice = sent.repeat(2).into_bytes();
                assert_eq!(through([&twice[..]]), (twice.clone(), None), "{sent:?}");
                assert_eq!(through(twice.chunks(3)), (twice.clone(), None), "{sent:?}");
            }
        }
    }
}

/// What hyper makes of bytes that come at most `size` at a time: its answer, how many requests it
/// made of them, and how many of those had a whole body.
async fn served(sent: &[u8], size: usize) -> (String, usize, usize) {
    let (client, server) = duplex(size);
    let (begun, whole) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let service = service_fn(|request: Request<Incoming>| {
        begun.fetch_add(1, Ordering::Relaxed);
        let whole = &whole;
        async move {
            if request.into_body().collect().await.is_ok() {
                whole.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        }
    });
    let io = TokioIo::new(ClientIo::new(server, Duration::from_secs(60)).gated());
    let serving = http1::Builder::new().serve_connection(io, service);
    let (mut reading, mut writing) = tokio::io::split(client);
    let mut answer = Vec::new();
    // The server hangs up in the middle, so none of these need succeed.
    let _ended = tokio::join!(serving, writing.write_all(sent), reading.read_to_end(&mut answer));
    (String::from_utf8(answer).unwrap(), begun.into_inner(), whole.into_inner())
}

#[tokio::test]
async fn hyper_answers_400_to_a_bad_head_and_makes_no_request_of_it() {
    for (row, _) in BAD_HEADS {
        for size in [1, 2, 7, 4096] {
            let (answer, begun, _) = served(row.as_bytes(), size).await;
            assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{row:?}: {answer:?}");
            assert_eq!((begun, answer.matches("HTTP/").count()), (0, 1), "{row:?} by {size}");
        }
    }
}

#[tokio::test]
async fn hyper_finds_no_whole_request_in_a_bad_body() {
    for (row, _) in BAD_BODIES {
        for size in [1, 2, 7, 4096] {
            let (_, begun, whole) = served(row.as_bytes(), size).await;
            assert_eq!((begun, whole), (1, 0), "{row:?} by {size}");
        }
    }
}

#[tokio::test]
async fn requests_before_a_bad_one_are_answered() {
    let sent = [get!("\r\n"), post!("Content-Length: 2\r\n\r\nab"), "GET / HTTP/1.1\r\n\r\n"];
    for size in [1, 7, 4096] {
        let (answer, begun, whole) = served(sent.concat().as_bytes(), size).await;
        assert_eq!((begun, whole), (2, 2), "{answer:?}");
        assert_eq!(answer.matches("200 OK").count(), 2, "{answer:?}");
        assert_eq!(answer.matches("400 Bad Request").count(), 1, "{answer:?}");
    }
}
