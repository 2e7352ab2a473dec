//! Tests of the test tools. A client without the proxy gets the whole site, the same each time, and
//! detects every fault. Without these tests, the cause of a failing test could be the tools.

use crate::harness::faults::ALL;
use crate::harness::form::{encode, form, unescape};
use crate::harness::site::{self, Check};
use crate::harness::{Client, Origin, Response};

#[track_caller]
fn direct(client: &mut Client, path: &str, fields: &str) -> Response {
    client.send(format!("GET {path} HTTP/1.1\r\nHost: origin\r\n{fields}\r\n"));
    client.receive("GET")
}

#[test]
fn the_origin_serves_its_site_in_every_framing() {
    let origin = Origin::start();
    let mut framings = [0; 3];
    for path in site::paths() {
        let response = direct(&mut Client::connect(origin.addr), &path, "").whole();
        let want = site::answer(&path).unwrap();
        assert_eq!(response.status, want.status, "{path}");
        assert!(response.body == want.body, "{path}");
        let framing = ["Content-Length", "Transfer-Encoding", "Connection"]
            .iter()
            .position(|name| response.fields.has(name));
        if let Some(framing) = framing {
            framings[framing] += 1;
        }
    }
    assert!(framings.iter().all(|count| *count > 20), "{framings:?}");
}

#[test]
fn the_test_origin_supports_conditions_trailers_and_hints() {
    let origin = Origin::start();
    let mut client = Client::connect(origin.addr);
    let tag = "If-None-Match: \"tag-1\"\r\n";
    assert_eq!(direct(&mut client, "/tagged/1.txt", tag).status, 304);
    let since = "If-Modified-Since: Sat, 01 Nov 2025 10:00:00 GMT\r\n";
    assert_eq!(direct(&mut client, "/tagged/1.txt", since).status, 304);
    assert_eq!(direct(&mut client, "/trailer/1.txt", "").trailers.get("X-Sum"), Some("sum-1"));
    assert_eq!(direct(&mut client, "/hinted/1.html", "").interim[0].status, 103);
    assert_eq!((origin.seen().len(), origin.connections()), (4, 1));
}

#[test]
fn a_big_file_is_checked_to_its_last_byte() {
    let origin = Origin::start();
    let mut client = Client::connect(origin.addr);
    client.send("GET /big/1000001 HTTP/1.1\r\nHost: origin\r\n\r\n");
    let (mut check, mut bytes) = (Check::new(), Vec::new());
    let take = |piece: &[u8]| {
        check.take(piece);
        bytes.extend_from_slice(piece);
    };
    client.try_stream("GET", take).unwrap().whole();
    assert_eq!((check.seen, check.wrong), (1_000_001, None));
    bytes[1_000_000] ^= 1;
    let mut check = Check::new();
    check.take(&bytes);
    assert!(check.wrong.is_some());
}

#[test]
fn every_fault_is_seen_by_the_client() {
    let origin = Origin::start();
    for fault in ALL.into_iter().filter(|fault| !fault.misleads()) {
        origin.on("/fault", move |exchange| fault.act(exchange));
        let mut client = Client::connect(origin.addr);
        client.send("GET /fault HTTP/1.1\r\nHost: origin\r\n\r\n");
        match client.try_receive("GET") {
            Ok(response) => assert!(fault.has_head() && response.whole.is_err(), "{fault:?}"),
            Err(broken) => assert!(!fault.has_head(), "{fault:?}: {broken:?}"),
        }
    }
}

#[test]
fn an_origin_can_be_stopped_and_started_on_its_port() {
    let mut origin = Origin::start();
    for _ in 0..3 {
        let mut client = Client::connect(origin.addr);
        assert_eq!(direct(&mut client, "/page/0.html", "").status, 200);
        origin.stop();
        assert!(std::net::TcpStream::connect(origin.addr).is_err());
        assert!(matches!(client.head(), Ok(None) | Err(_)), "its connections are closed");
        origin.restart();
    }
}

#[test]
fn forms_are_read_as_a_browser_reads_them() {
    let html = "<form action=/other><input name=a></form>\n\
        <form method=\"post\" action=\"/control/x?a=1&amp;b\">\n\
        <input type='hidden' name='token' value='&lt;&#34;&#x27;&quot;'>\n<button>Go</button></form>\
        <form method=post><input name=a value=1><button formaction=/one>1</button>\
        <button formaction=/two name=b value=2>2</button></form>";
    assert_eq!(form(html, "/one").body(), "a=1");
    assert_eq!(form(html, "/two").body(), "a=1&b=2");
    let form = form(html, "/control/");
    assert_eq!((form.method.as_str(), form.action.as_str()), ("POST", "/control/x?a=1&b"));
    assert_eq!(form.value("token"), Some("<\"'\""));
    assert_eq!(form.body(), "token=%3C%22%27%22");
    assert_eq!(unescape("a & b &nope; &amp;amp;"), "a & b &nope; &amp;");
    assert_eq!(encode("ä /"), "%C3%A4+%2F");
}
