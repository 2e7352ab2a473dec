//! HTTP/2 connections to origins: which request uses which connection, how many times it is sent,
//! and when the connections end.

use std::sync::Arc;
use std::time::Duration;

use hyper::{Method, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::contention::Contention;
use super::message::OutgoingMessage;
use super::multiplexed::{SharedConnection, StreamRefusal};
use super::registry::{OriginRoute, Registry};
use super::scene::{
    CLOSE, DATA, END_HEADERS, END_STREAM, HEADERS, OK, SETTINGS, Scene, SceneRequest, frame,
    go_away, limits, only, reset, whole,
};
use super::{Dialer, Failure, Origin, Outbound, Scheme, TlsDetails};
use crate::base::mode::{Mode, ModeSwitch};
use crate::base::tasks::Tasks;

#[tokio::test]
async fn an_unprocessed_request_is_sent_again() {
    type Row =
        (&'static str, fn(SceneRequest) -> Vec<u8>, &'static str, usize, &'static [&'static str]);
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
            "the origin rejected the request unprocessed",
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
            let got = scene.request("a.test", method).await;
            if !got.starts_with(want) || scene.requests() != requests || scene.spoken() != spoken {
                wrong.push(format!("{name}: {got}, {}, {:?}", scene.requests(), scene.spoken()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An origin that accepts one exchange at a time. It answers the second request with a head only.
fn one_by_one(asked: SceneRequest) -> Vec<u8> {
    match asked.number {
        1 => [frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1]), whole(asked.stream)].concat(),
        2 => frame(HEADERS, END_HEADERS, asked.stream, &[OK]),
        _ => whole(asked.stream),
    }
}

#[tokio::test]
async fn a_waiting_request_is_sent_once_after_goaway() {
    let scene = Scene::new(one_by_one).await;
    assert_eq!(scene.request("a.test", Method::GET).await, "200 fine");
    let first = scene.request("a.test", Method::GET);
    let second = async {
        scene.until(2).await;
        scene.request("a.test", Method::DELETE).await
    };
    let origin = async {
        scene.until(2).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        // This GOAWAY lets all running exchanges finish.
        scene.say(1, &go_away(0x7fff_ffff, 0)).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        scene.say(1, &frame(DATA, END_STREAM, 3, b"late")).await;
    };
    let (first, second, ()) = tokio::join!(first, second, origin);
    assert_eq!((first.as_str(), second.as_str()), ("200 late", "200 fine"));
    assert_eq!((scene.requests(), scene.spoken().len()), (3, 2));
}

#[tokio::test]
async fn an_abandoned_waiting_request_is_not_sent() {
    for offline in [true, false] {
        let scene = Scene::new(one_by_one).await;
        assert_eq!(scene.request("a.test", Method::GET).await, "200 fine");
        let first = scene.request("a.test", Method::GET);
        let second = async {
            scene.until(2).await;
            let mut waiting = Box::pin(scene.ask("a.test", Method::DELETE));
            let waited = tokio::time::timeout(Duration::from_millis(50), &mut waiting).await;
            assert!(waited.is_err(), "there was no room");
            if offline {
                scene.mode.set(Mode::Offline);
                assert!(matches!(waiting.await, Err(Failure::Offline)));
            } else {
                // The client has left.
                drop(waiting);
            }
            scene.say(1, &frame(DATA, END_STREAM, 3, b"late")).await;
        };
        let (first, ()) = tokio::join!(first, second);
        assert_eq!(first, "200 late");
        scene.mode.set(Mode::Online);
        assert_eq!(scene.request("a.test", Method::GET).await, "200 fine");
        assert_eq!((scene.requests(), scene.spoken().len()), (3, 1), "offline: {offline}");
    }
}

#[tokio::test]
async fn after_a_goaway_the_next_request_has_a_new_connection() {
    let script = |asked: SceneRequest| [whole(asked.stream), go_away(asked.stream, 0)].concat();
    let scene = Scene::new(script).await;
    for _ in 0..3 {
        assert_eq!(scene.request("a.test", Method::POST).await, "200 fine");
    }
    assert_eq!((scene.requests(), scene.spoken().len()), (3, 3));
}

#[tokio::test]
async fn a_connection_serves_the_other_hosts_of_its_certificate_and_address() {
    let scene =
        Scene::for_names(&["a.test", "b.test", "elsewhere.test"], |asked| whole(asked.stream))
            .await;
    assert_eq!(scene.request("a.test", Method::GET).await, "200 fine");
    assert_eq!(scene.request("b.test", Method::POST).await, "200 fine");
    assert_eq!(scene.spoken(), ["a.test h2"]);
    // The certificate is valid for this name too, but the address differs.
    assert_eq!(scene.request("elsewhere.test", Method::GET).await, "200 fine");
    assert_eq!(scene.spoken(), ["a.test h2", "elsewhere.test h2"]);
    // The address is the same, but the certificate is not valid for this name.
    let response = scene.request("stranger.test", Method::GET).await;
    assert!(response.starts_with("the certificate of stranger.test"), "{response}");
    // The certificate contains no IP address.
    let response = scene.request("127.0.0.1", Method::GET).await;
    assert!(response.starts_with("the certificate of 127.0.0.1"), "{response}");
}

#[tokio::test]
async fn requests_after_a_421_use_their_own_connection() {
    let scene = Scene::new(|asked| match (asked.connection, asked.number) {
        (1, 2) => only("421", asked.stream),
        _ => whole(asked.stream),
    })
    .await;
    assert_eq!(scene.request("a.test", Method::GET).await, "200 fine");
    assert_eq!(scene.request("b.test", Method::POST).await, "200 fine");
    assert_eq!((scene.requests(), scene.spoken().len()), (3, 2));
    scene.upstream.close_idle();
    assert_eq!(scene.request("a.test", Method::GET).await, "200 fine");
    assert_eq!(scene.request("b.test", Method::GET).await, "200 fine");
    assert_eq!(scene.spoken(), ["a.test h2", "b.test h2", "a.test h2", "b.test h2"]);
}

#[tokio::test]
async fn a_421_on_a_separate_connection_is_sent_to_the_client() {
    let scene = Scene::new(|asked| only("421", asked.stream)).await;
    assert_eq!(scene.request("a.test", Method::GET).await, "421 ");
    assert_eq!(scene.requests(), 1);
}

#[tokio::test]
async fn offline_no_request_is_sent_on_an_open_connection() {
    let scene = Scene::new(|asked| whole(asked.stream)).await;
    assert_eq!(scene.request("a.test", Method::GET).await, "200 fine");
    scene.mode.set(Mode::Offline);
    assert!(matches!(scene.ask("a.test", Method::GET).await, Err(Failure::Offline)));
    assert_eq!(scene.requests(), 1);
}

#[tokio::test]
async fn safe_requests_are_retried_after_a_lost_connection() {
    for (method, want, requests) in [
        (Method::GET, "200 fine", 3),
        (Method::POST, "the connection ended before the response was complete", 2),
    ] {
        let scene = Scene::new(|asked| match asked.number {
            2 => CLOSE.to_vec(),
            _ => whole(asked.stream),
        })
        .await;
        assert_eq!(scene.request("a.test", Method::GET).await, "200 fine");
        let response = scene.request("a.test", method.clone()).await;
        assert!(response.starts_with(want), "{method}: {response}");
        assert_eq!(scene.requests(), requests, "{method}");
    }
}

#[tokio::test]
#[ignore = "slow"]
async fn an_origin_without_window_times_out() {
    let settings = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    let scene =
        Scene::patient(Duration::from_secs(1), &["a.test"], move |asked| match asked.number {
            1 => [settings.clone(), whole(asked.stream)].concat(),
            _ => Vec::new(),
        })
        .await;
    assert_eq!(scene.request("a.test", Method::GET).await, "200 fine");
    assert_eq!(scene.request("a.test", Method::POST).await, "the response did not begin in time");
    assert_eq!(scene.requests(), 2);
}

/// A connection whose other end sends nothing.
async fn silent() -> (SharedConnection, tokio::io::DuplexStream, Tasks) {
    let (ours, theirs) = tokio::io::duplex(4096);
    let (tasks, origin) = (Tasks::new(), of_test());
    let secured = TlsDetails {
        version: rustls::ProtocolVersion::TLSv1_3,
        suite: rustls::CipherSuite::TLS13_AES_128_GCM_SHA256,
        chain: Arc::new([]),
        by_exception: false,
    };
    let peer = ([127, 0, 0, 1], 1).into();
    let shared =
        SharedConnection::begin(ours, origin, peer, Arc::new(secured), &tasks).await.unwrap();
    (shared, theirs, tasks)
}

fn of_test() -> Origin {
    Origin::here(Scheme::Https, "a.test", 1)
}

#[tokio::test]
async fn an_unused_connection_is_closed() {
    let (shared, mut theirs, _tasks) = silent().await;
    let registry = Registry::new(Duration::ZERO);
    drop(registry.share(&of_test(), shared, || true));
    let route = registry.route(&of_test(), Duration::from_secs(1)).await;
    assert!(matches!(route, Ok(OriginRoute::Shared(_))));
    drop(route);
    registry.sweep();
    // The end of the stream shows that the connection was closed.
    theirs.read_to_end(&mut Vec::new()).await.unwrap();
    let route = registry.route(&of_test(), Duration::from_secs(1)).await;
    assert!(matches!(route, Ok(OriginRoute::Dial(_, Some(_)))));
}

#[tokio::test]
async fn a_late_connection_is_closed() {
    let (shared, mut theirs, _tasks) = silent().await;
    let registry = Registry::new(Duration::from_secs(60));
    drop(registry.share(&of_test(), shared, || false));
    theirs.read_to_end(&mut Vec::new()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_slow_connection_is_not_dead() {
    let (shared, mut theirs, tasks) = silent().await;
    let (patience, origin) = (Duration::from_secs(300), of_test());
    let dialer = Dialer::new(ModeSwitch::new(Mode::Online), patience, patience);
    let head = Request::builder().uri("/").body(()).unwrap();
    let mut message = OutgoingMessage::new(head, Outbound::Empty, None);
    let limits = limits(patience);
    let contention = Contention::default();
    let line = (&contention, &origin);
    let exchange = shared.exchange(line, &mut message, &dialer, &tasks, &limits);
    let origin = async {
        theirs.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
        // Another response is being sent, so the answer to the ping is delayed.
        for byte in frame(HEADERS, END_HEADERS, 1, &[OK; 20]).iter().take(20) {
            tokio::time::sleep(Duration::from_secs(5)).await;
            theirs.write_all(&[*byte]).await.unwrap();
        }
    };
    tokio::select! {
        biased;
        _ = exchange => panic!("it was given up"),
        () = origin => {}
    }
    assert!(shared.is_usable());
}

#[tokio::test(start_paused = true)]
async fn a_dead_connection_is_detected_by_its_requests() {
    let (shared, theirs, tasks) = silent().await;
    let (patience, origin) = (Duration::from_secs(300), of_test());
    let dialer = Dialer::new(ModeSwitch::new(Mode::Online), patience, patience);
    let head = Request::builder().uri("/").body(()).unwrap();
    let mut message = OutgoingMessage::new(head, Outbound::Empty, None);
    let limits = limits(patience);
    let contention = Contention::default();
    let line = (&contention, &origin);
    let exchange = shared.exchange(line, &mut message, &dialer, &tasks, &limits);
    assert!(matches!(exchange.await, Err(StreamRefusal::Failed(Failure::Silent))));
    assert!(!shared.is_usable());
    drop(theirs);
}
