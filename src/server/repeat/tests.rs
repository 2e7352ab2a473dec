use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use futures_util::{FutureExt, StreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::HeaderMap;
use hyper::StatusCode;
use hyper::body::Frame;
use hyper::header::{CONNECTION, CONTENT_LENGTH, DATE, ETAG, HeaderValue};

use super::ExchangeBody;
use super::ready::{head, may_be_repeated};
use crate::net::upstream::BoxError;

#[test]
fn only_requests_without_credentials_are_repeated() {
    for (request, want) in [
        ("GET http://h.example/ HTTP/1.1\r\nHost: h.example\r\n\r\n", true),
        ("HEAD / HTTP/1.1\r\nHost: h.example\r\nConnection: Keep-Alive\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nHost: h.example\r\nIf-None-Match: \"a\"\r\n\r\n", true),
        ("GET / HTTP/1.0\r\nHost: h.example\r\n\r\n", false),
        ("POST / HTTP/1.1\r\nHost: h.example\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: h.example\r\nConnection: close\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: h.example\r\nConnection: upgrade\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: h.example\r\nCookie: a=b\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: h.example\r\nAuthorization: Bearer x\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: h.example\r\nProxy-Authorization: Basic x\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: h.example\r\nContent-Length: 0\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: h.example\r\nTransfer-Encoding: chunked\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: h.example\r\nUpgrade: websocket\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: h.example\r\n\r\nGET / HTTP/1.1\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: h.example\r\n", false),
    ] {
        assert_eq!(may_be_repeated(request.as_bytes()), want, "{request:?}");
    }
}

fn fields(length: &'static str) -> HeaderMap {
    let value = HeaderValue::from_static;
    let fields = [
        (DATE, value("Fri, 20 Nov 2026 20:00:00 GMT")),
        (ETAG, value("\"a\"")),
        (CONTENT_LENGTH, value(length)),
    ];
    fields.into_iter().collect()
}

#[test]
fn a_head_is_written_as_hyper_writes_it() {
    let written = head(StatusCode::OK, &fields("4"), b"body").unwrap();
    let want = "HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2026 20:00:00 GMT\r\nEtag: \"a\"\r\n\
                Content-Length: 4\r\n\r\n";
    assert_eq!(String::from_utf8_lossy(&written), want);
    // The response to a HEAD request.
    assert!(head(StatusCode::OK, &fields("4"), b"").is_some());
    assert!(head(StatusCode::OK, &fields("5"), b"body").is_none());
    let mut undated = fields("4");
    undated.remove(DATE);
    assert!(head(StatusCode::OK, &undated, b"body").is_none());
    let mut closing = fields("4");
    closing.insert(CONNECTION, HeaderValue::from_static("close"));
    assert!(head(StatusCode::OK, &closing, b"body").is_none());
}

#[tokio::test]
async fn a_slow_client_gets_no_more_pieces_than_it_reads() {
    let piece = Bytes::from(vec![b'x'; 100 * 1024]);
    let frames = stream::iter(vec![piece; 40]).map(|piece| Ok(Frame::data(piece)));
    let body = StreamBody::new(frames).boxed_unsync();
    let mut body = ExchangeBody::new(body, Arc::default(), None);
    let data = |frame: Option<Result<Frame<Bytes>, BoxError>>| frame.unwrap().unwrap().into_data();
    let mut unsent = VecDeque::new();
    for _ in 0..2 {
        unsent.push_back(data(body.frame().now_or_never().unwrap()).unwrap());
    }
    for _ in 2..40 {
        // A piece that is partly sent counts as unsent, so the body gives no further piece.
        unsent[0].advance(1_000);
        assert!(body.frame().now_or_never().is_none());
        let sent = unsent.pop_front();
        let (frame, ()) = tokio::join!(body.frame(), async { drop(sent) });
        unsent.push_back(data(frame).unwrap());
    }
    drop(unsent);
    assert!(body.frame().await.is_none());
}
