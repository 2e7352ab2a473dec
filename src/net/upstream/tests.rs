//! Tests of handshakes and of parent proxies.

use super::scene::limits;
use super::tls::Offer;
use super::*;
use crate::base::mode::{Mode, ModeSwitch};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

/// Answers every request with a `407`, and returns how many there were.
#[expect(clippy::disallowed_methods, reason = "the test ends with its runtime")]
fn refusing(listener: TcpListener) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut seen = Vec::new();
            while !seen.ends_with(b"form") {
                seen.push(stream.read_u8().await.unwrap());
            }
            counted.fetch_add(1, Ordering::Relaxed);
            let answer = b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(answer).await.unwrap();
        }
    });
    count
}

/// The origin may have sent the `407`, after it has processed the request.
#[tokio::test]
async fn a_request_that_a_parent_answered_is_not_sent_by_another() {
    let patience = Duration::from_secs(60);
    let dialer = Dialer::new(ModeSwitch::new(Mode::Online), patience, patience);
    let tls = Tls::new(&[], patience).unwrap();
    let upstream = Upstream::new(dialer, tls, Tasks::new(), limits(patience));
    let (mut ways, mut counts) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (host, port) = ("127.0.0.1".into(), listener.local_addr().unwrap().port());
        let protocol = wwwoffle_config::ParentProtocol::Http;
        let (login, pseudonym, route) = (None, "w-1".to_owned(), ParentRoute::default());
        ways.push(Some(Arc::new(Via { protocol, host, port, login, pseudonym, route })));
        counts.push(refusing(listener));
    }
    let via = ParentRoute::first(ways);
    let origin = Origin { via, ..Origin::here(Scheme::Http, "origin.test", 80) };
    let request = Request::post("/").header("Host", "origin.test").body(()).unwrap();
    let body = Outbound::Whole(Bytes::from_static(b"form"));
    let sent = upstream.send(&origin, request, body, None).await;
    let failure = sent.map(|answer| answer.status()).unwrap_err();
    assert!(failure.chain().contains("auth-username"), "{}", failure.chain());
    let counts = counts.iter().map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counts.collect::<Vec<_>>(), [1, 0]);
    assert!(upstream.dialer().parents().avoided().is_empty());
}

#[tokio::test]
async fn a_handshake_ends_when_the_mode_goes_offline() {
    let patience = Duration::from_secs(60);
    let mode = ModeSwitch::new(Mode::Online);
    let dialer = Dialer::new(mode.clone(), patience, patience);
    let tls = Tls::new(&[], patience).unwrap();
    let upstream = Upstream::new(dialer, tls, Tasks::new(), limits(patience));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let origin = Origin::here(Scheme::Https, "127.0.0.1", port);
    let mut connecting = pin!(upstream.connect(&origin, Offer::Either, None));
    let silent = async {
        let (mut silent, _) = listener.accept().await.unwrap();
        silent.read_u8().await.unwrap();
        silent
    };
    let _silent = tokio::select! {
        _ = &mut connecting => panic!("nobody has answered"),
        silent = silent => silent,
    };
    mode.set(Mode::Offline);
    let ended = timeout(Duration::from_secs(10), connecting).await.unwrap();
    assert!(matches!(ended, Err(Failure::Offline)));
}
