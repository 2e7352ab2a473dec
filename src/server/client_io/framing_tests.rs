//! hyper behind the framing check: hyper answers a refused request with 400, or reads an unfinished
//! body.

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

use super::ClientIo;
use cases::{BAD_BODIES, BAD_HEADS, get, post};

#[path = "../../../http/src/framing/cases.rs"]
mod cases;

/// Sends bytes in pieces of at most `size`. Returns hyper's response, the number of requests that
/// hyper saw, and how many of these had a complete body.
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
    let io = TokioIo::new(ClientIo::new(server, Duration::from_secs(60)).with_gate());
    let serving = http1::Builder::new().serve_connection(io, service);
    let (mut reading, mut writing) = tokio::io::split(client);
    let mut answer = Vec::new();
    // The server closes the connection early, so each of these calls may fail.
    let _ended = tokio::join!(serving, writing.write_all(sent), reading.read_to_end(&mut answer));
    (String::from_utf8(answer).unwrap(), begun.into_inner(), whole.into_inner())
}

#[tokio::test]
async fn a_bad_request_head_gets_a_400() {
    for (row, _) in BAD_HEADS {
        for size in [1, 2, 7, 4096] {
            let (answer, begun, _) = served(row.as_bytes(), size).await;
            assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{row:?}: {answer:?}");
            assert_eq!((begun, answer.matches("HTTP/").count()), (0, 1), "{row:?} by {size}");
        }
    }
}

#[tokio::test]
async fn hyper_finds_no_complete_request_in_a_bad_body() {
    for (row, _) in BAD_BODIES {
        for size in [1, 2, 7, 4096] {
            let (_, begun, whole) = served(row.as_bytes(), size).await;
            assert_eq!((begun, whole), (1, 0), "{row:?} by {size}");
        }
    }
}

#[tokio::test]
async fn requests_before_a_bad_one_get_their_response() {
    let sent = [get!("\r\n"), post!("Content-Length: 2\r\n\r\nab"), "GET / HTTP/1.1\r\n\r\n"];
    for size in [1, 7, 4096] {
        let (answer, begun, whole) = served(sent.concat().as_bytes(), size).await;
        assert_eq!((begun, whole), (2, 2), "{answer:?}");
        assert_eq!(answer.matches("200 OK").count(), 2, "{answer:?}");
        assert_eq!(answer.matches("400 Bad Request").count(), 1, "{answer:?}");
    }
}
