//! Invalid requests, shared by the tests of the gate and of client connections.

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

/// Refused heads, and a part of the reason.
pub(crate) const BAD_HEADS: &[(&str, &str)] = &[
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

/// Refused bodies, and a part of the reason.
pub(crate) const BAD_BODIES: &[(&str, &str)] = &[
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

pub(crate) use get;
pub(crate) use post;
