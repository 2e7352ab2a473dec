//! A client that writes HTTP/2 frames directly, both valid and invalid ones.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use super::http2::{Secured, secure, tls, tunnel};

/// An HTTP/2 connection on which single frames are sent.
pub(crate) struct Frames {
    stream: Secured,
}

/// One frame (RFC 9113 §4.1).
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
/// `ENHANCE_YOUR_CALM` and `PROTOCOL_ERROR` (RFC 9113 §7).
pub(crate) const CALM: u32 = 11;
pub(crate) const PROTOCOL: u32 = 1;

impl Frame {
    /// The error code of a `GOAWAY` or `RST_STREAM`.
    pub(crate) fn error(&self) -> u32 {
        let from = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[from..from + 4].try_into().unwrap())
    }
}

/// A frame as bytes.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Fields in HPACK without the dynamic table: each field is a literal that is never indexed (RFC
/// 7541 §6.2.3).
pub(crate) fn hpack(fields: &[(&str, &str)]) -> Vec<u8> {
    fn text(out: &mut Vec<u8>, text: &str) {
        let mut length = text.len();
        if length < 127 {
            out.push(length as u8);
        } else {
            out.push(127);
            length -= 127;
            while length >= 128 {
                out.push((length % 128) as u8 | 128);
                length /= 128;
            }
            out.push(length as u8);
        }
        out.extend_from_slice(text.as_bytes());
    }
    let mut out = Vec::new();
    for (name, value) in fields {
        out.push(0x10);
        text(&mut out, name);
        text(&mut out, value);
    }
    out
}

impl Frames {
    /// Connects to `target` through the proxy, and sends the preface and the settings.
    #[track_caller]
    pub(crate) fn inside(proxy: SocketAddr, target: &str, authority: &[u8]) -> Self {
        let name = target.rsplit_once(':').unwrap().0;
        let stream = secure(tunnel(proxy, target), name, tls(authority, &[b"h2"])).unwrap();
        let mut me = Self { stream };
        me.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        me.send(&frame(SETTINGS, 0, 0, b"")).unwrap();
        me
    }

    /// Sets the maximum duration of one write.
    pub(crate) fn patience(&self, limit: Duration) {
        self.stream.sock.set_write_timeout(Some(limit)).unwrap();
    }

    /// Sends bytes. Returns an error if the peer has closed.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// The next frame. `None` at the end of the connection or after an error.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).ok()?;
        let stream = u32::from_be_bytes(head[5..9].try_into().unwrap());
        Some(Frame { kind: head[3], stream, payload })
    }

    /// Reads frames up to the first one of this kind. Fails if the connection ends earlier.
    #[track_caller]
    pub(crate) fn until(&mut self, kind: u8) -> Frame {
        loop {
            let frame = self.next().expect("a frame");
            if frame.kind == kind {
                return frame;
            }
        }
    }

    /// Reads up to the frame that refuses a stream or ends the connection.
    #[track_caller]
    pub(crate) fn until_refused(&mut self) -> Frame {
        loop {
            let frame = self.next().expect("a frame");
            if [RST_STREAM, GOAWAY].contains(&frame.kind) {
                return frame;
            }
        }
    }
}
