//! Each limit of `docs/limits.md` that a single message can reach. A message just within the limit
//! passes. A message beyond it gets the response that the table names.

use std::time::Duration;

use crate::harness::daemon::AS_PERSON;
use crate::harness::{Answer, Client, Daemon, Origin};

/// The status of the response to a request, even if only a part of the request can be sent.
fn status(daemon: &Daemon, request: &str) -> u16 {
    let mut client = daemon.client();
    // If the daemon refuses the request early, the rest cannot be sent.
    let _sent = client.try_send(request);
    client.receive("GET").status
}

#[test]
fn a_request_beyond_its_bounds_is_refused_with_the_reason() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for path in ["/a", "/form"] {
        origin.on(path, |exchange| {
            exchange.body()?;
            exchange.answer(&Answer::html("taken"))
        });
    }
    let fields = |number: usize| "X-Field: 1\r\n".repeat(number);
    let get = |method: &str, rest: &str| {
        format!("{method} {} HTTP/1.1\r\nHost: {}\r\n{rest}\r\n", origin.url("/a"), origin.addr)
    };
    let chunked = |chunk: &str| {
        format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}\r\n0\r\n\r\n",
            origin.url("/form"),
            origin.addr
        )
    };
    let padding = |bytes: usize| format!("X-Long: {}\r\n", "x".repeat(bytes));
    for (what, request, want) in [
        ("256 fields", get("GET", &fields(255)), 200),
        ("257 fields", get("GET", &fields(256)), 431),
        ("a head of 1 MB", get("GET", &padding(1_000_000)), 200),
        // The bound is looked at between two reads of up to 1 MiB each.
        ("a head of 3 MB", get("GET", &padding(3_000_000)), 431),
        // The request is well-formed, but its method is not registered.
        ("a method of 64 bytes", get(&"M".repeat(64), ""), 501),
        ("a method of 65 bytes", get(&"M".repeat(65), ""), 400),
        ("two empty lines", format!("\r\n\r\n{}", get("GET", "")), 200),
        ("three empty lines", format!("\r\n\r\n\r\n{}", get("GET", "")), 400),
        ("15 digits of a chunk's size", chunked("000000000000003\r\nabc"), 200),
        ("16 digits of a chunk's size", chunked("0000000000000003\r\nabc"), 400),
        ("1 KiB of a chunk's extension", chunked(&format!("3;{}\r\nabc", "e".repeat(1_000))), 200),
        ("more of it", chunked(&format!("3;{}\r\nabc", "e".repeat(1_100))), 400),
    ] {
        assert_eq!(status(&daemon, &request), want, "{what}");
    }
}

#[test]
fn an_oversized_form_is_streamed_online_and_refused_offline() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/form", |exchange| {
        let length = exchange.body()?.len();
        exchange.answer(&Answer::html(length.to_string()))
    });
    let post = |length: usize| {
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\n{AS_PERSON}Content-Length: {length}\r\n\r\n",
            origin.url("/form"),
            origin.addr
        );
        let mut client = daemon.client();
        let _sent = client.try_send(head + &"f".repeat(length));
        client.receive("POST")
    };
    let (within, beyond) = (256 * 1024, 256 * 1024 + 1);
    for length in [within, beyond] {
        assert_eq!(post(length).whole().text(), length.to_string());
    }
    daemon.ok(&["offline"]);
    assert_eq!(post(beyond).status, 413);
    assert_eq!(daemon.queue().len(), 0);
}

/// Sending a form may take one second for each 16 bytes. So the daemon stops reading a form that is
/// sent byte by byte.
#[test]
#[ignore = "slow"]
fn a_form_sent_too_slowly_times_out() {
    let config = "[options]\nsocket-timeout = \"1s\"\n";
    let (daemon, origin) = (Daemon::configured(config), Origin::start());
    let mut client = daemon.client();
    client.send(format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Length: 32\r\n\r\n",
        origin.url("/form"),
        origin.addr
    ));
    // Each pause is shorter than the idle timeout. The whole form may take two seconds, and would
    // take more than six.
    client.patience(Duration::from_millis(200));
    let mut sent = 0;
    let refused = loop {
        assert!(sent < 32, "the whole form was accepted at five bytes a second");
        let _sent = client.try_send("f");
        sent += 1;
        if let Ok(response) = client.try_receive("POST") {
            break response;
        }
    };
    assert_eq!(refused.status, 408);
    assert_eq!(origin.count("/form"), 0);
}

#[test]
fn an_oversized_response_head_is_not_forwarded() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let with = |number: usize, length: usize| {
        let value = "v".repeat(length);
        // The fields Date, Content-Type and Content-Length count too.
        (3..number).fold(Answer::html("page"), |answer, _| answer.field("X-Field", &value))
    };
    for (what, answer, want) in [
        ("256-fields", with(256, 1), 200),
        ("257-fields", with(257, 1), 502),
        ("200-kB", with(104, 2_000), 200),
        ("300-kB", with(154, 2_000), 502),
    ] {
        let path = format!("/{what}");
        origin.say(&path, answer);
        assert_eq!(daemon.get(&origin.url(&path)).status, want, "{what}");
    }
}

#[test]
fn a_request_for_too_many_ranges_gets_the_whole_body() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.say("/r", Answer::html("0123456789").field("Cache-Control", "max-age=1000"));
    let ranges = |number: usize| {
        let all: Vec<_> = (0..number).map(|_| "0-0").collect();
        format!("Range: bytes={}\r\n", all.join(","))
    };
    let url = origin.url("/r");
    assert_eq!(daemon.get(&url).whole().status, 200);
    let mut client: Client = daemon.client();
    assert_eq!(client.get_with(&url, "Range: bytes=0-0\r\n").whole().status, 206);
    assert_eq!(client.get_with(&url, &ranges(129)).whole().text(), "0123456789");
}
