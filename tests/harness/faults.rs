//! Responses that violate HTTP or never end. Each is a script for
//! [`Origin::on`](super::Origin::on).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::Gate;
use super::origin::{After, Exchange};

/// The pause between the pieces of a slow response.
const SLOWLY: Duration = Duration::from_millis(200);

/// A fault of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Declares 10,000 bytes, sends 4,000 and closes.
    ShortLength,
    /// Closes between two chunks.
    ShortChunks,
    /// Resets the connection half-way through the body.
    Reset,
    /// Sends a chunk whose size is not a number.
    BadChunk,
    /// Closes without a response.
    Silence,
    /// Closes half-way through the head.
    HalfHead,
    /// Sends bytes that are not HTTP.
    Noise,
    /// Declares both `Content-Length` and `Transfer-Encoding`, which a reader should treat as an
    /// error (RFC 9112 §6.3, item 3).
    TwoLengths,
    /// Uses a transfer coding that was not offered.
    OddCoding,
    /// Switches to a protocol that was not requested.
    Switch,
    /// Never sends more than interim responses.
    Interims,
}

/// All faults. A response with any of them must not be stored.
pub(crate) const ALL: [Fault; 11] = [
    Fault::ShortLength,
    Fault::ShortChunks,
    Fault::Reset,
    Fault::BadChunk,
    Fault::Silence,
    Fault::HalfHead,
    Fault::Noise,
    Fault::TwoLengths,
    Fault::OddCoding,
    Fault::Switch,
    Fault::Interims,
];

impl Fault {
    /// Whether a careless reader takes the response for a valid one.
    pub(crate) fn misleads(self) -> bool {
        matches!(self, Self::TwoLengths | Self::OddCoding | Self::Switch | Self::Interims)
    }

    /// Whether a status line reaches the client before the fault appears.
    pub(crate) fn has_head(self) -> bool {
        matches!(self, Self::ShortLength | Self::ShortChunks | Self::Reset | Self::BadChunk)
    }

    /// Responds with this fault.
    pub(crate) fn act(self, exchange: &mut Exchange<'_>) -> io::Result<After> {
        exchange.body()?;
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
        let some = "x".repeat(4_000);
        let length = format!("{head}Content-Length: 10000\r\n\r\n{some}");
        let chunk = format!("{head}Transfer-Encoding: chunked\r\n\r\nfa0\r\n{some}\r\n");
        match self {
            Self::ShortLength => exchange.send(length)?,
            Self::ShortChunks => exchange.send(chunk)?,
            Self::BadChunk => exchange.send(chunk + "zz\r\nmore\r\n0\r\n\r\n")?,
            Self::TwoLengths => exchange.send(
                "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n\
                 5\r\nwhole\r\n0\r\n\r\n",
            )?,
            Self::OddCoding => {
                exchange
                    .send(format!("{head}Transfer-Encoding: chunked, identity\r\n\r\n{some}"))?;
            }
            Self::Switch => exchange.send(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
            )?,
            Self::Interims => {
                for _ in 0..10_000 {
                    // The proxy closes the connection long before the end of the loop.
                    if exchange.send("HTTP/1.1 102 Processing\r\n\r\n").is_err() {
                        break;
                    }
                }
            }
            Self::Silence => {}
            Self::HalfHead => exchange.send("HTTP/1.1 200 OK\r\nContent-Ty")?,
            Self::Noise => exchange.send("220 mail.example.org ESMTP\r\n\r\n")?,
            Self::Reset => {
                exchange.send(length)?;
                return exchange.reset();
            }
        }
        Ok(After::Close)
    }
}

/// Sends a head that never ends, one field line at a time, until the proxy closes.
pub(crate) fn endless_head(exchange: &mut Exchange<'_>) -> io::Result<After> {
    exchange.send("HTTP/1.1 200 OK\r\n")?;
    loop {
        exchange.send("X-More: and more\r\n")?;
        std::thread::sleep(SLOWLY);
    }
}

/// Sends `first`, waits at the gate, sends `rest`.
pub(crate) fn in_two(
    gate: Arc<Gate>,
    first: impl Into<Vec<u8>>,
    rest: impl Into<Vec<u8>>,
) -> impl Fn(&mut Exchange<'_>) -> io::Result<After> {
    let (first, rest) = (first.into(), rest.into());
    move |exchange| {
        exchange.body()?;
        exchange.send(&first)?;
        gate.wait();
        exchange.send(&rest)?;
        Ok(After::Keep)
    }
}
