//! Answers that break the rules or never end, each a script for [`Origin::on`](super::Origin::on).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::Gate;
use super::origin::{After, Exchange};

/// The pause between the pieces of what is sent slowly.
const SLOWLY: Duration = Duration::from_millis(200);

/// What a faulty origin does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Says 10,000 bytes, sends 4,000 and closes.
    ShortLength,
    /// Closes between two chunks.
    ShortChunks,
    /// Resets the connection in mid body.
    Reset,
    /// Sends a chunk whose size is no number.
    BadChunk,
    /// Closes without a word.
    Silence,
    /// Closes in mid head.
    HalfHead,
    /// Answers what is not HTTP.
    Noise,
}

/// All faults after which no answer may be kept.
pub(crate) const ALL: [Fault; 7] = [
    Fault::ShortLength,
    Fault::ShortChunks,
    Fault::Reset,
    Fault::BadChunk,
    Fault::Silence,
    Fault::HalfHead,
    Fault::Noise,
];

impl Fault {
    /// Whether a status line reaches the client before the fault shows.
    pub(crate) fn has_head(self) -> bool {
        !matches!(self, Self::Silence | Self::HalfHead | Self::Noise)
    }

    /// Does it.
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

/// A head that goes on, one field line at a time, until the proxy has had enough.
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
