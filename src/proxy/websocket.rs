//! WebSocket over HTTP/2 (RFC 8441). An extended CONNECT of the client becomes the HTTP/1.1 request
//! that every origin understands (RFC 6455 §4), and the response `101` becomes `200`.
//!
//! An extended CONNECT has no `Sec-WebSocket-Key`, which an origin needs to prove that it speaks
//! WebSocket. So we generate a key, and check the origin's response to it.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::ext::Protocol;
use hyper::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use sha1::{Digest, Sha1};

use super::body::Body;
use super::reply;

/// The name of the protocol, for `:protocol` and for `Upgrade`.
const WEBSOCKET: &str = "websocket";

/// The text that is appended to a key before the key is hashed (RFC 6455 §1.3).
const AFTER_KEY: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The only version of the protocol (RFC 6455 §4.1).
const VERSION: HeaderValue = HeaderValue::from_static("13");

/// A forwarded extended CONNECT, with the expected response of the origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WebSocketHandshake {
    accept: String,
}

/// An extension of a response that has switched the protocol.
#[derive(Clone, Copy, Debug)]
pub(super) struct UpgradeMark;

/// The reason why an extended CONNECT cannot be forwarded.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectRefusal {
    /// The request is for a protocol other than WebSocket.
    #[error("this proxy does not forward the protocol {0:?}")]
    Protocol(String),
    /// The system cannot provide random numbers.
    #[error("a WebSocket key cannot be created")]
    NoKey(#[from] getrandom::Error),
}

/// Makes an HTTP/1.1 handshake from an extended CONNECT; any other request is unchanged.
pub(super) fn translate<B>(request: &mut Request<B>) -> Result<(), ConnectRefusal> {
    if request.method() != Method::CONNECT {
        return Ok(());
    }
    let Some(protocol) = request.extensions_mut().remove::<Protocol>() else { return Ok(()) };
    if !protocol.as_str().eq_ignore_ascii_case(WEBSOCKET) {
        return Err(ConnectRefusal::Protocol(protocol.as_str().to_owned()));
    }
    let mut random = [0; 16];
    getrandom::fill(&mut random)?;
    let key = BASE64_STANDARD.encode(random);
    *request.method_mut() = Method::GET;
    let fields = request.headers_mut();
    fields.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    fields.insert(UPGRADE, HeaderValue::from_static(WEBSOCKET));
    fields.entry(SEC_WEBSOCKET_VERSION).or_insert(VERSION);
    if let Ok(key) = HeaderValue::from_str(&key) {
        fields.insert(SEC_WEBSOCKET_KEY, key);
    }
    request.extensions_mut().insert(WebSocketHandshake { accept: accept(&key) });
    Ok(())
}

/// Whether `upgrade` is to WebSocket, which no stored page can answer.
pub(super) fn is_asked(upgrade: Option<&HeaderValue>) -> bool {
    upgrade.is_some_and(|protocol| protocol.as_bytes().eq_ignore_ascii_case(WEBSOCKET.as_bytes()))
}

impl WebSocketHandshake {
    /// Whether the origin has proved that it speaks WebSocket. Removes the proof from `fields`,
    /// because the response to an extended CONNECT has none.
    pub(super) fn complete(&self, protocol: &HeaderValue, fields: &mut HeaderMap) -> bool {
        let accepted = fields.remove(SEC_WEBSOCKET_ACCEPT);
        is_asked(Some(protocol)) && accepted.is_some_and(|value| value == self.accept.as_str())
    }
}

/// The origin's expected response to `key` (RFC 6455 §4.2.2).
pub(super) fn accept(key: &str) -> String {
    BASE64_STANDARD.encode(Sha1::new().chain_update(key).chain_update(AFTER_KEY).finalize())
}

/// The response to an extended CONNECT. A success without a complete handshake becomes an error,
/// because the client would take it for a switch of the protocol.
pub(super) fn answer(response: Response<Body>) -> Response<Body> {
    if !response.status().is_success() || response.extensions().get::<UpgradeMark>().is_some() {
        return response;
    }
    let status = StatusCode::BAD_GATEWAY.as_u16();
    reply::plain(status, "the origin did not switch to the WebSocket protocol")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::body;

    fn connect(protocol: &'static str) -> Request<()> {
        let mut request = Request::connect("https://h.example/chat").body(()).unwrap();
        request.extensions_mut().insert(Protocol::from_static(protocol));
        request
    }

    #[test]
    fn the_key_is_answered_as_in_the_rfc() {
        assert_eq!(accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn an_extended_connect_becomes_a_handshake() {
        let mut request = connect("WebSocket");
        translate(&mut request).unwrap();
        assert_eq!(request.method(), Method::GET);
        let key = request.headers()[SEC_WEBSOCKET_KEY].to_str().unwrap().to_owned();
        assert_eq!(BASE64_STANDARD.decode(&key).unwrap().len(), 16);
        assert_eq!(request.headers()[SEC_WEBSOCKET_VERSION], "13");
        let handshake = request.extensions().get::<WebSocketHandshake>().unwrap();
        let right = accept(&key);
        for (protocol, accept, want) in [
            ("websocket", Some(right.as_str()), true),
            ("h2c", Some(right.as_str()), false),
            ("websocket", Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), false),
            ("websocket", None, false),
        ] {
            let mut fields = HeaderMap::new();
            if let Some(accept) = accept {
                fields.insert(SEC_WEBSOCKET_ACCEPT, accept.parse().unwrap());
            }
            let protocol = HeaderValue::from_static(protocol);
            assert_eq!(handshake.complete(&protocol, &mut fields), want);
            assert!(fields.is_empty());
        }
        let mut other = connect("connect-udp");
        assert!(matches!(translate(&mut other), Err(ConnectRefusal::Protocol(_))));
        let mut plain = Request::connect("h.example:443").body(()).unwrap();
        translate(&mut plain).unwrap();
        assert_eq!(plain.method(), Method::CONNECT);
    }

    #[test]
    fn only_a_response_of_the_origin_is_a_success() {
        for (status, granted, want) in
            [(200, false, 502), (204, false, 502), (200, true, 200), (404, false, 404)]
        {
            let mut response = Response::new(body::empty());
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            if granted {
                response.extensions_mut().insert(UpgradeMark);
            }
            assert_eq!(answer(response).status(), want, "{status} {granted}");
        }
    }
}
