//! The origin's end of a WebSocket (RFC 6455). It echoes every message.

use std::io;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha1::{Digest, Sha1};

use super::origin::{After, Exchange};

/// The server appends this text to the client's key (RFC 6455 §1.3).
const SALT: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The opcode of a close frame.
const CLOSE: u8 = 8;

/// Accepts the handshake.
pub(crate) fn accept(exchange: &mut Exchange<'_>) -> io::Result<()> {
    let key = exchange.seen.fields.get("Sec-WebSocket-Key").unwrap_or_default();
    let accept = Sha1::digest(format!("{key}{SALT}").as_bytes());
    exchange.send(format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Accept: {}\r\n\r\n",
        BASE64_STANDARD.encode(accept)
    ))
}

/// Accepts the handshake and echoes every frame, up to the close frame.
pub(crate) fn echo(exchange: &mut Exchange<'_>) -> io::Result<After> {
    accept(exchange)?;
    loop {
        let (first, payload) = frame(exchange)?;
        let mut out = vec![first];
        match payload.len() {
            short @ 0..=125 => out.push(short as u8),
            medium @ 126..=0xffff => {
                out.push(126);
                out.extend_from_slice(&(medium as u16).to_be_bytes());
            }
            long => {
                out.push(127);
                out.extend_from_slice(&(long as u64).to_be_bytes());
            }
        }
        out.extend_from_slice(&payload);
        exchange.send(out)?;
        if first & 15 == CLOSE {
            return Ok(After::Close);
        }
    }
}

/// The first byte of a frame, and its unmasked payload.
fn frame(exchange: &mut Exchange<'_>) -> io::Result<(u8, Vec<u8>)> {
    let mut take = |count: usize| {
        exchange.reader.exactly(count).map_err(|broken| io::Error::other(format!("{broken:?}")))
    };
    let head = take(2)?;
    assert!(head[1] & 0x80 != 0, "a client masks its frames");
    let length = match head[1] & 0x7f {
        126 => take(2)?.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
        127 => take(8)?.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
        short => usize::from(short),
    };
    let mask = take(4)?;
    let mut payload = take(length)?;
    for (byte, mask) in payload.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
    Ok((head[0], payload))
}
