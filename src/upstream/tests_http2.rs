//! Origins of HTTP/2 that keep the rules, bend them and break them.

use std::sync::Arc;
use std::time::Duration;

use hyper::{Method, Request};
use tokio::io::AsyncReadExt;

use super::message::Message;
use super::multiplexed::{Refusal, Shared};
use super::registry::{Registry, Route};
use super::scene::{
    Asked, CLOSE, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, OK, PING, SETTINGS, Scene,
    WINDOW_UPDATE, field, frame, go_away, limits, only, reset, status, whole,
};
use super::{Dialer, Failure, Origin, Outbound, Scheme, Secured};
use crate::mode::{Mode, ModeSwitch};
use crate::server::tasks::Tasks;

/// A head and a body that are at odds.
fn at_odds(stream: u32, length: &str, body: &[u8]) -> Vec<u8> {
    let head = [vec![OK], field("content-length", length)].concat();
    [frame(HEADERS, END_HEADERS, stream, &head), frame(DATA, END_STREAM, stream, body)].concat()
}

type Row = (&'static str, fn(u32) -> Vec<u8>, &'static str);

const RULES: &str = "the answer breaks the rules of HTTP/2";

/// Asks an origin for each row twice: nothing is ever sent again by itself.
async fn check(rows: &[Row]) {
    let mut wrong = Vec::new();
    for (name, script, want) in rows {
        let script = *script;
        let scene = Scene::new(move |asked| script(asked.stream)).await;
        for method in [Method::POST, Method::GET] {
            let got = scene.told("a.test", method.clone()).await;
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
async fn an_answer_that_does_not_come_whole_is_none() {
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
            "the connection ended before the answer did",
        ),
        (
            "gone away in mid body",
            |id| {
                let begun =
                    [frame(HEADERS, END_HEADERS, id, &[OK]), frame(DATA, 0, id, b"a")].concat();
                [begun, go_away(id, 2), CLOSE.to_vec()].concat()
            },
            "the connection ended before the answer did",
        ),
        (
            "an end in place of a head",
            |_| CLOSE.to_vec(),
            "the connection ended before the answer did",
        ),
    ];
    check(rows).await;
}

#[tokio::test]
async fn an_answer_that_breaks_the_rules_is_none() {
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
            "the answer is wrong: it changes to a protocol that nobody asked for",
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
async fn an_answer_that_does_not_wait_for_the_body_is_one() {
    for (name, reason) in
        [("and reads on", None), ("and wants no more", Some(0)), ("and cancels", Some(8))]
    {
        let script = move |asked: Asked| {
            let end = reason.map(|reason| reset(asked.stream, reason));
            [whole(asked.stream), end.unwrap_or_default()].concat()
        };
        let scene = Scene::new(script).await;
        assert_eq!(scene.told("a.test", Method::PUT).await, "200 fine", "{name}");
        assert_eq!(scene.told("a.test", Method::GET).await, "200 fine", "{name}");
        assert_eq!((scene.requests(), scene.spoken().len()), (2, 1), "{name}");
    }
}

#[tokio::test]
async fn floods_are_borne_or_end_the_exchange() {
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
            "the answer breaks the rules of HTTP/2",
        ),
        (
            "a head without end",
            |id| {
                let more = frame(CONTINUATION, 0, id, &field("x-a", &"a".repeat(100)).repeat(100));
                [frame(HEADERS, 0, id, &[OK]), more.repeat(1_000)].concat()
            },
            "the answer breaks the rules of HTTP/2",
        ),
        (
            "a head in empty pieces",
            |id| {
                [frame(HEADERS, 0, id, &[OK]), frame(CONTINUATION, 0, id, &[]).repeat(100_000)]
                    .concat()
            },
            "the answer breaks the rules of HTTP/2",
        ),
        (
            "too many fields",
            |id| {
                let head = [vec![OK], field("x-a", "1").repeat(1_000)].concat();
                frame(HEADERS, END_HEADERS | END_STREAM, id, &head)
            },
            "the answer is wrong: it has more fields than are taken",
        ),
        (
            "interim answers",
            |id| frame(HEADERS, END_HEADERS, id, &status("103")).repeat(10_000),
            "the answer is wrong: it never gets beyond interim answers",
        ),
    ];
    let mut wrong = Vec::new();
    for (name, script, want) in rows {
        let scene = Scene::new(move |asked| script(asked.stream)).await;
        let got = scene.told("a.test", Method::POST).await;
        if !got.starts_with(want) {
            wrong.push(format!("{name}: {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn what_an_origin_has_not_looked_at_is_sent_again() {
    type Row = (&'static str, fn(Asked) -> Vec<u8>, &'static str, usize, &'static [&'static str]);
    const ONE: &[&str] = &["a.test h2"];
    const TWO: &[&str] = &["a.test h2", "a.test h2"];
    let rows: [Row; 5] = [
        (
            "refused once",
            |asked| match asked.number {
                1 => reset(asked.stream, 7),
                _ => whole(asked.stream),
            },
            "200 fine",
            2,
            ONE,
        ),
        (
            "refused always",
            |asked| reset(asked.stream, 7),
            "the origin turned the request down without looking at it",
            4,
            ONE,
        ),
        (
            "gone before it came",
            |asked| match asked.connection {
                1 => go_away(0, 0),
                _ => whole(asked.stream),
            },
            "200 fine",
            2,
            TWO,
        ),
        (
            "gone after it came",
            |asked| [go_away(asked.stream, 0), whole(asked.stream)].concat(),
            "200 fine",
            1,
            ONE,
        ),
        (
            "over HTTP/1.1, please",
            |asked| reset(asked.stream, 13),
            "200 old",
            2,
            &["a.test h2", "a.test http/1.1"],
        ),
    ];
    let mut wrong = Vec::new();
    for (name, script, want, requests, spoken) in rows {
        for method in [Method::GET, Method::POST] {
            let scene = Scene::new(script).await;
            let got = scene.told("a.test", method).await;
            if !got.starts_with(want) || scene.requests() != requests || scene.spoken() != spoken {
                wrong.push(format!("{name}: {got}, {}, {:?}", scene.requests(), scene.spoken()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn after_a_goaway_the_next_request_has_a_new_connection() {
    let script = |asked: Asked| [whole(asked.stream), go_away(asked.stream, 0)].concat();
    let scene = Scene::new(script).await;
    for _ in 0..3 {
        assert_eq!(scene.told("a.test", Method::POST).await, "200 fine");
    }
    assert_eq!((scene.requests(), scene.spoken().len()), (3, 3));
}

#[tokio::test]
async fn a_connection_serves_the_other_hosts_of_its_certificate_and_address() {
    let scene =
        Scene::for_names(&["a.test", "b.test", "elsewhere.test"], |asked| whole(asked.stream))
            .await;
    assert_eq!(scene.told("a.test", Method::GET).await, "200 fine");
    assert_eq!(scene.told("b.test", Method::POST).await, "200 fine");
    assert_eq!(scene.spoken(), ["a.test h2"]);
    // It is for this one too, but leads elsewhere.
    assert_eq!(scene.told("elsewhere.test", Method::GET).await, "200 fine");
    assert_eq!(scene.spoken(), ["a.test h2", "elsewhere.test h2"]);
    // It leads there, but is not for this one.
    let told = scene.told("stranger.test", Method::GET).await;
    assert!(told.starts_with("the certificate of stranger.test"), "{told}");
    // An address is nobody's name.
    let told = scene.told("127.0.0.1", Method::GET).await;
    assert!(told.starts_with("the certificate of 127.0.0.1"), "{told}");
}

#[tokio::test]
async fn a_misdirected_request_goes_on_a_connection_of_its_own_and_so_do_all_after_it() {
    let scene = Scene::new(|asked| match (asked.connection, asked.number) {
        (1, 2) => only("421", asked.stream),
        _ => whole(asked.stream),
    })
    .await;
    assert_eq!(scene.told("a.test", Method::GET).await, "200 fine");
    assert_eq!(scene.told("b.test", Method::POST).await, "200 fine");
    assert_eq!((scene.requests(), scene.spoken().len()), (3, 2));
    scene.upstream.close_idle();
    assert_eq!(scene.told("a.test", Method::GET).await, "200 fine");
    assert_eq!(scene.told("b.test", Method::GET).await, "200 fine");
    assert_eq!(scene.spoken(), ["a.test h2", "b.test h2", "a.test h2", "b.test h2"]);
}

#[tokio::test]
async fn a_misdirected_answer_of_its_own_connection_is_the_clients() {
    let scene = Scene::new(|asked| only("421", asked.stream)).await;
    assert_eq!(scene.told("a.test", Method::GET).await, "421 ");
    assert_eq!(scene.requests(), 1);
}

#[tokio::test]
async fn offline_nothing_goes_out_on_a_connection_that_stands() {
    let scene = Scene::new(|asked| whole(asked.stream)).await;
    assert_eq!(scene.told("a.test", Method::GET).await, "200 fine");
    scene.mode.set(Mode::Offline);
    assert!(matches!(scene.ask("a.test", Method::GET).await, Err(Failure::Offline)));
    assert_eq!(scene.requests(), 1);
}

#[tokio::test]
async fn a_connection_that_ended_in_use_is_replaced_for_what_does_no_harm() {
    for (method, want, requests) in [
        (Method::GET, "200 fine", 3),
        (Method::POST, "the connection ended before the answer did", 2),
    ] {
        let scene = Scene::new(|asked| match asked.number {
            2 => CLOSE.to_vec(),
            _ => whole(asked.stream),
        })
        .await;
        assert_eq!(scene.told("a.test", Method::GET).await, "200 fine");
        let told = scene.told("a.test", method.clone()).await;
        assert!(told.starts_with(want), "{method}: {told}");
        assert_eq!(scene.requests(), requests, "{method}");
    }
}

#[tokio::test]
async fn an_origin_that_opens_no_window_is_given_up() {
    let settings = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    let scene =
        Scene::patient(Duration::from_secs(1), &["a.test"], move |asked| match asked.number {
            1 => [settings.clone(), whole(asked.stream)].concat(),
            _ => Vec::new(),
        })
        .await;
    assert_eq!(scene.told("a.test", Method::GET).await, "200 fine");
    assert_eq!(scene.told("a.test", Method::POST).await, "the answer did not begin in time");
    assert_eq!(scene.requests(), 2);
}

/// A connection whose other end says nothing.
async fn silent() -> (Shared, tokio::io::DuplexStream, Tasks) {
    let (ours, theirs) = tokio::io::duplex(4096);
    let (tasks, origin) = (Tasks::new(), of_test());
    let secured = Secured {
        version: rustls::ProtocolVersion::TLSv1_3,
        suite: rustls::CipherSuite::TLS13_AES_128_GCM_SHA256,
        chain: Arc::new([]),
        by_exception: false,
    };
    let peer = ([127, 0, 0, 1], 1).into();
    let shared = Shared::begin(ours, origin, peer, Arc::new(secured), &tasks).await.unwrap();
    (shared, theirs, tasks)
}

fn of_test() -> Origin {
    Origin { scheme: Scheme::Https, host: "a.test".to_owned(), port: 1, via: None }
}

#[tokio::test]
async fn a_connection_that_nobody_uses_is_closed() {
    let (shared, mut theirs, _tasks) = silent().await;
    let registry = Registry::new(Duration::ZERO);
    drop(registry.share(&of_test(), shared, || true));
    let route = registry.route(&of_test(), Duration::from_secs(1)).await;
    assert!(matches!(route, Ok(Route::Shared(_))));
    drop(route);
    registry.sweep();
    // To its end, which comes because it is closed.
    theirs.read_to_end(&mut Vec::new()).await.unwrap();
    let route = registry.route(&of_test(), Duration::from_secs(1)).await;
    assert!(matches!(route, Ok(Route::Dial(_, Some(_)))));
}

#[tokio::test]
async fn a_connection_that_comes_too_late_is_not_kept() {
    let (shared, mut theirs, _tasks) = silent().await;
    let registry = Registry::new(Duration::from_secs(60));
    drop(registry.share(&of_test(), shared, || false));
    theirs.read_to_end(&mut Vec::new()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_dead_line_is_noticed_by_what_waits_for_it() {
    let (shared, theirs, tasks) = silent().await;
    let (patience, origin) = (Duration::from_secs(300), of_test());
    let dialer = Dialer::new(ModeSwitch::new(Mode::Online), patience, patience);
    let head = Request::builder().uri("/").body(()).unwrap();
    let mut message = Message::new(head, Outbound::Empty, None);
    let limits = limits(patience);
    let exchange = shared.exchange(&origin, &mut message, &dialer, &tasks, &limits);
    assert!(matches!(exchange.await, Err(Refusal::Failed(Failure::Silent))));
    assert!(!shared.is_usable());
    drop(theirs);
}
