//! Valid, extreme and invalid HTTP/2 responses.

use hyper::Method;

use super::scene::{
    CLOSE, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, OK, PING, SETTINGS, Scene,
    SceneRequest, WINDOW_UPDATE, field, frame, go_away, only, reset, status, whole,
};

/// A response whose head and body contradict each other.
fn at_odds(stream: u32, length: &str, body: &[u8]) -> Vec<u8> {
    let head = [vec![OK], field("content-length", length)].concat();
    [frame(HEADERS, END_HEADERS, stream, &head), frame(DATA, END_STREAM, stream, body)].concat()
}

type Row = (&'static str, fn(u32) -> Vec<u8>, &'static str);

const RULES: &str = "the response violates HTTP/2";

/// Sends two requests to the origin of each row, and checks that no request is sent again.
async fn check(rows: &[Row]) {
    let mut wrong = Vec::new();
    for (name, script, want) in rows {
        let script = *script;
        let scene = Scene::new(move |asked| script(asked.stream)).await;
        for method in [Method::POST, Method::GET] {
            let got = scene.request("a.test", method.clone()).await;
            if !got.starts_with(want) {
                wrong.push(format!("{name}, {method}: {got}"));
            }
        }
        if scene.requests() != 2 {
            wrong.push(format!("{name}: {} requests arrived, not 2", scene.requests()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn incomplete_response_is_a_failure() {
    let rows: &[Row] = &[
        ("a whole answer", whole, "200 fine"),
        ("an answer without body", |id| only("204", id), "204 "),
        ("a body too short", |id| at_odds(id, "10", b"short"), RULES),
        ("a body too long", |id| at_odds(id, "2", b"long"), RULES),
        ("a length of no number", |id| at_odds(id, "2x", b"ab"), RULES),
        (
            "two lengths",
            |id| {
                let head = [vec![OK], field("content-length", "2"), field("content-length", "3")];
                frame(HEADERS, END_HEADERS | END_STREAM, id, &head.concat())
            },
            RULES,
        ),
        (
            "no error in mid body",
            |id| {
                [frame(HEADERS, END_HEADERS, id, &[OK]), frame(DATA, 0, id, b"a"), reset(id, 0)]
                    .concat()
            },
            "the origin ended the exchange",
        ),
        (
            "a reset in mid body",
            |id| {
                [frame(HEADERS, END_HEADERS, id, &[OK]), frame(DATA, 0, id, b"a"), reset(id, 8)]
                    .concat()
            },
            "the origin ended the exchange",
        ),
        (
            "refused in mid body",
            |id| {
                [frame(HEADERS, END_HEADERS, id, &[OK]), frame(DATA, 0, id, b"a"), reset(id, 7)]
                    .concat()
            },
            "the origin ended the exchange",
        ),
        (
            "an end in mid body",
            |id| {
                [frame(HEADERS, END_HEADERS, id, &[OK]), frame(DATA, 0, id, b"a"), CLOSE.to_vec()]
                    .concat()
            },
            "the connection ended before the response was complete",
        ),
        (
            "gone away in mid body",
            |id| {
                let begun =
                    [frame(HEADERS, END_HEADERS, id, &[OK]), frame(DATA, 0, id, b"a")].concat();
                [begun, go_away(id, 2), CLOSE.to_vec()].concat()
            },
            "the connection ended before the response was complete",
        ),
        (
            "an end in place of a head",
            |_| CLOSE.to_vec(),
            "the connection ended before the response was complete",
        ),
    ];
    check(rows).await;
}

#[tokio::test]
async fn an_invalid_http_2_response_is_refused() {
    let rows: &[Row] = &[
        ("a fault of its own", |id| reset(id, 2), "the origin ended the exchange"),
        (
            "a field of HTTP/1.1",
            |id| {
                let head = [vec![OK], field("connection", "close")].concat();
                frame(HEADERS, END_HEADERS | END_STREAM, id, &head)
            },
            RULES,
        ),
        (
            "a name in capitals",
            |id| {
                frame(
                    HEADERS,
                    END_HEADERS | END_STREAM,
                    id,
                    &[vec![OK], field("X-A", "1")].concat(),
                )
            },
            RULES,
        ),
        ("no status", |id| frame(HEADERS, END_HEADERS | END_STREAM, id, &field("x-a", "1")), RULES),
        (
            "another protocol",
            |id| frame(HEADERS, END_HEADERS, id, &status("101")),
            "the response is invalid: it switches to a protocol that was not requested",
        ),
        (
            "a window beyond all bounds",
            |id| {
                let update = frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes());
                [update, whole(id)].concat()
            },
            RULES,
        ),
        ("a frame too large", |id| frame(DATA, 0, id, &vec![0; 20_000]), RULES),
    ];
    check(rows).await;
}

#[tokio::test]
#[ignore = "slow"]
async fn unusual_responses_have_one_interpretation() {
    let rows: &[Row] = &[
        (
            "a length beside no body, as with 304",
            |id| {
                let head = [status("304"), field("content-length", "100")].concat();
                frame(HEADERS, END_HEADERS | END_STREAM, id, &head)
            },
            "304 ",
        ),
        (
            "an interim answer that is the end",
            |id| frame(HEADERS, END_HEADERS | END_STREAM, id, &status("103")),
            RULES,
        ),
        (
            "trailers that are not the end",
            |id| {
                let head = frame(HEADERS, END_HEADERS, id, &[OK]);
                [head, frame(HEADERS, END_HEADERS, id, &field("x-a", "1"))].concat()
            },
            RULES,
        ),
        ("a body without a head", |id| frame(DATA, END_STREAM, id, b"body"), RULES),
        ("a head of nobody's", |id| [only("200", id + 2), whole(id)].concat(), RULES),
        ("a push", |id| frame(5, END_HEADERS, id, &[&[0, 0, 0, 2][..], &[0x82]].concat()), RULES),
        ("a status of letters", |id| only("abc", id), RULES),
        ("a status of two digits", |id| only("99", id), RULES),
        ("a status of four digits", |id| only("2000", id), RULES),
        ("two statuses", |id| frame(HEADERS, END_HEADERS | END_STREAM, id, &[OK, OK]), RULES),
        (
            "gone away before the head, with this request taken",
            |id| [go_away(id, 2), CLOSE.to_vec()].concat(),
            "the connection ended before the response was complete",
        ),
        (
            "a line break in a value",
            |id| {
                let head = [vec![OK], field("x-a", "1\r\nx-b: 2")].concat();
                frame(HEADERS, END_HEADERS | END_STREAM, id, &head)
            },
            RULES,
        ),
    ];
    check(rows).await;
}

#[tokio::test]
async fn a_response_before_the_end_of_the_request_body_is_valid() {
    for (name, reason) in
        [("and reads on", None), ("and wants no more", Some(0)), ("and cancels", Some(8))]
    {
        let script = move |asked: SceneRequest| {
            let end = reason.map(|reason| reset(asked.stream, reason));
            [whole(asked.stream), end.unwrap_or_default()].concat()
        };
        let scene = Scene::new(script).await;
        assert_eq!(scene.request("a.test", Method::PUT).await, "200 fine", "{name}");
        assert_eq!(scene.request("a.test", Method::GET).await, "200 fine", "{name}");
        assert_eq!((scene.requests(), scene.spoken().len()), (2, 1), "{name}");
    }
}

#[tokio::test]
async fn floods_are_tolerated_or_end_the_exchange() {
    let rows: [Row; 7] = [
        ("pings", |id| [frame(PING, 0, 0, &[0; 8]).repeat(20_000), whole(id)].concat(), "200 fine"),
        (
            "settings",
            |id| [frame(SETTINGS, 0, 0, &[]).repeat(20_000), whole(id)].concat(),
            "200 fine",
        ),
        (
            "empty data",
            |id| {
                let head = frame(HEADERS, END_HEADERS, id, &[OK]);
                [head, frame(DATA, 0, id, &[]).repeat(200_000)].concat()
            },
            "the response violates HTTP/2",
        ),
        (
            "a head without end",
            |id| {
                let more = frame(CONTINUATION, 0, id, &field("x-a", &"a".repeat(100)).repeat(100));
                [frame(HEADERS, 0, id, &[OK]), more.repeat(1_000)].concat()
            },
            "the response violates HTTP/2",
        ),
        (
            "a head in empty pieces",
            |id| {
                [frame(HEADERS, 0, id, &[OK]), frame(CONTINUATION, 0, id, &[]).repeat(100_000)]
                    .concat()
            },
            "the response violates HTTP/2",
        ),
        (
            "too many fields",
            |id| {
                let head = [vec![OK], field("x-a", "1").repeat(1_000)].concat();
                frame(HEADERS, END_HEADERS | END_STREAM, id, &head)
            },
            "the response is invalid: it has more fields than are accepted",
        ),
        (
            "interim answers",
            |id| frame(HEADERS, END_HEADERS, id, &status("103")).repeat(10_000),
            "the response is invalid: it sends only interim responses",
        ),
    ];
    let mut wrong = Vec::new();
    for (name, script, want) in rows {
        let scene = Scene::new(move |asked| script(asked.stream)).await;
        let got = scene.request("a.test", Method::POST).await;
        if !got.starts_with(want) {
            wrong.push(format!("{name}: {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
