use super::Gate;
use super::cases::{BAD_BODIES, BAD_HEADS, get, post};

macro_rules! chunked {
    ($body:literal) => {
        concat!("POST http://h/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", $body)
    };
}

/// Valid input, which must pass unchanged.
const SOUND: &[&str] = &[
    get!("\r\n"),
    get!("X-A:\r\nX-B: \t a b \t\r\nX-C: \u{e9}\r\n\r\n"),
    "GET / HTTP/1.0\r\n\r\n",
    "GET / HTTP/1.1\r\nhOsT:\t h:80 \t\r\n\r\n",
    "GET / HTTP/1.1\r\nHost:\r\n\r\n",
    "GET http://[::1]/ HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n",
    "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
    "\r\n\r\nFROB / HTTP/1.1\r\nHost: h\r\n\r\n",
    // Pipelined requests, with and without bodies.
    get!("\r\nGET http://h/2 HTTP/1.1\r\nHost: h\r\n\r\n"),
    post!("Content-Length: 5\r\n\r\nhello\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    post!("Content-Length: 5\r\n\r\n\0\r\n\0\nPOST / HTTP/1.0\r\nContent-Length: 0\r\n\r\n"),
    post!("Content-Length:  0005 \r\n\r\nhello"),
    post!("transfer-encoding: cHuNkEd \r\n\r\n5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.0\r\n\r\n"),
    chunked!("5;a=b;c=\"d\"\r\nhello\r\nA ;x\r\n0123456789\r\n0\r\n\r\n"),
    chunked!("00000a\r\n\0\r\n\r\n\0\r\n\0\0\r\n0\r\nHost: x\r\nX-Trailer: 1\r\n\r\n"),
    // After a CONNECT or an `Upgrade`, bytes of another protocol.
    "CONNECT h:443 HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n\0\n\0 not HTTP",
    get!("Connection: upgrade\r\nUpgrade: websocket\r\n\r\n\0\n\0 not HTTP"),
    post!("Upgrade: x\r\nContent-Length: 2\r\n\r\nab\0\n\0 not HTTP"),
];

/// The output for an input in pieces, and the reason of a refusal.
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

/// All ways to split the bytes: whole, one by one, and in two at any position.
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
fn valid_requests_are_unchanged_in_any_pieces() {
    for row in SOUND {
        for pieces in ways(row.as_bytes()) {
            assert_eq!(through(pieces.clone()), (row.as_bytes().to_vec(), None), "{pieces:?}");
        }
    }
}

#[test]
fn invalid_requests_are_stopped_at_a_nul_in_any_pieces() {
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
fn an_invalid_request_after_valid_ones_is_stopped() {
    for (bad, _) in BAD_HEADS.iter().filter(|(bad, _)| !bad.starts_with('\r')) {
        for sound in [get!("\r\n"), chunked!("5\r\nhello\r\n0\r\n\r\n")] {
            let (out, why) = through([format!("{sound}{bad}").as_bytes()]);
            assert!(why.is_some() && out.starts_with(sound.as_bytes()), "{sound:?} {bad:?}");
        }
    }
}

#[test]
#[ignore = "slow"]
fn long_head_parts_are_accepted() {
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
fn a_chunk_extension_is_limited() {
    let sent = |length| format!("{}{}\r\n", chunked!("1;"), "a".repeat(length));
    assert_eq!(through([sent(1024).as_bytes()]).1, None);
    for size in [1, 100, 10_000] {
        assert!(through(sent(1025).as_bytes().chunks(size)).1.is_some());
    }
}

/// Enumerates all inputs of a small space instead of sampling, so that every failure can be
/// reproduced.
#[test]
fn valid_requests_pass_unchanged() {
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
