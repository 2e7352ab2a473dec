//! Equivalent HTTP/2 messages become the same HTTP/1.1 message when the proxy forwards them.

use crate::harness::frames::{DATA, END_HEADERS, END_STREAM, Frames, HEADERS, frame, hpack};
use crate::harness::{Answer, eventually};
use crate::tls::http2::Stage;

/// The head of a request, in HPACK.
fn head(method: &str, host: &str, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let pseudo = [(":method", method), (":scheme", "https"), (":authority", host), (":path", path)];
    hpack(&[&pseudo, more].concat())
}

fn frames(stage: &Stage) -> Frames {
    Frames::inside(stage.daemon.addr(), &stage.host(), &stage.trust)
}

#[test]
fn content_length_is_sent_once_as_a_number() {
    let stage = Stage::set("");
    let (origin, host) = (&stage.site.origin, stage.host());
    origin.on("/form", |exchange| {
        let body = exchange.body()?.to_vec();
        exchange.answer(&Answer::new(200, "text/plain", body))
    });
    let twice = [("content-length", "3"), ("content-length", "3")];
    let unlike = [("content-length", "3"), ("content-length", "003")];
    let padded = [("content-length", "0003")];
    for fields in [&twice[..], &unlike, &padded] {
        for method in ["PUT", "POST", "GET"] {
            let mut client = frames(&stage);
            let block = head(method, &host, "/form", fields);
            client.send(&frame(HEADERS, END_HEADERS, 1, &block)).unwrap();
            client.send(&frame(DATA, END_STREAM, 1, b"abc")).unwrap();
            assert_eq!(client.until(DATA).payload, b"abc", "{method} {fields:?}");
            let seen = origin.asked("/form").pop().unwrap();
            assert_eq!(seen.fields.all("Content-Length"), ["3"], "{method} {fields:?}");
            assert!(!seen.fields.has("Transfer-Encoding"), "{method} {fields:?}");
        }
    }
    // Requests without a body, and with a length that is redundant or repeated.
    origin.say("/nothing", Answer::html("none"));
    let asked = |fields: &[(&str, &str)]| {
        let mut client = frames(&stage);
        let block = head("DELETE", &host, "/nothing", fields);
        client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &block)).unwrap();
        assert_eq!(client.until(DATA).payload, b"none", "{fields:?}");
        let seen = origin.asked("/nothing").pop().unwrap();
        seen.fields.all("Content-Length").iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    for fields in [
        &[("content-length", "")][..],
        &[("content-length", "00")],
        &[("content-length", "0"), ("content-length", "")],
    ] {
        let said = asked(fields);
        assert!(said.is_empty() || said == ["0"], "{fields:?}: {said:?}");
    }
}

#[test]
fn an_ambiguous_field_is_refused() {
    let stage = Stage::set("");
    let host = stage.host();
    let (mut client, mut stream) = (frames(&stage), 1);
    for (name, value) in [
        ("x-a", "1\r\nx-b: 2"),
        ("x-a", "1\nx-b: 2"),
        ("x-a", "1\0"),
        ("x a", "1"),
        ("x:a", "1"),
        ("x-a\r\nx-b", "1"),
        ("", "1"),
    ] {
        let block = head("GET", &host, "/split", &[(name, value)]);
        client.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &block)).unwrap();
        let refused = client.until_refused();
        assert_ne!(refused.error(), 0, "{name:?}: {value:?}");
        (client, stream) = (frames(&stage), 1);
    }
    for path in ["split", "/a b", "/a\r\nb", "/a\tb", "@h.example/", ":8443/", "//\u{0}"] {
        let block = head("GET", &host, path, &[]);
        client.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &block)).unwrap();
        assert_ne!(client.until_refused().error(), 0, "{path:?}");
        (client, stream) = (frames(&stage), 1);
    }
    assert!(stage.site.origin.seen().is_empty());
}

#[test]
fn the_asterisk_target_is_valid_for_options_only() {
    let stage = Stage::set("");
    let (mut client, host) = (frames(&stage), stage.host());
    for (stream, method, want) in [(1, "OPTIONS", 0x89), (3, "GET", 0x8c), (5, "POST", 0x8c)] {
        let block = head(method, &host, "*", &[]);
        client.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &block)).unwrap();
        // 204 and 400 are in the static table (RFC 7541 §A).
        assert_eq!(client.until(HEADERS).payload[0], want, "{method}");
    }
    let mut plain = stage.daemon.client();
    plain.send("GET * HTTP/1.1\r\nHost: h.example\r\n\r\n");
    assert_eq!(plain.receive("GET").status, 400);
}

#[test]
fn the_number_of_fields_is_limited_as_over_http_1_1() {
    let stage = Stage::set("");
    stage.site.origin.say("/many", Answer::html("many"));
    let names: Vec<String> = (0..300).map(|number| format!("x-{number}")).collect();
    let fields: Vec<_> = names.iter().map(|name| (name.as_str(), "1")).collect();
    let client = stage.client();
    assert_eq!(client.get("/many", &fields[..200]).whole().status, 200);
    assert_eq!(client.get("/many", &fields).whole().status, 431);
    assert_eq!(stage.site.origin.count("/many"), 1);
}

#[test]
fn trailers_are_sent_without_connection_fields() {
    let stage = Stage::set("");
    stage.site.origin.say(
        "/sum",
        Answer::html("sum")
            .trailer("X-Sum", "3")
            .trailer("Connection", "close")
            .trailer("Keep-Alive", "timeout=5")
            .trailer("Content-Length", "77")
            .trailer("Transfer-Encoding", "chunked"),
    );
    for mode in ["online", "offline"] {
        stage.daemon.ok(&[mode]);
        let response = stage.client().get("/sum", &[("te", "trailers")]).whole();
        assert_eq!(response.text(), "sum", "{mode}");
        assert_eq!(response.trailers.get("x-sum"), Some("3"), "{mode}: {:?}", response.trailers);
        for name in ["connection", "keep-alive", "content-length", "transfer-encoding"] {
            assert!(!response.trailers.has(name), "{mode}: {name}");
        }
        stage.daemon.settle();
    }
    // Requests that are never stored use different code.
    stage.daemon.ok(&["online"]);
    let response = stage.client().ask("OPTIONS", "/sum", &[("te", "trailers")], None).whole();
    assert_eq!(response.trailers.get("x-sum"), Some("3"), "{:?}", response.trailers);
    eventually("no client is connected", || stage.daemon.status()["connections"] == 0);
}
